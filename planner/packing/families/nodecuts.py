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
_NO_SUMS = np.zeros((0, 0))


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


class Stacked:
    """Cuts as matrices, a row each, and after the first of them some of their sums."""

    def __init__(self, rows: Floats, pools: int, bundles: int, sums: Floats) -> None:
        """`rows` have what follows side by side; `sums` say how often a cut counts in each."""
        widths = np.cumsum([pools, bundles, pools, 1, 1])
        self.nodes, self.bundles, self.gain, least, parts, self.asked = np.split(rows, widths, 1)
        """The gain is, by pool, what a node may count more for, with the best bundle."""
        self.least, self.parts = least[:, 0], parts[:, 0]
        self.rows, self.sums = rows, sums

    def __len__(self) -> int:
        return len(self.rows)

    def need(self, asked: Floats) -> Floats:
        """What nodes have to be worth for these counts, by row."""
        need, parts = self.asked @ asked + self.least, self.parts
        whole = np.ceil(need * parts - _ROUNDING) / np.maximum(parts, 1.0)
        need = np.where(parts > 0, whole, need)
        sums, many = self.sums.shape
        if sums:
            need[many : many + sums] = self.sums @ need[:many]
        return need


class NodeCuts:
    """Inequalities that every plan obeys."""

    def __init__(self, owned: Sequence[int], bundles: Sequence[Bundle], demands: int) -> None:
        """`owned` nodes by pool come on top of those that a cut counts."""
        self.owned, self.bundles = tuple(owned), tuple(bundles)
        self.divided: frozenset[int] = frozenset()
        """Bundles that are told apart from single nodes; with all of them there are many points."""
        width = 2 * len(self.owned) + len(self.bundles) + 2 + demands
        self.stacked = self._stacked(np.zeros((0, width)), _NO_SUMS)
        self._settled = self.stacked, self.divided

    def __len__(self) -> int:
        return len(self.stacked)

    def add(self, cut: NodeCut) -> None:
        """State a cut; its largest factor becomes 1."""
        factors = np.append(cut.nodes, cut.bundles)
        scale = float(np.abs(factors).max(initial=0.0))
        if scale:
            factors, parts = _in_parts(factors / scale)
            last = np.append([cut.least / scale, parts], cut.asked / scale)
            self._add(factors[None, :], last[None, :], self.stacked.sums)

    def drop(self, number: int) -> None:
        """Drop one, and all sums."""
        self._cuts_alone()
        rows = self.stacked.rows
        self.stacked = self._stacked(np.vstack((rows[:number], rows[number + 1 :])), _NO_SUMS)

    def settle(self) -> None:
        """Keep what is known by now for good."""
        self._settled = self.stacked, self.divided

    def forget(self) -> None:
        """Drop what was added since then."""
        self.stacked, self.divided = self._settled

    def sum_up(self, drawn: Sequence[Sequence[int]], prices: Sequence[float]) -> None:
        """Add sums of the cuts of now, in place of others: those that bound such counts best.

        `prices` are those of a node by pool, infinite where none is on offer.
        """
        self._cuts_alone()
        many = len(self)
        if not many:
            return
        linear = WarmLinear(self._relaxed(prices))
        found: dict[bytes, Floats] = {}
        for asked in drawn:
            linear.begin()
            need = self.stacked.need(np.array(asked, dtype=np.float64))
            linear.ask(np.arange(many, dtype=np.int32), need.tolist())
            solved = linear.solve()
            shares = np.zeros(0) if solved is None else np.maximum(solved[1][:many], 0.0).round(6)
            if shares.any():
                found[shares.tobytes()] = shares
        sums = np.array(list(found.values())).reshape(-1, many)
        worth = np.hstack((self.stacked.nodes, self.stacked.bundles))
        sums /= np.abs(sums @ worth).max(axis=1, keepdims=True, initial=_EXACT)
        self._add(sums @ worth, np.zeros((len(sums), 2 + self.stacked.asked.shape[1])), sums)

    def _cuts_alone(self) -> None:
        sums, many = self.stacked.sums.shape
        rows = np.delete(self.stacked.rows, slice(many, many + sums), 0)
        self.stacked = self._stacked(rows, _NO_SUMS)

    def _relaxed(self, prices: Sequence[float]) -> Program:
        """Nodes in fractions, with what they are worth beyond each cut, and which are bundled."""
        program = Program()
        for price in prices:
            open_ = isfinite(price)
            program.variable("nodes", cost=price if open_ else 0.0, upper=None if open_ else 0.0)
        bundles = [program.variable("bundles") for _ in self.bundles]
        for worth in np.hstack((self.stacked.nodes, self.stacked.bundles)):
            beyond = {program.variable("beyond"): -1.0}
            program.row("cut", {**dict(enumerate(worth.tolist())), **beyond}, "==", 0.0)
        for pool, owned in enumerate(self.owned):
            taken = {
                column: float(bundle.size)
                for column, bundle in zip(bundles, self.bundles, strict=True)
                if bundle.pool == pool
            }
            program.row("bundles", {pool: -1.0, **taken}, "<=", owned)
        return program

    def _add(self, factors: Floats, last: Floats, sums: Floats) -> None:
        """Add rows: the factors of nodes and then of bundles, and what comes after the gain."""
        pools = len(self.owned)
        gain = np.zeros((len(factors), pools))
        for number, bundle in enumerate(self.bundles):
            each = np.maximum(factors[:, pools + number], 0.0) / bundle.size
            np.maximum(gain[:, bundle.pool], each, out=gain[:, bundle.pool])
        rows = np.vstack((self.stacked.rows, np.hstack((factors, gain, last))))
        self.stacked = self._stacked(rows, sums)

    def _stacked(self, rows: Floats, sums: Floats) -> Stacked:
        return Stacked(rows, len(self.owned), len(self.bundles), sums)


def _in_parts(factors: Floats) -> tuple[Floats, int]:
    """Factors, and the part that they are multiples of."""
    for parts in _PARTS:
        whole = np.rint(factors * parts)
        if np.abs(factors * parts - whole).max() <= _EXACT:
            return whole / parts, parts
    return factors, 0
