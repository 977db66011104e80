"""One portfolio three ways: planned here, by the textbook program, and by first fit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from benchmarks.greedy import Bought, first_fit_decreasing
from benchmarks.naive import solve_naive
from benchmarks.portfolio_runs import PROOF
from benchmarks.portfolios import catalogue
from benchmarks.start import starts
from benchmarks.table import Row
from planner.packing.answer import answer
from planner.packing.search import search

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.packing.problem import Problem

__all__ = ["side_by_side"]


def side_by_side(naive_limit_s: float) -> Iterator[Row]:
    """Small and medium portfolios of one quarter."""
    for jobs in (20, 50, 100, 200, 500, 1000):
        most = 1 / 200 if jobs in (50, 100) else 1.0
        yield from _each_way(f"catalogue, {jobs:,} jobs", catalogue(jobs, 0), naive_limit_s, most)


def _each_way(what: str, problem: Problem, naive_limit_s: float, most: float) -> Iterator[Row]:
    """`most` is what planning may take of the time of the textbook program."""
    begun = time.perf_counter()
    plan = answer(problem, search(problem, asked_gap=PROOF, time_limit_s=60.0), PROOF)
    took = time.perf_counter() - begun
    ours = Bought(plan.cost_cents, sum(map(sum, plan.acquired)))
    naive = solve_naive(problem, naive_limit_s, PROOF)
    closed, share = plan.gap <= PROOF, took / naive.seconds
    proof = "proved" if closed else f"gap {plan.gap:.2%}".replace("%", " %")
    yield Row(
        f"{what}: planned",
        f"{ours.nodes} nodes; {proof}; {starts(took):.1f} R",
        "proved" if most == 1 else f"proved; {1 / most:,.0f} times as fast as the textbook program",
        closed and (most == 1 or share <= most),
    )
    found = Bought(round(naive.cost_cents), naive.nodes) if naive.nodes else None
    proof = "proved" if naive.gap <= PROOF else "not proved"
    ways = {
        "textbook program": (found, f"; {proof}; {starts(naive.seconds):,.0f} R"),
        "first-fit decreasing": (first_fit_decreasing(problem), ""),
    }
    for name, (other, more) in ways.items():
        measured = f"nothing found{more}"
        if other:
            dearer = other.cost_cents / ours.cost_cents - 1
            measured = f"{other.nodes} nodes; {dearer:+.1%}{more}".replace("%", " %")
        met = other is None or other.cost_cents >= ours.cost_cents * (1 - PROOF)
        yield Row(f"{what}: {name}", measured, "not cheaper", met)
