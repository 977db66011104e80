"""Section 4: the options side by side, each a plan of its own, and what doing nothing means."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planner.report.document import Blank, Block, Cell, Column, Fields, Figure, Paragraph, Table
from planner.report.justification.desk import Desk, figure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from planner.plan.plan import Plan

__all__ = ["idle_table", "options_blocks"]

_RECOMMENDED = "Recommended"
_EXPECTED = {
    "do nothing": "plan without offers, `policies.shortage: drop`",
    "reclaim first": "plan with the GPUs that measured use sets free",
    "rent only": "plan with offers to rent alone",
    "one bigger": "plan with more growth",
}


def options_blocks(desk: Desk, options: Mapping[str, Plan]) -> tuple[Block, ...]:
    """One column for each plan, the same rows for all; options not handed over stay open."""
    desks = {_RECOMMENDED: desk, **{name: Desk(plan) for name, plan in options.items()}}
    rows = tuple(
        (title, *(_told(name, of(one)) for name, one in desks.items())) for title, of in _ROWS
    )
    columns = (Column("", wraps=True), *(Column(name, "right") for name in desks))
    missing = tuple(
        (name.capitalize(), Blank(how)) for name, how in _EXPECTED.items() if name not in options
    )
    told: tuple[Block, ...] = (
        Table(columns, rows, caption="Options, each planned and proved by itself"),
    )
    if missing:
        told += (
            Paragraph(
                "Options that were not handed over with `--option NAME=PLAN.json`:", tone="faint"
            ),
            Fields(missing),
        )
    return (*told, idle_table(desk))


def _told(name: str, cell: Cell) -> Cell:
    """A figure of another plan says of which."""
    if name == _RECOMMENDED or not isinstance(cell, Figure):
        return cell
    return replace(cell, sum=f"{name}: {cell.sum}")


def _acquired(kind: str) -> Callable[[Desk], Cell]:
    return lambda desk: figure(desk.accounts.acquired(kind), "usd", "how-bill")


def _first_order(desk: Desk) -> Cell:
    if not desk.bill:
        return "–"
    place, line = min(desk.bill, key=lambda entry: entry[1].order_by)
    return desk.day(line.order_by, f"acquisitions[{place}].order_by", "how-bill")


def _short_jobs(desk: Desk) -> Cell:
    if desk.plan.shortage is None:
        return "none"
    return figure(desk.read.count("shortage.jobs[*]"), "count", "how-use")


def _last(desk: Desk) -> int:
    return len(desk.plan.quarters) - 1


_ROWS: tuple[tuple[str, Callable[[Desk], Cell]], ...] = (
    ("Status", lambda desk: desk.plan.proof.status),
    ("Net present cost, USD", lambda desk: desk.at("proof.cost_cents", "usd", "how-proof")),
    ("Purchases, USD", _acquired("buy")),
    ("Rents, USD", _acquired("rent")),
    ("Reservations, USD", _acquired("reserve")),
    ("Paid over the horizon, USD", lambda desk: figure(desk.accounts.paid(), "usd", "how-cost")),
    (
        "GPUs in service at the end",
        lambda desk: figure(desk.capacity.in_service(_last(desk)), "count", "how-use"),
    ),
    (
        "GPUs held at the end",
        lambda desk: figure(desk.capacity.needed(_last(desk)), "count", "how-use"),
    ),
    ("Jobs dropped or delayed", _short_jobs),
    ("First order by", _first_order),
)


def idle_table(desk: Desk) -> Table:
    """What doing nothing leaves short, in GPUs."""
    rows = tuple(
        (
            label,
            figure(desk.capacity.needed(place), "count", "how-use"),
            figure(desk.capacity.owned(place), "count", "how-use"),
            figure(desk.capacity.short(place), "count", "how-use"),
        )
        for place, label in enumerate(desk.plan.quarters)
    )
    return Table(
        (
            Column("Quarter"),
            Column("GPUs that this plan uses", "right"),
            Column("GPUs owned", "right"),
            Column("Short without it", "right"),
        ),
        rows,
        caption="Doing nothing: the GPUs that would be missing, whatever their type; below zero "
        "is room to spare",
    )
