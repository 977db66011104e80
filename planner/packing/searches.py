"""One search after the other, for problems that differ in prices and in budgets added alone.

What is stated for the first one serves all: the program, its cuts, and the layouts met.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from planner.errors import LimitError
from planner.packing.apart import kept_apart
from planner.packing.constraints import nodes_allowed
from planner.packing.constraints.budgets import BILL, state_budgets
from planner.packing.found import Found
from planner.packing.search import Search
from planner.packing.work import spent

if TYPE_CHECKING:
    from planner.packing.master import MasterProgram
    from planner.packing.problem import Problem

__all__ = ["Searches"]


class Searches:
    """What is asked one after the other; each answer is the best known for the next question."""

    def __init__(self) -> None:
        self._begun: _Anew | None = None

    def search(self, problem: Problem, *, asked_gap: float, time_limit_s: float) -> Found:
        """As the function of that name."""
        return self._asked(problem, asked_gap, time_limit_s).run()

    def count(self, problem: Problem, *, asked_gap: float, time_limit_s: float) -> Found:
        """The nodes of a plan on paper, where units are fractions, and the bound of all plans.

        Raises Infeasible where there are none, LimitError where time ends before any are found, or
        where paper says little.
        """
        return self._asked(problem, asked_gap, time_limit_s).count()

    def laid_out(self) -> Found | None:
        """A plan with the nodes that were counted last, on any GPUs; None where none was found."""
        return self._begun.laid_out() if self._begun else None

    def _asked(self, problem: Problem, asked_gap: float, time_limit_s: float) -> _Anew:
        apart = kept_apart(problem)
        if self._begun is None:
            self._begun = _Anew(apart, asked_gap, time_limit_s)
        else:
            self._begun.ask(apart, asked_gap, time_limit_s)
        return self._begun


class _Anew(Search):
    """A search that begins anew."""

    def ask(self, problem: Problem, asked_gap: float, time_limit_s: float) -> None:
        """Begin at other prices and with more budgets, with the cuts and the plan so far."""
        self._deadline = spent() + time_limit_s
        self._problem, self._asked_gap = problem, asked_gap
        self._master = _repriced(self._master, problem)
        before = self._found
        self._found = Found(self._master, shapes=before.shapes, stocks=before.stocks)
        if before.cost_cents is not None:
            self._found.keep(before.values, before.packings)
        elif before.values and nodes_allowed(self._master, before.values):
            self._found.values = before.values
        self._rounded, self._stuck, self._cost_alone = (), {}, False

    def count(self) -> Found:
        """Count nodes, and lay nothing out; those of the question before where none cost less."""
        if self._runs or self._unlike:
            raise LimitError("units in fractions say little of these nodes")
        known, variables = self._found.values, self._master.program.variables
        cost = sum(one.cost * value for one, value in zip(variables, known, strict=False))
        self.cut_root(cost if known else inf)
        if not known or self._found.bound_cents < self._found.cents(cost):
            bounded = self._bound(self._master.shared_unit_variables)
            if bounded is None:
                raise LimitError("the time limit was hit before any nodes were counted")
            self._found.values, cost = bounded.values, bounded.objective
            self._found.packings, self._found.cost_cents = {}, None
        cents = self._found.cents(cost)
        if cents - self._found.bound_cents > self._asked_gap * cents:
            raise LimitError("the time limit was hit before enough was proved")
        return self._found

    def laid_out(self) -> Found | None:
        """What was counted last, in whole units."""
        known = self._found.cost_cents is not None
        self._cost_alone = True
        found = known or self._on_nodes(self._found.values)
        return self._found if found else None


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
