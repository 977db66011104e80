"""Layouts of whole units on given nodes: first-fit, or patterns met beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.packing.families.known import KnownPatterns
from planner.packing.layouts.cutting import Cut
from planner.packing.layouts.packed import Packed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from planner.packing.counting.counts import PoolInQuarter
    from planner.packing.found import Found

    Layouts = dict[PoolInQuarter, Packed]

__all__ = ["Housing"]


class Housing:
    """Layouts for the problems of one family."""

    def __init__(self, root: Found) -> None:
        """`root` is one of them. Its time is over some day; stocks of our own have no limit."""
        self._root = root
        own = {id(stock): stock.begun(stock.patterns()) for stock in root.stocks.values()}
        self._stocks = {pool: own[id(stock)] for pool, stock in root.stocks.items()}
        self._load = {key: _load(root, key) for key in root.counts.usages}
        """By pool and quarter: what a variable adds to each shape that shares nodes, and to nodes
        that are left for them; and those that are there without any."""
        self.cuts: dict[tuple[int, Cut], None] = {}
        """By pool: what units that were not laid out violate."""
        self._known: dict[int, KnownPatterns] = {}

    def learn(self, values: tuple[float, ...]) -> None:
        """Look for patterns that hold these units, or for cuts that they violate."""
        for key, asked, nodes in self._asked(values):
            packed = self._stocks[key[0]].pack(asked, max(nodes, 0))
            if isinstance(packed, Cut):
                self.cuts[key[0], packed] = None

    def settle(self, values: tuple[float, ...]) -> None:
        """From now on use the patterns met so far, and no others."""
        made: dict[int, KnownPatterns] = {}
        for key, asked, _ in self._asked(values):
            pool = key[0]
            stock = self._stocks[pool]
            if id(stock) not in made:
                made[id(stock)] = KnownPatterns(self._root.counts.problem.pools[pool].node, stock)
                made[id(stock)].keep(asked)
            self._known[pool] = made[id(stock)]

    def laid_out(self, values: tuple[float, ...]) -> Layouts | None:
        """Whole units on the nodes of these values; None where no layout is quickly found."""
        packings: Layouts = {}
        for key, asked, nodes in self._asked(values):
            packed = self._quickly(key[0], asked, nodes)
            if packed is None:
                return None
            packings[key] = packed
        return packings

    def searched(self, values: tuple[float, ...]) -> tuple[Layouts | None, list[tuple[int, Cut]]]:
        """The same with other patterns, too, and cuts that the units violate."""
        packings: Layouts = {}
        cuts: list[tuple[int, Cut]] = []
        for key, asked, nodes in self._asked(values):
            packed = self._quickly(key[0], asked, nodes)
            found = packed or self._known[key[0]].searched(asked, nodes)
            if isinstance(found, Packed):
                packings[key] = found
            elif found is not None:
                cuts.append((key[0], found))
        return packings if len(packings) == len(self._load) else None, cuts

    def _quickly(self, pool: int, asked: list[int], nodes: int) -> Packed | None:
        if nodes < 0:
            return None
        packed = self._known[pool].quickly(asked, nodes)
        if packed is None:
            packed = self._known[pool].laid_out(asked, nodes)
        return None if packed is None else Packed(tuple(packed))

    def _asked(self, values: tuple[float, ...]) -> Iterator[tuple[PoolInQuarter, list[int], int]]:
        """By pool and quarter: units by shape that share nodes, and the nodes left for them."""
        array = np.array(values)
        for key, (matrix, owned) in self._load.items():
            *asked, nodes = np.rint(matrix @ array).astype(int).tolist()
            yield key, asked, nodes + owned


def _load(root: Found, key: PoolInQuarter) -> tuple[NDArray[np.float64], int]:
    counts, shapes = root.counts, root.shapes[key[0]]
    matrix = np.zeros((len(shapes) + 1, len(counts.program.variables)))
    terms, owned = counts.usable_nodes(*key)
    for index, factor in terms.items():
        matrix[-1, index] += factor
    for usage in counts.usages[key]:
        row = matrix[-1] if usage.span else matrix[shapes.index(usage.shape)]
        for index, factor in usage.terms:
            row[index] += -usage.span * factor if usage.span else factor
    return matrix, owned
