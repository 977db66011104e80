"""Lanes: GPUs of a node beside each other on which runs of so many GPUs take turns.

By its GPU-hours, a run of eight GPUs for a day is a hundredth of a node; and yet it needs one on
which nothing stays all quarter. Beside seven GPUs that are taken all quarter, no run of two finds
room. A node of which some GPUs stay taken has as many lanes of a width as fit the rest: whole ones.
A lane of a run on several nodes is as many nodes, on which nothing stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from planner.packing.master import MasterProgram, PoolInQuarter, Terms, Usage
from planner.packing.node_packing.dual_feasible import times_of


def add_lanes(master: MasterProgram, key: PoolInQuarter) -> None:
    """Whole lanes for runs of each width, in rows `wide` and `beside-wide`.

    The rows of capacity have been stated.
    """
    usages = master.on_nodes(*key)
    for gpus in _widths(usages):
        master.capacity_rows[key].update(_state(master, key, usages, gpus))


def _widths(usages: Sequence[Usage]) -> list[int]:
    """GPUs of the runs that need several, where something stays beside them or they need nodes.

    Where nothing does, and for runs of one GPU, GPU-hours say as much.
    """
    runs = [usage for usage in usages if not _stays(usage)]
    alone = len(runs) == len(usages)
    widths = {usage.shape.gpus * usage.times for usage in runs if usage.times > 1 or not alone}
    return sorted(widths - {1})


def _stays(usage: Usage) -> bool:
    """Whether pieces hold what they take all quarter."""
    return not usage.asked.is_run


def _state(
    master: MasterProgram, key: PoolInQuarter, usages: Sequence[Usage], gpus: int
) -> dict[str, int]:
    """The rows of lanes of a width: what takes turns on them, and what stays beside them."""
    offered = master.problem.pools[key[0]].node.gpus
    lanes = master.program.variable(f"lanes[{key[0]},{key[1]}]", integer=True)
    beside: Terms = defaultdict(float, {lanes: gpus / offered})
    runs = [usage for usage in usages if not _stays(usage)]
    for usage in usages:
        if _stays(usage):
            usage.weigh(beside, usage.span or usage.shape.whole_gpus / offered)
    rows = {f"beside-wide-{gpus}": master.capacity_row(f"beside-wide-{gpus}", *key, beside)}
    asked = [usage.asked.run for usage in runs]
    for time, taken, of in times_of(asked, master.gpus_of_runs(runs)):
        turns: Terms = defaultdict(float, {lanes: -1.0})
        for usage, hours in zip(runs, taken, strict=True):
            usage.weigh(turns, _lanes_taken(usage, gpus, offered) / usage.times, hours / of)
        name = "-".join(filter(None, (time, f"wide-{gpus}")))
        rows[name] = master.program.row(f"{name}[{key[0]},{key[1]}]", turns, "<=", 0.0)
    return rows


def _lanes_taken(usage: Usage, gpus: int, offered: int) -> int:
    """Lanes of a width that a run takes while it runs, on all of its nodes."""
    nodes = usage.times
    return nodes * (usage.shape.gpus // gpus) if gpus <= offered else nodes // (gpus // offered)
