"""What is bought and rented, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.document import Block, Bullets, Column, Paragraph, Table
from planner.report.format import count_of, dollars, money

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.plan.plan import Acquisition, Plan

__all__ = ["acquisitions_section", "costs_section"]

_THOUSANDS_FROM_CENTS = 100_000_000 * 100
"""Above this the table counts thousands, so that it fits a page."""


def acquisitions_section(plan: Plan, *, sources: bool) -> tuple[Block, ...]:
    """Purchases and rents, quarter by quarter, and each price, with its source if `sources`."""
    if not plan.acquisitions:
        return (Paragraph("Nothing to buy and nothing to rent."),)
    lines = sorted(plan.acquisitions, key=lambda line: (line.quarter, line.kind, line.offer))
    table = Table(
        (
            Column("Quarter"),
            Column("Action"),
            Column("Node type", wraps=True),
            Column("Count", "right"),
            Column("Each, USD", "right"),
            Column("Total, USD", "right"),
            Column("Order by"),
        ),
        tuple(_acquisition_row(line) for line in lines),
        ("Sum", "", "", "", "", dollars(sum(line.total_cents for line in lines)), ""),
    )
    prices = dict.fromkeys(_price_line(line, sources=sources) for line in lines)
    return (table, Bullets(tuple(prices)))


def _acquisition_row(line: Acquisition) -> tuple[str, ...]:
    return (
        line.quarter,
        line.kind,
        f"{line.node_type} @ {line.site}",
        f"{line.count:,}",
        dollars(line.unit_price_cents),
        dollars(line.total_cents),
        line.order_by,
    )


def _price_line(line: Acquisition, *, sources: bool) -> str:
    origin = line.price_origin if sources else line.price_origin.partition(": ")[0]
    trust = "illustrative, " if line.illustrative and "illustrative" not in origin else ""
    dated = f", {line.price_date}" if line.price_date else ""
    weeks = count_of(line.lead_time_weeks, "week")
    lead = f"; lead time {weeks}" if line.lead_time_weeks else ""
    return (
        f"{line.offer} ({line.product}, {line.gpus_per_node}× {line.gpu_type}): "
        f"{line.price_text} ({trust}{origin}{dated}){lead}"
    )


def costs_section(plan: Plan) -> tuple[Block, ...]:
    """Cost by kind and quarter, not discounted, then in present value."""
    per = 1000 if _largest(plan) >= _THOUSANDS_FROM_CENTS else 1
    unit = "thousand USD" if per > 1 else "USD"

    def row(title: str, cents: Iterable[int]) -> tuple[str, ...]:
        amounts = tuple(cents)
        return (title, *(dollars(c, per=per) for c in (*amounts, sum(amounts))))

    by_quarter = tuple(
        row(label, (line.cents[place] for line in plan.costs))
        for place, label in enumerate(plan.quarters)
    )
    table = Table(
        (
            Column("Quarter", wraps=True),
            *(Column(line.name.capitalize(), "right", wraps=True) for line in plan.costs),
            Column("All", "right"),
        ),
        (*by_quarter, row("Sum", (line.total_cents for line in plan.costs))),
        row("Present value", (line.present_cents for line in plan.costs)),
    )
    return (
        Paragraph(
            f"In {unit}, rounded here and exact to the cent in plan.json; quarters are not "
            f"discounted. Net present cost: {money(plan.proof.cost_cents)}."
        ),
        table,
        Bullets(
            tuple(f"{line.name}: {line.explanation}" for line in plan.costs if line.explanation)
        ),
    )


def _largest(plan: Plan) -> int:
    amounts = [abs(cents) for line in plan.costs for cents in (*line.cents, line.total_cents)]
    return max(amounts, default=0)
