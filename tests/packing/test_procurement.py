"""Price levels and budgets, each alone: orders as large as they must be, budgets to the cent."""

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from planner.packing.build import build_master
from planner.packing.constraints import nodes_allowed
from planner.packing.problem import PriceTier, Problem, Reserve, SpendLimit, Supply
from planner.packing.solution import Status


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
    assert solve(problem).acquired == ((0,), (10,))


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
    assert solution.acquired[0] == (bought,)
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
    nodes = solve(free, asked_gap=0.01).acquired[0][0]
    limit = SpendLimit("capex", 1_000_003 * (nodes - 9) - 1, ((1_000_003,), (0,)))
    solution = solve(replace(free, budgets=(limit,)), asked_gap=0.01)
    assert solution.acquired[0][0] == nodes - 10
    assert solution.acquired[1][0] >= 9
