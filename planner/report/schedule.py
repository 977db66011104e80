"""Which run holds which GPUs from when to when, drawn by week, or by day where all is short."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from planner.inputs.scenario.quarter import RUN_HOURS, WEEK_HOURS
from planner.report.document import Bar, Block, Gantt, Heading, Paragraph, Verbatim
from planner.report.format import code, count_of, duration, moments, numbers, quarter_span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planner.plan.plan import NodeUse, Occupant, Plan

__all__ = ["schedule_pictures", "schedule_section"]

_RUNS, _FREE = "#", "·"
_DAY_HOURS, _MOST_DAYS = 24, 28
"""Days are drawn where all runs of a quarter end within so many."""
_MARKED = 5
"""Every fifth cell has its number above it, and the first."""

_HOW = (
    "Runs, with the numbers of their GPUs; a cell for each week of the quarter, or for each day "
    "where all of them end within four weeks. No run moves before it ends. Jobs that hold their "
    "GPUs all quarter are not drawn."
)
_ALIKE = " Dates are those of the first quarter."


def schedule_section(plan: Plan, most_lines: int) -> tuple[Block, ...]:
    """One line per run under its node, alike quarters drawn once; nothing where nothing runs."""
    blocks = [
        block
        for span, lines, _ in _drawn(plan, most_lines)
        for block in (Heading(span, 3), Verbatim(lines))
    ]
    return (Paragraph(_HOW + _ALIKE, tone="faint"), *blocks) if blocks else ()


def schedule_pictures(
    plan: Plan, numbers_of: Mapping[str, int], most_lines: int
) -> tuple[Block, ...]:
    """The same as pictures, in the colours of the node map."""
    units = {job.name: max(job.units, default=0) for job in plan.jobs}
    pictures = []
    for span, lines, quarter in _drawn(plan, most_lines):
        runs, label = _runs(plan.placements[quarter]), plan.quarters[quarter]
        cell = _cell(runs)
        groups = tuple(
            (
                node,
                tuple(
                    Bar(
                        numbers(one.gpus),
                        *_cells(one, cell),
                        _name(one, units),
                        numbers_of[one.job],
                        moments(label, one.held_hours),
                    )
                    for _, one in group
                ),
            )
            for node, group in groupby(runs[:most_lines], key=lambda run: run[0])
        )
        pictures.append(
            Gantt(
                title=f"Runs of {span} by {'day' if cell == _DAY_HOURS else 'week'}",
                says=f"{_HOW}{_ALIKE} At the left the numbers of the GPUs, as in 0–3, under their "
                "node.",
                cells=_last(runs, cell),
                groups=groups,
                lines=lines,
            )
        )
    return tuple(pictures)


def _drawn(plan: Plan, most_lines: int) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Quarters that look alike, the lines of the first of them, and its number."""
    units = {job.name: max(job.units, default=0) for job in plan.jobs}
    alike: list[tuple[object, list[int]]] = []
    for number, uses in enumerate(plan.placements):
        looks = [(node, one.job, one.unit, one.gpus, one.hours) for node, one in _runs(uses)]
        if alike and alike[-1][0] == looks:
            alike[-1][1].append(number)
        else:
            alike.append((looks, [number]))
    for drawn, quarters in alike:
        if drawn:
            first, last = quarters[0], quarters[-1]
            lines = _lines(plan.quarters[first], plan.placements[first], units, most_lines)
            span = quarter_span(plan.quarters[first], plan.quarters[last])
            yield span, tuple(lines), first


def _runs(uses: Sequence[NodeUse]) -> list[tuple[str, Occupant]]:
    return [(use.node, one) for use in uses for one in use.occupants if one.hours]


def _cell(runs: Sequence[tuple[str, Occupant]]) -> int:
    """Hours of a cell."""
    ends = max(one.held_hours[1] for _, one in runs)
    return _DAY_HOURS if ends <= _DAY_HOURS * _MOST_DAYS else WEEK_HOURS


def _last(runs: Sequence[tuple[str, Occupant]], cell: int) -> int:
    """How many cells are drawn."""
    ends = RUN_HOURS if cell == WEEK_HOURS else max(one.held_hours[1] for _, one in runs)
    return -(-ends // cell)


def _cells(run: Occupant, cell: int) -> tuple[int, int]:
    """First and last cell in which it runs, from 1."""
    start, end = run.held_hours
    return start // cell + 1, -(-end // cell)


def _lines(label: str, uses: Sequence[NodeUse], units: dict[str, int], most: int) -> Iterator[str]:
    runs = _runs(uses)
    cell, shown = _cell(runs), runs[:most]
    cells = _last(runs, cell)
    width = max(len(numbers(one.gpus)) for _, one in shown)
    heads = {_name(one, units): None for _, one in shown}
    names = max(map(len, heads))
    yield f"{'day' if cell == _DAY_HOURS else 'week':<{width + 2}}  {_ruler(cells)}".rstrip()
    for node, group in groupby(shown, key=lambda run: run[0]):
        yield node
        for _, one in group:
            bar = _bar(one, cell, cells)
            start, end = one.held_hours
            when = f"{moments(label, (start, end))}, {duration(end - start)}"
            yield f"  {numbers(one.gpus):<{width}}  [{bar}]  {_name(one, units):<{names}}  {when}"
    if len(runs) > most:
        more = count_of(len(runs) - most, "more run")
        yield f"… {more}, all of them in {code('placements')} of plan.json"


def _ruler(cells: int) -> str:
    marks = [" "] * (cells + 2)
    for number in (1, *range(_MARKED, cells + 1, _MARKED)):
        marks[number : number + len(str(number))] = str(number)
    return "".join(marks)


def _bar(run: Occupant, cell: int, cells: int) -> str:
    first, last = _cells(run, cell)
    return "".join(_RUNS if first <= at <= last else _FREE for at in range(1, cells + 1))


def _name(run: Occupant, units: dict[str, int]) -> str:
    """The job, and which of its units and runs where it has several."""
    name = f"{run.job} {run.unit}" if units.get(run.job, 1) > 1 else run.job
    return f"{name}/{run.replica}" if run.replica > 1 else name
