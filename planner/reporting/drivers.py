"""What drives demand: the jobs that do not ask for as much in every quarter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.document import Block, Column, Paragraph, Table
from planner.reporting.justification.desk import figure

if TYPE_CHECKING:
    from planner.reporting.justification.desk import Desk

__all__ = ["drivers_section"]


def drivers_section(desk: Desk, most: int) -> tuple[Block, ...]:
    """Jobs that start, end, grow or shrink, with their units; of at most so many jobs."""
    last = len(desk.plan.quarters) - 1
    rows = []
    for place, job in enumerate(desk.plan.jobs[:most]):
        units = tuple(int(desk.asked(place, at).value) for at in range(last + 1))
        if len(set(units)) == 1:
            continue
        first, final = (desk.asked(place, at) for at in (0, last))
        rows.append(
            (
                job.name,
                _movement(units),
                figure(first, "count", "how-need"),
                figure(final, "count", "how-need"),
                figure(final - first, "count", "how-need"),
            )
        )
    steady = len(desk.plan.jobs[:most]) - len(rows)
    told = Paragraph(f"Jobs that ask for as much in every quarter: {steady:,}.", tone="faint")
    if not rows:
        return (told,)
    columns = (
        Column("Job", wraps=True),
        Column("What it does"),
        Column(f"Units {desk.plan.quarters[0]}", "right"),
        Column(f"Units {desk.plan.quarters[last]}", "right"),
        Column("More", "right"),
    )
    return (Table(columns, tuple(rows), caption="Jobs whose demand changes"), told)


def _movement(units: tuple[int, ...]) -> str:
    if not units[0] and units[-1]:
        return "starts"
    if units[0] and not units[-1]:
        return "ends"
    if units[0] == units[-1]:
        return "comes and goes" if 0 in units else "varies"
    return "grows" if units[-1] > units[0] else "shrinks"
