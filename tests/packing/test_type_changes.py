"""A price for each unit that changes its GPU type, alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.packing.draws import stages

if TYPE_CHECKING:
    from planner.packing.problem import Problem

RENT = 10_000_000


@pytest.fixture
def turning(build):
    """Units of 8 GPUs; type a is rented for less in the first quarter, type b in the second."""

    def problem(cents: int, count: int = 1) -> Problem:
        pools = [build.pool("a"), build.pool("b")]
        supplies = [build.rent(RENT, 3 * RENT), build.rent(2 * RENT, RENT, pool=1)]
        unit = build.units(count, ("a", 8, 0, 0), ("b", 8, 0, 0), quarters=(0, 1))
        stated: Problem = build.problem(pools, supplies, stages(unit, cents), 2)
        return stated

    return problem


def test_the_terms_of_the_bound_add_up_with_a_price_of_changes(turning, plan):
    solution = plan(turning(700))

    tags = sum(tag.cents for tag in solution.tags)
    terms = dict(solution.bound_terms)
    assert "units that run today" not in terms
    assert tags + sum(terms.values()) == pytest.approx(solution.bound_cents, abs=1)


def test_of_plans_that_cost_the_same_units_go_on_where_they_are(build, solve):
    """In the first quarter others hold the type that costs less; that it is free later is no
    reason to change."""
    pools = [build.pool("a", owned=1), build.pool("b", owned=1)]
    supplies = [build.buy(RENT, RENT), build.buy(2 * RENT, 2 * RENT, pool=1)]
    unit = build.units(1, ("a", 8, 0, 0), ("b", 8, 0, 0), quarters=(0, 1))
    demands = [build.units(1, ("a", 8, 0, 0), quarters=(0,)), *stages(unit, 0, "")]
    assert solve(build.problem(pools, supplies, demands, 2)).assigned[1:] == ((0, 1), (0, 1))


def test_another_way_on_the_same_gpu_type_is_no_change(build, plan):
    """Two GPUs and few cores in the first quarter, where cores are short; then one and many."""
    small = build.units(1, ("a", 1, 8, 0), ("a", 2, 1, 0), quarters=(0, 1))
    first = build.units(1, ("a", 1, 5, 0), quarters=(0,))
    then = build.units(1, ("a", 2, 1, 0), quarters=(1,))
    pools = [build.pool("a", node=(3, 10, 10), owned=1)]

    solution = plan(build.problem(pools, [], [*stages(small, 900), first, then], 2))

    assert solution.assigned[:2] == ((0, 1), (1, 0))
    assert solution.cost_cents == 0
