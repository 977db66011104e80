"""Layouts on nodes of one kind from patterns that are known: a covering program, stated once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.packing.layouts.greedy import Pattern, first_fit_within, orders
from planner.packing.layouts.tight import least_slack
from planner.packing.solvers.program import Program, Row, Variable
from planner.packing.solvers.warm import WarmLinear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.packing.layouts.cutting import Cut, CuttingStock
    from planner.packing.layouts.packed import Packed
    from planner.packing.problem import Shape

__all__ = ["KnownPatterns"]

_TOLERANCE = 1e-6
_ORDERS = (2, 1)
"""Orders of first-fit: by all resources together, and by the tightest."""
_FEW_NODES, _SOME_NODES = 10, 30
"""So many are filled node by node once the rest is laid out, and where no patterns do."""


class KnownPatterns:
    """The patterns of a cutting stock, as they are now."""

    def __init__(self, node: Shape, stock: CuttingStock) -> None:
        """Patterns that the stock meets later are not used. Raises LimitError if HiGHS fails."""
        self._node, self._shapes, self._stock = node, stock.shapes, stock
        known = orders(node, stock.shapes)
        self._orders = [known[number] for number in _ORDERS]
        alone = [((index, 1),) for index in range(len(stock.shapes))]
        self._patterns: list[Pattern] = list(dict.fromkeys([*alone, *stock.patterns()]))
        self._units = np.zeros((len(stock.shapes), len(self._patterns)), dtype=np.int64)
        for column, pattern in enumerate(self._patterns):
            for index, units in pattern:
                self._units[index, column] = units
        variables = [Variable("pattern", 0.0, None, 1.0, integer=True) for _ in self._patterns]
        rows = []
        for index in range(len(stock.shapes)):
            terms = [
                (int(column), float(self._units[index, column]))
                for column in np.flatnonzero(self._units[index])
            ]
            terms.append((len(variables), -1.0))
            variables.append(Variable("more", 0.0, None, 0.0, integer=False))
            rows.append(Row("units", tuple(terms), "==", 0.0))
        self._linear = WarmLinear(Program(variables, rows)) if rows else None
        self._rows = np.arange(len(rows), dtype=np.int32)

    def keep(self, asked: Sequence[int]) -> None:
        """Let every question begin where this one would end."""
        if self._linear:
            self._linear.ask(self._rows, asked)
            self._linear.solve()
            self._linear.keep()

    def quickly(self, asked: Sequence[int], nodes: int) -> list[tuple[Pattern, int]] | None:
        """These units on at most so many nodes by first-fit; None where that takes more."""
        return first_fit_within(self._node, self._shapes, asked, nodes, self._orders)

    def laid_out(self, asked: Sequence[int], nodes: int) -> list[tuple[Pattern, int]] | None:
        """These units on at most so many nodes; None where no such layout is found.

        Whole parts of the covering program are taken, or its largest part, and what is left is
        covered anew, until first-fit finishes it.
        """
        if self._linear is None or not any(asked):
            return None if any(asked) else []
        self._linear.begin()
        left, packed, room = np.array(asked, dtype=np.int64), list[Pattern](), nodes
        while True:
            self._linear.ask(self._rows, left.tolist())
            solved = self._linear.solve()
            values = solved[0][: len(self._patterns)] if solved else np.array([np.inf])
            if values.sum() > room + _TOLERANCE:
                tight = self._tightly(asked, nodes) if nodes <= _SOME_NODES else None
                return tight and _merged(tight)
            taken = np.floor(values + _TOLERANCE).astype(np.int64)
            if not taken.any():
                taken[int(values.argmax())] = 1
            for column in np.repeat(np.arange(len(taken)), taken).tolist():
                held = [
                    (index, min(units, int(left[index]))) for index, units in self._patterns[column]
                ]
                pattern = tuple((index, units) for index, units in held if units)
                for index, units in pattern:
                    left[index] -= units
                packed += [pattern] if pattern else []
            room = nodes - len(packed)
            if room > _FEW_NODES and left.any():
                continue
            rest = self.quickly(left.tolist(), room) or self._tightly(left.tolist(), room)
            if rest is not None:
                return _merged([*((pattern, 1) for pattern in packed), *rest])

    def _tightly(self, asked: Sequence[int], nodes: int) -> list[tuple[Pattern, int]] | None:
        """The same node by node, each as full as it can be."""
        packed, over = least_slack(self._node, self._shapes, asked, nodes)
        return None if any(over) else packed

    def searched(self, asked: Sequence[int], nodes: int) -> Packed | Cut | None:
        """The same with other patterns, too: a cutting stock that begins with those known here."""
        return self._stock.begun(self._patterns).pack(asked, nodes)


def _merged(packed: Sequence[tuple[Pattern, int]]) -> list[tuple[Pattern, int]]:
    times: dict[Pattern, int] = {}
    for pattern, many in packed:
        times[pattern] = times.get(pattern, 0) + many
    return list(times.items())
