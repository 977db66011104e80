"""Makes a first plan: rounds the counted units, packs by first-fit, and counts the nodes it takes.

It may be dear, but it nearly always exists, and it is there before anything that may take long.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import ceil, floor

from planner.packing.constraints.quotas import whole_units
from planner.packing.formulation.variants import with_at_least
from planner.packing.incumbent import Incumbent
from planner.packing.master import MasterProgram, PoolInQuarter
from planner.packing.node_packing.cutting import CuttingStock
from planner.packing.node_packing.greedy import Packed, fullest_first_fit, nodes_in
from planner.packing.node_packing.shared_gpus import first_fit_with_parts
from planner.packing.problem import WHOLE, Shape
from planner.packing.solvers.solver import solve_integer

_GAP, _NODES = 0.01, 200
"""How precisely the nodes are counted: to 1 %, or this many nodes of the solver's tree."""
_ROOM = 1.1
"""The GPU-hours that nodes for runs offer, as a multiple of what these take."""


def begin(found: Incumbent, values: Sequence[float], time_limit_s: float) -> bool:
    """Keep a plan near a fractional solution; return False if first-fit takes too much for one."""
    master = found.master
    held = whole_near(master, values)
    packings: dict[PoolInQuarter, Packed] = {}
    nodes: dict[PoolInQuarter, int] = {}
    for key, usages in master.usages.items():
        if master.problem.pools[key[0]].hire:  # the runs decide what is paid
            packings[key] = Packed(())
            continue
        pieces: Counter[Shape] = Counter()
        spanning, gpu_hours, nodes_at_once = 0, 0.0, 0
        for usage in usages:
            number = round(sum(held[index] * factor for index, factor in usage.terms))
            if usage.asked.is_run:
                gpu_hours += number * usage.shape.gpus * usage.share
                nodes_at_once = max(nodes_at_once, usage.times * (number > 0))
                continue
            pieces[usage.shape] += number if not usage.span else 0
            spanning += number * usage.span
        for_runs = ceil(gpu_hours * _ROOM / master.problem.pools[key[0]].node.gpus)
        spanning += max(for_runs, nodes_at_once)
        packings[key] = _packed(master, found.stocks[key[0]], key, pieces)
        nodes[key] = nodes_in(packings[key].patterns) + spanning
    opened = {key: packings[key].opened() for key in master.opened}
    program = with_at_least(master, nodes, opened=opened)
    answer = solve_integer(
        program.fixed(held),
        time_limit_s=time_limit_s,
        relative_gap=_GAP,
        node_limit=_NODES,
    )
    if not answer.values:
        return False
    return found.keep(tuple(float(round(value)) for value in answer.values), packings)


def whole_near(master: MasterProgram, values: Sequence[float]) -> dict[int, float]:
    """Round the variables that count units and where their pieces are to whole numbers."""
    held = dict.fromkeys(master.choice.values(), 0.0)
    pieces: Counter[tuple[str, int, Shape]] = Counter()
    for number, position in whole_units(master, values):
        held[master.choice[number, position]] += 1.0
    for (number, position, quarter), index in master.short.items():
        choice = master.problem.demands[number].choices[position]
        there = held[master.choice[number, position]] * choice.copies_in(quarter)
        held[index] = float(min(round(values[index]), there // choice.copies_short))
    for number, position in master.choice:
        demand = master.problem.demands[number]
        choice = demand.choices[position]
        for quarter in demand.quarters:
            pieces[choice.gpu_type, quarter, choice.shape] += round(
                sum(held[index] * n for index, n in master.pieces_in(number, position, quarter))
            )
    splits: dict[tuple[str, int, Shape], list[int]] = defaultdict(list)
    for (pool, quarter), usages in master.usages.items():
        gpu_type = master.problem.pools[pool].gpu_type
        for usage in usages:
            index = usage.terms[0][0]
            if index in master.splits:
                splits[gpu_type, quarter, usage.asked].append(index)
    for kind, indices in splits.items():
        held |= _shared_out(pieces[kind], {index: values[index] for index in indices})
    return held


def _shared_out(pieces: int, wanted: Mapping[int, float]) -> dict[int, float]:
    """Split pieces into whole numbers in the proportion wanted; largest remainders are rounded up.

    All are on the first if none is wanted anywhere.
    """
    if not sum(wanted.values()):
        wanted = dict.fromkeys(wanted, 0.0) | {min(wanted): 1.0}
    scale = pieces / sum(wanted.values())
    exact = {index: value * scale for index, value in wanted.items()}
    whole = {index: floor(value) for index, value in exact.items()}
    order = sorted(exact, key=lambda index: (whole[index] - exact[index], index))
    for index in order[: pieces - sum(whole.values())]:
        whole[index] += 1
    return {index: float(number) for index, number in whole.items()}


def _packed(
    master: MasterProgram, stock: CuttingStock, key: PoolInQuarter, pieces: Mapping[Shape, int]
) -> Packed:
    """Pack these pieces by first-fit."""
    pool = master.problem.pools[key[0]]
    asked = [pieces.get(shape, 0) for shape in stock.shapes]
    parts = {shape: number for shape, number in pieces.items() if number and shape.part != WHOLE}
    if parts:
        return first_fit_with_parts(pool, (stock.shapes, asked), parts)
    return Packed(tuple(fullest_first_fit(pool.node, stock.shapes, asked)))
