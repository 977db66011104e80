"""Sections 4 to 6, and 12: options, whole-life cost, sensitivity, and whether it can be paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.planning.plan import NOT_PAID_LINES
from planner.reporting.document import (
    Blank,
    Block,
    Cell,
    Chart,
    Column,
    Fields,
    Heading,
    Paragraph,
    Series,
    Table,
)
from planner.reporting.format import code, listed
from planner.reporting.jobs import rejections_section
from planner.reporting.justification.desk import Desk, figure
from planner.reporting.justification.within import residual_share, spare_rows
from planner.reporting.teams import quota_blocks

if TYPE_CHECKING:
    from planner.planning.ledger.traced import TracedFigure
    from planner.planning.plan import BreakEven
    from planner.reporting.format import Style

__all__ = [
    "affordability_section",
    "cost_by_quarter",
    "cost_section",
    "rejected_blocks",
    "team_charges",
]

_REJECTED = "GPU types that were rejected, and by which rule"
_NOT_IN_THE_INPUTS = (
    "Network fabric and cabling",
    "Storage",
    "Cooling and space beyond PUE and colocation",
    "Staff",
    "Installation and disposal",
    "Taxes, freight, insurance",
)


def rejected_blocks(desk: Desk) -> tuple[Block, ...]:
    """GPU types that jobs may not or cannot use, with the rule that says so."""
    rejections = rejections_section(desk.plan)
    if not rejections:
        none = "No rule keeps a job off a GPU type that is owned or offered. What each would add "
        none += f"is told job by job in {desk.section('jobs')}."
        return (Heading(_REJECTED, 3), Paragraph(none))
    return (Heading(_REJECTED, 3), *rejections)


def cost_section(desk: Desk) -> tuple[Block, ...]:
    """Cost by kind and year, in present value, per GPU-hour, and where renting would be cheaper."""
    return (
        _by_year(desk),
        Paragraph(
            "The residual value is what the servers are still worth at the end of the horizon, no "
            "payment. What stands open below is in no input and in no sum.",
            tone="faint",
        ),
        *_chart(desk),
        Fields((*_headlines(desk), *((name, Blank()) for name in _NOT_IN_THE_INPUTS))),
        *cost_by_quarter(desk),
        *_break_evens(desk),
    )


def _by_year(desk: Desk) -> Table:
    plan, accounts = desk.plan, desk.accounts
    everything = range(len(plan.quarters))
    columns = [(year.label, year.quarters) for year in accounts.years]
    columns.append(("Sum", tuple(everything)))

    def row(place: int) -> tuple[Cell, ...]:
        trace = f"how-cost-{place}"
        name = plan.costs[place].name.capitalize()
        sums = (figure(accounts.line(place, chosen), "usd", trace) for _, chosen in columns)
        return (name, *sums, desk.at(f"costs[{place}].present_cents", "usd", trace))

    footer = tuple(
        figure(accounts.paid(chosen) + accounts.unpaid(chosen), "usd", "how-cost")
        for _, chosen in columns
    )
    return Table(
        (
            Column("Cost, USD", wraps=True),
            *(Column(title, "right") for title, _ in columns),
            Column("Present value", "right"),
        ),
        tuple(row(place) for place in range(len(plan.costs))),
        ("All", *footer, figure(accounts.net_present, "usd", "how-proof")),
        caption="Cost by calendar year, not discounted, and its present value",
    )


def _headlines(desk: Desk) -> list[tuple[str, Cell]]:
    rows: list[tuple[str, Cell]] = [
        ("Net present cost, USD", figure(desk.accounts.net_present, "cents", "how-proof")),
    ]
    for name, title in (
        ("discount_rate_per_year", "Discount rate a year"),
        ("useful_life_years", "Useful life, years"),
    ):
        if any(setting.name == name for setting in desk.plan.settings):
            style: Style = "share" if name.startswith("discount") else "number"
            rows.append((title, desk.at(f"settings[name={name}].value", style, "how-settings")))
    each = desk.accounts.per_gpu_hour
    if each is not None:
        rows.append(
            (
                "Net present cost of each GPU-hour that jobs hold, USD",
                figure(each, "rate", "how-use"),
            )
        )
    delivered = desk.accounts.delivered
    if delivered is not None:
        rows.append(
            (
                "Net present cost of each GPU-hour that jobs deliver, USD",
                _rate(desk.accounts.net_present, delivered),
            )
        )
    return [*rows, *residual_share(desk), *spare_rows(desk), *desk.committed]


def _chart(desk: Desk) -> tuple[Chart, ...]:
    """None where nothing is paid."""
    plan = desk.plan
    places = range(len(plan.quarters))
    series = tuple(
        Series(
            cost.name.capitalize(),
            tuple(
                desk.at(f"costs[{line}].cents[{place}]", "usd", f"how-cost-{line}")
                for place in places
            ),
        )
        for line, cost in enumerate(plan.costs)
        if cost.name not in NOT_PAID_LINES
    )
    says = "; ".join(
        f"{label}: {figure(desk.accounts.paid((place,)), 'usd', '').text} USD"
        for place, label in zip(places, plan.quarters, strict=True)
    )
    chart = Chart("What is paid in each quarter", f"{says}.", plan.quarters, series, "USD")
    return (chart,) if series else ()


def cost_by_quarter(desk: Desk) -> tuple[Block, ...]:
    """What each kind of cost is in each quarter, and what is paid."""
    plan = desk.plan
    lines = range(len(plan.costs))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            label,
            *(
                desk.at(f"costs[{line}].cents[{place}]", "usd", f"how-cost-{line}")
                for line in lines
            ),
            figure(desk.accounts.paid((place,)), "usd", "how-cost"),
        )
        for place, label in enumerate(plan.quarters)
    )
    sums = (desk.at(f"costs[{line}].total_cents", "usd", f"how-cost-{line}") for line in lines)
    columns = (Column(line.name.capitalize(), "right", wraps=True) for line in plan.costs)
    weights = [line.name for line in plan.costs if line.name in NOT_PAID_LINES - {"residual value"}]
    unpaid = listed(["the residual value", *weights])
    return (
        Heading("Cost by quarter", 3),
        Table(
            (Column("Quarter"), *columns, Column("Paid", "right")),
            rows,
            ("Sum", *sums, figure(desk.accounts.paid(), "usd", "how-cost")),
            caption=f"USD, not discounted; paid is all but {unpaid}",
        ),
    )


def _break_evens(desk: Desk) -> tuple[Block, ...]:
    rows = [_break_even(desk, place, one) for place, one in enumerate(desk.plan.break_evens)]
    compared = {one.offer for one in desk.plan.break_evens}
    alone = {
        (line.offer, line.node_type)
        for _, line in desk.bill
        if line.kind == "buy" and line.offer not in compared
    }
    rows += [
        (f"{offer} ({node})", Blank(f"an offer to rent {node}"), *["–"] * 5)
        for offer, node in sorted(alone)
    ]
    if not rows:
        return ()
    return (
        Heading("Buying against renting", 3),
        Table(
            (
                Column("Offer", wraps=True),
                Column("Against", wraps=True),
                Column("From"),
                Column("Bought, USD", "right"),
                Column("Rented, USD", "right"),
                Column("Break-even, h a quarter", "right"),
                Column("Of all hours", "right"),
            ),
            tuple(rows),
            caption="Net present cost of one node to the end of the horizon, and the use from "
            "which buying is cheaper than renting by the hour",
        ),
    )


def _break_even(desk: Desk, place: int, one: BreakEven) -> tuple[Cell, ...]:
    stem = f"break_evens[{place}]"
    use: tuple[Cell, Cell] = ("renting is cheaper at any use", "–")
    if one.hours <= one.quarter_hours:
        share = desk.read.at(f"{stem}.hours") / desk.read.at(f"{stem}.quarter_hours")
        use = (
            desk.at(f"{stem}.hours", "hours", "how-break-even"),
            figure(share, "share", "how-break-even"),
        )
    return (
        f"{one.offer} ({one.node_type})",
        one.rent,
        one.quarter,
        desk.at(f"{stem}.buy_cents", "usd", "how-break-even"),
        desk.at(f"{stem}.rent_cents", "usd", "how-break-even"),
        *use,
    )


def affordability_section(desk: Desk) -> tuple[Block, ...]:
    """Capital and running cost by year, the budgets with what is left, and who is charged."""
    accounts = desk.accounts
    columns = [(year.label, year.quarters) for year in accounts.years]
    rows = tuple(
        (
            label,
            figure(accounts.capex(places), "usd", "how-cost"),
            figure(accounts.opex(places), "usd", "how-cost"),
            figure(accounts.paid(places), "usd", "how-cost"),
        )
        for label, places in columns
    )
    everything = tuple(range(len(desk.plan.quarters)))
    table = Table(
        (
            Column("Year"),
            Column("Capital, USD", "right"),
            Column("Running, USD", "right"),
            Column("Both, USD", "right"),
        ),
        rows,
        (
            "Sum",
            *(
                figure(of(everything), "usd", "how-cost")
                for of in (accounts.capex, accounts.opex, accounts.paid)
            ),
        ),
        caption="Money paid by calendar year: purchases are capital, all else is running cost",
    )
    unlimited: tuple[tuple[str, Cell], ...] = (
        ()
        if desk.plan.budgets
        else (("Budget against which this is held", Blank(code("budget:"))),)
    )
    return (
        table,
        *_budgets(desk),
        Fields(
            (
                *desk.committed,
                *unlimited,
                ("Start of the fiscal year, if it is not January", Blank()),
                ("Budget code", Blank()),
                ("Funding approved so far", Blank()),
            )
        ),
        *team_charges(desk),
    )


def _budgets(desk: Desk) -> tuple[Block, ...]:
    rows = []
    for place, use in enumerate(desk.plan.budgets):
        limit = desk.read.at(f"budgets[{place}].limit_cents")
        spent = desk.read.at(f"budgets[{place}].spent_cents")
        rows.append(
            (
                listed(["capital", "running"]) if use.spend == "spending" else _SPENDS[use.spend],
                use.quarter or "all",
                figure(limit, "usd", "how-cost"),
                figure(spent, "usd", "how-cost"),
                figure(limit - spent, "usd", "how-cost"),
            )
        )
    if not rows:
        return ()
    columns = (
        Column("Budget"),
        Column("Quarter"),
        Column("Limit, USD", "right"),
        Column("Spent, USD", "right"),
        Column("Left, USD", "right"),
    )
    return (Table(columns, tuple(rows), caption="Budgets, not discounted"),)


_SPENDS = {"capex": "capital", "opex": "running"}


def team_charges(desk: Desk) -> tuple[Block, ...]:
    """What each team holds, delivers and is charged, and how much of the cost that is."""
    charged = desk.plan.chargeback
    if charged is None:
        return ()

    def row(
        name: str, hours: TracedFigure, delivered: TracedFigure | None, cents: TracedFigure
    ) -> tuple[Cell, ...]:
        return (
            name,
            figure(hours, "hours", "how-teams"),
            "–" if delivered is None else figure(delivered, "hours", "how-teams"),
            figure(cents, "usd", "how-teams"),
            _rate(cents, hours),
            "–" if delivered is None else _rate(cents, delivered),
        )

    rows = []
    for place, use in enumerate(charged.teams):
        stem = f"chargeback.teams[{place}]"
        delivered = None if use.open_gpu_hours else desk.read.at(f"{stem}.delivered_gpu_hours")
        hours, cents = desk.read.at(f"{stem}.gpu_hours"), desk.read.at(f"{stem}.cost_cents")
        rows.append(row(use.team or "no team", hours, delivered, cents))
    idle_hours = desk.read.at("chargeback.idle_gpu_hours")
    idle_cents = desk.read.sum("chargeback.idle_cents[*]")
    rows.append(row("idle, charged to nobody", idle_hours, None, idle_cents))
    hours = desk.read.sum("chargeback.teams[*].gpu_hours") + idle_hours
    charged_cents = desk.read.sum("chargeback.teams[*].cost_cents")
    cents = charged_cents + idle_cents
    footer = row("Sum", hours, desk.accounts.delivered, cents)
    share = figure(charged_cents / cents, "share", "how-teams") if cents.value else "–"
    columns = (
        Column("Team", wraps=True),
        Column("GPU-hours", "right"),
        Column("Delivered", "right"),
        Column("Net present cost, USD", "right"),
        Column("USD per GPU-hour", "right"),
        Column("USD per delivered", "right"),
    )
    caption = (
        "What each team holds and is charged; delivered are the hours of runs whose time is known, "
        "and all hours of other jobs"
    )
    return (
        Heading("Charged to teams", 3),
        Table(columns, tuple(rows), footer, caption=caption),
        Fields((("Charged to teams, of the net present cost", share),)),
        *quota_blocks(desk.plan, charged),
    )


def _rate(cents: TracedFigure, hours: TracedFigure) -> Cell:
    """USD an hour."""
    return figure(cents / hours, "rate", "how-teams") if hours.value else "–"
