"""The procurement justification: sections as an approver, a buyer and an auditor need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.document import Blank, Block, Document, Fields, Heading, Paragraph, titled
from planner.reporting.format import count_of, listed, quarter_span
from planner.reporting.sections.apis import apis_section
from planner.reporting.sections.capacity import capacity_chart, existing_section, gpus_table
from planner.reporting.sections.comparison import changes_since
from planner.reporting.sections.cost import affordability_section, cost_section
from planner.reporting.sections.evidence import evidence_section
from planner.reporting.sections.jobs import (
    jobs_section,
    rejections_section,
    services_table,
    sums_section,
)
from planner.reporting.sections.notes import assumptions_section, risks_section
from planner.reporting.sections.options import cheaper_warnings, options_section, summary_rows
from planner.reporting.sections.placement import placement_section
from planner.reporting.sections.proof import how_section, provenance_section, rules_section
from planner.reporting.sections.purchases import (
    ask_sentence,
    bill_section,
    milestones_section,
    procurement_section,
)
from planner.reporting.sections.sensitivity import sensitivity_section
from planner.reporting.sections.shortage import shortage_section
from planner.reporting.sections.sites import facility_section
from planner.reporting.sections.traffic import traffic_section
from planner.reporting.traced import RelatedResults, TracedPlan, anchor_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from planner.planning.plan import Plan
    from planner.reporting.document import Cell

__all__ = ["justification_document", "numbered_document"]

_RULES_LISTED = 500
_ALONE = RelatedResults()
_TITLES = {
    "ask": "1. The ask",
    "need": "2. Need",
    "existing": "3. What there is already",
    "options": "4. Options",
    "cost": "5. Whole-life cost",
    "sensitivity": "6. Sensitivity",
    "assumptions": "7. Assumptions",
    "risks": "8. Risks",
    "trace": "9. From requirement to bill",
    "bill": "10. Bill of materials",
    "facility": "11. Facility",
    "affordability": "12. Affordability",
    "procurement": "13. Procurement",
    "milestones": "14. Milestones and acceptance",
    "provenance": "15. Provenance and sign-off",
    "jobs": "A. Jobs, sum by sum",
    "how": "B. How figures come about",
    "rules": "C. Rules and their sources",
    "since": "D. What changed since the last plan",
}


def justification_document(plan: Plan, related: RelatedResults = _ALONE) -> Document:
    """The whole document, with what is known beside the plan."""
    traced = TracedPlan(plan, _TITLES)
    since = related.comparison
    opening: list[Block] = [Heading(f"Justification: {plan.scenario}", 1)]
    if plan.description:
        opening.append(Paragraph(" ".join(plan.description.split())))
    opening.append(Paragraph(_readers(traced), tone="faint"))
    sections: dict[str, Iterable[Block]] = {
        "ask": _ask(traced, related),
        "need": _need(traced),
        "existing": existing_section(traced),
        "options": (*options_section(traced, related), *_rejected(traced)),
        "cost": cost_section(traced),
        "sensitivity": sensitivity_section(traced, related.sensitivity),
        "assumptions": assumptions_section(traced),
        "risks": risks_section(traced),
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
        "rules": rules_section(plan, _RULES_LISTED),
        "since": changes_since(since) if since else (),
    }
    return (*opening, *numbered_document(_TITLES, sections))


def numbered_document(
    titles: Mapping[str, str], sections: Mapping[str, Iterable[Block]]
) -> Iterator[Block]:
    """Sections under their titles, each with an anchor; those without content are left out."""
    for place, (key, title) in enumerate(titles.items()):
        if blocks := tuple(sections[key]):
            yield Heading(title, 2, anchor_of(place))
            yield from blocks


def _readers(traced: TracedPlan) -> str:
    """Where each reader finds their page."""
    of = traced.sections
    finance = of("ask", "options", "cost", "sensitivity", "affordability")
    return (
        f"For finance: sections {finance}. For facilities: {of('existing', 'facility')}. For "
        f"procurement: {of('bill', 'procurement', 'milestones')}. For an auditor: "
        f"{of('assumptions', 'trace', 'provenance')}, and the appendices."
    )


def _ask(traced: TracedPlan, related: RelatedResults) -> Iterator[Block]:
    """What is to be approved, in one sentence and a few figures; what would cost less."""
    plan, accounts = traced.plan, traced.accounts
    rows: list[tuple[str, Cell]] = []
    for kind, title in (
        ("buy", "Capital for purchases, USD"),
        ("rent", "Rents within the horizon, USD"),
        ("reserve", "Reservations within the horizon, USD"),
    ):
        asked = accounts.acquired(kind)
        if asked.value:
            rows.append((title, traced.figure(asked, "usd", "how-bill")))
    first_year = accounts.first_year
    span = quarter_span(plan.quarters[0], plan.quarters[first_year[-1]])
    rows += [
        *traced.committed,
        (
            f"Running cost of the first year ({span}), rents included, USD",
            traced.figure(accounts.opex(first_year), "usd", "how-cost"),
        ),
        (
            "Paid over the horizon, not discounted, USD",
            traced.figure(accounts.paid(), "usd", "how-cost"),
        ),
        (
            "Net present cost, less what the servers are still worth at its end, USD",
            traced.figure(accounts.net_present, "usd", "how-proof"),
        ),
        *summary_rows(traced, related),
    ]
    decided = "nothing is ordered, so no order sets a day"
    if traced.orders:
        decided = "no later than the first order"
        rows.append(("First order by", traced.order_by(traced.orders[0][0])))
    running = [job for job in plan.jobs if job.ways]
    teams = {job.team for job in running if job.team}
    of_teams = f" of {count_of(len(teams), 'team')}" if teams else ""
    rows += [
        ("In support of", traced.link(f"{count_of(len(running), 'job')}{of_teams}", "need")),
        ("Requested by", Blank()),
        ("Decision needed by", Blank(decided)),
    ]
    yield Paragraph(ask_sentence(plan), tone="strong")
    yield from cheaper_warnings(traced, related)
    yield Fields(tuple(rows))
    if illustrative := [line.offer for _, line in traced.bill if line.illustrative]:
        names = listed(list(dict.fromkeys(illustrative)))
        yield Paragraph(
            f"Prices of {names} are illustrative and no quotes: put quotes into the scenario "
            "and plan again before this is approved.",
            tone="warning",
        )


def _need(traced: TracedPlan) -> Iterator[Block]:
    """Who needs what, how far it goes beyond what is owned, and what is not known."""
    yield Paragraph(
        "Each job and the units of it that must run; a unit is one replica of a model, or one "
        "tuning job with all its runs. Its sizing, sum by sum, is told in "
        f"{traced.section('jobs')}.",
        tone="faint",
    )
    caption = "Units that each job asks for, by quarter"
    yield services_table(traced, traced.asked, "how-need", caption)
    yield gpus_table(traced)
    yield capacity_chart(traced)
    yield from titled(
        (
            ("What does not fit", shortage_section(traced.plan)),
            ("What needs rest on", evidence_section(traced.plan)),
        ),
        3,
    )
    yield Fields(
        (
            ("Business served, and what drives its growth", Blank("the scenario states jobs")),
            ("What happens if the need is not met", Blank("by the owners of the jobs")),
        )
    )


def _rejected(traced: TracedPlan) -> Iterator[Block]:
    """GPU types that jobs may not or cannot use, with the rule that says so."""
    yield Heading("GPU types that were rejected, and by which rule", 3)
    none = "No rule keeps a job off a GPU type that is owned or offered. What each would add "
    none += f"is told job by job in {traced.section('jobs')}."
    yield from rejections_section(traced.plan) or (Paragraph(none),)
