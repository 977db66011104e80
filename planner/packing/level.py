"""Levelling: units are on nodes that may be too full, and change places until none is.

Where a resource is used to the last, filling node after node leaves the awkward units over. Here
every unit has a node from the start, and the fullest node exchanges units with any other as long
as that takes off what is over.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from planner.packing.problem import Shape

    Floats = NDArray[np.float64]

__all__ = ["level"]

_STEPS_PER_NODE = 6
_EPSILON = 1e-9


def level(
    node: Shape,
    shapes: Sequence[Shape],
    places: Sequence[int],
    nodes: int,
    go_on: Callable[[], bool],
) -> list[int]:
    """Places for units of these shapes, one each, so that few nodes are too full, if any.

    `places` are node numbers to begin with. `go_on` is asked before each exchange.
    """
    levelling = _Levelling(node, shapes, places, nodes)
    for _ in range(_STEPS_PER_NODE * nodes):
        worst = levelling.worst()
        if worst is None or not go_on():
            break
        levelling.relieve(worst)
    return levelling.places()


class _Levelling:
    """Loads are in shares of a node's GPUs, cores and memory."""

    def __init__(
        self, node: Shape, shapes: Sequence[Shape], places: Sequence[int], nodes: int
    ) -> None:
        offered = (node.gpus, max(node.cpus, 1), max(node.memory_mb, 1))
        taken = [(shape.gpus, shape.cpus, shape.memory_mb) for shape in shapes]
        self._sizes = np.array(taken, dtype=np.float64).reshape(-1, 3) / offered
        self._place = np.array(places, dtype=np.int64)
        self._load = np.zeros((nodes, 3))
        np.add.at(self._load, self._place, self._sizes)
        self._stuck: set[int] = set()

    def places(self) -> list[int]:
        """The node of each unit."""
        return [int(place) for place in self._place]

    def worst(self) -> int | None:
        """The node that is over capacity the most, of those that an exchange may still help."""
        over = _over(self._load)
        over[list(self._stuck)] = 0.0
        return int(over.argmax()) if over.max(initial=0.0) > _EPSILON else None

    def relieve(self, node: int) -> None:
        """Make the exchange that helps this node most: one unit first, two where one does not."""
        mine = [int(unit) for unit in np.flatnonzero(self._place == node)]
        single = [(unit,) for unit in mine]
        double = [*combinations(mine, 2)]
        others = self._others(node)
        if (
            self._exchange(node, single, [*others, ()])
            or self._exchange(node, double, others)
            or self._exchange(node, [*single, *double], self._pairs(node))
        ):
            self._stuck.clear()
        else:
            self._stuck.add(node)

    def _others(self, node: int) -> list[tuple[int, ...]]:
        return [(int(unit),) for unit in np.flatnonzero(self._place != node)]

    def _pairs(self, node: int) -> list[tuple[int, ...]]:
        """Pairs of units that are on one node, another than this."""
        held: dict[int, list[int]] = {}
        for unit, place in enumerate(self._place.tolist()):
            if place != node:
                held.setdefault(place, []).append(unit)
        return [pair for units in held.values() for pair in combinations(units, 2)]

    def _exchange(
        self, node: int, mine: Sequence[tuple[int, ...]], others: Sequence[tuple[int, ...]]
    ) -> bool:
        """Exchange the groups that take most off what is over; False where none takes any off.

        An empty group among the others stands for a move to any node.
        """
        if not mine or not others:
            return False
        leaving = self._sum(mine)
        coming, there = self._partners(node, others)
        over = _over(self._load)
        change = leaving[:, None, :] - coming[None, :, :]
        after = _over(self._load[node] - change) + _over(self._load[there] + change)
        gain = over[node] + over[there] - after
        first, second = divmod(int(gain.argmax()), len(there))
        if gain[first, second] <= _EPSILON:
            return False
        target = int(there[second])
        returning = others[second] if second < len(others) and others[second] else ()
        self._place[list(mine[first])] = target
        self._place[list(returning)] = node
        self._load[node] -= change[first, second]
        self._load[target] += change[first, second]
        return True

    def _partners(
        self, node: int, others: Sequence[tuple[int, ...]]
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Sizes and nodes of the groups that may come, each other node's empty group last."""
        real = [group for group in others if group]
        sizes, there = self._sum(real), self._place[[group[0] for group in real]]
        if len(real) == len(others):
            return sizes, there
        nodes = np.array(
            [other for other in range(len(self._load)) if other != node], dtype=np.int64
        )
        return np.vstack([sizes, np.zeros((len(nodes), 3))]), np.concatenate([there, nodes])

    def _sum(self, groups: Sequence[tuple[int, ...]]) -> Floats:
        """The groups' sizes; all groups are of one or two units."""
        first = self._sizes[[group[0] for group in groups]]
        second = self._sizes[[group[-1] for group in groups]]
        alone = np.array([len(group) == 1 for group in groups]).reshape(-1, 1)
        total: Floats = first + np.where(alone, 0.0, second)
        return total


def _over(loads: Floats) -> Floats:
    """What exceeds a whole node, summed over the resources."""
    total: Floats = np.maximum(loads - 1.0 - _EPSILON, 0.0).sum(axis=-1)
    return total
