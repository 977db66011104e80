import re
from dataclasses import replace

import pytest

from planner.planning.plan import Note
from planner.reporting.document import Heading
from planner.reporting.documents import (
    drawn_document,
    justification_document,
    plan_document,
    quarterly_document,
)
from planner.reporting.sections.placement import node_map
from planner.reporting.sections.purchases import ask_sentence
from planner.reporting.terminal import TerminalOptions, render
from planner.reporting.traced import FULL, SCREEN, Detail, TracedPlan
from tests.report.pages import plan_page, screen
from tests.stated import changed


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_page(plan, width):
    text = screen(plan, width)
    assert max(map(len, text.splitlines())) <= width


def test_a_narrow_page_loses_no_figure(plan):
    wide = screen(plan, 160)
    narrow = screen(plan, 40)
    figures = re.compile(r"(?<![0-9a-f])[0-9]{1,3}(?:,[0-9]{3})+")
    assert set(figures.findall(wide)) <= set(figures.findall(narrow))


def test_an_ascii_page_holds_ascii_alone(plan):
    text = screen(plan, 80, unicode=False)
    assert text.isascii()
    assert "Buy 1 x PowerEdge XE9680" in text


def test_colour_adds_escapes_and_changes_no_word(plan):
    plain = screen(plan, 80)
    coloured = screen(plan, 80, colour=True)
    assert "\x1b[" not in plain
    assert "\x1b[" in coloured
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in stripped.splitlines()] == plain.splitlines()


def test_the_ask_tells_reservations_apart_by_their_terms(plan):
    line = changed(plan.acquisitions[1], kind="reserve", order_by="2026-12-01")
    terms = (("2027Q1", 12, 1), ("2027Q1", 4, 1), ("2027Q2", 4, 2))
    reserved = tuple(
        changed(line, quarter=quarter, term_quarters=term, count=count)
        for quarter, term, count in terms
    )
    node = "PowerEdge XE9680 (8× h200-141gb-sxm)"
    assert ask_sentence(changed(plan, acquisitions=reserved)).startswith(
        f"Reserve 3 × {node} for 1 year each from 2027Q1 and 2027Q2 on (order by 2026-12-01) and "
        f"1 × {node} for 3 years from 2027Q1 (order by 2026-12-01) for "
    )


def test_the_reserve_for_growth_says_how_it_counts_runs(plan):
    kept = changed(plan, growth_reserve=(("h100-80gb-sxm", 0.1),))
    told = "Kept free for growth: 10.0 % of the GPUs of h100-80gb-sxm, at the least"
    assert f"{told}." in plan_page(kept)
    (first, *others), *later = kept.placements
    run = changed(first.occupants[0], hours=(0, 600))
    first = changed(first, occupants=(run, *first.occupants[1:]))
    kept = changed(kept, placements=((first, *others), *later))
    assert f"{told}, each run counted by its share of the hours." in plan_page(kept)


def test_a_reservation_says_its_term_and_that_its_price_is_that_of_a_quarter(plan):
    line = changed(plan.acquisitions[1], kind="reserve", term_quarters=4)
    text = plan_page(changed(plan, acquisitions=(line,)))
    assert "lead time 12 weeks; each is paid by the quarter, the total is for those" in text
    assert "| 2027Q2 | reserve for 1 year |" in text
    assert "each is paid by the quarter" not in plan_page(plan)


def test_rent_that_varies_says_up_to_how_many(plan):
    rents = [line for line in plan.acquisitions if line.kind == "rent"]
    rents[1] = changed(rents[1], count=3)
    text = plan_page(changed(plan, acquisitions=tuple(rents)))
    assert "Rent up to 3 × PowerEdge R760xa" in text


def test_an_unproved_plan_cannot_be_taken_for_a_proved_one(plan):
    bound = plan.proof.cost_cents - 5_00
    found = {"status": "not proved", "gap": 0.0132, "bound_cents": bound}
    proof = changed(plan.proof, **found)
    text = plan_page(changed(plan, proof=proof))
    assert "NOT proved: the best plan found, at most $5.00 dearer than the best there is" in text
    assert "(gap 1.32 %)" in text
    assert "proved optimal" not in text


def test_many_files_of_one_role_are_counted(plan):
    files = (("scenario", "s.yaml", "aa"), *(("rules", f"{n}.yaml", "bb") for n in range(80)))
    made = changed(plan.provenance, files=files)
    text = plan_page(changed(plan, provenance=made))
    assert "| 80 files, each in plan.json | rules |  |" in text
    assert "| s.yaml | scenario | aa |" in text


def test_pools_that_keep_as_many_spare_nodes_are_named_together(plan):
    pools = tuple(changed(pool, nodes_spare=(1, 1, 1)) for pool in plan.pools)
    text = screen(changed(plan, pools=pools), 1000)
    assert text.count("Kept empty as spare: 1 node of each of ") == 1


