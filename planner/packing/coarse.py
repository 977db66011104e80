"""A problem of few demands that stands for one of very many, and the way back.

Demands that differ a little in cores and memory are counted as one class of a size in between. The
classes are packed in their stead; on each node real units then take the places of their class, and
levelling evens out what they differ by.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.packing.problem import Choice, Demand, Problem, Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Coarse", "coarsen"]

Point = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Coarse:
    """Classes of demands, as a problem of their own."""

    problem: Problem
    members: tuple[tuple[int, ...], ...]
    """By class: the real demands it stands for."""
    choices: tuple[tuple[int, ...], ...]
    """By class: the real choice behind each of its choices, the same for all members."""


def coarsen(problem: Problem, classes: int, rank: float) -> Coarse:
    """Merge demands into about so many classes.

    `rank` says which of its members' sizes a class takes: 0.5 the median, 1 the largest, for which
    every packing of the classes is one of the units.
    """
    cells = [*_signatures(problem).values()]
    points = {number: _point(problem, number) for cell in cells for number in cell}
    while len(cells) < classes:
        widest = max(range(len(cells)), key=lambda cell: (_spread(cells[cell], points)[0], -cell))
        spread, axis = _spread(cells[widest], points)
        if spread <= 0:
            break
        ordered = sorted(cells[widest], key=lambda number: (points[number][axis], number))
        cells[widest : widest + 1] = _halves(ordered, [points[number][axis] for number in ordered])
    made = [(_class(problem, cell, rank), tuple(cell)) for cell in cells]
    return Coarse(
        Problem(
            problem.quarters,
            problem.pools,
            problem.supplies,
            tuple(demand for (demand, _), _ in made),
            problem.fixed_cost_cents,
        ),
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


def _spread(cell: Sequence[int], points: dict[int, Point]) -> tuple[float, int]:
    """How far the cell's members differ, times their number, and in what most."""
    spreads = [
        (max(along) - min(along), -axis)
        for axis, along in enumerate(zip(*(points[number] for number in cell), strict=True))
    ]
    widest, axis = max(spreads, default=(0.0, 0))
    return widest * len(cell), -axis


def _halves(ordered: list[int], along: list[float]) -> list[list[int]]:
    """Split where the largest gap is, in the middle where gaps are alike."""
    middle = len(ordered) / 2
    cut = max(
        range(1, len(ordered)),
        key=lambda at: ((along[at] - along[at - 1]) * min(at, len(ordered) - at), -abs(at - middle)),
    )
    return [ordered[:cut], ordered[cut:]]


def _class(
    problem: Problem, cell: Sequence[int], rank: float
) -> tuple[Demand, tuple[int, ...]]:
    """One demand for all members, with the choices that any pool can run."""
    demands = [problem.demands[number] for number in cell]
    choices, behind = [], []
    for position, choice in enumerate(demands[0].choices):
        if any(
            pool.gpu_type == choice.gpu_type and pool.nodes_taken(choice.shape) is not None
            for pool in problem.pools
        ):
            shapes = [demand.choices[position].shape for demand in demands]
            choices.append(Choice(choice.gpu_type, _between(shapes, rank)))
            behind.append(position)
    count = sum(demand.count for demand in demands)
    return Demand(tuple(choices), demands[0].quarters, count), tuple(behind)


def _between(shapes: Sequence[Shape], rank: float) -> Shape:
    """The size of this rank in each resource."""
    at = round(rank * (len(shapes) - 1))
    return Shape(
        shapes[0].gpus,
        sorted(shape.cpus for shape in shapes)[at],
        sorted(shape.memory_mb for shape in shapes)[at],
        shapes[0].spans,
    )
