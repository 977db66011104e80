"""The cutting stock of one kind of node, and how many pieces it can ever be asked for."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from planner.packing.layouts.cutting import CuttingStock
from planner.packing.layouts.weekly import WeeklyStock
from planner.packing.problem import ALWAYS

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.packing.problem import Problem, Shape

__all__ = ["most_pieces", "stock_of"]


def most_pieces(problem: Problem) -> dict[tuple[str, Shape], int]:
    """By GPU type and shape on a node: pieces that there can be in any one quarter."""
    pieces: Counter[tuple[str, Shape, int]] = Counter()
    for demand in problem.demands:
        copies: dict[tuple[str, Shape], int] = {}
        for choice in demand.choices:
            pools = (pool for pool in problem.pools if pool.gpu_type == choice.gpu_type)
            for shape in {pool.on_node(choice.shape) for pool in pools}:
                kind, times = (choice.gpu_type, shape), choice.copies * shape.nodes_at_once
                copies[kind] = max(times, copies.get(kind, 0))
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
