"""Searches one after the other: what the first one stated answers for other prices and budgets."""

import random
from dataclasses import replace

import pytest

from planner.packing.incumbent import Infeasible
from planner.packing.problem import Problem, SpendLimit
from planner.packing.search import Search, search
from tests.packing.draws import stages


def drawn(rng: random.Random, build) -> Problem:
    """Two GPU types, bought or rented over two quarters, and six kinds of units.

    Those of the last may change their GPU type.
    """
    pools = (build.pool("a", owned=1), build.pool("b", node=(4, 40, 400_000)))
    supplies = (build.buy(None, 900, pool=0, maximum=3), build.rent(400, 300, pool=1, maximum=9))
    classes = tuple(
        build.units(
            rng.randint(1, 4),
            ("a", gpus, 8 * rng.randint(1, 3), 90_000),
            ("b", min(4, gpus), 7, 80_000),
            quarters=rng.choice(((0, 1), (1,))),
        )
        for gpus in (1, 1, 2, 3, 8)
    )
    whole = build.units(2, ("a", 4, 8, 90_000), ("b", 4, 7, 80_000), quarters=(0, 1))
    return Problem(2, pools, supplies, (*classes, *stages(whole)), 5)


def dearer(rng: random.Random, problem: Problem) -> Problem:
    """The same at other prices."""
    supplies = tuple(
        replace(
            supply,
            unit_cost_cents=tuple(
                None if cents is None else cents * rng.randint(1, 9)
                for cents in supply.unit_cost_cents
            ),
        )
        for supply in problem.supplies
    )
    return replace(problem, supplies=supplies)


def result(searching) -> tuple[int | None, int] | None:
    """Cost and bound; None where there is no plan."""
    try:
        found = searching()
    except Infeasible:
        return None
    return found.cost_cents, found.bound_cents


@pytest.mark.parametrize("seed", range(6))
def test_a_search_after_others_finds_what_it_finds_alone(build, seed):
    rng = random.Random(seed)
    problem = drawn(rng, build)
    asked = [problem, dearer(rng, problem)]
    for most in (3, 1, 0):  # each budget is kept while the next is asked for
        nodes = tuple((int(number == 1),) * 2 for number in range(2))
        budgets = (*asked[-1].budgets, SpendLimit(f"rented {most}", most, nodes))
        asked.append(replace(dearer(rng, problem), budgets=budgets))
    searching = Search(problem, 0.0, 20.0)
    for number, one in enumerate(asked):
        if number:
            searching.ask_again(one, 0.0, 20.0)
        after = result(searching.run)
        alone = result(lambda one=one: search(one, asked_gap=0.0, time_limit_s=20.0))
        assert after == alone
        if after is None:
            break


def test_a_plan_found_before_keeps_its_own_program(build):
    problem = drawn(random.Random(0), build)
    searching = Search(problem, 0.0, 20.0)
    first = searching.run()
    rows, cost = len(first.master.program.rows), first.cost_cents
    limit = SpendLimit("rented", 12, ((0, 0), (1, 1)))
    searching.ask_again(replace(problem, budgets=(limit,)), 0.0, 20.0)
    later = searching.run()
    assert len(later.master.program.rows) > rows
    assert (len(first.master.program.rows), first.cost_cents) == (rows, cost)
    assert "rented" not in first.master.elastic
