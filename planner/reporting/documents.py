"""Every document of a plan is a selection of sections, for who reads it.

plan.md and the terminal have the report of a plan; a page and a notebook have the same drawn. The
procurement justification and the quarterly capacity plan are what a plan is decided by, whole or
short; page 1 of both says what to sign by when, what it costs, what else there is, and what would
flip it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from planner.costs import CAPEX, NOT_PAID
from planner.inputs.text import some_of
from planner.planning.plan import Alternative, Plan, PlannedJob
from planner.planning.traced_figures import TracedFigure, total, where
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
    columns_for,
    table,
    titled,
)
from planner.reporting.format import code, count_of, dollars, listed, quarter_span
from planner.reporting.sections import (
    capacity,
    cost,
    jobs,
    options,
    placement,
    proof,
    purchases,
    sensitivity,
    sizing,
    variants,
)
from planner.reporting.traced import (
    ALONE,
    Detail,
    RelatedResults,
    Section,
    TracedPlan,
    numbered_sections,
    told,
)

# The report of a plan


_WARNINGS_IN_BRIEF = 3
_IN_BRIEF = (
    "changes",
    "short",
    "bill",
    "releases",
    "moves",
    "map",
    "jobs",
    "traffic",
    "apis",
    "cost",
    "near",
    "warnings",
)
_TABLES_ALONE = ("bill", "releases")
_REPORT: dict[str, Section] = {
    "changes": ("Changes to the scenario", proof.changes_section),
    "warnings": ("Warnings", proof.warnings_section),
    "short": ("Jobs that give way", jobs.shortage_section),
    "bill": ("Purchases and rents", purchases.bill_section),
    "releases": ("Owned nodes let go", purchases.releases_section),
    "moves": ("Moves", placement.moves_section),
    "map": ("Node map", placement.node_map),
    "schedule": ("Schedule", placement.schedule_section),
    "shared": ("Shared GPUs", placement.shared_section),
    "jobs": ("Jobs", jobs.jobs_section),
    "evidence": ("Evidence behind the needs", sizing.evidence_section),
    "traffic": ("Traffic and latency", jobs.traffic_section),
    "apis": ("APIs", jobs.apis_section),
    "demand": ("Demand against capacity", capacity.forecast_section),
    "utilization": ("Utilization", capacity.utilization_section),
    "sites": ("Sites", capacity.sites_section),
    "cost": (
        "Cost",
        cost.cost_section,
        cost.explanations,
        cost.budgets_section,
        cost.break_evens_section,
    ),
    "near": ("What small changes would save", proof.near_miss_section),
    "teams": ("Teams", cost.teams_section),
    "rejections": ("Rejected GPU types", jobs.rejections_section),
    "assumptions": ("Assumptions", proof.assumptions_section),
    "rules": ("Rules and their sources", proof.rules_section),
    "proof": ("Proof and provenance", proof.proof_section),
    "checks": ("What the check confirmed", proof.checks_section),
}


def _opening(plan: Plan) -> Iterator[Block]:
    yield Heading(plan.scenario, 1)
    if plan.description:
        yield Paragraph(" ".join(plan.description.split()))
    yield Paragraph(purchases.ask_sentence(plan), tone="strong")


def plan_document(plan: Plan, detail: Detail) -> Document:
    """Return the whole report."""
    traced = TracedPlan(plan, detail=detail)
    return (*_opening(plan), *titled((one[0], told(one, traced)) for one in _REPORT.values()))


def brief_document(plan: Plan, detail: Detail) -> Document:
    """Return what a person wants first: the ask, orders, placement, cost, three warnings.

    Without explanations of how to read a part, and without the lines below a bill.
    """
    traced = TracedPlan(plan, detail=replace(detail, notes=_WARNINGS_IN_BRIEF))
    sections = {**_REPORT, "cost": ("Cost", cost.cost_by_quarter)}
    shown = [*_IN_BRIEF, *(["proof"] * bool(plan.proof.second_opinions))]

    def brief(key: str) -> Iterator[Block]:
        for block in told(sections[key], traced):
            faint = isinstance(block, Paragraph) and block.tone == "faint"
            if not (faint or (isinstance(block, Bullets) and key in _TABLES_ALONE)):
                yield block

    opening, *_, ask = _opening(plan)
    return (opening, ask, *titled((sections[key][0], brief(key)) for key in shown))


def drawn_document(plan: Plan) -> Document:
    """Return a plan for a screen: its report with pictures, and every figure with its formula."""
    sections = {**_REPORT, "how": ("How figures come about", proof.how_section)}
    return (*_opening(plan), *numbered_sections(plan, sections))


def jobs_document(plan: Plan) -> Document:
    """List jobs with what each runs on, and what a unit would add on the next best GPU type."""

    def others(job: PlannedJob) -> list[Alternative]:
        return [one for one in job.alternatives if one.gpu_type not in dict(job.gpu_types)]

    def next_best(job: PlannedJob) -> Alternative | None:
        priced = [one for one in others(job) if one.extra_cents is not None]
        return min(priced, key=lambda one: (one.extra_cents or 0, one.way), default=None)

    def named(row: tuple[PlannedJob, Alternative | None]) -> str:
        none = "no other can be had" if others(row[0]) else "no other that it may use"
        return row[1].way if row[1] else none

    return (
        Heading(plan.scenario, 1),
        table(
            [(job, next_best(job)) for job in plan.jobs],
            ("Job", "name", lambda row: row[0].name),
            ("Runs on", "text", lambda row: _runs_on(row[0])),
            ("Next best", "text", named),
            (
                "Extra a unit, USD",
                "number",
                lambda row: dollars(row[1].extra_cents or 0) if row[1] else "–",
            ),
        ),
        Paragraph(
            "Extra is what one unit would add to the bound if it had to run there, over the "
            f"horizon. {code('planner explain PLAN.json JOB')} tells all GPU types, and every sum.",
            tone="faint",
        ),
    )


def _runs_on(job: PlannedJob) -> str:
    there = f"API: {sizing.on_apis_text(job)}" if job.on_apis else ""
    return ", ".join(filter(None, (*dict(job.gpu_types), there))) or "–"


# Page 1

_MOST_QUARTERS = 8
"""With more quarters, a table counts years."""
_JOBS_NAMED = 8
_CASE = (
    ("Requested by", "owner"),
    ("Objective", "objective"),
    ("Benefit", "benefit"),
    ("If the need is not met", "if_not_met"),
)
"""What a scenario says of itself for those who approve, by key."""


def decision_section(traced: TracedPlan) -> Iterator[Block]:
    """Show all that a decision needs, on one sheet of paper."""
    plan = traced.plan
    yield Paragraph(purchases.ask_sentence(plan), tone="strong")
    yield Paragraph(options.why_recommended(traced))
    yield from options.cheaper_warnings(traced)
    if illustrative := purchases.illustrative(plan):
        named = listed([code(name) for name in illustrative])
        yield Paragraph(
            f"Prices of {named} are illustrative, not quotes: put quotes into the scenario and "
            "plan again before this is approved.",
            tone="warning",
        )
    yield _nodes_by_site(traced)
    if traced.bill:
        yield purchases.orders_table(traced, purchases.ORDERS_ON_PAGE_1)
    yield _paid(traced)
    yield from options.options_brief(traced)
    yield from sensitivity.flips_table(traced)
    yield Fields((*cost.money_rows(traced), *_case(traced)))


def _nodes_by_site(traced: TracedPlan) -> Table:
    """Count nodes by site: owned, added, rented, retired, and at the end.

    Nodes by the hour are not part of it.
    """
    last, sites = traced.plan.quarters[-1], traced.capacity.sites

    def nodes(chosen: Sequence[str], *origins: str, **more: str) -> TracedFigure:
        return total(
            traced.read.count(f"nodes{where(origin=origin, site=site, **more)}")
            for site in chosen
            for origin in origins
        )

    def cell(chosen: Sequence[str], title: str) -> Figure:
        ways: dict[str, tuple[str, ...]] = {
            "Owned": ("owned",),
            "Add": ("buy", "reserve"),
            "Rent for a time": ("rent",),
        }
        if title in ways:
            known = nodes(chosen, *ways[title])
        else:
            every = ("owned", "buy", "reserve", "rent")
            known = nodes(chosen, *every, in_service=last)
            known = nodes(chosen, *every) - known if title == "Leave" else known
        return traced.figure(known, "count")

    titles = ("Owned", "Add", "Rent for a time", "Leave", f"In service in {last}")
    return table(
        [[site] for site in sites],
        ("Site", "name", lambda row: row[0] if len(row) == 1 else "All"),
        *columns_for(((title, title) for title in titles), cell),
        whole=sites if len(sites) > 1 else None,
        caption="Nodes by site: what is added is bought or reserved"
        + ("; nodes by the hour are in the orders below" if traced.plan.hourly else ""),
    )


_NO_CREDIT = {"commitments", "moves"}
"""Costs that are no payments, but raise the net present cost."""


def _paid(traced: TracedPlan) -> Table:
    """Show money by quarter, or by year if there are many, down to the net present cost."""
    costs, accounts = traced.plan.costs, traced.accounts
    when: list[tuple[str, tuple[int, ...]]]
    when = [(label, (place,)) for place, label in enumerate(traced.plan.quarters)]
    if len(when) > _MOST_QUARTERS:
        when = list(accounts.years)
    every = range(len(costs))
    groups = {
        "Capital": [at for at in every if costs[at].name in CAPEX],
        "Running cost": [at for at in every if costs[at].name not in (*CAPEX, *NOT_PAID)],
        "Credits": [at for at in every if costs[at].name in NOT_PAID - _NO_CREDIT],
        "Not paid within the horizon": [at for at in every if costs[at].name in _NO_CREDIT],
    }
    paid = groups["Capital"] + groups["Running cost"]
    rows = [
        (f"{title} ({listed([costs[at].name for at in lines])})", lines)
        for title, lines in groups.items()
        if lines
    ]
    if len(paid) < len(costs):
        rows.insert(sum(lines[0] in paid for _, lines in rows), ("All that is paid", paid))

    def cell(row: tuple[str, Sequence[int]], chosen: tuple[int, ...]) -> Figure:
        if chosen:
            known = total(accounts.line(line, chosen) for line in row[1])
            return traced.figure(known, "usd")
        present = total(traced.read.at(f"costs[{line}].present_cents") for line in row[1])
        return traced.figure(present, "usd")

    return table(
        rows,
        ("USD", "text", lambda row: row[0]),
        *columns_for((*when, ("Sum", tuple(traced.quarters)), ("Present value", ())), cell),
        whole=("Net cost", every),
        caption="Money by quarter, not discounted; the present value of the net cost is the net "
        "present cost",
    )


def _case(traced: TracedPlan) -> Iterator[tuple[str, Cell]]:
    """Say who asks for what, and why, as the scenario states it."""
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
        keys = listed([code(f"{key}:") for key in missing])
        yield "; ".join(missing.values()).capitalize(), Blank(f"{keys} of the scenario")


# The two documents that a plan is decided by

Edition = Literal["short", "full"]
"""About six pages on paper, or with every table behind them."""

_WORDS = (
    "A node is a server with several GPUs, the processors that models run on; a job is a model "
    "that is tuned or served. The net present cost is all that is paid, later money counted less, "
    "without what the servers are still worth at the end."
)
_EXCLUDED = (
    "Network, storage beyond tuned assets, staff, space, taxes and freight.",
    "Measured use: the plan knows what jobs hold, not how busy they keep it.",
    "Demand other than that of the scenario: seasons and surprises within a quarter.",
)


def justification_document(
    plan: Plan, beside: RelatedResults = ALONE, edition: Edition = "full"
) -> Document:
    """Return the procurement justification with what is known beside the plan."""
    _, *about, _ = _opening(plan)
    shown = _JUSTIFICATION_IN_SHORT if edition == "short" else tuple(_JUSTIFICATION)
    sections = {key: _JUSTIFICATION[key] for key in shown}
    return (
        Heading(f"Justification: {plan.scenario}", 1),
        *about,
        Paragraph(_WORDS, tone="faint"),
        *numbered_sections(
            plan, sections, beside, appendices=("decisions", "how", "rules", "since")
        ),
    )


def quarterly_document(
    plan: Plan, beside: RelatedResults = ALONE, edition: Edition = "full"
) -> Document:
    """Return the capacity plan for a quarter, compared with the last one if that is known."""
    shown = _QUARTERLY_IN_SHORT if edition == "short" else tuple(_QUARTERLY)
    sections = {key: _QUARTERLY[key] for key in shown}
    span = quarter_span(plan.quarters[0], plan.quarters[-1])
    return (
        Heading(f"Capacity plan {span}: {plan.scenario}", 1),
        Paragraph(f"As of {plan.as_of}.", tone="faint"),
        *numbered_sections(plan, sections, beside, appendices=("how",)),
    )


def _since(traced: TracedPlan) -> Iterable[Block]:
    since = traced.beside.comparison
    return variants.changes_since(since) if since else ()


_JUSTIFICATION: dict[str, Section] = {
    "ask": ("The ask", decision_section),
    "need": (
        "Need",
        jobs.demand_section,
        jobs.stated_section,
        capacity.forecast_section,
        ("What does not fit", jobs.shortage_section),
        ("Evidence behind the needs", sizing.evidence_section),
    ),
    "existing": (
        "What there is already",
        capacity.existing_section,
        ("What leaves, when, and what it brings", purchases.releases_section),
    ),
    "options": (
        "Options",
        options.options_section,
        ("Why not other GPU types", jobs.gpu_types_section, jobs.rejections_section),
        ("What small changes would save", proof.near_miss_section),
    ),
    "cost": (
        "Whole-life cost",
        cost.cost_section,
        ("How each kind of cost comes about", cost.explanations),
        ("Buying against renting", cost.break_evens_section),
    ),
    "sensitivity": ("Sensitivity", sensitivity.sensitivity_section),
    "assumptions": ("Assumptions", proof.assumptions_section),
    "risks": ("Risks", proof.risks_section),
    "jobs": (
        "From requirement to bill",
        jobs.jobs_section,
        ("Traffic and latency", jobs.traffic_section),
        ("APIs", jobs.apis_section),
        ("Who runs where", placement.node_map),
    ),
    "bill": ("Bill of materials", purchases.bill_section, purchases.licences_section),
    "facility": ("Facility", capacity.sites_section, capacity.facility_section),
    "affordability": (
        "Affordability",
        cost.budgets_section,
        cost.affordability_section,
        ("Charged to teams", cost.teams_section),
    ),
    "procurement": ("Procurement", purchases.procurement_section),
    "milestones": ("Milestones and acceptance", purchases.milestones_section),
    "provenance": ("Provenance and sign-off", proof.provenance_section, proof.sign_off_section),
    "decisions": ("Jobs, and what decided them", jobs.decisions_section),
    "how": ("How figures come about", proof.how_section),
    "rules": ("Rules and their sources", proof.rules_section),
    "since": ("What changed since the last plan", _since),
}
_APPENDICES = ("decisions", "how", "rules", "since")
_JUSTIFICATION_IN_SHORT = ("ask", "need", "options", "cost", "milestones", "risks", "provenance")


def _not_compared(traced: TracedPlan) -> Iterator[Block]:
    since = traced.beside.comparison
    if since is None:
        asked = "What changed and why, what was delivered, and forecast error"
        yield Fields(((asked, Blank(code("--since LAST.json --actuals FILE"))),))
    elif not (since.demand or since.deliveries):
        actuals = Blank(code("--actuals FILE"))
        yield Fields((("Delivered against planned, and forecast error", actuals),))


def _services(traced: TracedPlan) -> Iterator[Block]:
    if not traced.plan.chargeback and not any(jobs.traffic_section(traced)):
        yield Paragraph("No team is charged, and no replicas follow from stated traffic.")


def _placed(traced: TracedPlan) -> Iterator[Block]:
    if traced.orders:
        yield Fields((("Orders placed, by whom and when", Blank()),))


_MEASURED = "Measured use of the GPUs, waiting time, service levels met, nodes that failed"
_QUARTERLY: dict[str, Section] = {
    "ask": ("Summary and recommendation", decision_section),
    "since": ("What changed since the last plan", _since, _not_compared),
    "scope": ("Scope", lambda _: (Paragraph("Not covered:"), Bullets(_EXCLUDED))),
    "capacity": ("Capacity against demand", capacity.forecast_section),
    "need": (
        "Demand",
        jobs.demand_section,
        jobs.held_section,
        ("What does not fit", jobs.shortage_section),
    ),
    "services": (
        "Services",
        _services,
        ("Charged to teams", cost.teams_section),
        ("Traffic and latency", jobs.traffic_section),
    ),
    "facility": (
        "Resources",
        lambda traced: (capacity.pools_table(traced), Fields(((_MEASURED, Blank("monitoring")),))),
        placement.node_map,
        ("Schedule of runs", placement.schedule_section),
        ("Shared GPUs", placement.shared_section),
        ("Moves", placement.moves_section),
        ("Power and space", capacity.sites_section),
    ),
    "options": ("Options, and doing nothing", options.options_section),
    "orders": (
        "Orders, and nodes let go",
        purchases.bill_section,
        _placed,
        purchases.releases_section,
    ),
    "alarms": ("Thresholds and alarms", capacity.alarms_section),
    "assumptions": ("Assumptions and risks", proof.assumptions_section, proof.risks_section),
    "provenance": ("Provenance", proof.provenance_section),
    "how": ("How figures come about", proof.how_section),
}
_QUARTERLY_IN_SHORT = ("ask", "since", "capacity", "need", "orders", "alarms")
