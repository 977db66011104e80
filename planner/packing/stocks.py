"""One cutting stock per kind of node, shared by the pools that have it."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from planner.packing.cutting import CuttingStock
from planner.packing.parts import OPENED
from planner.packing.problem import ALWAYS
from planner.packing.weekly import WeeklyStock

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.packing.counts import Counts
    from planner.packing.problem import Problem, Shape

__all__ = ["cutting_stocks", "most_pieces", "stock_of"]

Shapes = dict[int, tuple["Shape", ...]]
"""By pool: what the indices of its patterns mean."""


def cutting_stocks(
    counts: Counts, go_on: Callable[[], bool]
) -> tuple[Shapes, dict[int, CuttingStock]]:
    """Shapes and stock of every pool that runs something; `go_on` is asked in long searches."""
    pools = counts.problem.pools
    kinds: dict[tuple[str, Shape], set[Shape]] = {}
    for number, quarter in counts.usages:
        pool = pools[number]
        kept = kinds.setdefault((pool.gpu_type, pool.node), set())
        laid = counts.on_nodes(number, quarter)
        kept.update(usage.shape for usage in laid if not usage.span)
    most = most_pieces(counts.problem)
    made = {}
    for (gpu_type, node), held in kinds.items():
        shapes_held = tuple(sorted(held))
        units = [max(most[gpu_type, shape], node.gpus * (shape == OPENED)) for shape in shapes_held]
        made[gpu_type, node] = shapes_held, stock_of(node, shapes_held, units, go_on)
    shapes, stocks = {}, {}
    for number, pool in enumerate(pools):
        if (pool.gpu_type, pool.node) in made:
            shapes[number], stocks[number] = made[pool.gpu_type, pool.node]
    return shapes, stocks


def most_pieces(problem: Problem) -> dict[tuple[str, Shape], int]:
    """By GPU type and shape: pieces that there can be in any one quarter."""
    pieces: Counter[tuple[str, Shape, int]] = Counter()
    for demand in problem.demands:
        copies: dict[tuple[str, Shape], int] = {}
        for choice in demand.choices:
            kind = (choice.gpu_type, choice.shape)
            copies[kind] = max(choice.copies, copies.get(kind, 0))
        for kind, times in copies.items():
            pieces.update({(*kind, quarter): times * demand.count for quarter in demand.quarters})
    most: dict[tuple[str, Shape], int] = defaultdict(int)
    for (gpu_type, shape, _), units in pieces.items():
        most[gpu_type, shape] = max(units, most[gpu_type, shape])
    return most


def stock_of(
    node: Shape, shapes: tuple[Shape, ...], most: list[int], go_on: Callable[[], bool]
) -> CuttingStock:
    """By weeks only where some piece runs for some weeks only."""
    if any(shape.run != ALWAYS for shape in shapes):
        return WeeklyStock(node, shapes, most, go_on)
    return CuttingStock(node, shapes, go_on)
