"""Cutting stock of one kind of node: lays units out on so many nodes, or proves they do not fit.

Column generation over node patterns, on the knapsack's grid. Its prices, divided by the worth of
the best pattern, are a dual feasible function: a linear cut that every real packing obeys, which
goes back into the program that counts nodes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING

from planner.packing.layouts.classes import classified
from planner.packing.layouts.greedy import Pattern, fill, fullest_first_fit, nodes_in
from planner.packing.layouts.knapsack import EXACT_SHAPES, GridPattern, Knapsack
from planner.packing.layouts.packed import Packed
from planner.packing.layouts.tight import least_slack
from planner.packing.problem import Shape
from planner.packing.solvers.warm import LinearMaster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Cut", "CuttingStock"]

_TOLERANCE = 1e-6
_COLUMN_ROUNDS = 150
_CLASSES = 30
"""Classes of shapes for a second cut where there are many: coarser than a grid, but in the right
proportion for the small ones, which a grid rounds down to very little."""
_SAFETY = 1 - 1e-7
"""Taken off every cut's weights against rounding in the linear programs."""


@dataclass(frozen=True, slots=True)
class Cut:
    """`sum(weight × units of the shape) <= nodes` holds for every packing on these nodes."""

    weights: tuple[float, ...]
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class _Relaxation:
    """The fractional packing, as far as it was solved."""

    prices: dict[int, float]
    """By kind, scaled so that no pattern is worth more than 1."""
    bound: float
    """Proved: no packing, even fractional, takes fewer nodes."""
    columns: tuple[tuple[GridPattern, float], ...]


class _View:
    """The shapes that are in use, and the kinds that a knapsack tells apart among them."""

    def __init__(
        self,
        node: Shape,
        shapes: Sequence[Shape],
        usage: Sequence[float],
        nodes: float,
        *,
        real: bool = False,
        classes: int | None = None,
    ) -> None:
        """With `classes`, shapes that differ a little are one kind, of their least size."""
        self.active = [index for index, units in enumerate(usage) if units > _TOLERANCE]
        cpus = sum(shapes[index].cpus * usage[index] for index in self.active)
        memory_mb = sum(shapes[index].memory_mb * usage[index] for index in self.active)
        offered = max(nodes, 1e-6)
        loads = (
            cpus / offered / max(node.cpus, 1),
            memory_mb / offered / max(node.memory_mb, 1),
        )
        in_use = [shapes[index] for index in self.active]
        least = list(range(len(in_use)))
        if classes is not None:
            in_use, least = _classes(node, in_use, [usage[index] for index in self.active], classes)
        self.knapsack = Knapsack(node, in_use, loads, real=real)
        self.real = classes is None and self.knapsack.exact
        """Whether a kind is one shape, so that its patterns are patterns of the real node."""
        kinds = [self.knapsack.kind_of[index] for index in least]
        self.kind = dict(zip(self.active, kinds, strict=True))
        self.members: dict[int, list[int]] = defaultdict(list)
        for index in sorted(self.active, key=lambda index: shapes[index], reverse=True):
            self.members[self.kind[index]].append(index)

    def demands(self, usage: Sequence[float]) -> dict[int, float]:
        """Units by kind."""
        units: dict[int, float] = defaultdict(float)
        for index in self.active:
            if usage[index] > _TOLERANCE:
                units[self.kind[index]] += usage[index]
        return dict(sorted(units.items()))

    def column(self, pattern: Pattern) -> GridPattern | None:
        """A real pattern by kinds, or None where it holds a shape that is not in use."""
        units: dict[int, int] = defaultdict(int)
        for index, count in pattern:
            if index not in self.kind:
                return None
            units[self.kind[index]] += count
        return tuple(sorted(units.items()))


def _classes(
    node: Shape, shapes: Sequence[Shape], usage: Sequence[float], most: int
) -> tuple[list[Shape], list[int]]:
    """The least size of each class, and the class of each shape."""
    by_gpus: dict[int, list[int]] = defaultdict(list)
    for index, shape in enumerate(shapes):
        by_gpus[shape.gpus].append(index)
    points = [
        (shape.cpus / max(node.cpus, 1), shape.memory_mb / max(node.memory_mb, 1))
        for shape in shapes
    ]
    cells = classified(by_gpus.values(), points, usage, most)
    least = [
        Shape(
            shapes[cell[0]].gpus,
            min(shapes[index].cpus for index in cell),
            min(shapes[index].memory_mb for index in cell),
        )
        for cell in cells
    ]
    class_of = {index: number for number, cell in enumerate(cells) for index in cell}
    return least, [class_of[index] for index in range(len(shapes))]


