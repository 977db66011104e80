"""Cutting stock of nodes that pieces share in time: each starts in some week and then stays.

A pattern is a set of pieces that fit one node in every week, each for its weeks. It counts pieces
by shape, like any pattern; the stock keeps for each one timetable that shows that it fits.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from planner.packing.layouts.cutting import Cut, CuttingStock
from planner.packing.layouts.fitting import fitted
from planner.packing.layouts.moments import Moments
from planner.packing.layouts.packed import Packed
from planner.packing.layouts.pricing import Pricing
from planner.packing.layouts.timetable import in_step, numbered, pattern_of, without
from planner.packing.problem import WHOLE
from planner.packing.solvers.program import Program
from planner.packing.solvers.solver import solve_integer
from planner.packing.solvers.warm import LinearMaster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from planner.packing.layouts.greedy import Pattern
    from planner.packing.layouts.timetable import Started, Timetable
    from planner.packing.problem import Shape

__all__ = ["WeeklyStock", "holds"]

_TOLERANCE = 1e-6
_SAFETY = 1 - 1e-7
"""Taken off the weights that come from prices, against rounding in the programs."""
_COLUMN_ROUNDS = 60
_PASSES, _QUICK_PASSES = 60, 12
_PROGRAM_S, _PROGRAM_NODES = 5.0, 300


class WeeklyStock(CuttingStock):
    """Packings of one kind of node week by week; keeps patterns with their timetables."""

    _few_shapes = 12
    """Beyond so many shapes in use, whole timetables take too long to price."""

    def __init__(
        self,
        node: Shape,
        shapes: Sequence[Shape],
        most: Sequence[int],
        go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """`most` are the pieces of each shape that there can be.

        `go_on` is asked now and then; once it says no, what is known by then is the answer.
        """
        super().__init__(node, shapes, go_on)
        self._most_pieces = most
        self._moments = Moments(node, shapes)
        self._timetables: dict[Pattern, Timetable] = {}
        self._exact: dict[tuple[Started, ...], Timetable | None] = {}
        """Of pieces whose weeks matter beyond their node."""

    def timetable(self, pattern: Pattern) -> Timetable:
        """When each piece of a pattern that was met starts, and on which GPUs."""
        known = self._timetables.get(pattern)
        if known is None:
            larger = (other for other in self._timetables if holds(other, pattern))
            known = self._timetables[pattern] = without(self._timetables[next(larger)], pattern)
        return known

    def pack(self, counts: Sequence[int], nodes: int) -> Packed | Cut | None:
        """A packing on at most `nodes`, a cut that the counts violate, or None for neither."""
        packed = self._fitted(counts, nodes, passes=0)
        if packed:
            return packed
        cut = self.separate(counts, nodes)
        if cut:
            return cut
        packed = self._fitted(counts, nodes, passes=_PASSES)
        if packed:
            return packed
        cut = self._from_prices(counts, nodes)
        return cut or self._by_program(counts, nodes)

    def separate(self, usage: Sequence[float], nodes: float) -> Cut | None:
        """A cut that a fractional usage of fractional nodes violates, if one is quickly found."""
        weights = self._moments.violated(usage, nodes) or self._moments.priced(usage, nodes)
        return Cut(weights, self.shapes) if weights else None

    def most(self, counts: Sequence[int], nodes: int) -> tuple[Packed, list[int]]:
        """A packing of most pieces on these nodes, and the pieces by shape without room."""
        return self._most(counts, nodes, passes=_QUICK_PASSES)

    def _most(self, counts: Sequence[int], nodes: int, *, passes: int) -> tuple[Packed, list[int]]:
        here, left = fitted(self._node, self.shapes, counts, nodes, passes=passes)
        packed, unnumbered = self._packed(here)
        return packed, [a + b for a, b in zip(left, unnumbered, strict=True)]

    def _fitted(self, counts: Sequence[int], nodes: int, *, passes: int) -> Packed | None:
        packed, left = self._most(counts, nodes, passes=passes)
        return None if any(left) else packed

    def _packed(self, nodes: Iterable[Sequence[Started]]) -> tuple[Packed, list[int]]:
        """Nodes whose pieces find GPUs, and the pieces by shape of those where some do not."""
        laid: list[tuple[Pattern, Timetable]] = []
        left = [0] * len(self.shapes)
        for pieces in nodes:
            kept = list(pieces)
            while (timetable := self.timed(kept)) is None:
                left[kept.pop()[0]] += 1
            if kept:
                laid.append((pattern_of(kept), timetable))
        return Packed.of(laid), left

    def timed(self, pieces: Sequence[Started]) -> Timetable | None:
        """A timetable of these pieces, and their pattern is remembered."""
        pattern = pattern_of(pieces)
        known = self._timetables.get(pattern)
        loose = not any(self.shapes[index].gang or self.shapes[index].owner for index, _ in pieces)
        if known is not None and loose:
            return known
        at = tuple(sorted(pieces))
        if loose or at not in self._exact:
            self._exact[at] = numbered(self._node, self.shapes, at)
        timetable = self._exact[at]
        if timetable is not None and known is None:
            self._timetables[pattern] = timetable
            self._remember([(pattern, 1)])
        return timetable

    def _from_prices(self, usage: Sequence[float], nodes: float) -> Cut | None:
        """A cut from the prices of a fractional packing.

        Patterns may first hold any number of pieces of a shape, so that prices can be lifted; then
        no more than there are, which says more where there are few.
        """
        if sum(units > _TOLERANCE for units in usage) > self._few_shapes:
            return None
        for bounded in (False, True):
            bound, prices = self._relaxed(usage, nodes, bounded=bounded)
            if ceil(bound - _TOLERANCE) > nodes:
                return self._unlifted(prices) if bounded else self._lifted(prices)
        return None

    def _relaxed(
        self, usage: Sequence[float], nodes: float, *, bounded: bool
    ) -> tuple[float, dict[int, float]]:
        """Nodes that even a fractional packing takes, and prices by shape that prove it.

        Ends once it is known whether they are more than `nodes`.
        """
        most = self._most_pieces if bounded else None
        active = [index for index, units in enumerate(usage) if units > _TOLERANCE]
        if not active:
            return 0.0, {}
        pricing = self._pricing(active, most)
        master = LinearMaster([usage[index] for index in active])
        row = {index: number for number, index in enumerate(active)}
        for index in active:
            alone = self._most_of(index)
            master.add([(row[index], min(alone, most[index]) if most else alone)])
        for pattern in self._patterns:
            if all(
                index in row and (most is None or units <= most[index]) for index, units in pattern
            ):
                master.add([(row[index], units) for index, units in pattern])
        best: tuple[float, dict[int, float]] = (0.0, {})
        for _ in range(_COLUMN_ROUNDS):
            if not self._go_on():
                break
            objective, _, duals = master.solve()
            if objective <= nodes * (1 + _TOLERANCE):
                break
            prices = {index: max(duals[row[index]], 0.0) for index in active}
            ceiling, pieces = pricing.best(prices)
            worth = max(1.0, ceiling)
            if objective / worth > best[0]:
                scaled = {index: price / worth for index, price in prices.items()}
                best = (objective / worth, scaled)
            pattern = pattern_of(pieces)
            value = sum(prices[index] * units for index, units in pattern)
            if value <= 1 + _TOLERANCE or best[0] > nodes + 0.5:
                break
            master.add([(row[index], units) for index, units in pattern])
            self.keeps(pieces)
        return best

    def _pricing(self, active: Sequence[int], most: Sequence[int] | None) -> Pricing:
        return Pricing(self._node, self.shapes, active, most)

    def _unlifted(self, prices: dict[int, float]) -> Cut:
        """Prices as a cut in which what was not in use weighs nothing."""
        weights = (prices.get(index, 0.0) * _SAFETY for index in range(len(self.shapes)))
        return Cut(tuple(weights), self.shapes)

    def _lifted(self, prices: dict[int, float]) -> Cut:
        """Prices as a cut: what was not in use weighs what the dearest that it could replace does.

        It can replace what takes no more and may start whenever it may, for no longer.
        """
        return Cut(
            tuple(
                max(
                    (
                        price
                        for index, price in prices.items()
                        if index == number or _replaces(shape, self.shapes[index])
                    ),
                    default=0.0,
                )
                * _SAFETY
                for number, shape in enumerate(self.shapes)
            ),
            self.shapes,
        )

    def _by_program(self, counts: Sequence[int], nodes: int) -> Packed | None:
        """The patterns met so far that hold all pieces on fewest nodes."""
        asked = [index for index, units in enumerate(counts) if units]
        program = Program()
        used = {
            pattern: program.variable("pattern", cost=1.0, integer=True)
            for pattern in self._patterns
            if any(counts[index] for index, _ in pattern)
        }
        for index in asked:
            holds = {used[pattern]: float(dict(pattern).get(index, 0)) for pattern in used}
            program.row("held", holds, ">=", counts[index])
        program.row("nodes", dict.fromkeys(used.values(), 1.0), "<=", nodes)
        answer = solve_integer(
            program, time_limit_s=_PROGRAM_S, relative_gap=1.0, node_limit=_PROGRAM_NODES
        )
        if not answer.values:
            return None
        packed = self.exactly(
            [(pattern, round(answer.values[index])) for pattern, index in used.items()], counts
        )
        timetables = ((self.timetable(pattern), times) for pattern, times in packed.patterns)
        return packed if in_step(self.shapes, timetables) else None


def holds(larger: Pattern, pattern: Pattern) -> bool:
    """Whether a pattern has all the pieces of another."""
    held = dict(larger)
    return all(units <= held.get(index, 0) for index, units in pattern)


def _replaces(shape: Shape, other: Shape) -> bool:
    """Whether `other` fits wherever a piece of this shape does, in every week that it may take."""
    run, theirs = shape.run, other.run
    return (
        other.gpus <= shape.gpus
        and other.cpus <= shape.cpus
        and other.memory_mb <= shape.memory_mb
        and theirs.weeks <= run.weeks
        and theirs.earliest <= run.earliest
        and run.until - run.weeks + theirs.weeks <= theirs.until
        and other.part.profile == shape.part.profile
        and other.part.memory_mb <= shape.part.memory_mb
        and (other.part == WHOLE) == (shape.part == WHOLE)
    )
