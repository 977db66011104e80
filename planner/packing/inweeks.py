"""Plans for runs of some weeks: few nodes more than the bound counts, and units seated on them.

Counted nodes are full in every week, or nearly so, as no timetable may be. So more and more of
every pool is kept free on paper, until what is counted finds seats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing.lean import solve_lean
from planner.packing.seating import seat_in_weeks
from planner.packing.solver import Outcome, solve_integer
from planner.packing.stays import moves_held
from planner.packing.variants import with_no_fewer, with_reserve, with_room

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.packing.counts import Counts
    from planner.packing.found import Found
    from planner.packing.program import Program
    from planner.packing.seating import SeatedInWeeks
    from planner.packing.solver import Answer

__all__ = ["plan_in_weeks"]

_RESERVES = (0.0, 0.02, 0.03, 0.05, 0.08, 0.13, 0.2, 0.35)
"""Shares of GPU-weeks, cores and memory left free, in turn."""
_STEPS, _MANY_STEPS = 250, 1000
"""Units seated at the cost of others without an advance, until more nodes are counted; and in a
second attempt, once there is a plan."""
_GAP, _NODES = 0.01, 200
"""How far units and nodes are counted: to 1 %, or this many nodes of the solver's tree."""
_TIME, _LEAST_TIME_S = 0.25, 1.0
"""Of the time left, what counting nodes once may take, and seconds at the least."""

Values = tuple[float, ...]


def plan_in_weeks(
    found: Found,
    bounded: Values,
    asked_gap: float,
    left_s: Callable[[], float],
    say: Callable[[str], None],
) -> None:
    """Keep plans of whole units in `found`, until one is within the asked gap or time is over.

    `bounded` are the values of the bound, empty where there are none; `left_s` says how much time
    there is.
    """
    counts = found.counts
    tried: list[Values] = []
    values, best = bounded, None
    for share in _RESERVES:
        if left_s() <= -_LEAST_TIME_S:
            return
        say(f"seating runs, {share:.0%} of the nodes kept free")
        if share or not values:
            values = _reserved(counts, share, values, left_s)
        whole = _whole(counts, values, left_s) if counts.opened and values else values
        best = _seated(found, whole, left_s, _STEPS)
        if best:
            break
        tried.append(whole)
    while best and tried and left_s() > 0 and not found.closed(asked_gap):
        say("seating runs on fewer nodes")
        fewer = _seated(found, tried.pop(), left_s, _MANY_STEPS)
        if fewer is None:
            break
        best = fewer
    if best and left_s() > 0 and not found.closed(asked_gap):
        say("giving up nodes that nobody needs")
        best.shrink(lambda: left_s() > 0)
        found.keep(*best.plan())


def _seated(
    found: Found, whole: Values, left_s: Callable[[], float], steps: int
) -> SeatedInWeeks | None:
    """Seats of a plan that was kept; None where some unit has none, or the plan breaks a limit."""
    if not whole:
        return None
    seated = seat_in_weeks(
        found.counts, found.stocks, whole, lambda: left_s() > -_LEAST_TIME_S, steps=steps
    )
    return seated if seated and found.keep(*seated.plan()) else None


def _reserved(counts: Counts, share: float, values: Values, left_s: Callable[[], float]) -> Values:
    """Counts with a share of every pool free: on these nodes and more, or on others."""
    program = with_reserve(counts, share)
    if values:
        least = {index: float(round(values[index])) for index in counts.acquire.values()}
        grown = _solve(counts, with_no_fewer(program, least), left_s)
        if grown.outcome is not Outcome.INFEASIBLE:
            return grown.values
    return _solve(counts, program, left_s).values


def _solve(counts: Counts, program: Program, left_s: Callable[[], float]) -> Answer:
    """Solve for node counts, units relaxed."""
    return solve_lean(
        counts,
        program,
        time_limit_s=max(left_s() * _TIME, _LEAST_TIME_S),
        relative_gap=_GAP,
        relaxed=counts.unit_variables,
        rounds=1,
    )


def _whole(counts: Counts, values: Values, left_s: Callable[[], float]) -> Values:
    """Whole units on counted nodes; empty where there are none."""
    held = {index: float(round(values[index])) for index in counts.acquire.values()}
    return solve_integer(
        with_room(counts, values).fixed(held | moves_held(counts, values)),
        time_limit_s=max(left_s(), _LEAST_TIME_S),
        relative_gap=_GAP,
        node_limit=_NODES,
    ).values