class CuttingStock:
    """Packings of one kind of node for a fixed list of shapes; keeps the patterns it has found."""

    def __init__(
        self, node: Shape, shapes: Sequence[Shape], go_on: Callable[[], bool] = lambda: True
    ) -> None:
        """`go_on` is asked now and then; once it says no, what is known by then is the answer."""
        self._node, self._go_on = node, go_on
        self.shapes = tuple(shapes)
        """What the indices of patterns mean."""
        self._by_size = sorted(
            range(len(shapes)), key=lambda index: self.shapes[index], reverse=True
        )
        self._patterns: dict[Pattern, None] = {}

    def pack(self, counts: Sequence[int], nodes: int) -> Packed | Cut | None:
        """A packing on at most `nodes`, a cut that the counts violate, or None for neither."""
        packed = fullest_first_fit(self._node, self.shapes, counts)
        self._remember(packed)
        if nodes_in(packed) <= nodes:
            return Packed(tuple(packed))
        tight, left = least_slack(self._node, self.shapes, counts, nodes)
        self._remember(tight)
        if not any(left):
            return Packed(tuple(tight))
        view = _View(self._node, self.shapes, counts, nodes)
        relaxation = self._relax(view, view.demands(counts), nodes)
        if ceil(relaxation.bound - _TOLERANCE) > nodes:
            return self._cut(view, relaxation)
        if not view.knapsack.exact:
            view = _View(self._node, self.shapes, counts, nodes, real=True)
            relaxation = self._relax(view, view.demands(counts), nodes)
        dived = self._dive(view, list(counts), nodes, relaxation)
        return Packed(tuple(dived)) if nodes_in(dived) <= nodes else None

    def separate(self, usage: Sequence[float], nodes: float) -> Cut | None:
        """A cut that a fractional usage of fractional nodes violates, if there is one."""
        alone = (units / self._most_of(index) for index, units in enumerate(usage) if units > 0)
        if sum(alone) <= nodes * (1 + _TOLERANCE):
            return None
        many = sum(units > _TOLERANCE for units in usage) > EXACT_SHAPES
        for classes in (_CLASSES, None) if many else (None,):
            view = _View(self._node, self.shapes, usage, nodes, classes=classes)
            relaxation = self._relax(view, view.demands(usage), nodes)
            if relaxation.bound > nodes * (1 + _TOLERANCE) + _TOLERANCE:
                return self._cut(view, relaxation)
        return None

    def exactly(self, chosen: Iterable[tuple[Pattern, int]], counts: Sequence[int]) -> Packed:
        """Patterns used so often, less the units that nobody asked for."""
        left = list(counts)
        packed: dict[Pattern, int] = defaultdict(int)
        for pattern, times in chosen:
            for _ in range(times):
                kept = tuple((index, min(units, left[index])) for index, units in pattern)
                kept = tuple((index, units) for index, units in kept if units)
                for index, units in kept:
                    left[index] -= units
                if kept:
                    packed[kept] += 1
        return Packed(tuple(packed.items()))

    def _remember(self, packed: Iterable[tuple[Pattern, int]]) -> None:
        for pattern, _ in packed:
            self._patterns[pattern] = None

    def _relax(self, view: _View, demands: dict[int, float], nodes: float) -> _Relaxation:
        """Solve the fractional packing until it is known whether it takes more than `nodes`."""
        master = _Master(demands)
        for kind in demands:
            master.add(((kind, self._most_of(view.members[kind][-1])),))
        for pattern in self._patterns:
            column = view.column(pattern)
            if column and all(kind in demands for kind, _ in column):
                master.add(column)
        best = _Relaxation({}, 0.0, ())
        for _ in range(_COLUMN_ROUNDS if demands else 0):
            if not self._go_on():
                break
            objective, prices = master.solve()
            if objective <= nodes * (1 + _TOLERANCE):
                break
            ceiling, found = view.knapsack.best(prices)
            worth = max(1.0, ceiling)
            if objective / worth > best.bound:
                scaled = {kind: price / worth for kind, price in prices.items()}
                best = _Relaxation(scaled, objective / worth, ())
            improving = [column for value, column in found if value > 1 + _TOLERANCE]
            if not improving or best.bound > nodes + 0.5:
                break
            for column in improving:
                master.add(column)
                if view.real:
                    real = tuple((view.active[kind], units) for kind, units in column)
                    self._patterns[real] = None
        return _Relaxation(best.prices, best.bound, master.columns())

    def _most_of(self, index: int) -> int:
        """How many units of a shape one node holds, alone."""
        shape = self.shapes[index]
        node = self._node
        sizes = (node.cpus, shape.cpus), (node.memory_mb, shape.memory_mb)
        return min([node.gpus // shape.gpus, *(room // size for room, size in sizes if size)])

    def _cut(self, view: _View, relaxation: _Relaxation) -> Cut:
        weigh = view.knapsack.weigh
        weights = (weigh(relaxation.prices, shape) * _SAFETY for shape in self.shapes)
        return Cut(tuple(weights), self.shapes)

    def _dive(
        self, view: _View, left: list[int], nodes: int, relaxation: _Relaxation
    ) -> list[tuple[Pattern, int]]:
        """Fix patterns from the relaxation step by step; greedy finishes what is left.

        The best packing met, which may take too many nodes.
        """
        fixed: list[tuple[Pattern, int]] = []
        best: list[tuple[Pattern, int]] | None = None
        while True:
            step = self._fix(view, relaxation.columns, left)
            fixed += step
            rest = fullest_first_fit(self._node, self.shapes, left)
            self._remember((*step, *rest))
            if best is None or nodes_in(fixed) + nodes_in(rest) < nodes_in(best):
                best = [*fixed, *rest]
            used = nodes_in(fixed)
            if nodes_in(best) <= nodes or not step or used >= nodes or not self._go_on():
                return best
            relaxation = self._relax(view, view.demands(left), nodes - used)

    def _fix(
        self, view: _View, columns: tuple[tuple[GridPattern, float], ...], left: list[int]
    ) -> list[tuple[Pattern, int]]:
        """Real patterns for whole parts of the columns, or for the largest; takes from `left`."""
        whole = [
            (column, floor(value + _TOLERANCE))
            for column, value in columns
            if value >= 1 - _TOLERANCE
        ]
        if not whole and columns:
            whole = [(max(columns, key=lambda entry: (entry[1], entry[0]))[0], 1)]
        fixed: list[tuple[Pattern, int]] = []
        for column, times in whole:
            fixed += self._repeat(view, column, times, left)
        return fixed

    def _repeat(
        self, view: _View, column: GridPattern, wanted: int, left: list[int]
    ) -> list[tuple[Pattern, int]]:
        """Real patterns for a column, so many in all while units last; takes from `left`."""
        fixed: list[tuple[Pattern, int]] = []
        while wanted > 0:
            pattern = self._realize(view, column, left)
            if not pattern:
                break
            times = min([wanted, *(left[index] // units for index, units in pattern)])
            for index, units in pattern:
                left[index] -= units * times
            fixed.append((pattern, times))
            wanted -= times
        return fixed

    def _realize(self, view: _View, column: GridPattern, left: Sequence[int]) -> Pattern:
        """A real pattern for one of the grid: its largest units first, then whatever fits."""
        first = [0] * len(left)
        for kind, units in column:
            wanted = units
            for index in view.members[kind]:
                first[index] = min(left[index], wanted)
                wanted -= first[index]
        return fill(self._node, self.shapes, (first, left), self._by_size)


class _Master:
    """The covering program over the columns known so far."""

    def __init__(self, demands: dict[int, float]) -> None:
        self._row = {kind: row for row, kind in enumerate(demands)}
        self._master = LinearMaster(list(demands.values()))
        self._known: dict[GridPattern, None] = {}
        self._values: list[float] = []

    def add(self, column: GridPattern) -> None:
        if column not in self._known:
            self._known[column] = None
            self._master.add([(self._row[kind], units) for kind, units in column])

    def solve(self) -> tuple[float, dict[int, float]]:
        """Objective, and the price of each kind."""
        objective, self._values, prices = self._master.solve()
        return objective, {kind: max(prices[row], 0.0) for kind, row in self._row.items()}

    def columns(self) -> tuple[tuple[GridPattern, float], ...]:
        """Columns in use with their values."""
        pairs = zip(self._known, self._values, strict=False)
        return tuple((column, value) for column, value in pairs if value > _TOLERANCE)
