"""Power and racks, each alone: what is kept, and how racks are filled."""

from dataclasses import replace

import pytest

from planner.packing.build import build_master
from planner.packing.constraints import nodes_allowed
from planner.packing.constraints.racks import racked
from planner.packing.problem import Limit, RackSpace

BUY = 10_000_000


@pytest.mark.parametrize(
    ("most", "nodes", "kept"), [(20, 2.0, True), (19, 2.0, False), (20, 3.0, False)]
)
def test_a_plan_of_more_nodes_than_there_is_power_for_is_not_kept(build, most, nodes, kept):
    units = build.units(1, ("h100", 8, 0, 0))
    limit = Limit("power at main", ((0, 10),), (most,), "W")
    problem = build.problem([build.pool()], [build.buy(BUY)], [units])
    master = build_master(replace(problem, limits=(limit,)))
    values = [0.0] * len(master.program.variables)
    values[master.acquire[0, 0]] = nodes
    assert nodes_allowed(master, values) is kept


@pytest.mark.parametrize(
    ("asked", "fits"),
    [((4, 4), True), ((5, 3), False), ((2, 6), True), ((0, 9), False), ((0, 8), True)],
)
def test_racks_hold_what_can_be_arranged_and_no_more(asked, fits):
    """Each of two racks of 24 U holds two of 8 and two of 4, or four of 4 by its power."""
    space = RackSpace("main", 2, 24, 40, ((0, 8, 10), (1, 4, 10)))
    found = racked(space, dict(enumerate(asked)))
    assert (found is not None) is fits


def test_racks_are_filled_better_than_largest_first():
    """Largest first, 4 4 | 3 3 3 | 3 takes three racks of 10 U; 4 3 3 twice takes two."""
    space = RackSpace("main", 2, 10, None, ((0, 4, 0), (1, 3, 0)))
    found = racked(space, {0: 2, 1: 4})
    assert found is not None
    assert [(rack.nodes, rack.count) for rack in found] == [(((0, 1), (1, 2)), 2)]
