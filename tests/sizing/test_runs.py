"""How long runs hold their GPUs, when in a quarter they may, and what makes them shorter."""

from math import ceil

import pytest

from planner.inputs.catalog.catalog import DenseTflops
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies, ResolvedScenario
from planner.sizing import Sizer
from planner.sizing.sizers import size_portfolio
from tests.stated import changed

H100, H200 = "h100-80gb-sxm", "h200-141gb-sxm"
SHORT = {
    "model": "llama-3.1-8b",
    "method": "lora",
    "batch": 64,
    "sequence": 4096,
    "dataset_tokens": 30_000_000,
}
LONG = {**SHORT, "dataset_tokens": 30_000_000_000}


@pytest.fixture(scope="module")
def size(sizer):
    sized = sizer(Policies())
    return lambda **job: sized.size(Job.model_validate(job))


def on(sizing, gpu_type):
    return [one for one in sizing.candidates if one.gpu_type == gpu_type]


@pytest.mark.parametrize(("utilization", "share"), [({}, 0.9), ({"run_utilization": 1}, 1)])
@pytest.mark.parametrize("tune", [SHORT, LONG], ids=["short", "long"])
def test_a_run_is_planned_with_its_error_and_the_share_of_hours_without_progress(
    sizer, tune, utilization, share
):
    candidates = sizer(**utilization).size(Job.model_validate({"tune": tune})).candidates
    assert candidates
    for one in candidates:
        assert one.planned_hours == ceil(one.hours * 1.2 / share)


def test_a_run_within_a_week_is_offered_on_the_fewest_gpus_alone(size):
    sizing = size(tune=SHORT)
    assert max(one.planned_hours for one in sizing.candidates) <= 168
    assert len({one.gpu_type for one in sizing.candidates}) == len(sizing.candidates)


def test_more_gpus_are_offered_to_a_longer_one_as_long_as_it_ends_earlier(size):
    offered = on(size(tune=LONG), H100)
    assert len(offered) > 1
    assert [one.gpus for one in offered] == [offered[0].gpus * 2**n for n in range(len(offered))]
    hours = [one.planned_hours for one in offered]
    assert hours == sorted(set(hours), reverse=True)


def test_the_smallest_count_keeps_its_name_and_the_others_have_their_own(size):
    first, *others = on(size(tune=LONG), H100)
    assert first.way == H100
    assert [one.way for one in others] == [f"{H100} × {one.gpus}" for one in others]
    assert {one.decided_by for one in others} == {"time"}


def test_a_narrow_window_takes_more_gpus(size):
    wide, narrow = (on(size(tune=LONG, run={"deadline": week}), H200)[0] for week in (13, 1))
    assert narrow.gpus > wide.gpus
    assert narrow.planned_hours <= 168
    assert narrow.decided_by == "deadline"


def test_the_window_is_what_refuses_a_run_that_a_quarter_would_hold(size):
    job = {**LONG, "dataset_tokens": 300_000_000_000}
    assert on(size(tune=job), H100)
    sizing = size(tune=job, run={"release": 3, "deadline": 3})
    (told,) = [one for one in sizing.rejections if one.gpu_type == H100]
    assert told.rule == "exclusions/run-within-window"
    assert "from its release to its deadline there are 168 h" in told.message


def test_stated_hours_are_taken_on_one_count_of_each_gpu_type(size):
    sizing = size(tune=LONG, run={"hours": 90})
    assert {one.planned_hours for one in sizing.candidates} == {100}
    assert len({one.gpu_type for one in sizing.candidates}) == len(sizing.candidates)
    fixed = size(fixed={"gpus": 4}, run={"hours": 4.5})
    assert {one.planned_hours for one in fixed.candidates} == {5}


def test_what_has_no_length_holds_its_gpus_all_quarter(size):
    open_ended = {key: value for key, value in LONG.items() if key != "dataset_tokens"}
    for job in ({"tune": open_ended}, {"fixed": {"gpus": 2}}, {"serve": {"parameters_b": 7}}):
        sizing = size(**job)
        assert sizing.candidates
        assert {one.planned_hours for one in sizing.candidates} == {None}
        told = [one for one in sizing.warnings if "holds its GPUs all quarter" in one]
        assert bool(told) is ("tune" in job)


def test_where_the_hours_are_unknown_a_run_holds_all_quarter_or_is_refused_a_window(
    catalog, rules, settings
):
    """Nobody knows how long a run takes on a GPU type whose throughput no page states."""
    untold = changed(catalog.gpus[H100], dense_tflops=DenseTflops())
    without = changed(catalog, gpus={H100: untold})
    sizer = Sizer(without, rules, settings(), Policies())
    wide, narrow = (
        sizer.size(Job.model_validate({"tune": LONG, "run": {"deadline": week}}))
        for week in (13, 4)
    )
    assert [one.planned_hours for one in wide.candidates] == [None]
    assert narrow.candidates == ()
    assert "planned_hours cannot be sized here" in narrow.rejections[0].message


@pytest.mark.parametrize(
    ("run", "window"),
    [
        ({}, (0, 2160)),
        ({"release": 4, "deadline": 9}, (504, 1512)),
        ({"release": "2027-02-15"}, (45 * 24, 2160)),
        ({"deadline": "2027-02-15"}, (0, 46 * 24)),
        ({"release": "2027-02-15", "deadline": "2027-02-15"}, (45 * 24, 46 * 24)),
    ],
)
def test_a_sized_job_knows_its_window_in_hours_and_how_often_it_runs(sizer, run, window):
    job = {"tune": SHORT, "run": run, "runs_per_quarter": 6, "quarters": "2027Q1"}
    question = ResolvedScenario.model_validate(
        {
            "format": 1,
            "name": "bench",
            "horizon": {"first_quarter": "2027Q1", "quarters": 2},
            "jobs": {"nightly": job},
        }
    )
    (sized,) = size_portfolio(sizer(question.policies), question)
    assert (sized.release_hour, sized.deadline_hour, sized.runs) == (*window, 6)
    assert sized.units == (1, 0)
