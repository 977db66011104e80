"""How counts and amounts are written in the sentences of a plan."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.inputs.scenario.quarter import Quarter

__all__ = ["amount", "moment", "price", "some_of", "usd"]


def some_of(names: Sequence[str], shown: int) -> str:
    """The first names and the number of the others: `a, b, c and 4 more`."""
    listed = ", ".join(names[:shown])
    more = len(names) - shown
    return f"{listed} and {more:,} more" if more > 0 else listed


def amount(value: Decimal | int, unit: str) -> str:
    """A figure with its unit, a share as per cent: `2,190 h`, `10 %`."""
    exact = Decimal(value)
    if unit == "share":
        return f"{(exact * 100).normalize():f} %"
    return f"{exact.normalize():,f} {unit}"


def moment(quarter: Quarter, hour: int) -> str:
    """An hour of a quarter: `12 Jan 08:00`."""
    at = quarter.at(hour)
    return f"{at.day} {at:%b %H:%M}"


def price(usd: Decimal) -> str:
    """A price as it is stated, without needless zeros: `$2.5`, `$310,000`."""
    return f"${usd.normalize():,f}"


def usd(cents: int) -> str:
    """`$1,234.56`."""
    return f"${cents // 100:,}.{cents % 100:02d}"
