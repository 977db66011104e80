"""What a layout of the nodes of one pool in one quarter is: patterns, how often, and when."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.packing.layouts.greedy import Pattern
    from planner.packing.layouts.timetable import Timetable
    from planner.packing.problem import Shape

__all__ = ["Packed"]


@dataclass(frozen=True, slots=True)
class Packed:
    """Node patterns with their multiplicity; together they hold exactly the units asked for."""

    patterns: tuple[tuple[Pattern, int], ...]
    bundles: tuple[tuple[Shape, ...], ...] = ()
    """GPUs with the pieces that take parts of them; patterns index them as -1, -2 and so on."""
    timetables: tuple[Timetable, ...] = ()
    """By pattern; empty where the stock knows them."""

    @classmethod
    def of(cls, nodes: Iterable[tuple[Pattern, Timetable]]) -> Packed:
        """Nodes, one by one, with their timetables."""
        alike = Counter(nodes)
        patterns = tuple((pattern, times) for (pattern, _), times in alike.items())
        return cls(patterns, (), tuple(timetable for _, timetable in alike))

    def opened(self) -> int:
        """GPUs that pieces take parts of."""
        return sum(
            units * times
            for pattern, times in self.patterns
            for index, units in pattern
            if index < 0
        )
