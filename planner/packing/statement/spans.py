"""Figures by quarter, each with the quarters in a row for which it holds.

What holds for some of them is a limit of its own, so that what is told of it names its quarters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby


def spans(at_most: Sequence[int | None]) -> Iterator[tuple[range, int]]:
    """Quarters in a row and the one figure that holds there; those without a limit are left out."""
    start = 0
    for most, alike in groupby(at_most):
        span = range(start, start + sum(1 for _ in alike))
        start = span.stop
        if most is not None:
            yield span, most


def only(span: range, most: int, quarters: int) -> tuple[int | None, ...]:
    """The figure by quarter, with no limit outside of these."""
    return tuple(most if quarter in span else None for quarter in range(quarters))


def said(name: str, span: range, labels: Sequence[str]) -> str:
    """`quota of risk`, `quota of risk from 2027Q2 on` where it is another one before."""
    return name if len(span) == len(labels) else f"{name} {when(span, labels)}"


def when(span: range, labels: Sequence[str]) -> str:
    """`from 2027Q2 on`, `in 2027Q1`, `in 2027Q2 to 2027Q3`."""
    if span.stop == len(labels):
        return f"from {labels[span.start]} on"
    if len(span) == 1:
        return f"in {labels[span.start]}"
    return f"in {labels[span.start]} to {labels[span.stop - 1]}"
