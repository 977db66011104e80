"""Solves a translated portfolio: searches, then states the answer, or says why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from planner.errors import LimitError
from planner.packing.answer import answer
from planner.packing.crosscheck import Assertion, require_agreement, second_opinions
from planner.packing.incumbent import Incumbent, Infeasible
from planner.packing.search import NodeCounts, search
from planner.packing.solution import Solution
from planner.packing.statement.translate import Translation

_MOST_CENTS = 2**53
"""From here on, not every whole number is a float, which solvers calculate with."""


def solve(
    translation: Translation,
    *,
    asked_gap: float = 1e-4,
    time_limit_s: float = 60.0,
    crosscheck: bool = False,
    progress: Callable[[str], None] | None = None,
    watch: Callable[[Translation, Incumbent], None] | None = None,
    nodes: NodeCounts = (),
) -> Solution:
    """Pack a portfolio at least cost, to a relative gap, within seconds of work.

    `nodes` of the first supplies that are known to suffice are tried first. `watch` is called
    with the finished search. With `crosscheck`, other solvers are asked for the bound again, or
    whether no plan exists, each within the same time. Raises InfeasibleError with the reasons in
    the user's words, LimitError if time ends before any plan is found, and DisagreementError if
    another solver refutes it.
    """
    try:
        return attempt(
            translation,
            asked_gap=asked_gap,
            time_limit_s=time_limit_s,
            crosscheck=crosscheck,
            progress=progress,
            watch=watch,
            nodes=nodes,
        )
    except Infeasible as proved:
        if crosscheck:
            ask = partial(second_opinions, time_limit_s=time_limit_s, progress=progress)
            require_agreement(ask, Assertion.none(proved))
        from planner.packing.shortage import explain_infeasible  # noqa: PLC0415 - seldom needed

        raise explain_infeasible(translation, proved.master) from None


def attempt(
    translation: Translation,
    *,
    asked_gap: float,
    time_limit_s: float,
    crosscheck: bool = False,
    progress: Callable[[str], None] | None = None,
    watch: Callable[[Translation, Incumbent], None] | None = None,
    nodes: NodeCounts = (),
) -> Solution:
    """Solve without looking for reasons: raises Infeasible if no plan exists.

    Like `solve`, it raises LimitError and DisagreementError.
    """
    problem = translation.problem
    found = search(
        problem,
        asked_gap=asked_gap,
        time_limit_s=time_limit_s,
        progress=progress,
        nodes=nodes,
    )
    if watch:
        watch(translation, found)
    solution = answer(problem, found, asked_gap)
    if solution.cost_cents >= _MOST_CENTS:
        raise LimitError(f"the plan costs ${_MOST_CENTS // 100:,} or more: no solver counts so far")
    if not crosscheck:
        return solution
    ask = partial(second_opinions, time_limit_s=time_limit_s, progress=progress)
    return replace(solution, opinions=require_agreement(ask, Assertion.bound(found)))
