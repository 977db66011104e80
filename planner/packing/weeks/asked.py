"""What is asked for and where it is: units, ways to run them, and the places of their pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.packing.problem import Shape

__all__ = ["Asked", "Key", "Placed", "Way"]

Key = tuple[int, int]
"""Pool and quarter."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run a unit."""

    name: int
    """Whatever the caller knows it by."""
    cost: float
    """What its pieces take, in any unit of money."""
    shape: Shape
    pools: tuple[tuple[int, int], ...]
    """(pool, whole nodes that a piece takes there in its weeks; 0: it shares one)."""
    quotas: tuple[int, ...] = ()
    """Those that count what it takes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A unit: a piece for each entry of `quarters`, all in the same way."""

    ways: tuple[Way, ...]
    quarters: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a piece is, for all weeks of its run."""

    key: Key
    nodes: tuple[int, ...]
    """Numbers of the nodes of the pool in this quarter; several where it takes them whole."""
    week: int
    """First one."""
