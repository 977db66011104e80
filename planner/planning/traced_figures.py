"""Traced figures: numbers with their formulas over plan.json, and the reader of plan.json."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from planner.inputs.base import Frozen

_SUM, _PRODUCT, _ATOM = 0, 1, 2


@dataclass(frozen=True, slots=True)
class TracedFigure:
    """A number in the unit of plan.json (cents, W, MB, GPUs), and the formula that gives it.

    `sum` names figures of plan.json by their place, such as `costs[0].cents[2]`, joined by `+ -
    * /`, `sum()`, `count()`, `min()` and `max()`, so that anyone can recompute it.
    """

    value: Fraction
    sum: str
    binds: int = _ATOM
    """The precedence of the formula's last operation, which decides about brackets."""

    def __add__(self, other: TracedFigure) -> TracedFigure:
        """Add two figures; a figure without a formula is left out."""
        if self is NOTHING or other is NOTHING:
            return other if self is NOTHING else self
        return TracedFigure(self.value + other.value, f"{self.sum} + {other.sum}", _SUM)

    def __sub__(self, other: TracedFigure) -> TracedFigure:
        """Subtract."""
        if other is NOTHING:
            return self
        return TracedFigure(
            self.value - other.value, f"{self.sum} - {other.within(_PRODUCT)}", _SUM
        )

    def __mul__(self, other: TracedFigure) -> TracedFigure:
        """Multiply."""
        formula = f"{self.within(_PRODUCT)} * {other.within(_PRODUCT)}"
        return TracedFigure(self.value * other.value, formula, _PRODUCT)

    def __truediv__(self, other: TracedFigure) -> TracedFigure:
        """Divide; raises ZeroDivisionError if the divisor is 0."""
        formula = f"{self.within(_PRODUCT)} / {other.within(_ATOM)}"
        return TracedFigure(self.value / other.value, formula, _PRODUCT)

    def within(self, binds: int) -> str:
        """Return the formula, in brackets if the surrounding operation binds more tightly."""
        return self.sum if self.binds >= binds else f"({self.sum})"


NOTHING = TracedFigure(Fraction(0), "0")
"""The empty sum."""


def total(terms: Iterable[TracedFigure]) -> TracedFigure:
    """Return the sum of the figures."""
    found = NOTHING
    for term in terms:
        found += term
    return found


_STEP = re.compile(r"\.?(\w+)|\[((?:\"(?:[^\"\\]|\\.)*\"|[^\]\"])*)\]")
_CONDITION = re.compile(r"\s*(\w+)=(\"(?:[^\"\\]|\\.)*\"|[^,]*)\s*(?:,|$)")
_PLAIN = re.compile(r"[\w./-]+")


def where(**conditions: str) -> str:
    """Return a filter for a list, such as `[kind=buy, quarter=2027Q1]`.

    Special names are quoted.
    """
    parts = (
        f"{key}={value if _PLAIN.fullmatch(value) else json.dumps(value)}"
        for key, value in conditions.items()
    )
    return f"[{', '.join(parts)}]"


class FigureReader:
    """Reads the figures of plan.json, or of another file of the planner, by their place.

    A place is a chain of keys. After a list, `[2]` is one entry, `[*]` all entries, and
    `[kind=buy, in_service=2027Q1]` those whose `kind` is `buy` and whose list `in_service`
    contains `2027Q1`.
    """

    def __init__(self, document: Frozen) -> None:
        self._document = document
        self._flat: dict[str, list[Any]] = {}
        self._groups: dict[tuple[str, str], dict[str, set[int]]] = {}

    def at(self, place: str) -> TracedFigure:
        """Return the one number at a place."""
        (value,) = self._numbers(place)
        return TracedFigure(value, place)

    def sum(self, place: str) -> TracedFigure:
        """Return the sum of all numbers at a place."""
        return TracedFigure(sum(self._numbers(place), Fraction(0)), f"sum({place})")

    def count(self, place: str) -> TracedFigure:
        """Return how many entries a place has."""
        return TracedFigure(Fraction(len(self._found(place))), f"count({place})")

    def _numbers(self, place: str) -> list[Fraction]:
        return [Fraction(repr(value)) for value in self._found(place)]

    def _found(self, place: str) -> list[Any]:
        found: list[Any] = [self._document]
        walked = ""
        steps = list(_STEP.finditer(place))
        if "".join(step[0] for step in steps) != place:
            raise ValueError(place)
        for key, bracket in ((step[1] or "", step[2] or "") for step in steps):
            if key:
                found = [getattr(value, key) for value in found]
            elif bracket == "*":
                found = [item for value in found for item in value]
            elif "=" in bracket:
                found = self._chosen(walked, found, _CONDITION.findall(bracket))
            else:
                # A mapping's key may be of digits alone.
                index = int(bracket) if bracket.isdecimal() else bracket
                found = [value[bracket if isinstance(value, Mapping) else index] for value in found]
            walked += f".{key}" if key else f"[{bracket}]"
        return found

    def _chosen(
        self, walked: str, lists: list[Any], conditions: Iterable[tuple[str, str]]
    ) -> list[Any]:
        """Return the list entries that meet every condition, in order.

        The entries by a key's value, or by each value of a list there, are remembered.
        """
        items = self._flat.setdefault(walked, [item for found in lists for item in found])
        fitting: list[set[int]] = []
        for key, stated in conditions:
            wanted = json.loads(stated) if stated.startswith('"') else stated
            if (walked, key) not in self._groups:
                groups = self._groups[walked, key] = defaultdict(set)
                for position, item in enumerate(items):
                    held = getattr(item, key)
                    for value in held if isinstance(held, tuple) else (held,):
                        groups[str(value)].add(position)
            fitting.append(self._groups[walked, key].get(wanted, set()))
        return [items[position] for position in sorted(set.intersection(*fitting))]
