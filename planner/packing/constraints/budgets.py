"""Budgets: a limit on money of some kind, by quarter or over the horizon.

A budget that is missed by a cent is missed: its row asks the solver for its tightest tolerances,
and every answer of the search is tested in whole cents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import gcd

from planner.packing.constraints.base import LIMITED_OFFERS, Condition, rising, widening
from planner.packing.master import MasterProgram
from planner.packing.translation import Translation

BILL = LIMITED_OFFERS
_LARGE = 1000
"""Larger coefficients are scaled down to this, so that a row is not the program's largest."""


def add_rows(master: MasterProgram) -> None:
    """State the rows `budget`."""
    for number, limit in enumerate(master.problem.budgets):
        amounts = {
            index: limit.cents[supply][quarter]
            for (supply, quarter), index in master.acquire.items()
            if limit.cents[supply][quarter]
        }
        amounts |= {
            index: limit.moves[job_class]
            for job_class, index in master.moved.items()
            if limit.moves and limit.moves[job_class]
        }
        divisor = gcd(*amounts.values()) or 1
        whole = {index: cents // divisor for index, cents in amounts.items()}
        right = limit.at_most_cents // divisor
        scale = max(1.0, max(map(abs, whole.values()), default=0) / _LARGE)
        terms = {index: amount / scale for index, amount in whole.items()}
        row = master.program.row(f"budget[{number}]", terms, "<=", right / scale, exact=True)
        cent = 1 / divisor / scale
        master.relaxable(limit.name, row, limit.at_most_cents * cent, cent)


def holds(master: MasterProgram, values: Sequence[float]) -> bool:
    """Return whether acquisitions and moves keep every budget, in whole cents."""
    return all(
        master.total(values, limit.cents, limit.moves) <= limit.at_most_cents
        for limit in master.problem.budgets
    )


def conditions(translation: Translation) -> Iterator[Condition]:
    """Return the budgets as conditions."""
    for limit in translation.problem.budgets:
        stated, owned = limit.at_most_cents + limit.fixed_cents, limit.told(limit.fixed_cents)
        figure = limit.told(stated)
        yield rising(
            limit.name,
            figure,
            stated,
            limit.told,
            widening(
                "budgets",
                "name",
                limit.name,
                lambda one, more: replace(one, at_most_cents=one.at_most_cents + more),
            ),
            reason=f"{limit.name}: {figure}, owned nodes take {owned}" if limit.fixed_cents else "",
        )
