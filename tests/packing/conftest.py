"""What the tests of packing share: an exhaustive solver, a checker of solutions, small builders.

Neither the solver nor the checker uses anything of `planner.packing` but the words of its problem.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING

import pytest

from planner.packing.answer import answer
from planner.packing.problem import Choice, Demand, Pool, Problem, Shape, Supply
from planner.packing.search import Infeasible, search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from planner.packing.problem import Solution

Nodes = tuple[tuple[int, ...], ...]
"""pool × quarter: nodes in service."""


class Build:
    """Problems in a few words; a node has 8 GPUs, 80 cores and 800 GB unless told otherwise."""

    def pool(
        self,
        gpu_type: str = "h100",
        *,
        node: tuple[int, int, int] = (8, 80, 800_000),
        owned: int = 0,
        spare: int = 0,
        fabric: bool = True,
        site: str = "main",
    ) -> Pool:
        return Pool(f"node-{gpu_type}", site, gpu_type, Shape(*node), owned, spare, fabric)

    def buy(self, *cents: int | None, pool: int = 0, maximum: int | None = None) -> Supply:
        return Supply(f"buy-{pool}", "buy", pool, maximum, cents)

    def rent(self, *cents: int | None, pool: int = 0, maximum: int | None = None) -> Supply:
        return Supply(f"rent-{pool}", "rent", pool, maximum, cents)

    def units(
        self,
        count: int,
        *choices: tuple[str, int, int, int],
        quarters: Sequence[int] = (0,),
        spans: bool = True,
    ) -> Demand:
        return Demand(
            tuple(
                Choice(gpu_type, Shape(gpus, cpus, memory_mb, spans))
                for gpu_type, gpus, cpus, memory_mb in choices
            ),
            tuple(quarters),
            count,
        )

    def problem(
        self,
        pools: Sequence[Pool],
        supplies: Sequence[Supply],
        demands: Sequence[Demand],
        quarters: int = 1,
    ) -> Problem:
        return Problem(quarters, tuple(pools), tuple(supplies), tuple(demands), 0)


@pytest.fixture(scope="session")
def build() -> Build:
    return Build()


@pytest.fixture(scope="session")
def solve() -> Callable[..., Solution | None]:
    """Search and answer; None where that proves that there is no plan."""

    def solved(
        problem: Problem, *, asked_gap: float = 0.0, time_limit_s: float = 20.0
    ) -> Solution | None:
        try:
            found = search(problem, asked_gap=asked_gap, time_limit_s=time_limit_s)
        except Infeasible:
            return None
        return answer(problem, found, asked_gap)

    return solved


@pytest.fixture(scope="session")
def least_cost() -> Callable[[Problem], int | None]:
    """The cost of the best plan by trying everything; None if there is no plan."""
    return lambda problem: _Exhaustive(problem).least_cost()


@pytest.fixture(scope="session")
def faults() -> Callable[[Problem, Solution], list[str]]:
    """Everything that is wrong with a solution, in words."""
    return lambda problem, solution: list(_Checker(problem, solution).faults())


class _Exhaustive:
    """Tries every number of nodes and every way to run and place the units."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._fits = lru_cache(maxsize=None)(self._place)

    def least_cost(self) -> int | None:
        ways = list(self._ways())
        for cost, nodes in sorted(self._fleets()):
            if any(self._runs(way, nodes) for way in ways):
                return cost + self._problem.fixed_cost_cents
        return None

    def _ways(self) -> Iterator[tuple[tuple[Choice, ...], ...]]:
        """Which choice each unit takes; units that are alike are not told apart."""
        yield from product(
            *(
                combinations_with_replacement(demand.choices, demand.count)
                for demand in self._problem.demands
            )
        )

    def _fleets(self) -> Iterator[tuple[int, Nodes]]:
        """The cheapest way to each number of nodes by pool and quarter that could be of use."""
        pools = [self._reachable(number) for number in range(len(self._problem.pools))]
        for picked in product(*(pool.items() for pool in pools)):
            yield sum(cost for _, cost in picked), tuple(nodes for nodes, _ in picked)

    def _reachable(self, number: int) -> dict[tuple[int, ...], int]:
        pool, quarters = self._problem.pools[number], self._problem.quarters
        most = pool.spare + sum(
            demand.count
            * max((1, *(-(-choice.shape.gpus // pool.node.gpus) for choice in demand.choices)))
            for demand in self._problem.demands
        )
        reached = {(pool.owned,) * quarters: 0}
        for supply in self._problem.supplies:
            if supply.pool == number:
                reached = dict(self._extended(reached, supply, most))
        return reached

    def _extended(
        self, reached: dict[tuple[int, ...], int], supply: Supply, most: int
    ) -> dict[tuple[int, ...], int]:
        best: dict[tuple[int, ...], int] = {}
        for amounts in self._amounts(supply, most):
            cost = sum(
                nodes * (cents or 0)
                for nodes, cents in zip(amounts, supply.unit_cost_cents, strict=True)
            )
            for before, spent in reached.items():
                served = tuple(
                    have + (sum(amounts[: q + 1]) if supply.kind == "buy" else amounts[q])
                    for q, have in enumerate(before)
                )
                if max(served) <= max(most, *before):
                    best[served] = min(best.get(served, spent + cost), spent + cost)
        return best

    def _amounts(self, supply: Supply, most: int) -> Iterator[tuple[int, ...]]:
        cap = most if supply.maximum is None else min(most, supply.maximum)
        allowed = [
            range(cap + 1) if cents is not None else (0,) for cents in supply.unit_cost_cents
        ]
        for amounts in product(*allowed):
            if supply.kind == "rent" or sum(amounts) <= cap:
                yield amounts

    def _runs(self, way: tuple[tuple[Choice, ...], ...], nodes: Nodes) -> bool:
        for quarter in range(self._problem.quarters):
            active = sorted(
                (
                    choice
                    for demand, choices in zip(self._problem.demands, way, strict=True)
                    if quarter in demand.quarters
                    for choice in choices
                ),
                key=lambda choice: (choice.shape, choice.gpu_type),
                reverse=True,
            )
            usable = tuple(
                max(0, here[quarter] - pool.spare)
                for pool, here in zip(self._problem.pools, nodes, strict=True)
            )
            empty = tuple(
                (pool.node,) * count
                for pool, count in zip(self._problem.pools, usable, strict=True)
            )
            if not self._fits(tuple(active), empty):
                return False
        return True

    def _place(self, waiting: tuple[Choice, ...], free: tuple[tuple[Shape, ...], ...]) -> bool:
        """Whether the units fit into what is free of each node, the first unit first."""
        if not waiting:
            return True
        unit, rest = waiting[0], waiting[1:]
        return any(
            self._fits(rest, after)
            for number, pool in enumerate(self._problem.pools)
            if pool.gpu_type == unit.gpu_type
            for after in self._after(number, pool, unit.shape, free)
        )

    def _after(
        self, number: int, pool: Pool, shape: Shape, free: tuple[tuple[Shape, ...], ...]
    ) -> Iterator[tuple[tuple[Shape, ...], ...]]:
        nodes = free[number]
        for changed in self._seats(pool, shape, nodes):
            yield (*free[:number], tuple(sorted(changed)), *free[number + 1 :])

    def _seats(self, pool: Pool, shape: Shape, nodes: tuple[Shape, ...]) -> Iterator[list[Shape]]:
        if shape.gpus >= pool.node.gpus:
            yield from self._whole(pool, shape, list(nodes))
            return
        for node in set(nodes):
            left = Shape(
                node.gpus - shape.gpus, node.cpus - shape.cpus, node.memory_mb - shape.memory_mb
            )
            if min(left.gpus, left.cpus, left.memory_mb) >= 0:
                others = list(nodes)
                others.remove(node)
                yield [*others, left]

    def _whole(self, pool: Pool, shape: Shape, nodes: list[Shape]) -> Iterator[list[Shape]]:
        span, over = divmod(shape.gpus, pool.node.gpus)
        fits = shape.cpus <= span * pool.node.cpus and shape.memory_mb <= span * pool.node.memory_mb
        joined = span == 1 or (pool.fabric and shape.spans)
        if over or not joined or not fits or nodes.count(pool.node) < span:
            return
        for _ in range(span):
            nodes.remove(pool.node)
        yield [*nodes, *[Shape(0, 0, 0)] * span]


@dataclass
class _Checker:
    """Re-derives from a solution's layouts that it is feasible and costs what it says."""

    problem: Problem
    solution: Solution

    def faults(self) -> Iterator[str]:
        yield from self._bounds()
        yield from self._assignment()
        for quarter in range(self.problem.quarters):
            yield from self._placed(quarter)
            for number in range(len(self.problem.pools)):
                yield from self._nodes(quarter, number)
                yield from self._capacity(quarter, number)

    def _bounds(self) -> Iterator[str]:
        cost = self.problem.fixed_cost_cents
        for number, supply in enumerate(self.problem.supplies):
            bought, rented = self.solution.bought[number], self.solution.rented[number]
            own, other = (bought, rented) if supply.kind == "buy" else (rented, bought)
            if any(other) or min(own) < 0:
                yield f"{supply.name}: acquired in the wrong way"
            limited = sum(own) if supply.kind == "buy" else max(own)
            if supply.maximum is not None and limited > supply.maximum:
                yield f"{supply.name}: {limited} of at most {supply.maximum}"
            for nodes, cents in zip(own, supply.unit_cost_cents, strict=True):
                if nodes and cents is None:
                    yield f"{supply.name}: in service before its lead time"
                cost += nodes * (cents or 0)
        if cost != self.solution.cost_cents:
            yield f"costs {cost}, says {self.solution.cost_cents}"
        if self.solution.bound_cents > self.solution.cost_cents:
            yield "bound above cost"

    def _assignment(self) -> Iterator[str]:
        for number, (demand, taken) in enumerate(
            zip(self.problem.demands, self.solution.assigned, strict=True)
        ):
            if sum(taken) != demand.count or min(taken) < 0:
                yield f"demand {number}: {taken} assigned of {demand.count}"

    def _placed(self, quarter: int) -> Iterator[str]:
        placed: Counter[tuple[int, int]] = Counter()
        for layouts in self.solution.layouts[quarter]:
            for layout in layouts:
                for owner, choice, units in layout.parts:
                    placed[owner, choice] += units * layout.count
        for number, (demand, taken) in enumerate(
            zip(self.problem.demands, self.solution.assigned, strict=True)
        ):
            for position, units in enumerate(taken):
                due = units if quarter in demand.quarters else 0
                if placed[number, position] != due:
                    yield f"demand {number}.{position}: {placed[number, position]} placed of {due}"

    def _nodes(self, quarter: int, number: int) -> Iterator[str]:
        pool = self.problem.pools[number]
        service = pool.owned
        for index, supply in enumerate(self.problem.supplies):
            if supply.pool == number:
                service += sum(self.solution.bought[index][: quarter + 1])
                service += self.solution.rented[index][quarter]
        used = sum(layout.count * layout.span for layout in self.solution.layouts[quarter][number])
        if used and used + pool.spare > service:
            yield f"{pool.name}: {used} in use and {pool.spare} spare of {service} in {quarter}"

    def _capacity(self, quarter: int, number: int) -> Iterator[str]:
        pool = self.problem.pools[number]
        for layout in self.solution.layouts[quarter][number]:
            load: defaultdict[str, int] = defaultdict(int)
            for demand, choice, units in layout.parts:
                taken = self.problem.demands[demand].choices[choice]
                load["gpus"] += units * taken.shape.gpus
                load["cpus"] += units * taken.shape.cpus
                load["memory_mb"] += units * taken.shape.memory_mb
                if layout.span > 1 and not taken.shape.spans:
                    yield f"{pool.name}: a unit spans that may not"
                if taken.gpu_type != pool.gpu_type:
                    yield f"{pool.name} holds a unit for {taken.gpu_type}"
            for name, amount in load.items():
                if amount > layout.span * getattr(pool.node, name):
                    yield f"{pool.name}: {amount} {name} on {layout.span} nodes"
            if layout.span > 1:
                alone = sum(units for _, _, units in layout.parts) == 1
                if not alone or not pool.fabric or load["gpus"] != layout.span * pool.node.gpus:
                    yield f"{pool.name}: a span of {layout.span} nodes is not one unit's"
