"""What every section works with: figures that lead to their places, and numbered titles."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from string import ascii_uppercase
from types import MappingProxyType
from typing import Any

from planner.inputs.base import Frozen
from planner.planning.accounts import Accounts, Capacity
from planner.planning.plan import Acquisition, Plan
from planner.planning.traced_figures import NOTHING, FigureReader, TracedFigure, total
from planner.reporting.document import (
    Block,
    Cell,
    ColumnKind,
    Figure,
    Heading,
    Link,
    Table,
    beneath,
    columns_for,
    titled,
)
from planner.reporting.format import Style
from planner.whatif.alternatives import Alternatives
from planner.whatif.compare import Comparison
from planner.whatif.risk import Risk
from planner.whatif.sensitivity import Sensitivity

_QUARTERS_SHOWN = 8
_NO_TITLES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RelatedResults:
    """Results about a plan's question, as far as there are any."""

    plans: Mapping[str, Plan] = field(default_factory=lambda: MappingProxyType({}))
    """Other plans by name, to show among the options."""
    alternatives: Alternatives | None = None
    sensitivity: Sensitivity | None = None
    comparison: Comparison | None = None
    """The last plan compared with this one."""
    risk: Risk | None = None
    changed: tuple[str, ...] = ()
    """Inputs of the plan that have changed since it was made, one sentence each."""


