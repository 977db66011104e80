"""What every section works with: figures that lead to their place in a file, and their trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from planner.planning.ledger.accounts import Accounts
from planner.planning.ledger.capacity import Capacity
from planner.planning.ledger.traced import FigureReader
from planner.reporting.document import Figure, Link
from planner.reporting.format import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.inputs.base import Frozen
    from planner.planning.ledger.traced import TracedFigure
    from planner.planning.plan import Acquisition, Plan
    from planner.reporting.format import Style
    from planner.whatif.compare import Comparison
    from planner.whatif.results import Alternatives, Sensitivity
    from planner.whatif.risk import Risk

__all__ = ["RelatedResults", "TracedFile", "TracedPlan", "anchor_of"]

_QUARTERS_SHOWN = 8
_NO_TITLES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RelatedResults:
    """Results about the same question as a plan's, as far as there are any."""

    plans: Mapping[str, Plan] = field(default_factory=lambda: MappingProxyType({}))
    """Other plans by name, to stand among the options."""
    alternatives: Alternatives | None = None
    sensitivity: Sensitivity | None = None
    comparison: Comparison | None = None
    """The last plan against this one."""
    risk: Risk | None = None
    changed: tuple[str, ...] = ()
    """What of the inputs of the plan is not as it was when it was made, a sentence each."""


def anchor_of(place: int) -> str:
    """Of the section that stands in a place, from 0."""
    return f"section-{place + 1}"


class TracedFile:
    """Figures of a file; their sums begin with its name, and lead to the anchor `trace`."""

    def __init__(self, found: Frozen, file: str, trace: str) -> None:
        self.read = FigureReader(found)
        self._prefix = f"{file}: " if file else ""
        self._trace = trace

    def figure(self, traced: TracedFigure, style: Style, trace: str = "") -> Figure:
        """A figure for a table."""
        return Figure(traced.value, style, self._prefix + traced.sum, trace or self._trace)

    def at(self, place: str, style: Style, trace: str = "") -> Figure:
        """The figure that stands at a place of the file."""
        return self.figure(self.read.at(place), style, trace)

    def day(self, iso: str, place: str, trace: str = "") -> Figure:
        """A day that stands at a place of the file."""
        return Figure(date.fromisoformat(iso), "day", self._prefix + place, trace or self._trace)


class TracedPlan(TracedFile):
    """A plan, the books kept of it, and the titles of the document's sections by their keys.

    `name` is that of another plan than the one that the document is about.
    """

    def __init__(self, plan: Plan, titles: Mapping[str, str] = _NO_TITLES, name: str = "") -> None:
        super().__init__(plan, name, "")
        self.plan = plan
        self._titles = titles
        self.accounts = Accounts(plan, self.read)
        self.capacity = Capacity(plan, self.read)

    def section(self, key: str) -> str:
        """`section 10`, `appendix A`: where the document tells of it, or that another does."""
        if key not in self._titles:
            return "the full edition"
        number = self._number(key)
        return f"section {number}" if number.isdecimal() else f"appendix {number}"

    def sections(self, *keys: str) -> str:
        """`1, 4 and 12`: the numbers of several."""
        return listed([self._number(key) for key in keys])

    def link(self, text: str, key: str) -> Link:
        """Words, and the section that they lead to."""
        place = list(self._titles).index(key) if key in self._titles else -1
        return Link(f"{text}, {self.section(key)}", anchor_of(place))

    def _number(self, key: str) -> str:
        return self._titles[key].partition(".")[0]

    def asked(self, job: int, quarter: int) -> TracedFigure:
        """Units that a job asks for, also where it gives way."""
        return self.read.at(f"{self._asked[job]}[{quarter}]")

    @cached_property
    def _asked(self) -> tuple[str, ...]:
        shortage = self.plan.shortage
        short = {one.name: place for place, one in enumerate(shortage.jobs if shortage else ())}
        return tuple(
            f"shortage.jobs[{short[job.name]}].asked"
            if job.name in short
            else f"jobs[{place}].units"
            for place, job in enumerate(self.plan.jobs)
        )

    @cached_property
    def quarters(self) -> range:
        """Their places."""
        return range(len(self.plan.quarters))

    @cached_property
    def bill(self) -> tuple[tuple[int, Acquisition], ...]:
        """Lines of the bill with their places in plan.json: by quarter, kind and offer."""
        lines = enumerate(self.plan.acquisitions)
        return tuple(sorted(lines, key=lambda line: (line[1].quarter, line[1].kind, line[1].offer)))

    @cached_property
    def orders(self) -> tuple[tuple[int, Acquisition], ...]:
        """The same by the day on which each must be ordered."""
        return tuple(sorted(self.bill, key=lambda line: (line[1].order_by, line[1].offer)))

    def order_by(self, line: int) -> Figure:
        """The day on which a line of the bill must be ordered, by its place in plan.json."""
        day = self.plan.acquisitions[line].order_by
        return self.day(day, f"acquisitions[{line}].order_by", "how-bill")

    @cached_property
    def committed(self) -> tuple[tuple[str, Figure], ...]:
        """What reservations cost after the horizon, as a field; none where they end within it."""
        after = self.read.sum("acquisitions[*].committed_cents")
        charged = any(line.name == "commitments" for line in self.plan.costs)
        where = "as commitments in the cost" if charged else "in no cost of this plan"
        title = f"Still to be paid for reservations after the horizon, {where}, USD"
        return ((title, self.figure(after, "usd", "how-bill")),) if after.value else ()

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Quarters that a table has columns for: all, or the first and the last of each year."""
        if len(self.quarters) <= _QUARTERS_SHOWN:
            return tuple(self.quarters)
        return tuple(sorted({0, *(year.quarters[-1] for year in self.accounts.years)}))

    @cached_property
    def job_anchor(self) -> dict[str, str]:
        """Where each job is told of."""
        return {job.name: f"job-{place}" for place, job in enumerate(self.plan.jobs, 1)}
