"""From a counted plan to the nodes of one pool in one quarter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing.bundles import lay_out_bundles
from planner.packing.cutting import Cut
from planner.packing.limits import free_to_hold
from planner.packing.parts import OPENED

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.packing.counts import Counts
    from planner.packing.cutting import CuttingStock, Packed

__all__ = ["lay_out", "load_of"]

PoolInQuarter = tuple[int, int]


def load_of(
    counts: Counts, stock: CuttingStock, key: PoolInQuarter, values: tuple[float, ...]
) -> tuple[list[float], float]:
    """What shares nodes, by the shapes of the stock, and the nodes left for it.

    GPUs opened for parts count as pieces of `OPENED`, and their pieces do not count.
    """
    position = {shape: index for index, shape in enumerate(stock.shapes)}
    load = [0.0] * len(position)
    for usage in counts.on_nodes(*key):
        if not usage.span:
            load[position[usage.shape]] += usage.units(values)
    return load, counts.shared_nodes(*key, values)


def lay_out(
    counts: Counts,
    stock: CuttingStock,
    key: PoolInQuarter,
    values: tuple[float, ...],
    go_on: Callable[[], bool],
) -> Packed | Cut | None:
    """Whole units on the nodes of a plan, a cut that their counts violate, or None for neither."""
    load, nodes = load_of(counts, stock, key, values)
    if round(nodes) < 0:  # counts that were rounded each by itself may leave fewer than none
        return None
    asked = [round(units) for units in load]
    packed = stock.pack(asked, round(nodes))
    if key not in counts.opened or isinstance(packed, Cut):
        return packed
    kind = counts.problem.pools[key[0]]
    opened = round(counts.opened[key].units(values))
    asked[stock.shapes.index(OPENED)] -= opened
    most_opened = opened + free_to_hold(counts, kind.gpu_type, key[1], values)
    pieces = counts.parts(*key, values)
    return lay_out_bundles(kind, (stock.shapes, asked), pieces, round(nodes), most_opened, go_on)
