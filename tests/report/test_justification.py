"""The documents that leave the building: every figure leads to plan.json, nothing is invented."""

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import pairwise

import pytest

import planner
from planner.inputs.override import AppliedChange, Override
from planner.inputs.settled import Options
from planner.planning.plan import SpareCost
from planner.planning.store import dumps, loads
from planner.reporting import markdown
from planner.reporting.document import Blank, Fields, Figure, Fold, Table, cell_text
from planner.reporting.documents import justification_document, quarterly_document
from planner.reporting.html import render
from planner.reporting.sections.jobs import gpu_types_section
from planner.reporting.sections.options import (
    are_equal,
    cheaper_text,
    command_for,
    is_cheaper,
    short_text,
)
from planner.reporting.sections.purchases import ask_sentence
from planner.reporting.sections.sensitivity import then_acquired
from planner.reporting.traced import RelatedResults, TracedPlan
from planner.whatif.alternatives import Best
from planner.whatif.results import JobShort, PlanSummary
from tests.report.pages import Page, justification, quarterly
from tests.report.sums import again_in
from tests.sealed import sealed
from tests.stated import changed

SCALE = {
    "usd": Fraction(100),
    "cents": Fraction(100),
    "rate": Fraction(100),
    "share": Fraction(1, 100),
    "per_cent": Fraction(1, 100),
    "gap": Fraction(1, 100),
    "kw": Fraction(1000),
    "gb": Fraction(1000),
}
"""What of plan.json is one of what a reader sees."""


@pytest.fixture(scope="module", params=[justification_document, quarterly_document])
def make(request):
    """Each of the documents."""
    return request.param


@pytest.fixture(scope="module")
def document(plan, make):
    return make(plan)


@pytest.fixture(scope="module")
def text(document):
    return render(document, "Justification")


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def cells(document):
    for block in document:
        if isinstance(block, Table):
            yield from (cell for row in (*block.rows, block.footer) for cell in row)
        elif isinstance(block, Fields):
            yield from (cell for _, cell in block.rows)
        elif isinstance(block, Fold):
            yield from cells(block.blocks)


def test_every_figure_is_shown_as_its_value(document):
    shown = [cell for cell in cells(document) if isinstance(cell, Figure)]
    for figure in shown:
        if isinstance(figure.value, date):
            continue
        number = Fraction(re.sub(r"[, %]", "", figure.text))
        assert abs(number - figure.value / SCALE.get(figure.style, 1)) <= Fraction(1, 2)


def test_no_anchor_is_given_twice(page):
    assert [name for name, times in Counter(page.ids).items() if times > 1] == []


def test_every_number_of_the_running_text_is_in_the_plan(plan, page):
    stored = dumps(plan)
    known = {Fraction(number) for number in re.findall(r"\d+(?:\.\d+)?", stored)}
    known |= {Fraction(text) for text in re.findall(r"\d+(?:\.\d+)?", stored.replace(",", ""))}
    known |= {value / 100 for value in known} | {value * 100 for value in known}
    known |= {Fraction(re.sub(r"[, %]", "", f.text)) for f in page.figures if "-" not in f.text}
    known.add(Fraction(plan.proof.gap) * 100)
    for number in page.numbers:
        if number.count(".") > 1:  # a version
            assert number in stored
            continue
        value = Fraction(number.replace(",", ""))
        digits = len(number.partition(".")[2])
        small = value.denominator == 1 and value < 1000
        assert small or any(round(one, digits) == value for one in known), number


