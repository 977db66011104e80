"""Jobs that are short of some units while the others run: what is planned, told and checked."""

from typing import Any

import pytest

from planner.inputs.reading.reader import parse_document
from planner.inputs.settled import Inputs
from planner.planning.jobs import explain_job
from planner.planning.make import make_plan
from planner.planning.plan import Plan, PriorityUse, ShortJob
from planner.planning.store import Saved, carried_over, dumps
from planner.reporting.markdown import render
from planner.reporting.sections.purchases import ask_sentence
from planner.reporting.sections.sizing import explanation_document
from planner.whatif.compare import compare_plans
from planner.whatif.results import JobShort, summary_of
from tests.plan.edits import noticed, pieces, refused
from tests.report.pages import plan_page
from tests.stated import asked, question

CHAT = {"model": "llama-3.1-8b", "context": 8192, "concurrency": 16}


def chat(replicas: int, **changes: Any) -> dict[str, Any]:
    return {"serve": {**CHAT, "replicas": replicas}, **changes}


def scenario(jobs: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Three quarters with five servers of 8 GPUs, of which one retires before the last."""
    server = {"node_type": "xe9680-h100"}
    return question(3, as_of="2026-11-21") | {
        "fleet": {
            "old": {**server, "count": 1, "retires": "2027Q3"},
            "own": {**server, "count": 4},
        },
        "finance": {"support_share_per_year": 0, "energy_usd_per_kwh": 0},
        "policies": {"shortage": "drop"},
        "jobs": jobs,
        **changes,
    }


def read(jobs: dict[str, Any], **changes: Any) -> Inputs:
    return asked(scenario(jobs, **changes))


@pytest.fixture(scope="module")
def in_part() -> tuple[Inputs, Plan]:
    """Six of 38 units are short in the last quarter."""
    inputs = read({"chat": chat(38, droppable=6)})
    return inputs, make_plan(inputs)


def short(plan: Plan, name: str) -> ShortJob:
    assert plan.shortage is not None
    (found,) = (one for one in plan.shortage.jobs if one.name == name)
    return found


def units(plan: Plan) -> dict[str, tuple[int, ...]]:
    return {job.name: job.units for job in plan.jobs}


def test_of_40_replicas_34_serve_in_the_quarter_without_room_and_all_before(in_part):
    _, plan = in_part
    assert plan.shortage is not None
    assert plan.proof.status == "proved"
    assert units(plan) == {"chat": (38, 38, 32)}
    told = short(plan, "chat")
    assert (told.outcome, told.short) == ("short", (0, 0, 6))
    assert told.cause == "in 2027Q3 at least 6 GPUs more are needed than can be in service"
    use = PriorityUse(
        priority=50, jobs=1, dropped=0, delayed=0, proved=True, short=1, units_short=6
    )
    assert plan.shortage.priorities == (use,)
    for jobs in ({"chat": chat(38)}, {"chat": chat(38, droppable=5)}):
        plan = make_plan(read(jobs))
        assert short(plan, "chat").outcome == "dropped"
        assert units(plan) == {"chat": (0, 0, 0)}


def test_what_is_told_names_the_units_and_the_quarters():
    plan = make_plan(read({"chat": chat(38, droppable="all")}))
    page = plan_page(plan)
    assert "### chat: short of 6 of 38 units (2027Q3)" in page
    assert "| Short | Units short × quarters |" in page
    assert "1 job is short of units, as not everything fits" in ask_sentence(plan)
    told = render(explanation_document(explain_job(plan, "chat")))
    assert "It is short of 6 of 38 units (2027Q3): not everything fits" in told
    whole = make_plan(read({"chat": chat(32, droppable="all")}))
    before, after = (
        Saved("x", one, parse_document(one.question, "x"), None) for one in (whole, plan)
    )
    (change,) = compare_plans(before, after, make_plan).short
    assert (change.before, change.after) == (None, "short of 6 of 38 units (2027Q3)")
    assert "Short |" not in plan_page(whole)
    figures = summary_of(plan)
    assert figures.units_short == (JobShort(job="chat", asked=(38, 38, 38), short=(0, 0, 6)),)
    assert (figures.short, figures.dropped) == (("chat",), ())
    assert "units_short" not in summary_of(whole).model_dump()


def test_a_job_that_waits_may_be_short_as_well():
    """The buyer of the only server gets it for the second quarter."""
    jobs = {
        "first": {"fixed": {"gpus": 8}, "count": 5, "quarters": "2027Q1", "required": True},
        "waits": {
            "fixed": {"gpus": 8},
            "count": 5,
            "quarters": "2027Q1..2027Q2",
            "may_slip_quarters": 1,
            "droppable": 1,
        },
    }
    plan = make_plan(read(jobs))
    told = short(plan, "waits")
    assert (told.outcome, told.delay_quarters, told.short) == ("delayed", 1, (0, 0, 1))
    assert told.how(plan.quarters) == ("delayed by 1 quarter and short of 1 of 5 units (2027Q3)")
    assert units(plan)["waits"] == (0, 5, 4)


def test_what_runs_today_stops_unit_by_unit_without_a_move():
    jobs = {
        "chat": chat(38, droppable=6),
        "notes": {"fixed": {"gpus": 1}, "count": 2, "droppable": "all", "priority": "low"},
    }
    running = [
        {"job": "chat", "pool": "xe9680-h100/main", "count": 38},
        {"job": "notes", "node": "xe9680-h100/main/05", "count": 2, "pinned": True},
    ]
    policies = {"shortage": "drop", "move_cost_usd": 500}
    plan = make_plan(read(jobs, running=running, policies=policies))
    assert units(plan) == {"chat": (38, 38, 32), "notes": (2, 2, 0)}
    assert plan.current is not None
    assert (plan.current.stopped, plan.current.cost_cents) == (0, 0)


def test_a_plan_goes_on_from_one_with_units_that_are_short(tmp_path):
    jobs = {"chat": chat(38, droppable="all")}
    before = make_plan(read(jobs))
    later = {"first_quarter": "2027Q3", "quarters": 2, "as_of": "2027-05-21"}
    server = {"node_type": "xe9680-h100", "count": 4}
    inputs = read(jobs, horizon=later, fleet={"own": server})
    plan = make_plan(carried_over(inputs, dumps(before), tmp_path / "plan.json"))
    assert units(plan) == {"chat": (32, 32)}
    assert plan.current is not None
    assert (plan.current.units, plan.current.stopped) == (38, 6)


@noticed("six units short")
def test_the_check_notices_what_is_told_wrongly_of_units(in_part, told, edit):
    inputs, plan = in_part
    assert told in refused(inputs, edit(plan))


def test_the_check_counts_the_units_that_are_placed_and_asks_whether_any_may_be_short(in_part):
    inputs, plan = in_part
    first = plan.placements[2][0].occupants[0]
    fewer = pieces(2, lambda one: None if one == first else one)(plan)
    told = "7 units of chat not placed, the plan says that 6 are short"
    assert told in refused(inputs, fewer)
    assert "6 units of chat short, 0 may be" in refused(read({"chat": chat(38)}), plan)
