"""Units that run today: moves and pins, each alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.packing.draws import pinned, running, stages

if TYPE_CHECKING:
    from planner.packing.problem import Problem

BUY = 10_000_000


@pytest.fixture
def two_homes(build):
    """A unit of 8 GPUs on type a today; a node of b is owned as well, one of a can be bought."""

    def problem(cents: int) -> Problem:
        pools = [build.pool("a"), build.pool("b", owned=1)]
        demand = build.units(1, ("a", 8, 0, 0), ("b", 8, 0, 0))
        today: Problem = build.problem(
            pools, [build.buy(BUY)], [running(demand, "node-a/main", cents)]
        )
        return today

    return problem


def test_a_move_that_nothing_asks_for_is_not_made_even_if_it_is_free(build, plan):
    pools = [build.pool("a", owned=1), build.pool("b", owned=1)]
    demand = build.units(1, ("a", 8, 0, 0), ("b", 8, 0, 0))

    for home, assigned in (("node-a/main", (1, 0)), ("node-b/main", (0, 1))):
        solution = plan(build.problem(pools, [], [running(demand, home)]))
        assert (solution.moved, solution.assigned) == ((0,), (assigned,))


def test_of_plans_that_cost_the_same_units_go_on_where_they_are(build, solve):
    """In the first quarter others hold the type that costs less; that it is free later is no
    reason to change."""
    pools = [build.pool("a", owned=1), build.pool("b", owned=1)]
    supplies = [build.buy(BUY, BUY), build.buy(2 * BUY, 2 * BUY, pool=1)]
    unit = build.units(1, ("a", 8, 0, 0), ("b", 8, 0, 0), quarters=(0, 1))
    demands = [build.units(1, ("a", 8, 0, 0), quarters=(0,)), *stages(unit)]
    assert solve(build.problem(pools, supplies, demands, 2)).assigned[1:] == ((0, 1), (0, 1))


def test_another_way_on_the_same_gpu_type_may_be_taken_in_the_next_quarter(build, plan):
    """Two GPUs and few cores in the first quarter, where cores are short; then one and many."""
    small = build.units(1, ("a", 1, 8, 0), ("a", 2, 1, 0), quarters=(0, 1))
    first = build.units(1, ("a", 1, 5, 0), quarters=(0,))
    then = build.units(1, ("a", 2, 1, 0), quarters=(1,))
    pools = [build.pool("a", node=(3, 10, 10), owned=1)]
    solution = plan(build.problem(pools, [], [*stages(small), first, then], 2))
    assert solution.assigned[:2] == ((0, 1), (1, 0))


def test_the_price_of_staying_is_in_the_bound_and_its_terms(two_homes, plan):
    solution = plan(two_homes(BUY - 1))

    tags = sum(tag.cents for tag in solution.tags)
    terms = dict(solution.bound_terms)
    assert "units that run today" in terms
    assert tags + sum(terms.values()) == pytest.approx(solution.bound_cents, abs=1)


def test_two_units_pinned_to_different_nodes_are_not_put_together(build, plan):
    """Together they fill one node and the third unit the other, were they free to move."""
    main = build.pool("a", owned=0)
    first, second = (replace(main, owned=1, held=f"node-a/main/{n}") for n in (1, 2))
    halves = [pinned(build.units(1, ("a", 4, 0, 0)), pool.held) for pool in (first, second)]
    whole = build.units(1, ("a", 8, 0, 0))
    problem = build.problem([main, first, second], [build.buy(BUY)], [*halves, whole])

    assert plan(problem).cost_cents == BUY
    free = tuple(pinned(demand, "") for demand in problem.demands)
    assert plan(replace(problem, demands=free)).cost_cents == 0
