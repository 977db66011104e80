"""Solve a translated portfolio: search, then state the answer, or say why there is none.

Or find a plan that costs little more than the cheapest and is the best in something else: first
what is aimed at is minimized, with the cost held at a ceiling; then the cost, with what was reached
held. Both are the program of the cheapest plan with one row more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

from planner.errors import LimitError
from planner.packing.answer import answer
from planner.packing.crosscheck import Assertion, require_agreement, second_opinions
from planner.packing.incumbent import Incumbent, Infeasible
from planner.packing.problem import Problem, SpendLimit
from planner.packing.search import search
from planner.packing.solution import Solution
from planner.packing.translation import Translation
from planner.version import GAP, TIME_LIMIT_SECONDS

_MOST_CENTS = 2**53
"""From here on, not every whole number is a float, which solvers calculate with."""


def solve(
    translation: Translation,
    *,
    asked_gap: float = GAP,
    time_limit_s: float = TIME_LIMIT_SECONDS,
    crosscheck: bool = False,
    progress: Callable[[str], None] | None = None,
    watch: Callable[[Translation, Incumbent], None] | None = None,
    explain: bool = True,
) -> Solution:
    """Pack a portfolio at least cost, to a relative gap, within a time in seconds.

    Whoever wants to `watch` is shown the finished search. With `crosscheck` other solvers are asked
    for the bound again, or whether there is no plan, each within the same time. Raises
    InfeasibleError with the reasons in the user's words, or just Infeasible without `explain`;
    LimitError where time ends before any plan is found, DisagreementError where another solver
    refutes it.
    """
    problem = translation.problem
    ask = partial(second_opinions, time_limit_s=time_limit_s, progress=progress)
    try:
        found = search(
            problem,
            asked_gap=asked_gap,
            time_limit_s=time_limit_s,
            progress=progress,
        )
    except Infeasible as proved:
        if not explain:
            raise
        if crosscheck:
            require_agreement(ask, Assertion.none(proved))
        from planner.packing.shortage import explain_infeasible  # noqa: PLC0415 - seldom needed

        raise explain_infeasible(translation, proved.master) from None
    if watch:
        watch(translation, found)
    solution = answer(problem, found, asked_gap)
    if solution.cost_cents >= _MOST_CENTS:
        raise LimitError(f"the plan costs ${_MOST_CENTS // 100:,} or more: no solver counts so far")
    if not crosscheck:
        return solution
    return replace(solution, opinions=require_agreement(ask, Assertion.bound(found)))


attempt = partial(solve, explain=False)
"""Solve without looking for reasons: raises Infeasible if no plan exists."""

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Aim:
    """Something to minimize, in whole numbers of its own unit."""

    name: str
    nodes: tuple[tuple[int, ...], ...]
    """supply × quarter of entry: what one node adds; negative only for released nodes."""
    moves: tuple[int, ...]
    """For each job class, what one unit adds that leaves the pool in which it runs today."""
    cents: int
    """What one unit counts in the objective, which is in thousands of dollars."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The cheapest of the plans found with the least of the aim."""

    value: int
    bound: int
    """No plan that costs as little has less."""
    solution: Solution


def reach(
    problem: Problem, aim: Aim, most_cents: int, *, asked_gap: float, time_limit_s: float
) -> Reached:
    """Minimize the aim at a net present cost of at most so many cents.

    Each of the two searches has the time in seconds. Raises Infeasible if no plan costs so
    little, and LimitError if time ends before one is found.
    """
    ceiling = problem.costs_at_most(most_cents)
    found = search(_aimed(problem, aim, ceiling), asked_gap=asked_gap, time_limit_s=time_limit_s)
    value = found.master.total(found.values, aim.nodes, aim.moves)
    # Whole units are counted: the bound may be rounded up.
    bound = ceil(found.bound_cents / aim.cents - _TOLERANCE)
    held = SpendLimit(aim.name, value, aim.nodes, moves=aim.moves)
    kept = replace(problem, budgets=(*problem.budgets, held))
    cheapest = search(kept, asked_gap=asked_gap, time_limit_s=time_limit_s)
    solution = answer(kept, cheapest, asked_gap)
    if solution.cost_cents > most_cents:
        raise LimitError("the time limit was hit before a plan was found that costs little more")
    return Reached(value, min(bound, value), solution)


def _aimed(problem: Problem, aim: Aim, ceiling: SpendLimit) -> Problem:
    """Return the problem of minimizing the aim, whatever that costs below the ceiling."""
    aimed = problem.repriced(lambda supply, quarter: aim.nodes[supply][quarter] * aim.cents)
    classes = tuple(
        replace(job_class, move_cents=units * aim.cents)
        for job_class, units in zip(problem.classes, aim.moves, strict=True)
    )
    budgets = (*problem.budgets, ceiling)
    return replace(aimed, classes=classes, fixed_cost_cents=0, budgets=budgets)
