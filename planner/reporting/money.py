"""What is bought and rented, and what it costs."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from planner.inputs.scenario.quarter import WEEK_HOURS
from planner.planning.words import nodes_text, some_of
from planner.reporting.document import Block, Bullets, Column, Paragraph, Table
from planner.reporting.format import count_of, dollars, listed, money, percent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.planning.plan import Acquisition, BreakEven, HourlyUse, Plan

__all__ = [
    "acquisitions_section",
    "action_of",
    "costs_section",
    "orders_for_several_sites",
    "price_source",
]

_JOBS = 6
_THOUSANDS_FROM_CENTS = 100_000_000 * 100
"""Above this the table counts thousands, so that it fits a page."""


def acquisitions_section(plan: Plan, *, sources: bool) -> tuple[Block, ...]:
    """What is acquired, quarter by quarter, and each price, with its source if `sources`."""
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
    committed = tuple(_committed_line(line) for line in lines if line.committed_cents)
    hourly = tuple(_hourly_line(plan, one) for one in plan.hourly)
    return (table, Bullets((*prices, *orders_for_several_sites(lines), *committed, *hourly)))


def orders_for_several_sites(lines: Iterable[Acquisition]) -> tuple[str, ...]:
    """What must be ordered together to have its price, though it is delivered to several sites."""
    orders: dict[tuple[str, str], list[Acquisition]] = defaultdict(list)
    for line in lines:
        if line.kind == "buy":
            orders[line.offer, line.quarter].append(line)
    return tuple(
        f"{offer} for {quarter}: one order of {sum(line.count for line in order):,} nodes, "
        f"{listed([f'{line.count:,} for {line.site}' for line in order])}"
        for (offer, quarter), order in orders.items()
        if len(order) > 1
    )


def _hourly_line(plan: Plan, one: HourlyUse) -> str:
    """Which runs are on nodes by the hour, and at which price that turns."""
    line = next(line for line in plan.acquisitions if line.offer == one.offer)
    node = line.gpus_per_node * (line.step_hours or 1)
    each = line.unit_price_cents / node / 100
    told = {
        "proved": "",
        "not proved": "; at which price that turns is open, as not both plans are proved",
        "no other plan": "; there is no plan without it, at whatever price",
    }[one.without]
    if one.turns_at is not None:
        told = (
            f"; from ${each * one.turns_at:,.2f} per GPU-hour on, a plan without it is cheaper, as "
            "proved"
        )
    return (
        f"{one.offer}: {one.gpu_hours:,} GPU-hours for {count_of(len(one.jobs), 'job')}, "
        f"{some_of(one.jobs, _JOBS)}, at ${each:,.2f}{told}"
    )


def _committed_line(line: Acquisition) -> str:
    """What a reservation costs after the horizon, which no other figure holds."""
    years = count_of((line.term_quarters or 0) // 4, "year")
    return (
        f"committed after the horizon: {money(line.committed_cents)} for {line.offer} from "
        f"{line.quarter} ({years}), counted in no other figure of this plan"
    )


def _acquisition_row(line: Acquisition) -> tuple[str, ...]:
    return (
        line.quarter,
        action_of(line.kind, line.term_quarters, line.step_hours),
        f"{line.node_type} @ {line.site}",
        nodes_text(line.count, line.step_hours),
        dollars(line.unit_price_cents),
        dollars(line.total_cents),
        line.order_by,
    )


def action_of(kind: str, term_quarters: int | None, step_hours: int | None = None) -> str:
    """`buy`, `rent`, `reserve for 3 years`, `rent by the hour`, `rent for 2 weeks`."""
    if kind == "hourly":
        return "rent by the hour"
    if step_hours is not None:
        return f"{kind} for {count_of(step_hours // WEEK_HOURS, 'week')}"
    if term_quarters is None:
        return kind
    return f"{kind} for {count_of(term_quarters // 4, 'year')}"


def price_source(line: Acquisition) -> str:
    """`price book shipped`, `quote 4711`: what a price is from, without the pages behind it."""
    return line.price_origin.partition(": ")[0]


def _price_line(line: Acquisition, *, sources: bool) -> str:
    origin = line.price_origin if sources else price_source(line)
    trust = "illustrative, " if line.illustrative and "illustrative" not in origin else ""
    dated = f", {line.price_date}" if line.price_date else ""
    weeks = count_of(line.lead_time_weeks, "week")
    lead = f"; lead time {weeks}" if line.lead_time_weeks else ""
    held = "; each is paid by the quarter, the total is for those within the horizon"
    return (
        f"{line.offer} ({line.product}, {line.gpus_per_node}× {line.gpu_type}): "
        f"{line.price_text} ({trust}{origin}{dated}){lead}{held if line.kind == 'reserve' else ''}"
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
        *_budgets(plan),
        *_break_evens(plan),
    )


def _budgets(plan: Plan) -> tuple[Block, ...]:
    if not plan.budgets:
        return ()
    columns = (
        Column("Budget"),
        Column("Quarter"),
        Column("Limit, USD", "right"),
        Column("Spent, USD", "right"),
        Column("Left, USD", "right"),
    )
    rows = tuple(
        (
            _SPENDS[use.spend],
            use.quarter or "all",
            dollars(use.limit_cents),
            dollars(use.spent_cents),
            dollars(use.limit_cents - use.spent_cents),
        )
        for use in plan.budgets
    )
    return (
        Paragraph(
            "Budgets are of money paid, not discounted: capex is purchases, opex all else; the "
            "residual value is neither.",
            tone="faint",
        ),
        Table(columns, rows),
    )


_SPENDS = {"capex": "capex", "opex": "opex", "spending": "capex and opex"}


def _break_evens(plan: Plan) -> tuple[Block, ...]:
    """From how many hours a quarter each purchase beats renting by the hour."""
    if not plan.break_evens:
        return ()
    return (
        Paragraph(
            "Break-even of buying against renting by the hour, to the end of the horizon, all "
            "costs and the residual value counted:",
            tone="faint",
        ),
        Bullets(tuple(_break_even_line(one) for one in plan.break_evens)),
    )


def _break_even_line(one: BreakEven) -> str:
    bought = f"{one.offer} ({one.node_type}) from {one.quarter}"
    if one.hours > one.quarter_hours:
        return (
            f"{bought}: renting by {one.rent} is cheaper at any use; all {one.quarter_hours:,} h "
            f"of each quarter cost {money(one.rent_cents)}, buying {money(one.buy_cents)}"
        )
    return (
        f"{bought}: cheaper than {one.rent} above {one.hours:,} h of use a quarter "
        f"({percent(one.hours / one.quarter_hours, 0)} of {one.quarter_hours:,} h)"
    )


def _largest(plan: Plan) -> int:
    amounts = [abs(cents) for line in plan.costs for cents in (*line.cents, line.total_cents)]
    return max(amounts, default=0)
