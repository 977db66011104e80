"""Whether a plan exists if one of the jobs that lack room starts later, and how much later."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planner.errors import LimitError
from planner.inputs.text.words import count_of
from planner.packing.incumbent import Infeasible
from planner.packing.infeasibility.conflict import without_costs
from planner.packing.search import search
from planner.packing.work import spent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from planner.packing.problem import Problem
    from planner.packing.statement.translate import Translation

__all__ = ["later_remedies"]

_TIME_S = 10.0
"""For all questions together."""
_JOBS = 4
"""At most so many jobs are asked about."""


def later_remedies(translation: Translation, lacking: Iterable[int]) -> Iterator[str]:
    """For the jobs of these demands: by how many quarters each alone would have to start later.

    Every quarter of the job moves, and none beyond the horizon. Proved by a plan that keeps every
    limit and every budget.
    """
    deadline = spent() + _TIME_S
    names = sorted({job for number in lacking for job, _ in translation.members[number]})
    for name in names[:_JOBS]:
        last = max(
            quarter
            for members, demand in zip(
                translation.members, translation.problem.demands, strict=True
            )
            if any(job == name for job, _ in members)
            for quarter in demand.quarters
        )
        for delay in range(1, translation.problem.quarters - last):
            if _feasible(_delayed(translation, name, delay), deadline - spent()):
                quarters = count_of(delay, "quarter")
                yield f"start {name} {quarters} later"
                break


def _delayed(translation: Translation, name: str, delay: int) -> Problem:
    """The problem in which one job starts later."""
    demands = []
    for members, demand in zip(translation.members, translation.problem.demands, strict=True):
        moved = sum(job == name for job, _ in members)
        if moved < demand.count:
            demands.append(replace(demand, count=demand.count - moved))
        if moved:
            quarters = tuple(quarter + delay for quarter in demand.quarters)
            demands.append(replace(demand, count=moved, quarters=quarters))
    return replace(translation.problem, demands=tuple(demands))


def _feasible(problem: Problem, time_limit_s: float) -> bool:
    try:
        search(without_costs(problem), asked_gap=1.0, time_limit_s=max(time_limit_s, 0.1))
    except (Infeasible, LimitError):
        return False
    return True
