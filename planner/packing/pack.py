"""Solve a translated portfolio: search, then state the answer, or say why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing.answer import answer
from planner.packing.search import Infeasible, search
from planner.packing.shortage import explain_infeasible

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.packing.problem import Solution
    from planner.packing.translate import Translation

__all__ = ["solve"]


def solve(
    translation: Translation,
    *,
    asked_gap: float = 1e-4,
    time_limit_s: float = 60.0,
    progress: Callable[[str], None] | None = None,
) -> Solution:
    """Pack a portfolio at least cost, to a relative gap, within a time in seconds.

    Raises InfeasibleError with the reasons in the user's words, and LimitError where time ends
    before any plan is found.
    """
    problem = translation.problem
    try:
        found = search(problem, asked_gap=asked_gap, time_limit_s=time_limit_s, progress=progress)
    except Infeasible as proved:
        raise explain_infeasible(translation, proved.counts) from None
    return answer(problem, found, asked_gap)
