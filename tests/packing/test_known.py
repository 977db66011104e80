"""Layouts from patterns that are known: sound, and the same whatever the stock met since."""

from __future__ import annotations

import random
from collections import Counter

from planner.packing.families.known import KnownPatterns
from planner.packing.layouts.cutting import CuttingStock
from planner.packing.layouts.packed import Packed
from planner.packing.problem import Shape

NODE = Shape(8, 64, 1_000_000)
SHAPES = (Shape(1, 4, 60_000), Shape(1, 8, 300_000), Shape(2, 16, 90_000), Shape(4, 20, 400_000))


def asked(seed: int) -> list[int]:
    """Units by shape."""
    rng = random.Random(seed)
    return [rng.randint(0, 12) for _ in SHAPES]


def test_layouts_hold_exactly_what_is_asked_on_no_more_nodes_than_a_stock_needs():
    stock = CuttingStock(NODE, SHAPES)
    for seed in range(6):
        stock.pack(asked(seed), 4)
    known = KnownPatterns(NODE, stock)
    laid = 0
    for seed in range(6, 30):
        units = asked(seed)
        least = next(n for n in range(40) if isinstance(stock.begun(()).pack(units, n), Packed))
        assert least == 0 or known.laid_out(units, least - 1) is None
        packed = known.laid_out(units, least)
        if packed is None:
            continue
        laid += 1
        held: Counter[int] = Counter()
        for pattern, times in packed:
            for name in ("gpus", "cpus", "memory_mb"):
                taken = sum(getattr(SHAPES[index], name) * many for index, many in pattern)
                assert taken <= getattr(NODE, name)
            held.update({index: many * times for index, many in pattern})
        assert [held[index] for index in range(len(SHAPES))] == units
        assert sum(times for _, times in packed) <= least
    assert laid >= 20


def test_what_a_stock_meets_later_changes_no_layout():
    stock = CuttingStock(NODE, SHAPES)
    stock.pack(asked(0), 4)
    known = KnownPatterns(NODE, stock)
    before = [known.laid_out(asked(seed), 12) for seed in range(8)]
    for seed in range(1, 8):
        stock.pack(asked(seed), 4)
    assert [known.laid_out(asked(seed), 12) for seed in reversed(range(8))] == before[::-1]
