"""Formats of a workbook: how numbers, heads and open fields look, and how sheets print."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from planner.reporting.format import towards_zero

if TYPE_CHECKING:
    from collections.abc import Callable

    from xlsxwriter import Workbook
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

    from planner.reporting.document import Figure
    from planner.reporting.format import Style

__all__ = ["Looks", "number"]

_A4 = 9


class _Written(NamedTuple):
    """How a style is written: what of plan.json makes one, and Excel's format."""

    per: int | Fraction
    format: str


_WRITTEN: dict[Style, _Written] = {
    "usd": _Written(100, "#,##0"),
    "thousands": _Written(100_000, "#,##0"),
    "cents": _Written(100, "#,##0.00"),
    "rate": _Written(100, "#,##0.00"),
    "count": _Written(1, "#,##0"),
    "share": _Written(1, "0.0 %"),
    "per_cent": _Written(1, "0 %"),
    "margin": _Written(1, "+0.0 %;-0.0 %;0.0 %"),
    "kw": _Written(1000, "#,##0.000"),
    "gb": _Written(1000, "#,##0.0"),
    "hours": _Written(1, "#,##0"),
    "weeks": _Written(1, '0 "weeks"'),
    "more_usd": _Written(100, "+#,##0;-#,##0;0"),
    "more_count": _Written(1, "+#,##0;-#,##0;0"),
    "more_kw": _Written(1000, "+#,##0.000;-#,##0.000;0"),
    "points": _Written(Fraction(1, 100), '+0.0 "points";-0.0 "points";0 "points"'),
    "tenths": _Written(1, "#,##0.0"),
    "three_digits": _Written(1, "General"),
    "seconds": _Written(1000, "#,##0.0"),
    "number": _Written(1, "General"),
    "gap": _Written(1, "0.0000 %"),
    "day": _Written(1, "yyyy-mm-dd"),
}


def number(figure: Figure) -> float | None:
    """The figure in the unit that a reader sees; None for a day."""
    value = figure.value
    if isinstance(value, date):
        return None
    shown = towards_zero(value, 3) if figure.style == "margin" else value
    return float(shown / _WRITTEN[figure.style].per)


class Looks:
    """Makes each format once."""

    def __init__(self, book: Workbook) -> None:
        self.make: Callable[..., Format] = cache(lambda **properties: book.add_format(properties))
        """Gives a format with these properties."""

    def head(self, *, right: bool) -> Format:
        """The head of a column."""
        return self.make(
            bold=True,
            bg_color="#E8EDF3",
            bottom=1,
            text_wrap=True,
            valign="bottom",
            align="right" if right else "left",
        )

    def text(self, *, strong: bool = False, right: bool = False) -> Format:
        """Words in a cell."""
        align = "right" if right else "left"
        return self.make(text_wrap=True, valign="top", bold=strong, align=align)

    def blank(self) -> Format:
        """A field to fill in."""
        return self.make(
            bg_color="#FFF8E1",
            border=4,
            italic=True,
            font_color="#57606A",
            valign="top",
            text_wrap=True,
        )

    def aside(self) -> Format:
        """What a table shows, above it."""
        return self.make(italic=True, font_color="#57606A", text_wrap=True, valign="bottom")

    def figure(self, style: Style, *, strong: bool = False) -> Format:
        """A number of this style."""
        return self.make(
            num_format=_WRITTEN[style].format, valign="top", bold=strong, align="right"
        )

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
