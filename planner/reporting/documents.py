"""What a plan is decided by: the procurement justification and the quarterly capacity plan.

Each is a selection of sections, whole or short, as an approver, a buyer and an auditor need them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Document,
    Fields,
    Heading,
    Paragraph,
    titled,
)
from planner.reporting.format import code, quarter_span
from planner.reporting.sections.capacity import (
    alarms_section,
    capacity_chart,
    exhaustion,
    existing_section,
    forecast_section,
    gpus_table,
    pools_table,
    use_picture,
)
from planner.reporting.sections.comparison import changes_since
from planner.reporting.sections.cost import (
    affordability_section,
    beyond_section,
    cost_by_quarter,
    cost_headlines,
    cost_section,
    teams_section,
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
    orders_section,
    procurement_section,
)
from planner.reporting.sections.releases import releases_section
from planner.reporting.sections.sensitivity import sensitivity_section
from planner.reporting.sections.serving import apis_section, runs_section, traffic_section
from planner.reporting.sections.shortage import shortage_section
from planner.reporting.sections.sites import facility_section, sites_section
from planner.reporting.sections.sizing import evidence_section
from planner.reporting.traced import RelatedResults, numbered_sections

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.plan import Plan
    from planner.reporting.document import Table
    from planner.reporting.traced import Section, TracedPlan

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
    sections = _JUSTIFICATION_IN_SHORT if edition == "short" else _JUSTIFICATION
    appendices = ("jobs", "how", "rules", "since")
    return (*opening, *numbered_sections(plan, sections, beside, appendices=appendices))


def quarterly_document(
    plan: Plan, beside: RelatedResults = _ALONE, edition: Edition = "full"
) -> Document:
    """The capacity plan for a quarter; against the last one, where that is known."""
    shown = _IN_SHORT if edition == "short" else _QUARTERLY
    sections = {key: _QUARTERLY[key] for key in shown}
    span = quarter_span(plan.quarters[0], plan.quarters[-1])
    return (
        Heading(f"Capacity plan {span}: {plan.scenario}", 1),
        Paragraph(f"As of {plan.as_of}.", tone="faint"),
        *numbered_sections(plan, sections, beside, appendices=("jobs", "how")),
    )


def _ask(traced: TracedPlan) -> Iterator[Block]:
    """Page 1, and where each reader finds their page."""
    yield from decision_section(traced)
    of = traced.sections
    yield Paragraph(
        f"For finance: sections {of('options', 'cost', 'sensitivity', 'affordability')}. For "
        f"facilities: {of('facility', 'milestones')}. For procurement: "
        f"{of('bill', 'procurement', 'milestones')}. For who runs the fleet: "
        f"{of('need', 'existing', 'options')}. For an auditor: "
        f"{of('assumptions', 'trace', 'provenance')}, and the appendices.",
        tone="faint",
    )


def _asked(traced: TracedPlan) -> Table:
    caption = "Units that each job asks for, by quarter"
    return services_table(traced, traced.asked, "how-need", caption)


def _need(traced: TracedPlan) -> Iterator[Block]:
    """Who needs what, how far it goes beyond what is owned, and how long runs take."""
    yield Paragraph(
        "Each job and the units of it that must run; a unit is one replica of a model, or one "
        "tuning job with all its runs. Its sizing, sum by sum, is told in "
        f"{traced.section('jobs')}.",
        tone="faint",
    )
    yield _asked(traced)
    yield from stated_table(traced)
    yield Paragraph(exhaustion(traced))
    yield gpus_table(traced)
    yield capacity_chart(traced)
    yield from titled(
        (
            ("What does not fit", shortage_section(traced.plan)),
            ("What needs rest on", evidence_section(traced.plan)),
            ("How long runs take", runs_section(traced)),
        ),
        3,
    )
    if not (traced.plan.objective or any(job.benefit for job in traced.plan.jobs)):
        said = Blank(f"{code('objective:')} of the scenario, {code('benefit:')} of a job")
        yield Fields((("Business served, and what drives its growth", said),))


def _existing(traced: TracedPlan) -> Iterator[Block]:
    yield from existing_section(traced)
    yield from titled((("What leaves, when, and what it brings", releases_section(traced)),), 3)


def _options(traced: TracedPlan) -> Iterator[Block]:
    """What else there is, what other GPU types would add, and the rules against some."""
    yield from options_section(traced)
    yield Heading("Why not other GPU types", 3)
    yield from gpu_types_section(traced)
    yield from rejections_section(traced.plan)


def _trace(traced: TracedPlan) -> Iterator[Block]:
    yield from jobs_section(traced)
    yield from traffic_section(traced)
    yield from apis_section(traced)
    yield from placement_section(traced)


def _since(traced: TracedPlan) -> tuple[Block, ...]:
    since = traced.beside.comparison
    return changes_since(since) if since else ()


_JUSTIFICATION: dict[str, Section] = {
    "ask": ("The ask", _ask),
    "need": ("Need", _need),
    "existing": ("What there is already", _existing),
    "options": ("Options", _options),
    "cost": ("Whole-life cost", cost_section),
    "sensitivity": ("Sensitivity", sensitivity_section),
    "assumptions": ("Assumptions", assumptions_section),
    "risks": ("Risks", risks_section),
    "trace": ("From requirement to bill", _trace),
    "bill": ("Bill of materials", bill_section),
    "facility": ("Facility", facility_section),
    "affordability": ("Affordability", affordability_section),
    "procurement": ("Procurement", procurement_section),
    "milestones": ("Milestones and acceptance", milestones_section),
    "provenance": ("Provenance and sign-off", provenance_section),
    "jobs": ("Jobs, sum by sum", sums_section),
    "how": ("How figures come about", how_section),
    "rules": ("Rules and their sources", rules_section),
    "since": ("What changed since the last plan", _since),
}


def _need_in_short(traced: TracedPlan) -> Iterator[Block]:
    yield from forecast_section(traced)
    yield use_picture(traced)
    yield from titled((("What does not fit", shortage_section(traced.plan)),), 3)
    yield from runs_section(traced)
    yield from node_map_picture(traced)


def _options_in_short(traced: TracedPlan) -> Iterator[Block]:
    yield from options_section(traced, full=False)
    yield from gpu_types_section(traced)


def _cost_in_short(traced: TracedPlan) -> Iterator[Block]:
    yield from cost_by_quarter(traced)
    yield from cost_headlines(traced)
    yield from beyond_section(traced)
    yield from affordability_section(traced, full=False)


_JUSTIFICATION_IN_SHORT: dict[str, Section] = {
    "ask": ("The ask", decision_section),
    "need": ("Need, and how full the fleet is", _need_in_short),
    "options": ("Options, and other GPU types", _options_in_short),
    "cost": ("Cost", _cost_in_short),
    "facility": ("Facility", sites_section),
    "milestones": ("Milestones", lambda traced: milestones_section(traced, full=False)),
    "risks": ("Risks", risks_section),
    "provenance": (
        "Provenance and sign-off",
        lambda traced: provenance_section(traced, full=False),
    ),
}


def _changes(traced: TracedPlan) -> Iterator[Block]:
    since = traced.beside.comparison
    if since is not None:
        yield from changes_since(since)
    else:
        yield Fields((("What changed, and why", Blank(code("--since LAST.json"))),))
    if since is None or not (since.demand or since.deliveries):
        actuals = f"{code('--actuals FILE')} with {code('--since')}"
        yield Fields((("Delivered against planned, and forecast error", Blank(actuals)),))


def _services(traced: TracedPlan) -> Iterator[Block]:
    plan = traced.plan
    yield services_table(
        traced,
        lambda job, quarter: traced.capacity.held(plan.jobs[job].name, quarter),
        "how-use",
        "GPUs that each job holds, wholly or in part",
    )
    yield from titled((("Charged to teams", teams_section(traced)),), 3)
    yield from traffic_section(traced)


def _resources(traced: TracedPlan) -> Iterator[Block]:
    yield use_picture(traced)
    yield pools_table(traced)
    asked = "Measured use of the GPUs, waiting time, service levels met, nodes that failed"
    yield Fields(((asked, Blank("monitoring")),))
    yield from placement_section(traced)
    yield from facility_section(traced)


def _options_by_quarter(traced: TracedPlan) -> Iterator[Block]:
    yield from options_section(traced)
    parts = (
        ("What does not fit", shortage_section(traced.plan)),
        ("Cost by quarter", cost_by_quarter(traced)),
    )
    yield from titled(parts, 3)


_QUARTERLY: dict[str, Section] = {
    "ask": ("Summary", decision_section),
    "since": ("What changed since the last plan", _changes),
    "scope": ("Scope", lambda _: (Paragraph("Not covered:"), Bullets(_EXCLUDED))),
    "capacity": ("Capacity", lambda traced: (gpus_table(traced),)),
    "demand": ("What drives demand", lambda traced: (_asked(traced),)),
    "need": ("Services", _services),
    "facility": ("Resources", _resources),
    "forecast": ("Demand against capacity", forecast_section),
    "options": ("Options, and doing nothing", _options_by_quarter),
    "recommendations": (
        "Recommendations",
        lambda traced: (*orders_section(traced), *releases_section(traced)),
    ),
    "alarms": ("Thresholds and alarms", alarms_section),
    "assumptions": (
        "Assumptions and risks",
        lambda traced: (*assumptions_section(traced), *risks_section(traced)),
    ),
    "bill": ("Bill of materials", bill_section),
    "provenance": ("Provenance", provenance_section),
    "jobs": ("Jobs, sum by sum", sums_section),
    "how": ("How figures come about", how_section),
}
_IN_SHORT = ("ask", "since", "capacity", "demand", "forecast", "recommendations", "alarms")
