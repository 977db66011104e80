"""Units that run today: moves and pins agree with trying everything, with all else."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from planner.packing.limits import Limit, SpendLimit
from planner.packing.problem import Problem, Quota
from planner.packing.solution import Status
from tests.packing.draws import SHARING
from tests.packing.test_brute_force import draw
from tests.packing.test_runs import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.packing.problem import Demand, Pool

BUY = 10_000_000


def running(demand: Demand, origin: str, cents: int = 0) -> Demand:
    return replace(demand, origin=origin, move_cents=cents)


def pinned(demand: Demand, stays: str) -> Demand:
    choices = tuple(
        replace(choice, shape=choice.shape._replace(stays=stays)) for choice in demand.choices
    )
    return replace(demand, choices=choices)


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
    stages = [replace(unit, quarters=(quarter,), stage=True) for quarter in (0, 1)]
    demands = [build.units(1, ("a", 8, 0, 0), quarters=(0,)), *stages]
    assert solve(build.problem(pools, supplies, demands, 2)).assigned[1:] == ((0, 1), (0, 1))


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


def today(problem: Problem, rng: random.Random) -> Problem:
    """The same, where most units run somewhere today and some may not leave."""
    pools = list(problem.pools)
    for number, pool in enumerate(problem.pools):
        if pool.owned and rng.random() < 0.6:
            pools[number] = replace(pool, owned=pool.owned - 1)
            pools.append(replace(pool, owned=1, spare=0, held=f"{pool.home}/1"))
    demands = []
    for demand in problem.demands:
        drawn = rng.random()
        if drawn < 0.25:
            demands.append(_held(demand, rng.choice(pools)))
        elif drawn < 0.9 and 0 in demand.quarters:
            home = rng.choice(pools).home
            demands.append(running(demand, home, rng.choice((0, 1000, 800_000, 5_000_000))))
        else:
            demands.append(demand)
    return replace(problem, pools=tuple(pools), demands=tuple(demands))


def _held(demand: Demand, pool: Pool) -> Demand:
    return pinned(demand, pool.held or pool.home)


def with_a_budget(problem: Problem, rng: random.Random) -> Problem:
    cents = tuple(tuple(c or 0 for c in s.unit_cost_cents) for s in problem.supplies)
    return replace(problem, budgets=(SpendLimit("spending", rng.randrange(20_000_000), cents),))


def with_a_limit(problem: Problem, rng: random.Random) -> Problem:
    terms = tuple((number, rng.randrange(1, 5)) for number in range(len(problem.pools)))
    most = (rng.randrange(4, 14),) * problem.quarters
    return replace(problem, limits=(Limit("power at main", terms, most, "W"),))


def with_a_quota(problem: Problem, rng: random.Random) -> Problem:
    demands = tuple(replace(d, owner=rng.choice(("", "red"))) for d in problem.demands)
    quota = Quota("quota of red", "red", None, (rng.randrange(4, 20),) * problem.quarters)
    return replace(problem, demands=demands, quotas=(quota,))


def alone(problem: Problem, _: random.Random) -> Problem:
    return problem


@pytest.mark.parametrize("also", [alone, with_a_budget, with_a_limit, with_a_quota])
@pytest.mark.parametrize("batch", range(2))
def test_moves_and_pins_agree_with_trying_everything(
    also: Callable[[Problem, random.Random], Problem], batch, agree
):
    drawn = (random.Random(f"{also.__name__} {batch} {number}") for number in range(12))
    seen = agree(also(today(draw(rng), rng), rng) for rng in drawn)
    assert seen[Status.PROVED] >= 3, "too few plans to mean anything"
    assert seen[Status.NOT_PROVED] <= 1


def of_one_piece(problem: Problem) -> Problem:
    """The same, where no unit comes in copies: those that run today never do."""
    demands = []
    for demand in problem.demands:
        choices = {replace(choice, copies=1) for choice in demand.choices}
        demands.append(replace(demand, choices=tuple(sorted(choices))))
    return replace(problem, demands=tuple(demands))


@pytest.mark.parametrize("draw", SHARING)
def test_so_they_do_where_units_run_for_some_weeks_or_share_gpus(draw, agree):
    drawn = (random.Random(f"{draw.__name__} today {number}") for number in range(8))
    seen = agree((today(of_one_piece(draw(rng)), rng) for rng in drawn), asked_gap=ROUNDING)
    assert seen[Status.PROVED] >= 3, "too few plans to mean anything"
    assert seen[Status.NOT_PROVED] <= 1
    assert seen["moves"], "too little moves to mean anything"
