"""Which run holds which GPUs from when to when, drawn by week, or by day where all is short."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from planner.inputs.scenario.quarter import RUN_HOURS, WEEK_HOURS
from planner.reporting.document import Bar, Block, Gantt, Heading, Paragraph, Verbatim
from planner.reporting.format import (
    code,
    count_of,
    duration,
    moments,
    money,
    numbers,
    percent,
    quarter_span,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planner.planning.plan import Occupant, Plan

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
    """A line for runs in turn under their node, alike quarters drawn once; none where none runs."""
    blocks = [
        block
        for span, lines, _ in _drawn(plan, most_lines)
        for block in (Heading(span, 3), Verbatim(lines))
    ]
    if not blocks:
        return ()
    return (Paragraph(_HOW + _ALIKE, tone="faint"), *blocks, *_utilization(plan))


def _utilization(plan: Plan) -> Iterator[Block]:
    """What it costs that runs make progress in a share of their hours alone."""
    share = next((one.value for one in plan.settings if one.name == "run_utilization"), 1.0)
    if plan.utilization_cents is not None:
        yield Paragraph(
            f"Runs make progress in {percent(share)} of the hours for which they hold their GPUs "
            "(policies.run_utilization). That they do not in all of them costs "
            f"{money(plan.utilization_cents) if plan.utilization_cents else 'nothing'} here, as "
            "proved."
        )


@dataclass(frozen=True, slots=True)
class _Turn:
    """Runs of a job on the same GPUs, one right after the other, all of the same length."""

    node: str
    gpus: tuple[int, ...]
    job: str
    name: str
    start: int
    """Hour of the quarter in which the first begins; likewise `end`."""
    end: int
    runs: int

    @property
    def said(self) -> str:
        """`tune 2`, or `tune, 20 runs`."""
        return self.name if self.runs == 1 else f"{self.job}, {self.runs} runs"

    @property
    def each(self) -> str:
        """How long one takes."""
        return duration((self.end - self.start) // self.runs)


def schedule_pictures(
    plan: Plan, numbers_of: Mapping[str, int], most_lines: int
) -> tuple[Block, ...]:
    """The same as pictures, in the colours of the node map."""
    pictures = []
    for span, lines, quarter in _drawn(plan, most_lines):
        turns, label = _turns(plan, quarter), plan.quarters[quarter]
        cell = _cell(turns)
        groups = tuple(
            (
                node,
                tuple(
                    Bar(
                        numbers(one.gpus),
                        *_cells(one, cell),
                        one.said,
                        numbers_of[one.job],
                        moments(label, (one.start, one.end)),
                    )
                    for one in group
                ),
            )
            for node, group in groupby(turns[:most_lines], key=lambda one: one.node)
        )
        pictures.append(
            Gantt(
                title=f"Runs of {span} by {'day' if cell == _DAY_HOURS else 'week'}",
                says=f"{_HOW}{_ALIKE} At the left the numbers of the GPUs, as in 0–3, under their "
                "node.",
                cells=_last(turns, cell),
                groups=groups,
                lines=lines,
            )
        )
    return tuple(pictures)


def _drawn(plan: Plan, most_lines: int) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Quarters that look alike, the lines of the first of them, and its number."""
    for turns, alike in groupby(
        range(len(plan.quarters)), key=lambda quarter: _turns(plan, quarter)
    ):
        quarters = list(alike)
        if turns:
            first, last = quarters[0], quarters[-1]
            span = quarter_span(plan.quarters[first], plan.quarters[last])
            yield span, tuple(_lines(plan.quarters[first], turns, most_lines)), first


def _turns(plan: Plan, quarter: int) -> list[_Turn]:
    """Who takes turns on which GPUs of a node, by node, GPUs and time."""
    units = {job.name: max(job.units, default=0) for job in plan.jobs}
    found: list[_Turn] = []
    for use in plan.placements[quarter]:
        runs = [one for one in use.occupants if one.hours]
        for one in sorted(runs, key=lambda one: (one.gpus[0], one.held_hours, one.job)):
            start, end = one.held_hours
            turn = _Turn(use.node, one.gpus, one.job, _name(one, units), start, end, 1)
            before = found[-1] if found else None
            if before and _follows(before, turn):
                found[-1] = replace(before, end=end, runs=before.runs + 1)
            else:
                found.append(turn)
    return found


def _follows(before: _Turn, turn: _Turn) -> bool:
    alike = (before.node, before.gpus, before.job) == (turn.node, turn.gpus, turn.job)
    as_long = before.end - before.start == before.runs * (turn.end - turn.start)
    return alike and as_long and before.end == turn.start


def _cell(turns: Sequence[_Turn]) -> int:
    """Hours of a cell."""
    ends = max(one.end for one in turns)
    return _DAY_HOURS if ends <= _DAY_HOURS * _MOST_DAYS else WEEK_HOURS


def _last(turns: Sequence[_Turn], cell: int) -> int:
    """How many cells are drawn."""
    ends = RUN_HOURS if cell == WEEK_HOURS else max(one.end for one in turns)
    return -(-ends // cell)


def _cells(turn: _Turn, cell: int) -> tuple[int, int]:
    """First and last cell in which it runs, from 1."""
    return turn.start // cell + 1, -(-turn.end // cell)


def _lines(label: str, turns: Sequence[_Turn], most: int) -> Iterator[str]:
    cell, shown = _cell(turns), turns[:most]
    cells = _last(turns, cell)
    width = max(len(numbers(one.gpus)) for one in shown)
    names = max(len(one.said) for one in shown)
    yield f"{'day' if cell == _DAY_HOURS else 'week':<{width + 2}}  {_ruler(cells)}".rstrip()
    for node, group in groupby(shown, key=lambda one: one.node):
        yield node
        for one in group:
            bar = _bar(one, cell, cells)
            each = f"{one.each} each" if one.runs > 1 else one.each
            when = f"{moments(label, (one.start, one.end))}, {each}"
            yield f"  {numbers(one.gpus):<{width}}  [{bar}]  {one.said:<{names}}  {when}"
    if left := sum(one.runs for one in turns[most:]):
        yield f"… {count_of(left, 'more run')}, all of them in {code('placements')} of plan.json"


def _ruler(cells: int) -> str:
    marks = [" "] * (cells + 2)
    for number in (1, *range(_MARKED, cells + 1, _MARKED)):
        marks[number : number + len(str(number))] = str(number)
    return "".join(marks)


def _bar(turn: _Turn, cell: int, cells: int) -> str:
    first, last = _cells(turn, cell)
    return "".join(_RUNS if first <= at <= last else _FREE for at in range(1, cells + 1))


def _name(run: Occupant, units: dict[str, int]) -> str:
    """The job, and which of its units and runs where it has several."""
    name = f"{run.job} {run.unit}" if units.get(run.job, 1) > 1 else run.job
    return f"{name}/{run.replica}" if run.replica > 1 else name
