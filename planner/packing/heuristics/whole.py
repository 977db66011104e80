"""Whole units for node counts that are known from the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing.solvers.solver import Outcome, solve_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.packing.counting.counts import Counts
    from planner.packing.solvers.program import Program
    from planner.packing.solvers.solver import Answer

__all__ = ["around_whole", "whole_units"]

_GAP = 0.01
_NODES = 200
"""How far the tie-break is pursued: to 1 %, or this many nodes of the solver's tree."""
_WHOLE = 1e-6
"""How near to a whole number units are that are held."""
_LEAST_S = 0.1


def whole_units(counts: Counts, program: Program, left_s: Callable[[], float]) -> Answer:
    """Whole units for a program in which node counts are held.

    Where GPUs are divided into parts, that may be hard: those that take whole nodes are counted
    first, and the others around them; all at once only where these do not fit.
    """
    first = counts.whole_node_variables
    if first and counts.opened:
        answer = _settled(program, left_s, counts.unit_variables - first)
        if answer.outcome is Outcome.INFEASIBLE:
            return answer
        if answer.values:
            held = {index: float(round(answer.values[index])) for index in first}
            answer = _settled(program.fixed(held), left_s)
        if answer.values:
            return answer
    return _settled(program, left_s)


def _settled(
    program: Program, left_s: Callable[[], float], relaxed: frozenset[int] = frozenset()
) -> Answer:
    return solve_integer(
        program,
        time_limit_s=max(left_s(), _LEAST_S),
        relative_gap=_GAP,
        node_limit=_NODES,
        relaxed=relaxed,
        effort="branching" if relaxed else "usual",
    )


def around_whole(counts: Counts, values: Sequence[float], time_limit_s: float) -> Answer:
    """A plan, dear maybe: what units are whole are held, others and nodes are counted anew."""
    near = {index: round(values[index]) for index in counts.choice.values()}
    held = {index: float(n) for index, n in near.items() if abs(values[index] - n) < _WHOLE}
    limit_s = max(time_limit_s, _LEAST_S)
    return solve_integer(counts.program.fixed(held), time_limit_s=limit_s, relative_gap=_GAP)
