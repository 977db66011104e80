"""Draws a document as an Excel workbook: a sheet per section, real numbers, live sums.

The same document gives the same bytes every time.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
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
    Chart,
    Column,
    Document,
    Fields,
    Figure,
    Fold,
    Heading,
    Paragraph,
    Table,
    Verbatim,
    cell_text,
    in_words,
)
from planner.reporting.format import WRITTEN, Style, seen, visible

_A4 = 9
_GREY = "#57606A"
_LOOKS: dict[str, dict[str, Any]] = {
    "words": {"text_wrap": True, "valign": "top"},
    "figure": {"valign": "top"},
    "head": {"bold": True, "bg_color": "#E8EDF3", "bottom": 1, "text_wrap": True},
    "aside": {"italic": True, "font_color": _GREY, "text_wrap": True, "valign": "bottom"},
    "blank": {
        **{"bg_color": "#FFF8E1", "border": 4, "italic": True, "font_color": _GREY},
        **{"valign": "top", "text_wrap": True},
    },
    "lines": {"font_name": "Consolas", "font_size": 9},
    "title": {"bold": True},
}
_LEFT, _RIGHT = {"align": "left"}, {"align": "right", "indent": 1}
"""At which side a cell stands: figures a little off the words in the column after them."""


def number(figure: Figure) -> float | None:
    """Return the figure in the unit that a reader sees; None for a day."""
    value = figure.value
    return None if isinstance(value, date) else float(seen(value, figure.style))


class Looks:
    """Creates each cell format once."""

    def __init__(self, book: Workbook) -> None:
        self._make: Callable[..., Format] = cache(lambda **properties: book.add_format(properties))

    def of(self, name: str, *, right: bool = False, **more: object) -> Format:
        """Return the format of one of `_LOOKS`, with more properties."""
        return self._make(**_LOOKS[name], **(_RIGHT if right else _LEFT), **more)

    def figure(self, style: Style, *, strong: bool = False) -> Format:
        """Return the format of a number of this style."""
        excel = WRITTEN[style].excel
        return self.of("figure", right=style != "day", num_format=excel, bold=strong)

    def write_figure(
        self, sheet: Worksheet, row: int, column: int, figure: Figure, *, strong: bool = False
    ) -> None:
        """Write a real number, or a real day."""
        look = self.figure(figure.style, strong=strong)
        if isinstance(figure.value, date):
            sheet.write_datetime(row, column, datetime.combine(figure.value, time()), look)
        else:
            sheet.write_number(row, column, number(figure), look)


def _print_setup(sheet: Worksheet) -> None:
    """Set one page wide on A4, with page numbers."""
    sheet.set_landscape()
    sheet.set_paper(_A4)
    sheet.fit_to_pages(1, 0)
    sheet.set_margins(0.4, 0.4, 0.5, 0.6)
    sheet.set_footer("&L&A&R&P / &N")
    sheet.hide_gridlines(2)


_WIDE, _NARROW = 36, 11
_PAGE_COLUMNS = 8
"""The columns that running text spans."""
_LONGEST_TEXT = 32_000
"""Excel cuts a cell at 32,767 characters."""
_FROZEN_WITHIN = 8
_FROZEN_FROM = 15
"""If the first table has this many rows, its head stays in sight."""
_LINE, _HIGHEST = 15, 409
_DEFAULT_WIDTH = 8.43
_BOLDER = 1.15
_FILLED = 0.9
"""The share of a line that words fill, since they break between words."""
_TERM = re.compile(r" ([+-]) ")
_HEIGHT_ROWS = 18
_CHART_KINDS = {"bar": {"type": "column", "subtype": "stacked"}, "line": {"type": "line"}}
"""Excel's names for them, those below first."""
_COLOURS = ("#0B62A8", "#D97400", "#00805A", "#A83E8D", "#6D5BD0", "#8A6D00", "#C2382E", "#2F7F8F")


class ListedFigure(NamedTuple):
    """A figure of the workbook, and where it stands."""

    sheet: str
    cell: str
    figure: Figure


class _Place(NamedTuple):
    row: int
    column: int


