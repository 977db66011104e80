"""Minimum bin slack: fills node after node as fully as it can, the awkward units first.

Where no two units are alike there is nothing to count, and first-fit wastes several per cent. Each
node begins with the largest unit left; a bounded depth-first search adds the set that leaves the
least room, weighed by how scarce each resource is over all nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.packing.node_packing.greedy import Pattern
from planner.packing.problem import Shape

_STEPS_PER_NODE = 1_500
_GOOD_ENOUGH = 0.002
"""Share of a node's scarce room that may stay free before the search goes on to the next node."""
_SCARCITY = 24
"""Power by which a resource's load counts: nearly only the scarcest resources matter."""


def least_slack(
    node: Shape, shapes: Sequence[Shape], counts: Sequence[int], nodes: int
) -> tuple[list[tuple[Pattern, int]], list[int]]:
    """A packing on at most `nodes` nodes, and the units by shape that found no room."""
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
    """Worth of one GPU, one core, one MB; the worth of a whole node is 1."""
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
        """Indices of the shapes on the node, one for each unit."""
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
        """True once the search may stop."""
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
