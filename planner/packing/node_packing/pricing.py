"""The most valuable filling of one node: a knapsack over GPUs, cores and host memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from planner.packing.node_packing.dual_feasible import weights_by_order
from planner.packing.node_packing.gpu_patterns import fillings
from planner.packing.node_packing.greedy import Pattern
from planner.packing.problem import WHOLE, Part, Pool, Shape
from planner.packing.solvers.program import Program
from planner.packing.solvers.solver import Effort, solve_integer

_TIME_S, _NODES, _GAP = 2.0, 400, 3e-3


class Pricing:
    """Fillings of one node; of a `pool` whose GPUs are divided, also by parts of them."""

    def __init__(
        self,
        node: Shape,
        shapes: Sequence[Shape],
        active: Sequence[int],
        most: Sequence[int] | None = None,
        pool: Pool | None = None,
    ) -> None:
        """`active` are the shapes that may be used, `most` says how often each may be at most."""
        self._effort: Effort = "usual" if pool else "branching"
        self._program = Program()
        self._used = {
            index: self._program.variable(
                "used", upper=None if most is None else most[index], integer=True
            )
            for index in active
        }
        opened = self._opened(pool, shapes) if pool else []
        loads = (
            {i: shapes[k].whole_gpus / node.gpus for k, i in self._used.items()},
            {i: shapes[k].cpus / max(node.cpus, 1) for k, i in self._used.items()},
            {i: shapes[k].memory_mb / max(node.memory_mb, 1) for k, i in self._used.items()},
        )
        loads[0].update(dict.fromkeys(opened, 1 / node.gpus))
        for load in loads:
            self._program.row("fits", {i: share for i, share in load.items() if share}, "<=", 1.0)

    def _opened(self, pool: Pool, shapes: Sequence[Shape]) -> list[int]:
        """Variables that count the GPUs of a node that parts are taken of, as `opened` has them."""
        pieces: dict[Part, list[int]] = defaultdict(list)
        for index, variable in self._used.items():
            pieces[shapes[index].part].append(variable)
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

    def best(self, prices: Mapping[int, float]) -> tuple[float, Pattern]:
        """What no filling is worth more than, and a good one."""
        costs = {variable: -prices.get(index, 0.0) for index, variable in self._used.items()}
        answer = solve_integer(
            self._program.priced(costs),
            time_limit_s=_TIME_S,
            relative_gap=_GAP,
            node_limit=_NODES,
            effort=self._effort,
        )
        pattern = tuple(
            (index, units)
            for index, variable in sorted(self._used.items())
            if answer.values and (units := round(answer.values[variable]))
        )
        return -answer.bound, pattern
