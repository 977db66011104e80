"""Sections 7, 8 and 14: assumptions, risks and milestones, with what their owners must add."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.rules.facts import SETTINGS
from planner.planning.words import nodes_text
from planner.reporting.document import Blank, Block, Column, Fields, Paragraph, Table
from planner.reporting.format import count_of
from planner.reporting.money import price_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.plan import Acquisition, Note
    from planner.reporting.document import Cell
    from planner.reporting.justification.desk import Desk

__all__ = ["assumptions_section", "milestones_section", "risks_section"]

_SETTING = (
    Column("Parameter", wraps=True),
    Column("Value", "right"),
    Column("Unit"),
    Column("From", wraps=True),
    Column("Stated or assumed"),
)
_ASSUMPTION = (
    Column("No"),
    Column("Assumption", wraps=True),
    Column("Source", wraps=True),
    Column("Owner"),
    Column("Confidence"),
    Column("Effect if wrong", wraps=True),
    Column("Review by"),
)
_DO = {"buy": "purchase", "rent": "rent", "reserve": "reservation", "hourly": "rent by the hour"}


def assumptions_section(desk: Desk) -> tuple[Block, ...]:
    """Every parameter, then prices without a quote and all that a rule filled in."""
    settings = tuple(
        (
            f"{SETTINGS[setting.name].meaning} ({setting.name})",
            desk.at(
                f"settings[name={setting.name}].value",
                "share" if setting.unit == "share" else "number",
                "how-settings",
            ),
            "" if setting.unit == "share" else setting.unit,
            "the scenario" if setting.origin == "scenario" else setting.origin,
            "assumed" if setting.assumed else "stated",
        )
        for setting in desk.plan.settings
    )
    found = (*_illustrative(desk), *_known(desk.plan.assumptions))
    notes = tuple(
        (f"A{number}", text, origin, *(Blank(),) * 4)
        for number, (text, origin) in enumerate(found, 1)
    )
    told: list[Block] = []
    if settings:
        told.append(Table(_SETTING, settings, caption="Parameters of cost and policy"))
    if notes:
        told.append(
            Table(
                _ASSUMPTION, notes, caption="Prices without a quote, and what the inputs leave open"
            )
        )
    return tuple(told) or (Paragraph("Nothing was left open: every figure is stated."),)


def _illustrative(desk: Desk) -> Iterator[tuple[str, str]]:
    """Prices of the bill that no quote stands behind, each once."""
    yield from dict.fromkeys(
        (f"{line.offer} costs {line.price_text}, an illustrative price", price_source(line))
        for _, line in desk.bill
        if line.illustrative
    )


def risks_section(desk: Desk) -> tuple[Block, ...]:
    """What the planner knows to be at risk; how likely and how bad, its owners must say."""
    found = (*_known(desk.plan.warnings), *_late(desk))
    rows = tuple(
        (f"R{number}", risk, origin, *(Blank(),) * 4)
        for number, (risk, origin) in enumerate(found, 1)
    )
    table = Table(
        (
            Column("No"),
            Column("Risk", wraps=True),
            Column("Known from", wraps=True),
            Column("Likelihood"),
            Column("Impact"),
            Column("Mitigation", wraps=True),
            Column("Owner"),
        ),
        rows,
        caption="Risks that the planner found",
    )
    return (
        *((table,) if rows else (Paragraph("The planner found no risk in its inputs."),)),
        Fields((("Risks beyond the inputs: supply, staff, change of models", Blank()),)),
    )


def _known(notes: tuple[Note, ...]) -> Iterator[tuple[str, str]]:
    for note in notes:
        yield note.text, note.origin


def _late(desk: Desk) -> Iterator[tuple[str, str]]:
    """An order that comes late leaves its quarter without these nodes."""
    for number, (_, line) in enumerate(desk.bill, 1):
        if line.lead_time_weeks:
            are = "is" if line.count == 1 else "are"
            yield (
                f"{_what(line)} ordered after {line.order_by}, or delivered later than in "
                f"{count_of(line.lead_time_weeks, 'week')}, {are} not in service in {line.quarter}",
                f"line {number} of the bill, {desk.section('bill')}",
            )


def _what(line: Acquisition) -> str:
    times = " of" if line.step_hours else " ×"
    return f"{nodes_text(line.count, line.step_hours)}{times} {line.product} ({line.gpu_type})"


def milestones_section(desk: Desk) -> tuple[Block, ...]:
    """Orders and entries into service by date, and what acceptance still needs."""
    dated: list[tuple[str, tuple[Cell, ...]]] = []
    for place, line in desk.bill:
        order_by = desk.day(line.order_by, f"acquisitions[{place}].order_by", "how-bill")
        what = f"Place the order: {_what(line)}, {_DO[line.kind]} by offer {line.offer}"
        what += f" for {line.site}" if line.sites else ""
        dated.append((line.order_by, (order_by, what)))
        service = f"Accepted and in service: {_what(line)} at {line.site}, by offer {line.offer}"
        dated.append((_start(line.quarter), (f"start of {line.quarter}", service)))
    dated.sort(key=lambda entry: entry[0])
    table = Table(
        (
            Column("By"),
            Column("Milestone", wraps=True),
            Column("Owner"),
            Column("Done on"),
        ),
        tuple((*cells, Blank(), Blank()) for _, cells in dated),
        caption="Milestones",
    )
    return (
        *((table,) if dated else (Paragraph("There is nothing to order."),)),
        Fields(
            (
                ("Acceptance test", Blank("of each node, before it is paid")),
                ("Benefits, how and when they are measured", Blank()),
                ("Review after the purchase", Blank("date and owner")),
            )
        ),
    )


def _start(quarter: str) -> str:
    """The first day of a quarter, to sort by."""
    year, _, number = quarter.partition("Q")
    return f"{year}-{3 * int(number) - 2:02}-01"
