"""The report of a plan, as plan.md and on the terminal: its sections as a buyer needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from planner.planning.plan import Alternative, Plan, PlannedJob
from planner.reporting.document import (
    Block,
    Bullets,
    Document,
    Fold,
    Heading,
    Paragraph,
    beneath,
    table,
    titled,
)
from planner.reporting.format import code, count_of, dollars
from planner.reporting.sections import (
    capacity,
    cost,
    explain,
    jobs,
    placement,
    proof,
    purchases,
    serving,
    sites,
    sizing,
)
from planner.reporting.traced import Section, TracedPlan, closed, numbered_sections


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a large portfolio is shown; plan.json always has all."""

    jobs: int
    map_lines: int
    """Lines of the node map per quarter."""
    notes: int
    whole: bool
    """Whether sources of prices and rules, and every file are written out."""


SCREEN = Detail(jobs=60, map_lines=40, notes=20, whole=False)
"""For a terminal."""

_WARNINGS_IN_BRIEF = 3

FULL = Detail(jobs=1000, map_lines=200, notes=500, whole=True)
"""For a document."""


def _parts(traced: TracedPlan, detail: Detail) -> dict[str, Iterable[Block]]:
    """Every part of the report by its title; what is not read is not drawn."""
    plan, lines, whole = traced.plan, detail.map_lines, detail.whole
    return {
        "Changes to the scenario": proof.changes_section(plan.changes),
        "Warnings": proof.notes_section(plan.warnings, detail.notes, "warning", whole=whole),
        "Jobs that give way": explain.shortage_section(plan),
        "Purchases and rents": purchases.bill_section(traced, full=False, sources=whole),
        "Owned nodes let go": purchases.releases_section(traced),
        "Moves": placement.moves_section(plan, lines),
        "Node map": placement.node_map(traced, lines),
        "Schedule": placement.schedule_section(plan, lines),
        "Shared GPUs": placement.shared_section(plan, lines),
        "Jobs": jobs.jobs_section(traced, detail.jobs, full=False),
        "Evidence behind the needs": sizing.evidence_section(plan),
        "Traffic and latency": serving.traffic_section(traced),
        "APIs": serving.apis_section(traced),
        "Utilization": capacity.utilization_section(traced),
        "Sites": sites.sites_section(traced, lines, full=False),
        "Cost": cost.plan_cost_section(traced),
        "What small changes would save": proof.near_miss_section(plan),
        "Teams": cost.teams_section(traced),
        "Rejected GPU types": jobs.rejections_section(plan),
        "Assumptions": proof.notes_section(plan.assumptions, detail.notes, "plain", whole=whole),
        "Rules and their sources": proof.rules_section(traced, listed_too=whole),
        "Proof and provenance": proof.proof_section(traced, files=whole),
        "What the check confirmed": [Bullets(plan.proof.checks)] * whole,
    }


def plan_document(plan: Plan, detail: Detail) -> Document:
    """The whole report."""
    return (
        Heading(plan.scenario, 1),
        *_about(plan),
        Paragraph(purchases.ask_sentence(plan), tone="strong"),
        *titled(_parts(TracedPlan(plan), detail).items()),
    )


def brief_document(plan: Plan, detail: Detail) -> Document:
    """What a person wants first: the ask, orders, who runs where, the cost, and three warnings."""
    traced = TracedPlan(plan)
    parts = _parts(traced, replace(detail, notes=_WARNINGS_IN_BRIEF))
    parts["Cost"] = cost.cost_by_quarter(traced)
    shown = [
        "Changes to the scenario",
        "Jobs that give way",
        "Purchases and rents",
        "Owned nodes let go",
        "Moves",
        "Node map",
        "Jobs",
        "Traffic and latency",
        "APIs",
        "Cost",
        "What small changes would save",
        "Warnings",
    ]
    if plan.proof.second_opinions:
        shown.append("Proof and provenance")
    return closed(
        (
            Heading(plan.scenario, 1),
            Paragraph(purchases.ask_sentence(plan), tone="strong"),
            *titled((title, _in_brief(title, parts[title])) for title in shown),
        )
    )


