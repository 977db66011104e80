"""A problem of few demands that stands for one of very many, and the way back.

Demands that differ a little in cores and memory are counted as one class of a size in between. The
classes are packed in their stead; on each node real units then take the places of their class, and
levelling evens out what they differ by.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING

from planner.packing.classes import classified
from planner.packing.level import level
from planner.packing.problem import Choice, Demand, Problem, Shape
from planner.packing.repair import Seat
from planner.packing.reseat import Seated, Units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from planner.packing.counts import Counts
    from planner.packing.cutting import Packed

__all__ = ["Coarse", "coarsen", "refine"]

Point = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Coarse:
    """Classes of demands, as a problem of their own."""

    problem: Problem
    members: tuple[tuple[int, ...], ...]
    """By class: the real demands it stands for."""
    choices: tuple[tuple[int, ...], ...]
    """By class: the real choice behind each of its choices, the same for all members."""


def coarsen(problem: Problem, classes: int, margin: float) -> Coarse:
    """Merge demands into about so many classes.

    A class has the mean size of its units, with a margin towards the largest: at 0 their sum is
    right, at 1 every packing of the classes is one of the units.
    """
    points = [_point(problem, number) for number in range(len(problem.demands))]
    counts = [demand.count for demand in problem.demands]
    cells = classified(_signatures(problem).values(), points, counts, classes)
    made = [(_class(problem, cell, margin), tuple(cell)) for cell in cells]
    return Coarse(
        replace(problem, demands=tuple(demand for (demand, _), _ in made)),
        tuple(cell for _, cell in made),
        tuple(choices for (_, choices), _ in made),
    )


def _signatures(problem: Problem) -> dict[object, list[int]]:
    """Demands that differ in nothing but cores and memory."""
    alike: dict[object, list[int]] = defaultdict(list)
    for number, demand in enumerate(problem.demands):
        runs = tuple(
            (
                choice.gpu_type,
                choice.shape.gpus,
                tuple(
                    pool.nodes_taken(choice.shape) if pool.gpu_type == choice.gpu_type else None
                    for pool in problem.pools
                ),
            )
            for choice in demand.choices
        )
        alike[runs, demand.quarters].append(number)
    return alike


def _point(problem: Problem, number: int) -> Point:
    """Cores and memory of every choice, as shares of a node."""
    shares: list[float] = []
    for choice in problem.demands[number].choices:
        node = next(
            (pool.node for pool in problem.pools if pool.gpu_type == choice.gpu_type), choice.shape
        )
        shares += (
            choice.shape.cpus / max(node.cpus, 1),
            choice.shape.memory_mb / max(node.memory_mb, 1),
        )
    return tuple(shares)


def _class(problem: Problem, cell: Sequence[int], margin: float) -> tuple[Demand, tuple[int, ...]]:
    """One demand for all members, with the choices that any pool can run."""
    demands = [problem.demands[number] for number in cell]
    choices, behind = [], []
    for position, choice in enumerate(demands[0].choices):
        if any(
            pool.gpu_type == choice.gpu_type and pool.nodes_taken(choice.shape) is not None
            for pool in problem.pools
        ):
            choices.append(Choice(choice.gpu_type, _between(demands, position, margin)))
            behind.append(position)
    count = sum(demand.count for demand in demands)
    return Demand(tuple(choices), demands[0].quarters, count), tuple(behind)


def _between(demands: Sequence[Demand], position: int, margin: float) -> Shape:
    """The mean size of a choice, with a share of what the largest has beyond it."""
    shapes = [demand.choices[position].shape for demand in demands]
    units = sum(demand.count for demand in demands)

    def size(amounts: list[int]) -> int:
        total = sum(amount * demand.count for amount, demand in zip(amounts, demands, strict=True))
        mean = total / units
        return ceil(mean + margin * (max(amounts) - mean))

    cpus, memory_mb = ([shape.cpus for shape in shapes], [shape.memory_mb for shape in shapes])
    return Shape(shapes[0].gpus, size(cpus), size(memory_mb), shapes[0].spans)


Unit = tuple[int, int]
"""Demand and choice."""
Queues = dict[tuple[str, Shape], "Iterator[Unit]"]
"""By GPU type and the shape of a class: real units that it stands for."""


def refine(
    coarse: Coarse,
    classes: Counts,
    values: tuple[float, ...],
    packings: Mapping[tuple[int, int], tuple[tuple[Shape, ...], Packed]],
    counts: Counts,
    go_on: Callable[[], bool],
) -> Seated:
    """Real units in the places of their classes, in a problem of one quarter.

    `classes` and `values` are the counted plan of the classes, `packings` its layouts with the
    shapes that they index, by (pool, quarter); `counts` is the program of the real problem.
    """
    queues = _queues(coarse, classes, values, counts)
    units: Units = defaultdict(lambda: defaultdict(list))
    seats: list[Seat] = []
    left_over: list[int] = []
    for (pool, quarter), usages in classes.usages.items():
        kind = counts.problem.pools[pool]
        for usage in usages:
            if kind.nodes_taken(usage.shape):
                for unit in islice(queues[kind.gpu_type, usage.shape], round(usage.units(values))):
                    units[pool][_shape(counts, unit)].append(unit)
        nodes = round(classes.shared_nodes(pool, quarter, values))
        shapes, packed = packings[pool, quarter]
        here = [
            (next(queues[kind.gpu_type, shapes[index]]), place)
            for place, pattern in enumerate(_each(packed))
            for index, wanted in pattern
            for _ in range(wanted)
        ]
        real = [_shape(counts, unit) for unit, _ in here]
        places = level(kind.node, real, [place for _, place in here], nodes, go_on)
        found = [
            Seat(pool, kind.node.gpus, kind.node.cpus, kind.node.memory_mb) for _ in range(nodes)
        ]
        for (unit, _), shape, place in zip(here, real, places, strict=True):
            if found[place].fits(shape):
                found[place].put(unit, shape)
            else:
                left_over.append(unit[0])
        seats += found
    return Seated(_nodes(classes, values, counts), units, seats, left_over)


def _each(packed: Packed) -> Iterator[tuple[tuple[int, int], ...]]:
    for pattern, times in packed.patterns:
        for _ in range(times):
            yield pattern


def _shape(counts: Counts, unit: Unit) -> Shape:
    return counts.problem.demands[unit[0]].choices[unit[1]].shape


def _queues(coarse: Coarse, classes: Counts, values: tuple[float, ...], counts: Counts) -> Queues:
    """Which real units take which choice: every choice gets small and large ones alike."""
    units: dict[tuple[str, Shape], list[Unit]] = defaultdict(list)
    for number, demand in enumerate(coarse.problem.demands):
        for choice in demand.choices:
            units[choice.gpu_type, choice.shape] += ()
        wanted = [
            round(values[classes.choice[number, position]])
            for position in range(len(demand.choices))
        ]
        taken = [0] * len(wanted)
        for step, member in enumerate(_units_of(coarse, number, counts), 1):
            share = step / demand.count
            best = max(range(len(wanted)), key=lambda at: (wanted[at] * share - taken[at], -at))
            taken[best] += 1
            choice = demand.choices[best]
            units[choice.gpu_type, choice.shape].append((member, coarse.choices[number][best]))
    return {key: iter(queue) for key, queue in units.items()}


def _units_of(coarse: Coarse, number: int, counts: Counts) -> list[int]:
    """The demand of each real unit of a class."""
    demands = counts.problem.demands
    return [member for member in coarse.members[number] for _ in range(demands[member].count)]


def _nodes(classes: Counts, values: tuple[float, ...], counts: Counts) -> tuple[float, ...]:
    """The real program's values, as far as they count nodes."""
    real = [0.0] * len(counts.program.variables)
    for key, index in counts.acquire.items():
        real[index] = float(round(values[classes.acquire[key]]))
    for key, index in counts.usable.items():
        real[index] = float(round(values[classes.usable[key]]))
    return tuple(real)
