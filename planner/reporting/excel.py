"""Draws a document as an Excel workbook: a sheet per section, real numbers, sums that add up.

The same document gives the same bytes every time.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time
from functools import cache
from math import ceil
from typing import Any, NamedTuple

from xlsxwriter import Workbook
from xlsxwriter.format import Format
from xlsxwriter.utility import xl_rowcol_to_cell
from xlsxwriter.worksheet import Worksheet

from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Document,
    Fields,
    Figure,
    Heading,
    Paragraph,
    Table,
    Verbatim,
    cell_text,
    in_words,
)
from planner.reporting.format import WRITTEN, seen, visible

_A4 = 9
_GREY = "#57606A"
_LOOKS: dict[str, dict[str, Any]] = {
    "words": {"text_wrap": True, "valign": "top"},
    "figure": {"valign": "top"},
    "head": {"bold": True, "bg_color": "#E8EDF3", "bottom": 1, "text_wrap": True},
    "aside": {"italic": True, "font_color": _GREY, "text_wrap": True, "valign": "top"},
    "blank": {"bg_color": "#FFF8E1", "border": 4, "italic": True, "font_color": _GREY},
    "lines": {"font_name": "Consolas", "font_size": 9},
    "title": {"bold": True},
}
_LEFT, _RIGHT = {"align": "left"}, {"align": "right", "indent": 1}
"""At which side a cell stands: figures a little off the words in the column after them."""
_WIDE, _NARROW, _FIELD = 36, 11, 24
"""Characters of a column."""
_PAGE_COLUMNS, _PAGE = 8, 110
"""The columns that running text spans, and how many of its characters stand in a line there."""
_LONGEST_TEXT = 32_000
"""Excel cuts a cell at 32,767 characters."""
_LINE, _HIGHEST = 15, 409


def number(figure: Figure) -> float | None:
    """Return the figure in the unit that a reader sees; None for a day."""
    value = figure.value
    return None if isinstance(value, date) else float(seen(value, figure.style))


class ListedFigure(NamedTuple):
    """A figure of the workbook, and where it stands."""

    sheet: str
    cell: str
    figure: Figure


class _Book:
    """A workbook whose formats are made once each."""

    def __init__(self, book: Workbook) -> None:
        self.book = book
        self._make: Callable[..., Format] = cache(lambda **properties: book.add_format(properties))

    def look(self, name: str, *, right: bool = False, **more: object) -> Format:
        """Return the format of one of `_LOOKS`, with more properties."""
        return self._make(**_LOOKS[name], **(_RIGHT if right else _LEFT), **more)

    def sheet(self, name: str) -> Worksheet:
        """Add a sheet that prints one page wide on A4, with page numbers."""
        sheet = self.book.add_worksheet(name)
        sheet.set_landscape()
        sheet.set_paper(_A4)
        sheet.fit_to_pages(1, 0)
        sheet.set_footer("&L&A&R&P / &N")
        sheet.hide_gridlines(2)
        return sheet

    def put(
        self, sheet: Worksheet, row: int, column: int, figure: Figure, *, strong: bool = False
    ) -> None:
        """Write a real number, or a real day."""
        excel, right = WRITTEN[figure.style].excel, figure.style != "day"
        look = self.look("figure", right=right, num_format=excel, bold=strong)
        if isinstance(figure.value, date):
            sheet.write_datetime(row, column, datetime.combine(figure.value, time()), look)
        else:
            sheet.write_number(row, column, number(figure), look)


class _Sheet:
    """A worksheet that is filled from top to bottom."""

    def __init__(self, book: _Book, name: str) -> None:
        self._book, self._name, self._sheet = book, name, book.sheet(name)
        self._row = 0
        self._widths = {0: 24}
        self.listed: list[ListedFigure] = []

    def draw(self, blocks: Iterable[Block]) -> None:
        """Write blocks below what is there."""
        for block in blocks:
            match block:
                case Heading():
                    size = {1: 16, 2: 14}.get(block.level, 11)
                    self._words(0, block.text, self._book.look("title", font_size=size))
                    self._row += 1
                case Paragraph():
                    self._text(block.text, strong=block.tone == "strong")
                case Bullets():
                    for item in block.items:
                        self._text(f"• {item}")
                case Fields():
                    for asked, said in block.rows:
                        self._words(0, asked, self._book.look("words"))
                        self._cell(1, said)
                        self._row += 1
                    self._widths |= {0: _WIDE, 1: max(self._widths.get(1, 0), _FIELD)}
                case Table():
                    self._table(block)
                case Verbatim():
                    for line in block.lines:
                        self._words(0, line, self._book.look("lines"))
                        self._row += 1
                case _:
                    self.draw(in_words((block,)))
                    continue
            self._row += 1

    def finish(self) -> list[ListedFigure]:
        """Set the widths of the columns; return where all figures are."""
        for column, width in self._widths.items():
            self._sheet.set_column(column, column, min(max(width, _NARROW), _WIDE))
        return self.listed

    def _words(self, column: int, text: str, look: Format) -> None:
        clean = visible(text)
        if len(clean) > _LONGEST_TEXT:
            clean = f"{clean[:_LONGEST_TEXT]} … (all in plan.json)"
        self._sheet.write_string(self._row, column, clean, look)  # what begins with `=` stays text

    def _text(self, text: str, look: str = "words", *, strong: bool = False) -> None:
        """Write text across the page; Excel finds the height of no merged cell by itself."""
        made = self._book.look(look, bold=strong)
        self._sheet.merge_range(self._row, 0, self._row, _PAGE_COLUMNS - 1, "", made)
        self._words(0, text, made)
        self._sheet.set_row(self._row, min(_LINE * ceil(len(text) / _PAGE), _HIGHEST))
        self._row += 1

    def _table(self, table: Table) -> None:
        if table.caption:
            self._text(table.caption, "aside")
        rows = [*table.rows, *((table.footer,) * bool(table.footer))]
        for place, column in enumerate(table.columns):
            right = column.align == "right"
            self._words(place, column.title, self._book.look("head", right=right))
            cells = (cell_text(row[place]) for row in rows)
            longest = max(map(len, (column.title, *cells))) + 2
            self._widths[place] = max(self._widths.get(place, 0), longest)
        for at, row in enumerate(rows):
            self._row += 1
            for place, cell in enumerate(row):
                right, strong = table.columns[place].align == "right", at == len(table.rows)
                self._cell(place, cell, right=right, strong=strong)
                if strong and isinstance(cell, Figure):
                    self._sum(place, cell, [one[place] for one in table.rows])
        self._row += 1

    def _sum(self, column: int, whole: Figure, above: Sequence[Cell]) -> None:
        """Let Excel add up a footer that is the sum of all cells above it."""
        known = [number(one) or 0.0 for one in above if isinstance(one, Figure)]
        value = number(whole)
        if value is not None and 1 < len(known) == len(above) and abs(sum(known) - value) < 1e-6:
            first, last = (xl_rowcol_to_cell(self._row - n, column) for n in (len(known), 1))
            excel = WRITTEN[whole.style].excel
            look = self._book.look("figure", right=True, num_format=excel, bold=True)
            self._sheet.write_formula(self._row, column, f"=SUM({first}:{last})", look, value)

    def _cell(self, place: int, cell: Cell, *, right: bool = False, strong: bool = False) -> None:
        if isinstance(cell, Figure):
            self._book.put(self._sheet, self._row, place, cell, strong=strong)
            at = xl_rowcol_to_cell(self._row, place)
            self.listed.append(ListedFigure(self._name, at, cell))
        elif isinstance(cell, Blank):
            self._words(place, cell.note, self._book.look("blank", text_wrap=True))
        else:
            self._words(place, cell_text(cell), self._book.look("words", right=right, bold=strong))


_OPENING = "Overview"
_SUMS = "Where figures come from"
_LONGEST_NAME = 31
_FORBIDDEN = re.compile(r"[\[\]:*?/\\']")
_MADE = datetime(2000, 1, 1, tzinfo=UTC)
"""Excel wants a creation date; a real one would make two workbooks of one plan differ."""


def render(document: Document, title: str) -> bytes:
    """Return the workbook; the last sheet lists every figure with its formula over plan.json."""
    paper = io.BytesIO()
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_numbers": False,
        "strings_to_urls": False,
    }
    with Workbook(paper, options) as made:
        made.set_properties({"title": title, "created": _MADE})
        book, names, listed = _Book(made), set[str](), list[ListedFigure]()
        sections: list[tuple[str, list[Block]]] = [(_OPENING, [])]
        for block in document:
            if isinstance(block, Heading) and block.level == 2:
                sections.append((block.text, []))
            sections[-1][1].append(block)
        for heading, blocks in sections:
            sheet = _Sheet(book, _name(heading, names))
            sheet.draw(blocks)
            listed += sheet.finish()
        _list_sums(book, listed)
    return paper.getvalue()


def _name(heading: str, taken: set[str]) -> str:
    """Return a name that Excel allows, and that no other sheet has."""
    name = _FORBIDDEN.sub(" ", heading)[:_LONGEST_NAME].strip()
    number = 2
    while name.lower() in taken:
        mark = f" {number}"
        name, number = name[: _LONGEST_NAME - len(mark)] + mark, number + 1
    taken.add(name.lower())
    return name


def _list_sums(book: _Book, listed: Sequence[ListedFigure]) -> None:
    sheet = book.sheet(_SUMS)
    for column, (head, width) in enumerate(
        {"Sheet": 30, "Cell": 8, "Figure": 16, "Sum over plan.json": 90}.items()
    ):
        sheet.write_string(0, column, head, book.look("head"))
        sheet.set_column(column, column, width)
    for row, one in enumerate(listed, 1):
        sheet.write_string(row, 0, one.sheet)
        sheet.write_url(row, 1, f"internal:'{one.sheet}'!{one.cell}", string=one.cell)
        book.put(sheet, row, 2, one.figure)
        sheet.write_string(row, 3, one.figure.sum)
    sheet.freeze_panes(1, 0)
