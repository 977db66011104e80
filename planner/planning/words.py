"""Formats counts and amounts for the sentences of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from planner.inputs.scenario.quarter import WEEK_HOURS, Quarter
from planner.inputs.text import count_of


def some_of(names: Sequence[str], shown: int) -> str:
    """Name the first few and count the others: `a, b, c and 4 more`."""
    listed = ", ".join(names[:shown])
    more = len(names) - shown
    return f"{listed} and {more:,} more" if more > 0 else listed


def amount(value: Decimal | int, unit: str) -> str:
    """Format a figure with its unit, and a share as per cent: `2,190 h`, `10 %`."""
    exact = Decimal(value)
    if unit == "share":
        return f"{(exact * 100).normalize():f} %"
    return f"{exact.normalize():,f} {unit}"


def nodes_text(count: int, step_hours: int | None) -> str:
    """Format nodes for quarters, hours or terms of weeks: `3`, `70 node-hours`."""
    if step_hours is None:
        return f"{count:,}"
    if step_hours == 1:
        return count_of(count, "node-hour")
    return f"{count:,} × {count_of(step_hours // WEEK_HOURS, 'week')}"


def gpus_text(gpus: Fraction) -> str:
    """Format a number of GPUs: `1 GPU`, `2.5 GPUs`."""
    whole = gpus.denominator == 1
    return count_of(int(gpus), "GPU") if whole else f"{float(gpus):,.6g} GPUs"


def moment(quarter: Quarter, hour: int) -> str:
    """Format an hour of a quarter: `12 Jan 08:00`."""
    at = quarter.at(hour)
    return f"{at.day} {at:%b %H:%M}"


def price(usd: Decimal) -> str:
    """Format a price as it is stated, without needless zeros: `$2.5`, `$310,000`."""
    return f"${usd.normalize():,f}"
