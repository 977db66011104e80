"""The procurement justification: sections as an approver, a buyer and an auditor need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.document import Blank, Block, Document, Fields, Heading, Paragraph, titled
from planner.reporting.editions import numbered, numbered_document
from planner.reporting.format import code
from planner.reporting.sections.apis import apis_section
from planner.reporting.sections.capacity import (
    capacity_chart,
    exhaustion,
    existing_section,
    gpus_table,
    use_picture,
)
from planner.reporting.sections.comparison import changes_since
from planner.reporting.sections.cost import (
    affordability_section,
    beyond_section,
    cost_by_quarter,
    cost_headlines,
    cost_section,
)
from planner.reporting.sections.decision import decision_section
from planner.reporting.sections.jobs import (
    gpu_types_section,
    jobs_section,
    rejections_section,
    services_table,
    stated_table,
    sums_section,
)
from planner.reporting.sections.nodemap import node_map_picture
from planner.reporting.sections.notes import assumptions_section, risks_section
from planner.reporting.sections.options import options_section
from planner.reporting.sections.placement import placement_section
from planner.reporting.sections.proof import how_section, provenance_section, rules_section
from planner.reporting.sections.purchases import (
    bill_section,
    milestones_section,
    procurement_section,
)
from planner.reporting.sections.releases import releases_section
from planner.reporting.sections.sensitivity import sensitivity_section
from planner.reporting.sections.shortage import shortage_section
from planner.reporting.sections.sites import facility_section, sites_section
from planner.reporting.sections.traffic import runs_section, traffic_section
from planner.reporting.traced import RelatedResults, TracedPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from planner.planning.plan import Plan
    from planner.reporting.editions import Edition

__all__ = ["justification_document"]

_RULES_LISTED = 500
_ALONE = RelatedResults()
_APPENDICES = ("jobs", "how", "rules", "since")
_FULL = {
    "ask": "The ask",
    "need": "Need",
    "existing": "What there is already",
    "options": "Options",
    "cost": "Whole-life cost",
    "sensitivity": "Sensitivity",
    "assumptions": "Assumptions",
    "risks": "Risks",
    "trace": "From requirement to bill",
    "bill": "Bill of materials",
    "facility": "Facility",
    "affordability": "Affordability",
    "procurement": "Procurement",
    "milestones": "Milestones and acceptance",
    "provenance": "Provenance and sign-off",
    "jobs": "Jobs, sum by sum",
    "how": "How figures come about",
    "rules": "Rules and their sources",
    "since": "What changed since the last plan",
}
_SHORT = {
    "ask": "The ask",
    "need": "Need, and how full the fleet is",
    "options": "Options, and other GPU types",
    "cost": "Cost",
    "facility": "Facility",
    "milestones": "Milestones",
    "risks": "Risks",
    "provenance": "Provenance and sign-off",
}


def justification_document(
    plan: Plan, related: RelatedResults = _ALONE, edition: Edition = "full"
) -> Document:
    """The document with what is known beside the plan, whole or short."""
    short = edition == "short"
    titles = numbered(_SHORT if short else _FULL, _APPENDICES)
    traced = TracedPlan(plan, titles)
    sections = _short(traced, related) if short else _full(traced, related)
    opening: list[Block] = [Heading(f"Justification: {plan.scenario}", 1)]
    if plan.description:
        opening.append(Paragraph(" ".join(plan.description.split())))
    return (*opening, *numbered_document(titles, sections))


def _full(traced: TracedPlan, related: RelatedResults) -> Mapping[str, Iterable[Block]]:
    since = related.comparison
    return {
        "ask": (*decision_section(traced, related), Paragraph(_readers(traced), tone="faint")),
        "need": _need(traced),
        "existing": (
            *existing_section(traced),
            *titled((("What leaves, when, and what it brings", releases_section(traced)),), 3),
        ),
        "options": (*options_section(traced, related), *_other_types(traced)),
        "cost": cost_section(traced),
        "sensitivity": sensitivity_section(traced, related.sensitivity),
        "assumptions": assumptions_section(traced),
        "risks": risks_section(traced, related.risk),
        "trace": (
            *jobs_section(traced),
            *traffic_section(traced),
            *apis_section(traced),
            *placement_section(traced),
        ),
        "bill": bill_section(traced),
        "facility": facility_section(traced),
        "affordability": affordability_section(traced),
        "procurement": procurement_section(traced),
        "milestones": milestones_section(traced),
        "provenance": provenance_section(traced, related.changed),
        "jobs": sums_section(traced),
        "how": how_section(traced),
        "rules": rules_section(traced.plan, _RULES_LISTED),
        "since": changes_since(since) if since else (),
    }


def _short(traced: TracedPlan, related: RelatedResults) -> Mapping[str, Iterable[Block]]:
    return {
        "ask": decision_section(traced, related),
        "need": (
            Paragraph(exhaustion(traced)),
            capacity_chart(traced),
            use_picture(traced),
            *titled((("What does not fit", shortage_section(traced.plan)),), 3),
            *runs_section(traced),
            *node_map_picture(traced),
        ),
        "options": (
            *options_section(traced, related, full=False),
            *gpu_types_section(traced),
        ),
        "cost": (
            *cost_by_quarter(traced),
            *cost_headlines(traced),
            *beyond_section(traced),
            *affordability_section(traced, full=False),
        ),
        "facility": sites_section(traced),
        "milestones": milestones_section(traced, full=False),
        "risks": risks_section(traced, related.risk),
        "provenance": provenance_section(traced, related.changed, full=False),
    }


def _readers(traced: TracedPlan) -> str:
    """Where each reader finds their page."""
    of = traced.sections
    return (
        f"For finance: sections {of('options', 'cost', 'sensitivity', 'affordability')}. For "
        f"facilities: {of('facility', 'milestones')}. For procurement: "
        f"{of('bill', 'procurement', 'milestones')}. For who runs the fleet: "
        f"{of('need', 'existing', 'options')}. For an auditor: "
        f"{of('assumptions', 'trace', 'provenance')}, and the appendices."
    )


def _need(traced: TracedPlan) -> Iterator[Block]:
    """Who needs what, how far it goes beyond what is owned, and how long runs take."""
    yield Paragraph(
        "Each job and the units of it that must run; a unit is one replica of a model, or one "
        "tuning job with all its runs. Its sizing, sum by sum, is told in "
        f"{traced.section('jobs')}.",
        tone="faint",
    )
    caption = "Units that each job asks for, by quarter"
    yield services_table(traced, traced.asked, "how-need", caption)
    yield from stated_table(traced)
    yield Paragraph(exhaustion(traced))
    yield gpus_table(traced)
    yield capacity_chart(traced)
    yield from titled((("What does not fit", shortage_section(traced.plan)),), 3)
    yield from titled((("How long runs take", runs_section(traced)),), 3)
    if not (traced.plan.objective or any(job.benefit for job in traced.plan.jobs)):
        said = Blank(f"{code('objective:')} of the scenario, {code('benefit:')} of a job")
        yield Fields((("Business served, and what drives its growth", said),))


def _other_types(traced: TracedPlan) -> Iterator[Block]:
    """What other GPU types would add, and the rules that keep jobs off some."""
    yield Heading("Why not other GPU types", 3)
    yield from gpu_types_section(traced)
    yield from rejections_section(traced.plan)
