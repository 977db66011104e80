"""What the plan costs: by kind, quarter and year, against budgets, against renting, by team."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import groupby

from planner.costs import NOT_PAID
from planner.planning.ledger.traced import TracedFigure, total
from planner.planning.plan import Chargeback, Plan, QuotaUse
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Chart,
    Fields,
    Getter,
    Heading,
    Paragraph,
    Series,
    cell_text,
    columns_for,
    table,
    titled,
)
from planner.reporting.format import Style, code, listed, percent, quarter_span, range_of
from planner.reporting.sections.jobs import some_share
from planner.reporting.traced import TracedPlan

_NONE = "–"
_THOUSANDS_FROM_CENTS = 100_000_000 * 100
"""Above this a table counts thousands, so that it fits a page."""
_SPENDS = {"capex": "capital", "opex": "running", "spending": "capital and running"}
_A_YEAR = TracedFigure(Fraction(4), "4")
"""Quarters."""
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


def plan_cost_section(traced: TracedPlan) -> Iterator[Block]:
    """Cost by kind and quarter, what each is, then budgets and break-evens: for a short page."""
    yield from cost_by_quarter(traced)
    lines = traced.plan.costs
    yield Bullets(tuple(f"{line.name}: {line.explanation}" for line in lines if line.explanation))
    yield from _budgets(traced)
    yield from _break_evens(traced)


def cost_section(traced: TracedPlan) -> Iterator[Block]:
    """Cost by kind and quarter, per GPU-hour and token, renting beside buying, and afterwards."""
    yield from cost_by_quarter(traced)
    yield Paragraph(
        "The residual value is what the servers are still worth at the end of the horizon, no "
        f"payment.{_of_sales(traced.plan)}",
        tone="faint",
    )
    yield from paid_chart(traced)
    counted = {_NETWORK} if any(line.name == "network" for line in traced.plan.costs) else set()
    left = [name for name in _NOT_IN_THE_INPUTS if name not in counted]
    lacking = ("In no input, and in no sum", Blank("; ".join(left)))
    yield Fields((*_headlines(traced), *_afterwards(traced), lacking))
    yield from titled((("Buying against renting", _break_evens(traced)),), 3)


def _of_sales(plan: Plan) -> str:
    """How what sales bring is counted, where there are any."""
    if all(line.action != "sell" for line in plan.releases):
        return ""
    return (
        " What a sale brings is received, and lessens nothing that is paid; what the sold servers "
        "would have brought right after the horizon is given up by it."
    )


def _all(traced: TracedPlan, quarters: Iterable[int], style: Style = "usd") -> Cell:
    chosen, accounts = tuple(quarters), traced.accounts
    return traced.figure(accounts.paid(chosen) + accounts.unpaid(chosen), style, "how-cost")


def _headlines(traced: TracedPlan) -> Iterator[tuple[str, Cell]]:
    accounts = traced.accounts
    tokens = traced.read.sum("endpoints[*].million_tokens[*]")
    if tokens.value:
        cents = traced.read.sum("endpoints[*].cost_cents[*]")
        each = traced.figure(cents / tokens, "rate", "how-serving")
        yield "Net present cost of a million tokens, by the GPUs that endpoints hold, USD", each
    elif any(job.kind == "serve" for job in traced.plan.jobs):
        needed = Blank(f"{code('load:')} of the serving jobs")
        yield "Net present cost of a million tokens, USD", needed
    title = "Net present cost of each GPU-hour that jobs"
    held = ""
    if accounts.per_gpu_hour is not None:
        figure = traced.figure(accounts.per_gpu_hour, "rate", "how-use")
        yield f"{title} hold, USD", figure
        held = figure.text
    if accounts.delivered is not None:
        rated = _rate(traced, accounts.net_present, accounts.delivered)
        if cell_text(rated) != held:
            yield f"{title} deliver, USD", rated
    if accounts.residual_share is not None:
        share = traced.figure(accounts.residual_share, "share", _how_residual(traced))
        yield "Residual value, of the purchases", share
    yield from spare_rows(traced)


def _afterwards(traced: TracedPlan) -> Iterator[tuple[str, Cell]]:
    """What running the nodes that are bought costs after the horizon; nothing where none is."""
    plan, last = traced.plan, traced.quarters[-1]
    running = [
        place for place, line in enumerate(plan.costs) if line.name in _GO_ON and line.cents[last]
    ]
    if running and any(line.kind == "buy" for _, line in traced.bill):
        cents = total(traced.read.at(f"costs[{place}].cents[{last}]") for place in running)
        names = listed([plan.costs[place].name for place in running])
        title = f"Running all nodes after the horizon, a year ({names} as in "
        title += f"{plan.quarters[last]}), USD"
        yield title, traced.figure(cents * _A_YEAR, "usd", "how-cost")


def _how_residual(traced: TracedPlan) -> str:
    names = [line.name for line in traced.plan.costs]
    return f"how-cost-{names.index('residual value')}"


def money_rows(traced: TracedPlan) -> Iterator[tuple[str, Cell]]:
    """For page 1: what is within the net present cost, and beside it what is not."""
    if traced.plan.spare_cost is not None:
        yield "Of the net present cost, for all spare nodes together, USD", spare_total(traced)
    yield from optimism_rows(traced)
    brought = traced.read.sum("releases[*].total_cents")
    if brought.value:
        title = "Received for owned nodes that are sold, counted against no budget, USD"
        yield title, traced.figure(brought, "usd", "how-let-go")
    yield from traced.committed


def optimism_rows(traced: TracedPlan) -> Iterator[tuple[str, Cell]]:
    """The cost if purchases turn out dearer, where the scenario says by how much they tend to."""
    adjusted, bias = traced.accounts.adjusted, traced.plan.optimism_bias
    if adjusted is not None and bias is not None:
        title = f"Net present cost with purchases {percent(bias)} dearer (optimism bias), USD"
        yield title, traced.figure(adjusted, "usd", "how-optimism")


def paid_chart(traced: TracedPlan) -> Iterator[Chart]:
    """None where nothing is paid."""
    plan = traced.plan
    series = tuple(
        Series(
            cost.name.capitalize(),
            tuple(
                traced.at(f"costs[{line}].cents[{place}]", "usd", f"how-cost-{line}")
                for place in traced.quarters
            ),
        )
        for line, cost in enumerate(plan.costs)
        if cost.name not in NOT_PAID
    )
    if series:
        says = "The figures stand in the table."
        yield Chart("What is paid in each quarter", says, plan.quarters, series, "USD")


def cost_by_quarter(traced: TracedPlan) -> Iterator[Block]:
    """What each kind of cost is in each quarter, in sum, and in present value."""
    plan, accounts = traced.plan, traced.accounts
    amounts = [abs(cents) for line in plan.costs for cents in (*line.cents, line.total_cents)]
    large = max(amounts, default=0) >= _THOUSANDS_FROM_CENTS
    style: Style = "thousands" if large else "usd"
    every = tuple(traced.quarters)

    def amount(row: tuple[int, ...], line: int) -> Cell:
        stem = f"costs[{line}]"
        place = f"{stem}.total_cents" if row is every else f"{stem}.cents[{row[0]}]"
        return traced.at(place, style, f"how-cost-{line}")

    unit = "Thousand USD" if large else "USD"
    sums: dict[str, Cell] = {
        "Quarter": "Present value",
        **{
            line.name.capitalize(): traced.at(
                f"costs[{place}].present_cents", style, f"how-cost-{place}"
            )
            for place, line in enumerate(plan.costs)
        },
        "All": traced.figure(accounts.net_present, style, "how-proof"),
    }
    yield table(
        [*((place,) for place in every), every],
        ("Quarter", "name", lambda row: "Sum" if row is every else plan.quarters[row[0]]),
        *columns_for(
            ((line.name.capitalize(), place) for place, line in enumerate(plan.costs)), amount
        ),
        ("All", "number", lambda row: _all(traced, row, style)),
        sums=sums,
        caption=f"{unit}; quarters and their sum are not discounted",
    )


def _budgets(traced: TracedPlan) -> Iterator[Block]:
    budgets = traced.plan.budgets

    def of(place: int, *names: str) -> Cell:
        amount, *less = (traced.read.at(f"budgets[{place}].{name}") for name in names)
        return traced.figure(amount - less[0] if less else amount, "usd", "how-cost")

    if budgets:
        yield table(
            range(len(budgets)),
            ("Budget", "name", lambda at: _SPENDS[budgets[at].spend]),
            ("Quarter", "name", lambda at: budgets[at].quarter or "all"),
            ("Limit, USD", "number", lambda at: of(at, "limit_cents")),
            ("Spent, USD", "number", lambda at: of(at, "spent_cents")),
            ("Left, USD", "number", lambda at: of(at, "limit_cents", "spent_cents")),
            caption="Budgets, of money paid, not discounted: capital is purchases, running cost "
            "all else; the residual value is neither",
        )


def _break_evens(traced: TracedPlan) -> Iterator[Block]:
    """Purchases that an offer to rent stands beside."""
    compared = traced.plan.break_evens

    def from_use(row: int, style: Style) -> Cell:
        """Where renting becomes dearer: in hours, or as a share of all."""
        if compared[row].hours > compared[row].quarter_hours:
            return "renting is cheaper at any use" if style == "hours" else _NONE
        hours = traced.read.at(f"break_evens[{row}].hours")
        if style == "share":
            hours /= traced.read.at(f"break_evens[{row}].quarter_hours")
        return traced.figure(hours, style, "how-break-even")

    columns: tuple[tuple[str, Style], ...] = (
        ("Break-even, h a quarter", "hours"),
        ("Of all hours", "share"),
    )
    if compared:
        yield table(
            range(len(compared)),
            ("Offer", "text", lambda row: f"{compared[row].offer} ({compared[row].node_type})"),
            ("Against", "text", lambda row: compared[row].rent),
            ("From", "name", lambda row: compared[row].quarter),
            (
                "Bought, USD",
                "number",
                traced.each("break_evens[{}].buy_cents", "usd", "how-break-even"),
            ),
            (
                "Rented, USD",
                "number",
                traced.each("break_evens[{}].rent_cents", "usd", "how-break-even"),
            ),
            *columns_for(columns, from_use),
            caption="Net present cost of one node to the end of the horizon, and the use from "
            "which on buying is cheaper than renting by the hour",
        )


def affordability_section(traced: TracedPlan) -> Iterator[Block]:
    """The budgets with what is left of each, and who is charged."""
    yield from _budgets(traced)
    unlimited: tuple[tuple[str, Cell], ...] = (
        ("Budget against which this is held", Blank(code("budget:"))),
    )
    yield Fields(
        (
            *(() if traced.plan.budgets else unlimited),
            ("Budget code, start of the fiscal year, funding approved so far", Blank()),
        )
    )
    if charged := tuple(teams_section(traced)):
        yield Heading("Charged to teams", 3)
        yield from charged


_Charge = tuple[str, str, TracedFigure, TracedFigure | None, TracedFigure]
"""Team, GPUs, hours held, hours delivered where they are known, and cost."""


def teams_section(traced: TracedPlan) -> Iterator[Block]:
    """What each team holds, delivers and is charged, what is idle, and how far quotas are used."""
    charged = traced.plan.chargeback
    if charged is None:
        return
    read, teams = traced.read, charged.teams
    some_open = any(use.open_gpu_hours for use in teams)
    idle = read.at("chargeback.idle_gpu_hours")
    idle_cents = read.sum("chargeback.idle_cents[*]")
    all_cents = read.sum("chargeback.teams[*].cost_cents")
    rows: list[_Charge] = []
    for place, use in enumerate(teams):
        hours, delivered, cents = (
            read.at(f"chargeback.teams[{place}].{name}")
            for name in ("gpu_hours", "delivered_gpu_hours", "cost_cents")
        )
        known = None if use.open_gpu_hours else delivered
        rows.append((use.team or "no team", range_of(use.gpus), hours, known, cents))
    if charged.idle_gpu_hours:
        rows.append(("idle, charged to nobody", "", idle, None, idle_cents))
    cents = all_cents + idle_cents
    all_hours = read.sum("chargeback.teams[*].gpu_hours") + idle
    whole: _Charge = ("Sum", "", all_hours, None if some_open else traced.accounts.delivered, cents)
    columns: dict[str, Getter[_Charge]] = {
        "GPU-hours": lambda row: _hours(traced, row[2]),
        "Delivered": lambda row: _hours(traced, row[3]),
        "Cost, USD": lambda row: traced.figure(row[4], "usd", "how-teams"),
        "USD/GPU-h": lambda row: _rate(traced, row[4], row[2]),
        "USD/delivered": lambda row: _rate(traced, row[4], row[3]),
    }
    yield Paragraph(_how_charged(traced.plan, charged, some_open=some_open), tone="faint")
    yield table(
        rows,
        ("Team", "text", lambda row: row[0]),
        ("GPUs", "number", lambda row: row[1]),
        *((title, "number", cell) for title, cell in columns.items()),
        sums={"Team": "Sum", **{title: cell(whole) for title, cell in columns.items()}},
    )
    if cents.value:
        share = traced.figure(all_cents / cents, "share", "how-teams")
        yield Fields((("Charged to teams, of the net present cost", share),))
    yield from _quotas(traced.plan, charged)


def _hours(traced: TracedPlan, hours: TracedFigure | None) -> Cell:
    return _NONE if hours is None else traced.figure(hours, "hours", "how-teams")


def _rate(traced: TracedPlan, cents: TracedFigure, hours: TracedFigure | None) -> Cell:
    """USD an hour."""
    return traced.figure(cents / hours, "rate", "how-teams") if hours and hours.value else _NONE


def _how_charged(plan: Plan, charged: Chargeback, *, some_open: bool) -> str:
    idle = "stand in a line of their own"
    if charged.idle == "spread":
        idle = "are charged to those who use the pool"
    sentences = [
        "The net present cost of each pool and quarter is shared by the GPUs held there; those "
        f"that no job holds {idle}. Delivered GPU-hours are the runs of tuning jobs and all "
        "hours of other jobs."
    ]
    if some_share(plan):
        sentences.append(
            "A run is charged for its hours, a part of a GPU for its share of the memory; under "
            "GPUs stands what is held at the hour at which most are, each part as a GPU."
        )
    if some_open:
        sentences.append(f"Where the time of some run is not known, none are given ({_NONE}).")
    return " ".join(sentences)


def _quotas(plan: Plan, charged: Chargeback) -> Iterator[Block]:
    """Each quota with what is held of it; nothing where no team has one."""
    lines = tuple(
        f"{use.team}: {_quota_line(plan, quota)}" for use in charged.teams for quota in use.quotas
    )
    if lines:
        runs = any(one.hours for uses in plan.placements for use in uses for one in use.occupants)
        when = ", at their fullest hour," if runs else ""
        yield Paragraph(f"Quotas, as GPUs held{when} of GPUs allowed:", tone="faint")
        yield Bullets(lines)


def _quota_line(plan: Plan, quota: QuotaUse) -> str:
    """`6 of 8 (2027Q1), 16 of 16 (2027Q2–Q4), on h100-80gb-sxm`."""
    entries = list(zip(plan.quarters, quota.gpus, quota.limit_gpus, strict=True))
    told = []
    for (gpus, limit), group in groupby(entries, key=lambda entry: entry[1:]):
        labels = [label for label, _, _ in group]
        allowed = "any number" if limit is None else f"{limit:,}"
        told.append(f"{gpus:,.6g} of {allowed} ({quarter_span(labels[0], labels[-1])})")
    on = f", on {quota.gpu_type}" if quota.gpu_type else ""
    return f"{', '.join(told)}{on}"


def spare_total(traced: TracedPlan) -> Cell:
    """What all spare nodes cost together."""
    cost = traced.plan.spare_cost
    if cost is None or cost.cents is None:
        return "open: a plan without was not proved"
    return traced.at("spare_cost.cents", "usd", "how-spare")


def spare_rows(traced: TracedPlan) -> Iterator[tuple[str, Cell]]:
    """What all spare nodes cost together, in money and as a share."""
    known = traced.plan.spare_cost
    if known is None:
        return
    yield "All spare nodes together, USD", spare_total(traced)
    if known.cents is not None and traced.plan.proof.cost_cents > 0:
        share = traced.read.at("spare_cost.cents") / traced.accounts.net_present
        yield "The same, of the net present cost", traced.figure(share, "share", "how-spare")
