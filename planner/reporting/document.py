"""What a report says, apart from how it is drawn: headings, paragraphs, tables, figures, pictures.

Each section is built once; the terminal, Markdown, HTML and Excel draw the same blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import product
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from planner.reporting.format import Style, cells_of, count_of, filled, styled

AnyRow = TypeVar("AnyRow")
Key = TypeVar("Key")
Getter = Callable[[AnyRow], "Cell"]

SPARE = ""
"""Stands for a job on the GPUs of a node that is kept empty."""

PAPER = 78
"""Characters of a line that can be read on paper, too."""
NODE_WORDS = {
    "": "blank=not in service",
    "off": "off=switched off for the quarter",
    "sold": "sold=gone from then on",
}
"""Words that stand in the node map in place of GPUs, and their meanings."""
_FREE, _SEVERAL, _KEPT, _GAP, _IN_USE = "·", "+", "-", "  ", "nodes in use"

Tone = Literal["plain", "strong", "warning", "faint"]
"""Emphasis only: the words must say the same without it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number or a day that leads back to plan.json."""

    value: Fraction | date
    """In the unit of plan.json: cents, W, MB."""
    style: Style
    sum: str
    """The sum over plan.json that gives it, in the words of `planner.planning.traced_figures`."""

    @property
    def text(self) -> str:
        """As a reader sees it."""
        return styled(self.value, self.style)


@dataclass(frozen=True, slots=True)
class Link:
    """Words that lead to another part of the same document."""

    text: str
    to: str


@dataclass(frozen=True, slots=True)
class Blank:
    """A field that the inputs do not fill: somebody must, since nothing is invented."""

    note: str = ""
    """Who or what fills it, if that is known."""

    @property
    def text(self) -> str:
        """As a reader sees it."""
        return f"[fill in: {self.note}]" if self.note else "[fill in]"


Cell = str | Figure | Link | Blank


def cell_text(cell: Cell) -> str:
    """Return the words of a cell."""
    return cell if isinstance(cell, str) else cell.text


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of what follows."""

    text: str
    level: int = 2
    """1 for the document, 2 for a section, 3 for a part of one."""
    anchor: str = ""
    """Where a link may lead."""


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
    """Whether its cells may break between words if the page is narrow."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    footer: tuple[Cell, ...] = ()
    """The last row, set apart: sums."""
    caption: str = ""
    """What the table shows, if the heading above does not say it."""


ColumnKind = Literal["text", "name", "number"]
"""The kind of a column: words that may break, a name that must not, figures at the right."""


def table(
    rows: Iterable[AnyRow],
    *columns: tuple[str, ColumnKind, Getter[AnyRow]],
    whole: AnyRow | None = None,
    sums: Mapping[str, Cell] = MappingProxyType({}),
    caption: str = "",
    without: Collection[str] = (),
) -> Table:
    """A table of whatever the rows are: each column is a title, a kind, and what gives its cell.

    The last row is that of `whole`, or has the cells of `sums` by the titles of their columns.
    Columns whose titles stand in `without` are left out.
    """
    shown = [one for one in columns if one[0] not in without]
    footer = tuple(sums.get(title, "") for title, _, _ in shown) if sums else ()
    if whole is not None:
        footer = tuple(cell(whole) for _, _, cell in shown)
    return Table(
        tuple(
            Column(title, "right" if kind == "number" else "left", kind == "text")
            for title, kind, _ in shown
        ),
        tuple(tuple(cell(row) for _, _, cell in shown) for row in rows),
        footer,
        caption,
    )


def columns_for(
    keys: Iterable[tuple[str, Key]], cell: Callable[[Any, Key], Cell], kind: ColumnKind = "number"
) -> tuple[tuple[str, ColumnKind, Getter[Any]], ...]:
    """Return columns that differ only in a key, such as a quarter: titles with their keys."""

    def of(key: Key) -> Getter[Any]:
        return lambda row: cell(row, key)

    return tuple((title, kind, of(key)) for title, key in keys)


def rest(left: int, noun: str, where: str) -> Iterator[Paragraph]:
    """Return `… 3 more rows, all of them in plan.json`, or nothing if no row is left out."""
    if left > 0:
        yield Paragraph(f"… {count_of(left, f'more {noun}')}{where}")


def titled(sections: Iterable[tuple[str, Iterable[Block]]], level: int = 2) -> tuple[Block, ...]:
    """Yield sections one after another, each under its title; empty ones are left out."""
    told = ((title, tuple(blocks)) for title, blocks in sections)
    return tuple(
        block for title, blocks in told if blocks for block in (Heading(title, level), *blocks)
    )


@dataclass(frozen=True, slots=True)
class Fields:
    """A form: what is asked, and what the inputs say."""

    rows: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Lines whose spacing matters."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """Details that a reader opens, if the page can do that."""

    title: str
    anchor: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """One row of figures of a chart."""

    name: str
    values: tuple[Figure, ...]
    form: Literal["bar", "line"] = "bar"


@dataclass(frozen=True, slots=True)
class Chart:
    """Figures as a picture: stacked bars by category, with lines over them."""

    title: str
    says: str
    """What it shows, in words, for those who cannot see it."""
    categories: tuple[str, ...]
    series: tuple[Series, ...]
    unit: str
    marks: tuple[tuple[int, str], ...] = ()
    """Events at the start of a category."""


HeldGpus = tuple[tuple[str, ...], ...]
"""The jobs on each GPU of a node, or `SPARE`."""


@dataclass(frozen=True, slots=True)
class NodeMap:
    """Who holds each GPU of each node, quarter by quarter."""

    title: str
    says: str
    columns: tuple[str, ...]
    """Quarters; those that look alike are together."""
    in_use: tuple[str, ...]
    """How many nodes are in use in each column."""
    rows: tuple[tuple[str, tuple[HeldGpus | str, ...]], ...]
    """The name of the node or nodes; for each column, who holds what, or a word; empty if the
    node is not in service."""
    numbers: Mapping[str, int]
    """The number that stands for each job."""
    told: Mapping[str, str]
    """What is shown when a job's GPUs are pointed at."""
    spanning: frozenset[str]
    """Jobs with units on several nodes at once."""
    key: Table
    """Which number is which job."""


