"""Replicas of several GPU types that share the traffic of an endpoint: alone, and with all else."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from planner.packing.problem import ALL_TRAFFIC, Demand, Problem
from planner.packing.solution import Status
from tests.packing import test_brute_force, test_parts, test_procurement, test_quotas
from tests.properties.questions import draws

TEN = 10_000_000
HALF, THIRD, TWO_THIRDS = 500_000, 333_334, 666_667
SIZE = draws(12, 200)


def sharing(demand: Demand, *takes: int, count: int, name: str = "chat") -> Demand:
    return replace(demand, endpoint=name, takes=takes, count=count, at_most=True)


def test_two_types_take_together_what_either_takes_dearer(build, plan):
    """One H100 takes two thirds, one L40S a third: one of each, where two H100 or three L40S cost
    more."""
    pools = [build.pool("h100", node=(1, 9, 9)), build.pool("l40s", node=(1, 9, 9))]
    supplies = [build.buy(3 * TEN), build.buy(2 * TEN, pool=1)]
    unit = build.units(1, ("h100", 1, 0, 0), ("l40s", 1, 0, 0))

    chat = sharing(unit, TWO_THIRDS, THIRD, count=3)
    solution = plan(build.problem(pools, supplies, [chat]))

    assert solution.assigned == ((1, 1),)
    assert solution.cost_cents == 5 * TEN


def test_endpoints_that_are_alike_do_not_take_each_others_traffic(build, plan):
    """Each needs two of three halves; three replicas together would leave one short."""
    pools = [build.pool("h100", node=(4, 9, 9))]
    unit = build.units(1, ("h100", 1, 0, 0))
    chats = [sharing(unit, HALF, count=3, name=name) for name in ("chat", "other")]

    solution = plan(build.problem(pools, [build.buy(TEN)], chats))

    assert solution.assigned == ((2,), (2,))


def test_the_price_of_traffic_is_on_the_tags_of_its_units(build, plan):
    unit = build.units(1, ("h100", 2, 0, 0), ("l40s", 1, 0, 0))
    supplies = [build.buy(TEN), build.buy(TEN // 2, pool=1)]
    pools = [build.pool("h100"), build.pool("l40s")]
    chat = sharing(unit, TWO_THIRDS, THIRD, count=3)
    other = build.units(2, ("h100", 1, 0, 0))

    solution = plan(build.problem(pools, supplies, [chat, other]))

    tags = zip(solution.tags, (chat, other), strict=True)
    tagged = sum(tag.cents * demand.count for tag, demand in tags)
    terms = dict(solution.bound_terms)
    assert solution.tags[0].cents > 0
    assert "traffic that GPU types share" not in terms
    assert tagged + sum(terms.values()) == pytest.approx(solution.bound_cents, abs=1)


def with_endpoints(problem: Problem, rng: random.Random) -> Problem:
    """The same, where most demands are an endpoint in each of their quarters by itself.

    Some ask for so many replicas exactly, as where that was decided before.
    """
    demands: list[Demand] = []
    for number, demand in enumerate(problem.demands):
        if rng.random() < 0.25:
            demands.append(demand)
            continue
        for quarter in demand.quarters:
            takes = tuple(
                rng.choice((200_000, THIRD, HALF, TWO_THIRDS, ALL_TRAFFIC)) for _ in demand.choices
            )
            count = min(3, -(-ALL_TRAFFIC // min(takes)))
            chat = sharing(demand, *takes, count=count, name=f"chat {number}")
            exact = rng.random() < 0.2
            demands.append(replace(chat, quarters=(quarter,), stage=True, at_most=not exact))
    return replace(problem, demands=tuple(demands[:4]))


DRAWN = {
    "alone": test_brute_force.draw,
    "quotas": test_quotas.draw,
    "offers": lambda rng: test_procurement.draw(rng, test_procurement.FEATURES),
    "parts": lambda rng: test_parts.draw(rng, {"mig", "shared"}),
}


@pytest.mark.parametrize("beside", DRAWN)
def test_the_search_agrees_with_trying_everything(beside, agree):
    drawn = (random.Random(f"{beside}{number}") for number in range(SIZE))
    seen = agree(with_endpoints(DRAWN[beside](rng), rng) for rng in drawn)

    assert seen[Status.PROVED] >= SIZE // 6, "too few plans to mean anything"
    assert seen[Status.NOT_PROVED] <= 1
