"""Whether given nodes hold all units in fractions: a linear program that is stated once.

Units that find no room are counted as short, so that it always has a solution. Where some are
short, its prices make a cut: sums of rows, each the right way round, so that rounding in the
solver may weaken the cut but never make it false.
"""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import combinations, permutations, product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import LimitError
from planner.packing.families.elastic import Elastic, uncapped
from planner.packing.families.nodecuts import NodeCut
from planner.packing.solvers.linear import solve_linear
from planner.packing.solvers.warm import WarmLinear

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from planner.packing.counting.counts import Counts, Terms
    from planner.packing.families.cheapest import Point
    from planner.packing.problem import Shape
    from planner.packing.solvers.program import Program, Row

    Floats = NDArray[np.float64]

__all__ = ["Trial"]

_WHOLE_GAP, _WHOLE_NODES = 0.1, 200
"""How far whole units are pursued once the simple ways have failed."""
_MOST_ROUNDINGS = 256
"""Ways to round fractional units that are compared."""
_MOST_MOVES, _BARRED = 6, 6
"""Whole units that are moved to mend what rounding breaks, and moves until one may go back."""
_NONE = 1e-6
"""Units that count as none."""
_PLAIN, _NEARLY = 5_040, 1e-5
"""What plain fractions have as denominator, and how near prices are that mean one."""


