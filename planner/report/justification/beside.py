"""What stands beside a plan in its documents, and figures of files other than plan.json."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING

from planner.plan.ledger.reader import Reader
from planner.report.document import Figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.inputs.base import Frozen
    from planner.plan.ledger.traced import Traced
    from planner.plan.plan import Plan
    from planner.report.format import Style
    from planner.whatif.alternatives import Alternatives
    from planner.whatif.comparison import Comparison
    from planner.whatif.sensitivity import Sensitivity

__all__ = ["Beside", "Elsewhere"]


@dataclass(frozen=True, slots=True)
class Beside:
    """Results about the same question, as far as there are any."""

    plans: Mapping[str, Plan] = field(default_factory=lambda: MappingProxyType({}))
    """Other plans by name, to stand among the options."""
    alternatives: Alternatives | None = None
    sensitivity: Sensitivity | None = None
    since: Comparison | None = None
    """The last plan against this one."""


class Elsewhere:
    """Figures of a file that lies beside plan.json; their sums begin with its name."""

    def __init__(self, found: Frozen, file: str, trace: str) -> None:
        self.read = Reader(found)
        self._file = file
        self._trace = trace

    def figure(self, traced: Traced, style: Style) -> Figure:
        """A figure for a table."""
        return Figure(traced.value, style, f"{self._file}: {traced.sum}", self._trace)

    def at(self, place: str, style: Style) -> Figure:
        """The figure that stands at a place of the file."""
        return self.figure(self.read.at(place), style)

    def day(self, iso: str, place: str) -> Figure:
        """A day that stands at a place of the file."""
        return Figure(date.fromisoformat(iso), "day", f"{self._file}: {place}", self._trace)