def test_a_page_loads_nothing_and_runs_only_its_own_script(text, page):
    assert page.loads == []
    assert "link" not in page.tags
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; ")
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        assert page.tags.count(tag) == 1
        (inline,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy
    assert 'style="' not in text


def test_a_job_called_script_is_text(plan, make):
    name = "</title><script>alert(1)</script>\x1b[31m{{7*7}}"
    named = dumps(plan).replace('"claims-tune"', json.dumps(name))
    attacked = changed(loads(sealed(named), "plan.json"), scenario=name)
    text = render(make(attacked), name)
    assert text.count("<script>") == 1
    assert "&lt;script&gt;alert(1)" in text
    assert "{{7*7}}" in text
    assert "\x1b" not in text
    assert markdown.render(make(attacked)).count("<script") == 0


def test_what_the_inputs_do_not_say_is_a_marked_field(document, text):
    blanks = [cell for cell in cells(document) if isinstance(cell, Blank)]
    assert len(blanks) > 8
    assert text.count('class="blank"') == len(blanks)


def test_every_table_has_a_caption_and_every_picture_its_words(text):
    assert text.count("<table") == text.count("<caption")
    assert "<caption></caption>" not in text
    assert text.count("<svg") == text.count("<figcaption>") >= 2
    assert text.count("<svg") == text.count('aria-hidden="true"')


def test_headings_leave_out_no_level(page):
    levels = [int(tag[1]) for tag in page.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - sooner <= 1 for sooner, later in pairwise(levels))


def test_a_plan_that_buys_nothing_says_so(plan, make):
    idle = changed(plan, acquisitions=(), break_evens=())
    drawn = markdown.render(make(idle))
    assert "Buy and rent nothing" in drawn
    assert "Nothing to buy, to rent or to reserve." in drawn


def test_an_option_stands_beside_the_recommended_plan_and_says_whose_figures_are_whose(plan, make):
    rents = tuple(line for line in plan.acquisitions if line.kind == "rent")
    rent = changed(plan, acquisitions=rents)
    options = RelatedResults({"rent only": rent})
    page = Page(render(make(plan, options), "Options"))
    stored = {"": json.loads(dumps(plan)), "rent only": json.loads(dumps(rent))}
    assert len(page.come_out_again(stored, of="rent only: ")) == 8
    bought = [f.text for f in page.figures if f.sum.endswith("[kind=buy].total_cents)")]
    assert {"357,000", "0"} <= set(bought)
    drawn = markdown.render(make(plan, options))
    assert "- Rent only: \\[fill in" not in drawn
    assert "- Do nothing: \\[fill in" in drawn


def test_every_figure_of_results_beside_the_plan_is_found_in_their_files(
    plan, make, beside, compared, files
):
    page = Page(render(make(plan, replace(beside, comparison=compared)), "All of it"))
    told = Counter(figure.sum.partition(": ")[0] for figure in page.come_out_again(files))
    assert told["alternatives.json"] > 20
    assert told["compare.json"] > 15
    assert told["sensitivity.json"] > 8 or make is quarterly_document
    assert list(page.loose(*files.values())) == []


def test_options_stand_beside_the_plan_with_what_each_leaves_short(plan, make, beside):
    drawn = markdown.render(make(plan, beside))
    assert "| do nothing | proved | 9,000 | -117,357 | – | 1 | – |" in drawn
    assert "| do nothing | nothing | 0 | 0 | 24 | 17 | ? |" in drawn
    assert "| reclaim first | infeasible | – | – |" in drawn
    assert "Dropped: claims-tune." in drawn
    assert "### Doing nothing, quarter by quarter" in drawn
    assert "| support | 3, 4, 4 | 0 | 2 | 0 |" in drawn
    found = beside.alternatives
    idle, *others = found.others
    late = changed(idle.figures, short=("claims-tune", "chat"))
    known = changed(idle, units_short=None, figures=late)
    unknown = changed(found, others=(known, *others))
    drawn = markdown.render(make(plan, replace(beside, alternatives=unknown)))
    assert "nothing is acquired. Dropped: claims-tune; delayed: chat." in drawn
    assert "| Jobs dropped | Delayed |" in drawn
    assert "| do nothing | proved | 9,000 | -117,357 | – | 1 | 1 | – |" in drawn
    held = changed(idle, units_short=())
    enough = replace(beside, alternatives=changed(found, others=(held, *others)))
    told = "What is owned holds every unit in every quarter."
    assert told in markdown.render(make(plan, enough))


def test_an_option_that_costs_less_with_all_jobs_is_on_page_1_with_what_it_takes(
    plan, make, beside
):
    found = beside.alternatives
    less = changed(found.cheapest, cost_cents=found.cheapest.cost_cents - 30_000_00)
    share = changed(
        found.others[1], settings=(Override.parse("policies.mig=same-node"),), figures=less
    )
    others = changed(found, others=(found.others[0], share))
    page_1 = markdown.render(make(plan, replace(beside, alternatives=others))).partition("## 2.")[0]
    told = "There is a cheaper way to keep as many jobs: reclaim first, for $30,000 less, with what"
    allow = "the scenario does not allow: `policies.mig=same-node` (partitions). Allow that"
    assert f"{told} {allow}" in page_1
    assert "| reclaim first | proved | 96,357 | -30,000 |" in page_1
    page = Page(render(make(plan, replace(beside, alternatives=others)), "Less"))
    figure = next(one for one in page.figures if one.text == "-30,000")
    stored = {"": {}, "alternatives.json": json.loads(others.model_dump_json())}
    assert again_in(stored, figure.sum) == -30_000_00
    alone = replace(beside, alternatives=changed(found, others=found.others[:1]))
    dear = markdown.render(make(plan, alone)).partition("## 2.")[0]
    assert "cheaper way" not in dear


def test_an_option_of_ones_own_that_costs_less_is_on_page_1(plan, make):
    proof = changed(plan.proof, cost_cents=plan.proof.cost_cents - 10_000_00)
    own = changed(plan, proof=proof)
    page_1 = markdown.render(make(plan, RelatedResults({"own idea": own}))).partition("## 2.")[0]
    assert "as many jobs: own idea, for $10,000 less, with what was asked there" in page_1
    same = markdown.render(make(plan, RelatedResults({"own idea": plan}))).partition("## 2.")[0]
    assert "cheaper way" not in same
    assert f"| own idea | proved | {plan.proof.cost_cents / 100:,.0f} | 0 |" in same


def test_an_option_that_costs_less_without_any_change_says_that_the_plan_is_not_proved(beside):
    found = beside.alternatives
    one = changed(found.others[2], settings=())
    unproved = changed(found.cheapest, result="not proved")
    told = cheaper_text(one, unproved)
    assert "as many jobs: rent only, for $126,349 less. It takes nothing that the scen" in told
    assert told.endswith("the cheapest is not proved.")


def test_a_tie_stands_among_the_options_as_what_it_is(plan, make, beside):
    found = beside.alternatives
    bought = changed(found.cheapest.acquired[0], offer="elsewhere")
    figures = changed(found.cheapest, acquired=(bought,), drawn_w=9)
    best = Best(value=1, bound=1, unit="node types")
    tie = changed(
        found.others[0], name="fewest node types", figures=figures, best=best, units_short=None
    )
    cheapest = changed(found.cheapest, drawn_w=9)
    others = changed(found, others=(*found.others, tie), cheapest=cheapest)
    drawn = markdown.render(make(plan, replace(beside, alternatives=others)))
    assert "\n| fewest node types | proved | 126,357 |" in drawn
    told = "; it costs the same as the recommended plan to the cent, and acquires 1 elsewhere."
    assert told in drawn
    assert "no vendor alone offers what is needed." in drawn
    assert "[fill in: `planner alternatives" not in drawn.replace("\\", "")


def test_what_an_option_pays_after_the_horizon_stands_beside_the_others(plan, make, beside):
    found = beside.alternatives
    assert "After the horizon" not in markdown.render(make(plan, beside)).partition("## 5")[0]
    first, *others = found.others
    reserved = changed(first.figures, committed_cents=1_234_00)
    late = (changed(first, figures=reserved), *others)
    other = replace(beside, alternatives=changed(found, others=late))
    (table,) = (
        block
        for block in make(plan, other)
        if isinstance(block, Table)
        and block.caption.startswith("Options, ")
        and any(column.title == "Bought, USD" for column in block.columns)
    )
    place = [column.title for column in table.columns].index("After the horizon, USD")
    assert [cell_text(row[place]) for row in table.rows] == ["none", "1,234", "–", "none"]
    assert "still to be paid for reservations" in table.caption


def test_an_option_is_cheaper_if_it_keeps_all_that_the_plan_keeps():
    def summary(cost_cents, units=0, **short):
        lacking = (JobShort(job="chat", asked=(40, 40), short=(0, units)),) * bool(units)
        figures = {"result": "proved", "cost_cents": cost_cents, "units_short": lacking}
        return PlanSummary.model_validate({**figures, **short})

    plan = summary(2, units=6, short=("chat",))
    assert is_cheaper(summary(1, units=6, short=("chat",)), plan)
    assert is_cheaper(summary(2, units=2, short=("chat",)), plan)
    assert not is_cheaper(summary(1, units=7, short=("chat",)), plan)
    assert not is_cheaper(summary(1, short=("other",)), plan)
    assert not is_cheaper(summary(1, short=("chat",), dropped=("chat",)), plan)
    assert short_text(plan) == "short: chat by 6 units × quarters"
    assert not are_equal(plan, summary(2, units=2, short=("chat",)))


def test_a_field_left_open_names_the_command_with_all_that_the_plan_was_asked(plan):
    options = Options(variations=("late",), settings=(Override.parse("name=a b"),), rules=("own",))
    files = (("scenario", "my plan.yaml", "0"),)
    provenance = changed(plan.provenance, options=options, files=files)
    asked = changed(plan, provenance=provenance)
    assert command_for("sensitivity", asked) == (
        "planner sensitivity 'my plan.yaml' --scenario late --set 'name=a b' --rules own --out DIR"
    )
    both = (*files, ("placement", "last.json", "1"))
    provenance = changed(provenance, files=both)
    carried = changed(plan, provenance=provenance)
    assert command_for("sensitivity", carried, "q") == (
        "planner report q/plan.json --what-if all --out q --force"
    )


def test_switching_values_say_where_the_recommendation_turns(plan, beside):
    drawn = justification(plan, beside)
    assert "| price of h200-buy | $357,000 per node | -30,000 | +25,000 | 55,000 |" in drawn
    assert "| lead times | – | 0 | no plan | no plan |" in drawn
    assert "| lead times | 2 weeks | 3 weeks |" in drawn
    assert "| no plan: too late |" in drawn
    none = PlanSummary(
        result="infeasible", reason="no plan for all jobs keeps the dates of offer a"
    )
    assert then_acquired(none) == none.reason
    assert "At which price, growth or delay the recommendation turns" not in drawn


def test_rented_nodes_of_a_type_that_is_owned_elsewhere_are_not_owned(plan):
    cloud = changed(plan.pools[0], node_type="xe9680-h100")
    drawn = justification(changed(plan, pools=(cloud, *plan.pools[1:])))
    there = drawn.partition("Pools with owned nodes")[2].partition("\n## ")[0]
    assert "| xe9680-h100 @ dc-east |" in there
    assert "cloud" not in there


def test_the_price_of_spare_nodes_is_told_as_open_and_not_at_all_where_there_are_none(plan, make):
    drawn = markdown.render(make(changed(plan, spare_cost=SpareCost(cents=None))))
    assert "for all spare nodes together, USD: open: a plan without was not proved" in drawn
    assert "pare nodes together" not in markdown.render(make(plan))


def test_prices_of_the_bill_that_no_quote_stands_behind_are_warned_of_on_page_1(plan, make):
    rented, bought, *others = plan.acquisitions
    quoted = changed(bought, illustrative=False, price_origin="quote 4711")
    for line, told in ((bought, True), (quoted, False)):
        other = changed(plan, acquisitions=(rented, line, *others))
        drawn = markdown.render(make(other)).partition("## 2.")[0]
        assert (f"Prices of `{line.offer}` are illustrative, not quotes" in drawn) == told


def test_the_ask_names_the_first_order_whatever_it_is_for(plan):
    early = [
        changed(line, order_by="2026-12-18") if line.kind == "rent" else line
        for line in plan.acquisitions
    ]
    drawn = ask_sentence(changed(plan, acquisitions=tuple(early)))
    assert "by 2027Q2 (order by 2027-01-07) and rent" in drawn
    assert "in 2027Q1–Q3 (order by 2026-12-18) for" in drawn


def test_the_ask_is_in_support_of_jobs_that_are_kept_and_of_their_teams(plan):
    drawn = justification(plan)
    assert "- In support of: 4 jobs of 1 team, section 2\n" in drawn
    kept = [changed(job, ways=()) if job.team == "claims" else job for job in plan.jobs]
    drawn = justification(changed(plan, jobs=tuple(kept)))
    assert "- In support of: 2 jobs, section 2\n" in drawn


def test_what_is_owned_is_exhausted_when_more_is_held(plan):
    pools = tuple(
        changed(pool, gpus_used=tuple(10 * used for used in pool.gpus_used)) for pool in plan.pools
    )
    drawn = quarterly(changed(plan, pools=pools))
    assert "The owned GPUs no longer suffice in 2027Q1: jobs hold 166 more." in drawn
    drawn = quarterly(plan)
    assert "suffice by their number" in drawn
    by_type = "they first fall short: h200-141gb-sxm in 2027Q2 and l40s-48gb in 2027Q1."
    assert f"By GPU type, spare nodes counted, {by_type}" in drawn


def test_a_job_that_gives_way_still_asks_for_what_it_asks(plan, short):
    last = len(plan.quarters) - 1
    assert plan.jobs[0].name == "batch-inference"
    assert plan.jobs[0].units[last] == 0
    need = justification(short)
    assert re.search(r"\| batch-inference \|.*\| 1 \| 1 \| 1 \|\n", need)
    assert "GPUs needed for the jobs that are kept beside those owned." in need
    names = ", ".join(job.name for job in short.shortage.jobs)
    told = f"- Jobs that give way, and what would keep each: {names}, section 2\n"
    assert told in need.partition("## 2.")[0]
    told = quarterly(short)
    assert "suffice by their number in every quarter for the jobs that are kept." in told
    assert "| batch-inference | ends |" not in told


def test_runs_of_some_hours_and_changes_of_the_scenario_are_shown(plan):
    first, *others = plan.placements
    use, *rest = first
    run = changed(use.occupants[0], hours=(168, 1000))
    weekly = changed(use, occupants=(run, *use.occupants[1:]))
    change = AppliedChange(path="finance.pue", before="1.3", after="1.4", by="--set")
    placed = {"placements": ((weekly, *rest), *others), "changes": (change,)}
    weekly_plan = changed(plan, **placed)
    drawn = quarterly(weekly_plan)
    assert "### Schedule of runs" in drawn
    page = render(quarterly_document(weekly_plan), "Weeks")
    assert ": 8 Jan 00:00 – 11 Feb 16:00</title>" in page
    assert "| r760xa-l40s/cloud/r01 | 0 |" in drawn
    assert " | 8 Jan 00:00 – 11 Feb 16:00 |" in drawn
    assert "| finance.pue | 1.3 | 1.4 | --set |" in drawn


def test_pictures_have_their_colours_where_no_style_sheet_reaches_them(text):
    for element in re.findall(r"<(?:rect|polyline|line) [^>]*>", text):
        assert "fill=" in element or "stroke=" in element, element


LATE = """\
format: 1
name: One endpoint
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-12-01}
offers:
  rent-h100: {node_type: xe9680-h100, kind: rent, price_usd_per_gpu_hour: 3, quote: Q-1}
  late-h200: {node_type: xe9680-h200, kind: buy, price_usd: 340000, quote: Q-2, lead_time_weeks: 12}
jobs:
  chat:
    serve:
      model: qwen3-30b-a3b
      load: {requests_per_second: 8, input_tokens: 6000, output_tokens: 250}
      latency: {ttft_ms: 2000, tpot_ms: 40}
  note: {fixed: {gpus: 1, cpus: 1, memory_gb: 1}, gpu_types: [h200-141gb-sxm], count: {2027Q2: 1}}
"""


def test_gpu_types_are_counted_by_job_however_many_counts_of_gpus_each_may_take():
    plan = planner.plan(LATE)._plan
    (table,) = gpu_types_section(TracedPlan(plan))
    assert isinstance(table, Table)
    ways = Counter(one.gpu_type for one in plan.jobs[0].alternatives)
    assert ways["h200-141gb-sxm"] > 1
    rows = {name: cells for name, *cells in (map(cell_text, row) for row in table.rows)}
    on, movable, _, _, cannot = rows["h200-141gb-sxm"]
    assert (on, movable, cannot) == ("1", "0", "1")
