"""Units that change their GPU type, found anew where they sit, with what that costs."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plan.checks.view import View

__all__ = ["priced_changes"]


def priced_changes(view: View) -> Iterator[tuple[str, int, Fraction]]:
    """Job, quarter from 0 and US dollars of each change of a unit that has a price."""
    prices = {name: _usd(view, sized.derived_from or name) for name, sized in view.sized.items()}
    on: dict[tuple[str, int], str] = {}
    for quarter, seats in enumerate(view.seats):
        for (job, unit, _), places in seats.items():
            here = places[0][0].gpu_type
            before, on[job, unit] = on.get((job, unit), here), here
            if before != here and prices.get(job):
                yield job, quarter, prices[job]


def _usd(view: View, job: str) -> Fraction:
    scenario = view.inputs.scenario
    own, usual = scenario.jobs[job].gpu_type_change_cost_usd, scenario.policies
    return Fraction((usual.gpu_type_change_cost_usd if own is None else own) or 0)
