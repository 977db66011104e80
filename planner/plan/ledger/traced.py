"""A number together with the sum over plan.json that gives it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NOTHING", "Traced", "total"]

_SUM, _PRODUCT, _ATOM = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Traced:
    """A number in the unit of plan.json (cents, W, MB, GPUs) and where it comes from.

    `sum` names figures of plan.json by their place, such as `costs[0].cents[2]`, joined by
    `+ - * /`, `sum()`, `count()`, `min()` and `max()`: anyone can do it again.
    """

    value: Fraction
    sum: str
    binds: int = _ATOM
    """How tightly the sum's last operation binds, to set brackets."""

    def __add__(self, other: Traced) -> Traced:
        """Add, leaving out what is no term."""
        if self is NOTHING or other is NOTHING:
            return other if self is NOTHING else self
        return Traced(self.value + other.value, f"{self.sum} + {other.sum}", _SUM)

    def __sub__(self, other: Traced) -> Traced:
        """Subtract."""
        if other is NOTHING:
            return self
        return Traced(self.value - other.value, f"{self.sum} - {other.within(_PRODUCT)}", _SUM)

    def __mul__(self, other: Traced) -> Traced:
        """Multiply."""
        formula = f"{self.within(_PRODUCT)} * {other.within(_PRODUCT)}"
        return Traced(self.value * other.value, formula, _PRODUCT)

    def __truediv__(self, other: Traced) -> Traced:
        """Divide; ZeroDivisionError where there is nothing to divide by."""
        formula = f"{self.within(_PRODUCT)} / {other.within(_ATOM)}"
        return Traced(self.value / other.value, formula, _PRODUCT)

    def within(self, binds: int) -> str:
        """The sum, in brackets where its surroundings bind more tightly."""
        return self.sum if self.binds >= binds else f"({self.sum})"


NOTHING = Traced(Fraction(0), "0")
"""The empty sum."""


def total(terms: Iterable[Traced]) -> Traced:
    """All of them together."""
    found = NOTHING
    for term in terms:
        found += term
    return found
