"""The most valuable timetable of one node: an integer program over pieces and their first weeks."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from planner.packing.layouts.dual import weights_by_order
from planner.packing.layouts.parts import fillings
from planner.packing.problem import WEEKS, WHOLE
from planner.packing.solvers.program import Program
from planner.packing.solvers.solver import solve_integer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.packing.layouts.timetable import Started
    from planner.packing.problem import Part, Pool, Shape

__all__ = ["Pricing"]

_TIME_S, _NODES = 2.0, 400


class Pricing:
    """Timetables of one kind of node."""

    def __init__(
        self,
        node: Shape,
        shapes: Sequence[Shape],
        active: Sequence[int],
        most: Sequence[int] | None,
        pool: Pool | None = None,
    ) -> None:
        """`active` are the shapes that may be used, `most` says how often each may be at most.

        Some may take parts of the GPUs of a `pool`.
        """
        self._program = Program()
        self._begun: dict[Started, int] = {}
        for index in active:
            mine = [self._program.variable("start", integer=True) for _ in shapes[index].run.starts]
            for week, start in zip(shapes[index].run.starts, mine, strict=True):
                self._begun[index, week] = start
            if most is not None:
                self._program.row("most", dict.fromkeys(mine, 1.0), "<=", most[index])
        self._keep_to(node, shapes, self._opened(pool, shapes) if pool else [])

    def _keep_to(self, node: Shape, shapes: Sequence[Shape], opened: Sequence[int]) -> None:
        """What runs in a week fits the node; of weeks, those in which most may run say enough."""
        offered = (node.gpus, node.cpus, node.memory_mb)
        sizes = {
            index: (shapes[index].whole_gpus, shapes[index].cpus, shapes[index].memory_mb)
            for index, _ in self._begun
        }
        binding = _binding(offered, list(sizes.values()))
        if opened and 0 not in binding:
            binding.append(0)
        for running in self._fullest_weeks(shapes):
            for resource in binding:
                load = {
                    self._begun[start]: sizes[start[0]][resource] / offered[resource]
                    for start in sorted(running)
                    if sizes[start[0]][resource]
                }
                if resource == 0:
                    load |= dict.fromkeys(opened, 1 / node.gpus)
                self._program.row("fits", load, "<=", 1.0)

    def _fullest_weeks(self, shapes: Sequence[Shape]) -> list[set[Started]]:
        """Pieces that may run in a week, of weeks in which no other has them all."""
        running = [
            {
                begun
                for begun in self._begun
                if begun[1] <= week < begun[1] + shapes[begun[0]].run.weeks
            }
            for week in range(WEEKS)
        ]
        fullest: list[set[Started]] = []
        for begun in sorted(running, key=len, reverse=True):
            if not any(begun <= other for other in fullest):
                fullest.append(begun)
        return fullest

    def _opened(self, pool: Pool, shapes: Sequence[Shape]) -> list[int]:
        """Variables that count the GPUs of a node that parts are taken of, as `opened` has them."""
        pieces: dict[Part, list[int]] = defaultdict(list)
        for begun, variable in self._begun.items():
            pieces[shapes[begun[0]].part].append(variable)
        profiles = sorted(part for part in pieces if part.profile)
        fills = {
            fill: self._program.variable("opened", integer=True)
            for fill in fillings(pool, profiles)
        }
        for part in profiles:
            load = {index: -float(dict(fill).get(part, 0)) for fill, index in fills.items()}
            self._program.row("parts", load | dict.fromkeys(pieces[part], 1.0), "<=", 0.0)
        shares = [part for part in sorted(pieces) if part != WHOLE and not part.profile]
        if not shares:
            return [*fills.values()]
        shared = self._program.variable("shared", integer=True)
        taken = [(0, part.memory_mb, 1) for part in shares]
        for _, weights in weights_by_order(taken, pool.shared_mb, 1):
            load = {shared: -1.0}
            for part, weight in zip(shares, weights, strict=True):
                load |= dict.fromkeys(pieces[part], weight)
            self._program.row("shared", load, "<=", 0.0)
        return [*fills.values(), shared]

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
