"""Runs by the hour, from a scenario file to a checked plan, and what its check refuses.

Two tuning jobs run three times in each quarter, from its second week on; `wide` runs on two whole
nodes in ten days of January; `always` holds four GPUs all year.
"""

import json
import re
from collections import defaultdict

import pytest

import planner
from planner.planning.jobs import explain_job
from planner.planning.make import make_plan
from tests.plan.edits import pieces, refused
from tests.stated import asked, changed, question

SCENARIO = """
format: 1
name: runs by the hour
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-11-21}
fleet: {own: {node_type: xe9680-h100, count: 3}}
jobs:
  tuner:
    tune: {model: llama-3.1-8b, method: lora, dataset_tokens: 500000000}
    run: {release: 2}
    count: 2
    runs_per_quarter: 3
    team: lab
  wide:
    fixed: {gpus: 16}
    run: {hours: 27, release: 2027-01-10, deadline: 2027-01-20}
    quarters: 2027Q1
    team: lab
  always: {fixed: {gpus: 4}, team: desk}
"""


@pytest.fixture(scope="module")
def inputs():
    return asked(SCENARIO)


@pytest.fixture(scope="module")
def plan(inputs):
    return make_plan(inputs)


def runs_of(plan, job, quarter=0):
    """(unit, run) -> where it is: node and who holds what there."""
    found = defaultdict(list)
    for use in plan.placements[quarter]:
        for one in use.occupants:
            if one.job == job:
                found[one.unit, one.replica].append((use.node, one))
    return found


def test_explain_gives_each_run_its_hours(plan):
    places = explain_job(plan, "tuner").places
    assert all(place.in_replicas for place in places)
    held = {
        piece: place.hours
        for place in places
        if place.quarter == "2027Q1"
        for piece in zip(place.units, place.replicas, strict=True)
    }
    assert held == {piece: one.hours for piece, ((_, one),) in runs_of(plan, "tuner").items()}
    (always, _) = explain_job(plan, "always").places
    assert (always.hours, always.in_replicas) == (None, False)


def damaged(job, run, at, **changes):
    """A run changed, or without it, on the first of its nodes or on all."""
    met = []

    def edit(one):
        if (one.job, one.unit, one.replica) != (job, 1, run):
            return one
        met.append(one)
        if at == "gone":
            return None
        return changed(one, **changes) if at == "everywhere" or len(met) == 1 else one

    return pieces(0, edit)


