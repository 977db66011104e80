"""The bars of bars.yaml: what a figure must reach, and what it has reached and must hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from benchmarks.accuracy.origins import HERE
from planner.inputs.base import Frozen, Number
from planner.inputs.reading.diagnostics import validate
from planner.inputs.reading.reader import read_document

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BARS_FILE", "Bar", "Bars", "Verdict", "judge", "read_bars"]

BARS_FILE: Final = "bars.yaml"


class Bar(Frozen):
    """One figure's bar; either at most or at least."""

    at_most: Number | None = None
    """Target where less is better."""
    at_least: Number | None = None
    """Target where more is better."""
    holds: Number
    """What was reached, rounded to the worse side; anything worse is a regression."""


class Bars(Frozen):
    """The file."""

    bars: Annotated[dict[str, Bar], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One figure against its bar."""

    name: str
    figure: float
    bar: Bar

    @property
    def met(self) -> bool:
        """Whether the target is reached."""
        return self._within(self.bar.at_most, self.bar.at_least)

    @property
    def held(self) -> bool:
        """Whether the figure is no worse than it was; a figure that is missing is worse."""
        holds = self.bar.holds
        return self._within(*((holds, None) if self.bar.at_most is not None else (None, holds)))

    def _within(self, most: Any, least: Any) -> bool:  # noqa: ANN401 - exact or binary figures
        if most is not None:
            return self.figure <= float(most)
        return least is None or self.figure >= float(least)


def read_bars() -> dict[str, Bar]:
    """Read the bars; raises InputError."""
    path = HERE / BARS_FILE
    return validate(read_document(path, shown_as=f"benchmarks/accuracy/{BARS_FILE}"), Bars).bars


def judge(figures: Mapping[str, float], bars: Mapping[str, Bar]) -> list[Verdict]:
    """Hold every figure that has a bar against it; a bar without a figure counts as missed."""
    return [Verdict(name, figures.get(name, float("nan")), bar) for name, bar in bars.items()]
