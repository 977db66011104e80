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
    on: dict[tuple[str, int], str] = {}
    for quarter, seats in enumerate(view.seats):
        for (job, unit, _), places in seats.items():
            here = places[0][0].gpu_type
            before, on[job, unit] = on.get((job, unit), here), here
            usd = _usd(view, job) if before != here and job in view.sized else Fraction(0)
            if usd:
                yield job, quarter, usd


def _usd(view: View, job: str) -> Fraction:
    """What one change of a unit costs: by the job itself, or the one that it is deployed by."""
    scenario = view.inputs.scenario
    usd = scenario.jobs[view.sized[job].derived_from or job].gpu_type_change_cost_usd
    if usd is None:
        usd = scenario.policies.gpu_type_change_cost_usd
    return Fraction(usd or 0)
