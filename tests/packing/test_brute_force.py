"""Small random problems: the search and an exhaustive solver agree on every one."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from planner.packing.problem import Choice, Demand, Pool, Problem, Shape, Supply
from planner.packing.solution import Status
from tests.properties.questions import draws

BATCHES = draws(8, 20)
SIZE = 15


def draw(rng: random.Random) -> Problem:
    """Two pools, at most three nodes of each, at most five units, one or two quarters."""
    quarters = rng.choice((1, 1, 2))
    alike = rng.random() < 0.3
    pools = []
    for number in range(rng.choice((1, 2, 2))):
        node = Shape(rng.choice((4, 8)), rng.choice((20, 40)), rng.choice((10, 23)))
        gpu_type = "a" if alike else "ab"[number]
        spare = rng.choice((0, 0, 0, 1))
        fabric = rng.random() < 0.7
        pools.append(
            Pool(f"n{number}", "main", gpu_type, node, rng.choice((0, 0, 1)), spare, fabric)
        )
    supplies = tuple(
        supply for number in range(len(pools)) for supply in draw_offers(number, quarters, rng)
    )
    return Problem(quarters, tuple(pools), supplies, draw_demands(pools, quarters, rng), 1234)


def draw_offers(pool: int, quarters: int, rng: random.Random) -> list[Supply]:
    price = rng.randrange(1_000_000, 9_000_000)
    first = rng.choice((0, 0, 0, 1)) if quarters > 1 else 0
    bought = [None if q < first else price - q * price // 3 for q in range(quarters)]
    offers = [Supply(f"buy{pool}", "buy", pool, rng.choice((1, 2, 3, None)), tuple(bought))]
    if rng.random() < 0.5:
        rented = tuple(price * rng.randrange(30, 80) // 100 for _ in range(quarters))
        offers.append(Supply(f"rent{pool}", "rent", pool, rng.choice((0, 1, 2)), rented))
    return offers


def draw_demands(pools: list[Pool], quarters: int, rng: random.Random) -> tuple[Demand, ...]:
    left = rng.randrange(1, 6)
    demands = []
    while left:
        count = rng.randrange(1, left + 1) if rng.random() < 0.5 else 1
        choices = {draw_choice(rng.choice(pools), rng) for _ in range(rng.choice((1, 2, 3)))}
        active = tuple(sorted(rng.sample(range(quarters), rng.randrange(1, quarters + 1))))
        ordered = sorted(choices, key=lambda choice: (choice.gpu_type, choice.shape))
        demands.append(Demand(tuple(ordered), active, count))
        left -= count
    return tuple(demands)


def draw_choice(pool: Pool, rng: random.Random) -> Choice:
    gpus = rng.choice((1, 1, 2, 2, 3, 4, 4, 5, 8, 16))
    cpus = rng.randrange(0, pool.node.cpus * min(gpus, 6) // 5 + 1)
    memory = rng.randrange(0, pool.node.memory_mb * min(gpus, 6) // 5 + 1)
    return Choice(pool.gpu_type, Shape(gpus, cpus, memory, rng.random() < 0.8))


def in_copies(problem: Problem, rng: random.Random) -> Problem:
    """The same, where most choices ask for two or three pieces, at most eight in all."""
    demands: list[Demand] = []
    left = 8
    for demand in problem.demands:
        most = max(1, min(3, left // demand.count))
        choices = {replace(one, copies=rng.randrange(1, most + 1)) for one in demand.choices}
        demands.append(replace(demand, choices=tuple(sorted(choices))))
        left -= demand.count * max(choice.copies for choice in choices)
        if left < 2:
            break
    return replace(problem, demands=tuple(demands))


@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_search_agrees_with_trying_everything(batch, agree):
    numbers = range(batch * SIZE, (batch + 1) * SIZE)
    seen = agree(draw(random.Random(number)) for number in numbers)
    assert seen[Status.PROVED] >= SIZE // 3, "too few plans to mean anything"
    assert seen[Status.NOT_PROVED] <= 1
    assert seen["infeasible"], "too few contradictions to mean anything"


@pytest.mark.parametrize("batch", range(BATCHES // 2))
def test_so_it_does_where_units_come_in_several_pieces(batch, agree):
    numbers = range(batch * SIZE, (batch + 1) * SIZE)
    drawn = (random.Random(number) for number in numbers)
    seen = agree(in_copies(draw(rng), rng) for rng in drawn)
    assert seen[Status.PROVED] >= SIZE // 3, "too few plans to mean anything"
    assert seen[Status.NOT_PROVED] <= 1
