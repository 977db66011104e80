"""What changed since an earlier plan, as a part of a document, with the cost by cause drawn."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from planner.report.compare import comparison_document
from planner.report.document import (
    Block,
    Chart,
    Fields,
    Figure,
    Paragraph,
    Series,
    beneath,
)
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
    steps = compared.waterfall.steps
    yield Paragraph(
        "Figures of this comparison stand in the compare.json that `planner compare` writes for "
        "the same two plans.",
        "faint",
        _TRACE,
    )
    if not steps:
        return
    bars = [("before", compared.before.cost_cents, "before.cost_cents")]
    bars += [
        (" and ".join(step.causes), step.added_cents, f"waterfall.steps[{place}].added_cents")
        for place, step in enumerate(steps)
    ]
    bars.append(("after", compared.after.cost_cents, "after.cost_cents"))
    figures = tuple(
        Figure(Fraction(cents), "usd", f"{place} of compare.json", _TRACE)
        for _, cents, place in bars
    )
    says = "; ".join(
        f"{name}: {one.text} USD" for (name, _, _), one in zip(bars, figures, strict=True)
    )
    yield Chart(
        title="Net present cost, from the plan before to this one",
        says=f"{says}.",
        categories=tuple(name for name, _, _ in bars),
        series=(Series("Net present cost", figures),),
        unit="USD",
        marks=((0, "before"), (len(bars) - 1, "after")),
        waterfall=True,
    )
