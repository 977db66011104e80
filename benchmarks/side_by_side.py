"""One portfolio four ways: planned here, by the textbook program, by first fit, and by a queue."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.backfill import first_in_first_out
from benchmarks.greedy import Bought, first_fit_decreasing
from benchmarks.naive import solve_naive
from benchmarks.portfolio_runs import PROOF
from benchmarks.portfolios import catalogue, runs_beside
from benchmarks.start import starts
from benchmarks.table import Row
from planner.packing.answer import answer
from planner.packing.search import search

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.packing.problem import Problem

__all__ = ["bought_in_one_quarter", "side_by_side"]


def side_by_side(naive_limit_s: float) -> Iterator[Row]:
    """Small and medium portfolios of one quarter, without and with runs by the hour."""
    for jobs in (20, 50, 100, 200, 500, 1000):
        most = 1 / 200 if jobs in (50, 100) else 1.0
        yield from _each_way(f"catalogue, {jobs:,} jobs", catalogue(jobs, 0), naive_limit_s, most)
    for runs, endpoints in ((80, 5), (80, 100), (500, 5), (500, 100)):
        problem = bought_in_one_quarter(runs_beside(runs, 0, endpoints))
        total = sum(job_class.count for job_class in problem.classes)
        what = f"{total - endpoints} runs beside {endpoints} endpoints"
        yield from _each_way(what, problem, naive_limit_s)


def bought_in_one_quarter(problem: Problem) -> Problem:
    """What is active in the first quarter, at one site on which nothing stands, and bought."""
    site = problem.pools[0].site
    here = [number for number, pool in enumerate(problem.pools) if pool.site == site]
    return replace(
        problem,
        quarters=1,
        pools=tuple(replace(problem.pools[number], owned=0, spare=0) for number in here),
        supplies=tuple(
            replace(
                supply, pool=here.index(supply.pool), unit_cost_cents=supply.unit_cost_cents[:1]
            )
            for supply in problem.supplies
            if supply.kind == "buy" and supply.pool in here
        ),
        classes=tuple(
            replace(
                job_class,
                quarters=(0,),
                modes=tuple(
                    replace(mode, shape=mode.shape._replace(sites=())) for mode in job_class.modes
                ),
            )
            for job_class in problem.classes
            if 0 in job_class.quarters
        ),
        limits=(),
        budgets=(),
    )


def _each_way(
    what: str, problem: Problem, naive_limit_s: float, most: float = 1.0
) -> Iterator[Row]:
    """`most` is what planning may take of the time of the textbook program."""
    begun = time.perf_counter()
    plan = answer(problem, search(problem, asked_gap=PROOF, time_limit_s=60.0), PROOF)
    took = time.perf_counter() - begun
    ours = Bought(plan.cost_cents, sum(map(sum, plan.acquired)))
    closed = plan.gap <= PROOF
    proof = "proved" if closed else f"gap {plan.gap:.2%}".replace("%", " %")
    naive = solve_naive(problem, naive_limit_s, PROOF)
    yield Row(
        f"{what}: planned",
        f"{ours.nodes} nodes; {proof}; {starts(took):.1f} R",
        "proved" if most == 1 else f"proved; {1 / most:,.0f} times as fast as the textbook program",
        closed and (most == 1 or took <= most * naive.seconds),
    )
    found = Bought(round(naive.cost_cents), naive.nodes) if naive.nodes else None
    proof = "proved" if naive.gap <= PROOF else "not proved"
    ways = {
        "textbook program": (found, f"; {proof}; {starts(naive.seconds):,.0f} R"),
        "first-fit decreasing": (first_fit_decreasing(problem), ""),
        "queue": (first_in_first_out(problem), ""),
        "queue that asks for what is planned": (first_in_first_out(problem, plan.assigned), ""),
    }
    for name, (other, more) in ways.items():
        measured = f"nothing found{more}"
        if other:
            dearer = other.cost_cents / ours.cost_cents - 1
            measured = f"{other.nodes} nodes; {dearer:+.1%}{more}".replace("%", " %")
        met = other is None or other.cost_cents >= ours.cost_cents * (1 - PROOF)
        yield Row(f"{what}: {name}", measured, "not cheaper", met)
