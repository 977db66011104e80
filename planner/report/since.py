"""What changed since an earlier plan, as a part of a document, with the cost by cause drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.report.compare import comparison_document
from planner.report.document import Block, Fields, Figure, Paragraph, beneath
from planner.report.waterfall import waterfall_chart
from planner.whatif.actuals import forecast_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.whatif.comparison import Comparison

__all__ = ["since_blocks"]

_ROWS = 500
_TRACE = "how-since"


def since_blocks(compared: Comparison) -> tuple[Block, ...]:
    """The comparison, its headings a level lower."""
    _, *blocks = comparison_document(compared, _ROWS)
    return (*beneath(tuple(blocks)), *_forecast(compared), *_causes(compared))


def _forecast(compared: Comparison) -> Iterator[Block]:
    error = forecast_error(compared.demand)
    if error is not None:
        told = "sum of |planned - actual| over the sum of actual, demand of compare.json"
        rows = (("Forecast error of the demand", Figure(error, "share", told, _TRACE)),)
        yield Fields(rows)


def _causes(compared: Comparison) -> Iterator[Block]:
    """From the cost before, cause by cause, to the cost after."""
    yield Paragraph(
        "Figures of this comparison stand in the compare.json that `planner compare` writes for "
        "the same two plans.",
        "faint",
        _TRACE,
    )
    if chart := waterfall_chart(compared, _TRACE):
        yield chart
