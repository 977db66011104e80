"""Node packing for one kind of node: lays units out on so many nodes, or proves they do not fit.

First-fit fills one node and repeats the pattern while units last: the work grows with the variety
of shapes, not with the number of units. Where no two units are alike there is nothing to repeat,
and it wastes several per cent. Minimum bin slack begins each node with the largest unit left; a
bounded depth-first search adds the set that leaves the least room, weighed by how scarce each
resource is over all nodes.

Column generation goes over node patterns, which a knapsack prices. Its duals, divided by the worth
of the best pattern, are a dual feasible function: a linear cut that every real packing obeys, which
goes back into the master program.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapreplace
from math import ceil, floor

from planner.packing.problem import Shape
from planner.packing.solver import LinearMaster, Program, solve_integer

_Key = tuple[float, ...]
Pattern = tuple[tuple[int, int], ...]
"""What one node holds: (index of the shape, units)."""


def first_fit(
    node: Shape, shapes: Sequence[Shape], counts: Sequence[int], order: Sequence[int]
) -> list[tuple[Pattern, int]]:
    """Return patterns with their multiplicity, filling nodes in the given order of shapes."""
    left, order = list(counts), [index for index in order if counts[index]]
    packed: list[tuple[Pattern, int]] = []
    while order:
        pattern = fill(node, shapes, [left], order)
        times = min([left[index] // units for index, units in pattern])
        for index, units in pattern:
            left[index] -= units * times
        packed.append((pattern, times))
        order = [index for index in order if left[index]]
    return packed


def fill(
    node: Shape, shapes: Sequence[Shape], passes: Sequence[Sequence[int]], order: Sequence[int]
) -> Pattern:
    """Fill one node in the given order; each pass says how many units of a shape it may hold."""
    gpus, cpus, memory_mb = node.gpus, node.cpus, node.memory_mb
    held: dict[int, int] = {}
    for allowed in passes:
        for index in order:
            shape = shapes[index]
            units = min(allowed[index] - held.get(index, 0), gpus // shape.gpus)
            if units <= 0 or shape.cpus > cpus or shape.memory_mb > memory_mb:
                continue
            if shape.cpus:
                units = min(units, cpus // shape.cpus)
            if shape.memory_mb:
                units = min(units, memory_mb // shape.memory_mb)
            gpus -= units * shape.gpus
            cpus -= units * shape.cpus
            memory_mb -= units * shape.memory_mb
            held[index] = held.get(index, 0) + units
            if not gpus:
                return tuple(sorted(held.items()))
    return tuple(sorted(held.items()))


def orders(node: Shape, shapes: Sequence[Shape]) -> list[list[int]]:
    """Return orders of the shapes: by GPUs, by the tightest resource, by all together."""
    return [
        sorted(range(len(shapes)), key=lambda index: (*key(shapes[index], node), index))
        for key in _ORDERS
    ]


def fullest_first_fit(
    node: Shape, shapes: Sequence[Shape], counts: Sequence[int]
) -> list[tuple[Pattern, int]]:
    """Return the best first-fit of several orders."""
    best: list[tuple[Pattern, int]] | None = None
    for order in orders(node, shapes):
        packed = first_fit(node, shapes, counts, order)
        if best is None or nodes_in(packed) < nodes_in(best):
            best = packed
    return best or []


def evenly(
    node: Shape, shapes: Sequence[Shape], packed: Sequence[tuple[Pattern, int]], nodes: int
) -> list[tuple[Pattern, int]] | None:
    """Spread the same pieces over all nodes, each where most GPUs are free.

    None if one does not fit.

    Runs that come beside them may need the same resource on every node.
    """
    counts: Counter[int] = Counter()
    for pattern, times in packed:
        for index, units in pattern:
            counts[index] += units * times
    free = [(-node.gpus, -node.cpus, -node.memory_mb, number) for number in range(nodes)]
    held: list[Counter[int]] = [Counter() for _ in range(nodes)]
    for index in orders(node, shapes)[0]:
        shape = shapes[index]
        for _ in range(counts[index]):
            gpus, cpus, memory_mb, number = free[0] if free else (0, 0, 0, 0)
            left = gpus + shape.gpus, cpus + shape.cpus, memory_mb + shape.memory_mb
            if max(left) > 0:
                return None
            heapreplace(free, (*left, number))
            held[number][index] += 1
    alike = Counter(tuple(sorted(one.items())) for one in held if one)
    return list(alike.items())


def nodes_in(packed: Sequence[tuple[Pattern, int]]) -> int:
    """Return the nodes that the patterns take."""
    return sum(times for _, times in packed)


_ORDERS: tuple[Callable[[Shape, Shape], _Key], ...] = (
    lambda shape, _: (-shape.gpus, -shape.memory_mb, -shape.cpus),
    lambda shape, node: (-max(shares(shape, node)), -shape.gpus),
    lambda shape, node: (-sum(shares(shape, node)), -shape.gpus),
)


def shares(shape: Shape, node: Shape) -> tuple[float, float, float]:
    """Return the shares of a node's GPUs, cores and memory that a piece takes."""
    return (
        shape.gpus / node.gpus,
        shape.cpus / max(node.cpus, 1),
        shape.memory_mb / max(node.memory_mb, 1),
    )


