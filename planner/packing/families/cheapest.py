"""The cheapest whole nodes within all cuts: they bound a plan, and mostly hold one.

Pools are few: points are listed pool by pool, the dearest first, as arrays, and what cannot be
completed within a window of cost is left out at once. Whether their nodes can be bundled so that
all cuts are obeyed is asked of the cheapest. Where points are too many, an integer program over
the cuts alone finds the first.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from planner.packing.counting.counts import CENTS_PER_UNIT
from planner.packing.families.bundling import Ways, by_pool, ways_of
from planner.packing.solvers.program import Program
from planner.packing.solvers.solver import Outcome, solve_integer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from planner.packing.families.nodecuts import NodeCuts, Stacked

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]

_Entry = tuple[int, tuple[int, ...]]
"""Cost, and nodes by pool."""

__all__ = ["Cheapest", "Offer", "Point"]

_TOLERANCE = 1e-7
"""What a point may miss a cut by: more than rounding, far less than a GPU."""
_WINDOWS = (1, 2, 4, 8, 25, 80, 250, 800)
"""Of the least dear nodes, so many's cost beyond the bound at hand: there points are listed."""
_MOST_STATES, _MOST_NODES = 2_000_000, 10_000
"""Points times cuts at once, and nodes of a pool, before only the cheapest point is looked for."""
_PATIENCE_S, _MOST_BRANCHES = 60.0, 1_000
"""What an integer program may take for that; the time is never reached."""
_MOST_WAYS = 400
"""Ways to bundle the nodes of one pool; beyond, bundles are left open."""
_MOST_STALE = 40
"""Points that new cuts forbid before all are listed anew."""
_NEVER = 1e18
"""Cents that nobody pays."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Nodes of one supply."""

    cents: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Point:
    """Nodes acquired by pool at this cost, and the number of each bundle; None: left open."""

    cents: int
    nodes: tuple[int, ...]
    bundles: tuple[int | None, ...]


