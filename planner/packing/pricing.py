"""The most valuable timetable of one node: an integer program over pieces and their first weeks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing.problem import WEEKS
from planner.packing.program import Program
from planner.packing.solver import solve_integer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.packing.problem import Shape
    from planner.packing.timetable import Started

__all__ = ["Pricing"]

_TIME_S, _NODES = 2.0, 400


class Pricing:
    """Timetables of one kind of node."""

    def __init__(
        self,
        node: Shape,
        shapes: Sequence[Shape],
        active: Sequence[int],
        most: Sequence[int] | None = None,
    ) -> None:
        """`active` are the shapes that may be used, `most` says how often each may be at most."""
        self._program = Program()
        self._begun: dict[Started, int] = {}
        for index in active:
            mine = [self._program.variable("start", integer=True) for _ in shapes[index].run.starts]
            for week, start in zip(shapes[index].run.starts, mine, strict=True):
                self._begun[index, week] = start
            if most is not None:
                self._program.row("most", dict.fromkeys(mine, 1.0), "<=", most[index])
        running = [
            {
                begun
                for begun in self._begun
                if begun[1] <= week < begun[1] + shapes[begun[0]].run.weeks
            }
            for week in range(WEEKS)
        ]
        offered = (node.gpus, node.cpus, node.memory_mb)
        sizes = {
            index: (shapes[index].gpus, shapes[index].cpus, shapes[index].memory_mb)
            for index in active
        }
        binding = _binding(offered, list(sizes.values()))
        stated: list[set[Started]] = []
        for begun in sorted(running, key=len, reverse=True):
            if any(begun <= other for other in stated):
                continue
            stated.append(begun)
            for resource in binding:
                load = {
                    self._begun[start]: sizes[start[0]][resource] / offered[resource]
                    for start in sorted(begun)
                    if sizes[start[0]][resource]
                }
                self._program.row("fits", load, "<=", 1.0)

    def best(self, prices: Mapping[int, float]) -> tuple[float, tuple[Started, ...]]:
        """What no timetable is worth more than, and the pieces of a good one."""
        costs = {index: -prices.get(begun[0], 0.0) for begun, index in self._begun.items()}
        answer = solve_integer(self._program.priced(costs), time_limit_s=_TIME_S, node_limit=_NODES)
        pieces = tuple(
            begun
            for begun, index in self._begun.items()
            if answer.values
            for _ in range(round(answer.values[index]))
        )
        return -answer.bound, pieces


def _binding(offered: tuple[int, ...], sizes: Sequence[tuple[int, ...]]) -> list[int]:
    """Resources of which no other is always taken in at least the same share."""
    kept: list[int] = []
    for resource in range(len(offered)):
        implied = any(
            all(
                size[resource] * offered[other] <= size[other] * offered[resource] for size in sizes
            )
            for other in kept
        )
        if not implied:
            kept.append(resource)
    return kept
