"""Nodes written as one number: what fits in every week, and what is left."""

from __future__ import annotations

import random

import pytest

from planner.packing.problem import ALWAYS, WEEKS, Run, Shape
from planner.packing.weeks.ledger import Ledger


def weekly(node, taken):
    """What a node has free, by week and resource."""
    free = [[node.gpus, node.cpus, node.memory_mb] for _ in range(WEEKS)]
    for shape, start in taken:
        for week in range(start, start + shape.run.weeks):
            sizes = (shape.gpus, shape.cpus, shape.memory_mb)
            free[week] = [left - size for left, size in zip(free[week], sizes, strict=True)]
    return free


@pytest.mark.parametrize("gpus", [1, 2, 3, 8, 31])
def test_a_ledger_says_what_adding_up_says(gpus):
    rng = random.Random(gpus)
    for node in (Shape(gpus, 10, 0), Shape(gpus, 0, 0), Shape(gpus, 3, 1_000_000)):
        ledger = Ledger(node)
        taken: list[tuple[Shape, int]] = []
        free = ledger.empty
        for _ in range(40):
            weeks = rng.randrange(1, WEEKS + 1)
            run = Run(weeks, 0, WEEKS) if weeks < WEEKS else ALWAYS
            cpus, memory_mb = rng.randrange(node.cpus + 1), rng.randrange(node.memory_mb + 1)
            shape = Shape(rng.randrange(gpus) + 1, cpus, memory_mb, run=run)
            entry = rng.choice(ledger.entries(shape))
            left = weekly(node, [*taken, (shape, entry.week)])
            after = free - entry.taken
            fits = after & ledger.guards == ledger.guards
            assert fits == all(resource >= 0 for week in left for resource in week)
            during = [week[0] for week in weekly(node, taken)][entry.week :][:weeks]
            assert ledger.idle(free, entry) == pytest.approx(sum(during) / weeks)
            if fits:
                taken.append((shape, entry.week))
                free = after
        everywhere = sum(week[0] for week in weekly(node, taken))
        assert ledger.idle(free, ledger.whole) == pytest.approx(everywhere / WEEKS)