@dataclass(frozen=True, slots=True)
class Packed:
    """Node patterns with their multiplicity; together they hold exactly the units asked for.

    Runs are not among them: they have a schedule.
    """

    patterns: tuple[tuple[Pattern, int], ...]
    bundles: tuple[tuple[Shape, ...], ...] = ()
    """GPUs with the pieces that take parts of them; patterns index them as -1, -2 and so on."""

    def opened(self) -> int:
        """The number of GPUs that are used in parts."""
        return sum(
            units * times
            for pattern, times in self.patterns
            for index, units in pattern
            if index < 0
        )


_STEPS_PER_NODE = 1_500
_GOOD_ENOUGH = 0.002
"""The share of a node's scarce room that may stay free before the search takes the next node."""
_SCARCITY = 24
"""The power by which a resource's load counts: nearly only the scarcest resources matter."""


def least_slack(
    node: Shape, shapes: Sequence[Shape], counts: Sequence[int], nodes: int
) -> tuple[list[tuple[Pattern, int]], list[int]]:
    """Return a packing on at most `nodes` nodes, and the units by shape that found no room."""
    weights = _weights(node, shapes, counts, nodes)
    worth = [
        weights[0] * shape.gpus + weights[1] * shape.cpus + weights[2] * shape.memory_mb
        for shape in shapes
    ]
    left = list(counts)
    order = sorted(range(len(shapes)), key=lambda index: (-worth[index], index))
    packed: list[tuple[Pattern, int]] = []
    for _ in range(nodes):
        order = [index for index in order if left[index]]
        if not order:
            break
        held = _Node(node, shapes, worth, weights, left, order).fill()
        for index in held:
            left[index] -= 1
        packed.append((tuple((index, held.count(index)) for index in sorted(set(held))), 1))
    return packed, left


def _weights(
    node: Shape, shapes: Sequence[Shape], counts: Sequence[int], nodes: int
) -> tuple[float, float, float]:
    """Return the worth of one GPU, one core and one MB; a whole node is worth 1."""
    loads = [0.0, 0.0, 0.0]
    sizes = (max(node.gpus, 1), max(node.cpus, 1), max(node.memory_mb, 1))
    for shape, count in zip(shapes, counts, strict=True):
        for position, size in enumerate((shape.gpus, shape.cpus, shape.memory_mb)):
            loads[position] += count * size / sizes[position] / max(nodes, 1)
    scarce = [load**_SCARCITY for load in loads]
    total = sum(scarce) or 1.0
    gpus, cpus, memory_mb = (
        share / total / size for share, size in zip(scarce, sizes, strict=True)
    )
    return gpus, cpus, memory_mb


class _Node:
    """The search for the fullest node that holds the first unit of the order."""

    def __init__(
        self,
        node: Shape,
        shapes: Sequence[Shape],
        worth: Sequence[float],
        weights: tuple[float, float, float],
        left: Sequence[int],
        order: Sequence[int],
    ) -> None:
        self._shapes, self._worth, self._weights = shapes, worth, weights
        self._order = order
        self._left = list(left)
        self._node = node
        self._path: list[int] = []
        self._best: tuple[int, ...] = ()
        self._value = -1.0
        self._steps = 0

    def fill(self) -> tuple[int, ...]:
        """Return the indices of the shapes on the node, one for each unit."""
        first = self._order[0]
        shape = self._shapes[first]
        self._path.append(first)
        self._left[first] -= 1
        self._descend(
            0,
            self._node.gpus - shape.gpus,
            self._node.cpus - shape.cpus,
            self._node.memory_mb - shape.memory_mb,
            self._worth[first],
        )
        return self._best

    def _descend(self, start: int, gpus: int, cpus: int, memory_mb: int, value: float) -> bool:
        """Search on; return True once the search may stop."""
        if value > self._value:
            self._value, self._best = value, tuple(self._path)
        room = self._weights[0] * gpus + self._weights[1] * cpus + self._weights[2] * memory_mb
        if room <= _GOOD_ENOUGH:
            return True
        if value + room <= self._value or not gpus:
            return False
        for position in range(start, len(self._order)):
            index = self._order[position]
            shape = self._shapes[index]
            if (
                not self._left[index]
                or shape.gpus > gpus
                or shape.cpus > cpus
                or shape.memory_mb > memory_mb
            ):
                continue
            self._steps += 1
            if self._steps > _STEPS_PER_NODE:
                return True
            self._path.append(index)
            self._left[index] -= 1
            done = self._descend(
                position,
                gpus - shape.gpus,
                cpus - shape.cpus,
                memory_mb - shape.memory_mb,
                value + self._worth[index],
            )
            self._left[index] += 1
            self._path.pop()
            if done:
                return True
        return False


