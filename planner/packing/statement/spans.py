"""Figures by quarter, each with the successive quarters for which it holds.

What holds for some of them is a limit of its own, so that messages name its quarters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby


def spans(at_most: Sequence[int | None]) -> Iterator[tuple[range, int]]:
    """Yield successive quarters and the figure that holds there.

    Quarters without a limit are left out.
    """
    start = 0
    for most, alike in groupby(at_most):
        span = range(start, start + sum(1 for _ in alike))
        start = span.stop
        if most is not None:
            yield span, most


def only(span: range, most: int, quarters: int) -> tuple[int | None, ...]:
    """Return the figure by quarter, with no limit outside of these quarters."""
    return tuple(most if quarter in span else None for quarter in range(quarters))


def said(name: str, span: range, labels: Sequence[str]) -> str:
    """Name a limit, with its quarters if another one holds before.

    `quota of risk`, `quota of risk from 2027Q2 on`.
    """
    return name if len(span) == len(labels) else f"{name} {when(span, labels)}"


def when(span: range, labels: Sequence[str]) -> str:
    """Name quarters: `from 2027Q2 on`, `in 2027Q1`, `in 2027Q2 to 2027Q3`."""
    if span.stop == len(labels):
        return f"from {labels[span.start]} on"
    if len(span) == 1:
        return f"in {labels[span.start]}"
    return f"in {labels[span.start]} to {labels[span.stop - 1]}"
