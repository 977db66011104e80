"""Cuts from time alone: what the pieces on a node weigh together, whenever each of them starts.

Two kinds. A product of a dual feasible function of size and one of time, where time is what a run
takes of some weeks at the least. And prices of weeks: what a run costs at the cheapest start.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from planner.packing.layouts.dual import ORDERS
from planner.packing.problem import WEEKS
from planner.packing.solvers.linear import solve_linear
from planner.packing.solvers.program import Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from planner.packing.problem import Shape

__all__ = ["Moments"]

_TOLERANCE = 1e-6

Weights = tuple[float, ...]


class Moments:
    """Weights by shape under which whatever fits a node, at whatever weeks, weighs at most 1."""

    def __init__(self, node: Shape, shapes: Sequence[Shape]) -> None:
        self._shapes = shapes
        offered = (node.gpus, max(node.cpus, 1), max(node.memory_mb, 1))
        sizes = [(shape.gpus, shape.cpus, shape.memory_mb) for shape in shapes]
        self._sizes = np.array(sizes, dtype=np.int64).reshape(len(shapes), 3)
        self._offered = np.array(offered, dtype=np.int64)

    def violated(self, usage: Sequence[float], nodes: float) -> Weights | None:
        """The weights of the first kind that weigh these pieces most, if that is over the nodes."""
        loads = (self._in_size * np.array(usage)) @ self._in_time.T
        size, time = divmod(int(loads.argmax()), len(self._in_time))
        if loads[size, time] <= nodes * (1 + _TOLERANCE) + _TOLERANCE:
            return None
        return tuple(float(weight) for weight in self._in_size[size] * self._in_time[time])

    def priced(self, usage: Sequence[float], nodes: float) -> Weights | None:
        """The weights of the second kind that weigh these pieces most, if over the nodes.

        They come from the linear program that spreads pieces over their weeks on fewest nodes.
        """
        program = Program()
        needed = program.variable("nodes", cost=1.0)
        load: list[dict[int, float]] = [{needed: -1.0} for _ in range(3 * WEEKS)]
        shares = self._sizes / self._offered
        for shape, units, share in zip(self._shapes, usage, shares, strict=True):
            if units <= _TOLERANCE:
                continue
            begun = {program.variable("start"): start for start in shape.run.starts}
            program.row("pieces", dict.fromkeys(begun, 1.0), ">=", units)
            for variable, start in begun.items():
                for week in range(start, start + shape.run.weeks):
                    for resource in range(3):
                        load[3 * week + resource][variable] = float(share[resource])
        first = len(program.rows)
        for terms in load:
            program.row("fits", terms, "<=", 0.0)
        solved = solve_linear(program)
        if solved is None or solved.objective <= nodes * (1 + _TOLERANCE) + _TOLERANCE:
            return None
        prices = np.maximum(0.0, -np.array(solved.rows[first:])).reshape(WEEKS, 3)
        weekly = shares @ (prices / prices.sum()).T
        sums = np.concatenate([np.zeros((len(self._shapes), 1)), weekly.cumsum(axis=1)], axis=1)
        return tuple(
            min(float(costs[start + shape.run.weeks] - costs[start]) for start in shape.run.starts)
            for shape, costs in zip(self._shapes, sums, strict=True)
        )

    @cached_property
    def _in_size(self) -> NDArray[np.float64]:
        """Functions of each share of the node, one below the other."""
        return _distinct(
            [
                _dual_feasible(self._sizes[:, resource], int(self._offered[resource]), order)
                for resource in range(3)
                for order in ORDERS
            ]
        )

    @cached_property
    def _in_time(self) -> NDArray[np.float64]:
        """Functions of what each run takes of some weeks, one below the other."""
        rows = []
        for first in range(WEEKS):
            for end in range(first + 1, WEEKS + 1):
                taken = [shape.run.least_within(first, end) for shape in self._shapes]
                rows += [
                    _dual_feasible(np.array(taken, dtype=np.int64), end - first, order)
                    for order in ORDERS
                ]
        return _distinct(rows)


def _dual_feasible(sizes: NDArray[np.int64], offered: int, order: int) -> NDArray[np.float64]:
    """The function of `planner.packing.layouts.dual` on many shares at once."""
    scaled = (order + 1) * sizes
    whole = (scaled % offered == 0) | (order == 0)
    return np.where(whole, sizes / offered, scaled // offered / max(order, 1))


def _distinct(rows: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Rows that no other one exceeds everywhere."""
    kept: list[NDArray[np.float64]] = []
    for row in np.unique(np.array(rows), axis=0)[::-1]:
        if not any((row <= other).all() for other in kept):
            kept.append(row)
    return np.array(kept)