ALONE = RelatedResults()


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a large portfolio is shown; plan.json always has everything."""

    jobs: int
    lines: int
    """Of nodes, racks, runs and moves, in each quarter."""
    notes: int
    narrow: bool = False
    """Whether tables leave out what the node map shows as well."""

    @property
    def rest(self) -> str:
        """Say where the rest is, behind what is left out."""
        return f", all of them in plan.json{', which --out writes' if self.narrow else ''}"


FULL = Detail(jobs=1000, lines=200, notes=500)
"""For a document."""
SCREEN = Detail(jobs=60, lines=40, notes=20, narrow=True)
"""For a terminal."""


def anchor_of(place: int) -> str:
    """Return the anchor of a section by its position, from 0."""
    return f"section-{place + 1}"


_BY_ENDING: Mapping[str, Style] = {
    r"(\b|_)cents(\[[\d*]+\])?$": "usd",
    r"_mb$": "gb",
    r"_w(\[[\d*]+\])?$": "kw",
}
"""How a figure is written, by the end of its place."""


class TracedFile:
    """Figures of a file; their formulas begin with its name."""

    def __init__(self, found: Frozen, file: str) -> None:
        self.read = FigureReader(found)
        self._prefix = f"{file}: " if file else ""

    def figure(self, traced: TracedFigure, style: Style) -> Figure:
        """Return a figure for a table."""
        return Figure(traced.value, style, self._prefix + traced.sum)

    def at(self, place: str, style: Style | None = None) -> Figure:
        """The figure that stands at a place of the file; of several, as `[*]` says, their sum.

        Without a style, the end of its name says how it is written.
        """
        found = self.read.sum(place) if "[*]" in place else self.read.at(place)
        for ending, usual in _BY_ENDING.items():
            if style is None and re.search(ending, place):
                style = usual
        return self.figure(found, style or "count")

    def each(self, place: str, style: Style | None = None) -> Callable[[object], Figure]:
        """For a column: the figure at the place that its row completes."""
        return lambda row: self.at(place.format(row), style)

    def figures(
        self, stem: str, *columns: tuple[str, str]
    ) -> Iterator[tuple[str, ColumnKind, Callable[[object], Figure]]]:
        """Return columns with their titles: the named figures of the entry that a row completes."""
        for title, name in columns:
            yield title, "number", self.each(f"{stem}.{name}")

    def day(self, iso: str, place: str) -> Figure:
        """Return a day that stands at a place of the file."""
        stands = self.figure(TracedFigure(NOTHING.value, place), "day")
        return replace(stands, value=date.fromisoformat(iso))


class TracedPlan(TracedFile):
    """A plan, its accounts, and the titles of the document's sections by their keys.

    `name` is that of another plan than the one that the document is about; `beside` is what is
    known of the same question.
    """

    def __init__(
        self,
        plan: Plan,
        titles: Mapping[str, str] = _NO_TITLES,
        name: str = "",
        beside: RelatedResults = ALONE,
        detail: Detail = FULL,
    ) -> None:
        super().__init__(plan, name)
        self.plan, self.beside, self.detail = plan, beside, detail
        self._titles = titles
        self.accounts = Accounts(plan, self.read)
        self.capacity = Capacity(plan, self.read)

    def section(self, key: str) -> str:
        """Return `section 10` or `appendix A`; if the document lacks it, say where it is."""
        number = self._titles.get(key, "").partition(".")[0]
        if not number:
            return "the full edition"
        return f"{'section' if number.isdecimal() else 'appendix'} {number}"

    def link(self, text: str, key: str) -> Link:
        """Return words, and the section to which they lead."""
        place = list(self._titles).index(key) if key in self._titles else -1
        return Link(f"{text}, {self.section(key)}", anchor_of(place))

    def asked(self, job: int, quarter: int) -> TracedFigure:
        """Return the units that a job asks for, including those that give way and those on APIs."""
        stem, apis = self._asked[job], range(len(self.plan.jobs[job].on_apis))
        on_apis = (f"jobs[{job}].on_apis[{api}][1][{quarter}]" for api in apis)
        places = [f"{stem}[{quarter}]", *(on_apis if stem.startswith("jobs") else ())]
        return total(map(self.read.at, places))

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
        """The indices of the quarters."""
        return range(len(self.plan.quarters))

    @cached_property
    def bill(self) -> tuple[tuple[int, Acquisition], ...]:
        """The acquisitions with their places in plan.json: by quarter, kind and offer."""
        lines = enumerate(self.plan.acquisitions)
        return tuple(sorted(lines, key=lambda line: (line[1].quarter, line[1].kind, line[1].offer)))

    @cached_property
    def orders(self) -> tuple[tuple[int, Acquisition], ...]:
        """The acquisitions by the day on which each must be ordered."""
        return tuple(sorted(self.bill, key=lambda line: (line[1].order_by, line[1].offer)))

    def order_by(self, line: int) -> Figure:
        """Return the day on which an acquisition must be ordered, by its place in plan.json."""
        day = self.plan.acquisitions[line].order_by
        return self.day(day, f"acquisitions[{line}].order_by")

    @cached_property
    def committed(self) -> tuple[tuple[str, Figure], ...]:
        """Return what reservations cost after the horizon, as a field.

        Nothing if they end in it.
        """
        after = self.read.sum("acquisitions[*].committed_cents")
        charged = any(line.name == "commitments" for line in self.plan.costs)
        where = "as commitments in the cost" if charged else "in no cost of this plan"
        title = f"Still to be paid for reservations after the horizon, {where}, USD"
        return ((title, self.figure(after, "usd")),) if after.value else ()

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """The quarters with columns in tables: all, or the first and the last of each year."""
        if len(self.quarters) <= _QUARTERS_SHOWN:
            return tuple(self.quarters)
        return tuple(sorted({0, *(quarters[-1] for _, quarters in self.accounts.years)}))

    def by_quarter(
        self, of: Callable[[Any, int], TracedFigure]
    ) -> Iterator[tuple[str, ColumnKind, Callable[[Any], Cell]]]:
        """Return columns of counts, one for each quarter shown, from a row and that quarter."""

        def cell(row: object, quarter: int) -> Cell:
            return self.figure(of(row, quarter), "count")

        labels = self.plan.quarters
        yield from columns_for(((labels[quarter], quarter) for quarter in self.columns), cell)

    def job(self, place: int) -> Link:
        """Return the job at a place, with a link to where it is shown."""
        name = self.plan.jobs[place].name
        return Link(name, self.job_anchor[name])

    @cached_property
    def job_anchor(self) -> dict[str, str]:
        """Where each job is shown."""
        return {job.name: f"job-{place}" for place, job in enumerate(self.plan.jobs, 1)}


Tell = Callable[[TracedPlan], Iterable[Block]]
Section = tuple[str, *tuple[Tell | tuple[str, *tuple[Tell, ...]], ...]]
"""A title and its parts, some under titles of their own; whatever is empty is left out."""


def told(section: Section, traced: TracedPlan) -> Iterator[Block]:
    """Yield what stands under the title of a section; tables have rows."""
    for part in section[1:]:
        title, *tells = part if isinstance(part, tuple) else ("", part)
        blocks = (block for tell in tells for block in tell(traced))
        filled = (block for block in blocks if not isinstance(block, Table) or block.rows)
        yield from titled(((title, beneath(filled)),), 3) if title else filled


def numbered_sections(
    plan: Plan,
    sections: Mapping[str, Section],
    beside: RelatedResults = ALONE,
    detail: Detail = FULL,
    *,
    appendices: Collection[str] = (),
) -> tuple[Block, ...]:
    """Yield sections under numbered titles with anchors; appendices have letters.

    Sections without content are left out and take no number.
    """
    letters, numbers = iter(ascii_uppercase), iter(range(1, len(sections) + 1))
    draft = TracedPlan(plan, beside=beside, detail=detail)
    titles = {
        key: f"{next(letters) if key in appendices else next(numbers)}. {section[0]}"
        if any(True for _ in told(section, draft))
        else ""
        for key, section in sections.items()
    }
    traced = TracedPlan(plan, titles, beside=beside, detail=detail)
    blocks: list[Block] = []
    for place, (key, section) in enumerate(sections.items()):
        if content := tuple(told(section, traced)):
            blocks += (Heading(titles[key] or section[0], 2, anchor_of(place)), *content)
    return tuple(blocks)
