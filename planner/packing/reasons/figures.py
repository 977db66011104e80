"""Figures of a problem in the user's words: money, counts, quarters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing.problem import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from planner.packing.problem import Demand, Problem, Quota, Shape
    from planner.packing.statement.translate import Translation

__all__ = [
    "by_quarter",
    "counted",
    "entries",
    "per_cent",
    "pinned_needs",
    "the_one",
    "units_named",
    "usd",
]

_NAMED = 6


def the_one(at_most: Sequence[int | None]) -> int | None:
    """The figure that holds wherever one does; None where there are several."""
    known = {most for most in at_most if most is not None}
    return known.pop() if len(known) == 1 else None


def by_quarter(
    at_most: Sequence[int | None], told: Callable[[int], str], labels: Sequence[str]
) -> str:
    """`120 kW`, or the figures with the quarters from which they hold."""
    figures = [None if most is None else told(most) for most in at_most]
    if len(set(figures)) == 1:
        return figures[0] or "not limited"
    return ", ".join(
        f"{figure or 'no limit'} from {labels[quarter]} on"
        for quarter, figure in enumerate(figures)
        if quarter == 0 or figure != figures[quarter - 1]
    )


def entries(opens: range, labels: Sequence[str]) -> str:
    """`from 2027Q2 on`, `in 2027Q2 to 2027Q3`."""
    if opens.stop == len(labels):
        return f"from {labels[opens.start]} on"
    if len(opens) == 1:
        return f"in {labels[opens.start]}"
    return f"in {labels[opens.start]} to {labels[opens.stop - 1]}"


def usd(cents: int) -> str:
    """`$12,000`, `$12,000.50`, from cents."""
    whole, rest = divmod(cents, 100)
    return f"${whole:,}.{rest:02d}" if rest else f"${whole:,}"


def per_cent(share: Fraction) -> str:
    """`12.5 %`."""
    return f"{float(share * 100):.4g} %"


def units_named(translation: Translation, number: int) -> str:
    """`unit 2 of chat`; `units 1, 2 of chat and 3 more`."""
    members = translation.members[number]
    jobs = sorted({job for job, _ in members})
    mine = [str(unit) for job, unit in members if job == jobs[0]]
    what = f"unit{'' if len(mine) == 1 else 's'} {', '.join(mine[:_NAMED])} of {jobs[0]}"
    more = len(members) - min(len(mine), _NAMED)
    return f"{what} and {more} more" if more else what


def counted(problem: Problem, quota: Quota) -> str:
    """What of its owner a quota counts for more than is held; empty: nothing."""
    parts = any(
        choice.shape.part != WHOLE and quota.taken(choice)
        for demand in problem.demands
        if demand.owner == quota.owner
        for choice in demand.choices
    )
    return "a part of a GPU as a whole one" if parts else ""


def pinned_needs(problem: Problem, demand: Demand, home: str) -> str:
    """`8 of 8 GPUs, 120 of 112 cores, 480 of 2,000 GB`: what units take of where they stay."""
    here = [pool for pool in problem.pools if home in (pool.home, pool.held)]
    if not here:
        return "none of its nodes can be in service"
    tried = [
        (choice.shape, pool)
        for choice in demand.choices
        for pool in here
        if pool.gpu_type == choice.gpu_type
    ]
    if not tried:
        types = sorted({choice.gpu_type for choice in demand.choices})
        return f"it can run on {', '.join(types)} alone"
    fitting = [shape for shape, pool in tried if pool.nodes_taken(shape) is not None]
    if not fitting:
        shape, pool = tried[0]
        return f"each needs {_shares([shape], 1, [(pool.node, 1)])} of a node"
    return _shares(fitting, demand.count, [(pool.node, pool.owned) for pool in here])


def _shares(shapes: Sequence[Shape], units: int, nodes: Sequence[tuple[Shape, int]]) -> str:
    """What so many units take at the least, of so many nodes of each kind."""
    told = []
    for key, unit, per in (("gpus", "GPUs", 1), ("cpus", "cores", 1), ("memory_mb", "GB", 1000)):
        taken = units * min(getattr(shape, key) for shape in shapes) / per
        there = sum(getattr(node, key) * count for node, count in nodes) / per
        if taken:
            told.append(f"{taken:,.10g} of {there:,.10g} {unit}")
    return ", ".join(told)
