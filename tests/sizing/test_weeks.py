"""Runs that hold their GPUs for weeks of a quarter, and more GPUs that make them shorter."""

from __future__ import annotations

from math import ceil

import pytest

from planner.inputs.catalog.catalog import DenseTflops
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies, Scenario
from planner.sizing import Sizer
from planner.sizing.portfolio import size_portfolio

H100, H200 = "h100-80gb-sxm", "h200-141gb-sxm"
LONG = {
    "model": "llama-3.1-8b",
    "method": "lora",
    "batch": 64,
    "sequence": 4096,
    "dataset_tokens": 30_000_000_000,
}


@pytest.fixture(scope="module")
def size(sizer):
    by_weeks = sizer(Policies())
    return lambda **job: by_weeks.size(Job.model_validate(job))


def on(sizing, gpu_type):
    return [one for one in sizing.candidates if one.gpu_type == gpu_type]


def test_a_run_takes_the_weeks_of_its_hours_with_what_they_may_be_off(size):
    for one in size(tune=LONG).candidates:
        assert one.weeks == ceil(one.hours * 1.15 / 151.2)


def test_more_gpus_are_offered_as_long_as_the_run_ends_earlier(size):
    offered = on(size(tune=LONG), H100)
    assert len(offered) > 1
    assert [one.gpus for one in offered] == [offered[0].gpus * 2**n for n in range(len(offered))]
    weeks = [one.weeks for one in offered]
    assert weeks == sorted(set(weeks), reverse=True)
    assert weeks[-1] == 1


def test_the_hours_of_a_week_are_an_assumption_that_is_listed(size):
    assert any("time/hours-per-week" in told for told in size(tune=LONG).assumptions)
    assert size(tune=LONG, run={"weeks": 2}).assumptions == tuple(
        told for told in size(tune=LONG).assumptions if "hours-per-week" not in told
    )


def test_the_smallest_count_keeps_its_name_and_the_others_have_their_own(size):
    first, *others = on(size(tune=LONG), H100)
    assert first.way == H100
    assert [one.way for one in others] == [f"{H100} × {one.gpus}" for one in others]
    assert {one.decided_by for one in others} == {"time"}


def test_a_faster_gpu_type_ends_earlier_on_as_many_gpus(size):
    by_count = {(one.gpu_type, one.gpus): one for one in size(tune=LONG).candidates}
    assert by_count["a100-80gb-sxm", 8].weeks > by_count[H100, 8].weeks


def test_a_narrow_window_takes_more_gpus_or_none(size):
    wide, narrow = (on(size(tune=LONG, run={"deadline_week": week}), H200)[0] for week in (13, 1))
    assert narrow.gpus > wide.gpus
    assert narrow.weeks == 1
    assert narrow.decided_by == "deadline"


def test_a_run_that_no_count_makes_short_enough_is_refused_with_weeks_and_window(size):
    endless = {**LONG, "dataset_tokens": 30_000_000_000_000}
    sizing = size(tune=endless, run={"release_week": 3, "deadline_week": 6})
    assert sizing.candidates == ()
    (told,) = [one for one in sizing.rejections if one.gpu_type == H100]
    assert told.rule in ("exclusions/run-within-weeks", "exclusions/deadline")


def test_the_window_is_what_refuses_a_run_that_a_quarter_would_hold(size):
    job = {**LONG, "dataset_tokens": 300_000_000_000}
    assert on(size(tune=job), H100)
    sizing = size(tune=job, run={"release_week": 3, "deadline_week": 3})
    (told,) = [one for one in sizing.rejections if one.gpu_type == H100]
    assert told.rule == "exclusions/run-within-weeks"
    assert "from its release to its deadline there are 1" in told.message


def test_stated_weeks_are_taken_as_stated_on_one_count_of_each_gpu_type(size):
    sizing = size(tune=LONG, run={"weeks": 7})
    assert {one.weeks for one in sizing.candidates} == {7}
    assert len({one.gpu_type for one in sizing.candidates}) == len(sizing.candidates)
    assert {one.weeks for one in size(fixed={"gpus": 4}, run={"weeks": 3}).candidates} == {3}


def test_what_has_no_length_holds_its_gpus_all_quarter(size):
    open_ended = {key: value for key, value in LONG.items() if key != "dataset_tokens"}
    for job in ({"tune": open_ended}, {"fixed": {"gpus": 2}}, {"serve": {"parameters_b": 7}}):
        sizing = size(**job)
        assert sizing.candidates
        assert {one.weeks for one in sizing.candidates} == {None}
        told = [one for one in sizing.warnings if "holds its GPUs all quarter" in one]
        assert bool(told) is ("tune" in job)


def test_where_the_hours_are_unknown_a_run_holds_all_quarter_or_is_refused_a_window(
    catalog, rules, settings
):
    """Nobody knows how long a run takes on a GPU type whose throughput no page states."""
    untold = catalog.gpus[H100].model_copy(update={"dense_tflops": DenseTflops()})
    without = catalog.model_copy(update={"gpus": {H100: untold}})
    sizer = Sizer(without, rules, settings(), Policies(time="weeks"))
    wide, narrow = (
        sizer.size(Job.model_validate({"tune": LONG, "run": {"deadline_week": week}}))
        for week in (13, 4)
    )
    assert [one.weeks for one in wide.candidates] == [None]
    assert narrow.candidates == ()
    assert "weeks cannot be sized here" in narrow.rejections[0].message


def test_by_quarters_nothing_has_weeks_and_a_run_says_that_it_is_set_aside(sizer):
    by_quarters = sizer(Policies(time="quarters"))
    plain, run = (
        by_quarters.size(Job.model_validate(job))
        for job in ({"tune": LONG}, {"tune": LONG, "run": {"weeks": 2}})
    )
    assert plain.candidates == run.candidates
    assert {one.weeks for one in plain.candidates} == {None}
    assert [told for told in run.warnings if "policies.time is quarters" in told]
    assert plain.warnings == tuple(told for told in run.warnings if "`run`" not in told)


def test_a_sized_job_knows_its_window_only_where_time_is_planned_by_weeks(sizer):
    job = {"fixed": {"gpus": 2}, "run": {"weeks": 2, "release_week": 4, "deadline_week": 9}}
    windows = []
    for time in ("weeks", "quarters"):
        policies = Policies(time=time)
        question = Scenario.model_validate(
            {
                "format": 1,
                "name": "bench",
                "horizon": {"first_quarter": "2027Q1", "quarters": 1},
                "policies": {"time": time},
                "jobs": {"nightly": job},
            }
        )
        (one,) = size_portfolio(sizer(policies), question)
        windows.append((one.release_week, one.deadline_week))
    assert windows == [(4, 9), (1, 13)]
