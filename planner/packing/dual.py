"""Dual feasible functions: weights under which whatever fits a node still weighs at most 1."""

from __future__ import annotations

from math import lcm

__all__ = ["ORDERS", "PARTS", "dual_feasible"]

ORDERS = range(8)
"""Orders q of the dual feasible functions u_q: beyond 7 they cut nothing on 8-GPU nodes."""
PARTS = lcm(*ORDERS[1:])
"""Divided by `offered` times so many, every weight is a whole number of parts."""


def dual_feasible(size: int, offered: int, order: int) -> int:
    """u_q(x) of Fekete and Schepers: x if (q+1)x is whole, else floor((q+1)x) / q; order 0: x.

    For x = `size` / `offered`, as a number of parts, of which `offered` × `PARTS` weigh 1.
    """
    whole, rest = divmod((order + 1) * size, offered)
    if order == 0 or not rest:
        return size * PARTS
    return whole * offered * (PARTS // order)
