"""The quarterly capacity plan: what changed, demand against capacity, what to do by when."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from planner.reporting.editions import numbered, numbered_document
from planner.reporting.format import code, quarter_span
from planner.reporting.sections.capacity import (
    alarms_section,
    forecast_section,
    gpus_table,
    pools_table,
    use_picture,
)
from planner.reporting.sections.comparison import changes_since
from planner.reporting.sections.cost import cost_by_quarter, teams_section
from planner.reporting.sections.decision import decision_section
from planner.reporting.sections.jobs import services_table, sums_section
from planner.reporting.sections.notes import assumptions_section, risks_section
from planner.reporting.sections.options import options_section
from planner.reporting.sections.placement import placement_section
from planner.reporting.sections.proof import how_section, provenance_section
from planner.reporting.sections.purchases import bill_section, orders_section
from planner.reporting.sections.releases import releases_section
from planner.reporting.sections.shortage import shortage_section
from planner.reporting.sections.sites import facility_section
from planner.reporting.sections.traffic import traffic_section
from planner.reporting.traced import RelatedResults, TracedPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from planner.planning.plan import Plan
    from planner.reporting.editions import Edition
    from planner.whatif.compare import Comparison

__all__ = ["quarterly_document"]

_ALONE = RelatedResults()
_APPENDICES = ("jobs", "how")
_FULL = {
    "ask": "Summary",
    "since": "What changed since the last plan",
    "scope": "Scope",
    "capacity": "Capacity",
    "demand": "What drives demand",
    "need": "Services",
    "facility": "Resources",
    "forecast": "Demand against capacity",
    "options": "Options, and doing nothing",
    "recommendations": "Recommendations",
    "alarms": "Thresholds and alarms",
    "assumptions": "Assumptions and risks",
    "bill": "Bill of materials",
    "provenance": "Provenance",
    "jobs": "Jobs, sum by sum",
    "how": "How figures come about",
}
_SHORT = ("ask", "since", "capacity", "demand", "forecast", "recommendations", "alarms")
_ASKED = "Units that each job asks for, by quarter"
_EXCLUDED = (
    "Network, storage beyond tuned assets, staff, space, taxes and freight.",
    "Measured use: the plan knows what jobs hold, not how busy they keep it.",
    "Demand other than that of the scenario: seasons and surprises within a quarter.",
)


def quarterly_document(
    plan: Plan, related: RelatedResults = _ALONE, edition: Edition = "full"
) -> Document:
    """The plan for a quarter, whole or short; against the last one, where that is known."""
    kept = _SHORT if edition == "short" else tuple(_FULL)
    titles = numbered({key: _FULL[key] for key in kept}, _APPENDICES)
    traced = TracedPlan(plan, titles)
    sections: dict[str, Callable[[], Iterable[Block]]] = {
        "ask": lambda: decision_section(traced, related),
        "since": lambda: _changes(related.comparison),
        "scope": lambda: (Paragraph("Not covered:"), Bullets(_EXCLUDED)),
        "capacity": lambda: (gpus_table(traced),),
        "demand": lambda: (services_table(traced, traced.asked, "how-need", _ASKED),),
        "need": lambda: (*_services(traced), *traffic_section(traced)),
        "facility": lambda: _resources(traced),
        "forecast": lambda: forecast_section(traced),
        "options": lambda: _options(traced, related),
        "recommendations": lambda: (*orders_section(traced), *releases_section(traced)),
        "alarms": lambda: alarms_section(traced),
        "assumptions": lambda: (
            *assumptions_section(traced),
            *risks_section(traced, related.risk),
        ),
        "bill": lambda: bill_section(traced),
        "provenance": lambda: provenance_section(traced, related.changed),
        "jobs": lambda: sums_section(traced),
        "how": lambda: how_section(traced),
    }
    span = quarter_span(plan.quarters[0], plan.quarters[-1])
    return (
        Heading(f"Capacity plan {span}: {plan.scenario}", 1),
        Paragraph(f"As of {plan.as_of}.", tone="faint"),
        *numbered_document(titles, {key: sections[key]() for key in kept}),
    )


def _changes(since: Comparison | None) -> Iterator[Block]:
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


def _resources(traced: TracedPlan) -> Iterator[Block]:
    yield use_picture(traced)
    yield pools_table(traced)
    asked = "Measured use of the GPUs, waiting time, service levels met, nodes that failed"
    yield Fields(((asked, Blank("monitoring")),))
    yield from placement_section(traced)
    yield from facility_section(traced)


def _options(traced: TracedPlan, related: RelatedResults) -> Iterator[Block]:
    yield from options_section(traced, related)
    yield from titled(
        (
            ("What does not fit", shortage_section(traced.plan)),
            ("Cost by quarter", cost_by_quarter(traced)),
        ),
        3,
    )
