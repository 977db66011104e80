"""Whole units for node counts that are known from the bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing.solvers.linear import solve_linear
from planner.packing.solvers.solver import Outcome, solve_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from planner.packing.counting.counts import Counts
    from planner.packing.solvers.program import Program
    from planner.packing.solvers.solver import Answer

__all__ = ["in_whole_units"]

_GAP = 0.01
_NODES = 200
"""How far the tie-break is pursued: to 1 %, or this many nodes of the solver's tree."""
_WHOLE = 1e-6
"""How near to a whole number units are that are held."""
_LEAST_S = 0.1


def in_whole_units(
    counts: Counts,
    program: Program,
    left_s: Callable[[], float],
    relaxed: frozenset[int] = frozenset(),
) -> Answer:
    """Whole units, but for those that are `relaxed`, for a program in which node counts are held.

    Where GPUs are divided into parts, that may be hard: those that take whole nodes are counted
    first, and the others around them; all at once only where these do not fit.
    """
    if not counts.opened:
        return _settled(program, left_s, relaxed)
    first = counts.whole_node_variables
    answer = _settled(program, left_s, counts.unit_variables - first | relaxed)
    if answer.outcome is Outcome.INFEASIBLE:
        return answer
    if answer.values:
        held = {index: float(round(answer.values[index])) for index in first}
        for around in _around_relaxed(counts, program.fixed(held)):
            answer = _settled(around, left_s, relaxed)
            if answer.values:
                return answer
    return _settled(program, left_s, relaxed)


def _around_relaxed(counts: Counts, program: Program) -> Iterator[Program]:
    """The program ever less bound to those units that its linear relaxation takes whole.

    Few are not, so that the rest is a small program; there is none where those are too many.
    """
    relaxed = solve_linear(program)
    if relaxed:
        whole = {index: near for index, near in _whole(counts, relaxed.values) if near}
        yield program.fixed(whole)
        yield program.at_least({index: max(near - 1.0, 1.0) for index, near in whole.items()})
    yield program


def _whole(counts: Counts, values: Sequence[float]) -> Iterator[tuple[int, float]]:
    """Which units are whole, and how many."""
    for index in counts.choice.values():
        near = float(round(values[index]))
        if abs(values[index] - near) < _WHOLE:
            yield index, near


def _settled(
    program: Program, left_s: Callable[[], float], relaxed: frozenset[int] = frozenset()
) -> Answer:
    return solve_integer(
        program,
        time_limit_s=max(left_s(), _LEAST_S),
        relative_gap=_GAP,
        node_limit=_NODES,
        relaxed=relaxed,
        effort="branching" if relaxed else "rounding",
    )
