"""Exact amounts as whole ones that add up to the same."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

__all__ = ["largest_remainder"]

Key = TypeVar("Key")


def largest_remainder(
    amounts: Mapping[Key, Fraction] | Mapping[Key, float], total: int
) -> dict[Key, int]:
    """Round each amount down, and those cut most up again until all add up to the total.

    Of two cut alike the first is rounded up. A total that no rounding of these amounts has
    leaves all of them rounded down.
    """
    whole = {key: floor(amount) for key, amount in amounts.items()}
    missing = total - sum(whole.values())
    if not 0 <= missing <= len(whole):
        return whole
    for key in sorted(whole, key=lambda key: whole[key] - amounts[key])[:missing]:
        whole[key] += 1
    return whole
