"""Nodes that come and go within a quarter: what the runs on them need at the least.

Rows of capacity count the hours that are paid, on the average. Beyond that a run needs its node for
all of its hours, whoever shares it: rows `hire`. And in no window do runs need more nodes than the
offer gives at once: rows `at-once`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from planner.packing.layouts.dual import windows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.packing.counting.counts import Counts, PoolInQuarter, Terms, Usage

__all__ = ["add_hire", "most_at_once"]

_FEW = 60
"""Beyond so many kinds of runs, none of them alone decides what is paid."""


def add_hire(counts: Counts, key: PoolInQuarter) -> None:
    """State the rows of a pool in one quarter."""
    usages = counts.usages[key]
    if len(usages) <= _FEW:
        for number, usage in enumerate(usages):
            _hours_of_one(counts, key, number, usage)
    most = most_at_once(counts, key[0])
    if most is not None:
        _at_once(counts, key, usages, most)


def _hours_of_one(counts: Counts, key: PoolInQuarter, number: int, usage: Usage) -> None:
    """Where any of these runs is, a node is paid for all of its hours."""
    program, place = counts.program, f"[{key[0]},{key[1]},{number}]"
    hire = counts.problem.pools[key[0]].hire
    assert hire is not None
    ((_, gpus),) = counts.gpus_of_runs([usage])
    pieces = gpus // usage.asked.gpus
    runs: Terms = dict(usage.terms)
    if pieces > 1:
        one = program.variable(f"hiring{place}", upper=1, integer=True)
        program.row(f"hiring{place}", {**runs, one: -float(pieces)}, "<=", 0.0)
        runs = {one: 1.0}
    steps = hire.steps(usage.asked.run.hours)
    load: Terms = defaultdict(float, {index: steps * factor for index, factor in runs.items()})
    for index in counts.in_service[key]:
        load[index] -= 1.0
    program.row(f"hire{place}", load, "<=", 0.0)


def _at_once(counts: Counts, key: PoolInQuarter, usages: Sequence[Usage], most: int) -> None:
    gpus = counts.problem.pools[key[0]].node.gpus
    for first, end in windows_of(counts.gpus_of_runs(usages)):
        load: Terms = defaultdict(float)
        for usage in usages:
            share = usage.asked.run.least_within(first, end) / (end - first)
            usage.weigh(load, usage.shape.gpus / gpus, share)
        counts.program.row(f"at-once[{key[0]},{key[1]},{first}]", load, "<=", most)


def most_at_once(counts: Counts, pool: int) -> int | None:
    """Nodes that the offer of a pool gives at any one hour; None: as many as are asked for."""
    return next(s.maximum for s in counts.problem.supplies if s.pool == pool)
