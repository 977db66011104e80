"""Units keep their node, their GPUs and their GPU type where that can be."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import planner
from tests.properties.questions import drawing
from tests.stated import question

BOTH, FIRST, THEN = "2027Q1..2027Q2", "2027Q1", "2027Q2"


def planned(nodes: int, jobs: dict[str, Any], quarters: int = 2, **more: Any) -> Any:
    """A plan of these jobs on owned nodes of eight H100 alone."""
    asked = question(quarters) | {
        "fleet": {"own": {"node_type": "xe9680-h100", "count": nodes}},
        "jobs": jobs,
        **more,
    }
    return planner.plan(asked)._plan


def job(gpus: int, quarters: str, count: int = 1) -> dict[str, Any]:
    return {"fixed": {"gpus": gpus}, "quarters": quarters, "count": count}


def seats(plan, quarter):
    """(job, unit) -> {number of the node: GPUs}."""
    found: dict[tuple[str, int], dict[str, tuple[int, ...]]] = {}
    for use in plan.placements[quarter]:
        for one in use.occupants:
            found.setdefault((one.job, one.unit), {})[use.node[-2:]] = one.gpus
    return found


def test_who_goes_on_keeps_its_node_and_its_gpus_when_others_leave_and_come():
    jobs = {"comes": job(3, THEN), "leaves": job(4, FIRST), "stays": job(2, BOTH, count=2)}
    plan = planned(1, jobs)
    before, now = seats(plan, 0), seats(plan, 1)
    assert plan.moves == (0, 0)
    assert all(now["stays", unit] == before["stays", unit] for unit in (1, 2))
    assert len(now["comes", 1]["01"]) == 3


def test_only_as_many_units_move_as_have_to():
    """Each newcomer needs a whole node or half of one, so that small units make room."""
    small = job(2, BOTH, count=4)
    assert sum(planned(2, {"small": small, "large": job(8, THEN)}).moves) <= 1
    assert sum(planned(2, {"small": small, "large": job(4, THEN, count=2)}).moves) <= 1


def test_spare_nodes_stay_empty_when_newcomers_are_fitted_in():
    jobs = {"stays": job(4, BOTH), "comes": job(4, THEN)}
    plan = planned(2, jobs, policies={"spare_nodes": 1})
    assert plan.moves == (0, 0)
    assert [len(uses) for uses in plan.placements] == [1, 1]


def test_who_goes_on_is_put_on_the_node_that_does_not_retire():
    fleet = {
        "old": {"node_type": "xe9680-h100", "count": 1, "retires": THEN},
        "own": {"node_type": "xe9680-h100", "count": 1},
    }
    assert planned(1, {"stays": job(2, BOTH), "short": job(8, FIRST)}, fleet=fleet).moves == (0, 0)
    moved = planned(1, {"stays": job(2, BOTH), "wide": job(8, BOTH)}, fleet=fleet, **RENTED)
    assert moved.moves == (0, 1), "one of them has to"


RENTED: dict[str, Any] = {"offers": {"rent": {"node_type": "xe9680-h100", "kind": "rent"}}}


def test_a_unit_on_whole_nodes_keeps_them_and_takes_its_share_of_each():
    wide = {"fixed": {"gpus": 16, "cpus": 17, "memory_gb": 33}, "quarters": BOTH}
    plan = planned(3, {"wide": wide, "small": job(2, THEN)})
    assert plan.moves == (0, 0)
    held = [one for use in plan.placements[0] for one in use.occupants if one.job == "wide"]
    assert [(one.cpus, one.memory_mb) for one in held] == [(9, 16_500), (8, 16_500)]
    assert all(one.gpus == tuple(range(8)) for one in held)


def test_a_unit_that_pauses_does_not_count_as_moved():
    yearly = {"fixed": {"gpus": 8}, "count": {"2027Q1": 1, "2027Q2": 0, "2027Q3": 1}}
    between = {"fixed": {"gpus": 8}, "count": {"2027Q1": 1, "2027Q2": 2, "2027Q3": 1}}
    assert planned(2, {"yearly": yearly, "between": between}, quarters=3).moves == (0, 0, 0)


@drawing(6)
@given(needs=st.lists(st.sampled_from([1, 2, 3, 5, 8, 16]), min_size=1, max_size=5))
def test_nobody_moves_when_nothing_changes(needs):
    jobs = {f"j{at}": job(gpus, "2027Q1..2027Q3", count=2) for at, gpus in enumerate(needs)}
    bought = {"offers": {"buy": {"node_type": "xe9680-h100", "kind": "buy"}}}
    assert planned(1, jobs, quarters=3, **bought).moves == (0, 0, 0)


@pytest.mark.parametrize(("counts", "split"), [((3, 4, 1), 0), ((5, 3), 1), ((1, 1, 1, 5), 1)])
def test_jobs_stay_on_one_gpu_type_as_far_as_the_room_on_each_allows(counts, split):
    """Four units fit each of both servers; a job is split only where it fits neither whole."""
    fleet = {
        "old": {"node_type": "xe9680-a100", "count": 1},
        "own": {"node_type": "xe9680-h100", "count": 1},
    }
    jobs = {f"j{at}": job(2, BOTH, count=count) for at, count in enumerate(counts)}
    plan = planned(1, jobs, fleet=fleet)
    assert [sum(units for _, units in one.gpu_types) for one in plan.jobs] == list(counts)
    assert sum(len(one.gpu_types) - 1 for one in plan.jobs) == split


def test_later_units_of_a_job_follow_its_first_ones():
    """In the second quarter another job would do as well beside the first unit of `grows`."""
    fleet = {
        "old": {"node_type": "xe9680-a100", "count": 1},
        "own": {"node_type": "xe9680-h100", "count": 1},
    }
    grows = {"fixed": {"gpus": 4}, "count": {"2027Q1": 1, "2027Q2": 2}}
    jobs = {"grows": grows, "wide": job(8, FIRST), "other": job(4, THEN, count=2)}
    plan = planned(1, jobs, fleet=fleet)
    assert all(len(one.gpu_types) == 1 for one in plan.jobs)


def test_nodes_are_named_owned_first_then_bought_then_rented_and_serve_in_their_quarters(plan):
    first, *later = plan.quarters
    assert [(item.id, item.origin, item.in_service) for item in plan.nodes] == [
        ("eight-h100/main/01", "owned", (first, *later)),
        ("eight-h100/main/02", "buy", (*later,)),
        ("eight-h100/main/r01", "rent", (*later,)),
        ("four-l40s/main/01", "buy", (*later,)),
    ]
