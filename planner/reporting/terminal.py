"""Draws a document for a terminal or a pipe: any width, colour or none, Unicode or ASCII."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from planner.reporting.document import (
    PAPER,
    Block,
    Bullets,
    Column,
    Heading,
    Paragraph,
    Table,
    Verbatim,
    cell_text,
    in_words,
)
from planner.reporting.format import ascii_only, visible

_STYLES = {"plain": "", "strong": "bold", "warning": "yellow", "faint": "dim"}
_GAP = 2
_NARROWEST_WORDS = 14
"""Cells that a wrapping column keeps on a narrow page, unless all its words are shorter."""


@dataclass(frozen=True, slots=True)
class TerminalOptions:
    """What the output can show."""

    width: int = 100
    """Cells in a line."""
    colour: bool = False
    unicode: bool = True

    def text(self, raw: str) -> str:
        """The text as this output can show it."""
        clean = visible(raw)
        return clean if self.unicode else ascii_only(clean)


def render(document: Iterable[Block], look: TerminalOptions) -> str:
    """The document as text that ends with a line feed."""
    paper = io.StringIO()
    console = Console(
        file=paper,
        width=max(look.width, 20),
        force_terminal=look.colour,
        color_system="standard" if look.colour else None,
        no_color=not look.colour,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )
    previous: Block | None = None
    for block in in_words(document, min(look.width, PAPER)):
        if isinstance(previous, Table | Bullets) and not isinstance(block, Heading):
            console.print()
        _draw_block(console, block, look)
        previous = block
    lines = (line.rstrip() for line in paper.getvalue().splitlines())
    drawn = "\n".join(lines).strip("\n") + "\n"
    return drawn if look.unicode else ascii_only(drawn)


def _draw_block(console: Console, block: Block, look: TerminalOptions) -> None:
    if isinstance(block, Heading):
        _draw_heading(console, block, look)
    elif isinstance(block, Paragraph):
        console.print(Text(look.text(block.text), style=_STYLES[block.tone]))
    elif isinstance(block, Bullets):
        _draw_bullets(console, block, look)
    elif isinstance(block, Table):
        _draw_table(console, block, look)
    elif isinstance(block, Verbatim):
        for line in block.lines:
            _draw_verbatim(console, look.text(line))


def _draw_heading(console: Console, heading: Heading, look: TerminalOptions) -> None:
    title = look.text(heading.text)
    console.print()
    if heading.level == 2:
        rule = "─" * max(console.width - cell_len(title) - 4, 0)
        console.print(Text(f"── {title} {rule}", style="bold", overflow="fold"))
    else:
        console.print(Text(title, style="bold"))


def _draw_bullets(console: Console, bullets: Bullets, look: TerminalOptions) -> None:
    grid = RichTable.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    mark = "·" if look.unicode else "-"
    for item in bullets.items:
        grid.add_row(mark, Text(look.text(item), style=_STYLES[bullets.tone]))
    console.print(grid)


def _draw_verbatim(console: Console, line: str) -> None:
    indent = " " * min(len(line) - len(line.lstrip()) + 4, console.width // 2)
    folded = textwrap.wrap(
        line, console.width, subsequent_indent=indent, replace_whitespace=False
    ) or [""]
    for part in folded:
        console.print(Text(part, overflow="fold"), soft_wrap=True)


class _Shown(NamedTuple):
    """A table as this output can show it."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    footer: tuple[str, ...]


def _draw_table(console: Console, table: Table, look: TerminalOptions) -> None:
    shown = _as_shown(table, look)
    widths = _widths(shown, console.width)
    if widths is None:
        _draw_records(console, shown)
        return
    drawn = RichTable(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, _GAP - 1, 0, 0),
        show_footer=bool(shown.footer),
        header_style="bold",
        footer_style="bold",
    )
    for place, (column, width) in enumerate(zip(shown.columns, widths, strict=True)):
        footer = shown.footer[place] if shown.footer else ""
        drawn.add_column(
            _broken(column.title, width),
            footer=_broken(footer, width),
            justify=column.align,
            overflow="fold",
            width=width,
        )
    for row in shown.rows:
        drawn.add_row(*(_broken(cell, width) for cell, width in zip(row, widths, strict=True)))
    console.print(drawn)


def _broken(cell: str, width: int) -> Text:
    """Broken between words or after a hyphen; wide characters are left to rich."""
    if cell_len(cell) <= width or cell_len(cell) != len(cell):
        return Text(cell)
    return Text("\n".join(textwrap.wrap(cell, width)))


def _as_shown(table: Table, look: TerminalOptions) -> _Shown:
    return _Shown(
        tuple(
            Column(look.text(column.title), column.align, column.wraps) for column in table.columns
        ),
        tuple(tuple(look.text(cell_text(cell)) for cell in row) for row in table.rows),
        tuple(look.text(cell_text(cell)) for cell in table.footer),
    )


def _widths(table: _Shown, page: int) -> tuple[int, ...] | None:
    """Cells for each column, those that wrap sharing what is left; None if the page is too narrow.

    Whole words have room if the page has it.
    """
    places = range(len(table.columns))
    room = page - _GAP * (len(places) - 1)
    natural = [max(map(cell_len, _cells(table, place))) for place in places]
    for longest_word in (page, 26, 22, 18, _NARROWEST_WORDS):
        widths = [_column_narrowest(table, place, longest_word) for place in places]
        if sum(widths) <= room:
            break
    else:
        return None
    left = room - sum(widths)
    growing = sorted(places, key=lambda place: natural[place] - widths[place])
    for rank, place in enumerate(growing):
        grown = min(natural[place] - widths[place], left // (len(growing) - rank))
        widths[place] += grown
        left -= grown
    return tuple(widths)


def _cells(table: _Shown, place: int) -> list[str]:
    """Every text of one column."""
    return [
        table.columns[place].title,
        *(row[place] for row in table.rows),
        *table.footer[place : place + 1],
    ]


def _column_narrowest(table: _Shown, place: int, longest_word: int) -> int:
    title, *cells = _cells(table, place)
    column = table.columns[place]
    if not column.wraps:
        heads = title.split() if column.align == "right" else [title]
        return max(map(cell_len, (*heads, *cells)), default=0)
    words = max((cell_len(word) for cell in (title, *cells) for word in cell.split()), default=0)
    return min(words, longest_word)


def _draw_records(console: Console, table: _Shown) -> None:
    """Draw one small block per row, for a page too narrow for columns."""
    name = ""
    for row in (*table.rows, table.footer) if table.footer else table.rows:
        name = row[0] or name
        if table.columns[0].align == "right":  # a number says little without its title
            name = f"{table.columns[0].title} {name}"
        console.print(Text(name, style="bold", overflow="fold"))
        for column, cell in zip(table.columns[1:], row[1:], strict=True):
            if cell:
                line = Text(f"{column.title}: {cell}", overflow="fold")
                console.print(Padding(line, (0, 0, 0, 2)))