_TIME_S, _NODES, _GAP = 2.0, 400, 3e-3


class Pricing:
    """The pricing problem: the most valuable filling of one node."""

    def __init__(self, node: Shape, shapes: Sequence[Shape], active: Sequence[int]) -> None:
        """`active` are the shapes that may be used."""
        self._program = Program()
        self._used = {index: self._program.variable("used", integer=True) for index in active}
        for resource in ("gpus", "cpus", "memory_mb"):
            offered = max(getattr(node, resource), 1)
            shares = {i: getattr(shapes[k], resource) / offered for k, i in self._used.items()}
            self._program.row("fits", shares, "<=", 1.0)

    def best(self, prices: Mapping[int, float]) -> tuple[float, Pattern]:
        """Return an upper bound on the value of any filling, and a good one."""
        costs = {variable: -prices.get(index, 0.0) for index, variable in self._used.items()}
        answer = solve_integer(
            self._program.priced(costs),
            time_limit_s=_TIME_S,
            relative_gap=_GAP,
            node_limit=_NODES,
            effort="branching",
        )
        pattern = tuple(
            (index, units)
            for index, variable in sorted(self._used.items())
            if answer.values and (units := round(answer.values[variable]))
        )
        return -answer.bound, pattern


_TOLERANCE = 1e-6
_COLUMN_ROUNDS = 150
_CLASSES = 40
"""Shapes that are told apart in a cut; if there are more, those of nearly the same size form
classes."""
_SAFETY = 1 - 1e-6
"""Subtracted from every cut's weights against rounding in the programs."""


