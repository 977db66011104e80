"""A decision counts only where it keeps to each limit in exact integers, whatever a solver says."""

from dataclasses import replace

import pytest

from planner.packing.build import build_master
from planner.packing.constraints import nodes_allowed
from planner.packing.constraints.quotas import hold_by_hour
from planner.packing.constraints.racks import racked
from planner.packing.list_schedule import Placed
from planner.packing.problem import JobClass, Limit, Mode, RackSpace, Shape, SpendLimit
from tests.packing.draws import quota
from tests.packing.meaning import SLOT, slots


@pytest.fixture
def kept(build):
    """`kept(supplies, orders, …)`: whether so many nodes of each may be acquired."""

    def told(supplies, orders, **limits):
        units = build.units(1, ("h100", 8, 0, 0))
        problem = replace(build.problem([build.pool()], supplies, [units]), **limits)
        master = build_master(problem)
        values = [0.0] * len(master.program.variables)
        for number, nodes in enumerate(orders):
            values[master.acquire[number, 0]] = float(nodes)
        return nodes_allowed(master, values)

    return told


@pytest.mark.parametrize(
    ("orders", "most", "allowed"),
    [
        ((3, 0), 3000, True),
        ((0, 4), 2800, True),
        ((0, 4), 2799, False),
        ((1, 4), 9000, False),
    ],
)
def test_a_plan_at_two_prices_or_beyond_its_budget_is_not_kept(build, kept, orders, most, allowed):
    """At 1,000 up to three nodes, at 700 from four on."""
    capex = SpendLimit("capex", most, ((1000,), (700,)))
    assert kept(build.levels(1000, 700), orders, budgets=(capex,)) is allowed


@pytest.mark.parametrize(("most", "nodes", "allowed"), [(20, 2, True), (19, 2, False)])
def test_a_plan_of_more_nodes_than_there_is_power_for_is_not_kept(
    build, kept, most, nodes, allowed
):
    power = Limit("power at main", ((0, 10),), (most,), "W")
    assert kept([build.buy(1000)], (nodes,), limits=(power,)) is allowed


@pytest.mark.parametrize(("start", "allowed"), [(6 * SLOT, True), (6 * SLOT - 1, False)])
def test_a_plan_in_which_runs_meet_beyond_their_quota_is_not_kept(build, start, allowed):
    shape = Shape(4, 0, 0, run=slots(6))
    runs = JobClass((Mode("h100", shape),), (0,), 2, "red")
    problem = replace(build.problem([build.pool()], [], [runs]), quotas=(quota(4),))
    master = build_master(problem)
    both = [Placed(0, shape._replace(owner="red"), hour, ((0, 0),)) for hour in (0, start)]
    values = [0.0] * len(master.program.variables)
    assert hold_by_hour(master, values, {0: both}) is allowed


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
