"""Lays out what was counted: puts the units of each pool and quarter on its nodes, or finds a cut.

For one pool, it tries first-fit and column generation over patterns of whole GPUs; if units take
parts of GPUs, these go onto GPUs, and the GPUs onto nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planner.packing.constraints.growth import free_to_hold
from planner.packing.cutting import Cut, CuttingStock, Packed
from planner.packing.master import MasterProgram, PoolInQuarter
from planner.packing.problem import Shape
from planner.packing.shared_gpus import OPENED, lay_out_bundles


class Layouts:
    """Lays out the counts of a master program, and states cuts in it."""

    def __init__(self, master: MasterProgram, go_on: Callable[[], bool]) -> None:
        """`go_on` is asked during long searches whether to continue."""
        self.master, self._go_on = master, go_on
        self.stocks = cutting_stocks(master, go_on)
        self.cuts = 0
        """The number of cuts stated."""

    def cut_off(self, values: tuple[float, ...]) -> int:
        """State the cuts that a fractional solution violates; return how many."""
        cuts = []
        for pool, quarter in self.master.usages:
            if not self._go_on():
                break
            stock = self.stocks[pool]
            cut = stock.separate(*load_of(self.master, stock, (pool, quarter), values))
            if cut:
                cuts.append((pool, cut))
        return self._state(cuts)

    def lay_out(
        self, values: tuple[float, ...]
    ) -> tuple[dict[PoolInQuarter, Packed], list[PoolInQuarter]]:
        """Return layouts of whole units, and the pools where they do not fit, with their cuts."""
        packings: dict[PoolInQuarter, Packed] = {}
        cuts: list[tuple[int, Cut]] = []
        lacking = []
        for key in self.master.usages:
            packed = self._laid_out(key, values)
            if packed is None or isinstance(packed, Cut):
                lacking.append(key)
                cuts += [(key[0], packed)] if packed else []
            else:
                packings[key] = packed
        self._state(cuts)
        return packings, lacking

    def _laid_out(self, key: PoolInQuarter, values: tuple[float, ...]) -> Packed | Cut | None:
        """Return a packing of what stays, a cut that the plan violates, or None for neither."""
        master, stock = self.master, self.stocks[key[0]]
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
        most = opened + free_to_hold(master, kind.gpu_type, key[1], values)
        pieces = master.parts(*key, values)
        whole = stock.shapes, asked
        return lay_out_bundles(kind, whole, pieces, round(nodes), most, self._go_on)

    def _state(self, cuts: Sequence[tuple[int, Cut]]) -> int:
        """State each cut once for its kind of node; return how many there are."""
        new = dict.fromkeys(cuts)
        for pool, cut in new:
            self.master.add_cut(self.master.problem.pools[pool], cut)
        self.cuts += len(new)
        return len(new)


def cutting_stocks(master: MasterProgram, go_on: Callable[[], bool]) -> dict[int, CuttingStock]:
    """Return the stock of each pool that runs something."""
    pools = master.problem.pools
    kinds: dict[tuple[str, Shape], set[Shape]] = {}
    for number, quarter in master.usages:
        pool = pools[number]
        kept = kinds.setdefault((pool.gpu_type, pool.node), set())
        laid = master.on_nodes(number, quarter)
        kept.update(usage.shape for usage in laid if not usage.span)
    made = {
        (gpu_type, node): CuttingStock(node, sorted(held), go_on)
        for (gpu_type, node), held in kinds.items()
    }
    return {
        number: made[pool.gpu_type, pool.node]
        for number, pool in enumerate(pools)
        if (pool.gpu_type, pool.node) in made
    }


def load_of(
    master: MasterProgram,
    stock: CuttingStock,
    key: PoolInQuarter,
    values: tuple[float, ...],
    *,
    stays: bool = False,
) -> tuple[list[float], float]:
    """Return what shares nodes, by the shapes of the stock, and the nodes left for it.

    Opened GPUs count as pieces of `OPENED`, and their own pieces do not count. A run counts by
    its share of the quarter, or not at all if only what `stays` is asked for.
    """
    position = {shape: index for index, shape in enumerate(stock.shapes)}
    load = [0.0] * len(position)
    for usage in master.on_nodes(*key):
        if not usage.span and not (stays and usage.asked.is_run):
            load[position[usage.shape]] += usage.units(values) * usage.share
    return load, master.shared_nodes(*key, values)
