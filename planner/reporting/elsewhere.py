"""Figures of a file other than plan.json, each with its place there."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from planner.planning.ledger.traced import FigureReader
from planner.reporting.document import Figure

if TYPE_CHECKING:
    from planner.inputs.base import Frozen
    from planner.planning.ledger.traced import TracedFigure
    from planner.reporting.format import Style

__all__ = ["Elsewhere"]


class Elsewhere:
    """Figures of a file that lies beside plan.json; their sums begin with its name."""

    def __init__(self, found: Frozen, file: str, trace: str) -> None:
        self.read = FigureReader(found)
        self._file = file
        self._trace = trace

    def figure(self, traced: TracedFigure, style: Style) -> Figure:
        """A figure for a table."""
        return Figure(traced.value, style, f"{self._file}: {traced.sum}", self._trace)

    def at(self, place: str, style: Style) -> Figure:
        """The figure that stands at a place of the file."""
        return self.figure(self.read.at(place), style)

    def day(self, iso: str, place: str) -> Figure:
        """A day that stands at a place of the file."""
        return Figure(date.fromisoformat(iso), "day", f"{self._file}: {place}", self._trace)
