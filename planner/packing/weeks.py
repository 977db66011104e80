"""Weeks of a quarter in the counting program: what runs at the same time.

A piece with a run starts in one of several weeks. Variables `start` say how many pieces of a shape
do so in each; they may be fractional, since layouts choose the weeks themselves. In every week,
what runs has to fit the nodes, so that each row on capacity is stated for each week.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from planner.packing.problem import ALWAYS, WEEKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.packing.counts import Counts, Usage
    from planner.packing.problem import Run

__all__ = ["moments", "starts"]


def starts(run: Run) -> range:
    """Weeks in which a run may start."""
    return range(run.earliest, run.until - run.weeks + 1)


def moments(counts: Counts, usages: Sequence[Usage]) -> list[list[Usage]]:
    """What runs in each week, as usages of that week alone.

    Weeks in which another implies all that could be said are left out, so that there is one
    moment where all pieces hold what they take all quarter. States rows `starts[p,q]`. A piece
    that spans nodes holds them in all weeks.
    """
    always: list[Usage] = []
    by_week: list[dict[tuple[int, int], Usage]] = [{} for _ in range(WEEKS)]
    for number, usage in enumerate(usages):
        run = usage.shape.run
        if run == ALWAYS or usage.span:
            always.append(usage)
            continue
        for start, begun in _started(counts, usage).items():
            for week in range(start, start + run.weeks):
                by_week[week][number, start] = begun
    kept: list[dict[tuple[int, int], Usage]] = []
    for running in sorted(by_week, key=len, reverse=True):
        if not any(running.keys() <= other.keys() for other in kept):
            kept.append(running)
    return [[*always, *_merged(running)] for running in kept]


def _started(counts: Counts, usage: Usage) -> dict[int, Usage]:
    """The pieces of a usage by the week in which they start."""
    open_to = starts(usage.shape.run)
    if len(open_to) == 1:
        return {open_to[0]: usage}
    name = f"{usage.pool},{usage.quarter}"
    variables = {start: counts.program.variable(f"start[{name},{start}]") for start in open_to}
    balance = {index: -factor for index, factor in usage.terms}
    balance.update(dict.fromkeys(variables.values(), 1.0))
    counts.program.row(f"starts[{name}]", balance, ">=", 0.0)
    return {start: replace(usage, terms=((index, 1.0),)) for start, index in variables.items()}


def _merged(running: dict[tuple[int, int], Usage]) -> list[Usage]:
    """One usage for each shape, whatever the week in which its pieces started."""
    terms: dict[int, list[tuple[int, float]]] = defaultdict(list)
    first: dict[int, Usage] = {}
    for (number, _), usage in sorted(running.items(), key=lambda item: item[0]):
        first.setdefault(number, usage)
        terms[number].extend(usage.terms)
    return [replace(usage, terms=tuple(terms[number])) for number, usage in first.items()]
