"""Warnings and assumptions as lists; on a short page, alike ones drawn together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from planner.reporting.document import Block, Bullets, Paragraph, Tone
from planner.reporting.format import code, count_of, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from planner.planning.plan import Note

__all__ = ["notes_section"]

_FIGURE = re.compile(r"[0-9][0-9.,]*")


def notes_section(
    notes: Sequence[Note], most: int, tone: Tone, *, whole: bool
) -> tuple[Block, ...]:
    """Every note, or with `whole` false one line for those that differ in figures alone."""
    if not notes:
        return ()
    lines = [_line(note) for note in notes] if whole else list(_merged(notes))
    blocks: list[Block] = [Bullets(tuple(lines[:most]), tone)]
    if len(lines) > most:
        more = count_of(len(lines) - most, "more note")
        blocks.append(Paragraph(f"… {more}, all of them in plan.json", tone="faint"))
    return tuple(blocks)


def _line(note: Note) -> str:
    told = not note.origin or note.origin in note.text
    return note.text if told else f"{note.text} ({note.origin})"


def _merged(notes: Iterable[Note]) -> Iterator[str]:
    alike: dict[str, list[Note]] = {}
    for note in notes:
        alike.setdefault(_kind(note), []).append(note)
    for kind, group in alike.items():
        if kind == _SETTINGS:
            yield f"settings that the scenario leaves open: {'; '.join(map(_line, group))}"
        elif kind == _CATALOG:
            yield (
                f"catalog figures that nobody published: {'; '.join(map(_figure, group))} "
                f"({code('planner catalog show ID')} says why)"
            )
        elif len(group) > 1:
            others = listed([note.origin for note in group[1:]])
            yield f"{_line(group[0])}; likewise with other figures for {others}"
        else:
            yield _line(group[0])


_SETTINGS, _CATALOG = "settings", "catalog"


def _kind(note: Note) -> str:
    """Notes of one kind share a line; what a job's sizing says differs in its figures at most."""
    if note.origin.startswith("rule policies/"):
        return _SETTINGS
    if note.origin.startswith("catalog "):
        return _CATALOG
    of_a_job = note.origin.startswith(("job ", "jobs "))
    return _FIGURE.sub("", note.text) if of_a_job else note.text


def _figure(note: Note) -> str:
    """`xe9680-a100: cpu_cores = 112 cores is an assumption`, without the reason that follows."""
    return ": ".join(note.text.split(": ")[:2])
