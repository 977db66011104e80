"""Where not everything fits: who gives way, what is told of them, and what the check notices."""

from typing import Any

import pytest

from planner.errors import InfeasibleError
from planner.inputs.settled import Inputs
from planner.packing import crosscheck
from planner.packing.solver import solve_with_cbc
from planner.planning.jobs import explain_job
from planner.planning.make import make_plan
from planner.planning.plan import Plan, PriorityUse, Shortage, ShortJob
from planner.reporting.markdown import render
from planner.reporting.sections.purchases import ask_sentence
from planner.reporting.sections.sizing import explanation_document
from tests.plan.edits import noticed, put, refused
from tests.report.pages import plan_page
from tests.stated import asked, question, table

SERVER = {"node_type": "xe9680-h100", "count": 1}
BUY = {
    "node_type": "xe9680-h100",
    "kind": "buy",
    "price_usd": 300_000,
    "quote": "a",
    "lead_time_weeks": 14,
}


def job(gpus: int, **changes: Any) -> dict[str, Any]:
    return {"fixed": {"gpus": gpus}, **changes}


def scenario(jobs: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Three quarters with one owned server of 8 GPUs, in which jobs may give way."""
    return question(3, as_of="2026-11-21") | {
        "fleet": {"own": SERVER},
        "finance": {"support_share_per_year": 0, "energy_usd_per_kwh": 0},
        "policies": {"shortage": "drop"},
        "jobs": jobs,
        **changes,
    }


def read(jobs: dict[str, Any], **changes: Any) -> Inputs:
    return asked(scenario(jobs, **changes))


def shortage_of(plan: Plan) -> Shortage:
    assert plan.shortage is not None
    return plan.shortage


def short(plan: Plan, name: str) -> ShortJob:
    (found,) = (one for one in shortage_of(plan).jobs if one.name == name)
    return found


def test_nothing_is_said_where_everything_fits_and_a_shortage_is_refused_by_default():
    plan = make_plan(read({"a": job(8, priority="low")}))
    assert plan.shortage is None
    assert "Jobs that give way" not in plan_page(plan)
    with pytest.raises(InfeasibleError):
        make_plan(read({"a": job(8), "b": job(1, priority="low")}, policies={}))


def test_the_less_important_job_is_dropped_with_what_would_keep_it():
    plan = make_plan(read({"a": job(8, priority="high"), "b": job(4)}))
    assert plan.proof.status == "proved"
    assert shortage_of(plan).priorities == (
        PriorityUse(priority=75, jobs=1, dropped=0, delayed=0, proved=True),
        PriorityUse(priority=50, jobs=1, dropped=1, delayed=0, proved=True),
    )
    told = short(plan, "b")
    assert told.outcome == "dropped"
    assert told.asked == (1, 1, 1)
    assert told.cause == "in 2027Q1 at least 4 GPUs more are needed than can be in service"
    assert told.remedies == ("have 1 node more of xe9680-h100@main in service from 2027Q1",)
    assert [one.units for one in plan.jobs] == [(1, 1, 1), (0, 0, 0)]


@table(__file__)
def test_a_limit_drops_what_it_has_no_room_for_and_names_the_raise(limit, cause, remedy):
    jobs = {"a": job(8, priority=90), "b": job(8, priority=10, quarters="2027Q2..2027Q3")}
    told = short(make_plan(read(jobs, offers={"buy": BUY}, **limit)), "b")
    assert cause in told.cause
    assert remedy in told.remedies


def test_a_tuning_job_and_its_deployment_give_way_together():
    tuning = {"model": "llama-3.1-8b", "method": "lora", "deploy": {"replicas": 8}}
    jobs = {"a": job(1, priority="high"), "tuner": {"tune": tuning, "quarters": "2027Q1"}}
    plan = make_plan(read(jobs))
    assert short(plan, "tuner").deployment == "tuner-serving"
    assert {one.name: one.units for one in plan.jobs} == {
        "a": (1, 1, 1),
        "tuner": (0, 0, 0),
        "tuner-serving": (0, 0, 0),
    }
    told = render(explanation_document(explain_job(plan, "tuner-serving")))
    assert "With tuner, from which it is derived, it is dropped" in told


def test_required_jobs_that_do_not_fit_are_refused_and_named_once_that_is_confirmed(monkeypatch):
    asked = []

    def asking(program, **how):
        asked.append(program)
        return solve_with_cbc(program, **how)

    monkeypatch.setattr(crosscheck, "solve_with_cbc", asking)
    jobs = {"a": job(8, required=True), "b": job(4, required=True), "c": job(1)}
    with pytest.raises(InfeasibleError) as caught:
        make_plan(read(jobs), crosscheck=True)
    assert "the required jobs alone are asked for here: a, b" in caught.value.reasons
    assert "4 GPUs more" in caught.value.headline
    assert len(asked) == 1


def test_a_job_that_nothing_in_play_can_run_is_dropped_unless_it_is_required():
    jobs = {"a": job(8), "huge": job(13), "wide": job(1, gpu_types=["l40s-48gb"])}
    plan = make_plan(read(jobs))
    for name in ("huge", "wide"):
        assert short(plan, name).cause == "no GPU type in play can run it"
        assert short(plan, name).remedies
        assert all(told.startswith(f"{name}: ") for told in short(plan, name).remedies)
    jobs["huge"]["required"] = True
    with pytest.raises(InfeasibleError, match="huge"):
        make_plan(read(jobs))


def test_a_portfolio_of_which_nothing_is_left_and_nothing_can_be_had_is_planned():
    plan = make_plan(read({"huge": job(13)}, fleet={"own": {**SERVER, "retires": "2027Q2"}}))
    assert (plan.proof.status, plan.proof.cost_cents) == ("proved", 0)
    assert [one.name for one in shortage_of(plan).jobs] == ["huge"]
    assert ask_sentence(plan).startswith("Buy and rent nothing, as no job is kept, for $0 net ")


def test_the_report_and_the_ask_name_who_gives_way():
    plan = make_plan(read({"a": job(8, priority="high"), "b": job(4), "c": job(2)}))
    assert "2 jobs are dropped, as not everything fits" in ask_sentence(plan)
    assert "the owned fleet runs what is kept" in ask_sentence(plan)
    page = plan_page(plan)
    assert "## Jobs that give way" in page
    assert "### b: dropped" in page
    told = render(explanation_document(explain_job(plan, "b")))
    assert "It is dropped: not everything fits, and its priority is 50." in told
    assert "What would keep it as asked:" in told
    assert "have 1 node more of" in told


def test_room_that_would_go_to_a_more_important_job_is_not_promised_to_another():
    jobs = {"a": job(8, priority="high"), "b": job(4), "c": job(4, priority="low")}
    plan = make_plan(read(jobs | {"d": job(4, priority=1)}))
    assert [one.name for one in shortage_of(plan).jobs] == ["b", "c", "d"]
    first, then, last = (render(explanation_document(explain_job(plan, name))) for name in "bcd")
    assert "What would keep it as asked:" in first
    assert "What would keep it as asked, if b did not take the room first:" in then
    assert "What would keep it as asked, if b and c did not take the room first:" in last


@pytest.fixture(scope="module")
def judged() -> tuple[Inputs, Plan]:
    """A plan in which a required job waits and another is dropped."""
    jobs = {
        "runs": job(8, quarters="2027Q1", priority=80),
        "waits": job(8, quarters="2027Q1", may_slip_quarters=1, required=True, priority=90),
        "dropped": job(8, quarters="2027Q1..2027Q2", priority=10),
    }
    inputs = read(jobs)
    plan = make_plan(inputs)
    outcomes = {one.name: one.outcome for one in shortage_of(plan).jobs}
    assert outcomes == {"waits": "delayed", "dropped": "dropped"}
    return inputs, plan


@noticed("a job that waits and one that is dropped")
def test_the_check_notices_when(judged, told, edit):
    inputs, plan = judged
    assert told in refused(inputs, edit(plan))


def test_the_check_notices_a_bound_that_proves_less(judged):
    inputs, plan = judged
    plan = put(plan, "proof > asked_gap", 0.0)
    plan = put(plan, "shortage > bound_cents", plan.proof.cost_cents - 1)
    assert "not that nobody gives way without need" in refused(inputs, plan)


def test_the_check_notices_a_job_that_is_dropped_where_none_may_be():
    jobs = {"a": job(8, priority=60), "b": job(8, priority=40)}
    told = refused(read(jobs, policies={}), make_plan(read(jobs)))
    assert "though policies.shortage refuses that" in told


def test_the_check_notices_a_job_that_is_delayed_out_of_sight():
    """The plan delays `waits` by a quarter; asked for in the last one, it would never run."""

    def jobs(quarter):
        waits = job(8, quarters=quarter, may_slip_quarters=1, required=True)
        return {"runs": job(8, quarters="2027Q1", required=True), "waits": waits}

    plan = make_plan(read(jobs("2027Q1")))
    assert short(plan, "waits").delay_quarters == 1
    told = refused(read(jobs("2027Q3")), plan)
    assert "job waits is delayed beyond the horizon" in told


def test_of_gpus_that_others_may_have_in_turn_it_is_not_said_how_many_are_missing():
    """Both runs together are 64 hours too long for one server."""
    runs = {name: job(8, quarters="2027Q1", run={"hours": 1000}) for name in "ab"}
    with pytest.raises(InfeasibleError) as caught:
        make_plan(read(runs, policies={}))
    assert caught.value.cause == "in 2027Q1 more GPUs are needed than can be in service"


def test_that_a_job_starts_later_keeps_it_if_it_is_dropped_and_under_its_own_name():
    jobs = {
        "first": job(8, quarters="2027Q1", priority="high"),
        "b": job(4, quarters="2027Q1"),
        "c": job(4, quarters="2027Q1"),
        "d": job(4, quarters="2027Q1", may_slip_quarters=1),
    }
    plan = make_plan(read(jobs))
    for name in "bc":
        assert f"start {name} 1 quarter later" in short(plan, name).remedies
    told = short(plan, "d")
    assert (told.outcome, told.delay_quarters) == ("delayed", 1)
    assert not any(remedy.startswith("start ") for remedy in told.remedies)


def test_a_job_that_must_wait_waits_no_longer_than_it_has_to():
    """From the second quarter on there is room, and no start costs more than another."""
    web = {"model": "llama-3.3-70b", "bits": 8, "context": 8192, "concurrency": 16}
    jobs = {
        "web": {"serve": web, "count": {"2027Q1": 3, "2027Q2": 5, "2027Q3": 6}, "priority": "high"},
        "late": job(4, quarters="2027Q1", may_slip_quarters=2),
        "note": job(2, priority=45),
    }
    h200 = {**BUY, "node_type": "xe9680-h200", "lead_time_weeks": 12, "maximum": 1}
    assert short(make_plan(read(jobs, offers={"buy": h200})), "late").delay_quarters == 1


def test_who_plans_many_variants_is_told_who_gives_way_and_not_why():
    inputs = read({"a": job(8), "b": job(8), "c": job(3, priority=90)})
    told, short = (make_plan(inputs, price_choices=asked) for asked in (True, False))
    assert short.proof == told.proof
    assert [one.name for one in shortage_of(short).jobs] == ["a", "b"]
    assert all(one.remedies for one in shortage_of(told).jobs)
    assert not any(one.remedies for one in shortage_of(short).jobs)


def test_without_leave_to_drop_another_gpu_type_that_would_do_is_named():
    """Two jobs want the one server with H100; a server with A100 stands idle beside it."""
    fleet = {"own": SERVER, "idle": {"node_type": "xe9680-a100", "count": 1}}
    jobs = {name: job(8, gpu_types=["h100-80gb-sxm"]) for name in ("first", "second")}
    with pytest.raises(InfeasibleError) as refusal:
        make_plan(read(jobs, fleet=fleet, policies={}))
    for name in jobs:
        assert f"let {name} run on a100-80gb-sxm as well" in refusal.value.remedies

    with pytest.raises(InfeasibleError) as refusal:
        make_plan(read({**jobs, "third": job(8)}, fleet=fleet, policies={}))
    assert not any("run on" in remedy for remedy in refusal.value.remedies)


@pytest.mark.parametrize(("units", "would_do"), [(1, True), (2, False)])
def test_without_leave_to_drop_a_change_of_gpu_type_that_would_do_is_named(units, would_do):
    """The one A100 server retires when the H100 arrive: one unit could go from this to those."""
    own = {"node_type": "xe9680-a100", "count": 1, "retires": "2027Q2"}
    buy = {**BUY, "lead_time_weeks": 12}
    jobs = {"chat": job(8, count=units)}
    with pytest.raises(InfeasibleError) as refusal:
        make_plan(read(jobs, fleet={"own": own}, offers={"buy": buy}, policies={}))
    remedy = "let chat change its GPU type between quarters (`may_change_gpu_type`)"
    assert (remedy in refusal.value.remedies) == would_do
