"""Units that run in replicas: each replica has its place, and the check counts them again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.packing import solve, translate
from planner.planning.explain import explain
from planner.planning.store import dumps, loads
from planner.planning.verify import check
from tests.plan.edits import changed, pieces, refused

H100, L40S = "h100-80gb-sxm", "l40s-48gb"


def in_replicas(job, replicas):
    """The same job, where a unit runs in so many replicas by GPU type."""
    ways = tuple(
        changed(one, replicas=replicas[one.gpu_type])
        for one in job.sizing.candidates
        if one.gpu_type in replicas
    )
    return changed(job, sizing=changed(job.sizing, candidates=ways))


def chat_alone(case, units, replicas):
    """The case with nothing but `chat`."""
    chat = next(job for job in case.jobs if job.name == "chat")
    jobs = (changed(in_replicas(chat, replicas), units=units),)
    translation = translate(case.inputs, jobs)
    return replace(case, jobs=jobs, translation=translation, solution=solve(translation))


@pytest.fixture
def planned(case):
    """The case of the other tests, its `chat` in three replicas on H100 and in two on L40S."""
    jobs = tuple(
        in_replicas(job, {H100: 3, L40S: 2}) if job.name == "chat" else job for job in case.jobs
    )
    translation = translate(case.inputs, jobs)
    return replace(case, jobs=jobs, translation=translation, solution=solve(translation))


def occupants(plan, job, quarter):
    return [one for use in plan.placements[quarter] for one in use.occupants if one.job == job]


def test_each_unit_has_its_replicas_numbered_and_on_one_gpu_type(planned):
    plan = planned.plan
    expected = {H100: [1, 2, 3], L40S: [1, 2]}
    nodes = {node.id: node.gpu_type for node in plan.nodes}
    for quarter, units in enumerate((1, 2, 2)):
        for unit in range(1, units + 1):
            places = [
                (nodes[use.node], one.replica)
                for use in plan.placements[quarter]
                for one in use.occupants
                if (one.job, one.unit) == ("chat", unit)
            ]
            gpu_type = places[0][0]
            assert sorted(places) == [(gpu_type, replica) for replica in expected[gpu_type]]
    check(planned.inputs, planned.jobs, plan)
    assert loads(dumps(plan), "plan.json") == plan


def test_replicas_stay_where_they_are_when_nothing_changes(case):
    plan = chat_alone(case, (1, 1, 1), {H100: 3, L40S: 5}).plan
    assert plan.moves == (0, 0, 0)
    assert len({tuple(occupants(plan, "chat", quarter)) for quarter in range(3)}) == 1


def test_utilization_and_storage_count_every_replica_once(planned):
    plan = planned.plan
    for quarter in range(3):
        held = sum(len(one.gpus) for use in plan.placements[quarter] for one in use.occupants)
        assert held == sum(pool.gpus_used[quarter] for pool in plan.pools)
    assert plan.storage_mb == (500, 500, 500)


def test_explain_names_replica_by_replica(planned):
    places = [place for place in explain(planned.plan, "chat").places if place.quarter == "2027Q1"]
    assert all(place.in_replicas for place in places)
    named = sorted(
        (unit, replica)
        for place in places
        for unit, replica in zip(place.units, place.replicas, strict=True)
    )
    assert named in ([(1, 1), (1, 2), (1, 3)], [(1, 1), (1, 2)])


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (
            lambda one: None if (one.job, one.replica) == ("chat", 2) else one,
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
            "replica 2 of unit 1 of chat: (GPUs, cores, MB) is (1, 3, 160000)",
        ),
    ],
    ids=["one is missing", "one is numbered wrongly", "one is named twice", "one lacks a GPU"],
)
def test_the_check_notices_a_replica_that(case, edit, told):
    alone = chat_alone(case, (1, 0, 0), {H100: 3})
    check(case.inputs, alone.jobs, alone.plan)
    assert told in refused(case.inputs, pieces(0, edit)(alone.plan), alone.jobs)
