"""What every section works with: figures that lead to their places, and numbered titles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from string import ascii_uppercase
from types import MappingProxyType

from planner.inputs.base import Frozen
from planner.planning.ledger.accounts import Accounts, Capacity
from planner.planning.ledger.traced import FigureReader, TracedFigure, total
from planner.planning.plan import Acquisition, Plan
from planner.reporting.document import (
    Block,
    Cell,
    Fields,
    Figure,
    Fold,
    Heading,
    Link,
    NodeMap,
    Paragraph,
    Table,
    cell_text,
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


_ALONE = RelatedResults()


def anchor_of(place: int) -> str:
    """Of the section that stands in a place, from 0."""
    return f"section-{place + 1}"


class TracedFile:
    """Figures of a file; their sums begin with its name, and lead to the anchor `trace`."""

    def __init__(self, found: Frozen, file: str, trace: str) -> None:
        self.read = FigureReader(found)
        self._prefix = f"{file}: " if file else ""
        self._trace = trace
        self.traces: set[str] = set()
        """Anchors that figures have led to so far."""

    def figure(self, traced: TracedFigure, style: Style, trace: str = "") -> Figure:
        """A figure for a table."""
        return self._told(traced.value, style, traced.sum, trace)

    def _told(self, value: Fraction | date, style: Style, sum_: str, trace: str) -> Figure:
        trace = trace or self._trace
        self.traces.add(trace)
        return Figure(value, style, self._prefix + sum_, trace)

    def at(self, place: str, style: Style, trace: str = "") -> Figure:
        """The figure that stands at a place of the file; of several, as `[*]` says, their sum."""
        found = self.read.sum(place) if "[*]" in place else self.read.at(place)
        return self.figure(found, style, trace)

    def each(self, place: str, style: Style, trace: str = "") -> Callable[[object], Figure]:
        """For a column: the figure at the place that its row, or the parts of that, complete."""
        return lambda row: self.at(
            place.format(*row) if isinstance(row, tuple) else place.format(row), style, trace
        )

    def day(self, iso: str, place: str, trace: str = "") -> Figure:
        """A day that stands at a place of the file."""
        return self._told(date.fromisoformat(iso), "day", place, trace)


class TracedPlan(TracedFile):
    """A plan, the books kept of it, and the titles of the document's sections by their keys.

    `name` is that of another plan than the one that the document is about, `beside` what is known
    of the same question.
    """

    def __init__(
        self,
        plan: Plan,
        titles: Mapping[str, str] = _NO_TITLES,
        name: str = "",
        beside: RelatedResults = _ALONE,
    ) -> None:
        super().__init__(plan, name, "")
        self.plan, self.beside = plan, beside
        self._titles = titles
        self.accounts = Accounts(plan, self.read)
        self.capacity = Capacity(plan, self.read)

    def section(self, key: str) -> str:
        """`section 10`, `appendix A`: where the document tells of it, or that another does."""
        if key not in self._titles:
            return "the full edition"
        number = self._number(key)
        return f"section {number}" if number.isdecimal() else f"appendix {number}"

    def link(self, text: str, key: str) -> Link:
        """Words, and the section that they lead to."""
        place = list(self._titles).index(key) if key in self._titles else -1
        return Link(f"{text}, {self.section(key)}", anchor_of(place))

    def _number(self, key: str) -> str:
        return self._titles[key].partition(".")[0]

    def asked(self, job: int, quarter: int) -> TracedFigure:
        """Units that a job asks for, also where it gives way, and those that APIs answer."""
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

    def job(self, place: int) -> Link:
        """The job that stands in a place, and where it is told of."""
        name = self.plan.jobs[place].name
        return Link(name, self.job_anchor[name])

    @cached_property
    def job_anchor(self) -> dict[str, str]:
        """Where each job is told of."""
        return {job.name: f"job-{place}" for place, job in enumerate(self.plan.jobs, 1)}


Section = tuple[str, "Callable[[TracedPlan], Iterable[Block]]"]
"""Its title, and what it tells; left out where that is nothing."""


def numbered_sections(
    plan: Plan,
    sections: Mapping[str, Section],
    beside: RelatedResults = _ALONE,
    *,
    appendices: Collection[str] = (),
    alone: bool = True,
) -> tuple[Block, ...]:
    """Sections by their keys under numbered titles, those of appendices with letters.

    Each has an anchor. What a figure or a link leads to may stand in another edition alone: then it
    leads nowhere, and a figure tells its sum all the same. Not `alone`, other pages may hold it.
    """
    letters, numbers = iter(ascii_uppercase), iter(range(1, len(sections) + 1))
    titles = {
        key: f"{next(letters) if key in appendices else next(numbers)}. {title}"
        for key, (title, _) in sections.items()
    }
    traced = TracedPlan(plan, titles, beside=beside)
    blocks: list[Block] = []
    for place, (key, (_, told)) in enumerate(sections.items()):
        if content := tuple(told(traced)):
            blocks += (Heading(titles[key], 2, anchor_of(place)), *content)
    return closed(blocks) if alone else tuple(blocks)


def closed(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The same, where what leads to none of these blocks leads nowhere."""
    there = frozenset(_anchors(blocks))
    return tuple(_within(block, there) for block in blocks)


def _anchors(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Heading | Paragraph | Fold):
            yield block.anchor
        if isinstance(block, Fold):
            yield from _anchors(block.blocks)


def _within(block: Block, there: frozenset[str]) -> Block:
    def cell(one: Cell) -> Cell:
        if isinstance(one, Figure) and one.trace not in there:
            return replace(one, trace="")
        return cell_text(one) if isinstance(one, Link) and one.to not in there else one

    def of_table(one: Table) -> Table:
        rows = tuple(tuple(map(cell, row)) for row in one.rows)
        return replace(one, rows=rows, footer=tuple(map(cell, one.footer)))

    match block:
        case Fields():
            return Fields(tuple((name, cell(said)) for name, said in block.rows))
        case Fold():
            return replace(block, blocks=tuple(_within(one, there) for one in block.blocks))
        case NodeMap():
            return replace(block, key=of_table(block.key))
        case Table():
            return of_table(block)
        case _:
            return block
