"""What a report says, apart from how it is drawn: headings, paragraphs, lists, tables, figures.

Each section is built once; the terminal and Markdown draw the same blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "Block",
    "Bullets",
    "Column",
    "Document",
    "Heading",
    "Paragraph",
    "Table",
    "Tone",
    "Verbatim",
]

Tone = Literal["plain", "strong", "warning", "faint"]
"""Emphasis only: the words must say the same without it."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of what follows."""

    text: str
    level: int = 2
    """1 for the document, 2 for a section, 3 for a part of one."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences."""

    items: tuple[str, ...]
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column."""

    title: str
    align: Literal["left", "right"] = "left"
    wraps: bool = False
    """Whether its cells may break between words where the page is narrow."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    footer: tuple[str, ...] = ()
    """Last row, set apart: sums."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Lines whose spacing means something."""

    lines: tuple[str, ...]


Block = Heading | Paragraph | Bullets | Table | Verbatim
Document = tuple[Block, ...]
