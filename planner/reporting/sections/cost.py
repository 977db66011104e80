"""What the plan costs: by kind, quarter and year, against budgets and renting, and by team."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import groupby
from math import ceil
from typing import NamedTuple

from planner.planning.plan import QuotaUse
from planner.planning.traced_figures import TracedFigure, total
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Fields,
    Paragraph,
    cell_text,
    columns_for,
    table,
)
from planner.reporting.format import (
    Style,
    code,
    figure,
    listed,
    percent,
    quarter_span,
    range_of,
)
from planner.reporting.sections.jobs import some_share
from planner.reporting.traced import TracedPlan

_NONE = "–"
_THOUSANDS_FROM_CENTS = 100_000_000 * 100
"""Above this a table counts thousands, so that it fits a page."""
SPENDS = {
    "capex": "capital",
    "opex": "running cost",
    "spending": "capital and running cost together",
}
"""What a budget limits, in words."""
_A_YEAR = TracedFigure(Fraction(4), "4")
"""Quarters of a year."""
_GO_ON = ("support", "energy", "licence", "colocation")
"""Costs of nodes that stay."""
_NETWORK = "Network fabric and cabling"
_NOT_IN_THE_INPUTS = (
    _NETWORK,
    "Storage",
    "Cooling and space beyond PUE and colocation",
    "Staff",
    "Installation and disposal",
    "Taxes, freight, insurance",
)


def explanations(traced: TracedPlan) -> Iterator[Block]:
    """Say how each kind of cost comes about."""
    lines = traced.plan.costs
    yield Bullets(tuple(f"{line.name}: {line.explanation}" for line in lines if line.explanation))


def cost_section(traced: TracedPlan) -> Iterator[Block]:
    """Show cost by kind and quarter, per GPU-hour and token, and afterwards."""
    told = (
        "The residual value is what the servers are still worth at the end of the horizon, no "
        "payment."
    )
    if any(line.action == "sell" for line in traced.plan.releases):
        told += (
            " What a sale brings is received, and lessens nothing that is paid; what the sold "
            "servers would have brought right after the horizon is given up by it."
        )
    yield from cost_by_quarter(traced)
    yield Paragraph(told, tone="faint")
    counted = {_NETWORK} if any(line.name == "network" for line in traced.plan.costs) else set()
    left = "; ".join(name for name in _NOT_IN_THE_INPUTS if name not in counted)
    lacking = ("In no input, and in no sum", Blank(left))
    yield Fields((*_headlines(traced), *_afterwards(traced), lacking))


def _headlines(traced: TracedPlan) -> Iterator[tuple[str, Cell]]:
    accounts = traced.accounts
    tokens = traced.read.sum("endpoints[*].million_tokens[*]")
    if tokens.value:
        cents = traced.read.sum("endpoints[*].cost_cents[*]")
        each = traced.figure(cents / tokens, "rate")
        yield "Net present cost of a million tokens, by the GPUs that endpoints hold, USD", each
    elif any(job.kind == "serve" for job in traced.plan.jobs):
        needed = Blank(f"{code('load:')} of the serving jobs")
        yield "Net present cost of a million tokens, USD", needed
    title, held = "Net present cost of each GPU-hour that jobs", ""
    if accounts.per_gpu_hour is not None:
        figure = traced.figure(accounts.per_gpu_hour, "rate")
        yield f"{title} hold, USD", figure
        held = figure.text
    if accounts.delivered is not None:
        rated = _rate(traced, accounts.net_present, accounts.delivered)
        if cell_text(rated) != held:
            yield f"{title} deliver, USD", rated
    if accounts.residual_share is not None:
        share = traced.figure(accounts.residual_share, "share")
        yield "Residual value, of the purchases", share
    yield from spare_rows(traced)


def _afterwards(traced: TracedPlan) -> Iterator[tuple[str, Cell]]:
    """Say what bought nodes cost to run after the horizon; nothing if none is bought."""
    plan, last = traced.plan, traced.quarters[-1]
    running = [
        place for place, line in enumerate(plan.costs) if line.name in _GO_ON and line.cents[last]
    ]
    if running and any(line.kind == "buy" for _, line in traced.bill):
        cents = total(traced.read.at(f"costs[{place}].cents[{last}]") for place in running)
        names = listed([plan.costs[place].name for place in running])
        title = f"Running all nodes after the horizon, a year ({names} as in "
        title += f"{plan.quarters[last]}), USD"
        yield title, traced.figure(cents * _A_YEAR, "usd")


def money_rows(traced: TracedPlan) -> Iterator[tuple[str, Cell]]:
    """Return the money for page 1: what is in the net present cost, and what is not."""
    yield from list(spare_rows(traced))[:1]
    yield from optimism_rows(traced)
    brought = traced.read.sum("releases[*].total_cents")
    if brought.value:
        title = "Received for owned nodes that are sold, counted against no budget, USD"
        yield title, traced.figure(brought, "usd")
    yield from traced.committed


def optimism_rows(traced: TracedPlan) -> Iterator[tuple[str, Cell]]:
    """Return the cost if purchases turn out dearer, by the share that the scenario states."""
    adjusted, bias = traced.accounts.adjusted, traced.plan.optimism_bias
    if adjusted is not None and bias is not None:
        title = f"Net present cost with purchases {percent(bias)} dearer (optimism bias), USD"
        yield title, traced.figure(adjusted, "usd")


def spare_rows(traced: TracedPlan) -> Iterator[tuple[str, Cell]]:
    """Return what all spare nodes cost together, in money and as a share."""
    known = traced.plan.spare_cost
    if known is None:
        return
    title = "Of the net present cost, for all spare nodes together"
    if known.cents is None:
        yield f"{title}, USD", "open: a plan without was not proved"
        return
    cents = traced.read.at("spare_cost.cents")
    yield f"{title}, USD", traced.figure(cents, "usd")
    if traced.plan.proof.cost_cents > 0:
        share = cents / traced.accounts.net_present
        yield f"{title}, as a share", traced.figure(share, "share")


def cost_by_quarter(traced: TracedPlan) -> Iterator[Block]:
    """Show each kind of cost by quarter, in total, and in present value."""
    plan, accounts = traced.plan, traced.accounts
    amounts = [abs(cents) for line in plan.costs for cents in (*line.cents, line.total_cents)]
    large = max(amounts, default=0) >= _THOUSANDS_FROM_CENTS
    style: Style = "thousands" if large else "usd"
    every = tuple(traced.quarters)
    rows: dict[str, tuple[str, tuple[int, ...]]] = {
        **{label: (f"cents[{place}]", (place,)) for place, label in enumerate(plan.quarters)},
        "Sum": ("total_cents", every),
        "Present value": ("present_cents", ()),
    }

    def amount(title: str, line: int) -> Cell:
        return traced.at(f"costs[{line}].{rows[title][0]}", style)

    def in_all(title: str) -> Cell:
        if chosen := rows[title][1]:
            return traced.figure(accounts.counted(chosen), style)
        return traced.figure(accounts.net_present, style)

    yield table(
        list(rows)[:-1],
        ("Quarter", "name", lambda title: title),
        *columns_for(
            ((line.name.capitalize(), place) for place, line in enumerate(plan.costs)), amount
        ),
        ("All", "number", in_all),
        whole="Present value",
        caption=f"{'Thousand ' * large}USD; quarters and their sum are not discounted",
    )


def budgets_section(traced: TracedPlan) -> Iterator[Block]:
    """Show the budgets with what is left of each."""
    budgets = traced.plan.budgets

    def left(at: int) -> Cell:
        limit, spent = (traced.read.at(f"budgets[{at}].{of}_cents") for of in ("limit", "spent"))
        return traced.figure(limit - spent, "usd")

    if budgets:
        yield table(
            range(len(budgets)),
            ("Budget", "name", lambda at: SPENDS[budgets[at].spend]),
            ("Quarter", "name", lambda at: budgets[at].quarter or "all"),
            *traced.figures(
                "budgets[{}]", ("Limit, USD", "limit_cents"), ("Spent, USD", "spent_cents")
            ),
            ("Left, USD", "number", left),
            caption="Budgets, of money paid, not discounted: capital is purchases, running cost "
            "all else; the residual value is neither",
        )


def break_evens_section(traced: TracedPlan) -> Iterator[Block]:
    """Show purchases for which there is an offer to rent."""
    compared = traced.plan.break_evens

    def from_use(row: int, style: Style) -> Cell:
        """Return the use from which renting is dearer: in hours, or as a share of all."""
        if compared[row].hours > compared[row].quarter_hours:
            return "renting is cheaper at any use" if style == "count" else _NONE
        hours = traced.read.at(f"break_evens[{row}].hours")
        if style == "share":
            hours /= traced.read.at(f"break_evens[{row}].quarter_hours")
        return traced.figure(hours, style)

    columns: tuple[tuple[str, Style], ...] = (
        ("Break-even, h a quarter", "count"),
        ("Of all hours", "share"),
    )
    if compared:
        yield table(
            range(len(compared)),
            ("Offer", "text", lambda row: f"{compared[row].offer} ({compared[row].node_type})"),
            ("Against", "text", lambda row: compared[row].rent),
            ("From", "name", lambda row: compared[row].quarter),
            *traced.figures(
                "break_evens[{}]", ("Bought, USD", "buy_cents"), ("Rented, USD", "rent_cents")
            ),
            *columns_for(columns, from_use),
            caption="Net present cost of one node to the end of the horizon, and the use from "
            "which on buying is cheaper than renting by the hour",
        )


def affordability_section(traced: TracedPlan) -> Iterator[Block]:
    """Say what of budgets only people know."""
    budget = ("Budget against which this is held", Blank(code("budget:")))
    codes = ("Budget code, start of the fiscal year, funding approved so far", Blank())
    yield Fields((codes,) if traced.plan.budgets else (budget, codes))


class _Charge(NamedTuple):
    """What a team, or all of them, hold and are charged."""

    team: str
    gpus: str
    hours: TracedFigure
    delivered: TracedFigure | None
    """None if the time of some run is not known."""
    cents: TracedFigure


def teams_section(traced: TracedPlan) -> Iterator[Block]:
    """Show what each team holds, delivers and is charged, what is idle, and quota use."""
    charged, read = traced.plan.chargeback, traced.read
    if charged is None:
        return
    some_open = any(use.open_gpu_hours for use in charged.teams)
    rows: list[_Charge] = []
    for place, use in enumerate(charged.teams):
        hours, delivered, cents = (
            read.at(f"chargeback.teams[{place}].{name}")
            for name in ("gpu_hours", "delivered_gpu_hours", "cost_cents")
        )
        known = None if use.open_gpu_hours else delivered
        rows.append(_Charge(use.team or "no team", range_of(use.gpus), hours, known, cents))
    idle, idle_cents = read.at("chargeback.idle_gpu_hours"), read.sum("chargeback.idle_cents[*]")
    if charged.idle_gpu_hours:
        name = "idle, charged to nobody"
        if charged.idle == "spread":
            name = "idle, of pools that nobody uses" if idle_cents.value else "idle, charged above"
        rows.append(_Charge(name, "", idle, None, idle_cents))
    of_teams = read.sum("chargeback.teams[*].cost_cents")
    all_hours = read.sum("chargeback.teams[*].gpu_hours") + idle
    delivered_all = None if some_open else traced.accounts.delivered
    whole = _Charge("Sum", "", all_hours, delivered_all, of_teams + idle_cents)
    unused = "stand in a line of their own"
    if charged.idle == "spread":
        unused = "are charged to those who use the pool"
    told = (
        "The net present cost of each pool and quarter is shared by the GPUs held there; those "
        f"that no job holds {unused}. Delivered GPU-hours are the runs of tuning jobs and all "
        "hours of other jobs."
    )
    if some_share(traced.plan):
        told += (
            " A run is charged for its hours, a part of a GPU for its share of the memory; under "
            "GPUs stands what is held at the hour at which most are, each part as a GPU."
        )
    if some_open:
        told += f" Where the time of some run is not known, none are given ({_NONE})."

    def shown(row: _Charge, name: str) -> Cell:
        hours = getattr(row, name)
        return _NONE if hours is None else traced.figure(hours, "count")

    yield Paragraph(told, tone="faint")
    yield table(
        rows,
        ("Team", "text", lambda row: row.team),
        ("GPUs", "number", lambda row: row.gpus),
        *columns_for((("GPU-hours", "hours"), ("Delivered", "delivered")), shown),
        ("Cost, USD", "number", lambda row: traced.figure(row.cents, "usd")),
        *columns_for(
            (("USD/GPU-h", "hours"), ("USD/delivered", "delivered")),
            lambda row, name: _rate(traced, row.cents, getattr(row, name)),
        ),
        whole=whole,
    )
    if whole.cents.value:
        share = traced.figure(of_teams / whole.cents, "share")
        yield Fields((("Charged to teams, of the net present cost", share),))
    lines = tuple(
        f"{use.team}: {_quota_line(traced.plan.quarters, quota)}"
        for use in charged.teams
        for quota in use.quotas
    )
    if lines:
        when = ", at their fullest hour," * some_share(traced.plan)
        yield Paragraph(f"Quotas, as GPUs held{when} of GPUs allowed:", tone="faint")
        yield Bullets(lines)


def _rate(traced: TracedPlan, cents: TracedFigure, hours: TracedFigure | None) -> Cell:
    """Format USD an hour."""
    return traced.figure(cents / hours, "rate") if hours and hours.value else _NONE


def _quota_line(quarters: Iterable[str], quota: QuotaUse) -> str:
    """Format `6 of 8 (2027Q1), 15.3 of 16 (2027Q2–Q4), on h100-80gb-sxm`.

    What is held is rounded up to a tenth.
    """
    told = []
    entries = zip(quarters, quota.gpus, quota.limit_gpus, strict=True)
    for (gpus, limit), group in groupby(entries, key=lambda entry: entry[1:]):
        labels = [label for label, _, _ in group]
        allowed = "any number" if limit is None else f"{limit:,}"
        told.append(
            f"{figure(ceil(gpus * 10) / 10)} of {allowed} ({quarter_span(labels[0], labels[-1])})"
        )
    on = f", on {quota.gpu_type}" if quota.gpu_type else ""
    return f"{', '.join(told)}{on}"