@pytest.mark.parametrize(
    ("window", "gpus"),
    [
        pytest.param({"hours": 30}, 1, id="one after the other"),
        pytest.param({"hours": 30, "deadline": "2027-01-15"}, 4, id="by a deadline"),
        pytest.param({"hours": 1200}, 40, id="longer than half a quarter"),
    ],
)
def test_runs_hold_as_few_gpus_as_their_windows_allow(window, gpus):
    """40 × 30 h are 1,200 of the 2,190 hours of a quarter; in two weeks, 4 GPUs have 1,344."""
    scenario = question(1, as_of="2026-12-01") | {
        "fleet": {"own": {"node_type": "xe9680-h100", "count": 6}},
        "jobs": {
            "short": {
                "fixed": {"gpus": 1, "cpus": 1, "memory_gb": 1},
                "run": window,
                "count": 40,
            }
        },
    }
    (uses,) = planner.plan(scenario)._plan.placements
    held = {(use.node, gpu) for use in uses for one in use.occupants for gpu in one.gpus}
    assert len(held) == gpus
    assert len({node for node, _ in held}) == -(-gpus // 8)


def test_a_run_over_another_is_refused(inputs, plan):
    """Onto the first GPUs of `always`."""
    ((node, always),) = runs_of(plan, "always")[1, 1]
    ((_, one),) = runs_of(plan, "tuner")[1, 1]
    over = changed(one, gpus=always.gpus[: len(one.gpus)])
    gone = damaged("tuner", 1, "gone")(plan)
    uses = tuple(
        changed(use, occupants=(*use.occupants, over)) if use.node == node else use
        for use in gone.placements[0]
    )
    doctored = changed(gone, placements=(uses, *plan.placements[1:]))
    assert f"GPU {always.gpus[0]} of {node} is held 2 times" in refused(inputs, doctored)


@pytest.mark.parametrize(
    ("job", "run", "at", "shift", "told"),
    [
        ("tuner", 1, "everywhere", (-1000, -1000), "its release is 8 Jan 00:00"),
        ("tuner", 2, "everywhere", (0, -1), "2027Q1: run 2 of unit 1 of tuner runs for"),
        ("tuner", 3, "everywhere", (0, 1), "2027Q1: run 3 of unit 1 of tuner runs for"),
        ("tuner", 2, "gone", (0, 0), "2027Q1: runs of unit 1 of tuner is [1, 3], the inputs give"),
        ("wide", 1, "everywhere", (300, 300), "its deadline is 21 Jan 00:00"),
        ("wide", 1, "everywhere", (-216, -216), "its release is 10 Jan 00:00"),
        ("wide", 1, "once", (1, 1), "unit 1 of wide is not on all of its nodes at the same hours"),
    ],
)
def test_a_run_at_other_hours_than_it_may_is_refused(inputs, plan, job, run, at, shift, told):
    start, end = runs_of(plan, job)[1, run][0][1].hours
    hours = (max(0, start + shift[0]), max(0, start + shift[0]) + end - start + shift[1] - shift[0])
    assert told in refused(inputs, damaged(job, run, at, hours=hours)(plan))


def told_of_few_hours(**changes):
    """The warning of nodes that run little, and their net present cost in USD."""
    made = planner.plan(
        question(2)
        | {
            "offers": {
                "h200": {"node_type": "xe9680-h200", "kind": "rent"},
                **changes.pop("offers", {}),
            },
            "jobs": {
                "train": {"fixed": {"gpus": 16}, "run": {"hours": 5}},
                **changes.pop("jobs", {}),
            },
        }
    )
    notes = json.loads(made.to_json())["warnings"]
    return [one["text"] for one in notes if "GPU-hours of runs" in one["text"]], made.cost_usd


def test_nodes_had_for_a_few_hours_of_runs_are_told_beside_what_these_cost_by_the_hour():
    """Two nodes in two quarters, of which each runs 6 hours, at $4.954 per GPU-hour."""
    (told,), cost = told_of_few_hours()
    assert told.startswith("all that 2 nodes of h200 run is 192 GPU-hours of runs, for $")
    assert "by the hour they would begin at $951, at the price book's $4.954 per GPU-hour" in told
    stated = int(re.findall(r"for \$([\d,]+) net", told)[0].replace(",", ""))
    assert stated == pytest.approx(float(cost), abs=1)


def test_what_nodes_had_for_a_few_hours_cost_is_told_at_the_price_of_their_order():
    breaks = {"price_usd": 341_000, "price_breaks": [{"from_nodes": 2, "price_usd": 100_000}]}
    offer = {"node_type": "xe9680-h200", "kind": "buy", "quote": "a", **breaks}
    (told,), cost = told_of_few_hours(offers={"h200": offer})
    stated = int(re.findall(r"for \$([\d,]+) net", told)[0].replace(",", ""))
    assert stated == pytest.approx(float(cost), abs=1)


@pytest.mark.parametrize(
    "beside",
    [
        {"offers": {"hour": {"node_type": "xe9680-h200", "kind": "hourly"}}},
        {"jobs": {"train": {"fixed": {"gpus": 16}, "run": {"hours": 1900}}}},
        {"jobs": {"chat": {"serve": {"model": "llama-3.1-8b"}}, "train": {"fixed": {"gpus": 8}}}},
    ],
)
def test_nothing_is_told_of_hours_that_were_weighed_or_are_many_or_beside_what_is_always_on(beside):
    told, _ = told_of_few_hours(**beside)
    assert told == []
