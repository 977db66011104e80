"""Draws a document for a terminal or a pipe: any width, colour or none, Unicode or ASCII."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
    match block:
        case Heading():
            title = look.text(block.text)
            console.print()
            if block.level == 2:
                rule = "─" * max(console.width - cell_len(title) - 4, 0)
                title = f"── {title} {rule}"
            console.print(Text(title, style="bold", overflow="fold"))
        case Paragraph():
            console.print(Text(look.text(block.text), style=_STYLES[block.tone]))
        case Bullets():
            grid = RichTable.grid(padding=(0, 1))
            grid.add_column(no_wrap=True)
            grid.add_column(overflow="fold")
            for item in block.items:
                words = Text(look.text(item), style=_STYLES[block.tone])
                grid.add_row("·" if look.unicode else "-", words)
            console.print(grid)
        case Table():
            _draw_table(console, block, look)
        case Verbatim():
            for line in map(look.text, block.lines):
                indent = " " * min(len(line) - len(line.lstrip()) + 4, console.width // 2)
                for part in _wrapped(line, console.width, indent) or [""]:
                    console.print(Text(part, overflow="fold"), soft_wrap=True)


def _wrapped(line: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(line, width, subsequent_indent=indent, replace_whitespace=False)


def _draw_table(console: Console, table: Table, look: TerminalOptions) -> None:
    """Columns, or a small block for each row where the page is too narrow for them."""
    titles = [look.text(column.title) for column in table.columns]
    rows = [
        [look.text(cell_text(cell)) for cell in row]
        for row in (*table.rows, *((table.footer,) * bool(table.footer)))
    ]
    texts = list(zip(titles, *rows, strict=True))
    widths = _widths(table.columns, texts, console.width)
    if widths is None:
        _draw_records(console, table.columns[0], titles, rows)
        return

    def broken(cell: str, width: int) -> Text:
        """Broken between words or after a hyphen; wide characters are left to rich."""
        if cell_len(cell) <= width or cell_len(cell) != len(cell):
            return Text(cell)
        return Text("\n".join(textwrap.wrap(cell, width)))

    drawn = RichTable(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, _GAP - 1, 0, 0),
        show_footer=bool(table.footer),
        header_style="bold",
        footer_style="bold",
    )
    for column, width, (title, *cells) in zip(table.columns, widths, texts, strict=True):
        drawn.add_column(
            broken(title, width),
            footer=broken(cells[-1], width) if table.footer else "",
            justify=column.align,
            overflow="fold",
            width=width,
        )
    for row in rows[: len(table.rows)]:
        drawn.add_row(*map(broken, row, widths))
    console.print(drawn)


def _widths(
    columns: Sequence[Column], texts: Sequence[Sequence[str]], page: int
) -> tuple[int, ...] | None:
    """Cells for each column, those that wrap sharing what is left; None if the page is too narrow.

    Whole words have room if the page has it. `texts` are each column's, its title first.
    """

    def least(column: Column, title: str, cells: Sequence[str], longest_word: int) -> int:
        if not column.wraps:
            heads = title.split() if column.align == "right" else [title]
            return max(map(cell_len, (*heads, *cells)), default=0)
        words = (cell_len(word) for cell in (title, *cells) for word in cell.split())
        return min(max(words, default=0), longest_word)

    room = page - _GAP * (len(columns) - 1)
    natural = [max(map(cell_len, one)) for one in texts]
    for longest_word in (page, 26, 22, 18, _NARROWEST_WORDS):
        widths = [
            least(column, title, cells, longest_word)
            for column, (title, *cells) in zip(columns, texts, strict=True)
        ]
        if sum(widths) <= room:
            break
    else:
        return None
    left = room - sum(widths)
    growing = sorted(range(len(columns)), key=lambda place: natural[place] - widths[place])
    for rank, place in enumerate(growing):
        grown = min(natural[place] - widths[place], left // (len(growing) - rank))
        widths[place] += grown
        left -= grown
    return tuple(widths)


def _draw_records(
    console: Console, first: Column, titles: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    name = ""
    for row in rows:
        name = row[0] or name
        if first.align == "right":  # a number says little without its title
            name = f"{titles[0]} {name}"
        console.print(Text(name, style="bold", overflow="fold"))
        for title, cell in zip(titles[1:], row[1:], strict=True):
            if cell:
                line = Text(f"{title}: {cell}", overflow="fold")
                console.print(Padding(line, (0, 0, 0, 2)))