def map_of(plan, placements, page=78):
    """Lines of the map over as many quarters as there are placements."""
    labels = tuple(f"{2027 + n // 4}Q{n % 4 + 1}" for n in range(len(placements)))
    count = len(labels)
    nodes = tuple(changed(node, in_service=labels) for node in plan.nodes)
    pools = tuple(
        changed(pool, nodes=(3,) * count, nodes_used=(1,) * count, nodes_spare=(0,) * count)
        for pool in plan.pools
    )
    changes = {"quarters": labels, "nodes": nodes, "placements": placements, "pools": pools}
    blocks = node_map(TracedPlan(changed(plan, **changes)))
    text = render(blocks, TerminalOptions(page, unicode=True))
    return labels, text.partition("free, ")[0].splitlines()[:-1]


def test_the_quarters_of_a_long_map_stand_below_each_other(plan):
    for page, abreast in ((78, 2), (42, 1)):
        labels, lines = map_of(plan, plan.placements[:2] * 4, page)
        shown = [line.split() for line in lines if re.match(r" *2027Q|  *2028Q", line)]
        assert [label for line in shown for label in line] == list(labels)
        assert max(map(len, shown)) >= abreast
        assert max(map(len, lines)) <= page


def test_quarters_that_look_alike_share_a_column_of_the_map(plan):
    _, lines = map_of(plan, (*plan.placements[:1], *plan.placements[1:2] * 6))
    assert lines[0].split() == ["2027Q1", "2027Q2–2028Q3"]


def test_a_long_portfolio_is_cut_and_says_how_much_is_left(plan):
    small = Detail(jobs=1, lines=1, notes=1)
    text = render(plan_document(plan, small), TerminalOptions(100))
    tags = round(sum(job.tag_cents for job in plan.jobs[1:]) / 100)
    assert f"… 3 more jobs with tags of {tags:,} USD, all of them in plan.json" in text
    assert "… 4 more nodes, all of them in `placements` of plan.json" in text
    assert f"… {len(plan.warnings) - 1} more notes, all of them in plan.json" in text
    assert f"{len(plan.rules)} rules spoke" in text
    assert "All jobs" in text


def test_more_jobs_than_letters_get_two_letters_each(plan):
    use = plan.placements[0][0]
    crowd = tuple(
        changed(
            use,
            node=f"r760xa-l40s/cloud/r{number}",
            occupants=(changed(use.occupants[0], job=f"job-{number}"),),
        )
        for number in range(60)
    )
    template = plan.nodes[0]
    nodes = tuple(changed(template, id=use.node) for use in crowd)
    other = changed(plan, nodes=nodes, placements=(crowd, crowd, crowd), acquisitions=())
    text = render(plan_document(other, FULL), TerminalOptions(100))
    assert re.search(r"r59 +\[Ch······\]", text)
    assert "Ch=job-59" in text
    cut = render(plan_document(other, Detail(60, 3, 9)), TerminalOptions(100))
    assert "… 57 more nodes" in cut
    assert "C=job-2" in cut
    assert "job-3" not in cut


def with_notes(plan, *notes):
    return changed(plan, warnings=tuple(Note(text=t, origin=o) for t, o in notes))


def test_notes_that_differ_in_figures_alone_share_a_line_where_not_all_have_one_of_their_own(plan):
    noted = with_notes(
        plan,
        ("needs 20.1 GB at batch 8 (tuning/x)", "job one"),
        ("needs 1,043.4 GB at batch 16 (tuning/x)", "jobs two, three"),
        ("needs a licence (tuning/x)", "job four"),
    )
    shown = render(plan_document(noted, replace(SCREEN, notes=2)), TerminalOptions(200))
    merged = (
        "needs 20.1 GB at batch 8 (tuning/x); likewise with other figures for the others (job one "
        "and jobs two, three)"
    )
    assert merged in shown
    assert "needs a licence (tuning/x) (job four)" in shown
    assert "1,043.4" not in shown
    assert "1,043.4" in plan_page(noted)


def test_of_one_job_notes_that_differ_in_figures_are_not_left_out_in_silence(plan):
    noted = with_notes(
        plan,
        ("on h100-80gb-sxm: planned with 4 (floors/x)", "job one"),
        ("on h200-141gb-sxm: planned with 2 (floors/x)", "job one"),
        ("LoRA rank 16 (time/x)", "job two"),
        ("LoRA rank 16 (tuning/y)", "job two"),
    )
    shown = render(plan_document(noted, replace(SCREEN, notes=3)), TerminalOptions(200))
    assert "with 4 (floors/x); likewise with other figures for the others (job one)" in shown
    assert "LoRA rank 16 (time/x) (job two)" in shown
    assert "tuning/y" not in shown
    drawn = plan_page(noted)
    assert "on h200-141gb-sxm: planned with 2" in drawn


def test_a_screen_counts_the_checks_that_a_document_lists(plan):
    shown = screen(plan, 200)
    checks = plan.proof.checks
    assert f"An independent check confirmed {len(checks)} statements about this plan" in shown
    drawn = plan_page(plan).replace("\\", "")
    for one in checks:
        assert one not in shown
        assert f"- {one}" in drawn


def test_sections_are_numbered_without_gaps(plan):
    for document in (drawn_document(plan), justification_document(plan), quarterly_document(plan)):
        titles = [one.text for one in document if isinstance(one, Heading) and one.level == 2]
        numbers = [int(title.partition(".")[0]) for title in titles if title[0].isdigit()]
        assert numbers == [*range(1, len(numbers) + 1)]
        assert len(numbers) > 8
