"""What came of planning again from a plan's own inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.compare import comparison_document
from planner.reporting.document import Block, Bullets, Column, Document, Heading, Paragraph, Table
from planner.reporting.format import count_of, listed

if TYPE_CHECKING:
    from planner.whatif.comparison.replay import Origin, Replay

__all__ = ["replay_document"]

_DIGITS = 12
"""Of a sha256, enough to tell two files apart."""


def replay_document(replayed: Replay, most: int) -> Document:
    """Identical, or each origin and figure that differs; at most so many rows of a long table."""
    opening = (
        Heading(f"Replay of {replayed.plan}", 1),
        Paragraph(_sentence(replayed), tone="strong"),
    )
    if replayed.comparison is None:
        return opening
    return (*opening, *_causes(replayed), *comparison_document(replayed.comparison, most)[1:])


def _sentence(replayed: Replay) -> str:
    if replayed.identical:
        return (
            f"Identical: {count_of(replayed.files, 'input file')}, options and versions are as "
            "recorded, and the plan made from them is the saved one, byte for byte."
        )
    return f"Not identical: these parts of the plan differ: {listed(list(replayed.parts))}."


def _causes(replayed: Replay) -> tuple[Block, ...]:
    if replayed.origins:
        columns = (
            Column("What differs"),
            Column("Name", wraps=True),
            Column("Recorded", wraps=True),
            Column("Present", wraps=True),
        )
        return (Table(columns, tuple(map(_row, replayed.origins))),)
    said = "All input files and versions are as recorded."
    if not replayed.proved:
        said += " The saved plan is not proved: its search ended at a limit, and may end elsewhere."
    return (Bullets((said,), "warning"),)


def _row(origin: Origin) -> tuple[str, ...]:
    return (
        origin.what,
        origin.name,
        *(_said(origin, one) for one in (origin.recorded, origin.present)),
    )


def _said(origin: Origin, value: str | None) -> str:
    if value is None:
        return "not there"
    return f"sha256 {value[:_DIGITS]}…" if origin.what == "file" else value
