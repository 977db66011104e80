"""Wide runs take turns on nodes on which little stays.

By its GPU-weeks, a run of eight GPUs for a week is a tenth of a node; and yet it needs one on which
nothing stays all quarter. Whole nodes for such runs are counted here.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from planner.packing.problem import ALWAYS, WEEKS

if TYPE_CHECKING:
    from planner.packing.counting.counts import Counts, Terms, Usage

__all__ = ["add_turns"]

_WIDE = 0.25
"""Least share of a node's GPUs; the nodes of narrower runs are worth no variable."""
_FEW = 0.5
"""Nodes that all such runs would fill: where they fill more, GPU-weeks nearly say as much."""


def add_turns(counts: Counts, key: tuple[int, int], usages: list[Usage]) -> None:
    """On how many nodes runs of so many GPUs take turns: rows `wide` and `beside-wide`.

    `key` is a pool and quarter, with the rows of its capacity stated, `usages` what is laid out on
    its nodes. Where nothing stays all quarter, GPU-weeks say as much.
    """
    offered = counts.problem.pools[key[0]].node.gpus
    stays = [usage for usage in usages if usage.span or usage.shape.run == ALWAYS]
    runs = [usage for usage in usages if not usage.span and usage.shape.run != ALWAYS]
    for gpus in sorted({usage.shape.gpus for usage in runs} if stays else ()):
        if gpus < offered * _WIDE or _filled(counts, key, gpus) > _FEW:
            continue
        nodes = counts.program.variable(f"turns[{key[0]},{key[1]}]", integer=True)
        turns: Terms = defaultdict(float, {nodes: -1.0})
        for usage in runs:
            if usage.shape.gpus >= gpus:
                usage.weigh(turns, usage.shape.run.weeks / WEEKS / (offered // gpus))
        beside: Terms = defaultdict(float, {nodes: gpus / offered})
        for usage in stays:
            usage.weigh(beside, usage.span or usage.shape.whole_gpus / offered)
        place = f"[{key[0]},{key[1]}]"
        rows = counts.capacity_rows[key]
        rows[f"wide-{gpus}"] = counts.program.row(f"wide-{gpus}{place}", turns, "<=", 0.0)
        rows[f"beside-wide-{gpus}"] = counts.capacity_row(f"beside-wide-{gpus}", *key, beside)


def _filled(counts: Counts, key: tuple[int, int], gpus: int) -> float:
    """Nodes of a pool that its runs of at least so many GPUs fill, if all that can are here."""
    pool = counts.problem.pools[key[0]]
    filled = 0.0
    for demand in counts.problem.demands:
        if key[1] in demand.quarters:
            weeks = [
                choice.copies * choice.shape.run.weeks
                for choice in demand.choices
                if choice.gpu_type == pool.gpu_type
                and choice.shape.run != ALWAYS
                and gpus <= choice.shape.gpus <= pool.node.gpus
            ]
            filled += demand.count * min(weeks, default=0) / WEEKS
    return filled / (pool.node.gpus // gpus)
