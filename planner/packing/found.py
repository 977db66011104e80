"""What a search ends with: the best packing and bound so far, or the proof that there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.packing.counts import Counts
    from planner.packing.cutting import CuttingStock, Packed
    from planner.packing.problem import Shape

__all__ = ["Found", "Infeasible"]


class Infeasible(Exception):  # noqa: N818 - an outcome, not a failure
    """Proved: the counting program has no solution, so neither has the packing."""

    def __init__(self, counts: Counts, relaxed: frozenset[int] | None = None) -> None:
        super().__init__()
        self.counts = counts
        """The program without a solution, with every cut that was found."""
        self.relaxed = frozenset(range(len(counts.program.variables)))
        """Variables that may be fractional, and still there is none; all unless told otherwise."""
        if relaxed is not None:
            self.relaxed = relaxed


@dataclass(slots=True)
class Found:
    """The best packing so far and the best bound."""

    counts: Counts
    values: tuple[float, ...] = ()
    """Whole numbers, by variable; empty until a packing is found."""
    cost_cents: int | None = None
    bound_cents: int = 0
    packings: dict[tuple[int, int], Packed] = field(default_factory=dict)
    """By (pool, quarter); units that span nodes are not in them."""
    shapes: dict[int, tuple[Shape, ...]] = field(default_factory=dict)
    """By pool: what the patterns' indices mean."""
    stocks: dict[int, CuttingStock] = field(default_factory=dict)
    """By pool: where the patterns come from."""
    rounds: int = 0
    cuts: int = 0
    relaxed: frozenset[int] = frozenset()
    """Variables that were fractional where the bound was won."""

    def closed(self, gap: float) -> bool:
        """Whether cost and bound are within the relative gap."""
        return (
            self.cost_cents is not None
            and self.cost_cents - self.bound_cents <= gap * self.cost_cents
        )