@dataclass(frozen=True, slots=True)
class Cut:
    """`sum(weight × units of the shape) <= nodes` holds for every packing on these nodes."""

    weights: tuple[float, ...]
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The fractional packing, as far as it was solved."""

    prices: dict[int, float]
    """By shape, scaled so that no pattern is worth more than 1."""
    bound: float
    """Proved: no packing, even a fractional one, takes fewer nodes."""
    columns: tuple[tuple[Pattern, float], ...]


class CuttingStock:
    """Packings of one kind of node for a fixed list of shapes.

    It keeps the patterns it has found.
    """

    def __init__(
        self, node: Shape, shapes: Sequence[Shape], go_on: Callable[[], bool] = lambda: True
    ) -> None:
        """`go_on` is asked now and then; once it says no, the search returns what it knows."""
        self._node, self._go_on = node, go_on
        self.shapes = tuple(shapes)
        """What the indices of patterns mean."""
        self._by_size = sorted(
            range(len(shapes)), key=lambda index: self.shapes[index], reverse=True
        )
        self._patterns: dict[Pattern, None] = {}

    def pack(self, counts: Sequence[int], nodes: int) -> Packed | Cut | None:
        """Return a packing on at most `nodes`, a cut that is violated, or None for neither."""
        packed = fullest_first_fit(self._node, self.shapes, counts)
        self._remember(packed)
        if nodes_in(packed) <= nodes:
            return Packed(tuple(packed))
        tight, left = least_slack(self._node, self.shapes, counts, nodes)
        self._remember(tight)
        if not any(left):
            return Packed(tuple(tight))
        relaxation = self._relaxed(counts, nodes)
        if ceil(relaxation.bound - _TOLERANCE) > nodes:
            return self._cut(self.shapes, relaxation.prices)
        dived = self._dive(list(counts), nodes, relaxation)
        return Packed(tuple(dived)) if nodes_in(dived) <= nodes else None

    def separate(self, usage: Sequence[float], nodes: float) -> Cut | None:
        """Return a cut that a fractional usage of fractional nodes violates, if there is one."""
        active = [index for index, units in enumerate(usage) if units > _TOLERANCE]
        if sum(usage[index] / self._most_of(index) for index in active) <= nodes * (1 + _TOLERANCE):
            return None
        stock, units = self, usage
        if len(active) > _CLASSES:
            cells = self._classes(active, usage)
            stock = CuttingStock(self._node, [least for least, _ in cells], self._go_on)
            units = [total for _, total in cells]
        relaxation = stock._relaxed(units, nodes)
        if relaxation.bound > nodes * (1 + _TOLERANCE) + _TOLERANCE:
            return self._cut(stock.shapes, relaxation.prices)
        return None

    def _classes(self, active: Sequence[int], usage: Sequence[float]) -> list[tuple[Shape, float]]:
        """Merge shapes that differ little: the least size of each class, and its units."""
        shapes = [self.shapes[index] for index in active]
        by_gpus: dict[int, list[int]] = defaultdict(list)
        for number, shape in enumerate(shapes):
            by_gpus[shape.gpus].append(number)
        cpus, memory_mb = max(self._node.cpus, 1), max(self._node.memory_mb, 1)
        points = [(shape.cpus / cpus, shape.memory_mb / memory_mb) for shape in shapes]
        units = [usage[index] for index in active]
        found: dict[Shape, float] = defaultdict(float)
        for cell in classified(by_gpus.values(), points, units, _CLASSES):
            least = Shape(
                shapes[cell[0]].gpus,
                min(shapes[number].cpus for number in cell),
                min(shapes[number].memory_mb for number in cell),
            )
            found[least] += sum(units[number] for number in cell)
        return sorted(found.items())

    def _relaxed(self, usage: Sequence[float], nodes: float) -> Relaxation:
        """Solve the fractional packing until it is known whether it takes more than `nodes`."""
        active = [index for index, units in enumerate(usage) if units > _TOLERANCE]
        row = {index: number for number, index in enumerate(active)}
        pricing = Pricing(self._node, self.shapes, active)
        restricted = LinearMaster([usage[index] for index in active])
        columns: dict[Pattern, None] = {}

        def add(pattern: Pattern) -> None:
            if pattern not in columns:
                columns[pattern] = None
                restricted.add([(row[index], units) for index, units in pattern])

        for index in active:
            add(((index, self._most_of(index)),))
        for pattern in self._patterns:
            if all(index in row for index, _ in pattern):
                add(pattern)
        best: tuple[float, dict[int, float]] = (0.0, {})
        values: list[float] = []
        for _ in range(_COLUMN_ROUNDS if active else 0):
            if not self._go_on():
                break
            objective, values, duals = restricted.solve()
            if objective <= nodes * (1 + _TOLERANCE):
                break
            prices = {index: max(duals[row[index]], 0.0) for index in active}
            ceiling, pattern = pricing.best(prices)
            worth = max(1.0, ceiling)
            if objective / worth > best[0]:
                scaled = {index: price / worth for index, price in prices.items()}
                best = (objective / worth, scaled)
            if (
                _value(pattern, prices) <= 1 + _TOLERANCE
                or best[0] > nodes + 0.5
                or pattern in columns
            ):
                break
            add(pattern)
            self._keep(pattern)
        used = ((column, value) for column, value in zip(columns, values, strict=False))
        return Relaxation(best[1], best[0], tuple(entry for entry in used if entry[1] > _TOLERANCE))

    def _keep(self, pattern: Pattern) -> None:
        """Remember a priced pattern if it really fits the node, not only by rounding."""
        held = [(self.shapes[index], units) for index, units in pattern]
        if (
            sum(shape.gpus * units for shape, units in held) <= self._node.gpus
            and sum(shape.cpus * units for shape, units in held) <= self._node.cpus
            and sum(shape.memory_mb * units for shape, units in held) <= self._node.memory_mb
        ):
            self._remember([(pattern, 1)])

    def _remember(self, packed: Iterable[tuple[Pattern, int]]) -> None:
        for pattern, _ in packed:
            self._patterns[pattern] = None

    def _most_of(self, index: int) -> int:
        """Return how many units of a shape one node holds, alone."""
        shape = self.shapes[index]
        node = self._node
        sizes = (node.cpus, shape.cpus), (node.memory_mb, shape.memory_mb)
        return min([node.gpus // shape.gpus, *(room // size for room, size in sizes if size)])

    def _cut(self, priced: Sequence[Shape], prices: Mapping[int, float]) -> Cut:
        """Turn prices into a cut.

        A shape weighs what the dearest shape does that fits wherever it fits.
        """
        return Cut(
            tuple(
                max(
                    (
                        prices[n]
                        for n in prices
                        if priced[n].gpus <= shape.gpus
                        and priced[n].cpus <= shape.cpus
                        and priced[n].memory_mb <= shape.memory_mb
                    ),
                    default=0.0,
                )
                * _SAFETY
                for shape in self.shapes
            ),
            self.shapes,
        )

    def _dive(
        self, left: list[int], nodes: int, relaxation: Relaxation
    ) -> list[tuple[Pattern, int]]:
        """Fix patterns of the relaxation step by step; a greedy packing finishes the rest.

        Returns the best packing met, which may take too many nodes.
        """
        fixed: list[tuple[Pattern, int]] = []
        best: list[tuple[Pattern, int]] | None = None
        while True:
            step = self._fix(relaxation.columns, left)
            fixed += step
            rest = fullest_first_fit(self._node, self.shapes, left)
            self._remember((*step, *rest))
            if best is None or nodes_in(fixed) + nodes_in(rest) < nodes_in(best):
                best = [*fixed, *rest]
            used = nodes_in(fixed)
            if nodes_in(best) <= nodes or not step or used >= nodes or not self._go_on():
                return best
            relaxation = self._relaxed(left, nodes - used)

    def _fix(
        self, columns: tuple[tuple[Pattern, float], ...], left: list[int]
    ) -> list[tuple[Pattern, int]]:
        """Return real patterns for whole parts of the columns, or for the largest.

        Reduce `left`.
        """
        whole = [
            (column, floor(value + _TOLERANCE))
            for column, value in columns
            if value >= 1 - _TOLERANCE
        ]
        if not whole and columns:
            whole = [(max(columns, key=lambda entry: (entry[1], entry[0]))[0], 1)]
        fixed: list[tuple[Pattern, int]] = []
        for column, times in whole:
            fixed += self._repeat(column, times, left)
        return fixed

    def _repeat(self, column: Pattern, wanted: int, left: list[int]) -> list[tuple[Pattern, int]]:
        """Return real patterns for a column, so many while units last; reduce `left`."""
        fixed: list[tuple[Pattern, int]] = []
        while wanted > 0:
            first = [0] * len(left)  # the column's own pieces, then whatever else fits
            for index, units in column:
                first[index] = min(left[index], units)
            pattern = fill(self._node, self.shapes, (first, left), self._by_size)
            if not pattern:
                break
            times = min([wanted, *(left[index] // units for index, units in pattern)])
            for index, units in pattern:
                left[index] -= units * times
            fixed.append((pattern, times))
            wanted -= times
        return fixed


def _value(pattern: Pattern, prices: Mapping[int, float]) -> float:
    return sum(prices.get(index, 0.0) * units for index, units in pattern)


def classified(
    cells: Iterable[Sequence[int]],
    points: Sequence[Sequence[float]],
    weights: Sequence[float],
    most: int,
) -> list[list[int]]:
    """Split cells until there are `most`, or no two points of a cell differ.

    Cells hold indices of `points`, which give the sizes along some axes, and of `weights`, which
    say how many there are. The cell that differs most is split next, at its widest gap.
    """
    found = [list(cell) for cell in cells]
    spreads = [_spread(cell, points, weights) for cell in found]
    while len(found) < most:
        widest = max(range(len(found)), key=lambda cell: (spreads[cell][0], -cell))
        spread, axis = spreads[widest]
        if spread <= 0:
            break
        ordered = sorted(found[widest], key=lambda index: (points[index][axis], index))
        halves = _halves(ordered, [points[index][axis] for index in ordered])
        found[widest : widest + 1] = halves
        spreads[widest : widest + 1] = [_spread(half, points, weights) for half in halves]
    return found


def _spread(
    cell: Sequence[int], points: Sequence[Sequence[float]], weights: Sequence[float]
) -> tuple[float, int]:
    """Return how far members differ along the axis where they differ most, times their number."""
    spreads = [
        (max(along) - min(along), -axis)
        for axis, along in enumerate(zip(*(points[index] for index in cell), strict=True))
    ]
    widest, axis = max(spreads, default=(0.0, 0))
    return widest * sum(weights[index] for index in cell), -axis


def _halves(ordered: list[int], along: Sequence[float]) -> list[list[int]]:
    """Split at a wide gap that leaves many on both sides; ties go to the middle."""
    middle = len(ordered) / 2
    cut = max(
        range(1, len(ordered)),
        key=lambda at: (
            (along[at] - along[at - 1]) * min(at, len(ordered) - at),
            -abs(at - middle),
        ),
    )
    return [ordered[:cut], ordered[cut:]]
