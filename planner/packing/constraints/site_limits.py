"""Limits of sites: power, rack units and network ports of the nodes in service, by quarter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial

from planner.inputs.text import amount_text
from planner.packing.constraints.base import (
    SITES,
    Condition,
    by_quarter_wider,
    rising,
    widening,
)
from planner.packing.master import MasterProgram, Terms
from planner.packing.translation import Translation

BILL = SITES


def add_rows(master: MasterProgram) -> None:
    """State every limit, quarter by quarter: rows `limit`."""
    for limit in master.problem.limits:
        scale = 1 / max(1, *(amount for _, amount in limit.terms))  # the largest node counts 1
        for quarter, most in enumerate(limit.at_most):
            if most is None:
                continue
            load: Terms = defaultdict(float)
            owned = 0
            for pool, amount in limit.terms:
                owned += amount * master.problem.pools[pool].owned_in(quarter)
                for index, factor in master.standing(pool, quarter, on=limit.drawn).items():
                    load[index] += amount * factor * scale
            right = (most - owned) * scale
            row = master.program.row(f"limit[{limit.name},{quarter}]", load, "<=", right)
            master.relaxable(limit.name, row, right, scale)


def holds(master: MasterProgram, values: Sequence[float]) -> bool:
    """Return whether the nodes keep every limit, in whole numbers."""
    return all(
        most is None
        or most
        >= sum(
            amount * round(master.stand(pool, quarter, values, on=limit.drawn))
            for pool, amount in limit.terms
        )
        for limit in master.problem.limits
        for quarter, most in enumerate(limit.at_most)
    )


def conditions(translation: Translation) -> Iterator[Condition]:
    """Return the limits as conditions."""
    problem = translation.problem
    for limit in problem.limits:
        owned = max(
            sum(amount * problem.pools[pool].owned_in(quarter) for pool, amount in limit.terms)
            for quarter in range(problem.quarters)
        )
        told = partial(amount_text, unit=limit.unit)
        figure = told(limit.figure)
        yield rising(
            limit.name,
            figure,
            limit.figure,
            told,
            widening("limits", "name", limit.name, by_quarter_wider),
            reason=f"{limit.name}: {figure}, owned nodes take {told(owned)}" if owned else "",
        )
