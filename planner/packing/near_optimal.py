"""Plans that cost little more than the cheapest and are best in something else, with a bound.

First the aim is minimized with the cost below a ceiling; then the cost, with what was reached
held. Both are the program of the cheapest plan with one more row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from planner.errors import LimitError
from planner.packing.answer import answer
from planner.packing.problem import Problem, SpendLimit
from planner.packing.search import search
from planner.packing.solution import Solution

_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Aim:
    """Something to minimize, in whole numbers of its own unit."""

    name: str
    nodes: tuple[tuple[int, ...], ...]
    """supply × quarter of entry: what one node adds; negative only for released nodes."""
    moves: tuple[int, ...]
    """For each demand, what one unit adds that leaves the pool in which it runs today."""
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
    demands = tuple(
        replace(demand, move_cents=units * aim.cents)
        for demand, units in zip(problem.demands, aim.moves, strict=True)
    )
    budgets = (*problem.budgets, ceiling)
    return replace(aimed, demands=demands, fixed_cost_cents=0, budgets=budgets)
