"""What one node holds weighs at most 1 in every cut, held against trying everything on it."""

from __future__ import annotations

import random
from itertools import product

import pytest

from planner.packing.layouts import JointStock
from planner.packing.node_packing.gpu_patterns import OPENED
from planner.packing.problem import Choice, Demand, Division, Part, Pool, Problem, Shape

DIVISIONS = (
    Division((("1g", 0), ("1g", 1), ("2g", 2), ("1g", 4))),
    Division((("4g", 0), ("1g", 4))),
    Division((("2g", 0), ("2g", 2), ("1g", 4))),
)
MANY, TRIED = 15, 3
"""Pieces of a shape: more than a node ever holds, and of which nodes are tried."""


def pool_of(rng, **gpus):
    """A pool of one node of two GPUs, which holds few pieces."""
    node = Shape(2, rng.choice((6, 9)), rng.choice((60, 100)))
    return Pool("n", "main", "h100", node, 1, 0, True, **gpus)


def whole(rng, number):
    """Pieces of whole GPUs."""
    for _ in range(number):
        yield Shape(rng.choice((1, 2)), rng.randrange(5), rng.randrange(50))


def some_of(rng, shapes):
    """Which pieces are asked for: what is not must be weighed as well."""
    asked = set(rng.sample(shapes, rng.randrange(1, len(shapes) + 1)))
    return [MANY if shape in asked else 0 for shape in shapes]


def with_parts(rng):
    """A cut by the prices of whole nodes, for parts of GPUs and whole ones."""
    parts = [Part(f"{n}g", 0) for n in (1, 2, 4)]
    pool = pool_of(rng, divisions=DIVISIONS)
    if rng.random() < 0.5:
        parts = [Part("", mb) for mb in (11, 23, 37, 41)]
        pool = pool_of(rng, shared_mb=80)
    cpus, memory_mb = rng.randrange(4), rng.randrange(40)
    drawn = {Shape(1, cpus, memory_mb, part=rng.choice(parts)) for _ in range(3)}
    shapes = [*sorted(drawn), *whole(rng, 2)]
    stock = JointStock(pool, (*shapes, OPENED), [MANY] * (len(shapes) + 1), lambda: True)
    return pool, stock.pack([*some_of(rng, shapes), 0], 1)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("draw", [with_parts])
def test_whatever_one_node_holds_weighs_at_most_one_in_a_cut(draw, seed, least_cost):
    pool, cut = draw(random.Random(seed))
    weights = dict(zip(cut.shapes, cut.weights, strict=True))
    weights.pop(OPENED, None)
    assert max(weights.values()) > 1 / MANY
    for counts in product(range(TRIED + 1), repeat=len(weights)):
        held = {shape: count for shape, count in zip(weights, counts, strict=True) if count}
        demands = (Demand((Choice("h100", shape),), (0,), n) for shape, n in held.items())
        if least_cost(Problem(1, (pool,), (), tuple(demands), 0)) is not None:
            assert sum(weights[shape] * n for shape, n in held.items()) <= 1 + 1e-9, counts
