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
from planner.reporting.format import code, listed, quarter_span
from planner.reporting.justification import numbered_document
from planner.reporting.sections.capacity import (
    alarms_section,
    exhaustion,
    forecast_section,
    gpus_table,
    pools_table,
    use_picture,
)
from planner.reporting.sections.comparison import changes_since
from planner.reporting.sections.cost import cost_by_quarter, teams_section
from planner.reporting.sections.jobs import demand_section, services_table, sums_section
from planner.reporting.sections.notes import assumptions_section, risks_section
from planner.reporting.sections.options import cheaper_warnings, options_section, summary_rows
from planner.reporting.sections.placement import placement_section
from planner.reporting.sections.proof import how_section, provenance_section
from planner.reporting.sections.purchases import ask_sentence, bill_section, orders_section
from planner.reporting.sections.releases import releases_section
from planner.reporting.sections.shortage import shortage_section
from planner.reporting.sections.sites import facility_section
from planner.reporting.sections.traffic import traffic_section
from planner.reporting.traced import RelatedResults, TracedPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from planner.planning.plan import Plan
    from planner.whatif.comparison.comparison import Comparison

__all__ = ["quarterly_document"]

_ALONE = RelatedResults()
_TITLES = {
    "ask": "1. Summary",
    "since": "2. What changed since the last plan",
    "scope": "3. Scope",
    "capacity": "4. Capacity",
    "demand": "5. What drives demand",
    "need": "6. Services",
    "facility": "7. Resources",
    "forecast": "8. Demand against capacity",
    "options": "9. Options, and doing nothing",
    "recommendations": "10. Recommendations",
    "alarms": "11. Thresholds and alarms",
    "assumptions": "12. Assumptions and risks",
    "bill": "13. Bill of materials",
    "provenance": "14. Provenance",
    "jobs": "A. Jobs, sum by sum",
    "how": "B. How figures come about",
}
_EXCLUDED = (
    "Network, storage beyond tuned assets, staff, space, taxes and freight.",
    "Measured use: the plan knows what jobs hold, not how busy they keep it.",
    "Demand other than that of the scenario: seasons and surprises within a quarter.",
)


def quarterly_document(plan: Plan, related: RelatedResults = _ALONE) -> Document:
    """The whole plan for a quarter; against the last one, where that is known."""
    traced = TracedPlan(plan, _TITLES)
    sections: dict[str, Iterable[Block]] = {
        "ask": _summary(traced, related),
        "since": _changes(related.comparison),
        "scope": _scope(traced),
        "capacity": (gpus_table(traced),),
        "demand": demand_section(traced),
        "need": (*_services(traced), *traffic_section(traced)),
        "facility": _resources(traced),
        "forecast": forecast_section(traced),
        "options": _options(traced, related),
        "recommendations": (*orders_section(traced), *releases_section(traced)),
        "alarms": alarms_section(traced),
        "assumptions": (*assumptions_section(traced), *risks_section(traced)),
        "bill": bill_section(traced),
        "provenance": provenance_section(traced, related.changed),
        "jobs": sums_section(traced),
        "how": how_section(traced),
    }
    span = quarter_span(plan.quarters[0], plan.quarters[-1])
    return (
        Heading(f"Capacity plan {span}: {plan.scenario}", 1),
        Paragraph(f"As of {plan.as_of}.", tone="faint"),
        *numbered_document(_TITLES, sections),
    )


def _summary(traced: TracedPlan, related: RelatedResults) -> Iterator[Block]:
    yield Paragraph(ask_sentence(traced.plan), tone="strong")
    yield from cheaper_warnings(traced, related)
    yield Fields(
        (
            (
                "Net present cost, USD",
                traced.figure(traced.accounts.net_present, "usd", "how-proof"),
            ),
            *summary_rows(traced, related),
            (
                "What to order, by when",
                traced.link("orders, the most urgent first", "recommendations")
                if traced.bill
                else "nothing",
            ),
        )
    )
    yield Paragraph(exhaustion(traced))


def _changes(since: Comparison | None) -> Iterator[Block]:
    if since is not None:
        yield from changes_since(since)
    else:
        yield Fields((("What changed, and why", Blank(code("--since LAST.json"))),))
    if since is None or not (since.demand or since.deliveries):
        actuals = f"{code('--actuals FILE')} with {code('--since')}"
        yield Fields((("Delivered against planned, and forecast error", Blank(actuals)),))


def _scope(traced: TracedPlan) -> Iterator[Block]:
    plan = traced.plan
    teams = sorted({job.team for job in plan.jobs if job.team})
    yield Fields(
        (
            ("Quarters", quarter_span(plan.quarters[0], plan.quarters[-1])),
            ("Jobs", traced.figure(traced.read.count("jobs[*]"), "count", "how-need")),
            ("Teams", listed(teams) or "none named"),
            ("Sites", listed(traced.capacity.sites)),
            ("Node types", listed([facts.node_type for facts in plan.node_types])),
        )
    )
    yield Paragraph("Not covered:")
    yield Bullets(_EXCLUDED)


def _services(traced: TracedPlan) -> Iterator[Block]:
    plan = traced.plan
    yield services_table(
        traced,
        lambda job, quarter: traced.capacity.held(plan.jobs[job].name, quarter),
        "how-use",
        "GPUs that each job holds, wholly or in part",
    )
    yield Fields(
        (
            ("Service levels agreed, and how they are met", Blank("by the owners")),
            ("Waiting and turnaround time of jobs", Blank("the scheduler's records")),
        )
    )
    yield from titled((("Charged to teams", teams_section(traced)),), 3)


def _resources(traced: TracedPlan) -> Iterator[Block]:
    yield use_picture(traced)
    yield pools_table(traced)
    yield Fields(
        (
            ("Measured use of the GPUs: active, useful", Blank("monitoring")),
            ("Nodes that failed, and open orders that slipped", Blank()),
        )
    )
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
