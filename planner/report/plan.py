"""The report of a plan: its sections in the order in which a buyer needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.report.ask import ask_sentence
from planner.report.document import Block, Bullets, Document, Heading, Paragraph, Tone
from planner.report.format import count_of
from planner.report.jobs import jobs_section, rejections_section
from planner.report.money import acquisitions_section, costs_section
from planner.report.nodemap import node_map
from planner.report.proof import proof_section, rules_section
from planner.report.usage import usage_section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.plan.plan import Note, Plan

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


SCREEN = Detail(jobs=60, map_lines=40, notes=20, rules=0)
"""For a terminal."""

FULL = Detail(jobs=1000, map_lines=200, notes=500, rules=500)
"""For a document."""


def plan_document(plan: Plan, detail: Detail) -> Document:
    """The whole report."""
    sections: tuple[tuple[str, tuple[Block, ...]], ...] = (
        ("Warnings", _notes(plan.warnings, detail.notes, "warning")),
        ("Purchases and rents", acquisitions_section(plan)),
        ("Node map", node_map(plan, detail.map_lines)),
        ("Jobs", jobs_section(plan, detail.jobs)),
        ("Utilization", usage_section(plan)),
        ("Cost", costs_section(plan)),
        ("Rejected GPU types", rejections_section(plan)),
        ("Assumptions", _notes(plan.assumptions, detail.notes, "plain")),
        ("Rules and their sources", rules_section(plan, detail.rules)),
        ("Proof and provenance", proof_section(plan)),
    )
    opening: list[Block] = [Heading(plan.scenario, 1)]
    if plan.description:
        opening.append(Paragraph(" ".join(plan.description.split())))
    opening.append(Paragraph(ask_sentence(plan), tone="strong"))
    body = [block for title, blocks in sections if blocks for block in (Heading(title), *blocks)]
    return (*opening, *body)


def _notes(notes: Sequence[Note], most: int, tone: Tone) -> tuple[Block, ...]:
    if not notes:
        return ()
    blocks: list[Block] = [Bullets(tuple(_line(note) for note in notes[:most]), tone)]
    if len(notes) > most:
        more = count_of(len(notes) - most, "more note")
        blocks.append(Paragraph(f"… {more}, all of them in plan.json", tone="faint"))
    return tuple(blocks)


def _line(note: Note) -> str:
    told = not note.origin or note.origin in note.text
    return note.text if told else f"{note.text} ({note.origin})"
