"""What the tests of packing share: the search held against trying everything, small builders.

What tries everything uses nothing of `planner.packing` but the words of its problem.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from planner.errors import InfeasibleError
from planner.packing import Translation
from planner.packing import solve as packed
from planner.packing.answer import answer
from planner.packing.incumbent import Infeasible
from planner.packing.problem import (
    JobClass,
    Mode,
    Pool,
    PriceTier,
    Problem,
    Shape,
    Supply,
)
from planner.packing.search import search
from planner.packing.solution import Solution, Status
from tests.packing.checker import Checker
from tests.packing.least_cost import least_cost as tried
from tests.packing.least_cost import without


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

    def levels(self, dear: int, cheap: int) -> list[Supply]:
        """An offer to buy at one price, and from four nodes on at another."""
        return [
            replace(self.buy(dear), lot=PriceTier(1, 3), offer=0),
            replace(self.buy(cheap), lot=PriceTier(4, None), offer=0),
        ]

    def units(
        self,
        count: int,
        *modes: tuple[str, int, int, int],
        quarters: Sequence[int] = (0,),
        spans: bool = True,
        copies: Sequence[int] = (),
    ) -> JobClass:
        return JobClass(
            tuple(
                Mode(gpu_type, Shape(gpus, cpus, memory_mb, spans), times)
                for (gpu_type, gpus, cpus, memory_mb), times in zip(
                    modes, copies or (1,) * len(modes), strict=True
                )
            ),
            tuple(quarters),
            count,
        )

    def problem(
        self,
        pools: Sequence[Pool],
        supplies: Sequence[Supply],
        classes: Sequence[JobClass],
        quarters: int = 1,
    ) -> Problem:
        return Problem(quarters, tuple(pools), tuple(supplies), tuple(classes), 0)


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
    return tried


@pytest.fixture(scope="session")
def faults() -> Callable[[Problem, Solution], list[str]]:
    """Everything that is wrong with a solution, in words."""

    def found(problem: Problem, solution: Solution) -> list[str]:
        released = {
            number: solution.acquired[number]
            for number, supply in enumerate(problem.supplies)
            if supply.releases
        }
        if released:
            kept = enumerate(solution.acquired)
            none = (0,) * problem.quarters
            acquired = tuple(none if number in released else nodes for number, nodes in kept)
            problem, solution = without(problem, released), replace(solution, acquired=acquired)
        return list(Checker(problem, solution).faults())

    return found


@pytest.fixture
def plan(
    solve: Callable[..., Solution | None],
    faults: Callable[[Problem, Solution], list[str]],
) -> Callable[[Problem], Solution | None]:
    """The proved plan, sound and as cheap as trying everything finds; None if there is none."""

    def planned(problem: Problem) -> Solution | None:
        solution = solve(problem)
        assert (solution and solution.cost_cents) == tried(problem)
        if solution is not None:
            assert not faults(problem, solution)
            assert solution.status is Status.PROVED
        return solution

    return planned


def translated(problem: Problem, names: Sequence[str] = ()) -> Translation:
    """The problem with a job for each class, from 2027Q1 on; names that come twice are one job."""
    names = names or [f"job-{number}" for number in range(len(problem.classes))]
    members = tuple(
        tuple((name, unit) for unit in range(1, job_class.count + 1))
        for name, job_class in zip(names, problem.classes, strict=True)
    )
    return Translation(problem, members, ("2027Q1", "2027Q2", "2027Q3")[: problem.quarters])


@pytest.fixture(scope="session")
def refused() -> Callable[..., InfeasibleError]:
    """What the user is told of a problem that no plan solves; one job for each job class."""

    def raised(problem: Problem, *names: str) -> InfeasibleError:
        with pytest.raises(InfeasibleError) as caught:
            packed(translated(problem, names))
        return caught.value

    return raised
