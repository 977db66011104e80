"""When a job runs how, where its units change their GPU type from quarter to quarter."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.plan.plan import Plan

__all__ = ["quarters_by_way"]


def quarters_by_way(plan: Plan) -> dict[str, dict[str, tuple[str, ...]]]:
    """By job of which some unit changes: way of a candidate -> quarters in which units run so."""
    changing = {
        job.name for job in plan.jobs if sum(units for _, units in job.ways) > max(job.units)
    }
    found: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    for quarter, uses in zip(plan.quarters, plan.placements, strict=True):
        for use in uses:
            for occupant in use.occupants:
                if occupant.job in changing:
                    found[occupant.job][occupant.way][quarter] = None
    return {
        job: {way: tuple(quarters) for way, quarters in ways.items()} for job, ways in found.items()
    }
