"""What changed since an earlier plan, as a part of a document, with the cost by cause drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.planning.ledger.traced import total
from planner.reporting.compare import TRACE, comparison_document, summary_of
from planner.reporting.document import Block, Fields, beneath
from planner.reporting.waterfall import waterfall_chart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.ledger.traced import TracedFigure
    from planner.whatif.comparison.comparison import Comparison

__all__ = ["since_blocks"]

_ROWS = 500


def since_blocks(compared: Comparison) -> tuple[Block, ...]:
    """The comparison, its headings a level lower."""
    _, *blocks = comparison_document(compared, _ROWS)
    chart = waterfall_chart(compared, TRACE)
    return (*beneath(tuple(blocks)), *_forecast(compared), *((chart,) if chart else ()))


def _forecast(compared: Comparison) -> Iterator[Block]:
    """How far the forecast was off: the sum of all differences over the sum of what came."""
    known = summary_of(compared)
    read = known.read
    off: list[TracedFigure] = []
    came: list[TracedFigure] = []
    for place, one in enumerate(compared.demand):
        if one.planned is None or one.actual is None:
            continue
        planned, actual = (read.at(f"demand[{place}].{name}") for name in ("planned", "actual"))
        off.append(planned - actual if one.planned > one.actual else actual - planned)
        came.append(actual)
    if total(came).value:
        error = known.figure(total(off) / total(came), "share")
        yield Fields((("Forecast error of the demand", error),))