class Trial:
    """The counting program on nodes that are held."""

    def __init__(self, counts: Counts) -> None:
        """State it; raises LimitError where HiGHS fails."""
        self._counts = counts
        self.free = uncapped(counts)
        """The variables of the counting program, without caps that rows imply."""
        self._stated = stated = Elastic(counts, self.free)
        self.bundles = stated.bundles
        """Whole nodes taken together, which the cuts tell apart."""
        rows, many = stated.program.rows, len(self.free)
        self._linear = WarmLinear(stated.program)
        self._rows = np.array(stated.demand_rows, dtype=np.int32)
        self._acquired = np.array(list(counts.acquire.values()), dtype=np.int32)
        self._place = {index: at for at, index in enumerate(counts.acquire.values())}
        self._open = np.array(stated.bundle_columns, dtype=np.int32)
        self._held = np.append(self._acquired, self._open)
        self._shorts = np.array(stated.shorts, dtype=np.int32)
        units = [index for index in counts.choice.values() if self.free[index].upper is None]
        self._units = np.array(sorted(units), dtype=np.int32)
        self._costs = {
            index: stated.program.variables[index].cost for index in self._units.tolist()
        }
        self._matrix = np.zeros((len(rows), len(stated.program.variables)))
        for number, row in enumerate(rows):
            for index, factor in row.terms:
                self._matrix[number, index] = factor
        self._right = np.array([row.right for row in rows], dtype=np.float64)
        self._right[self._rows] = 0.0
        self._most = np.array([0.0 if row.sense == "<=" else np.inf for row in rows])
        self._least = np.array([0.0 if row.sense == ">=" else -np.inf for row in rows])
        limits = [n for n, row in enumerate(rows) if row.sense != "=="]
        signs = np.array([-1.0 if rows[number].sense == ">=" else 1.0 for number in limits])
        self._limits = self._matrix[limits, :many] * signs[:, None]
        """Rows that are no equations, as `limits · values <= at most`."""
        self._at_most = self._right[limits] * signs
        moves = [pair for ways in stated.ways for pair in permutations(ways, 2)]
        place = {pair: number for number, pair in enumerate(moves)}
        self._leave = np.array([one for one, _ in moves], dtype=np.int64)
        self._enter = np.array([two for _, two in moves], dtype=np.int64)
        self._undone = [place[two, one] for one, two in moves]
        self._moves = (self._limits[:, self._enter] - self._limits[:, self._leave]).T.copy()
        """What a row takes more where a unit leaves one choice and enters another."""

    def keep(self) -> None:
        """Let every question begin where the last one ended."""
        self._linear.keep()

    def of_nodes(self) -> Iterator[NodeCut]:
        """Rows that count nothing but nodes."""
        for row in self._counts.program.rows:
            if row.terms and self._stated.of_nodes(row):
                yield self._of_nodes(row)

    def relaxed(self, program: Program) -> NodeCut | None:
        """What the linear relaxation of the counting program, as it is here, says of nodes."""
        duals = solve_linear(program)
        if duals is None:
            return None
        prices = np.zeros(len(self._right))
        prices[: len(self._stated.kept)] = [duals.rows[number] for number in self._stated.kept]
        return self._cut(prices)

    def ask(self, counts: Sequence[int]) -> None:
        """Begin anew with other counts of units."""
        self._linear.begin()
        self._linear.ask(self._rows, counts)

    def tried(self, point: Point) -> tuple[Floats, NodeCut | None]:
        """Units by variable on these nodes, with room where there is some, or a cut against it."""
        self._hold(point, point.bundles)
        solved = self._linear.solve()
        if solved is None:
            raise LimitError("nodes that other rows forbid")
        values, prices = solved
        if values[self._shorts].sum() <= _NONE:
            return values, None
        return values, self._cut(prices)

    def _hold(self, point: Point, bundles: Sequence[int | None]) -> None:
        counts = self._counts
        acquired = np.zeros(len(counts.acquire))
        for pool, nodes in enumerate(point.nodes):
            if nodes:
                acquired[self._place[self._stated.supplied[pool][0]]] = nodes
        lower = np.array([one or 0.0 for one in bundles])
        upper = np.array([np.inf if one is None else one for one in bundles])
        self._linear.hold(self._held, np.append(acquired, lower), np.append(acquired, upper))
        for row, (pool, _) in counts.room_rows.items():
            nodes = point.nodes[pool] + counts.problem.pools[pool].owned_in(0)
            self._linear.weigh(self._stated.row[row], self._stated.room, float(nodes))

    def divided(self, point: Point, values: Floats) -> frozenset[int]:
        """Bundles that were left open, and are not whole in this solution."""
        return frozenset(
            number
            for number, (many, column) in enumerate(
                zip(point.bundles, self._stated.bundle_columns, strict=True)
            )
            if many is None and abs(values[column] - round(values[column])) > _NONE
        )

    def rounded(self, values: Floats) -> Floats | None:
        """Whole units near these, within all rows, the best of a few; None where none are found."""
        values = values[: len(self.free)]
        whole = np.floor(values + _NONE)
        whole[self._acquired] = values[self._acquired]
        part = values - whole
        split: dict[int, list[int]] = defaultdict(list)
        for index in np.flatnonzero(part > _NONE).tolist():
            split[self._stated.demand[index]].append(index)
        if not split:
            return whole
        parts = [
            list(combinations(open_, round(float(part[open_].sum())))) for open_ in split.values()
        ]
        if prod(len(one) for one in parts) > _MOST_ROUNDINGS:
            parts = [[max(one, key=lambda way: sum(part[list(way)]))] for one in parts]
        open_ = [index for one in split.values() for index in one]
        place = {index: at for at, index in enumerate(open_)}
        ways = np.zeros((prod(len(one) for one in parts), len(open_)))
        for number, chosen in enumerate(product(*parts)):
            ways[number, [place[index] for one in chosen for index in one]] = 1.0
        slack = self._at_most - self._limits @ whole
        least = (slack - ways @ self._limits[:, open_].T).min(axis=1, initial=np.inf)
        best = int(least.argmax())
        whole[open_] += ways[best]
        return whole if least[best] >= -_NONE else self._mended(whole)

    def _mended(self, whole: Floats) -> Floats | None:
        """Whole units that break rows, moved one by one to other choices of theirs until none is.

        Each time the move that leaves the least over; none is undone soon.
        """
        slack = self._at_most - self._limits @ whole
        barred = np.zeros(len(self._moves))
        for number in range(_MOST_MOVES):
            after = slack - self._moves
            left = np.minimum(after, 0.0).sum(axis=1)
            left[(whole[self._leave] < 1) | (barred > number)] = -np.inf
            best = int(left.argmax()) if len(left) else -1
            if best < 0 or left[best] == -np.inf:
                return None
            whole[self._leave[best]] -= 1
            whole[self._enter[best]] += 1
            slack = after[best]
            if slack.min() >= -_NONE:
                return whole
            barred[self._undone[best]] = number + _BARRED
        return None

    def require(self, pool: int, weights: Mapping[Shape, float]) -> None:
        """Obey a cut of the cutting stock on a pool, for the counts asked now."""
        terms: Terms = defaultdict(float)
        for usage in self._counts.usages[pool, 0]:
            for index, factor in usage.terms:
                terms[index] += factor * (usage.span or weights.get(usage.shape, 0.0))
        for index in self._stated.supplied[pool]:
            terms[index] -= 1.0
        self._linear.require(terms, float(self._counts.problem.pools[pool].owned_in(0)))

    def whole(self, point: Point, attempt: int = 0) -> Floats | None:
        """Whole units on these nodes; empty if not found in time, None if proved none.

        Another attempt prefers other choices.
        """
        self._hold(point, [None] * len(point.bundles))
        none = np.zeros(len(self._shorts))
        self._linear.hold(self._shorts, none, none)
        rng = random.Random(attempt)
        if attempt:
            self._linear.price({index: cost * rng.random() for index, cost in self._costs.items()})
        try:
            values = self._linear.whole(self._units, _WHOLE_GAP, _WHOLE_NODES)
        finally:
            self._linear.price(self._costs)
            self._linear.hold(self._shorts, none, np.full(len(none), np.inf))
        if values is None or not len(values):
            return values
        rounded: Floats = np.round(values[: len(self.free)])
        return rounded

    def _cut(self, prices: Floats) -> NodeCut:
        """The sum of the rows, each times its price, as far as that says something."""
        prices = np.clip(prices[: len(self._most)], self._least, self._most)
        prices[self._rows] = 0.0
        prices = _plain(prices, np.abs(prices @ self._matrix[:, self._held]).max(initial=0.0))
        weighed = prices @ self._matrix
        units = np.array([-weighed[columns].max(initial=-np.inf) for columns in self._stated.ways])
        nodes = np.array([weighed[columns].max(initial=0.0) for columns in self._stated.supplied])
        bundles = weighed[self._stated.bundle_columns]
        return NodeCut(nodes, bundles, units, float(prices @ self._right))

    def _of_nodes(self, row: Row) -> NodeCut:
        """A row that counts nothing but nodes, the right way round."""
        sign = -1.0 if row.sense == "<=" else 1.0
        terms = dict(row.terms)
        nodes = [
            max((sign * terms.get(index, 0.0) for index in columns), default=0.0)
            for columns in self._stated.supplied
        ]
        ways, bundles = len(self._stated.ways), len(self.bundles)
        return NodeCut(np.array(nodes), np.zeros(bundles), np.zeros(ways), sign * row.right)


def _plain(prices: Floats, largest: float) -> Floats:
    """Prices as parts of the largest, as plain fractions where they nearly are: any price will do.

    Cores and memory have a small cost in the trial, which makes its prices a little less plain.
    """
    shares = prices / (largest or 1.0)
    plain = np.rint(shares * _PLAIN) / _PLAIN
    return np.where(np.abs(shares - plain) <= _NEARLY, plain, shares)
