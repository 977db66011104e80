"""Solve a translated portfolio: search, then state the answer, or say why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from planner.errors import LimitError
from planner.packing.answer import answer
from planner.packing.crosscheck import Assertion, require_agreement, second_opinions
from planner.packing.incumbent import Incumbent, Infeasible
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
