"""Charts of Excel, drawn from the figures that stand above them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.worksheet import Worksheet

    from planner.report.document import Chart

__all__ = ["insert_chart"]

_HEIGHT_ROWS = 18
_COLOURS = ("#0B62A8", "#D97400", "#00805A", "#A83E8D", "#6D5BD0", "#8A6D00", "#C2382E", "#2F7F8F")


def insert_chart(
    book: Workbook, sheet: Worksheet, name: str, chart: Chart, head: int, below: int
) -> int:
    """Insert stacked columns with lines over them below a table; gives the next free row.

    `head` is the row of the table's head, `below` the row for the chart.
    """
    bars = book.add_chart({"type": "column", "subtype": "stacked"})
    lines = book.add_chart({"type": "line"})
    last = head + len(chart.categories)
    drawn_lines = False
    for column, series in enumerate(chart.series, 1):
        colour = _COLOURS[(column - 1) % len(_COLOURS)]
        data = {
            "name": [name, head, column],
            "categories": [name, head + 1, 0, last, 0],
            "values": [name, head + 1, column, last, column],
        }
        if series.form == "bar":
            bars.add_series({**data, "fill": {"color": colour}})
        else:
            drawn_lines = True
            lines.add_series({**data, "line": {"color": "#1B1F24", "width": 2.25}})
    if drawn_lines:
        bars.combine(lines)
    bars.set_title({"name": chart.title, "name_font": {"size": 12}})
    bars.set_y_axis({"name": chart.unit, "num_format": "#,##0"})
    bars.set_legend({"position": "bottom"})
    bars.set_size({"width": 760, "height": _HEIGHT_ROWS * 19})
    sheet.insert_chart(below, 0, bars, {"description": chart.says})
    return below + _HEIGHT_ROWS + 2
