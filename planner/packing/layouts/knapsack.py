"""The most valuable ways to fill one node: an exact knapsack over GPUs, cores and host memory.

Sizes are counted in cells of a grid, rounded down, so that every pattern of the real shapes is a
pattern of the grid: what the grid says a node can be worth is never too low. Where shapes are few,
a search on real sizes, cut by the grid, finds the exact best; where they are many, shapes in the
same cells are one kind, and prices are valid for the real node, only weaker.
"""

from __future__ import annotations

from functools import reduce
from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from planner.packing import work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from planner.packing.problem import Shape

__all__ = ["EXACT_SHAPES", "GridPattern", "Knapsack"]

GridPattern = tuple[tuple[int, int], ...]
"""What one node holds: (kind, units)."""

EXACT_SHAPES = 40
"""Up to so many shapes each is told apart, and patterns are searched on real sizes."""
_SCARCE = 0.8
_CELLS = {
    (False, False): (28, 32),
    (True, False): (112, 16),
    (False, True): (14, 160),
    (True, True): (112, 48),
}
"""Most cells of cores and of memory, by which of the two is scarce."""
_SEARCH_STEPS = 20_000
_PATTERNS_PER_CALL = 12
_EPSILON = 1e-9
_STEP_S, _CELL_S = 1.5e-6, 5e-10
"""What one kind on one more GPU takes on a usual machine: for itself, and for each cell."""


