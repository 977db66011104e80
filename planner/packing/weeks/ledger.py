"""What a node has free, week by week, written as one whole number.

Each week and resource has a field of bits in it, below a guard bit that is always set. Where
something is taken off that is not there, the guards of its fields are lost: whether a piece fits a
node in all of its weeks is one subtraction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.packing.problem import ALWAYS, WEEKS

if TYPE_CHECKING:
    from planner.packing.problem import Run, Shape

__all__ = ["Entry", "Ledger"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A piece that starts in some week."""

    week: int
    taken: int
    """What it takes of a node."""
    span: int
    """Mask of all fields of its weeks, guards included."""
    gpus: int
    """Mask of the GPUs of its weeks."""
    around: int
    """Mask of the GPUs of the weeks just before and after."""
    weeks: int
    """How many."""

    @property
    def held(self) -> range:
        """Its weeks."""
        return range(self.week, self.week + self.weeks)


class Ledger:
    """Numbers for the nodes of one kind."""

    def __init__(self, node: Shape) -> None:
        """Fields of GPUs are wide enough for those of all weeks together."""
        self._node = node
        most = (node.gpus * WEEKS, node.cpus, node.memory_mb)
        self._offsets = [0]
        for size in most:
            self._offsets.append(self._offsets[-1] + size.bit_length() + 1)
        self._width = self._offsets[-1]
        self._gpu = (1 << self._offsets[1] - 1) - 1
        self._ones = (1 << self._width) - 1
        self.guards = self._weekly(sum(1 << end - 1 for end in self._offsets[1:]), ALWAYS, 0)
        """A piece fits a node if these are left when what it takes is taken off."""
        self.whole = self._entry(node, 0)
        """A piece that takes all of a node, in all weeks."""
        self.empty = self.guards | self.whole.taken
        """A node of which nothing is taken."""
        self._entries: dict[Shape, tuple[Entry, ...]] = {}

    def entries(self, shape: Shape) -> tuple[Entry, ...]:
        """What a piece takes of a node, at each week in which it may start."""
        known = self._entries.get(shape)
        if known is None:
            known = tuple(self._entry(shape, week) for week in shape.run.starts)
            self._entries[shape] = known
        return known

    def idle(self, free: int, entry: Entry) -> float:
        """GPUs that nobody takes in the weeks of a piece, in the mean."""
        return (free & entry.gpus) % self._ones / entry.weeks

    def around(self, free: int, entry: Entry) -> int:
        """GPUs that nobody takes in the weeks just before and after."""
        return (free & entry.around) % self._ones

    def _entry(self, shape: Shape, week: int) -> Entry:
        run, end = shape.run, week + shape.run.weeks
        around = sum(
            self._gpu << self._width * beside for beside in (week - 1, end) if 0 <= beside < WEEKS
        )
        return Entry(
            week,
            self._weekly(self._size(shape), run, week),
            self._weekly(self._ones, run, week),
            self._weekly(self._gpu, run, week),
            around,
            run.weeks,
        )

    def _size(self, shape: Shape) -> int:
        """Of a piece that needs several nodes: all of each."""
        shape = self._node if shape.gpus > self._node.gpus else shape
        sizes = (shape.gpus, shape.cpus, shape.memory_mb)
        return sum(size << offset for size, offset in zip(sizes, self._offsets, strict=False))

    def _weekly(self, fields: int, run: Run, first: int) -> int:
        return sum(fields << self._width * week for week in range(first, first + run.weeks))
