"""Fills nodes one after another: by first-fit decreasing, and by minimum bin slack.

First-fit fills one node and repeats the pattern while units last: the work grows with the
variety of shapes, not with the number of units. If no two units are alike there is nothing to
repeat, and it wastes several per cent. Minimum bin slack begins each node with the largest unit
left; a bounded depth-first search adds the set that leaves the least room, weighted by how
scarce each resource is over all nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapreplace

from planner.packing.problem import Shape

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
    return [_ordered(node, shapes, key) for key in _ORDERS]


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


def _ordered(
    node: Shape, shapes: Sequence[Shape], key: Callable[[Shape, Shape], _Key]
) -> list[int]:
    return sorted(range(len(shapes)), key=lambda index: (*key(shapes[index], node), index))


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
