"""GPUs that are used in parts: rows `parts`, `shared` with its tightenings, and cuts of GPUs.

A GPU shared by memory is to its pieces what a node is to pieces of whole GPUs: something of one
size that holds what fits. So the same functions and the same cutting stock bound how many are
opened.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from planner.packing.master import MasterProgram, PoolInQuarter, Terms, Usage
from planner.packing.node_packing.cutting import Cut, CuttingStock
from planner.packing.node_packing.dual_feasible import weights_by_order
from planner.packing.node_packing.shared_gpus import fillings, gpu_of
from planner.packing.problem import WHOLE, Part, Pool, Shape


def add_opened(master: MasterProgram) -> None:
    """Count the opened GPUs; if one is partitioned, by how it is."""
    for key, usages in master.usages.items():
        pieces: dict[Part, Terms] = defaultdict(lambda: defaultdict(float))
        for usage in usages:
            if usage.shape.part != WHOLE:
                usage.weigh(pieces[usage.shape.part], 1.0)
        opened = _partitioned(master, key, pieces)
        if any(not part.profile for part in pieces):
            opened.append(_shared(master, key))
        if opened:
            master.open_gpus(key, opened)


def _partitioned(
    master: MasterProgram, key: PoolInQuarter, pieces: Mapping[Part, Terms]
) -> list[int]:
    """Return variables of the partitioned GPUs, by their maximal fillings: rows `parts`."""
    program, pool, place = master.program, master.problem.pools[key[0]], f"[{key[0]},{key[1]}]"
    profiles = sorted(part for part in pieces if part.profile)
    fills = {
        fill: program.variable(f"opened{place}", integer=True) for fill in fillings(pool, profiles)
    }
    for part in profiles:
        load = {index: -float(dict(fill).get(part, 0)) for fill, index in fills.items()}
        program.row(f"parts{place}", load | pieces[part], "<=", 0.0)
    return [*fills.values()]


def _shared(master: MasterProgram, key: PoolInQuarter) -> int:
    """Return the variable of the GPUs shared by memory: rows `shared` and `dual-shared`."""
    master.shared[key] = master.program.variable(f"shared[{key[0]},{key[1]}]", integer=True)
    usages = _shares(master, key)
    sizes = [(0, usage.shape.part.memory_mb, 1) for usage in usages]
    offered = master.problem.pools[key[0]].shared_mb
    for order, weights in weights_by_order(sizes, offered, 1):
        name = f"dual-shared-{order}" if order else "shared"
        _row(master, name, key, zip(usages, weights, strict=True), tightens=order > 0)
    return master.shared[key]


def cut_shared(
    master: MasterProgram, stocks: Mapping[int, CuttingStock], values: tuple[float, ...]
) -> int:
    """State cuts where a solution shares too few GPUs by memory; return how many."""
    cuts: dict[tuple[int, Cut], None] = {}
    for key, shared in master.shared.items():
        stock = stocks[key[0]]
        cut = stock.separate(_load(master, stock, key, values), values[shared])
        if cut:
            cuts[key[0], cut] = None
    for pool, cut in cuts:
        _add_cut(master, master.problem.pools[pool], cut)
    return len(cuts)


def _add_cut(master: MasterProgram, pool: Pool, cut: Cut) -> None:
    """State a cut of the shared GPUs, for every pool in which they are the same."""
    weight = dict(zip(cut.shapes, cut.weights, strict=True))
    for key in master.shared:
        other = master.problem.pools[key[0]]
        if (other.gpu_type, other.shared_mb) == (pool.gpu_type, pool.shared_mb):
            weighed = ((usage, weight[_size(usage)]) for usage in _shares(master, key))
            _row(master, "cutting-shared", key, weighed, tightens=True)


def gpu_stocks(master: MasterProgram, go_on: Callable[[], bool]) -> dict[int, CuttingStock]:
    """Return, for each pool, the packings of shares of memory on GPUs, which offer nothing else."""
    kinds: dict[tuple[str, int], set[Shape]] = defaultdict(set)
    for key in master.shared:
        pool = master.problem.pools[key[0]]
        kinds[pool.gpu_type, pool.shared_mb].update(map(_size, _shares(master, key)))
    made = {
        (gpu_type, shared_mb): CuttingStock(gpu_of(shared_mb, [*sizes]), sorted(sizes), go_on)
        for (gpu_type, shared_mb), sizes in kinds.items()
    }
    pools = ((number, master.problem.pools[number]) for number, _ in master.shared)
    return {number: made[pool.gpu_type, pool.shared_mb] for number, pool in pools}


def _load(
    master: MasterProgram, stock: CuttingStock, key: PoolInQuarter, values: tuple[float, ...]
) -> list[float]:
    """Return the pieces that share GPUs by memory in a solution, by the shapes of the stock."""
    position = {shape: index for index, shape in enumerate(stock.shapes)}
    load = [0.0] * len(position)
    for usage in _shares(master, key):
        load[position[_size(usage)]] += usage.units(values)
    return load


def _shares(master: MasterProgram, key: PoolInQuarter) -> list[Usage]:
    parts = ((usage, usage.shape.part) for usage in master.usages[key])
    return [usage for usage, part in parts if part != WHOLE and not part.profile]


def _size(usage: Usage) -> Shape:
    return Shape(1, 0, usage.shape.part.memory_mb)


def _row(
    master: MasterProgram,
    name: str,
    key: PoolInQuarter,
    weighed: Iterable[tuple[Usage, float]],
    *,
    tightens: bool,
) -> None:
    """Return the row `load <= GPUs that are shared`."""
    load: Terms = defaultdict(float, {master.shared[key]: -1.0})
    for usage, weight in weighed:
        usage.weigh(load, weight)
    master.program.row(f"{name}[{key[0]},{key[1]}]", load, "<=", 0.0, tightens=tightens)
