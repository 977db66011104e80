"""The fifteen sections in the order in which an approver, a buyer and an auditor need them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.document import Block, Document, Heading, Paragraph
from planner.report.justification.ask import ask_section, existing_section, need_section
from planner.report.justification.beside import Beside
from planner.report.justification.bill import (
    bill_section,
    procurement_section,
    trace_section,
)
from planner.report.justification.desk import Desk
from planner.report.justification.facility import facility_section
from planner.report.justification.money import (
    affordability_section,
    cost_section,
    rejected_blocks,
)
from planner.report.justification.options import options_blocks
from planner.report.justification.registers import (
    assumptions_section,
    milestones_section,
    risks_section,
)
from planner.report.justification.sensitivity import sensitivity_section
from planner.report.justification.sources import how_section, jobs_section, provenance_section
from planner.report.proof import rules_section
from planner.report.since import since_blocks

if TYPE_CHECKING:
    from planner.plan.plan import Plan

__all__ = ["justification_document"]

_RULES_LISTED = 500
_ALONE = Beside()


def justification_document(plan: Plan, beside: Beside = _ALONE) -> Document:
    """The whole document, with what is known beside the plan."""
    desk = Desk(plan)
    since = beside.since
    sections: tuple[tuple[str, tuple[Block, ...]], ...] = (
        ("1. The ask", ask_section(desk)),
        ("2. Need", need_section(desk)),
        ("3. What there is already", existing_section(desk)),
        ("4. Options", (*options_blocks(desk, beside), *rejected_blocks(desk))),
        ("5. Whole-life cost", cost_section(desk)),
        ("6. Sensitivity", sensitivity_section(desk, beside.sensitivity)),
        ("7. Assumptions", assumptions_section(desk)),
        ("8. Risks", risks_section(desk)),
        ("9. From requirement to bill", trace_section(desk)),
        ("10. Bill of materials", bill_section(desk)),
        ("11. Facility", facility_section(desk)),
        ("12. Affordability", affordability_section(desk)),
        ("13. Procurement", procurement_section(desk)),
        ("14. Milestones and acceptance", milestones_section(desk)),
        ("15. Provenance and sign-off", provenance_section(desk)),
        ("A. Jobs, sum by sum", jobs_section(desk)),
        ("B. How figures come about", how_section(desk)),
        ("C. Rules and their sources", rules_section(plan, _RULES_LISTED)),
        ("D. What changed since the last plan", since_blocks(since) if since else ()),
    )
    opening: list[Block] = [Heading(f"Justification: {plan.scenario}", 1)]
    if plan.description:
        opening.append(Paragraph(" ".join(plan.description.split())))
    opening.append(
        Paragraph(
            "For finance: sections 1, 4, 5, 6 and 12. For facilities: 3 and 11. For procurement: "
            "10, 13 and 14. For an auditor: 7, 9, 15 and the appendices.",
            tone="faint",
        )
    )
    body = [
        block
        for number, (title, blocks) in enumerate(sections, 1)
        if blocks
        for block in (Heading(title, 2, f"section-{number}"), *blocks)
    ]
    return (*opening, *body)
