"""Units that run in replicas: each replica has its place, and the check counts them again."""

from __future__ import annotations

import pytest

from planner.planning.explain import explain
from planner.planning.make import make_plan
from planner.planning.store import dumps, loads
from planner.planning.verify import verify
from tests.plan.edits import changed, pieces, refused
from tests.stated import stated

SCENARIO = """\
format: 1
name: replicas
horizon: {first_quarter: 2027Q1, quarters: 2}
fleet: {own: {node_type: xe9680-h100, count: 1}}
jobs:
  chat:
    serve:
      model: llama-3.1-70b
      load: {requests_per_second: 12, input_tokens: 1000, output_tokens: 300}
      bits: 8
"""


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    inputs = stated(tmp_path_factory.mktemp("replicas"), SCENARIO)
    return inputs, make_plan(inputs)


def test_each_replica_has_its_place_and_keeps_it(planned):
    inputs, plan = planned
    first, then = ([one for use in uses for one in use.occupants] for uses in plan.placements)
    assert sorted(one.replica for one in first) == [1, 2, 3]
    assert first == then
    assert plan.moves == (0, 0)
    assert sum(len(one.gpus) for one in first) == plan.pools[0].gpus_used[0]
    verify(inputs, plan)
    assert loads(dumps(plan), "plan.json") == plan


def test_explain_names_replica_by_replica(planned):
    places = [place for place in explain(planned[1], "chat").places if place.quarter == "2027Q1"]
    assert all(place.in_replicas for place in places)
    named = [pair for place in places for pair in zip(place.units, place.replicas, strict=True)]
    assert sorted(named) == [(1, 1), (1, 2), (1, 3)]


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (
            lambda one: None if one.replica == 2 else one,
            "replicas of unit 1 of chat is [1, 3], the inputs give [1, 2, 3]",
        ),
        (
            lambda one: changed(one, replica=4 if one.replica == 3 else one.replica),
            "replicas of unit 1 of chat is [1, 2, 4], the inputs give [1, 2, 3]",
        ),
        (
            lambda one: changed(one, replica=min(one.replica, 2)),
            "replicas of unit 1 of chat is [1, 2], the inputs give [1, 2, 3]",
        ),
        (
            lambda one: changed(one, gpus=one.gpus[:1]) if one.replica > 1 else one,
            "replica 2 of unit 1 of chat: (GPUs, cores, MB) is (1, ",
        ),
    ],
    ids=["one is missing", "one is numbered wrongly", "one is named twice", "one lacks a GPU"],
)
def test_the_check_notices_a_replica_that(planned, edit, told):
    inputs, plan = planned
    assert told in refused(inputs, pieces(0, edit)(plan))
