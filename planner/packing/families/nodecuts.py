"""Inequalities on node counts that every plan obeys, whatever the counts of units.

A dual solution of the counting program, whatever it was solved for, says what nodes have to be
worth: `nodes · acquired + bundles · m >= asked · d + least` holds for all counts d. Nodes are
whole: where all factors are multiples of one part, so is what they are asked to be worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

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

    def stacked(self) -> Stacked:
        """All cuts, a row each."""
        if self._stacked is None:
            many = len(self._cuts)
            nodes = np.array([cut.nodes for cut in self._cuts]).reshape(many, len(self.owned))
            bundles = (
                np.array([cut.bundles for cut in self._cuts]).reshape(many, -1)
                if many
                else np.zeros((0, len(self.bundles)))
            )
            gain = np.zeros_like(nodes)
            for number, bundle in enumerate(self.bundles):
                each = np.maximum(bundles[:, number], 0.0) / bundle.size
                np.maximum(gain[:, bundle.pool], each, out=gain[:, bundle.pool])
            self._stacked = Stacked(
                nodes,
                bundles,
                np.array([cut.asked for cut in self._cuts]),
                np.array([cut.least for cut in self._cuts]),
                np.array([cut.parts for cut in self._cuts]),
                gain,
            )
        return self._stacked


@dataclass(frozen=True, slots=True)
class Stacked:
    """Cuts as matrices."""

    nodes: Floats
    bundles: Floats
    asked: Floats
    least: Floats
    parts: NDArray[np.int64]
    gain: Floats
    """By pool: what a node may count more for, with the best bundle."""

    def need(self, asked: Floats) -> Floats:
        """What nodes have to be worth for these counts, by cut."""
        need = self.asked @ asked + self.least
        return np.where(
            self.parts, np.ceil(need * self.parts - _ROUNDING) / np.maximum(self.parts, 1), need
        )


def _in_parts(factors: Floats) -> tuple[Floats, int]:
    """Factors, and the part that they are multiples of."""
    for parts in _PARTS:
        whole = np.rint(factors * parts)
        if np.abs(factors * parts - whole).max() <= _EXACT:
            return whole / parts, parts
    return factors, 0
