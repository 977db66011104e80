"""First-fit decreasing by pattern: fills one node greedily, then repeats it while units last.

The work grows with the variety of shapes, not with the number of units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heapreplace

from planner.packing.problem import Shape

_Key = tuple[float, ...]
Pattern = tuple[tuple[int, int], ...]
"""What one node holds: (index of the shape, units)."""


def first_fit(
    node: Shape, shapes: Sequence[Shape], counts: Sequence[int], order: Sequence[int]
) -> list[tuple[Pattern, int]]:
    """Patterns with their multiplicity, filling nodes in the given order of shapes."""
    left = list(counts)
    remaining = [
        (index, shape.gpus, shape.cpus, shape.memory_mb)
        for index in order
        if left[index]
        for shape in (shapes[index],)
    ]
    packed: list[tuple[Pattern, int]] = []
    while remaining:
        pattern = _filled(node, left, remaining)
        times = min([left[index] // units for index, units in pattern])
        for index, units in pattern:
            left[index] -= units * times
        packed.append((pattern, times))
        remaining = [sizes for sizes in remaining if left[sizes[0]]]
    return packed


def _filled(
    node: Shape, left: Sequence[int], sizes: Sequence[tuple[int, int, int, int]]
) -> Pattern:
    """As `fill` with one pass, for shapes that are left, given as (index, GPUs, cores, MB)."""
    gpus, cpus, memory_mb = node.gpus, node.cpus, node.memory_mb
    held = []
    for index, takes, cores, mb in sizes:
        if takes > gpus or cores > cpus or mb > memory_mb:
            continue
        units = left[index]
        if units * takes > gpus:
            units = gpus // takes
        if units * cores > cpus:
            units = cpus // cores
        if units * mb > memory_mb:
            units = memory_mb // mb
        held.append((index, units))
        gpus -= units * takes
        if not gpus:
            break
        cpus -= units * cores
        memory_mb -= units * mb
    return tuple(sorted(held))


def fill(
    node: Shape, shapes: Sequence[Shape], passes: Sequence[Sequence[int]], order: Sequence[int]
) -> Pattern:
    """One node filled in the given order; each pass says how many units of a shape it may hold."""
    gpus, cpus, memory_mb = node.gpus, node.cpus, node.memory_mb
    held: dict[int, int] = {}
    for allowed in passes:
        for index in order:
            shape = shapes[index]
            units = min(allowed[index] - held.get(index, 0), gpus // shape.gpus)
            if units > 0 and shape.cpus:
                units = min(units, cpus // shape.cpus)
            if units > 0 and shape.memory_mb:
                units = min(units, memory_mb // shape.memory_mb)
            if units > 0:
                gpus -= units * shape.gpus
                cpus -= units * shape.cpus
                memory_mb -= units * shape.memory_mb
                held[index] = held.get(index, 0) + units
                if not gpus:
                    return tuple(sorted(held.items()))
    return tuple(sorted(held.items()))


def orders(node: Shape, shapes: Sequence[Shape]) -> list[list[int]]:
    """Shapes by GPUs, by the tightest resource, by all together."""
    return [_ordered(node, shapes, key) for key in _ORDERS]


def fullest_first_fit(
    node: Shape, shapes: Sequence[Shape], counts: Sequence[int]
) -> list[tuple[Pattern, int]]:
    """The best of several orders."""
    best: list[tuple[Pattern, int]] | None = None
    for order in orders(node, shapes):
        packed = first_fit(node, shapes, counts, order)
        if best is None or nodes_in(packed) < nodes_in(best):
            best = packed
    return best or []


def evenly(
    node: Shape, shapes: Sequence[Shape], packed: Sequence[tuple[Pattern, int]], nodes: int
) -> list[tuple[Pattern, int]] | None:
    """The same pieces over all nodes, each where most GPUs are free; None where one finds no room.

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
    """Nodes that the patterns take."""
    return sum(times for _, times in packed)


_ORDERS: tuple[Callable[[Shape, Shape], _Key], ...] = (
    lambda shape, _: (-shape.gpus, -shape.memory_mb, -shape.cpus),
    lambda shape, node: (-max(shares(shape, node)), -shape.gpus),
    lambda shape, node: (-sum(shares(shape, node)), -shape.gpus),
)


def shares(shape: Shape, node: Shape) -> tuple[float, float, float]:
    """Of the GPUs, the cores and the memory of a node: what a piece takes."""
    return (
        shape.gpus / node.gpus,
        shape.cpus / max(node.cpus, 1),
        shape.memory_mb / max(node.memory_mb, 1),
    )
