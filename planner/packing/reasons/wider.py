"""A problem in which one of its limits is wider, or what can be had is other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.packing.limits import Limit
    from planner.packing.problem import Problem, Quota, Supply

__all__ = ["by_quarter_wider", "resupplied", "widened"]


def widened(
    problem: Problem, kind: str, key: str, mine: str, more: int | None, wider: Callable[..., object]
) -> Problem:
    """The problem in which one of its limits of a kind is wider; None leaves it out."""
    changed = (
        wider(one, more) if getattr(one, key) == mine else one
        for one in getattr(problem, kind)
        if more is not None or getattr(one, key) != mine
    )
    kept: dict[str, Any] = {kind: tuple(changed)}
    return replace(problem, **kept)


def by_quarter_wider(limit: Limit | Quota, more: int) -> Limit | Quota:
    """What is limited by quarter, with so much more in each."""
    at_most = tuple(None if most is None else most + more for most in limit.at_most)
    return replace(limit, at_most=at_most)


def resupplied(
    problem: Problem, numbers: Sequence[int], change: Callable[[Supply], Supply]
) -> Problem:
    """The problem in which these offers are changed."""
    supplies = list(problem.supplies)
    for number in numbers:
        supplies[number] = change(supplies[number])
    return replace(problem, supplies=tuple(supplies))