class Cheapest:
    """Points that obey all cuts, the cheapest first, for one set of counts and prices."""

    def __init__(
        self, cuts: NodeCuts, asked: Sequence[int], offers: Sequence[Sequence[Offer]]
    ) -> None:
        """`offers` are by pool, the cheapest first. Cuts that are added later are obeyed, too."""
        self._cuts, self._asked = cuts, np.array(asked, dtype=np.float64)
        self._offers, self._divided = offers, cuts.divided
        self._cents = tuple(known[0].cents if known else None for known in offers)
        self._step = min((cents for cents in self._cents if cents), default=1)
        self._owned = np.array(cuts.owned, dtype=np.float64)
        self._bundles = by_pool(cuts.bundles)
        self._refused: set[tuple[int, ...]] = set()
        self._most = 0.0
        """What points may cost that are listed."""
        self._high = np.zeros(0)
        """Nodes of each pool beyond which they cost more, by what the dearest cut alone says."""
        self._single = False
        """Whether there are so many points that only the cheapest is found."""
        self._forget()

    def refuse(self, point: Point) -> None:
        """Not on these nodes."""
        self._refused.add(point.nodes)

    def divide(self, bundles: frozenset[int]) -> None:
        """Tell these bundles apart from single nodes, too, where there are not too many ways."""
        self._divided |= bundles

    def _forget(self) -> None:
        """Have the points listed anew, by the cuts of now."""
        self._stacked = self._cuts.stacked
        self._need = self._stacked.need(self._asked)
        self._rates = _rates(self._stacked, self._cents)
        self._windows = list(reversed(_WINDOWS))
        self._queue: list[_Entry] = []
        self._rest: Iterator[_Entry] = iter(())
        self._next: _Entry | None = None
        """What is listed and not yet in the queue, by cost."""

    def next(self) -> Point | None:
        """The cheapest that obeys all cuts and is not refused; None where none is found."""
        stale = 0
        while self._filled() or self._list():
            cents, nodes = self._queue[0]
            if nodes not in self._refused:
                bundles = self._bundled(nodes)
                if bundles is not None:
                    return Point(cents, nodes, bundles)
                self._refused.add(nodes)
                stale += 1
            elif self._single:
                return None
            known = self._stacked is self._cuts.stacked
            if (stale < _MOST_STALE or known) and not self._single:
                heapq.heappop(self._queue)
                self._push_one_more(nodes)
            else:
                self._forget()
                stale = 0
        return None

    def _filled(self) -> bool:
        """Whether there is a point; no point that is listed is cheaper than the queue's first."""
        while self._next and (not self._queue or self._next[0] <= self._queue[0][0]):
            heapq.heappush(self._queue, self._next)
            self._next = next(self._rest, None)
        return bool(self._queue)

    def _bundled(self, nodes: tuple[int, ...]) -> tuple[int | None, ...] | None:
        """The first way to bundle these nodes that obeys all cuts; None where there is none.

        Bundles that are not told apart are left open, and so are those that have too many ways.
        """
        stacked, known = self._cuts.stacked, self._cuts.bundles
        need = self._need if stacked is self._stacked else stacked.need(self._asked)
        left = need - _TOLERANCE - stacked.nodes @ np.array(nodes, dtype=np.float64)
        ways: list[Ways] = []
        for pool, numbers in self._bundles:
            total = nodes[pool] + self._cuts.owned[pool]
            apart = tuple(number for number in numbers if number in self._divided)
            if prod(total // known[number].size + 1 for number in apart) > _MOST_WAYS:
                apart = ()
            for number in numbers:
                if number not in apart:
                    gain = np.maximum(stacked.bundles[:, number], 0.0)
                    left -= gain * (total // known[number].size)
            if apart:
                sizes = tuple(known[number].size for number in apart)
                ways.append(ways_of(stacked, apart, sizes, total))
                left -= ways[-1].best
        if left.max(initial=0.0) > 0:
            return None
        taken: list[int | None] = [None] * len(known)
        told_apart: list[int] = []
        chosen, given = np.zeros((1, 0), dtype=np.int64), np.zeros((1, 1))
        for way in ways:
            if len(given) * way.gives.size > _MOST_STATES:
                continue
            told_apart += way.bundles
            left += way.best
            many, cuts = way.gives.shape
            given = (given[:, None] + way.gives).reshape(len(given) * many, cuts)
            kept = np.flatnonzero((given >= left[way.rows]).all(axis=1))
            if not len(kept):
                return None
            given = given[kept]
            chosen = np.hstack((chosen[kept // many], way.grid[kept % many]))
        for number, times in zip(told_apart, chosen[0], strict=True):
            taken[number] = int(times)
        return tuple(taken)

    def _push_one_more(self, nodes: tuple[int, ...]) -> None:
        """The next point in the pool whose nodes cost the least, where only the first is listed."""
        if self._rates.pools:
            last = self._rates.pools[-1]
            changed = (*nodes[:last], nodes[last] + 1, *nodes[last + 1 :])
            cents = self._cost(changed)
            if cents is not None and cents <= self._most:
                heapq.heappush(self._queue, (cents, changed))

    def _cost(self, nodes: Sequence[int]) -> int | None:
        total = 0
        for pool, number in enumerate(nodes):
            left = number
            for offer in self._offers[pool]:
                taken = left if offer.most is None else min(left, offer.most)
                total += taken * offer.cents
                left -= taken
            if left:
                return None
        return total

    def _list(self) -> bool:
        """List the points of the next window; False where there is none."""
        while self._windows:
            points = self._points(self._windows.pop())
            if points is None:
                return False
            self._rest = _read(*points)
            self._next = next(self._rest, None)
            if self._filled():
                return True
        return False

    def _points(self, window: int) -> tuple[Whole, Floats] | None:
        """Points that cost no more than a window beyond the bound; the best where they are many.

        A node counts with the best of its bundles, and of each choice in the dearer pools only the
        least of the last is listed.
        """
        rates, need = self._rates, self._need - self._stacked.gain @ self._owned
        bounds = np.maximum(need, 0.0) * rates.least[:, 0]
        bound = float(bounds.max(initial=0.0))
        if bound >= _NEVER:
            return None
        self._most = bound + window * self._step + 1
        self._high = np.full(len(self._offers), _NEVER)
        if bound:
            cut = int(bounds.argmax())
            dearer = rates.prices - rates.least[cut, 0] * rates.worth[cut]
            self._high = (self._most - bound) / np.maximum(dearer, _TOLERANCE) + 1
        points = self._within(need)
        self._single = points is None
        return self._best() if points is None else points

    def _best(self) -> tuple[Whole, Floats] | None:
        """The cheapest point by an integer program; None where that takes too long."""
        program = Program()
        rows: list[dict[int, float]] = [{} for _ in self._need]
        total: list[dict[int, float]] = [{} for _ in self._offers]
        meaning: list[tuple[int, int]] = []
        for pool, offers in enumerate(self._offers):
            for offer in offers:
                column = program.variable(
                    "nodes", cost=offer.cents / CENTS_PER_UNIT, upper=offer.most, integer=True
                )
                meaning.append((pool, offer.cents))
                total[pool][column] = -1.0
                for row, worth in zip(rows, self._stacked.nodes[:, pool].tolist(), strict=True):
                    row[column] = worth
        for number, bundle in enumerate(self._cuts.bundles):
            column = program.variable("bundles", integer=True)
            total[bundle.pool][column] = float(bundle.size)
            for row, worth in zip(rows, self._stacked.bundles[:, number].tolist(), strict=True):
                row[column] = worth
        for row, need in zip(rows, self._need.tolist(), strict=True):
            program.row("cut", row, ">=", need - _TOLERANCE)
        for pool, terms in enumerate(total):
            program.row("bundles", terms, "<=", self._cuts.owned[pool])
        solved = solve_integer(program, time_limit_s=_PATIENCE_S, node_limit=_MOST_BRANCHES)
        if solved.outcome is not Outcome.OPTIMAL:
            return None
        point, cents = np.zeros((1, len(self._offers)), dtype=np.int64), 0
        for (pool, price), value in zip(meaning, solved.values, strict=False):
            point[0, pool] += round(value)
            cents += price * round(value)
        return point, np.array([float(cents)])

    def _within(self, need: Floats) -> tuple[Whole, Floats] | None:
        """Points that cost no more than is listed; None where they are too many at once."""
        rates, most = self._rates, self._most
        left, costs = need[None, :], np.zeros(1)
        chosen = np.zeros((1, len(self._offers)), dtype=np.int64)
        for at, pool in enumerate(rates.pools):
            table = self._table(pool)
            if table is None:
                return None
            if at + 1 == len(rates.pools):
                return self._closed(chosen, costs, left, table)
            affordable = np.searchsorted(table, most - costs, side="right")
            if int(affordable.sum()) * len(need) > _MOST_STATES:
                return None
            states = np.repeat(np.arange(len(costs)), affordable)
            begin = np.cumsum(affordable) - affordable
            taken = np.arange(len(states)) - np.repeat(begin, affordable)
            left = left[states] - np.outer(taken, rates.worth[:, pool])
            costs = costs[states] + table[taken]
            short = np.maximum(left - _TOLERANCE, 0.0) * rates.least[:, at + 1]
            kept = costs + short.max(axis=1, initial=0.0) <= most
            left, costs, chosen = left[kept], costs[kept], chosen[states[kept]]
            chosen[:, pool] = taken[kept]
        obeys = (left <= _TOLERANCE).all(axis=1)
        return chosen[obeys], costs[obeys]

    def _closed(
        self, chosen: Whole, costs: Floats, left: Floats, table: Floats
    ) -> tuple[Whole, Floats]:
        """The least number of nodes in the last pool."""
        last = self._rates.pools[-1]
        worth = self._rates.worth[:, last]
        positive = worth > 0
        least = (left[:, positive] - _TOLERANCE) / worth[positive]
        taken = np.maximum(np.ceil(least.max(axis=1, initial=0.0)), 0.0).astype(np.int64)
        chosen[:, last] = taken
        costs = costs + table[np.minimum(taken, len(table) - 1)]
        obeys = (left - np.outer(taken, worth) <= _TOLERANCE).all(axis=1)
        obeys &= (taken < len(table)) & (costs <= self._most)
        return chosen[obeys], costs[obeys]

    def _table(self, pool: int) -> Floats | None:
        """What 0, 1, 2 nodes and so on cost, as far as points are listed; None: too many."""
        steps: list[Floats] = [np.zeros(1)]
        for offer in self._offers[pool]:
            room = float("inf") if offer.most is None else float(offer.most)
            room = min(room, self._high[pool])
            if offer.cents:
                room = min(room, (self._most - steps[-1][-1]) // offer.cents)
            if room > _MOST_NODES:
                return None
            if room > 0:
                steps.append(steps[-1][-1] + offer.cents * np.arange(1.0, int(room) + 1))
        return steps[0] if len(steps) == 1 else np.concatenate(steps)


def _read(points: Whole, costs: Floats) -> Iterator[_Entry]:
    """Points by cost."""
    for at in np.lexsort((*points.T[::-1], costs)):
        yield int(costs[at]), tuple(points[at].tolist())


@dataclass(frozen=True, slots=True)
class _Rates:
    """What cuts ask for, in cents."""

    pools: list[int]
    """Those on offer, the dearest first."""
    prices: Floats
    worth: Floats
    """By cut and pool: of a node, with the best bundle."""
    least: Floats
    """By cut and pool on offer: what a unit costs there, or in any that is less dear."""


@lru_cache(maxsize=4)
def _rates(stacked: Stacked, cents: tuple[int | None, ...]) -> _Rates:
    """At these prices of a node; variants have the same ones, mostly."""
    pools = [pool for pool, known in enumerate(cents) if known is not None]
    pools.sort(key=lambda pool: (-(cents[pool] or 0), pool))
    prices = np.array([known or 0 for known in cents], dtype=np.float64)
    worth = stacked.nodes + stacked.gain
    rates = np.full((len(stacked), len(pools) + 1), _NEVER)
    of_pools = worth[:, pools]
    np.divide(prices[pools], of_pools, out=rates[:, :-1], where=of_pools > 1 / _NEVER)
    least = np.minimum.accumulate(rates[:, ::-1], axis=1)[:, ::-1]
    return _Rates(pools, prices, worth, least)
