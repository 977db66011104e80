"""Units that run in replicas: each replica has its place, and the check counts them again."""

import re
from datetime import date

import pytest

import planner
from planner.inputs.scenario.quarter import Quarter
from planner.planning.checks import verify
from planner.planning.make import make_plan
from planner.planning.store import dumps, loads
from tests.plan.edits import pieces, refused
from tests.stated import asked, changed

SCENARIO = """\
format: 1
name: replicas
horizon: {first_quarter: 2027Q1, quarters: 2}
fleet: {own: {node_type: xe9680-h100, count: 3}}
jobs:
  chat:
    serve:
      model: llama-3.1-70b
      load: {requests_per_second: 16, input_tokens: 1000, output_tokens: 300}
      bits: 8
"""


@pytest.fixture(scope="module")
def planned():
    """Inputs, plan, and the numbers of its replicas, three or more."""
    inputs = asked(SCENARIO)
    plan = make_plan(inputs)
    numbers = list(range(1, 1 + sum(len(use.occupants) for use in plan.placements[0])))
    assert len(numbers) > 2
    return inputs, plan, numbers


def test_each_replica_has_its_place_and_keeps_it(planned):
    inputs, plan, numbers = planned
    first, then = ([one for use in uses for one in use.occupants] for uses in plan.placements)
    assert sorted(one.replica for one in first) == numbers
    assert first == then
    assert plan.moves == (0, 0)
    assert sum(len(one.gpus) for one in first) == plan.pools[0].gpus_used[0]
    verify(inputs, plan)
    assert loads(dumps(plan), "plan.json") == plan


def test_replicas_are_full_no_sooner_than_what_they_are_planned_for_has_passed():
    """Growth goes on from the end of the last quarter: in steps, the same quarter is too much."""
    growing = SCENARIO.replace("{requests", "{growth_per_quarter: 40%, requests")
    plan = planner.plan(growing)
    _, told = plan.to_text().split("Full\n", 1)
    rows = re.findall(r"(2027Q[12])  +([0-9.]+)  +([0-9.]+) .* (20\S+)\n", told)
    (_, _, _, first), (_, arrives, takes, last) = rows
    assert first == "2027Q2"
    quarters, rate = 0, float(arrives)
    while rate <= float(takes):
        quarters, rate = quarters + 1, rate * 1.4
    assert str(Quarter.parse("2027Q2") + quarters) == str(
        Quarter.of(date.fromisoformat(last + "-28"))
    )


@pytest.mark.parametrize(
    ("edit", "left"),
    [
        (lambda one: None if one.replica == 2 else one, lambda all_: [all_[0], *all_[2:]]),
        (
            lambda one: changed(one, replica=99 if one.replica == 3 else one.replica),
            lambda all_: [*all_[:2], *all_[3:], 99],
        ),
        (lambda one: changed(one, replica=min(one.replica, 2)), lambda all_: all_[:2]),
    ],
    ids=["is missing", "is numbered wrongly", "is named twice"],
)
def test_the_check_notices_a_replica_that(planned, edit, left):
    inputs, plan, numbers = planned
    told = f"replicas of unit 1 of chat is {left(numbers)}, the inputs give {numbers}"
    assert told in refused(inputs, pieces(0, edit)(plan))


def test_the_check_notices_a_replica_that_lacks_a_gpu(planned):
    inputs, plan, _ = planned
    fewer = pieces(0, lambda one: changed(one, gpus=one.gpus[1:]) if one.replica == 2 else one)
    assert "replica 2 of unit 1 of chat: (GPUs, cores, MB) is (" in refused(inputs, fewer(plan))
