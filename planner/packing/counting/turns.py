"""In which weeks runs start, where more than their GPU-weeks decides: rows `begins` and `week`.

By its weeks alone, a run on three nodes finds room beside one on two nodes on four of them, if both
are short enough; at once they need five. And runs that a quota keeps apart may both fit the weeks
that others leave of a node, and not one after the other. Where runs can start in few ways, whole
variables say how many do so in which week, and each week has a row of its nodes.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeVar

from planner.packing.counting.counts import Starts
from planner.packing.problem import ALWAYS, WEEKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planner.packing.counting.counts import Counts, PoolInQuarter, Terms, Usage

__all__ = ["add_turns", "fullest"]

Held = TypeVar("Held", bound="Mapping[int, float]")

_FEW = 300
"""Weeks in which runs may start, of all kinds, pools and quarters: where there are more, nodes are
filled in so many ways that GPU-weeks nearly say as much, and the rows cost the solver much."""

_Begun = dict[int, int]
"""By week: the variable that counts the pieces of a kind that start on a pool."""


def add_turns(counts: Counts) -> None:
    """State when runs start, pool by pool and quarter by quarter, and that quotas mean the same."""
    runs = {key: _runs(counts, key) for key in counts.usages}
    if sum(len(usage.shape.run.starts) for usages in runs.values() for usage in usages) > _FEW:
        return
    starting: dict[Starts, list[_Begun]] = defaultdict(list)
    for key, usages in runs.items():
        begun = [(usage, _begun(counts, usage)) for usage in usages]
        _add_weeks(counts, key, begun)
        gpu_type = counts.problem.pools[key[0]].gpu_type
        for usage, weeks in begun:
            starting[Starts.of(usage.shape, key[1], gpu_type)].append(weeks)
    for kind, pools in starting.items():
        for week, all_of_them in counts.starts.get(kind, {}).items():
            terms: Terms = {all_of_them: -1.0}
            terms |= dict.fromkeys((weeks[week] for weeks in pools), 1.0)
            counts.program.row(f"as-quotas-have-it[{kind.gpu_type},{kind.quarter}]", terms, "<=", 0)


def fullest(weeks: Sequence[Held]) -> Iterator[tuple[int, Held]]:
    """Weeks that hold something that no other holds, once: rows of the others would say less."""
    for week, held in enumerate(weeks):
        others = (*weeks[:week], *weeks[week + 1 :])
        if held not in weeks[:week] and not any(held.items() < other.items() for other in others):
            yield week, held


def _runs(counts: Counts, key: PoolInQuarter) -> list[Usage]:
    """Runs on a pool in a quarter; none where none is on several nodes or counted by a quota."""
    runs = [usage for usage in counts.on_nodes(*key) if usage.shape.run != ALWAYS]
    return runs if any(usage.shape.gang or usage.shape.owner for usage in runs) else []


def _begun(counts: Counts, usage: Usage) -> _Begun:
    name = f"begins[{usage.pool},{usage.quarter}]"
    begun = {start: counts.program.variable(name, integer=True) for start in usage.shape.run.starts}
    pieces: Terms = {index: -factor / usage.times for index, factor in usage.terms}
    counts.program.row(name, pieces | dict.fromkeys(begun.values(), 1.0), "==", 0.0)
    return begun


def _add_weeks(counts: Counts, key: PoolInQuarter, begun: list[tuple[Usage, _Begun]]) -> None:
    """Nodes in each week that holds more than another, where runs begin."""
    if not begun:
        return
    offered = counts.problem.pools[key[0]].node.gpus
    weeks: list[Terms] = [defaultdict(float) for _ in range(WEEKS)]
    for usage in counts.on_nodes(*key):
        if usage.shape.run == ALWAYS:
            for held in weeks:
                usage.weigh(held, usage.span or usage.shape.whole_gpus / offered)
    for usage, variables in begun:
        for start, index in variables.items():
            for week in range(start, start + usage.shape.run.weeks):
                weeks[week][index] = usage.shape.gpus / offered * usage.times
    for week, held in fullest(weeks):
        counts.capacity_row(f"week-{week}", *key, held)
