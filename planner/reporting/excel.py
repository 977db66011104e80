"""Draws a document as an Excel workbook: a sheet per section, real numbers, live sums.

The same document gives the same bytes every time.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from functools import cache
from math import ceil
from typing import NamedTuple

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


def number(figure: Figure) -> float | None:
    """The figure in the unit that a reader sees; None for a day."""
    value = figure.value
    return None if isinstance(value, date) else float(seen(value, figure.style))


def _side(*, right: bool) -> dict[str, str | int]:
    """At which side a cell stands: figures a little off the words in the column after them."""
    return {"align": "right", "indent": 1} if right else {"align": "left"}


class Looks:
    """Makes each format once."""

    def __init__(self, book: Workbook) -> None:
        self.make: Callable[..., Format] = cache(lambda **properties: book.add_format(properties))
        """Gives a format with these properties."""

    def head(self, *, right: bool) -> Format:
        """The head of a column."""
        look = {"bold": True, "bg_color": "#E8EDF3", "bottom": 1, "text_wrap": True}
        return self.make(**look, valign="bottom", **_side(right=right))

    def text(self, *, strong: bool = False, right: bool = False) -> Format:
        """Words in a cell."""
        return self.make(text_wrap=True, valign="top", bold=strong, **_side(right=right))

    def blank(self) -> Format:
        """A field to fill in."""
        look = {"bg_color": "#FFF8E1", "border": 4, "italic": True, "font_color": "#57606A"}
        return self.make(**look, valign="top", text_wrap=True)

    def aside(self) -> Format:
        """What a table shows, above it."""
        return self.make(italic=True, font_color="#57606A", text_wrap=True, valign="bottom")

    def figure(self, style: Style, *, strong: bool = False) -> Format:
        """A number of this style."""
        side = _side(right=style != "day")
        return self.make(num_format=WRITTEN[style].excel, valign="top", bold=strong, **side)

    def write_figure(
        self, sheet: Worksheet, row: int, column: int, figure: Figure, *, strong: bool = False
    ) -> None:
        """Write a real number, or a real day."""
        look = self.figure(figure.style, strong=strong)
        value = number(figure)
        if value is None:
            assert isinstance(figure.value, date)
            sheet.write_datetime(row, column, _midnight(figure.value), look)
        else:
            sheet.write_number(row, column, value, look)

    def print_setup(self, sheet: Worksheet) -> None:
        """One page wide on A4, with page numbers."""
        sheet.set_landscape()
        sheet.set_paper(_A4)
        sheet.fit_to_pages(1, 0)
        sheet.set_margins(0.4, 0.4, 0.5, 0.6)
        sheet.set_footer("&L&A&R&P / &N")
        sheet.hide_gridlines(2)


@cache
def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)


_WIDE, _NARROW = 36, 11
_PAGE_COLUMNS = 8
"""Columns over which running text goes."""
_LONGEST_TEXT = 32_000
"""Excel cuts a cell at 32,767 characters."""
_FROZEN_WITHIN = 8
_FROZEN_FROM = 15
"""Rows of a first table from which its head stays in sight."""
_LINE, _HIGHEST = 15, 409
_DEFAULT_WIDTH = 8.43
_BOLDER = 1.15
_FILLED = 0.9
"""Share of a line that words fill, as they break between them."""
_TERM = re.compile(r" ([+-]) ")
_HEIGHT_ROWS = 18
_CHART_KINDS = {"bar": {"type": "column", "subtype": "stacked"}, "line": {"type": "line"}}
"""What Excel calls them, those below first."""
_CHART_LOOKS = {"bar": "fill", "line": "line"}
_COLOURS = ("#0B62A8", "#D97400", "#00805A", "#A83E8D", "#6D5BD0", "#8A6D00", "#C2382E", "#2F7F8F")


class ListedFigure(NamedTuple):
    """A figure of the workbook and where it stands."""

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
        """Row of the head, and rows, of each table."""
        self._needed: dict[tuple[int, int], float] = {}
        """Characters of the text in a cell; column -1: over the page."""

    def draw(self, blocks: Sequence[Block]) -> None:
        """Write blocks below what is there."""
        for block in blocks:
            match block:
                case Heading():
                    self._heading(block)
                case Paragraph():
                    self._text(block.text, strong=block.tone == "strong")
                    self._row += 1
                case Bullets():
                    for item in block.items:
                        self._text(f"• {item}")
                    self._row += 1
                case Fields():
                    self._fields(block)
                case Table():
                    self._table(block)
                case Chart():
                    self._chart(block)
                case Fold():
                    self._heading(Heading(block.title, 3))
                    self.draw(block.blocks)
                case Verbatim():
                    self._lines(block)
                case _:
                    self.draw(in_words((block,)))

    def finish(self) -> list[ListedFigure]:
        """Write the figures, sums as formulas where their terms stand here; tell where all are."""
        places = {figure.sum: place for place, figure in reversed(self._figures.items())}
        for place, figure in self._figures.items():
            formula = self._formulas.get(place) or self._live(place, figure, places)
            strong = place in self._strong
            if formula:
                look = self._looks.figure(figure.style, strong=strong)
                self._sheet.write_formula(*place, formula, look, number(figure) or 0)
            else:
                self._looks.write_figure(self._sheet, *place, figure, strong=strong)
        self._set_sizes()
        self._looks.print_setup(self._sheet)
        self._keep_heads()
        return [
            ListedFigure(self._name, xl_rowcol_to_cell(*place), figure)
            for place, figure in sorted(self._figures.items())
        ]

    def _set_sizes(self) -> None:
        """Columns as wide as their words, rows as high as their lines: not every program fits."""
        widths = {column: min(max(w, _NARROW), _WIDE) for column, w in self._widths.items()}
        for column, width in widths.items():
            self._sheet.set_column(column, column, width)
        page = sum(widths.get(column, _DEFAULT_WIDTH) for column in range(_PAGE_COLUMNS))
        lines: dict[int, int] = {}
        for (row, column), needed in self._needed.items():
            room = page if column < 0 else widths.get(column, _DEFAULT_WIDTH)
            if needed > room * _FILLED:
                lines[row] = max(lines.get(row, 1), ceil(needed / (room * _FILLED)))
        for row, number_of in lines.items():
            if number_of > 1:
                self._sheet.set_row(row, min(_LINE * number_of, _HIGHEST))

    def _keep_heads(self) -> None:
        if not self._tables:
            return
        head, rows = self._tables[0]
        if rows >= _FROZEN_FROM and head < _FROZEN_WITHIN:
            self._sheet.freeze_panes(head + 1, 1)
        if len(self._tables) == 1:
            self._sheet.repeat_rows(head)

    def _write(self, row: int, column: int, text: str, look: Format) -> None:
        clean = _clean(text)
        self._needed[row, column] = len(clean)
        self._sheet.write_string(row, column, clean, look)

    def _live(self, here: _Place, figure: Figure, places: dict[str, _Place]) -> str | None:
        """`=B4-C4`, where every term of a sum stands on this sheet in the same unit."""
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

    def _heading(self, heading: Heading) -> None:
        size = {1: 16, 2: 14}.get(heading.level, 11)
        look = self._looks.make(bold=True, font_size=size)
        self._sheet.write_string(self._row, 0, _clean(heading.text), look)
        self._row += 2 if heading.level < 3 else 1

    def _text(self, text: str, *, strong: bool = False, aside: bool = False) -> None:
        look = self._looks.aside() if aside else self._looks.text(strong=strong)
        clean = _clean(text)
        self._sheet.merge_range(self._row, 0, self._row, _PAGE_COLUMNS - 1, "", look)
        self._sheet.write_string(self._row, 0, clean, look)
        self._needed[self._row, -1] = len(clean) * (_BOLDER if strong else 1)
        self._row += 1

    def _lines(self, block: Verbatim) -> None:
        look = self._looks.make(font_name="Consolas", font_size=9)
        for line in block.lines:
            self._sheet.write_string(self._row, 0, _clean(line), look)
            self._row += 1
        self._row += 1

    def _fields(self, block: Fields) -> None:
        for asked, said in block.rows:
            self._write(self._row, 0, asked, self._looks.text())
            self._cell(self._row, 1, said, Column(""))
            self._row += 1
        self._widths[0] = max(self._widths[0], 40)
        self._widths[1] = max(self._widths.get(1, 0), 24)
        self._row += 1

    def _table(self, table: Table) -> None:
        if table.caption:
            self._text(table.caption, aside=True)
        self._tables.append((self._row, len(table.rows)))
        for place, column in enumerate(table.columns):
            right = column.align == "right"
            self._write(self._row, place, column.title, self._looks.head(right=right))
            cells = [row[place] for row in (*table.rows, *((table.footer,) * bool(table.footer)))]
            self._widen(place, cells, column)
        first = self._row + 1
        for row in table.rows:
            self._row += 1
            for place, cell in enumerate(row):
                self._cell(self._row, place, cell, table.columns[place])
        if table.footer:
            self._row += 1
            for place, cell in enumerate(table.footer):
                self._cell(self._row, place, cell, table.columns[place], strong=True)
                self._sum_of_column(_Place(first, place), _Place(self._row, place))
        self._row += 2

    def _widen(self, place: int, cells: Sequence[Cell], column: Column) -> None:
        longest = max((len(cell_text(cell)) for cell in cells), default=0) + 2
        head = max(map(len, column.title.split()), default=0) + 2
        if place or not column.wraps:
            longest = max(longest, head)
        self._widths[place] = max(self._widths.get(place, 0), min(longest, _WIDE))

    def _sum_of_column(self, first: _Place, here: _Place) -> None:
        """A footer that is the sum of all cells above it becomes one that Excel adds up."""
        above = [self._figures.get(_Place(row, here.column)) for row in range(first.row, here.row)]
        figures = [figure for figure in above if figure is not None]
        summed = self._figures.get(here)
        if summed is None or len(figures) < len(above) or len(figures) < 2:
            return
        values = [number(figure) for figure in figures]
        known = [value for value in values if value is not None]
        whole = number(summed)
        if whole is not None and len(known) == len(values) and abs(sum(known) - whole) < 1e-6:
            last = xl_rowcol_to_cell(here.row - 1, here.column)
            self._formulas[here] = f"=SUM({xl_rowcol_to_cell(*first)}:{last})"

    def _cell(
        self, row: int, place: int, cell: Cell, column: Column, *, strong: bool = False
    ) -> None:
        if isinstance(cell, Figure):
            self._figures[_Place(row, place)] = cell
            if strong:
                self._strong.add(_Place(row, place))
        elif isinstance(cell, Blank):
            if cell.note:
                self._write(row, place, cell.note, self._looks.blank())
            else:
                self._sheet.write_blank(row, place, None, self._looks.blank())
        else:
            look = self._looks.text(strong=strong, right=column.align == "right")
            self._write(row, place, cell_text(cell), look)

    def _chart(self, chart: Chart) -> None:
        """The figures as a table, and the chart below it."""
        columns = (Column(""), *(Column(series.name, "right") for series in chart.series))
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (category, *(series.values[place] for series in chart.series))
            for place, category in enumerate(chart.categories)
        )
        self._table(Table(columns, rows, caption=f"{chart.title}, {chart.unit}"))
        head = self._row - len(rows) - 2
        self._row = _insert_chart(self._book, self._sheet, self._name, chart, head, self._row)


def _clean(text: str) -> str:
    """Text as a cell can hold it; what begins with `=` stays text, as it is written as a string."""
    shown = visible(text)
    return shown if len(shown) <= _LONGEST_TEXT else f"{shown[:_LONGEST_TEXT]} … (all in plan.json)"


def _insert_chart(
    book: Workbook, sheet: Worksheet, name: str, chart: Chart, head: int, below: int
) -> int:
    """Insert stacked columns with lines over them below a table; gives the next free row.

    `head` is the row of the table's head, `below` the row for the chart.
    """
    forms = {series.form for series in chart.series}
    charts = {form: book.add_chart(kind) for form, kind in _CHART_KINDS.items() if form in forms}
    last = head + len(chart.categories)
    for column, series in enumerate(chart.series, 1):
        colour = _COLOURS[(column - 1) % len(_COLOURS)]
        data = {
            "name": [name, head, column],
            "categories": [name, head + 1, 0, last, 0],
            "values": [name, head + 1, column, last, column],
        }
        looks = {"color": "#1B1F24", "width": 2.25} if series.form == "line" else {"color": colour}
        charts[series.form].add_series({**data, _CHART_LOOKS[series.form]: looks})
    drawn, *over = charts.values()
    for one in over:
        drawn.combine(one)
    drawn.set_title({"name": chart.title, "name_font": {"size": 12}})
    drawn.set_y_axis({"name": chart.unit, "num_format": "#,##0"})
    drawn.set_legend({"position": "bottom"})
    drawn.set_size({"width": 760, "height": _HEIGHT_ROWS * 19})
    sheet.insert_chart(below, 0, drawn, {"description": chart.says})
    return below + _HEIGHT_ROWS + 2


_OPENING = "Overview"
_SUMS = "Where figures come from"
_LONGEST_NAME = 31
_FORBIDDEN = re.compile(r"[\[\]:*?/\\']")
_MADE = datetime(2000, 1, 1, tzinfo=UTC)
"""Excel wants a day; a real one would make two workbooks of one plan differ."""


def render(document: Document, title: str) -> bytes:
    """The workbook; the last sheet lists every figure with its sum over plan.json."""
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
        for heading, blocks in _sections(document):
            sheet = Sheet(book, _name(heading, names), looks)
            sheet.draw(blocks)
            traced += sheet.finish()
        _list_sums(book, looks, traced)
    return paper.getvalue()


def _sections(document: Document) -> list[tuple[str, list[Block]]]:
    sections: list[tuple[str, list[Block]]] = [(_OPENING, [])]
    for block in document:
        if isinstance(block, Heading) and block.level == 2:
            sections.append((block.text, []))
        sections[-1][1].append(block)
    return sections


def _name(heading: str, taken: set[str]) -> str:
    """A name that Excel allows, and no other sheet has."""
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
        sheet.write_string(0, column, head, looks.head(right=column == 2))
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
    looks.print_setup(sheet)
    if traced:
        sheet.autofilter(0, 0, len(traced), 3)
