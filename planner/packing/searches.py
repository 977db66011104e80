"""One search after the other, for problems that differ in prices and in budgets added alone.

What is stated for the first one serves all: the program, its cuts, and the layouts met.
"""

from __future__ import annotations

from dataclasses import replace

from planner.packing.apart import kept_apart
from planner.packing.constraints.budgets import BILL, state_budgets
from planner.packing.incumbent import Incumbent
from planner.packing.master import MasterProgram
from planner.packing.problem import Problem
from planner.packing.search import Search
from planner.packing.work import spent


class Searches:
    """What is asked one after the other; each answer is the best known for the next question."""

    def __init__(self) -> None:
        self._begun: _Anew | None = None

    def search(self, problem: Problem, *, asked_gap: float, time_limit_s: float) -> Incumbent:
        """As the function of that name."""
        apart = kept_apart(problem)
        if self._begun is None:
            self._begun = _Anew(apart, asked_gap, time_limit_s)
        else:
            self._begun.ask(apart, asked_gap, time_limit_s)
        return self._begun.run()


class _Anew(Search):
    """A search that begins anew."""

    def ask(self, problem: Problem, asked_gap: float, time_limit_s: float) -> None:
        """Begin at other prices and with more budgets, with the cuts and the plan so far."""
        self._deadline = spent() + time_limit_s
        self._problem, self._asked_gap = problem, asked_gap
        self._master = self._layouts.master = _repriced(self._master, problem)
        before = self._found
        self._found = Incumbent(self._master, shapes=before.shapes, stocks=before.stocks)
        if before.cost_cents is not None:
            self._found.keep(before.values, before.packings)
        self._stuck, self._tried = {}, {}


def _repriced(master: MasterProgram, problem: Problem) -> MasterProgram:
    """A copy of the program, with its cuts, for a problem at other prices and with more budgets.

    Offers cost something else in the quarters in which they cost anything, moves and changes of GPU
    type as well, budgets come last, and all else is the same.
    """
    before = master.problem.budgets
    assert problem.budgets[: len(before)] == before
    copy = master.copied(problem)
    prices = {index: problem.demands[demand].move_cents for demand, index in copy.moved.items()}
    for (supply, quarter), index in copy.acquire.items():
        cents = problem.supplies[supply].unit_cost_cents[quarter]
        assert cents is not None
        prices[index] = cents
    for index, cents in prices.items():
        variable = copy.program.variables[index]
        copy.program.variables[index] = replace(variable, cost=copy.cost(cents))
    copy.program.owner = BILL
    state_budgets(copy, problem.budgets[len(before) :], len(before))
    copy.program.owner = ""
    return copy
