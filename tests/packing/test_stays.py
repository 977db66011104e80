"""Units that run today: what a move costs, what must stay, each alone and with all else."""

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


def test_a_unit_moves_where_that_is_cheaper_than_staying(two_homes, plan):
    solution = plan(two_homes(BUY - 1))

    assert (solution.moved, solution.cost_cents) == ((1,), BUY - 1)


def test_it_stays_where_moving_costs_more(two_homes, plan):
    solution = plan(two_homes(BUY + 1))

    assert (solution.moved, solution.cost_cents) == ((0,), BUY)
    assert solution.assigned == ((1, 0),)


def test_a_move_that_nothing_asks_for_is_not_made_even_if_it_is_free(build, plan):
    pools = [build.pool("a", owned=1), build.pool("b", owned=1)]
    demand = build.units(1, ("a", 8, 0, 0), ("b", 8, 0, 0))

    for home, assigned in (("node-a/main", (1, 0)), ("node-b/main", (0, 1))):
        solution = plan(build.problem(pools, [], [running(demand, home)]))
        assert (solution.moved, solution.assigned) == ((0,), (assigned,))


def test_only_the_first_quarter_counts_for_a_move(build, plan):
    pools = [build.pool("a", site="east"), build.pool("a", site="west")]
    supplies = [build.rent(BUY, 5 * BUY), build.rent(3 * BUY, BUY, pool=1)]
    unit = build.units(1, ("a", 8, 0, 0), quarters=(0, 1))

    solution = plan(build.problem(pools, supplies, [running(unit, "node-a/east", BUY)], 2))

    assert (solution.moved, solution.cost_cents) == ((0,), 2 * BUY)
    assert solution.rented == ((1, 0), (0, 1))


def test_of_two_that_cannot_both_stay_the_cheaper_one_moves(build, plan):
    pools = [build.pool("a", site="east", owned=1), build.pool("a", site="west", owned=1)]
    units = [
        running(build.units(1, ("a", 8, 0, 0)), "node-a/east", 700),
        running(build.units(1, ("a", 8, 0, 0)), "node-a/east", 900),
    ]

    solution = plan(build.problem(pools, [], units))

    assert (solution.moved, solution.cost_cents) == ((1, 0), 700)


def test_units_that_are_alike_stay_as_far_as_their_pool_has_room(build, plan):
    pools = [build.pool("a", site="east", owned=2), build.pool("a", site="west", owned=2)]
    units = [running(build.units(3, ("a", 8, 0, 0)), "node-a/east", 5)]

    solution = plan(build.problem(pools, [], units))

    assert (solution.moved, solution.cost_cents) == ((1,), 5)


def test_a_unit_whose_pool_is_gone_moves_in_any_case(build, plan):
    units = [running(build.units(2, ("a", 4, 0, 0)), "node-old/main", 50)]

    solution = plan(build.problem([build.pool("a", owned=1)], [], units))

    assert (solution.moved, solution.cost_cents) == ((2,), 100)


def test_the_price_of_staying_is_in_the_bound_and_its_terms(two_homes, plan):
    solution = plan(two_homes(BUY - 1))

    tags = sum(tag.cents for tag in solution.tags)
    terms = dict(solution.bound_terms)
    assert "units that run today" in terms
    assert tags + sum(terms.values()) == pytest.approx(solution.bound_cents, abs=1)


def test_a_pinned_unit_stays_though_moving_is_free_and_cheaper(two_homes, plan):
    problem = two_homes(0)
    held = pinned(problem.demands[0], "node-a/main")

    assert plan(replace(problem, demands=(held,))).cost_cents == BUY


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


def test_others_use_what_a_pinned_unit_leaves_of_its_node(build, plan):
    main = build.pool("a")
    held = replace(main, owned=1, held="node-a/main/1")
    units = [pinned(build.units(1, ("a", 5, 0, 0)), held.held), build.units(3, ("a", 1, 0, 0))]

    assert plan(build.problem([main, held], [build.buy(BUY)], units)).cost_cents == 0


def test_a_node_that_holds_a_pinned_unit_is_no_spare_one(build, plan):
    main = build.pool("a", owned=1, spare=1)
    held = replace(main, owned=1, spare=0, held="node-a/main/1")
    unit = pinned(build.units(1, ("a", 4, 0, 0)), held.held)

    assert plan(build.problem([main, held], [build.buy(BUY)], [unit])).cost_cents == 0
    alone = [replace(main, owned=0), held]
    assert plan(build.problem(alone, [build.buy(BUY)], [unit])).cost_cents == BUY


def test_pins_that_ask_too_much_of_a_node_have_no_plan(build, plan):
    main = build.pool("a", owned=5)
    held = replace(main, owned=1, held="node-a/main/1")
    units = [pinned(build.units(1, ("a", 5, 0, 0)), held.held) for _ in range(2)]

    assert plan(build.problem([main, held], [], units)) is None


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
