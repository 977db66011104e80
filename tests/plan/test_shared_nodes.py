"""Units are seated one by one where they fit tightest, and no node ever holds too much."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from planner.packing.problem import Choice, Demand, Pool, Problem, Shape
from planner.planning.placing.shared_nodes import SharedNode, seat_all
from tests.properties.questions import draws

EAST, WEST = 0, 1
"""Pools of the same nodes at two sites."""
IN_EAST, ANYWHERE, LARGE = (0, 0), (1, 0), (2, 0)
"""Units of 4 GPUs that run in the east alone, or anywhere; and of 7 GPUs, in the west alone."""


def node(pool: int, gpus: int = 8, *units: tuple[int, int]) -> SharedNode:
    """A node of which so many GPUs are free."""
    return SharedNode(pool, gpus, 80, 800_000, list(units))


def problem(*shapes: Shape) -> Problem:
    pools = tuple(
        Pool("eight", site, "h100", Shape(8, 80, 800_000), 9, 0, False) for site in ("east", "west")
    )
    demands = tuple(Demand((Choice("h100", shape),), (0,), 1) for shape in shapes)
    return Problem(1, pools, (), demands, 0)


@pytest.fixture
def two_sites() -> Problem:
    four = Shape(4, 0, 0)
    large = Shape(7, 0, 0)._replace(sites=("west",))
    return problem(four._replace(sites=("east",)), four, large)


def test_a_unit_takes_the_tightest_room_at_its_site_and_the_largest_is_first(two_sites):
    nodes = [node(EAST), node(EAST, 4), node(WEST), node(WEST, 7)]
    assert seat_all(two_sites, nodes, [IN_EAST, LARGE, LARGE, ANYWHERE]) == []
    assert [one.units for one in nodes] == [[IN_EAST], [ANYWHERE], [LARGE], [LARGE]]
    nodes = [node(EAST, 0, IN_EAST, ANYWHERE), node(WEST)]
    assert seat_all(two_sites, nodes, [IN_EAST, LARGE]) == [IN_EAST], "no room in the east"


@pytest.mark.parametrize("seed", range(draws(6, 20)))
def test_no_unit_is_lost_and_no_node_overfull(seed):
    rng = random.Random(seed)
    sites = [(), ("east",), ("west",)]
    shapes = [
        Shape(rng.randrange(1, 7), rng.randrange(60), rng.randrange(600_000))._replace(
            sites=rng.choice(sites)
        )
        for _ in range(30)
    ]
    nodes = [node(number % 2) for number in range(14)]
    unseated = seat_all(problem(*shapes), nodes, [(n, 0) for n in range(30)])
    seated = Counter(unit for one in nodes for unit in one.units)
    assert seated + Counter(unseated) == Counter((number, 0) for number in range(30))
    for one in nodes:
        held = [shapes[demand] for demand, _ in one.units]
        assert sum(shape.gpus for shape in held) + one.gpus == 8
        assert sum(shape.cpus for shape in held) + one.cpus == 80
        assert sum(shape.memory_mb for shape in held) + one.memory_mb == 800_000
        assert min(one.gpus, one.cpus, one.memory_mb) >= 0
