"""Dual feasible functions: weights under which whatever fits a node still weighs at most 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import lcm

import numpy as np
from numpy.typing import NDArray

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.problem import RunWindow

ORDERS = range(8)
"""Orders q of the dual feasible functions u_q: beyond 7 they cut nothing on 8-GPU nodes."""
TURNS = range(3)
"""Orders for windows within the quarter, which are many."""
_WINDOWS = 20
"""The most windows of runs that have rows of their own."""
_MANY_HOURS = 200
"""The most hours at which windows may begin, and end."""
PARTS = lcm(*ORDERS[1:])
"""Divided by `offered` times this, every weight is a whole number of parts."""


def dual_feasible(size: int, offered: int, order: int) -> int:
    """Return u_q(x) of Fekete and Schepers: x if (q+1)x is whole, else floor((q+1)x) / q.

    Order 0: x. The argument is x = `size` / `offered`; the result is a number of parts, of which
    `offered` × `PARTS` weigh 1.
    """
    whole, rest = divmod((order + 1) * size, offered)
    if order == 0 or not rest:
        return size * PARTS
    return whole * offered * (PARTS // order)


def windows_of(
    runs: Iterable[tuple[RunWindow, int]], *, fuller: bool = True
) -> list[tuple[int, int]]:
    """Return the spans of hours in which runs must hold most GPUs, the fullest first.

    Each run comes with the GPUs of all that are like it. Spans begin and end with windows, or with
    hours that a run takes whenever it starts. If only the `fuller` ones are asked for, runs hold
    more GPUs in them than on average.
    """
    held: Counter[RunWindow] = Counter()
    for run, gpus in runs:
        held[run] += gpus
    return list(_fullest(tuple(sorted(held.items())), fuller=fuller))


@lru_cache(maxsize=64)
def _fullest(
    held: tuple[tuple[RunWindow, int], ...], *, fuller: bool
) -> tuple[tuple[int, int], ...]:
    average = sum(run.hours * gpus for run, gpus in held) / RUN_HOURS if fuller else 0.0
    bounded = [
        (run, gpus) for run, gpus in held if run.latest + run.hours - run.earliest < RUN_HOURS
    ]
    sure = [run for run, _ in bounded if run.latest < run.earliest + run.hours]
    firsts = _hours({run.earliest for run, _ in bounded}, {run.latest for run in sure})
    ends = _hours({run.until for run, _ in bounded}, {run.earliest + run.hours for run in sure})
    within = np.zeros((len(firsts), len(ends)))
    for run, gpus in bounded:
        taken = [
            np.minimum(start + run.hours, ends) - np.maximum(start, firsts)[:, None]
            for start in (run.earliest, run.latest)
        ]
        within += gpus * np.maximum(0, np.minimum(*taken))
    lasting = ends - firsts[:, None]
    fullest = [
        (-within[at, to] / lasting[at, to], int(firsts[at]), int(ends[to]))
        for at, to in np.argwhere((lasting > 0) & (within > average * lasting))
    ]
    return tuple((first, end) for _, first, end in sorted(fullest)[:_WINDOWS])


def _hours(windows: set[int], sure: set[int]) -> NDArray[np.int64]:
    """Return the hours at which spans begin or end: those of windows first, if there are many."""
    return np.array([*sorted(windows), *sorted(sure - windows)][:_MANY_HOURS])


def times_of(
    runs: Sequence[RunWindow], held: Iterable[tuple[RunWindow, int]], *, fuller: bool = True
) -> Iterator[tuple[str, list[int], int]]:
    """Return ways to count time: a name, what each run takes at least, and of how much.

    For the whole quarter and the windows of those that are `held`, as `windows_of` has them, by
    the function of each order that says more: a run that takes more than half has no other before
    or after it. Plain hours of the quarter have no name.
    """
    for first, end in ((0, RUN_HOURS), *windows_of(held, fuller=fuller)):
        seen: list[tuple[int, ...]] = []
        taken = [run.least_within(first, end) for run in runs]
        for order in ORDERS if end - first == RUN_HOURS else TURNS:
            counted = tuple(dual_feasible(hours, end - first, order) for hours in taken)
            if not _adds_nothing(counted, seen):
                seen.append(counted)
                window = f"window-{first}-{end}" * (end - first < RUN_HOURS)
                name = "-".join(filter(None, (window, f"turns-{order}" * (order > 0))))
                yield name, list(counted), (end - first) * PARTS


def weights_by_order(
    taken: Sequence[tuple[int, int, int]], offered: int, hours: int
) -> Iterator[tuple[int, list[float]]]:
    """Return shares of what a node or GPU offers, by the function of each order that says more.

    `taken` gives for each piece: whole nodes, or 0 and how much of one, and for how many of the
    `hours`.
    """
    kinds = tuple(dict.fromkeys(taken))
    for order, weights in _weighed(kinds, max(offered, 1), hours):
        weighed = dict(zip(kinds, weights, strict=True))
        yield order, [weighed[kind] for kind in taken]


@lru_cache(maxsize=4096)
def _weighed(
    kinds: tuple[tuple[int, int, int], ...], parts: int, hours: int
) -> tuple[tuple[int, list[float]], ...]:
    """Return the weights of each kind of piece.

    Remembered, since many questions are about the same.
    """
    one = parts * PARTS * hours
    seen: dict[int, tuple[int, ...]] = {}
    for order in ORDERS:
        weights = tuple(
            span * one or dual_feasible(size, parts, order) * run for span, size, run in kinds
        )
        if not _adds_nothing(weights, seen.values()):
            seen[order] = weights
    return tuple((order, [weight / one for weight in weights]) for order, weights in seen.items())


def _adds_nothing(weights: tuple[int, ...], seen: Iterable[tuple[int, ...]]) -> bool:
    """Return whether an earlier row weighs every shape at least as much, which implies it."""
    return any(
        all(ours <= theirs for ours, theirs in zip(weights, earlier, strict=True))
        for earlier in seen
    )
