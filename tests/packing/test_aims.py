"""Plans near the cheapest: the least of something else, beside trying everything."""

import random
from dataclasses import replace

import pytest

from planner.packing.pack import Aim, reach
from planner.packing.problem import SpendLimit
from planner.packing.solution import Status
from tests.packing.draws import draw, running

BUY = 10_000_000


def reached(problem, aim, most_cents):
    return reach(problem, aim, most_cents, asked_gap=0.0, time_limit_s=60.0)


def nodes_of(problem, *units):
    """An aim at few nodes, by what one of each offer counts."""
    nodes = tuple((each,) * problem.quarters for each in units)
    return Aim("nodes", nodes, (0,) * len(problem.classes), 100_000)


@pytest.mark.parametrize(("most", "bought"), [(BUY + 499, 1), (BUY + 500, 0)])
def test_what_moves_cost_counts_against_the_ceiling(build, most, bought):
    """Nothing need be bought if the unit moves; but moving costs 500 more than a node."""
    pools = [build.pool("a"), build.pool("b", owned=1)]
    job_class = build.units(1, ("a", 8, 0, 0), ("b", 8, 0, 0))
    stays = running(job_class, "node-a/main", BUY + 500)
    problem = build.problem(pools, [build.buy(BUY)], [stays])
    found = reached(problem, nodes_of(problem, 1), most)
    assert (found.value, found.bound) == (bought, bought)
    assert found.solution.moved == (1 - bought,)


def test_the_least_is_that_of_trying_everything(least_cost, faults):
    seen = 0
    for seed in range(14):
        rng = random.Random(f"aims {seed}")
        problem = draw("", seed)
        cheapest = least_cost(problem)
        if cheapest is None:
            continue
        units = tuple(
            tuple(rng.randrange(5) for _ in range(problem.quarters)) for _ in problem.supplies
        )
        aim = Aim("units", units, (0,) * len(problem.classes), 100_000)
        most = cheapest + rng.randrange(3_000_000)
        costs = tuple(tuple(c or 0 for c in one.unit_cost_cents) for one in problem.supplies)
        ceiling = SpendLimit("cost", most - problem.fixed_cost_cents, costs)
        priced = tuple(
            replace(
                one,
                unit_cost_cents=tuple(
                    None if cents is None else number
                    for cents, number in zip(one.unit_cost_cents, each, strict=True)
                ),
            )
            for one, each in zip(problem.supplies, units, strict=True)
        )
        asked = replace(problem, supplies=priced, budgets=(ceiling,), fixed_cost_cents=0)
        found = reached(problem, aim, most)
        assert found.value == least_cost(asked), seed
        assert found.bound == found.value
        held = SpendLimit("units", found.value, units)
        kept = replace(problem, budgets=(held,))
        assert found.solution.cost_cents == least_cost(kept), seed
        assert found.solution.status is Status.PROVED
        assert not faults(problem, found.solution)
        seen += 1
    assert seen > 6