End = tuple[float, str]
"""A value, and how a reader sees it; infinite if there is none."""


@dataclass(frozen=True, slots=True)
class Tornado:
    """What a value becomes if one thing is moved in either direction: a bar to both sides."""

    title: str
    says: str
    rows: tuple[tuple[str, End, End], ...]
    """What is moved, and the two ends."""
    middle: End
    """The value if nothing is moved."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What is held from one cell to another, both counted from 1."""

    label: str
    first: int
    last: int
    name: str
    number: int
    """The number that decides its colour, as on the node map."""
    when: str
    """Start and end, in words."""


@dataclass(frozen=True, slots=True)
class Gantt:
    """Runs as bars over time, in groups with a head: their node."""

    title: str
    says: str
    cells: int
    """The cells into which time is divided."""
    groups: tuple[tuple[str, tuple[Bar, ...]], ...]


Picture = Chart | NodeMap | Tornado | Gantt
Block = Heading | Paragraph | Bullets | Table | Fields | Verbatim | Fold | Picture
Document = tuple[Block, ...]


def beneath(document: Iterable[Block]) -> Document:
    """Return blocks as a part of a section: every heading is a level lower."""
    return tuple(
        replace(block, level=block.level + 1) if isinstance(block, Heading) else block
        for block in document
    )


def in_words(document: Iterable[Block], page: int = PAPER) -> Document:
    """Return blocks for a page without pictures, folds and forms: their words and tables remain.

    A chart leaves nothing, since its figures are in the table beside it. `page` is the width in
    characters that a node map may take.
    """
    plain: list[Block] = []
    for block in document:
        match block:
            case Fold():
                plain += (Heading(block.title, 3, block.anchor), *in_words(block.blocks, page))
            case Gantt():
                runs = table(
                    [(head, bar) for head, bars in block.groups for bar in bars],
                    ("Node", "text", lambda row: row[0]),
                    ("GPUs", "name", lambda row: row[1].label),
                    ("Run", "text", lambda row: row[1].name),
                    ("When", "text", lambda row: row[1].when),
                )
                plain += (Paragraph(f"{block.title}:", "faint"), runs)
            case NodeMap():
                plain += _map_in_letters(block, page)
            case Chart() | Tornado():
                pass
            case Fields():
                told = (f"{asked}: {cell_text(said)}" for asked, said in block.rows)
                plain.append(Bullets(tuple(told)))
            case Table() if block.caption:
                plain += (Paragraph(f"{block.caption}:", "faint"), block)
            case _:
                plain.append(block)
    return tuple(plain)


def _map_in_letters(picture: NodeMap, page: int) -> Document:
    """Draw a line for each node with a letter for each job, then explain the letters.

    As many quarters stand side by side as fit the page, the next ones below.
    """
    by_column = zip(*(row for _, row in picture.rows), strict=True)
    held: list[HeldGpus] = [
        cells for column in by_column for cells in column if isinstance(cells, tuple)
    ]
    together = {on for cells in held for on in cells}
    jobs = dict.fromkeys(job for cells in held for on in cells for job in on if job != SPARE)
    wide = 1
    while len(jobs) > max(len(ascii_lowercase) ** wide, len(ascii_letters)):
        wide += 1
    letters: Iterable[str] = (*ascii_uppercase, *ascii_lowercase)
    if wide > 1:  # `Aa`, `Ab` to `Zz`
        letters = ("".join(some).capitalize() for some in product(ascii_lowercase, repeat=wide))
    marks = dict(zip(jobs, letters, strict=False))

    def cell(on: tuple[str, ...]) -> str:
        if len(on) == 1 and on[0] != SPARE:
            return marks[on[0]]
        return (_SEVERAL if len(on) > 1 else _KEPT if on else _FREE) * wide

    def shown(cells: HeldGpus | str) -> str:
        return cells if isinstance(cells, str) else f"[{''.join(map(cell, cells))}]"

    rows = [
        ("", picture.columns),
        *((name, tuple(map(shown, row))) for name, row in picture.rows),
        (_IN_USE, picture.in_use),
    ]
    names = max(cells_of(name) for name, _ in rows)
    width = max(len(one) for _, row in rows for one in row)
    abreast = max(1, (page - names) // (width + len(_GAP)))
    lines: list[str] = []
    for first in range(0, len(picture.columns), abreast):
        lines += [""] * bool(lines)
        for name, row in rows:
            part = row[first : first + abreast]
            if any(part):
                padded = _GAP.join(f"{one:<{width}}" for one in part)
                lines.append(f"{filled(name, names)}{_GAP}{padded}".rstrip())
    words = {cells for _, row in picture.rows for cells in row if isinstance(cells, str)}
    spans = picture.spanning
    signs = [
        f"{_FREE}=free",
        *(
            [f"{_SEVERAL}=shared by jobs, in time or in parts"]
            * any(len(on) > 1 for on in together)
        ),
        *([f"{_KEPT}=spare, kept empty"] * ((SPARE,) in together)),
        *(NODE_WORDS[word] for word in sorted(words)),
        *(f"{mark}={job}{' (spans nodes)' if job in spans else ''}" for job, mark in marks.items()),
    ]
    return (Verbatim(tuple(lines)), Paragraph(f"{', '.join(signs)}."))
