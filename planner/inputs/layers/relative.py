"""Changes that are relative: `+15%` and `-8` move the figure that is there, `*` is every name.

A share (`growth_per_quarter`, `headroom`) is set as a whole: `+2%` of one could mean two points
more or a fiftieth more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.reading.document import Document, Path

__all__ = ["EVERY", "RelativeChange", "matching", "move_written"]

EVERY = "*"
_WRITTEN = re.compile(r"([+-][0-9]{1,15}(?:\.[0-9]{1,20})?)\s*(%?)")
_DIGITS = Decimal("0.000001")


@dataclass(frozen=True, slots=True)
class RelativeChange:
    """By how much a figure is moved."""

    text: str
    """As written: `+15%`."""
    by: Decimal
    """The percentage where `percent`, else in the figure's own unit."""
    percent: bool

    def of(self, value: Decimal | int, *, whole: bool) -> Decimal | int:
        """The figure after it, to six decimals; a percentage of a whole figure is rounded."""
        exact = Fraction(value) * (1 + Fraction(self.by) / 100 if self.percent else 1)
        exact += 0 if self.percent else Fraction(self.by)
        if exact.denominator == 1 or (whole and self.percent):
            return round(exact)
        decimal = Decimal(exact.numerator) / Decimal(exact.denominator)
        return decimal.quantize(_DIGITS).normalize()


def move_written(document: Document, path: Path) -> RelativeChange | None:
    """What is written at a path with a sign in front; None for everything else.

    Numbers lose their sign where YAML reads them, so the text decides.
    """
    value: Any = document.value(path)
    text = value if isinstance(value, str) else document.written(path)
    written = _WRITTEN.fullmatch(text.strip()) if text and not isinstance(value, bool) else None
    if written is None or isinstance(value, dict | tuple):
        return None
    return RelativeChange(f"{written[1]}{written[2]}", Decimal(written[1]), bool(written[2]))


def matching(data: object, pattern: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Every path that a pattern such as `offers.*.price_usd` stands for, in the file's order.

    A name in place of `*` is one that is stated; what follows the last of them need not be.
    """
    paths: list[tuple[str, ...]] = [()]
    for part in pattern:
        paths = [
            (*path, name)
            for path in paths
            for name in (_names(data, path) if part == EVERY else (part,))
        ]
    yield from paths


def _names(data: Any, path: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ANN401 - what files hold
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    return tuple(data) if isinstance(data, dict) else ()