class Knapsack:
    """Patterns of one kind of node; any number of copies of a shape is allowed."""

    def __init__(
        self,
        node: Shape,
        shapes: Sequence[Shape],
        loads: tuple[float, float] = (1.0, 1.0),
        *,
        real: bool = False,
    ) -> None:
        """`loads` say which shares of cores and memory are asked for: a scarce one gets more cells.

        With `real`, sizes are rounded up: every pattern is one of the real node, but the best of
        them is no bound.
        """
        self._up = real
        self.exact = len(shapes) <= EXACT_SHAPES and not real
        cpu_cells, memory_cells = _CELLS[loads[0] > _SCARCE, loads[1] > _SCARCE]
        if not any(shape.cpus for shape in shapes):
            memory_cells *= cpu_cells  # as many cells in all
        self._gpus = node.gpus
        self._cpu = _cells(node.cpus, [shape.cpus for shape in shapes], cpu_cells)
        self._memory = _cells(node.memory_mb, [shape.memory_mb for shape in shapes], memory_cells)
        self._node, self._shapes = node, tuple(shapes)
        sizes = [self.cells(shape) for shape in shapes]
        self.kinds = sizes if self.exact else sorted(set(sizes))
        """Sizes in cells, one for each kind of shape that is told apart."""
        position = {size: index for index, size in enumerate(self.kinds)}
        self.kind_of = (
            list(range(len(shapes))) if self.exact else [position[size] for size in sizes]
        )

    def weigh(self, prices: Mapping[int, float], shape: Shape) -> float:
        """What any shape is worth: as much as the dearest kind that fits inside it."""
        if self.exact:
            return max(
                (
                    prices.get(kind, 0.0)
                    for kind, inner in enumerate(self._shapes)
                    if _inside((inner.gpus, inner.cpus, inner.memory_mb), shape_size(shape))
                ),
                default=0.0,
            )
        outer = self.cells(shape)
        return max(
            (
                prices.get(kind, 0.0)
                for kind, inner in enumerate(self.kinds)
                if _inside(inner, outer)
            ),
            default=0.0,
        )

    def cells(self, shape: Shape) -> tuple[int, int, int]:
        """A shape's size on the grid."""
        cpus, memory_mb = max(self._node.cpus, 1), max(self._node.memory_mb, 1)
        cpu_cells, memory_cells = shape.cpus * self._cpu, shape.memory_mb * self._memory
        if self._up:
            return shape.gpus, -(-cpu_cells // cpus), -(-memory_cells // memory_mb)
        return shape.gpus, cpu_cells // cpus, memory_cells // memory_mb

    def best(self, prices: Mapping[int, float]) -> tuple[float, list[tuple[float, GridPattern]]]:
        """No pattern is worth more than the first; then valuable ones: (value, (kind, units)).

        `prices` are by kind; a kind that is left out is worth nothing.
        """
        values = [prices.get(kind, 0.0) for kind in range(len(self.kinds))]
        table = self._table(np.asarray(values))
        ceiling = float(table[self._gpus, self._cpu, self._memory])
        patterns = self._openings(table, values)
        if not self.exact:
            return ceiling, patterns
        real = [(value, pattern) for value, pattern in patterns if self._fits(pattern)]
        if real and real[0][0] >= ceiling - _EPSILON:
            return ceiling, real
        search = _Search(self._node, self._shapes, values, self._bound_by(table))
        value, pattern = search.run(max((value for value, _ in real), default=0.0))
        if pattern:
            real.insert(0, (value, pattern))
        return (max(value, 0.0) if search.finished else ceiling), real

    def _openings(
        self, table: NDArray[np.float64], values: Sequence[float]
    ) -> list[tuple[float, GridPattern]]:
        """The best pattern for each of the best first shapes, on the grid."""
        full = (self._gpus, self._cpu, self._memory)
        openings = []
        for kind, size in enumerate(self.kinds):
            left = _less(full, size)
            if values[kind] > _EPSILON and left:
                openings.append((values[kind] + float(table[left]), kind))
        openings.sort(key=lambda opening: (-opening[0], opening[1]))
        patterns: dict[GridPattern, float] = {}
        for value, kind in openings[:_PATTERNS_PER_CALL]:
            patterns.setdefault(self._trace(table, values, kind), value)
        return [(value, pattern) for pattern, value in patterns.items()]

    def _fits(self, pattern: GridPattern) -> bool:
        cpus = sum(self._shapes[index].cpus * units for index, units in pattern)
        memory_mb = sum(self._shapes[index].memory_mb * units for index, units in pattern)
        return cpus <= self._node.cpus and memory_mb <= self._node.memory_mb

    def _bound_by(self, table: NDArray[np.float64]) -> Callable[[int, int, int], float]:
        """What can be added to what is left of a node, at the most."""
        rows = table.tolist()
        cpu_scale, memory_scale = self._cpu, self._memory
        cpus_in, memory_in = max(self._node.cpus, 1), max(self._node.memory_mb, 1)

        def bound(gpus: int, cpus: int, memory_mb: int) -> float:
            row: float = rows[gpus][cpus * cpu_scale // cpus_in][
                memory_mb * memory_scale // memory_in
            ]
            return row

        return bound

    def _table(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Most value within (GPUs, core cells, memory cells): an unbounded knapsack."""
        table = np.zeros((self._gpus + 1, self._cpu + 1, self._memory + 1))
        for gpus in range(1, self._gpus + 1):
            best = table[gpus]
            best[:] = table[gpus - 1]
            for (taken, cpus, memory), value in zip(self.kinds, values, strict=True):
                if taken <= gpus and value > _EPSILON:
                    reached = best[cpus:, memory:]
                    rest = table[gpus - taken, : self._cpu + 1 - cpus, : self._memory + 1 - memory]
                    np.maximum(reached, rest + value, out=reached)
        work.add(self._gpus * len(self.kinds) * (_STEP_S + _CELL_S * table[0].size))
        return table

    def _trace(
        self, table: NDArray[np.float64], values: Sequence[float], first: int
    ) -> GridPattern:
        """The pattern behind a table entry, after its first shape."""
        counts = {first: 1}
        left = _less((self._gpus, self._cpu, self._memory), self.kinds[first])
        while left and table[left] > _EPSILON:
            for kind, size in enumerate(self.kinds):
                after = _less(left, size)
                if (
                    after
                    and values[kind] > _EPSILON
                    and _same(values[kind] + table[after], table[left])
                ):
                    counts[kind] = counts.get(kind, 0) + 1
                    left = after
                    break
            else:
                break
        return tuple(sorted(counts.items()))


def _cells(capacity: int, sizes: Sequence[int], most: int) -> int:
    """Cells of a resource: as many as the sizes' common measure asks for, within the limit."""
    unit = reduce(gcd, sizes, capacity) or 1
    return max(1, min(most, capacity // unit))


def _less(left: tuple[int, int, int], size: tuple[int, int, int]) -> tuple[int, int, int] | None:
    rest = (left[0] - size[0], left[1] - size[1], left[2] - size[2])
    return rest if min(rest) >= 0 else None


def shape_size(shape: Shape) -> tuple[int, int, int]:
    """A shape as (GPUs, cores, MB)."""
    return shape.gpus, shape.cpus, shape.memory_mb


def _inside(inner: tuple[int, int, int], outer: tuple[int, int, int]) -> bool:
    return inner[0] <= outer[0] and inner[1] <= outer[1] and inner[2] <= outer[2]


def _same(value: float, target: float) -> bool:
    return abs(value - target) <= 1e-9 * max(1.0, abs(target))


class _Search:
    """Depth-first over shapes on real sizes, cut by what the grid says can still be added."""

    def __init__(
        self,
        node: Shape,
        shapes: Sequence[Shape],
        values: Sequence[float],
        bound: Callable[[int, int, int], float],
    ) -> None:
        self._node = node
        self._bound = bound
        density = [
            (value / max(shape.gpus / node.gpus, shape.memory_mb / max(node.memory_mb, 1)), index)
            for index, (shape, value) in enumerate(zip(shapes, values, strict=True))
            if value > _EPSILON
        ]
        self._items = [
            (shapes[index].gpus, shapes[index].cpus, shapes[index].memory_mb, values[index], index)
            for _, index in sorted(density, key=lambda pair: (-pair[0], pair[1]))
        ]
        self._path: list[int] = []
        self._best: tuple[int, ...] = ()
        self._value = 0.0
        self._steps = 0
        self.finished = True

    def run(self, above: float) -> tuple[float, GridPattern]:
        """The best pattern worth more than `above`; an empty one and `above` if there is none."""
        self._value = above
        self._descend(0, self._node.gpus, self._node.cpus, self._node.memory_mb, 0.0)
        counts = {index: self._best.count(index) for index in self._best}
        return self._value, tuple(sorted(counts.items()))

    def _descend(self, start: int, gpus: int, cpus: int, memory_mb: int, value: float) -> None:
        if value > self._value + _EPSILON:
            self._value, self._best = value, tuple(self._path)
        for position in range(start, len(self._items)):
            item_gpus, item_cpus, item_memory_mb, item_value, index = self._items[position]
            if item_gpus > gpus or item_cpus > cpus or item_memory_mb > memory_mb:
                continue
            left = (gpus - item_gpus, cpus - item_cpus, memory_mb - item_memory_mb)
            if value + item_value + self._bound(*left) <= self._value + _EPSILON:
                continue
            self._steps += 1
            if self._steps > _SEARCH_STEPS:
                self.finished = False
                return
            self._path.append(index)
            self._descend(position, *left, value + item_value)
            self._path.pop()
