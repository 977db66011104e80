"""Windows, terms, retirement, price levels, budgets, offers for two sites: each alone and with any
other, against trying everything."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from planner.packing.constraints import nodes_allowed
from planner.packing.formulation.build import build_master
from planner.packing.limits import Limit, Reserve, SpendLimit
from planner.packing.problem import Choice, Demand, Pool, PriceTier, Problem, Shape, Supply
from planner.packing.solution import Status

FEATURES = ("window", "reserve", "retire", "lots", "budget", "sites", "deliveries")
SIZE = 12


def draw(rng: random.Random, features: tuple[str, ...]) -> Problem:
    """One or two pools of 4-GPU nodes, two or three quarters, at most four units."""
    quarters = rng.choice((2, 2, 3))
    types = 1 if "sites" in features else rng.choice((1, 2))
    pools = tuple(draw_pool(number, quarters, rng, features) for number in range(types))
    supplies = [
        supply
        for number in range(len(pools))
        for supply in draw_supplies(number, quarters, rng, features)
    ]
    demands = tuple(draw_demand(len(pools), quarters, rng) for _ in range(rng.choice((1, 2, 3))))
    problem = Problem(quarters, pools, tuple(supplies), demands, 77)
    if "sites" in features:
        problem = at_two_sites(problem, rng)
    if "budget" in features:
        limits = tuple(draw_budget(problem, rng) for _ in range(rng.choice((1, 2))))
        problem = replace(problem, budgets=limits)
    return problem


def at_two_sites(problem: Problem, rng: random.Random) -> Problem:
    """Each offer for a site in the east and one in the west; some units run at one of them alone,
    and a site may have room for few nodes."""
    (east,) = (replace(pool, site="east") for pool in problem.pools)
    west = replace(east, site="west", owned=0, retired=(), spare=rng.choice((0, 1)))
    supplies = tuple(
        replace(supply, pool=pool, offer=100 + number if supply.offer is None else supply.offer)
        for number, supply in enumerate(problem.supplies)
        for pool in (0, 1)
    )
    limits = tuple(
        Limit(f"room {pool}", ((pool, 1),), (max(east.owned, 1),) * problem.quarters, "nodes")
        for pool in (0, 1)
        if rng.random() < 0.4
    )
    demands = tuple(
        replace(
            demand,
            choices=tuple(
                replace(one, shape=one.shape._replace(sites=sites)) for one in demand.choices
            ),
        )
        for demand in problem.demands
        for sites in [rng.choice(((), (), ("east",), ("west",)))]
    )
    return replace(problem, pools=(east, west), supplies=supplies, limits=limits, demands=demands)


def draw_pool(number: int, quarters: int, rng: random.Random, features: tuple[str, ...]) -> Pool:
    owned = rng.choice((0, 1, 2)) if "retire" in features else rng.choice((0, 1))
    retired: tuple[int, ...] = ()
    if "retire" in features and owned:
        end = rng.randrange(1, quarters)
        gone = rng.randrange(1, owned + 1)
        retired = tuple(gone if quarter >= end else 0 for quarter in range(quarters))
    node = Shape(4, 16, 40)
    spare = rng.choice((0, 0, 0, 1))
    return Pool(f"n{number}", "main", "ab"[number], node, owned, spare, True, retired)


def draw_supplies(
    pool: int, quarters: int, rng: random.Random, features: tuple[str, ...]
) -> list[Supply]:
    price = rng.randrange(1_000_000, 4_000_000)
    bought = [price - quarter * price // 4 for quarter in range(quarters)]
    costs: list[int | None] = list(bought)
    if "window" in features:
        open_in = rng.sample(range(quarters), rng.randrange(1, quarters))
        costs = [cents if quarter in open_in else None for quarter, cents in enumerate(bought)]
    maximum = rng.choice((1, 2, 3, None))
    if "lots" in features:
        second = rng.choice((2, 2, 3))
        less = tuple(None if cents is None else cents * 7 // 10 for cents in costs)
        first, more = PriceTier(1, second - 1), PriceTier(second, None)
        supplies = [
            Supply(f"buy{pool}", "buy", pool, maximum, tuple(costs), lot=first, offer=pool),
            Supply(f"buy{pool}", "buy", pool, maximum, less, lot=more, offer=pool),
        ]
    else:
        supplies = [Supply(f"buy{pool}", "buy", pool, maximum, tuple(costs))]
    if "deliveries" in features:
        arriving = tuple(rng.choice((0, 1, 1, 2)) for _ in range(quarters))
        supplies = [replace(supply, deliveries=arriving) for supply in supplies]
    if "reserve" in features:
        term = rng.choice((1, 2, 2, 5))
        share = rng.randrange(20, 60)
        held = tuple(
            min(term, quarters - quarter) * price * share // 100 for quarter in range(quarters)
        )
        supplies.append(Supply(f"hold{pool}", "reserve", pool, rng.choice((1, 2)), held, term))
    elif rng.random() < 0.5:
        rented = tuple(price * rng.randrange(30, 80) // 100 for _ in range(quarters))
        supplies.append(Supply(f"rent{pool}", "rent", pool, rng.choice((1, 2)), rented))
    return supplies


def draw_demand(pools: int, quarters: int, rng: random.Random) -> Demand:
    choices = tuple(
        Choice(
            "ab"[pool], Shape(rng.choice((1, 2, 3, 4)), rng.choice((0, 4, 9)), rng.choice((0, 15)))
        )
        for pool in sorted(rng.sample(range(pools), rng.randrange(1, pools + 1)))
    )
    active = tuple(sorted(rng.sample(range(quarters), rng.randrange(1, quarters + 1))))
    return Demand(choices, active, rng.choice((1, 1, 2)))


def draw_budget(problem: Problem, rng: random.Random) -> SpendLimit:
    """On some supplies and quarters of entry, in odd cents, so that nothing divides anything."""
    cents = tuple(
        tuple(
            (cost or 0) + rng.randrange(-99, 99) if rng.random() < 0.7 and cost is not None else 0
            for cost in supply.unit_cost_cents
        )
        for supply in problem.supplies
    )
    amounts = sorted(amount for by_quarter in cents for amount in by_quarter if amount) or [1]
    exact = rng.choice(amounts) * rng.choice((1, 2))
    return SpendLimit("money", exact + rng.choice((-1, 0, 0, 700_000)), cents)


@pytest.mark.parametrize(
    "features",
    [*((one,) for one in FEATURES), *combinations(FEATURES, 2), FEATURES],
    ids="+".join,
)
def test_the_search_agrees_with_trying_everything(features, agree):
    drawn = (draw(random.Random(f"{features}{number}"), features) for number in range(SIZE))
    seen = agree(drawn)
    assert seen[Status.PROVED] >= SIZE // 4, "too few plans to mean anything"
    assert not seen[Status.NOT_PROVED] + seen["undecided"]


def levels(build: Any, *, second: int = 4) -> list[Supply]:
    dear, cheap = build.buy(1000), build.buy(700)
    return [
        replace(dear, lot=PriceTier(1, second - 1), offer=0),
        replace(cheap, lot=PriceTier(second, None), offer=0),
    ]


def test_an_order_is_as_large_as_what_stays_free_for_growth_asks(build, solve):
    """Of nodes with one GPU, five are for each that runs: more than there are GPUs in use."""
    pool = build.pool(node=(1, 80, 800_000))
    problem = build.problem([pool], levels(build), [build.units(2, ("h100", 1, 0, 0))])
    problem = replace(problem, reserves=(Reserve("h100", Fraction(4, 5)),))
    assert solve(problem).bought == ((0,), (10,))


@pytest.mark.parametrize(
    ("orders", "most", "kept"),
    [
        ((3, 0), 3000, True),
        ((0, 4), 2800, True),
        ((0, 4), 2799, False),
        ((1, 4), 9000, False),
    ],
)
def test_a_plan_at_two_prices_or_beyond_its_budget_is_not_kept(build, orders, most, kept):
    """At 1,000 up to three nodes, at 700 from four on."""
    problem = build.problem([build.pool()], levels(build), [build.units(1, ("h100", 8, 0, 0))])
    master = build_master(replace(problem, budgets=(SpendLimit("capex", most, ((1000,), (700,))),)))
    values = [0.0] * len(master.program.variables)
    for number, nodes in enumerate(orders):
        values[master.acquire[number, 0]] = float(nodes)
    assert nodes_allowed(master, values) is kept


def capped(build: Any, cents: int) -> Problem:
    """One unit on a cheap node to buy or a dear one to rent; the budget is on buying."""
    problem: Problem = build.problem(
        [build.pool()],
        [build.buy(33_333_333), build.rent(50_000_001)],
        [build.units(3, ("h100", 8, 0, 0))],
    )
    limit = SpendLimit("capex of 2027Q1", cents, ((33_333_333,), (0,)))
    return replace(problem, budgets=(limit,))


@pytest.mark.parametrize(
    ("cents", "bought"),
    [(99_999_999, 3), (99_999_998, 2), (66_666_666, 2), (66_666_665, 1), (33_333_332, 0), (0, 0)],
)
def test_a_budget_is_kept_to_the_cent(build, solve, cents, bought):
    solution = solve(capped(build, cents))
    assert solution.bought[0] == (bought,)
    assert solution.status is Status.PROVED


def test_many_unlike_units_keep_to_a_budget_too(build, solve):
    """More demands than are packed exactly: nodes that heuristics add are paid as well."""
    rng = random.Random(5)
    demands = [
        build.units(1, ("h100", rng.choice((1, 2, 3)), rng.randrange(5, 25), rng.randrange(9_999)))
        for _ in range(320)
    ]
    offers = [build.buy(1_000_003), build.rent(1_400_000)]
    free = build.problem([build.pool()], offers, demands)
    nodes = solve(free, asked_gap=0.01).bought[0][0]
    limit = SpendLimit("capex", 1_000_003 * (nodes - 9) - 1, ((1_000_003,), (0,)))
    solution = solve(replace(free, budgets=(limit,)), asked_gap=0.01)
    assert solution.bought[0][0] == nodes - 10
    assert solution.rented[1][0] >= 9
