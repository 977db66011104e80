"""Charts of Excel, drawn from the figures that stand above them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.worksheet import Worksheet

    from planner.reporting.document import Chart

__all__ = ["insert_chart"]

_HEIGHT_ROWS = 18
_KINDS = {"bar": {"type": "column", "subtype": "stacked"}, "line": {"type": "line"}}
"""What Excel calls them, those below first."""
_LOOKS = {"bar": "fill", "line": "line"}
_COLOURS = ("#0B62A8", "#D97400", "#00805A", "#A83E8D", "#6D5BD0", "#8A6D00", "#C2382E", "#2F7F8F")


def insert_chart(
    book: Workbook, sheet: Worksheet, name: str, chart: Chart, head: int, below: int
) -> int:
    """Insert stacked columns with lines over them below a table; gives the next free row.

    `head` is the row of the table's head, `below` the row for the chart.
    """
    forms = {series.form for series in chart.series}
    charts = {form: book.add_chart(kind) for form, kind in _KINDS.items() if form in forms}
    last = head + len(chart.categories)
    for column, series in enumerate(chart.series, 1):
        colour = _COLOURS[(column - 1) % len(_COLOURS)]
        data = {
            "name": [name, head, column],
            "categories": [name, head + 1, 0, last, 0],
            "values": [name, head + 1, column, last, column],
        }
        looks = {"color": "#1B1F24", "width": 2.25} if series.form == "line" else {"color": colour}
        charts[series.form].add_series({**data, _LOOKS[series.form]: looks})
    drawn, *over = charts.values()
    for one in over:
        drawn.combine(one)
    drawn.set_title({"name": chart.title, "name_font": {"size": 12}})
    drawn.set_y_axis({"name": chart.unit, "num_format": "#,##0"})
    drawn.set_legend({"position": "bottom"})
    drawn.set_size({"width": 760, "height": _HEIGHT_ROWS * 19})
    sheet.insert_chart(below, 0, drawn, {"description": chart.says})
    return below + _HEIGHT_ROWS + 2
