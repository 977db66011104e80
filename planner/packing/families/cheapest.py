"""The cheapest whole nodes within all cuts: they bound a plan, and mostly hold one.

Pools are few: points are listed pool by pool, the dearest first, as arrays, and what cannot be
completed within a window of cost is left out at once. Where points are too many, an integer
program over the cuts alone finds the first.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from planner.packing.counting.counts import CENTS_PER_UNIT
from planner.packing.solvers.program import Program
from planner.packing.solvers.solver import Outcome, solve_integer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from planner.packing.families.nodecuts import NodeCuts, Stacked

    Floats = NDArray[np.float64]

_Entry = tuple[int, tuple[int, ...], tuple[int, ...]]

__all__ = ["Cheapest", "Offer", "Point"]

_TOLERANCE = 1e-7
"""What a point may miss a cut by: more than rounding, far less than a GPU."""
_WINDOWS = (1, 2, 4, 8, 25, 80, 250, 800)
"""Of the least dear nodes, so many's cost beyond the bound at hand: there points are listed."""
_MOST_STATES, _MOST_NODES = 2_000_000, 10_000
"""Points times cuts at once, and nodes of a pool, before only the cheapest point is looked for."""
_PATIENCE_S, _MOST_BRANCHES = 60.0, 1_000
"""What an integer program may take for that; the time is never reached."""
_MOST_WAYS, _MOST_LISTED = 400, 20_000
"""Ways to bundle the nodes of one pool, if they may do and all; beyond, bundles are left open."""
_MOST_STALE = 12
"""Points that a new cut forbids before all are listed anew."""
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
        self._refused: set[tuple[int, ...]] = set()
        self._windows = list(reversed(_WINDOWS))
        self._queue: list[_Entry] = []
        """Cost, nodes by pool, bundles; where they are left open: -1."""
        self._rest: Iterator[_Entry] = iter(())
        self._next: _Entry | None = None
        """What is listed and not yet in the queue, by cost."""
        self._most = 0.0
        """What points may cost that are listed."""
        self._high = np.zeros(0)
        """Nodes of each pool beyond which they cost more, by what the dearest cut alone says."""
        self._single = False
        """Whether there are so many points that only the cheapest is found."""
        self._listed = 0
        """Cuts that points obeyed when they were listed."""

    def refuse(self, point: Point) -> None:
        """Not on these nodes."""
        self._refused.add(point.nodes)

    def divide(self, bundles: frozenset[int]) -> None:
        """Tell these bundles apart from single nodes, too, where there are not too many ways."""
        self._divided |= bundles
        self._forget()

    def _forget(self) -> None:
        """Have the points listed anew."""
        self._queue, self._rest, self._next = [], iter(()), None
        self._windows = list(reversed(_WINDOWS))

    def next(self) -> Point | None:
        """The cheapest that obeys all cuts and is not refused; None where none is found."""
        stale = 0
        while self._filled() or self._list():
            cents, nodes, bundles = self._queue[0]
            if nodes not in self._refused:
                if self._obeys(nodes, bundles, self._listed):
                    return Point(cents, nodes, tuple(None if one < 0 else one for one in bundles))
                stale += 1
            elif self._single:
                return None
            if stale < _MOST_STALE and not self._single:
                heapq.heappop(self._queue)
                self._push_one_more(nodes, bundles)
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

    def _look(self) -> None:
        """What the cuts of now ask for."""
        self._listed = len(self._cuts)
        self._stacked = self._cuts.stacked
        self._need = self._stacked.need(self._asked)
        self._rates = _rates(self._stacked, self._cents)

    def _obeys(self, nodes: tuple[int, ...], bundles: tuple[int, ...], since: int) -> bool:
        """Whether a point obeys the cuts that were added from then on."""
        stacked = self._cuts.stacked
        if len(stacked) == since:
            return True
        left = stacked.need(self._asked, since) - stacked.nodes[since:] @ np.array(nodes, float)
        for number, (bundle, many) in enumerate(zip(self._cuts.bundles, bundles, strict=True)):
            gain = stacked.bundles[since:, number]
            if many < 0:
                total = nodes[bundle.pool] + self._cuts.owned[bundle.pool]
                left -= np.maximum(gain, 0.0) * (total // bundle.size)
            else:
                left -= gain * many
        return bool(left.max(initial=0.0) <= _TOLERANCE)

    def _push_one_more(self, nodes: tuple[int, ...], bundles: tuple[int, ...]) -> None:
        """The next point in the pool whose nodes cost the least, where only the first is listed."""
        pools = self._rates.pools
        last = pools[-1] if pools else None
        if last is None or any(
            many >= 0 and bundle.pool == last
            for bundle, many in zip(self._cuts.bundles, bundles, strict=True)
        ):
            return
        changed = (*nodes[:last], nodes[last] + 1, *nodes[last + 1 :])
        cents = self._cost(changed)
        if cents is not None and cents <= self._most and self._obeys(changed, bundles, 0):
            heapq.heappush(self._queue, (cents, changed, bundles))

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
            self._look()
            points = self._points(self._windows.pop())
            if points is None:
                return False
            self._rest = _read(*points, len(self._offers))
            self._next = next(self._rest, None)
            if self._filled():
                return True
        return False

    def _points(self, window: int) -> tuple[NDArray[np.int64], Floats] | None:
        """Points that cost no more than a window beyond the bound; the best where they are many.

        Where bundles are left open, a node counts with the best of them, and of each choice in the
        dearer pools only the least of the last is listed.
        """
        need = self._need - self._stacked.gain @ self._owned
        bounds = np.maximum(need, 0.0) * self._rates.least[:, 0]
        bound = float(bounds.max(initial=0.0))
        if bound >= _NEVER:
            return None
        self._most = bound + window * self._step + 1
        self._high = np.full(len(self._offers), _NEVER)
        if bound:
            cut = int(bounds.argmax())
            rates = self._rates
            dearer = rates.prices - rates.least[cut, 0] * rates.worth[cut]
            self._high = (self._most - bound) / np.maximum(dearer, _TOLERANCE) + 1
        points = self._within(need)
        self._single = points is None
        return self._best() if points is None else points

    def _best(self) -> tuple[NDArray[np.int64], Floats] | None:
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
            meaning.append((len(self._offers) + number, 0))
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
        point = np.zeros((1, len(self._offers) + len(self._cuts.bundles)), dtype=np.int64)
        cents = 0
        for (place, price), value in zip(meaning, solved.values, strict=True):
            point[0, place] += round(value)
            cents += price * round(value)
        return point, np.array([float(cents)])

    def _within(self, need: Floats) -> tuple[NDArray[np.int64], Floats] | None:
        """Points that cost no more than is listed; None where they are too many at once."""
        pools, least, most = self._rates.pools, self._rates.least, self._most
        left, costs = need[None, :], np.zeros(1)
        chosen = np.full((1, len(self._offers) + len(self._cuts.bundles)), -1, dtype=np.int64)
        chosen[:, : len(self._offers)] = 0
        for at, pool in enumerate(pools):
            table = self._table(pool)
            if table is None:
                return None
            ways = self._bundled(at, need, table)
            if ways is None and at + 1 == len(pools):
                return self._closed(chosen, costs, left, table)
            ways = ways or self._enough(at, need, table)
            totals = costs[:, None] + ways.costs
            if totals.size > _MOST_STATES:
                return None
            states, way = np.nonzero(totals <= most)
            if len(states) * len(need) > _MOST_STATES:
                return None
            left, costs = left[states] - ways.gives[way], totals[states, way]
            short = np.maximum(left - _TOLERANCE, 0.0) * least[:, at + 1]
            kept = costs + short.max(axis=1, initial=0.0) <= most
            left, costs, chosen = left[kept], costs[kept], chosen[states[kept]]
            chosen[:, ways.columns] = ways.taken[way[kept]]
        obeys = (left <= _TOLERANCE).all(axis=1)
        return chosen[obeys], costs[obeys]

    def _closed(
        self, chosen: NDArray[np.int64], costs: Floats, left: Floats, table: Floats
    ) -> tuple[NDArray[np.int64], Floats]:
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

    def _bundled(self, at: int, need: Floats, table: Floats) -> _Ways | None:
        """Ways to take nodes of a pool, bundles told apart; None where none are, or too many."""
        pool, bundles = self._rates.pools[at], self._cuts.bundles
        bundled = tuple(number for number in sorted(self._divided) if bundles[number].pool == pool)
        if not bundled:
            return None
        nodes = self._enough(at, need, table).taken[:, 0]
        low, high = (int(nodes[0]), int(nodes[-1])) if len(nodes) else (0, -1)
        total = high + self._cuts.owned[pool]
        listed = prod(total // bundles[number].size + 1 for number in bundled) * (high + 1)
        if listed > _MOST_LISTED:
            return None
        ways = self._enough(at, need, table[: high + 1], bundled, low)
        return ways if len(ways.costs) <= _MOST_WAYS else None

    def _enough(
        self, at: int, need: Floats, table: Floats, bundled: tuple[int, ...] = (), low: int = 0
    ) -> _Ways:
        """Those that the other pools may add enough to."""
        pool, rates = self._rates.pools[at], self._rates
        sizes = tuple(self._cuts.bundles[number].size for number in bundled)
        many = 1 << len(table).bit_length()
        taken, gives = _ways(rates, pool, bundled, sizes, self._cuts.owned[pool], many)
        begin, end = np.searchsorted(taken[:, 0], (low, len(table)))
        taken, gives = taken[begin:end], gives[begin:end]
        costs = table[taken[:, 0]]
        short = np.maximum(need - _TOLERANCE - gives, 0.0) * rates.others[at]
        enough = costs + short.max(axis=1, initial=0.0) <= self._most
        columns = [pool, *(len(self._offers) + number for number in bundled)]
        return _Ways(costs[enough], taken[enough], gives[enough], columns)

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


def _read(points: NDArray[np.int64], costs: Floats, pools: int) -> Iterator[_Entry]:
    """Points by cost."""
    for at in np.lexsort((*points.T[::-1], costs)):
        row = points[at].tolist()
        yield int(costs[at]), tuple(row[:pools]), tuple(row[pools:])


@dataclass(frozen=True, slots=True)
class _Ways:
    """Ways to take nodes of a pool."""

    costs: Floats
    taken: NDArray[np.int64]
    """Nodes, and bundles that are told apart."""
    gives: Floats
    """What they are worth, by cut."""
    columns: list[int]
    """Where a point states what is taken."""


@dataclass(frozen=True, eq=False, slots=True)
class _Rates:
    """What cuts ask for, in cents."""

    stacked: Stacked
    pools: list[int]
    """Those on offer, the dearest first."""
    prices: Floats
    worth: Floats
    """By cut and pool: of a node, with the best bundle."""
    least: Floats
    """By cut and pool on offer: what a unit costs there, or in any that is less dear."""
    others: list[Floats]
    """By pool on offer: what a unit costs in all others, by cut."""


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
    others = [np.delete(rates, at, axis=1).min(axis=1) for at in range(len(pools))]
    return _Rates(stacked, pools, prices, worth, least, others)


@lru_cache(maxsize=64)
def _ways(
    rates: _Rates,
    pool: int,
    bundled: tuple[int, ...],
    sizes: tuple[int, ...],
    owned: int,
    many: int,
) -> tuple[NDArray[np.int64], Floats]:
    """Fewer than so many nodes of a pool, bundled in all ways, and what they are worth by cut."""
    if not bundled:
        nodes = np.arange(many, dtype=np.int64)
        return nodes[:, None], np.outer(nodes, rates.worth[:, pool])
    total = many - 1 + owned
    grid = np.array(list(product(*(range(total // size + 1) for size in sizes))), dtype=np.int64)
    held = grid @ np.array(sizes)
    nodes, ways = np.nonzero(held[None, :] <= np.arange(many)[:, None] + owned)
    taken = np.column_stack((nodes, grid[ways]))
    stacked = rates.stacked
    worth = np.column_stack((stacked.nodes[:, pool], stacked.bundles[:, bundled]))
    return taken, taken @ worth.T - owned * stacked.gain[:, pool]
