"""Timetables by priority: each piece where it leaves the least idle around it, over and over.

Pieces come in an order; each takes the node and the week that suit it best. Those that found no
room come earlier the next time, until all find some or patience ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.packing.layouts.greedy import shares
from planner.packing.problem import WEEKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from planner.packing.layouts.timetable import Started
    from planner.packing.problem import Shape

__all__ = ["fitted", "rectangle"]

_Tried = tuple[float, list[list["Started"]], list[int]]

_EDGE = 0.25
"""How much GPUs that are free just before and after a run count, against those during it."""
_PUSH = 0.15
"""By how much of a node's GPU-weeks a piece that found no room counts as larger the next time."""


def fitted(
    node: Shape, shapes: Sequence[Shape], counts: Sequence[int], nodes: int, *, passes: int = 0
) -> tuple[list[list[Started]], list[int]]:
    """Pieces by node with the weeks in which they start, and the pieces by shape without room.

    The most GPU-weeks that could be placed; `passes` are those beyond the first few.
    """
    fitting = _Fitting(node, shapes, counts, nodes)
    best: _Tried | None = None
    for key in _KEYS:
        sizes = [key(shape, node) for shape in shapes]
        best = _better(best, fitting.filled([sizes[index] for index in fitting.pieces]))
        if not best[0]:
            return best[1], best[2]
    sizes = [rectangle(shape, node) for shape in shapes]
    pushed = [sizes[index] for index in fitting.pieces]
    for _ in range(passes):
        tried = fitting.filled(pushed)
        best = _better(best, tried)
        if not best[0]:
            break
        for piece in fitting.unplaced:
            pushed[piece] += _PUSH
    assert best is not None
    return best[1], best[2]


def _better(best: _Tried | None, tried: _Tried) -> _Tried:
    return tried if best is None or tried[0] < best[0] else best


class _Fitting:
    """The nodes of one packing, filled anew for each order."""

    def __init__(
        self, node: Shape, shapes: Sequence[Shape], counts: Sequence[int], nodes: int
    ) -> None:
        self._shapes, self._nodes = shapes, nodes
        self._room = np.array([node.gpus, node.cpus, node.memory_mb], dtype=np.int64)
        self._sizes = [
            np.array([shape.gpus, shape.cpus, shape.memory_mb], dtype=np.int64) for shape in shapes
        ]
        self._areas = [rectangle(shape, node) for shape in shapes]
        self._times = [shape.nodes_at_once for shape in shapes]
        """On how many nodes a piece is at once."""
        self.pieces = [
            index for index, units in enumerate(counts) for _ in range(units // self._times[index])
        ]
        """The shape of each piece; one that is on several nodes stands once."""
        self.unplaced: list[int] = []
        """Pieces without room after the last filling."""

    def filled(self, priorities: Sequence[float]) -> _Tried:
        """What was left without room, in GPU-weeks of a node; the nodes; pieces left by shape."""
        free = np.tile(self._room, (self._nodes, WEEKS, 1))
        held: list[list[Started]] = [[] for _ in range(self._nodes)]
        left = [0] * len(self._shapes)
        self.unplaced = []
        order = sorted(range(len(self.pieces)), key=lambda piece: (-priorities[piece], piece))
        for piece in order:
            index = self.pieces[piece]
            place = self._best(free, index)
            if place is None:
                left[index] += self._times[index]
                self.unplaced.append(piece)
                continue
            numbers, week = place
            for number in numbers:
                free[number, week : week + self._shapes[index].run.weeks] -= self._sizes[index]
                held[number].append((index, week))
        area = sum(
            self._times[index] * self._areas[index]
            for index in (self.pieces[piece] for piece in self.unplaced)
        )
        return area, held, left

    def _best(self, free: NDArray[np.int64], index: int) -> tuple[list[int], int] | None:
        """Nodes and week where the piece leaves the fewest GPUs idle beside it."""
        times = self._times[index]
        if len(free) < times:
            return None
        run = self._shapes[index].run
        spans = np.lib.stride_tricks.sliding_window_view(free, run.weeks, axis=1)
        spans = spans[:, run.starts.start : run.starts.stop]
        fits = (spans.min(axis=3) >= self._sizes[index]).all(axis=2)
        if not fits.any():
            return None
        idle = spans[:, :, 0].mean(axis=2) + _EDGE * _beside(free, run.weeks, run.starts)
        idle = np.where(fits, idle, np.inf)
        if times == 1:
            number, start = divmod(int(idle.argmin()), len(run.starts))
            return [number], run.starts[start]
        order = idle.argsort(axis=0, kind="stable")[:times]
        together = np.take_along_axis(idle, order, axis=0).sum(axis=0)
        start = int(together.argmin())
        found = sorted(order[:, start].tolist())
        return (found, run.starts[start]) if np.isfinite(together[start]) else None


def _beside(free: NDArray[np.int64], weeks: int, open_to: range) -> NDArray[np.float64]:
    """GPUs free in the weeks just before and after a run that starts in each of these weeks."""
    around = np.zeros((free.shape[0], WEEKS + 2))
    around[:, 1:-1] = free[:, :, 0]
    before = around[:, open_to.start : open_to.stop]
    after = around[:, open_to.start + weeks + 1 : open_to.stop + weeks + 1]
    return before + after


def rectangle(shape: Shape, node: Shape) -> float:
    """The largest share of a node's weeks that a piece takes."""
    return max(shares(shape, node)) * shape.run.weeks / WEEKS


_KEYS: tuple[Callable[[Shape, Shape], float], ...] = (
    rectangle,
    lambda shape, node: 100 * max(shares(shape, node)) + shape.run.weeks,
    lambda shape, node: shape.run.weeks + max(shares(shape, node)),
    lambda shape, node: -float(len(shape.run.starts)) + rectangle(shape, node),
)
"""What comes first: much in all, much at once, for long, or with little choice of its weeks."""
