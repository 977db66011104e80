"""Dual feasible functions: weights under which whatever fits a node still weighs at most 1."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["ORDERS", "dual_feasible"]

ORDERS = range(8)
"""Orders q of the dual feasible functions u_q: beyond 7 they cut nothing on 8-GPU nodes."""


def dual_feasible(share: Fraction, order: int) -> Fraction:
    """u_q(x) of Fekete and Schepers: x if (q+1)x is whole, else floor((q+1)x) / q; order 0: x."""
    scaled = (order + 1) * share
    if order == 0 or scaled.denominator == 1:
        return share
    return Fraction(scaled.numerator // scaled.denominator, order)
