"""What every section works with: the plan, its ledger, and figures that lead to their trace."""

from __future__ import annotations

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
    from fractions import Fraction

    from planner.planning.ledger.traced import TracedFigure
    from planner.planning.plan import Acquisition, Plan
    from planner.reporting.format import Style

__all__ = ["Desk", "anchor_of", "figure"]

_QUARTERS_SHOWN = 8
_NO_TITLES: Mapping[str, str] = MappingProxyType({})


def anchor_of(place: int) -> str:
    """Of the section that stands in a place, from 0."""
    return f"section-{place + 1}"


def figure(traced: TracedFigure, style: Style, trace: str) -> Figure:
    """A figure for a table, with the anchor of its trace."""
    return Figure(traced.value, style, traced.sum, trace)


class Desk:
    """One plan, the books kept of it, and the titles of the document's sections by their keys."""

    def __init__(self, plan: Plan, titles: Mapping[str, str] = _NO_TITLES) -> None:
        self.plan = plan
        self._titles = titles
        self.read = FigureReader(plan)
        self.accounts = Accounts(plan, self.read)
        self.capacity = Capacity(plan, self.read)

    def section(self, key: str) -> str:
        """`section 10`, `appendix A`: where the document tells of it; KeyError if it does not."""
        number = self._number(key)
        return f"section {number}" if number.isdecimal() else f"appendix {number}"

    def sections(self, *keys: str) -> str:
        """`1, 4 and 12`: the numbers of several."""
        return listed([self._number(key) for key in keys])

    def link(self, text: str, key: str) -> Link:
        """Words, and the section that they lead to."""
        return Link(f"{text}, {self.section(key)}", anchor_of(list(self._titles).index(key)))

    def _number(self, key: str) -> str:
        return self._titles[key].partition(".")[0]

    def at(self, place: str, style: Style, trace: str) -> Figure:
        """The figure that stands at a place of plan.json."""
        return figure(self.read.at(place), style, trace)

    def day(self, iso: str, place: str, trace: str) -> Figure:
        """A day that stands at a place of plan.json."""
        return Figure(date.fromisoformat(iso), "day", place, trace)

    def asked(self, job: int, quarter: int) -> TracedFigure:
        """Units that a job asks for, also where it is dropped or delayed."""
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
    def bill(self) -> tuple[tuple[int, Acquisition], ...]:
        """Lines of the bill with their places in plan.json: by quarter, kind and offer."""
        lines = enumerate(self.plan.acquisitions)
        return tuple(sorted(lines, key=lambda line: (line[1].quarter, line[1].kind, line[1].offer)))

    @cached_property
    def committed(self) -> tuple[tuple[str, Figure], ...]:
        """What reservations cost after the horizon, as a field; none where they end within it."""
        after = self.read.sum("acquisitions[*].committed_cents")
        title = "Still to be paid for reservations after the horizon, in no cost of this plan, USD"
        return ((title, figure(after, "usd", "how-bill")),) if after.value else ()

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Quarters that a table has columns for: all, or the first and the last of each year."""
        places = tuple(range(len(self.plan.quarters)))
        if len(places) <= _QUARTERS_SHOWN:
            return places
        return tuple(sorted({0, *(year.quarters[-1] for year in self.accounts.years)}))

    @cached_property
    def job_anchor(self) -> dict[str, str]:
        """Where each job is told of."""
        return {job.name: f"job-{place}" for place, job in enumerate(self.plan.jobs, 1)}

    def value(self, place: str) -> Fraction:
        """The bare number at a place, to choose words by."""
        return self.read.at(place).value
