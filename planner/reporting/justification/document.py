"""The fifteen sections in the order in which an approver, a buyer and an auditor need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.document import Block, Document, Heading, Paragraph
from planner.reporting.justification.ask import ask_section, existing_section, need_section
from planner.reporting.justification.beside import Beside
from planner.reporting.justification.bill import (
    bill_section,
    procurement_section,
    trace_section,
)
from planner.reporting.justification.desk import Desk, anchor_of
from planner.reporting.justification.facility import facility_section
from planner.reporting.justification.money import (
    affordability_section,
    cost_section,
    rejected_blocks,
)
from planner.reporting.justification.options import options_blocks
from planner.reporting.justification.registers import (
    assumptions_section,
    milestones_section,
    risks_section,
)
from planner.reporting.justification.sensitivity import sensitivity_section
from planner.reporting.justification.sources import how_section, jobs_section, provenance_section
from planner.reporting.proof import rules_section
from planner.reporting.since import since_blocks

if TYPE_CHECKING:
    from planner.planning.plan import Plan

__all__ = ["justification_document"]

_RULES_LISTED = 500
_ALONE = Beside()
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


def justification_document(plan: Plan, beside: Beside = _ALONE) -> Document:
    """The whole document, with what is known beside the plan."""
    desk = Desk(plan, _TITLES)
    since = beside.since
    sections: dict[str, tuple[Block, ...]] = {
        "ask": ask_section(desk, beside),
        "need": need_section(desk),
        "existing": existing_section(desk),
        "options": (*options_blocks(desk, beside), *rejected_blocks(desk)),
        "cost": cost_section(desk),
        "sensitivity": sensitivity_section(desk, beside.sensitivity),
        "assumptions": assumptions_section(desk),
        "risks": risks_section(desk),
        "trace": trace_section(desk),
        "bill": bill_section(desk),
        "facility": facility_section(desk),
        "affordability": affordability_section(desk),
        "procurement": procurement_section(desk),
        "milestones": milestones_section(desk),
        "provenance": provenance_section(desk, beside.changed),
        "jobs": jobs_section(desk),
        "how": how_section(desk),
        "rules": rules_section(plan, _RULES_LISTED),
        "since": since_blocks(since) if since else (),
    }
    opening: list[Block] = [Heading(f"Justification: {plan.scenario}", 1)]
    if plan.description:
        opening.append(Paragraph(" ".join(plan.description.split())))
    opening.append(Paragraph(_readers(desk), tone="faint"))
    body = [
        block
        for place, (key, title) in enumerate(_TITLES.items())
        if sections[key]
        for block in (Heading(title, 2, anchor_of(place)), *sections[key])
    ]
    return (*opening, *body)


def _readers(desk: Desk) -> str:
    """Where each reader finds their page."""
    of = desk.sections
    finance = of("ask", "options", "cost", "sensitivity", "affordability")
    return (
        f"For finance: sections {finance}. For facilities: {of('existing', 'facility')}. For "
        f"procurement: {of('bill', 'procurement', 'milestones')}. For an auditor: "
        f"{of('assumptions', 'trace', 'provenance')}, and the appendices."
    )
