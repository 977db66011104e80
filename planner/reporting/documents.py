"""What a plan is decided by: the procurement justification and the quarterly capacity plan.

Each is a selection of sections, whole or short, as an approver, a buyer and an auditor need them.
Page 1 of both says what to sign by when, what it costs, what else there is, and what would flip it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from planner.costs import CAPEX, NOT_PAID
from planner.planning.ledger.traced import TracedFigure, total, where
from planner.planning.plan import Plan
from planner.planning.words import some_of
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Document,
    Fields,
    Figure,
    Heading,
    Paragraph,
    Table,
    beneath,
    columns_for,
    table,
    titled,
)
from planner.reporting.format import code, count_of, listed, quarter_span
from planner.reporting.sections import (
    capacity,
    comparison,
    cost,
    explain,
    jobs,
    options,
    placement,
    proof,
    purchases,
    sensitivity,
    serving,
    sites,
    sizing,
)
from planner.reporting.traced import RelatedResults, Section, TracedPlan, numbered_sections

_QUARTERS = 8
"""A table of more of them counts years."""
_JOBS_NAMED = 8
_PRESENT: tuple[int, ...] = ()
"""Stands for no quarter, but for the present value."""
_WORDS = (
    "A node is a server with several GPUs, the processors that models run on; a job is a model "
    "that is tuned or served. The net present cost is all that is paid, later money counted less, "
    "without what the servers are still worth at the end."
)
_CASE = (
    ("Requested by", "owner"),
    ("Objective", "objective"),
    ("Benefit", "benefit"),
    ("If the need is not met", "if_not_met"),
)
"""What a scenario says of itself for those who approve, by the name of its key."""


def decision_section(traced: TracedPlan) -> Iterator[Block]:
    """All that a decision needs, on one sheet of paper."""
    yield Paragraph(purchases.ask_sentence(traced.plan), tone="strong")
    yield Paragraph(options.why_recommended(traced))
    yield from options.cheaper_warnings(traced)
    illustrative = [line.offer for _, line in traced.bill if line.illustrative]
    illustrative += [use.api for use in traced.plan.apis if use.illustrative]
    illustrative += purchases.unquoted_sales(traced.plan)
    if illustrative:
        names = listed(list(dict.fromkeys(illustrative)))
        yield Paragraph(
            f"Prices of {names} are illustrative, not quotes: put quotes into the scenario and "
            "plan again before this is approved.",
            tone="warning",
        )
    yield _sites(traced)
    if traced.bill:
        yield purchases.orders_table(traced, purchases.ORDERS_ON_PAGE_1)
    yield _paid(traced)
    yield from options.options_brief(traced)
    yield from sensitivity.flips_table(traced)
    yield Fields((*cost.money_rows(traced), *_case(traced)))


def _sites(traced: TracedPlan) -> Table:
    """Nodes by site: owned, added, rented, retired, and what stands there at the end.

    Nodes that come by the hour are no part of it.
    """
    last = traced.plan.quarters[-1]

    def nodes(site: str, *origins: str, **more: str) -> TracedFigure:
        return total(
            traced.read.count(f"nodes{where(origin=origin, site=site, **more)}")
            for origin in origins
        )

    def end(site: str) -> TracedFigure:
        return nodes(site, "owned", "buy", "reserve", "rent", in_service=last)

    def retired(site: str) -> TracedFigure:
        return nodes(site, "owned") - nodes(site, "owned", in_service=last)

    columns = (
        ("Owned", lambda site: nodes(site, "owned")),
        ("Add", lambda site: nodes(site, "buy", "reserve")),
        ("Rent for a time", lambda site: nodes(site, "rent")),
        ("Retire", retired),
        (f"In service in {last}", end),
    )
    return table(
        traced.capacity.sites,
        ("Site", "name", lambda site: site),
        *columns_for(columns, lambda site, of: traced.figure(of(site), "count", "how-use")),
        sums={
            "Site": "All",
            **{
                title: traced.figure(total(map(of, traced.capacity.sites)), "count", "how-use")
                for title, of in columns
            },
        }
        if len(traced.capacity.sites) > 1
        else {},
        caption="Nodes by site: what is added is bought or reserved"
        + ("; nodes by the hour are in the orders below" if traced.plan.hourly else ""),
    )


def _paid(traced: TracedPlan) -> Table:
    """Money by quarter, or by year where there are many, down to the net present cost."""
    costs, read = traced.plan.costs, traced.read
    when: list[tuple[str, tuple[int, ...]]] = [
        (label, (place,)) for place, label in enumerate(traced.plan.quarters)
    ]
    if len(when) > _QUARTERS:
        when = [(year.label, year.quarters) for year in traced.accounts.years]

    def cell(lines: Sequence[int], chosen: tuple[int, ...]) -> Figure:
        known = (
            traced.accounts.line(line, chosen)
            if chosen
            else read.at(f"costs[{line}].present_cents")
            for line in lines
        )
        return traced.figure(total(known), "usd", "how-cost" if chosen else "how-proof")

    def named(title: str, lines: Sequence[int]) -> str:
        return f"{title} ({listed([costs[line].name for line in lines])})"

    every = range(len(costs))
    paid = [line for line in every if costs[line].name not in NOT_PAID]
    capital = [line for line in paid if costs[line].name in CAPEX]
    running = [line for line in paid if line not in capital]
    weighed = [line for line in every if line not in paid]
    columns = (*when, ("Sum", tuple(traced.quarters)), ("Present value", _PRESENT))
    rows = [
        (named("Capital", capital), capital),
        (named("Running cost", running), running),
        ("All that is paid", paid if weighed else []),
        (named("Credits", weighed), weighed),
    ]
    return table(
        [(title, lines) for title, lines in rows if lines],
        ("USD", "text", lambda row: row[0]),
        *columns_for(columns, lambda row, chosen: cell(row[1], chosen)),
        sums={
            "USD": "Net cost",
            **{title: cell(every, chosen) for title, chosen in columns},
        },
        caption="Money by quarter, not discounted; the present value of the net cost is the net "
        "present cost",
    )


def _case(traced: TracedPlan) -> Iterator[tuple[str, Cell]]:
    """Who asks for what, and why, as the scenario says."""
    plan = traced.plan
    running = [job for job in plan.jobs if job.ways or job.on_apis]
    teams = {job.team for job in running if job.team}
    of_teams = f" of {count_of(len(teams), 'team')}" if teams else ""
    yield "In support of", traced.link(f"{count_of(len(running), 'job')}{of_teams}", "need")
    if plan.shortage:
        names = some_of([job.name for job in plan.shortage.jobs], _JOBS_NAMED)
        yield "Jobs that give way, and what would keep each", traced.link(names, "need")
    said = {key: getattr(plan, key) for _, key in _CASE}
    yield from ((title, " ".join(said[key].split())) for title, key in _CASE if said[key])
    if missing := {key: title for title, key in _CASE if not said[key]}:
        title = "; ".join(missing.values())
        keys = listed([code(f"{key}:") for key in missing])
        yield f"{title[0]}{title[1:].lower()}", Blank(f"{keys} of the scenario")


Edition = Literal["short", "full"]
"""About six pages on paper, or with every table behind them."""

_ALONE = RelatedResults()
_EXCLUDED = (
    "Network, storage beyond tuned assets, staff, space, taxes and freight.",
    "Measured use: the plan knows what jobs hold, not how busy they keep it.",
    "Demand other than that of the scenario: seasons and surprises within a quarter.",
)


def justification_document(
    plan: Plan, beside: RelatedResults = _ALONE, edition: Edition = "full"
) -> Document:
    """The procurement justification with what is known beside the plan."""
    opening: list[Block] = [Heading(f"Justification: {plan.scenario}", 1)]
    if plan.description:
        opening.append(Paragraph(" ".join(plan.description.split())))
    opening.append(Paragraph(_WORDS, tone="faint"))
    shown = _JUSTIFICATION_IN_SHORT if edition == "short" else _JUSTIFICATION
    sections = {key: _JUSTIFICATION[key] for key in shown}
    appendices = ("jobs", "how", "rules", "since")
    return (*opening, *numbered_sections(plan, sections, beside, appendices=appendices))


def quarterly_document(
    plan: Plan, beside: RelatedResults = _ALONE, edition: Edition = "full"
) -> Document:
    """The capacity plan for a quarter; against the last one, where that is known."""
    shown = _QUARTERLY_IN_SHORT if edition == "short" else _QUARTERLY
    sections = {key: _QUARTERLY[key] for key in shown}
    span = quarter_span(plan.quarters[0], plan.quarters[-1])
    return (
        Heading(f"Capacity plan {span}: {plan.scenario}", 1),
        Paragraph(f"As of {plan.as_of}.", tone="faint"),
        *numbered_sections(plan, sections, beside, appendices=("how",)),
    )


def _need(traced: TracedPlan) -> Iterator[Block]:
    """Who needs what, how far it goes beyond what is owned, and what that is known from."""
    if shared := [job.name for job in traced.plan.jobs if job.replicas]:
        told = f"Of {', '.join(shared)}, as many run as take the traffic."
        yield Paragraph(told, tone="faint")
    yield jobs.demand_table(traced)
    yield from jobs.stated_table(traced)
    yield from capacity.forecast_section(traced)
    yield from _shortage(traced)
    evidence = sizing.evidence_section(traced.plan)
    yield from titled((("Evidence behind the needs", evidence),), 3)


def _shortage(traced: TracedPlan) -> Iterator[Block]:
    short = beneath(explain.shortage_section(traced.plan))
    yield from titled((("What does not fit", short),), 3)


def _existing(traced: TracedPlan) -> Iterator[Block]:
    yield from capacity.existing_section(traced)
    yield from titled(
        (("What leaves, when, and what it brings", purchases.releases_section(traced)),), 3
    )


def _options(traced: TracedPlan) -> Iterator[Block]:
    """What else there is, what other GPU types would add, and the rules against some."""
    yield from options.options_section(traced)
    yield Heading("Why not other GPU types", 3)
    yield from jobs.gpu_types_section(traced)
    yield from jobs.rejections_section(traced.plan)
    yield from titled((("What small changes would save", proof.near_miss_section(traced.plan)),), 3)


def _trace(traced: TracedPlan) -> Iterator[Block]:
    yield from jobs.jobs_section(traced)
    parts = (
        ("Traffic and latency", serving.traffic_section(traced)),
        ("APIs", serving.apis_section(traced)),
        ("Who runs where", placement.node_map(traced)),
    )
    yield from titled(parts, 3)


def _since(traced: TracedPlan) -> tuple[Block, ...]:
    since = traced.beside.comparison
    return comparison.changes_since(since) if since else ()


_JUSTIFICATION: dict[str, Section] = {
    "ask": ("The ask", decision_section),
    "need": ("Need", _need),
    "existing": ("What there is already", _existing),
    "options": ("Options", _options),
    "cost": ("Whole-life cost", cost.cost_section),
    "sensitivity": ("Sensitivity", sensitivity.sensitivity_section),
    "assumptions": ("Assumptions", proof.assumptions_section),
    "risks": ("Risks", proof.risks_section),
    "trace": ("From requirement to bill", _trace),
    "bill": ("Bill of materials", purchases.bill_section),
    "facility": ("Facility", sites.facility_section),
    "affordability": ("Affordability", cost.affordability_section),
    "procurement": ("Procurement", purchases.procurement_section),
    "milestones": ("Milestones and acceptance", purchases.milestones_section),
    "provenance": ("Provenance and sign-off", proof.sign_off_section),
    "jobs": ("Jobs, and what decided them", jobs.decisions_section),
    "how": ("How figures come about", proof.how_section),
    "rules": ("Rules and their sources", proof.rules_section),
    "since": ("What changed since the last plan", _since),
}


_JUSTIFICATION_IN_SHORT = (
    "ask",
    "need",
    "options",
    "cost",
    "milestones",
    "risks",
    "provenance",
)


def _changes(traced: TracedPlan) -> Iterator[Block]:
    since = traced.beside.comparison
    if since is not None:
        yield from comparison.changes_since(since)
        if not (since.demand or since.deliveries):
            actuals = Blank(code("--actuals FILE"))
            yield Fields((("Delivered against planned, and forecast error", actuals),))
    else:
        asked = "What changed and why, what was delivered, and forecast error"
        yield Fields(((asked, Blank(code("--since LAST.json --actuals FILE"))),))


def _demand(traced: TracedPlan) -> Iterator[Block]:
    yield jobs.demand_table(traced)
    yield jobs.held_table(traced)
    yield from _shortage(traced)


def _services(traced: TracedPlan) -> tuple[Block, ...]:
    parts = (
        ("Charged to teams", cost.teams_section(traced)),
        ("Traffic and latency", serving.traffic_section(traced)),
    )
    none = Paragraph("No team is charged, and no replicas follow from stated traffic.")
    return titled(parts, 3) or (none,)


def _resources(traced: TracedPlan) -> Iterator[Block]:
    yield capacity.pools_table(traced)
    asked = "Measured use of the GPUs, waiting time, service levels met, nodes that failed"
    yield Fields(((asked, Blank("monitoring")),))
    yield from placement.node_map(traced)
    yield from titled(placement.placement_parts(traced), 3)
    yield from titled((("Power and space", sites.sites_section(traced)),), 3)


def _orders(traced: TracedPlan) -> Iterator[Block]:
    """What is acquired at which price, who orders it, and what is let go."""
    yield from purchases.bill_section(traced, full=False)
    if traced.orders:
        yield Fields((("Orders placed, by whom and when", Blank()),))
    yield from purchases.releases_section(traced)


_QUARTERLY: dict[str, Section] = {
    "ask": ("Summary and recommendation", decision_section),
    "since": ("What changed since the last plan", _changes),
    "scope": ("Scope", lambda _: (Paragraph("Not covered:"), Bullets(_EXCLUDED))),
    "capacity": ("Capacity against demand", capacity.forecast_section),
    "need": ("Demand", _demand),
    "services": ("Services", _services),
    "facility": ("Resources", _resources),
    "options": ("Options, and doing nothing", options.options_section),
    "orders": ("Orders, and nodes let go", _orders),
    "alarms": ("Thresholds and alarms", capacity.alarms_section),
    "assumptions": (
        "Assumptions and risks",
        lambda traced: (*proof.assumptions_section(traced), *proof.risks_section(traced)),
    ),
    "provenance": ("Provenance", lambda traced: proof.provenance_section(traced, files=False)),
    "how": ("How figures come about", proof.how_section),
}
_QUARTERLY_IN_SHORT = ("ask", "since", "capacity", "need", "orders", "alarms")
