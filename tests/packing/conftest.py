"""What the tests of packing share: the search held against trying everything, small builders.

Neither `exhaustive` nor `checker` uses anything of `planner.packing` but the words of its problem.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest

from planner.errors import LimitError
from planner.packing.answer import answer
from planner.packing.incumbent import Infeasible
from planner.packing.problem import (
    Choice,
    Demand,
    Pool,
    Problem,
    Shape,
    Supply,
)
from planner.packing.search import search
from planner.packing.solution import Status
from tests.packing.checker import Checker
from tests.packing.exhaustive import Exhaustive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from planner.packing.solution import Solution


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

    def reserve(self, *cents: int | None, term: int, maximum: int | None = None) -> Supply:
        return Supply("reserve-0", "reserve", 0, maximum, cents, term)

    def rent(self, *cents: int | None, pool: int = 0, maximum: int | None = None) -> Supply:
        return Supply(f"rent-{pool}", "rent", pool, maximum, cents)

    def units(
        self,
        count: int,
        *choices: tuple[str, int, int, int],
        quarters: Sequence[int] = (0,),
        spans: bool = True,
        copies: Sequence[int] = (),
    ) -> Demand:
        return Demand(
            tuple(
                Choice(gpu_type, Shape(gpus, cpus, memory_mb, spans), times)
                for (gpu_type, gpus, cpus, memory_mb), times in zip(
                    choices, copies or (1,) * len(choices), strict=True
                )
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
    return cache(lambda problem: Exhaustive(problem).least_cost())


@pytest.fixture(scope="session")
def faults() -> Callable[[Problem, Solution], list[str]]:
    """Everything that is wrong with a solution, in words."""
    return lambda problem, solution: list(Checker(problem, solution).faults())


@pytest.fixture
def plan(
    solve: Callable[..., Solution | None],
    least_cost: Callable[[Problem], int | None],
    faults: Callable[[Problem, Solution], list[str]],
) -> Callable[[Problem], Solution | None]:
    """The proved plan, sound and as cheap as trying everything finds; None if there is none."""

    def planned(problem: Problem) -> Solution | None:
        solution = solve(problem)
        assert (solution and solution.cost_cents) == least_cost(problem)
        if solution is not None:
            assert not faults(problem, solution)
            assert solution.status is Status.PROVED
        return solution

    return planned


@pytest.fixture(scope="session")
def agree(
    solve: Callable[..., Solution | None],
    least_cost: Callable[[Problem], int | None],
    faults: Callable[[Problem, Solution], list[str]],
) -> Callable[..., Counter[str]]:
    """Compare the search with trying everything, problem by problem; what was seen."""

    def compared(problems: Iterable[Problem], *, asked_gap: float = 0.0) -> Counter[str]:
        seen: Counter[str] = Counter()
        for number, problem in enumerate(problems):
            best = least_cost(problem)
            try:
                solution = solve(problem, asked_gap=asked_gap)
            except LimitError:  # neither a plan nor a proof that there is none
                assert best is None, f"problem {number} has a plan that costs {best}"
                seen["undecided"] += 1
                continue
            if solution is None:
                assert best is None, f"problem {number} has a plan that costs {best}"
                seen["infeasible"] += 1
                continue
            assert not faults(problem, solution), f"problem {number}"
            assert best is not None, f"problem {number} has no plan"
            assert solution.bound_cents <= best <= solution.cost_cents, f"problem {number}"
            if solution.status is Status.PROVED:
                assert solution.cost_cents == best, f"problem {number}"
            seen[solution.status] += 1
            seen["moves"] += any(solution.moved)
        return seen

    return compared
