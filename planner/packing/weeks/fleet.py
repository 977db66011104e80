"""The nodes that units are seated on by ejection: fewer, one by one, as long as all still fit.

A node that was counted may be given up, or be replaced by a cheaper offer of the same pool that
comes later or lasts less long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing.counting.limits import within_limits
from planner.packing.counting.procure import acquirable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from planner.packing.counting.counts import Counts
    from planner.packing.weeks.ejection import Ejection

__all__ = ["Fleet"]

Offer = tuple[int, int]
"""Supply and quarter of entry."""


class Fleet:
    """Acquired nodes, and the units on them."""

    def __init__(self, counts: Counts, values: tuple[float, ...], ejection: Ejection) -> None:
        """`values` are of a counted plan whose nodes `ejection` has."""
        self._counts, self._problem = counts, counts.problem
        self.ejection = ejection
        self.values = [
            value if index in counts.unit_variables else float(round(value))
            for index, value in enumerate(values)
        ]

    def shrink(self, settle: Callable[[Ejection], bool], go_on: Callable[[], bool]) -> None:
        """Give nodes up, or take them later or for less long, as long as all units `settle`."""
        tried: set[tuple[Offer, Offer | None]] = set()
        while go_on():
            open_to = [entry for entry in self._savings() if entry[1:] not in tried]
            if not open_to:
                return
            _, old, new = max(open_to, key=lambda entry: (entry[0], entry[1]))
            if self._without(old, new, settle):
                tried.clear()
            tried.add((old, new))

    def _without(self, old: Offer, new: Offer | None, settle: Callable[[Ejection], bool]) -> bool:
        """Whether all find a seat with one node less of an offer, and one more of another."""
        gone = set(self._served(old)) - set(self._served(new) if new else ())
        if any(not self.ejection.nodes(key) for key in gone):
            return False
        values, fewer = list(self.values), self.ejection.copy()
        self._take(old, -1)
        if new:
            self._take(new, 1)
        if self._allowed():
            for key in sorted(gone):
                fewer.remove(key)
            if settle(fewer):
                self.ejection = fewer
                return True
        self.values = values
        return False

    def _savings(self) -> Iterator[tuple[float, Offer, Offer | None]]:
        """What is saved by one node less of an offer, alone or with one more of another."""
        offers = self._counts.acquire
        cost = {offer: self._counts.program.variables[at].cost for offer, at in offers.items()}
        for old, index in offers.items():
            if self.values[index] < 1:
                continue
            served = set(self._served(old))
            if cost[old] > 0:
                yield cost[old], old, None
            for new in offers:
                if new != old and cost[new] < cost[old] and served > set(self._served(new)):
                    yield cost[old] - cost[new], old, new

    def _allowed(self) -> bool:
        return acquirable(self._counts, self.values) and within_limits(self._counts, self.values)

    def _take(self, offer: Offer, nodes: int) -> None:
        self.values[self._counts.acquire[offer]] += nodes
        for key in self._served(offer):
            if key in self._counts.usable:
                self.values[self._counts.usable[key]] += nodes

    def _served(self, offer: Offer) -> list[tuple[int, int]]:
        """Pools and quarters in which a node of an offer may run units."""
        supply = self._problem.supplies[offer[0]]
        return [
            (supply.pool, quarter)
            for quarter in supply.served(offer[1])
            if (supply.pool, quarter) in self._counts.usages
        ]
