"""One cutting stock per kind of node, shared by the pools that have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing.cutting import CuttingStock

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.packing.counts import Counts
    from planner.packing.problem import Shape

__all__ = ["cutting_stocks"]

Shapes = dict[int, tuple["Shape", ...]]
"""By pool: what the indices of its patterns mean."""


def cutting_stocks(
    counts: Counts, go_on: Callable[[], bool]
) -> tuple[Shapes, dict[int, CuttingStock]]:
    """Shapes and stock of every pool that runs something; `go_on` is asked in long searches."""
    pools = counts.problem.pools
    kinds: dict[tuple[str, Shape], set[Shape]] = {}
    for (number, _), usages in counts.usages.items():
        pool = pools[number]
        kept = kinds.setdefault((pool.gpu_type, pool.node), set())
        kept.update(usage.shape for usage in usages if not pool.nodes_taken(usage.shape))
    made = {
        kind: (tuple(sorted(held)), CuttingStock(kind[1], tuple(sorted(held)), go_on))
        for kind, held in kinds.items()
    }
    shapes, stocks = {}, {}
    for number, pool in enumerate(pools):
        if (pool.gpu_type, pool.node) in made:
            shapes[number], stocks[number] = made[pool.gpu_type, pool.node]
    return shapes, stocks
