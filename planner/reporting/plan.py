"""The report of a plan: its sections in the order in which a buyer needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.reporting.ask import ask_sentence
from planner.reporting.changes import changes_section
from planner.reporting.document import Block, Document, Heading, Paragraph
from planner.reporting.jobs import jobs_section, rejections_section
from planner.reporting.money import acquisitions_section, costs_section
from planner.reporting.moves import moves_section
from planner.reporting.nodemap import node_map
from planner.reporting.notes import notes_section
from planner.reporting.proof import proof_section, rules_section
from planner.reporting.schedule import schedule_section
from planner.reporting.shared import shared_section
from planner.reporting.shortage import shortage_section
from planner.reporting.sites import sites_section
from planner.reporting.teams import teams_section
from planner.reporting.usage import usage_section

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
    sections: tuple[tuple[str, tuple[Block, ...]], ...] = (
        ("Changes to the scenario", changes_section(plan.changes)),
        ("Warnings", notes_section(plan.warnings, detail.notes, "warning", whole=detail.whole)),
        ("Dropped and delayed jobs", shortage_section(plan)),
        ("Purchases and rents", acquisitions_section(plan, sources=detail.whole)),
        ("Moves", moves_section(plan, detail.map_lines)),
        ("Node map", node_map(plan, detail.map_lines, detail.page)),
        ("Schedule", schedule_section(plan, detail.map_lines)),
        ("Shared GPUs", shared_section(plan, detail.map_lines)),
        ("Jobs", jobs_section(plan, detail.jobs)),
        ("Utilization", usage_section(plan)),
        ("Sites", sites_section(plan, detail.map_lines)),
        ("Cost", costs_section(plan)),
        ("Teams", teams_section(plan)),
        ("Rejected GPU types", rejections_section(plan)),
        ("Assumptions", notes_section(plan.assumptions, detail.notes, "plain", whole=detail.whole)),
        ("Rules and their sources", rules_section(plan, detail.rules)),
        ("Proof and provenance", proof_section(plan, every_check=detail.whole)),
    )
    opening: list[Block] = [Heading(plan.scenario, 1)]
    if plan.description:
        opening.append(Paragraph(" ".join(plan.description.split())))
    opening.append(Paragraph(ask_sentence(plan), tone="strong"))
    body = [block for title, blocks in sections if blocks for block in (Heading(title), *blocks)]
    return (*opening, *body)
