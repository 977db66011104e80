"""Inequalities on node counts that every plan obeys, whatever the counts of units.

A dual solution of the counting program, whatever it was solved for, says what nodes have to be
worth: `nodes · acquired + bundles · m >= asked · d + least` holds for all counts d. Nodes are
whole: where all factors are multiples of one part, so is what they are asked to be worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from planner.packing.solvers.program import Program
from planner.packing.solvers.warm import WarmLinear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Bundle", "NodeCut", "NodeCuts", "Stacked"]

_PARTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 48)
"""What factors are multiples of one part of, mostly."""
_EXACT, _ROUNDING = 1e-11, 1e-6
"""What arithmetic may have made of a factor, and of a sum."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Nodes of a pool that one piece takes as a whole, so many together."""

    pool: int
    size: int


@dataclass(frozen=True, slots=True)
class NodeCut:
    """`nodes · acquired + bundles · m >= asked · d + least`."""

    nodes: Floats
    """By pool: of one node acquired."""
    bundles: Floats
    """By bundle: more, or less, where its nodes are taken together."""
    asked: Floats
    """By demand: of one unit."""
    least: float
    parts: int = 0
    """All factors are whole multiples of one such part; 0: of none that is known."""


class NodeCuts:
    """Inequalities that every plan obeys, as one matrix."""

    def __init__(self, owned: Sequence[int], bundles: Sequence[Bundle]) -> None:
        """`owned` nodes by pool come on top of those that a cut counts."""
        self.owned, self.bundles = tuple(owned), tuple(bundles)
        self.divided: frozenset[int] = frozenset()
        """Bundles that are told apart from single nodes; with all of them there are many points."""
        self._cuts: list[NodeCut] = []
        self._sums = np.zeros((0, 0))
        """By sum: how often each of the first cuts counts."""
        self._stacked: Stacked | None = None

    def __len__(self) -> int:
        return len(self._cuts)

    def add(self, cut: NodeCut) -> None:
        """State a cut; its largest factor becomes 1."""
        factors = np.append(cut.nodes, cut.bundles)
        scale = float(np.abs(factors).max(initial=0.0))
        if scale:
            factors, parts = _in_parts(factors / scale)
            nodes, bundles = np.split(factors, [len(cut.nodes)])
            self._cuts.append(NodeCut(nodes, bundles, cut.asked / scale, cut.least / scale, parts))
            self._stacked = None

    def drop(self, number: int) -> None:
        """Drop one."""
        del self._cuts[number]
        self._stacked = None

    def forget(self, after: int) -> None:
        """Drop all but the first so many."""
        if len(self._cuts) > after:
            del self._cuts[after:]
            self._stacked = None

    def sum_up(self, drawn: Sequence[Sequence[int]], prices: Sequence[float]) -> None:
        """Keep sums of the cuts of now: those that bound the cost of such counts best.

        `prices` are those of a node by pool, infinite where none is on offer.
        """
        stacked, many = self.stacked(), len(self._cuts)
        linear = WarmLinear(self._relaxed(stacked, prices))
        sums: dict[bytes, Floats] = {}
        for asked in drawn:
            linear.begin()
            linear.ask(np.arange(many, dtype=np.int32), stacked.need(np.array(asked, float)))
            solved = linear.solve()
            if solved is not None:
                shares = np.round(np.maximum(solved[1][:many], 0.0), 6)
                sums[shares.tobytes()] = shares
        self._sums = np.array(list(sums.values())).reshape(-1, many)
        self._stacked = None

    def _relaxed(self, stacked: Stacked, prices: Sequence[float]) -> Program:
        """Nodes in fractions, with what they are worth beyond each cut, and which are bundled."""
        program = Program()
        for price in prices:
            open_ = isfinite(price)
            program.variable("nodes", cost=price if open_ else 0.0, upper=None if open_ else 0.0)
        bundles = [program.variable("bundles") for _ in self.bundles]
        for worth in np.hstack((stacked.nodes, stacked.bundles)):
            program.row(
                "cut", {**dict(enumerate(worth.tolist())), program.variable("more"): -1.0}, "==", 0
            )
        for pool, owned in enumerate(self.owned):
            taken = {
                column: float(bundle.size)
                for column, bundle in zip(bundles, self.bundles, strict=True)
                if bundle.pool == pool
            }
            program.row("bundles", {pool: -1.0, **taken}, "<=", owned)
        return program

    def stacked(self) -> Stacked:
        """All cuts, a row each, and below them the sums of some."""
        if self._stacked is None:
            many, sums = len(self._cuts), self._sums
            nodes = np.array([cut.nodes for cut in self._cuts]).reshape(many, len(self.owned))
            bundles = np.array([cut.bundles for cut in self._cuts]).reshape(many, len(self.bundles))
            nodes = np.vstack((nodes, sums @ nodes[: sums.shape[1]]))
            bundles = np.vstack((bundles, sums @ bundles[: sums.shape[1]]))
            gain = np.zeros_like(nodes)
            for number, bundle in enumerate(self.bundles):
                each = np.maximum(bundles[:, number], 0.0) / bundle.size
                np.maximum(gain[:, bundle.pool], each, out=gain[:, bundle.pool])
            self._stacked = Stacked(
                nodes,
                bundles,
                gain,
                np.array([cut.asked for cut in self._cuts]),
                np.array([cut.least for cut in self._cuts]),
                np.array([cut.parts for cut in self._cuts]),
                sums,
            )
        return self._stacked


@dataclass(frozen=True, slots=True)
class Stacked:
    """Cuts as matrices."""

    nodes: Floats
    bundles: Floats
    gain: Floats
    """By pool: what a node may count more for, with the best bundle."""
    asked: Floats
    least: Floats
    parts: NDArray[np.int64]
    sums: Floats

    def need(self, asked: Floats) -> Floats:
        """What nodes have to be worth for these counts, by cut and by sum of cuts."""
        if not len(self.parts):
            return np.zeros(0)
        need, parts = self.asked @ asked + self.least, self.parts
        whole = np.ceil(need * parts - _ROUNDING) / np.maximum(parts, 1)
        need = np.where(parts > 0, whole, need)
        return np.append(need, self.sums @ need[: self.sums.shape[1]])


def _in_parts(factors: Floats) -> tuple[Floats, int]:
    """Factors, and the part that they are multiples of."""
    for parts in _PARTS:
        whole = np.rint(factors * parts)
        if np.abs(factors * parts - whole).max() <= _EXACT:
            return whole / parts, parts
    return factors, 0
