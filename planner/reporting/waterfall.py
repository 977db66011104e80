"""The cost of one plan turned into that of another, cause by cause, as a picture."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from planner.reporting.document import Chart, Figure, Series

if TYPE_CHECKING:
    from planner.whatif.comparison.comparison import Comparison

__all__ = ["waterfall_chart"]


def waterfall_chart(compared: Comparison, trace: str = "") -> Chart | None:
    """From the cost before, cause by cause, to the cost after; None where no causes are told.

    `trace` is the anchor of the paragraph that says where the figures stand.
    """
    steps = compared.waterfall.steps
    if not steps:
        return None
    bars = [("before", compared.before.cost_cents, "before.cost_cents")]
    bars += [
        (" and ".join(step.causes), step.added_cents, f"waterfall.steps[{place}].added_cents")
        for place, step in enumerate(steps)
    ]
    bars.append(("after", compared.after.cost_cents, "after.cost_cents"))
    figures = tuple(
        Figure(Fraction(cents), "usd", f"compare.json: {place}", trace) for _, cents, place in bars
    )
    says = "; ".join(
        f"{name}: {one.text} USD" for (name, _, _), one in zip(bars, figures, strict=True)
    )
    return Chart(
        title="Net present cost, from the plan before to the one after",
        says=f"{says}.",
        categories=tuple(name for name, _, _ in bars),
        series=(Series("Net present cost", figures),),
        unit="USD",
        marks=((0, "before"), (len(bars) - 1, "after")),
        waterfall=True,
    )
