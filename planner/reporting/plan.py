"""The report of a plan, as plan.md and on the terminal: its sections as a buyer needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.reporting.document import Document, Heading, Paragraph, titled
from planner.reporting.sections.capacity import utilization_section
from planner.reporting.sections.cost import plan_cost_section, teams_section
from planner.reporting.sections.jobs import jobs_section, rejections_section
from planner.reporting.sections.nodemap import node_map
from planner.reporting.sections.notes import changes_section, notes_section
from planner.reporting.sections.placement import moves_section, schedule_section, shared_section
from planner.reporting.sections.proof import proof_section, rules_section
from planner.reporting.sections.purchases import ask_sentence, bill_section
from planner.reporting.sections.shortage import shortage_section
from planner.reporting.sections.sites import sites_section
from planner.reporting.sections.traffic import traffic_section
from planner.reporting.traced import TracedPlan

if TYPE_CHECKING:
    from planner.planning.plan import Plan

__all__ = ["FULL", "SCREEN", "Detail", "plan_document"]


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a large portfolio is shown; plan.json always has all."""

    jobs: int
    map_lines: int
    """Lines of the node map per quarter."""
    notes: int
    rules: int
    """Rules listed with their sources; errata are shown in any case."""
    whole: bool
    """Whether sources of prices and every check are written out."""
    page: int = 78
    """Cells that a line of the node map may take, so that it reads on paper, too."""


SCREEN = Detail(jobs=60, map_lines=40, notes=20, rules=0, whole=False)
"""For a terminal."""

FULL = Detail(jobs=1000, map_lines=200, notes=500, rules=500, whole=True)
"""For a document."""


def plan_document(plan: Plan, detail: Detail) -> Document:
    """The whole report."""
    traced, lines, whole = TracedPlan(plan), detail.map_lines, detail.whole
    about = (Paragraph(" ".join(plan.description.split())),) if plan.description else ()
    return (
        Heading(plan.scenario, 1),
        *about,
        Paragraph(ask_sentence(plan), tone="strong"),
        *titled(
            (
                ("Changes to the scenario", changes_section(plan.changes)),
                ("Warnings", notes_section(plan.warnings, detail.notes, "warning", whole=whole)),
                ("Dropped and delayed jobs", shortage_section(plan)),
                ("Purchases and rents", bill_section(traced, full=False, sources=whole)),
                ("Moves", moves_section(plan, lines)),
                ("Node map", node_map(plan, lines, detail.page)),
                ("Schedule", schedule_section(plan, lines)),
                ("Shared GPUs", shared_section(plan, lines)),
                ("Jobs", jobs_section(traced, detail.jobs, full=False)),
                ("Traffic and latency", traffic_section(traced)),
                ("Utilization", utilization_section(traced)),
                ("Sites", sites_section(traced, lines, full=False)),
                ("Cost", plan_cost_section(traced)),
                ("Teams", teams_section(traced)),
                ("Rejected GPU types", rejections_section(plan)),
                (
                    "Assumptions",
                    notes_section(plan.assumptions, detail.notes, "plain", whole=whole),
                ),
                ("Rules and their sources", rules_section(plan, detail.rules)),
                ("Proof and provenance", proof_section(traced, every_check=whole)),
            )
        ),
    )
