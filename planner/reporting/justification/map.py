"""Who holds each GPU and when: the node map, when runs are, parts of GPUs, and what moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.document import (
    Block,
    Column,
    Heading,
    Link,
    NodeMap,
    Paragraph,
    Table,
    beneath,
)
from planner.reporting.format import code, count_of
from planner.reporting.moves import moves_section
from planner.reporting.nodenames import range_of_ids
from planner.reporting.schedule import schedule_pictures
from planner.reporting.shared import shared_section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.plan import Plan
    from planner.reporting.justification.desk import Desk

__all__ = ["placement_blocks"]

_ROWS = 120
_LINES = 400
_Held = tuple[tuple[str, ...], ...]
"""Jobs on each GPU of a node; several where they share it in time or in parts."""
_Row = tuple[_Held | None, ...]


def placement_blocks(desk: Desk) -> Iterator[Block]:
    """The map, then what it cannot show."""
    yield from _map(desk)
    parts = (
        ("Schedule of runs", schedule_pictures(desk.plan, _numbers(desk), _LINES)),
        ("Shared GPUs", shared_section(desk.plan, _LINES)),
        ("Moves", moves_section(desk.plan, _LINES)),
    )
    for title, blocks in parts:
        if blocks:
            yield Heading(title, 3)
            yield from beneath(blocks)


def _map(desk: Desk) -> Iterator[Block]:
    """Nodes that look alike in one row; then which number is which job."""
    plan = desk.plan
    alike = _rows(plan, desk.columns)
    if not alike:
        return
    numbers = _numbers(desk)
    shown = list(alike.items())[:_ROWS]
    yield NodeMap(
        title="Who holds which GPU",
        says="A row is a node, or several that look alike; a square is a GPU, a band the GPUs of "
        "one job side by side, + a GPU that several share in time or in parts, an empty square is "
        "free. The numbers are those of the jobs below; "
        f"which unit sits where is in {code('placements')} of plan.json.",
        columns=tuple(plan.quarters[place] for place in desk.columns),
        rows=tuple((range_of_ids(ids), row) for (_, _, row), ids in shown),
        numbers=numbers,
    )
    hidden = sum(len(ids) for ids in list(alike.values())[_ROWS:])
    if hidden:
        more = count_of(hidden, "more node")
        yield Paragraph(f"… {more}, all of them in plan.json", tone="faint")
    rows = (row for (_, _, row), _ in shown)
    held = {job for row in rows for cells in row if cells for jobs in cells for job in jobs}
    yield Table(
        (Column("Number", "right"), Column("Job", wraps=True)),
        tuple(
            (str(number), Link(job, desk.job_anchor[job]))
            for job, number in numbers.items()
            if job in held
        ),
        caption="Numbers of the node map",
    )


def _numbers(desk: Desk) -> dict[str, int]:
    """The number that stands for each job in pictures."""
    return {job.name: place for place, job in enumerate(desk.plan.jobs, 1)}


def _rows(plan: Plan, columns: tuple[int, ...]) -> dict[tuple[str, str, _Row], list[str]]:
    """Each distinct row with the nodes that show it, in the order of the fleet."""
    gpus = {node.id: node.gpus for node in plan.nodes}
    held: list[dict[str, _Held]] = []
    for place in columns:
        cells: dict[str, _Held] = {}
        for use in plan.placements[place]:
            holders: list[dict[str, None]] = [{} for _ in range(gpus[use.node])]
            for occupant in use.occupants:
                for gpu in occupant.gpus:
                    holders[gpu].setdefault(occupant.job)
            cells[use.node] = tuple(tuple(jobs) for jobs in holders)
        held.append(cells)
    alike: dict[tuple[str, str, _Row], list[str]] = {}
    for node in plan.nodes:
        row = tuple(
            cells.get(node.id, ((),) * node.gpus)
            if plan.quarters[place] in node.in_service
            else None
            for place, cells in zip(columns, held, strict=True)
        )
        alike.setdefault((node.node_type, node.site, row), []).append(node.id)
    return alike