class Sheet:
    """A worksheet that is filled from top to bottom."""

    def __init__(self, book: Workbook, name: str, looks: Looks) -> None:
        self._book = book
        self._name = name
        self._looks = looks
        self._sheet = book.add_worksheet(name)
        self._row = 0
        self._widths: dict[int, int] = {0: 24}
        self._figures: dict[_Place, Figure] = {}
        self._formulas: dict[_Place, str] = {}
        self._strong: set[_Place] = set()
        self._tables: list[tuple[int, int]] = []
        """The row of the head, and the rows, of each table."""
        self._needed: dict[tuple[int, int], float] = {}
        """Characters of the text in a cell; column -1: across the page."""

    def draw(self, blocks: Sequence[Block]) -> None:
        """Write blocks below what is there."""
        for block in blocks:
            match block:
                case Heading():
                    size = {1: 16, 2: 14}.get(block.level, 11)
                    self._write(0, block.text, self._looks.of("title", font_size=size))
                    self._row += 2 if block.level < 3 else 1
                case Paragraph():
                    self._text(block.text, strong=block.tone == "strong")
                    self._row += 1
                case Bullets():
                    for item in block.items:
                        self._text(f"• {item}")
                    self._row += 1
                case Fields():
                    for asked, said in block.rows:
                        self._write(0, asked, self._looks.of("words"), needs=len(asked))
                        self._cell(1, said, Column(""))
                        self._row += 1
                    self._widths[0] = max(self._widths[0], 40)
                    self._widths[1] = max(self._widths.get(1, 0), 24)
                    self._row += 1
                case Table():
                    self._table(block)
                case Chart():
                    self._chart(block)
                case Fold():
                    self.draw((Heading(block.title, 3), *block.blocks))
                case Verbatim():
                    for line in block.lines:
                        self._write(0, line, self._looks.of("lines"))
                        self._row += 1
                    self._row += 1
                case _:
                    self.draw(in_words((block,)))

    def finish(self) -> list[ListedFigure]:
        """Write the figures, with formulas whose terms are on this sheet; return where all are."""
        places = {figure.sum: place for place, figure in reversed(self._figures.items())}
        for place, figure in self._figures.items():
            strong = place in self._strong
            if formula := self._formulas.get(place) or self._live(place, figure, places):
                look = self._looks.figure(figure.style, strong=strong)
                self._sheet.write_formula(*place, formula, look, number(figure) or 0)
            else:
                self._looks.write_figure(self._sheet, *place, figure, strong=strong)
        self._set_sizes()
        _print_setup(self._sheet)
        if self._tables:
            head, rows = self._tables[0]
            if rows >= _FROZEN_FROM and head < _FROZEN_WITHIN:
                self._sheet.freeze_panes(head + 1, 1)
            if len(self._tables) == 1:
                self._sheet.repeat_rows(head)
        return [
            ListedFigure(self._name, xl_rowcol_to_cell(*place), figure)
            for place, figure in sorted(self._figures.items())
        ]

    def _set_sizes(self) -> None:
        """Set columns as wide as their words, and rows as high as their lines."""
        widths = {column: min(max(w, _NARROW), _WIDE) for column, w in self._widths.items()}
        for column, width in widths.items():
            self._sheet.set_column(column, column, width)
        page = sum(widths.get(column, _DEFAULT_WIDTH) for column in range(_PAGE_COLUMNS))
        lines: dict[int, int] = {}
        for (row, column), needed in self._needed.items():
            room = _FILLED * (page if column < 0 else widths.get(column, _DEFAULT_WIDTH))
            lines[row] = max(lines.get(row, 1), ceil(needed / room))
        for row, number_of in lines.items():
            if number_of > 1:
                self._sheet.set_row(row, min(_LINE * number_of, _HIGHEST))

    def _write(self, column: int, text: str, look: Format, needs: float = 0) -> None:
        """Write text in this row, in which it `needs` so many characters."""
        clean = visible(text)
        if len(clean) > _LONGEST_TEXT:
            clean = f"{clean[:_LONGEST_TEXT]} … (all in plan.json)"
        self._needed[self._row, column] = needs
        self._sheet.write_string(self._row, column, clean, look)  # what begins with `=` stays text

    def _text(self, text: str, look: str = "words", *, strong: bool = False) -> None:
        """Write text across the page."""
        made = self._looks.of(look, bold=strong)
        self._sheet.merge_range(self._row, 0, self._row, _PAGE_COLUMNS - 1, "", made)
        self._write(0, text, made)
        self._needed[self._row, -1] = len(text) * (_BOLDER if strong else 1)
        self._row += 1

    def _live(self, here: _Place, figure: Figure, places: dict[str, _Place]) -> str | None:
        """Return `=B4-C4` if every term of a sum stands on this sheet in the same unit."""
        terms = _TERM.split(figure.sum)
        if len(terms) == 1:
            return None
        parts = []
        for term in terms:
            if term in "+-":
                parts.append(term)
                continue
            place = places.get(term)
            if place is None or place == here or self._figures[place].style != figure.style:
                return None
            parts.append(xl_rowcol_to_cell(*place))
        return f"={''.join(parts)}"

    def _table(self, table: Table) -> None:
        if table.caption:
            self._text(table.caption, "aside")
        self._tables.append((self._row, len(table.rows)))
        rows = [*table.rows, *((table.footer,) * bool(table.footer))]
        for place, column in enumerate(table.columns):
            look = self._looks.of("head", right=column.align == "right")
            self._write(place, column.title, look, needs=len(column.title))
            longest = max((len(cell_text(row[place])) for row in rows), default=0) + 2
            if place or not column.wraps:
                longest = max(longest, *(len(word) + 2 for word in column.title.split()), 2)
            self._widths[place] = max(self._widths.get(place, 0), min(longest, _WIDE))
        first = self._row + 1
        for number_of, row in enumerate(rows):
            self._row += 1
            strong = number_of >= len(table.rows)
            for place, cell in enumerate(row):
                self._cell(place, cell, table.columns[place], strong=strong)
                if strong:
                    self._sum_of_column(_Place(first, place), _Place(self._row, place))
        self._row += 2

    def _sum_of_column(self, first: _Place, here: _Place) -> None:
        """Let Excel add up a footer that is the sum of all cells above it."""
        above = [self._figures.get(_Place(row, here.column)) for row in range(first.row, here.row)]
        values = [number(one) if one else None for one in above]
        summed = self._figures.get(here)
        whole = number(summed) if summed else None
        known = [value for value in values if value is not None]
        if whole is None or len(known) < max(len(values), 2) or abs(sum(known) - whole) >= 1e-6:
            return
        last = xl_rowcol_to_cell(here.row - 1, here.column)
        self._formulas[here] = f"=SUM({xl_rowcol_to_cell(*first)}:{last})"

    def _cell(self, place: int, cell: Cell, column: Column, *, strong: bool = False) -> None:
        if isinstance(cell, Figure):
            self._figures[_Place(self._row, place)] = cell
            if strong:
                self._strong.add(_Place(self._row, place))
        elif isinstance(cell, Blank):
            look = self._looks.of("blank")
            self._sheet.write_blank(self._row, place, None, look)
            if cell.note:
                self._write(place, cell.note, look, needs=len(cell.note))
        else:
            text, right = cell_text(cell), column.align == "right"
            look = self._looks.of("words", right=right, bold=strong)
            self._write(place, text, look, needs=len(text))

    def _chart(self, chart: Chart) -> None:
        """The figures as a table, and below it stacked columns with lines over them."""
        columns = (Column(""), *(Column(series.name, "right") for series in chart.series))
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (category, *(series.values[place] for series in chart.series))
            for place, category in enumerate(chart.categories)
        )
        self._table(Table(columns, rows, caption=f"{chart.title}, {chart.unit}"))
        last = self._row - 2
        head = last - len(rows)
        forms = {series.form for series in chart.series}
        charts = {
            form: self._book.add_chart(kind) for form, kind in _CHART_KINDS.items() if form in forms
        }
        for column, series in enumerate(chart.series, 1):
            look: dict[str, object] = {"fill": {"color": _COLOURS[(column - 1) % len(_COLOURS)]}}
            if series.form == "line":
                look = {"line": {"color": "#1B1F24", "width": 2.25}}
            data = {
                "name": [self._name, head, column],
                "categories": [self._name, head + 1, 0, last, 0],
                "values": [self._name, head + 1, column, last, column],
            }
            charts[series.form].add_series({**data, **look})
        drawn, *over = charts.values()
        for one in over:
            drawn.combine(one)
        drawn.set_title({"name": chart.title, "name_font": {"size": 12}})
        drawn.set_y_axis({"name": chart.unit, "num_format": "#,##0"})
        drawn.set_legend({"position": "bottom"})
        drawn.set_size({"width": 760, "height": _HEIGHT_ROWS * 19})
        self._sheet.insert_chart(self._row, 0, drawn, {"description": chart.says})
        self._row += _HEIGHT_ROWS + 2


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
    with Workbook(paper, options) as book:
        book.set_properties({"title": title, "created": _MADE})
        book.set_calc_mode("auto")
        looks = Looks(book)
        traced: list[ListedFigure] = []
        names: set[str] = set()
        sections: list[tuple[str, list[Block]]] = [(_OPENING, [])]
        for block in document:
            if isinstance(block, Heading) and block.level == 2:
                sections.append((block.text, []))
            sections[-1][1].append(block)
        for heading, blocks in sections:
            sheet = Sheet(book, _name(heading, names), looks)
            sheet.draw(blocks)
            traced += sheet.finish()
        _list_sums(book, looks, traced)
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


def _list_sums(book: Workbook, looks: Looks, traced: list[ListedFigure]) -> None:
    sheet = book.add_worksheet(_SUMS)
    for column, head in enumerate(("Sheet", "Cell", "Figure", "Sum over plan.json")):
        sheet.write_string(0, column, head, looks.of("head", right=column == 2))
    for row, one in enumerate(traced, 1):
        sheet.write_string(row, 0, one.sheet)
        sheet.write_url(row, 1, f"internal:'{one.sheet}'!{one.cell}", string=one.cell)
        looks.write_figure(sheet, row, 2, one.figure)
        sheet.write_string(row, 3, one.figure.sum)
    sheet.set_column(0, 0, 30)
    sheet.set_column(1, 1, 8)
    sheet.set_column(2, 2, 16)
    sheet.set_column(3, 3, 90)
    sheet.freeze_panes(1, 0)
    sheet.repeat_rows(0)
    _print_setup(sheet)
    if traced:
        sheet.autofilter(0, 0, len(traced), 3)
