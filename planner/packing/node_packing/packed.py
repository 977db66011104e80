"""What a layout of the nodes of one pool in one quarter is: patterns, and how often."""

from __future__ import annotations

from dataclasses import dataclass

from planner.packing.node_packing.greedy import Pattern
from planner.packing.problem import Shape


@dataclass(frozen=True, slots=True)
class Packed:
    """Node patterns with their multiplicity; together they hold exactly the units asked for.

    Runs are not among them: they have a schedule.
    """

    patterns: tuple[tuple[Pattern, int], ...]
    bundles: tuple[tuple[Shape, ...], ...] = ()
    """GPUs with the pieces that take parts of them; patterns index them as -1, -2 and so on."""

    def opened(self) -> int:
        """GPUs that pieces take parts of."""
        return sum(
            units * times
            for pattern, times in self.patterns
            for index, units in pattern
            if index < 0
        )
