"""Which units are on APIs: decided beside all that is bought and rented, as one optimum.

It is solved twice: once with every API as a way to run, which decides who is on one and proves the
bound, and once more for the units that are left, which are then placed on nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.costs import api_costs
from planner.packing.statement.apis import split, with_apis
from planner.packing.statement.translate import translate

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.inputs.settled import Inputs
    from planner.packing import Solution, Translation
    from planner.sizing.candidate import SizedJob

__all__ = ["Solved", "solved_with_apis"]

Solved = tuple[tuple["SizedJob", ...], "Translation", "Solution"]
"""The jobs with those units on APIs that are there, and the problem of the others, solved."""


def solved_with_apis(
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    asked_gap: float,
    solve: Callable[[Translation], Solution],
) -> Solved:
    """Solve a portfolio whose jobs may be on APIs where they allow it; raises what `solve` does."""
    translation = translate(inputs, jobs)
    open_to_apis = with_apis(inputs, translation)
    if open_to_apis is translation:
        return jobs, translation, solve(translation)
    decided = solve(open_to_apis)
    placed = split(open_to_apis, decided, jobs)
    translation = translate(inputs, placed)
    solution = solve(translation)
    tokens_cents = sum(count * one.present_cents for count, one in api_costs(inputs, placed))
    bound_cents = min(decided.bound_cents, solution.cost_cents)
    return placed, translation, solution.beside_apis(bound_cents, tokens_cents, asked_gap)
