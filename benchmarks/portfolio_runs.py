"""Times the search on portfolios: seconds from problem to layouts, gap, and what it saves."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.divided import divided
from benchmarks.greedy import first_fit_decreasing
from benchmarks.naive import NaiveResult, solve_naive
from benchmarks.portfolios import catalogue, quarterly, unique, weekly
from benchmarks.scenario import write_weeks
from benchmarks.table import Row
from planner.errors import LimitError
from planner.inputs.load import load_inputs
from planner.packing.answer import answer
from planner.packing.search import search
from planner.packing.statement.translate import translate
from planner.plan.make import make_plan
from planner.sizing.sizers import Sizers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from planner.packing.problem import Problem

__all__ = [
    "against_naive",
    "many_alike",
    "no_two_alike",
    "on_partitions",
    "over_quarters",
    "week_by_week",
]

PROOF = 1e-4
"""The gap that counts as proved."""
SEEDS = range(3)


@dataclass(frozen=True, slots=True)
class Run:
    """One search."""

    seconds: float
    gap: float
    cost_cents: int

    def closed(self, gap: float, seconds: float) -> bool:
        """Whether gap and time are within a target."""
        return self.gap <= gap and self.seconds <= seconds


def timed(problem: Problem, asked_gap: float = PROOF, time_limit_s: float = 60.0) -> Run:
    """Build, search and lay out; a search that ends without a plan has a gap of 1."""
    started = time.perf_counter()
    try:
        found = search(problem, asked_gap=asked_gap, time_limit_s=time_limit_s)
        solution = answer(problem, found, asked_gap)
    except LimitError:
        return Run(time.perf_counter() - started, 1.0, 0)
    return Run(time.perf_counter() - started, solution.gap, solution.cost_cents)


def median_of(problem: Problem, times: int) -> Run:
    """The run of middle length, so that a single disturbance counts for nothing."""
    return sorted((timed(problem) for _ in range(times)), key=lambda run: run.seconds)[times // 2]


def many_alike(sizes: tuple[int, ...]) -> Iterator[Row]:
    """Catalogue portfolios, proved, against first-fit decreasing."""
    timed(catalogue(20, 9))  # loads the solver
    for jobs in sizes:
        seconds = 0.5 if jobs <= 1000 else 2.0
        runs, dearer = [], []
        for seed in SEEDS:
            problem = catalogue(jobs, seed)
            runs.append(timed(problem))
            dearer.append(first_fit_decreasing(problem) / max(runs[-1].cost_cents, 1) - 1)
        measured = f"{_seconds(runs)}; gap {_gap(runs)}; first-fit {_dearer(dearer)}"
        yield Row(
            f"catalogue, {jobs:,} jobs",
            measured,
            f"≤ {seconds} s; gap ≤ 0.01 %; never dearer",
            all(run.closed(PROOF, seconds) for run in runs) and min(dearer) >= 0,
        )


def against_naive(sizes: tuple[int, ...], time_limit_s: float) -> Iterator[Row]:
    """The same portfolio by the textbook program, in the same run."""
    for jobs in sizes:
        problem = catalogue(jobs, 0)
        ours = median_of(problem, 5)
        naive = solve_naive(problem, time_limit_s, PROOF)
        ratio = naive.seconds / ours.seconds
        yield Row(
            f"catalogue, {jobs} jobs, seed 0: a binary for each job and node",
            f"{_naive(naive)}; {ours.seconds:.3f} s here: {ratio:,.0f} times",
            "≥ 200 times",
            ratio >= 200 and ours.gap <= PROOF,
        )


def over_quarters() -> Iterator[Row]:
    """Growth over four quarters, nodes owned, bought and rented."""
    yield _within("quarterly, 200 jobs × 4 quarters", quarterly, 200, 1e-3, 10.0)


def on_partitions() -> Iterator[Row]:
    """Serving jobs, most of them too small for a whole GPU."""
    yield _within("divided, 2,000 jobs", divided, 2000, 1e-3, 20.0)


def week_by_week() -> Iterator[Row]:
    """Runs of some weeks in four quarters, with sites, spare nodes, power and budgets."""
    jobs, gap, seconds = 200, 5e-3, 30.0
    what = "scenario files, 200 jobs × 4 quarters × 13 weeks, seeds 0 to 9"
    yield _within(what, _scenario_in_weeks, jobs, gap, seconds, range(10))
    archetypes = _within("the same of archetypes, seeds 0 to 2", weekly, jobs, gap, seconds)
    yield replace(archetypes, ahead=True)
    for name in ("quarterly", "data-centre"):
        path = Path(__file__).resolve().parent.parent / "scenarios" / f"{name}.yaml"
        question = load_inputs(path, settings=("policies.time=weeks",))
        started = time.perf_counter()
        proof = make_plan(question, time_limit_s=30.0).proof
        took = time.perf_counter() - started
        yield Row(
            f"`scenarios/{name}.yaml`, with `policies.time: weeks`",
            f"{took:.1f} s; {proof.status}; gap {proof.gap:.2%}".replace("%", " %"),
            "≤ 30 s; proved",
            took <= 30.0 and proof.status == "proved",
        )


def _scenario_in_weeks(jobs: int, seed: int) -> Problem:
    """What the packing is asked for a scenario file, by shipped models, rules and prices."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weeks.yaml"
        write_weeks(path, jobs, seed)
        inputs = load_inputs(path)
    return translate(inputs, Sizers().portfolio(inputs)).problem


def no_two_alike(sizes: tuple[int, ...]) -> Iterator[Row]:
    """Every job unique in cores and host memory."""
    for jobs in sizes:
        gap = PROOF if jobs <= 200 else 6e-3
        yield _within(f"unique, {jobs:,} jobs", unique, jobs, gap, 5.0)


def _within(
    what: str,
    generator: Callable[[int, int], Problem],
    jobs: int,
    gap: float,
    seconds: float,
    seeds: Iterable[int] = SEEDS,
) -> Row:
    runs = [timed(generator(jobs, seed), gap, seconds) for seed in seeds]
    return Row(
        what,
        f"{_seconds(runs)}; gap {_gap(runs)}",
        f"≤ {seconds:g} s; gap ≤ {gap:.2%}".replace("%", " %"),
        all(run.closed(gap, seconds) for run in runs),
    )


def _seconds(runs: list[Run]) -> str:
    """Each seed's time."""
    return " / ".join(f"{run.seconds:.2f}" for run in runs) + " s"


def _gap(runs: list[Run]) -> str:
    worst = max(run.gap for run in runs)
    return "0" if worst == 0 else f"{worst:.4%}".replace("%", " %")


def _dearer(shares: list[float]) -> str:
    return " / ".join(f"{share:+.1%}" for share in shares).replace("%", "") + " %"


def _naive(result: NaiveResult) -> str:
    gap = "proved" if result.gap <= PROOF else f"gap {result.gap:.2%}".replace("%", " %")
    return f"{result.seconds:.1f} s ({result.binaries:,} binaries, {gap})"
