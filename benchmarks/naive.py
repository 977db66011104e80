"""The textbook program: a binary for every job on every node, and one for every node bought.

It stands for what a first attempt looks like, and it is helped where that is cheap: jobs that take
whole nodes need no node of their own, and there are no more nodes to choose from than first-fit
decreasing would open, or than its cost would buy. It knows no hours: a run holds its node all
quarter.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.greedy import first_fit_decreasing, nodes_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.packing.problem import Mode, Problem

__all__ = ["NaiveResult", "solve_naive"]


@dataclass(frozen=True, slots=True)
class NaiveResult:
    """How far the textbook program came."""

    seconds: float
    """Building and solving."""
    cost_cents: float
    bound_cents: float
    nodes: int
    """Of the plan that was found; 0 where none was."""

    @property
    def gap(self) -> float:
        """(cost - bound) / cost; 1 where nothing was found."""
        if self.cost_cents == float("inf"):
            return 1.0
        return max(0.0, (self.cost_cents - self.bound_cents) / self.cost_cents)


def solve_naive(problem: Problem, time_limit_s: float, relative_gap: float) -> NaiveResult:
    """Build and solve with PuLP and HiGHS on one thread; one quarter, unlimited offers to buy."""
    import pulp  # noqa: PLC0415 - the other benchmarks measure processes that do without

    started = time.perf_counter()
    naive = _Naive(problem, pulp)
    solver = pulp.HiGHS(msg=False, threads=1, timeLimit=time_limit_s, gapRel=relative_gap)
    naive.program.solve(solver)
    info = naive.program.solverModel.getInfo()
    seconds = time.perf_counter() - started
    cost = float(info.objective_function_value)
    nodes = naive.nodes() if cost < float("inf") else 0
    return NaiveResult(seconds, cost, float(info.mip_dual_bound), nodes)


class _Naive:
    def __init__(self, problem: Problem, pulp: Any) -> None:  # noqa: ANN401 - PuLP has no types
        self._problem, self._pulp = problem, pulp
        self.program = pulp.LpProblem("naive", pulp.LpMinimize)
        self._cost: list[tuple[Any, float]] = []
        self._nodes: list[tuple[Any, int]] = []
        self._loads: dict[tuple[int, int], list[list[tuple[Any, float]]]] = {}
        self._open_nodes()
        for number, modes in enumerate(_units(problem)):
            self._place(number, modes)
        self._limit()
        self.program += pulp.LpAffineExpression(self._cost)

    def nodes(self) -> int:
        """Nodes that the solution takes."""
        return sum(round(way.varValue) * nodes for way, nodes in self._nodes)

    def _binary(self, name: str) -> Any:  # noqa: ANN401 - PuLP has no types
        return self.program.add_variable(name, 0, 1, self._pulp.LpInteger)

    def _open_nodes(self) -> None:
        most = first_fit_decreasing(self._problem).cost_cents
        self._opened: dict[tuple[int, int], Any] = {}
        for supply in self._problem.supplies:
            price = supply.unit_cost_cents[0] or 0
            nodes = min(nodes_for(self._problem, supply.pool), most // price)
            for node in range(nodes):
                opened = self._binary(f"open_{supply.pool}_{node}")
                self._opened[supply.pool, node] = opened
                self._loads[supply.pool, node] = [[], [], []]
                self._cost.append((opened, price))
                self._nodes.append((opened, 1))

    def _place(self, number: int, modes: tuple[Mode, ...]) -> None:
        """A unit runs once: on a node that it shares, or on whole nodes that it pays for."""
        ways = []
        for position, mode in enumerate(modes):
            shape = mode.shape
            for supply in self._problem.supplies:
                pool = self._problem.pools[supply.pool]
                if pool.gpu_type != mode.gpu_type:
                    continue
                span = pool.nodes_taken(shape)
                if span:
                    whole = self._binary(f"whole_{number}_{position}_{supply.pool}")
                    self._cost.append((whole, span * (supply.unit_cost_cents[0] or 0)))
                    self._nodes.append((whole, span))
                    ways.append(whole)
                if span == 0:
                    ways += self._share(number, position, supply.pool, mode)
        self.program += self._pulp.LpConstraint(
            self._pulp.LpAffineExpression([(way, 1) for way in ways]),
            self._pulp.LpConstraintEQ,
            f"once_{number}",
            1,
        )

    def _share(self, number: int, position: int, pool: int, mode: Mode) -> Iterator[Any]:
        shape = mode.shape
        for (owner, node), loads in self._loads.items():
            if owner != pool:
                continue
            here = self._binary(f"here_{number}_{position}_{pool}_{node}")
            for load, size in zip(
                loads, (shape.gpus, shape.cpus, shape.memory_mb / 1000), strict=True
            ):
                load.append((here, size))
            yield here

    def _limit(self) -> None:
        for (pool, node), loads in self._loads.items():
            offered = self._problem.pools[pool].node
            sizes = (offered.gpus, offered.cpus, offered.memory_mb / 1000)
            for resource, (load, size) in enumerate(zip(loads, sizes, strict=True)):
                terms = [*load, (self._opened[pool, node], -size)]
                self.program += self._pulp.LpConstraint(
                    self._pulp.LpAffineExpression(terms),
                    self._pulp.LpConstraintLE,
                    f"fits_{pool}_{node}_{resource}",
                    0,
                )


def _units(problem: Problem) -> Iterator[tuple[Mode, ...]]:
    for job_class in problem.classes:
        for _ in range(job_class.count):
            yield job_class.modes
