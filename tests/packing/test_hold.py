"""Purchases that are given: bought to the node, in their quarter or as early as can be."""

from collections import Counter
from dataclasses import replace

import pytest

from planner.packing.scenario_program import Order, holding
from tests.packing.draws import draw

CHEAP, DEAR = 10_000_000, 11_000_000


@pytest.fixture
def two_offers(build):
    """A unit of 8 GPUs in both quarters, a cheap server for it, a dear one, and rent."""
    pools = [build.pool("a"), build.pool("b")]
    offers = [
        replace(build.buy(CHEAP, CHEAP // 2), name="cheap"),
        replace(build.buy(DEAR, DEAR // 2, pool=1), name="dear"),
        replace(build.rent(CHEAP, CHEAP), name="hire"),
    ]
    job_class = build.units(1, ("a", 8, 0, 0), ("b", 8, 0, 0), quarters=(0, 1))
    return build.problem(pools, offers, [job_class], quarters=2)


def test_what_comes_late_enters_as_early_as_it_can_or_never(two_offers, plan):
    late = replace(two_offers.supplies[0], unit_cost_cents=(None, CHEAP // 2))
    problem = replace(two_offers, supplies=(late, *two_offers.supplies[1:]))
    assert plan(holding(problem, [Order("cheap", "main", 0, 1)])).acquired[0] == (0, 1)
    never = replace(late, unit_cost_cents=(None, None))
    problem = replace(two_offers, supplies=(never, *two_offers.supplies[1:]))
    solution = plan(holding(problem, [Order("cheap", "main", 0, 1)]))
    assert solution.acquired[2] == (1, 1)


@pytest.mark.parametrize("features", ["", "lots", "sites"])
def test_the_best_purchases_held_cost_what_the_best_plan_does(features, solve):
    seen = 0
    for seed in range(16):
        problem = draw(features, seed)
        best = solve(problem)
        if best is None:
            continue
        orders: Counter[tuple[str, str, int]] = Counter()
        for supply, acquired in zip(problem.supplies, best.acquired, strict=True):
            for quarter, nodes in enumerate(acquired):
                if nodes and supply.kind == "buy":
                    orders[supply.name, problem.pools[supply.pool].site, quarter] += nodes
        held = solve(holding(problem, [Order(*key, nodes) for key, nodes in orders.items()]))
        assert held is not None, seed
        assert held.cost_cents == best.cost_cents, seed
        for supply, *nodes in zip(problem.supplies, held.acquired, best.acquired, strict=True):
            assert nodes[0] == nodes[1] or supply.kind != "buy", seed
        seen += bool(orders)
    assert seen > 5
