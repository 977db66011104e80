"""Times the search on portfolios: seconds from problem to layouts, gap, and what it saves."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.divided import divided
from benchmarks.greedy import first_fit_decreasing
from benchmarks.portfolios import catalogue, quarterly, runs_beside, unique
from benchmarks.start import starts
from benchmarks.table import Row
from planner.errors import LimitError
from planner.inputs.load import Question
from planner.packing.answer import answer
from planner.packing.search import search
from planner.planning.make import make_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planner.packing.problem import Problem

__all__ = [
    "PROOF",
    "many_alike",
    "no_two_alike",
    "on_partitions",
    "over_quarters",
    "runs_beside_endpoints",
    "shipped",
]

PROOF = 1e-4
"""The gap that counts as proved."""
SEEDS = range(3)
_SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"


@dataclass(frozen=True, slots=True)
class Run:
    """One search."""

    seconds: float
    gap: float
    cost_cents: int

    def closed(self, gap: float, most: float) -> bool:
        """Whether gap and time, in starts, are within a target."""
        return self.gap <= gap and starts(self.seconds) <= most


def timed(problem: Problem, asked_gap: float = PROOF, time_limit_s: float = 60.0) -> Run:
    """Build, search and lay out; a search that ends without a plan has a gap of 1."""
    started = time.perf_counter()
    try:
        found = search(problem, asked_gap=asked_gap, time_limit_s=time_limit_s)
        solution = answer(problem, found, asked_gap)
    except LimitError:
        return Run(time.perf_counter() - started, 1.0, 0)
    return Run(time.perf_counter() - started, solution.gap, solution.cost_cents)


def many_alike(sizes: tuple[int, ...]) -> Iterator[Row]:
    """Catalogue portfolios, proved, against first-fit decreasing."""
    timed(catalogue(20, 9))  # loads the solver
    for jobs in sizes:
        most = 6.0 if jobs <= 1000 else 15.0
        runs, dearer = [], []
        for seed in SEEDS:
            problem = catalogue(jobs, seed)
            runs.append(timed(problem))
            dearer.append(
                first_fit_decreasing(problem).cost_cents / max(runs[-1].cost_cents, 1) - 1
            )
        measured = f"{_starts(runs)}; gap {_gap(runs)}; first-fit {_dearer(dearer)}"
        yield Row(
            f"catalogue, {jobs:,} jobs",
            measured,
            f"≤ {most:g} R; gap ≤ 0.01 %; never dearer",
            all(run.closed(PROOF, most) for run in runs) and min(dearer) >= 0,
        )


def over_quarters() -> Iterator[Row]:
    """Growth over four quarters, nodes owned, bought and rented."""
    yield _within("quarterly, 200 jobs × 4 quarters", quarterly, 200, 1e-3, 16.0)


def on_partitions() -> Iterator[Row]:
    """Serving jobs, most of them too small for a whole GPU."""
    yield _within("divided, 2,000 jobs", divided, 2000, 1e-3, 60.0)


def runs_beside_endpoints(sizes: tuple[int, ...]) -> Iterator[Row]:
    """Runs by the hour in two quarters, with sites, spare nodes, power and budgets."""
    most = {80: 40.0, 500: 80.0, 5000: 250.0}
    for runs in sizes:
        what = f"{runs:,} runs beside 100 endpoints, 2 quarters"
        yield _within(what, runs_beside, runs, 5e-3, most[runs])


def shipped() -> Iterator[Row]:
    """Scenarios of the project, planned and checked in full."""
    for name in ("quickstart", "quarterly", "data-centre"):
        question = Question(_SCENARIOS / f"{name}.yaml").inputs()
        started = time.perf_counter()
        proof = make_plan(question).proof
        took = starts(time.perf_counter() - started)
        yield Row(
            f"`scenarios/{name}.yaml`",
            f"{took:.0f} R; {proof.status}; gap {proof.gap:.2%}".replace("%", " %"),
            "≤ 60 R; proved",
            took <= 60.0 and proof.status == "proved",
        )


def no_two_alike(sizes: tuple[int, ...]) -> Iterator[Row]:
    """Every job unique in cores and host memory."""
    for jobs in sizes:
        gap = PROOF if jobs <= 200 else 1e-2
        yield _within(f"unique, {jobs:,} jobs", unique, jobs, gap, 60.0)


def _within(
    what: str,
    generator: Callable[[int, int], Problem],
    jobs: int,
    gap: float,
    most: float,
) -> Row:
    """`most` is in starts."""
    runs = [timed(generator(jobs, seed), gap) for seed in SEEDS]
    return Row(
        what,
        f"{_starts(runs)}; gap {_gap(runs)}",
        f"≤ {most:g} R; gap ≤ {gap:.2%}".replace("%", " %"),
        all(run.closed(gap, most) for run in runs),
    )


def _starts(runs: list[Run]) -> str:
    """Each seed's time, in starts."""
    return " / ".join(f"{starts(run.seconds):.1f}" for run in runs) + " R"


def _gap(runs: list[Run]) -> str:
    worst = max(run.gap for run in runs)
    return "0" if worst == 0 else f"{worst:.4%}".replace("%", " %")


def _dearer(shares: list[float]) -> str:
    return " / ".join(f"{share:+.1%}" for share in shares).replace("%", "") + " %"
