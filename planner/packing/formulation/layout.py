"""From a counted plan to the nodes of one pool in one quarter, by the cutting stock of its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing.constraints.growth import free_to_hold
from planner.packing.node_packing.cutting import Cut, CuttingStock
from planner.packing.node_packing.gpu_patterns import OPENED
from planner.packing.node_packing.shared_gpus import lay_out_bundles

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.packing.master import MasterProgram, PoolInQuarter
    from planner.packing.node_packing.packed import Packed
    from planner.packing.problem import Shape

Shapes = dict[int, tuple["Shape", ...]]
"""By pool: what the indices of its patterns mean."""


def cutting_stocks(
    master: MasterProgram, go_on: Callable[[], bool]
) -> tuple[Shapes, dict[int, CuttingStock]]:
    """Shapes and stock of every pool that runs something; `go_on` is asked in long searches."""
    pools = master.problem.pools
    kinds: dict[tuple[str, Shape], set[Shape]] = {}
    for number, quarter in master.usages:
        pool = pools[number]
        kept = kinds.setdefault((pool.gpu_type, pool.node), set())
        laid = master.on_nodes(number, quarter)
        kept.update(usage.shape for usage in laid if not usage.span)
    made = {}
    for (gpu_type, node), held in kinds.items():
        shapes_held = tuple(sorted(held))
        made[gpu_type, node] = shapes_held, CuttingStock(node, shapes_held, go_on)
    shapes, stocks = {}, {}
    for number, pool in enumerate(pools):
        if (pool.gpu_type, pool.node) in made:
            shapes[number], stocks[number] = made[pool.gpu_type, pool.node]
    return shapes, stocks


def load_of(
    master: MasterProgram,
    stock: CuttingStock,
    key: PoolInQuarter,
    values: tuple[float, ...],
    *,
    stays: bool = False,
) -> tuple[list[float], float]:
    """What shares nodes, by the shapes of the stock, and the nodes left for it.

    GPUs opened for parts count as pieces of `OPENED`, and their pieces do not count. A run counts
    by its share of the quarter, or where only what `stays` is asked for, not at all.
    """
    position = {shape: index for index, shape in enumerate(stock.shapes)}
    load = [0.0] * len(position)
    for usage in master.on_nodes(*key):
        if not usage.span and not (stays and usage.asked.is_run):
            load[position[usage.shape]] += usage.units(values) * usage.share
    return load, master.shared_nodes(*key, values)


def lay_out(
    master: MasterProgram,
    stock: CuttingStock,
    key: PoolInQuarter,
    values: tuple[float, ...],
    go_on: Callable[[], bool],
) -> Packed | Cut | None:
    """What stays, on the nodes of a plan; a cut that it violates; or None for neither."""
    load, nodes = load_of(master, stock, key, values, stays=True)
    if round(nodes) < 0:  # counts that were rounded each by itself may leave fewer than none
        return None
    asked = [round(units) for units in load]
    packed = stock.pack(asked, round(nodes))
    if key not in master.opened or isinstance(packed, Cut):
        return packed
    kind = master.problem.pools[key[0]]
    opened = round(master.opened[key].units(values))
    asked[stock.shapes.index(OPENED)] -= opened
    most_opened = opened + free_to_hold(master, kind.gpu_type, key[1], values)
    pieces = master.parts(*key, values)
    return lay_out_bundles(kind, (stock.shapes, asked), pieces, round(nodes), most_opened, go_on)