def _in_brief(title: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """Without what explains how a part is to be read, and without the lines below its table."""
    for block in blocks:
        faint = isinstance(block, Paragraph) and block.tone == "faint"
        listed = isinstance(block, Bullets) and title in _TABLES_ALONE
        if not (listed or (faint and title in _UNEXPLAINED)):
            yield block


_TABLES_ALONE = ("Purchases and rents", "Owned nodes let go")
_UNEXPLAINED = ("Jobs that give way", "Jobs", "Traffic and latency", "Cost")


def drawn_document(plan: Plan) -> Document:
    """A plan as one looks at it on a screen: drawn, and every figure with its sum."""
    return (
        Heading(plan.scenario, 1),
        *_about(plan),
        Paragraph(purchases.ask_sentence(plan), tone="strong"),
        *(
            [Fold(_changed(plan), "changes", tuple(proof.changes_section(plan.changes)))]
            * bool(plan.changes)
        ),
        *numbered_sections(plan, _DRAWN, alone=False),
    )


def _about(plan: Plan) -> Iterator[Block]:
    if plan.description:
        yield Paragraph(" ".join(plan.description.split()))


def _drawn_jobs(traced: TracedPlan) -> Iterator[Block]:
    yield from titled((("Dropped and delayed", beneath(explain.shortage_section(traced.plan))),), 3)
    yield from jobs.jobs_section(traced, FULL.jobs, full=False)
    parts = (
        ("Traffic and latency", serving.traffic_section(traced)),
        ("APIs", serving.apis_section(traced)),
    )
    yield from titled(parts, 3)


def _drawn_use(traced: TracedPlan) -> Iterator[Block]:
    yield from capacity.forecast_section(traced)
    yield capacity.pools_table(traced)


def _drawn_cost(traced: TracedPlan) -> Iterator[Block]:
    yield from cost.paid_chart(traced)
    yield from cost.plan_cost_section(traced)
    yield from titled((("Teams", cost.teams_section(traced)),), 3)


_DRAWN: dict[str, Section] = {
    "orders": (
        "Orders",
        lambda traced: (
            *purchases.bill_section(traced, full=False),
            *purchases.releases_section(traced),
        ),
    ),
    "map": ("Who runs where", placement.node_map),
    "runs": (
        "Runs, sharing and moves",
        lambda traced: titled(placement.placement_parts(traced), 3),
    ),
    "jobs": ("Jobs", _drawn_jobs),
    "use": ("Demand against capacity", _drawn_use),
    "cost": ("Cost", _drawn_cost),
    "facility": (
        "Power and racks",
        lambda traced: sites.sites_section(traced, FULL.map_lines),
    ),
    "warnings": (
        "Warnings",
        lambda traced: proof.notes_section(traced.plan.warnings, FULL.notes, "warning", whole=True),
    ),
    "assumptions": (
        "Assumptions",
        lambda traced: proof.notes_section(
            traced.plan.assumptions, FULL.notes, "plain", whole=True
        ),
    ),
    "how": ("How figures come about", proof.how_section),
}


def _changed(plan: Plan) -> str:
    return f"{count_of(len(plan.changes), 'change')} to the scenario"


def jobs_document(plan: Plan) -> Document:
    """Jobs with what each runs on, and what one unit would add on the next best GPU type."""
    rows = [(job, _next_best(job)) for job in plan.jobs]
    return (
        Heading(plan.scenario, 1),
        table(
            rows,
            ("Job", "name", lambda row: row[0].name),
            ("Runs on", "text", lambda row: ", ".join(name for name, _ in row[0].gpu_types) or "–"),
            ("Next best", "text", lambda row: row[1].way if row[1] else "no other in play"),
            ("Extra a unit, USD", "number", lambda row: dollars(_extra(row[1])) if row[1] else "–"),
        ),
        Paragraph(
            "Extra is what one unit would add to the bound if it had to run there, over the "
            f"horizon. {code('planner explain PLAN.json JOB')} tells all GPU types, and every sum.",
            tone="faint",
        ),
    )


def _next_best(job: PlannedJob) -> Alternative | None:
    """The way on another GPU type that adds the least; None where none can be had."""
    taken = {name for name, _ in job.gpu_types}
    known = [
        one for one in job.alternatives if one.gpu_type not in taken and one.extra_cents is not None
    ]
    return min(known, key=lambda one: (_extra(one), one.way), default=None)


def _extra(one: Alternative) -> int:
    return one.extra_cents or 0
