"""Lanes: GPUs of a node beside each other on which runs of so many GPUs take turns.

By its GPU-weeks, a run of eight GPUs for a week is a tenth of a node; and yet it needs one on which
nothing stays all quarter. Beside seven GPUs that are taken all quarter, no run of two finds room. A
node of which some GPUs stay taken has as many lanes of a width as fit the rest: whole ones. A lane
of a run on several nodes is as many nodes, on which nothing stays.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from planner.packing.problem import ALWAYS, WEEKS
from planner.packing.solvers.program import Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.packing.counting.counts import Counts, PoolInQuarter, Terms, Usage
    from planner.packing.problem import Shape

__all__ = ["add_lanes", "with_lanes"]

_FEW = 1.0
"""Nodes that all such runs would fill: where they fill more, GPU-weeks nearly say as much."""


def add_lanes(counts: Counts, key: PoolInQuarter) -> None:
    """Whole lanes where few runs need them, in rows `wide` and `beside-wide`.

    The rows of capacity have been stated.
    """
    usages, offered = counts.on_nodes(*key), counts.problem.pools[key[0]].node.gpus
    for gpus in _widths(usages):
        if gpus > offered or _filled(counts, key, gpus) <= _FEW:
            counts.capacity_rows[key].update(_state(counts, key, usages, gpus))


def with_lanes(counts: Counts, program: Program) -> Program:
    """A program with the variables of `counts`, with whole lanes wherever runs need them."""
    stated = replace(counts, program=Program(list(program.variables), list(program.rows)))
    for key, rows in counts.capacity_rows.items():
        usages = counts.on_nodes(*key)
        for gpus in _widths(usages):
            if f"wide-{gpus}" not in rows:
                _state(stated, key, usages, gpus)
    return stated.program


def _widths(usages: Sequence[Usage]) -> list[int]:
    """GPUs of the runs that need several, where something stays beside them or they need nodes.

    Where nothing does, and for runs of one GPU, GPU-weeks say as much.
    """
    runs = [usage for usage in usages if not _stays(usage)]
    alone = len(runs) == len(usages)
    widths = {usage.shape.gpus * usage.times for usage in runs if usage.shape.gang or not alone}
    return sorted(widths - {1})


def _stays(usage: Usage) -> bool:
    """Whether pieces hold what they take all quarter."""
    return usage.shape.run == ALWAYS


def _state(
    counts: Counts, key: PoolInQuarter, usages: Sequence[Usage], gpus: int
) -> dict[str, int]:
    """The rows of lanes of a width: what takes turns on them, and what stays beside them."""
    offered = counts.problem.pools[key[0]].node.gpus
    lanes = counts.program.variable(f"lanes[{key[0]},{key[1]}]", integer=True)
    turns: Terms = defaultdict(float, {lanes: -1.0})
    beside: Terms = defaultdict(float, {lanes: gpus / offered})
    for usage in usages:
        if _stays(usage):
            usage.weigh(beside, usage.span or usage.shape.whole_gpus / offered)
        else:
            lanes_taken = _lanes_taken(usage.shape, gpus, offered) / usage.times
            usage.weigh(turns, lanes_taken * usage.shape.run.weeks / WEEKS)
    place = f"[{key[0]},{key[1]}]"
    return {
        f"wide-{gpus}": counts.program.row(f"wide-{gpus}{place}", turns, "<=", 0.0),
        f"beside-wide-{gpus}": counts.capacity_row(f"beside-wide-{gpus}", *key, beside),
    }


def _lanes_taken(shape: Shape, gpus: int, offered: int) -> int:
    """Lanes of a width that a run takes while it runs, on all of its nodes."""
    nodes = shape.nodes_at_once
    return nodes * (shape.gpus // gpus) if gpus <= offered else nodes // (gpus // offered)


def _filled(counts: Counts, key: PoolInQuarter, gpus: int) -> float:
    """Nodes of a pool that its runs of at least so many GPUs fill, if all that can are here."""
    pool = counts.problem.pools[key[0]]
    filled = 0.0
    for demand in counts.problem.demands:
        if key[1] in demand.quarters:
            weeks = [
                choice.copies * shape.run.weeks * shape.nodes_at_once
                for choice in demand.choices
                if choice.gpu_type == pool.gpu_type
                for shape in (pool.on_node(choice.shape),)
                if shape.run != ALWAYS and gpus <= shape.gpus <= pool.node.gpus
            ]
            filled += demand.count * min(weeks, default=0) / WEEKS
    return filled / (pool.node.gpus // gpus)
