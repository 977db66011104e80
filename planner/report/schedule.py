"""Which run holds which GPUs in which weeks, drawn week by week."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from planner.inputs.scenario.quarter import WEEKS
from planner.report.document import Bar, Block, Gantt, Heading, Paragraph, Verbatim
from planner.report.format import code, count_of, numbers, quarter_span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planner.plan.plan import NodeUse, Occupant, Plan

__all__ = ["schedule_pictures", "schedule_section"]

_RUNS, _FREE = "#", "·"
_RULER = {1: "1", 5: "5", 10: "10"}
"""What stands above a week."""


def schedule_section(plan: Plan, most_lines: int) -> tuple[Block, ...]:
    """One line per run under its node, alike quarters drawn once; nothing where none has weeks."""
    blocks = [
        block
        for span, lines, _ in _drawn(plan, most_lines)
        for block in (Heading(span, 3), Verbatim(lines))
    ]
    return (Paragraph(_HOW, tone="faint"), *blocks) if blocks else ()


def schedule_pictures(
    plan: Plan, numbers_of: Mapping[str, int], most_lines: int
) -> tuple[Block, ...]:
    """The same as pictures, in the colours of the node map."""
    units = {job.name: max(job.units, default=0) for job in plan.jobs}

    def bar(run: Occupant) -> Bar:
        weeks, name = run.held_weeks, _name(run, units)
        return Bar(numbers(run.gpus), weeks[0], weeks[-1], name, numbers_of[run.job])

    return tuple(
        Gantt(
            title=f"Runs of {span} by week",
            says=f"{_HOW} At the left the numbers of the GPUs, as in 0–3, under their node.",
            cells=WEEKS,
            groups=tuple(
                (node, tuple(bar(run) for _, run in group))
                for node, group in groupby(_runs(uses)[:most_lines], key=lambda run: run[0])
            ),
            lines=lines,
        )
        for span, lines, uses in _drawn(plan, most_lines)
    )


_HOW = (
    f"Runs of some weeks, with the numbers of their GPUs; a cell for each of the {WEEKS} weeks "
    "of the quarter. No run moves before it ends. Jobs that hold their GPUs all quarter are "
    "not drawn."
)


def _drawn(plan: Plan, most_lines: int) -> Iterator[tuple[str, tuple[str, ...], Sequence[NodeUse]]]:
    """Quarters that look alike, their lines, and who is placed in the first of them."""
    units = {job.name: max(job.units, default=0) for job in plan.jobs}
    drawn = [
        (label, tuple(_lines(uses, units, most_lines)), uses)
        for label, uses in zip(plan.quarters, plan.placements, strict=True)
    ]
    for lines, group in groupby(drawn, key=lambda entry: entry[1]):
        alike = list(group)
        if lines:
            yield quarter_span(alike[0][0], alike[-1][0]), lines, alike[0][2]


def _runs(uses: Sequence[NodeUse]) -> list[tuple[str, Occupant]]:
    return [(use.node, one) for use in uses for one in use.occupants if one.weeks]


def _lines(uses: Sequence[NodeUse], units: dict[str, int], most: int) -> Iterator[str]:
    runs = _runs(uses)
    if not runs:
        return
    shown = runs[:most]
    width = max(len(numbers(one.gpus)) for _, one in shown)
    yield f"{'':{width}}    {_ruler()}".rstrip()
    for node, group in groupby(shown, key=lambda run: run[0]):
        yield node
        for _, one in group:
            yield f"  {numbers(one.gpus):<{width}}  [{_bar(one)}]  {_name(one, units)}"
    if len(runs) > most:
        more = count_of(len(runs) - most, "more run")
        yield f"… {more}, all of them in {code('placements')} of plan.json"


def _ruler() -> str:
    cells = [" "] * (WEEKS + 1)
    for week, mark in _RULER.items():
        cells[week : week + len(mark)] = mark
    return "".join(cells)


def _bar(run: Occupant) -> str:
    return "".join(_RUNS if week in run.held_weeks else _FREE for week in range(1, WEEKS + 1))


def _name(run: Occupant, units: dict[str, int]) -> str:
    """The job, and which of its units where it has several."""
    return f"{run.job} {run.unit}" if units.get(run.job, 1) > 1 else run.job
