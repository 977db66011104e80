"""How GPUs that jobs share, in time and in parts, are shown."""

import re
from dataclasses import replace

import pytest

from planner.planning.jobs import explain_job
from planner.planning.plan import GpuPart, NodeUse, Occupant
from planner.reporting.document import Gantt, Heading, Paragraph, Table, in_words
from planner.reporting.format import visible
from planner.reporting.sections.placement import schedule_section, shared_section
from planner.reporting.sections.sizing import explanation_document, parts_held
from planner.reporting.terminal import TerminalOptions, render
from planner.reporting.traced import FULL, TracedPlan
from tests.report.pages import screen
from tests.stated import changed

HERE, THERE = "xe9680-h100/dc-east/01", "xe9680-h100/dc-east/02"


def slices(profile, first, taken):
    return GpuPart(profile=profile, first=first, taken=taken, of=8)


def memory_of(megabytes):
    return GpuPart(profile=None, first=None, taken=megabytes, of=72_000)


def holds(job, unit, gpus, **how):
    return Occupant(job=job, unit=unit, gpus=gpus, cpus=1, memory_mb=1000, **how)


PARTS = (
    *(holds("small", unit, (6,), part=slices("1g.10gb", unit - 1, 1)) for unit in (1, 2)),
    holds("half", 1, (6,), part=slices("3g.40gb", 4, 4)),
    *(holds("memo", unit, (7,), part=memory_of(30_000)) for unit in (1, 2)),
)
RUNS = (
    holds("batch-inference", 1, (0, 1, 2, 3), hours=(0, 800)),
    holds("claims-tune", 1, (0, 1), hours=(840, 2160)),
    holds("claims-tune", 2, (2,), hours=(1010, 1024)),
)


@pytest.fixture
def sharing(plan):
    """The first quarter with runs and parts on one node, parts alone on another, alike."""
    first = (
        NodeUse(node=HERE, occupants=(*RUNS, *PARTS)),
        NodeUse(node=THERE, occupants=PARTS),
    )
    jobs = tuple(
        changed(job, units=(2, 1, 1)) if job.name == "claims-tune" else job for job in plan.jobs
    )
    placements = (first, *plan.placements[1:])
    return changed(plan, placements=placements, jobs=jobs)


def only(kind, blocks):
    (found,) = (block for block in blocks if isinstance(block, kind))
    return found


def bars(plan):
    """First and last cell of each run."""
    ((_, drawn),) = only(Gantt, schedule_section(TracedPlan(plan))).groups
    return [(bar.first, bar.last) for bar in drawn]


def test_each_run_has_its_weeks_and_its_hours_under_its_node(sharing):
    assert bars(sharing) == [(1, 5), (6, 13), (7, 7)]
    assert "A cell is a week" in only(Gantt, schedule_section(TracedPlan(sharing))).says
    assert only(Table, in_words(schedule_section(TracedPlan(sharing)))).rows == (
        (HERE, "0–3", "batch-inference", "1 Jan 00:00 – 3 Feb 08:00"),
        (HERE, "0–1", "claims-tune 1", "5 Feb 00:00 – 1 Apr 00:00"),
        (HERE, "2", "claims-tune 2", "12 Feb 02:00 – 12 Feb 16:00"),
    )


def test_runs_that_end_within_four_weeks_are_drawn_by_day(sharing):
    runs = tuple(
        changed(one, hours=hours)
        for one, hours in zip(RUNS, ((0, 40), (40, 110), (100, 114)), strict=True)
    )
    placements = ((NodeUse(node=HERE, occupants=runs),), *sharing.placements[1:])
    plan = changed(sharing, placements=placements)
    assert "A cell is a day" in only(Gantt, schedule_section(TracedPlan(plan))).says
    assert bars(plan) == [(1, 2), (2, 5), (5, 5)]


def test_runs_of_a_job_that_follow_each_other_are_one_line(sharing):
    runs = tuple(
        holds("claims-tune", 1, (0,), hours=(2 * run, 2 * run + 2), replica=run + 1)
        for run in range(20)
    )
    later = holds("claims-tune", 1, (0,), hours=(50, 52), replica=21)
    placements = ((NodeUse(node=HERE, occupants=(*runs, later)),), *sharing.placements[1:])
    plan = changed(sharing, placements=placements)
    assert only(Table, in_words(schedule_section(TracedPlan(plan)))).rows == (
        (HERE, "0", "claims-tune, 20 runs", "1 Jan 00:00 – 2 Jan 16:00, 2 h each"),
        (HERE, "0", "claims-tune 1/21", "3 Jan 02:00 – 3 Jan 04:00"),
    )


def test_a_long_schedule_says_how_much_is_left_out(sharing):
    *_, last = schedule_section(TracedPlan(sharing, detail=replace(FULL, lines=2)))
    assert isinstance(last, Paragraph)
    assert visible(last.text) == "… 1 more run, all of them in `placements` of plan.json"


def test_partitions_and_shares_are_told_by_node_and_gpu(sharing):
    assert only(Heading, shared_section(TracedPlan(sharing))).text == "2027Q1"
    small = "small: 1g.10gb at 0, 1; half: 3g.40gb at 4"
    assert only(Table, shared_section(TracedPlan(sharing))).rows == (
        ("xe9680-h100/dc-east/01–02 (×2)", "6", small, "2 of 8 slices"),
        ("", "7", "memo ×2: 60 GB", "12 GB of 72 GB"),
    )


def test_what_is_held_of_each_gpu_is_told_by_its_number():
    held = [(one.gpus[0], one.part) for one in reversed(PARTS)]
    assert parts_held(held) == "6 (1g.10gb at 0, 1; 3g.40gb at 4), 7 (60 GB)"


def test_an_explanation_says_from_when_to_when_and_how_many_places_it_leaves_out(sharing):
    def with_runs(occupants):
        runs = tuple(changed(one, way="h200-141gb-sxm") for one in occupants)
        use = changed(sharing.placements[0][0], occupants=runs)
        placements = ((use,), *sharing.placements[1:])
        plan = changed(sharing, placements=placements)
        return render(explanation_document(explain_job(plan, "claims-tune")), TerminalOptions(160))

    text = with_runs(RUNS[1:])
    assert re.search("0, 1 +5 Feb 00:00 – 1 Apr 00:00", text)
    assert re.search("2 +12 Feb 02:00 – 12 Feb 16:00", text)
    assert "more place" not in text
    many = [changed(RUNS[1], unit=unit, hours=(unit, unit + 1)) for unit in range(1, 16)]
    assert "more place" in with_runs(many)


def test_the_plan_marks_shared_gpus_and_tells_their_peak(sharing):
    text = screen(sharing, 120)
    assert re.search(r"\[\+\+\+\w··\+\w\]", text)
    assert "+=shared by jobs" in text
    assert "Peak the GPUs held at its fullest hour" in " ".join(text.split())
