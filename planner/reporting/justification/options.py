"""Section 4: the options side by side, each a plan of its own, and what doing nothing means."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planner.planning.ledger.traced import total, where
from planner.reporting.again import command_for
from planner.reporting.alternatives import (
    NO_UNIT_SHORT,
    UNITS_SHORT,
    aim_text,
    cheaper_ones,
    rows_of,
    same_nodes,
    settings_text,
    short_text,
    weighed_text,
)
from planner.reporting.document import (
    Blank,
    Block,
    Bullets,
    Cell,
    Column,
    Fields,
    Figure,
    Heading,
    Paragraph,
    Table,
)
from planner.reporting.elsewhere import Elsewhere
from planner.reporting.format import code, count_of
from planner.reporting.justification.desk import Desk, figure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from planner.reporting.justification.beside import Beside
    from planner.whatif.results import AlternativePlan, Alternatives
    from planner.whatif.variants.plan_summary import PlanSummary

__all__ = ["FILE", "TRACE", "idle_table", "options_blocks"]

FILE, TRACE = "alternatives.json", "how-options"
"""Where figures of options stand, and what they rest on."""
_EXPECTED = ("do nothing", "reclaim first", "rent only")
_POWER = Column("Power, kW", "right")
"""Left out where the catalog lacks those of some node in every option."""
_AFTER = Column("After the horizon, USD", "right")
"""Left out where no option commits to anything after the horizon."""
_DELAYED = Column("Delayed", "right")
"""Left out where no option delays a job."""
_SELDOM = (_AFTER, _POWER, _DELAYED)
_NAMED = "the recommended plan"
_COLUMNS = (
    Column("Option", wraps=True),
    Column("Status"),
    Column("Net present cost, USD", "right"),
    Column("Bought, USD", "right"),
    Column("Rented, USD", "right"),
    _AFTER,
    Column("GPUs", "right"),
    Column("Held", "right"),
    _POWER,
    Column("Jobs dropped", "right"),
    _DELAYED,
    Column("Order by", "right"),
)


class _Option:
    """One row of each table."""

    name: str

    def cells(self) -> tuple[Cell, ...]:
        """Its status and figures."""
        raise NotImplementedError

    def nodes(self, offer: str) -> Figure:
        """How many nodes of an offer enter service over all quarters."""
        raise NotImplementedError

    @property
    def offers(self) -> set[str]:
        """Offers of which it takes something."""
        raise NotImplementedError


class _Planned(_Option):
    """A plan of which everything is known."""

    def __init__(self, name: str, desk: Desk, *, recommended: bool) -> None:
        self.name = name
        self._desk = desk
        self._prefix = "" if recommended else f"{name}: "

    def cells(self) -> tuple[Cell, ...]:
        desk = self._desk
        last = len(desk.plan.quarters) - 1
        rented = total(desk.accounts.acquired(kind) for kind in ("rent", "reserve", "hourly"))
        after = desk.read.sum("acquisitions[*].committed_cents")
        cells = (
            desk.plan.proof.status,
            desk.at("proof.cost_cents", "usd", "how-proof"),
            figure(desk.accounts.acquired("buy"), "usd", "how-bill"),
            figure(rented, "usd", "how-bill"),
            figure(after, "usd", "how-bill") if after.value else "none",
            figure(desk.capacity.in_service(last), "count", "how-use"),
            figure(desk.capacity.needed(last), "count", "how-use"),
            _power(desk),
            self._short("dropped"),
            self._short("delayed"),
            _first_order(desk),
        )
        return tuple(map(self._told, cells))

    def _short(self, outcome: str) -> Cell:
        if self._desk.plan.shortage is None:
            return "none"
        short = self._desk.read.count(f"shortage.jobs{where(outcome=outcome)}")
        return figure(short, "count", "how-use") if short.value else "none"

    def nodes(self, offer: str) -> Figure:
        counted = self._desk.read.sum(f"acquisitions{where(offer=offer)}.count")
        return replace(figure(counted, "count", "how-bill"), sum=self._prefix + counted.sum)

    @property
    def offers(self) -> set[str]:
        return {line.offer for line in self._desk.plan.acquisitions}

    def _told(self, cell: Cell) -> Cell:
        """A figure of another plan says of which."""
        return replace(cell, sum=self._prefix + cell.sum) if isinstance(cell, Figure) else cell


class _Found(_Option):
    """A plan of which its figures alone are kept."""

    def __init__(self, known: Elsewhere, name: str, place: int, one: AlternativePlan) -> None:
        self.name = name
        self._known = known
        self._one = one
        self._stem = f"others[{place}].figures"

    def cells(self) -> tuple[Cell, ...]:
        figures = self._one.figures
        if figures is None or figures.cost_cents is None:
            return (figures.result if figures else "–", *["–"] * (len(_COLUMNS) - 2))
        at, stem = self._known.at, self._stem
        count = self._known.read.count
        dropped = count(f"{stem}.dropped[*]")
        delayed = count(f"{stem}.short[*]") - dropped
        return (
            figures.result,
            at(f"{stem}.cost_cents", "usd"),
            at(f"{stem}.capex_cents", "usd"),
            at(f"{stem}.rent_cents", "usd"),
            at(f"{stem}.committed_cents", "usd") if figures.committed_cents else "none",
            at(f"{stem}.gpus", "count"),
            at(f"{stem}.gpus_held", "count"),
            "?" if figures.power_w is None else at(f"{stem}.power_w", "kw"),
            *(
                self._known.figure(jobs, "count") if jobs.value else "none"
                for jobs in (dropped, delayed)
            ),
            self._known.day(figures.order_by, f"{stem}.order_by") if figures.order_by else "–",
        )

    def nodes(self, offer: str) -> Figure:
        counted = self._known.read.sum(f"{self._stem}.acquired{where(offer=offer)}.count")
        return self._known.figure(counted, "count")

    @property
    def offers(self) -> set[str]:
        return {one.offer for one in self._one.figures.acquired} if self._one.figures else set()


def _caption(columns: Collection[Column]) -> str:
    after = "After the horizon: still to be paid for reservations, in no cost here. "
    power = "Power: nameplates, in the quarter with the most. "
    return (
        "Options, each planned and proved by itself. Rented: with what is reserved. "
        f"{after * (_AFTER in columns)}GPUs: in service at the end. Held: of these, by jobs. "
        f"{power * (_POWER in columns)}Jobs dropped: for the whole horizon"
    )


def options_blocks(desk: Desk, beside: Beside) -> tuple[Block, ...]:
    """A row for each plan, the same columns for all; an option that nobody planned stays open."""
    options = tuple(_options(desk, beside))
    rows = tuple((one.name, *one.cells()) for one in options)
    shown = [
        place
        for place, column in enumerate(_COLUMNS)
        if column not in _SELDOM or any(isinstance(row[place], Figure) for row in rows)
    ]
    columns = tuple(_COLUMNS[place] for place in shown)
    table = Table(
        columns,
        tuple(tuple(row[place] for place in shown) for row in rows),
        caption=_caption(columns),
    )
    told: list[Block] = [table, *_taken(options)]
    found = beside.alternatives
    if found is not None:
        others = [one for one in found.others if one.name not in beside.plans]
        told += [Bullets(tuple(_said(one, found) for one in others))]
        if cheaper := cheaper_ones(found):
            told += [Fields(tuple(_why_not(one) for _, one in cheaper if one.settings))]
        told += [
            Paragraph(
                "Figures of these plans stand in alternatives.json, with the settings, where there "
                f"are any, that {code('planner plan')} makes them with again.",
                "faint",
                TRACE,
            )
        ]
    missing = [name for name in _EXPECTED if name not in {one.name for one in options}]
    if missing:
        command = command_for("alternatives", desk.plan)
        ask = Blank(f"{code(command)}, where plan.json is, and report again")
        told += [Fields(tuple((name.capitalize(), ask) for name in missing))]
    return (*told, *_doing_nothing(desk, beside))


def _options(desk: Desk, beside: Beside) -> Iterator[_Option]:
    yield _Planned("Recommended", desk, recommended=True)
    for name, plan in beside.plans.items():
        yield _Planned(name, Desk(plan), recommended=False)
    if beside.alternatives is not None:
        known = Elsewhere(beside.alternatives, FILE, TRACE)
        cheapest = beside.alternatives.cheapest
        for name, place, one in rows_of(beside.alternatives, "recommended"):
            if one.name not in beside.plans and not _is_left_out(one, cheapest):
                yield _Found(known, name, place, one)


def _taken(options: tuple[_Option, ...]) -> Iterator[Table]:
    """What is acquired under each option, if anything; those without a plan have no column."""
    planned = [one for one in options if any(isinstance(cell, Figure) for cell in one.cells())]
    offers = sorted(set().union(*(one.offers for one in planned)))
    if offers:
        yield Table(
            (Column("Offer", wraps=True), *(Column(one.name, "right") for one in planned)),
            tuple((offer, *(one.nodes(offer) for one in planned)) for offer in offers),
            caption="Nodes that each option buys, rents or reserves; a rented one counts anew in "
            "each quarter",
        )


def _is_left_out(one: AlternativePlan, cheapest: PlanSummary) -> bool:
    """Whether words are enough: there is no such plan, or it is the recommended one."""
    return one.figures is None or (one.name not in _EXPECTED and same_nodes(one.figures, cheapest))


def _said(one: AlternativePlan, found: Alternatives) -> str:
    if one.figures is None:
        return f"{one.name}: left out, {one.left_out}."
    if one.figures.cost_cents is None:
        return (
            f"{one.name}: {one.objective}. {one.figures.result.capitalize()}: {one.figures.reason}."
        )
    short = "" if one.units_short is not None else short_text(one.figures)
    if one.units_short is not None and one.figures.short:
        jobs = count_of(len(one.figures.short), "job")
        short = f"That is {jobs}; unit by unit and quarter by quarter, see below"
    weighed = weighed_text(one.figures, found.cheapest, _NAMED)
    told = f"{one.name}: {aim_text(one, found, _NAMED)}"
    return f"{told}{short and f'. {short[0].upper()}{short[1:]}'}{weighed and f'; {weighed}'}."


def _why_not(one: AlternativePlan) -> tuple[str, Cell]:
    """What a reader asks first: why the plan is not the cheapest of the options."""
    asked = f"Why not {one.name}, which keeps as many jobs at a lower cost"
    allowed = f"the scenario does not allow {settings_text(one)}"
    return asked, Blank(f"{allowed}: allow it and plan again, or say why not")


def _first_order(desk: Desk) -> Cell:
    if not desk.bill:
        return "–"
    place, line = min(desk.bill, key=lambda entry: entry[1].order_by)
    return desk.day(line.order_by, f"acquisitions[{place}].order_by", "how-bill")


def _power(desk: Desk) -> Cell:
    """In the quarter with the most, at all sites."""
    taken = [
        [desk.capacity.after(site, quarter, "power_w") for site in desk.capacity.sites]
        for quarter in range(len(desk.plan.quarters))
    ]
    sums = [total(filter(None, sites)) for sites in taken if None not in sites]
    if len(sums) < len(taken):
        return "?"
    return figure(max(sums, key=lambda one: one.value), "kw", "how-site")


def _doing_nothing(desk: Desk, beside: Beside) -> tuple[Block, ...]:
    """Who is short without this plan: by job, quarter and unit where that is known, else by GPU."""
    found = beside.alternatives
    every = enumerate(found.others if found else ())
    known = next(((at, one.units_short) for at, one in every if one.units_short is not None), None)
    if found is None or known is None:
        return (idle_table(desk),)
    place, short = known
    read = Elsewhere(found, FILE, TRACE)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            one.job,
            *(
                read.at(f"others[{place}].units_short[{number}].short[{quarter}]", "count")
                for quarter in desk.columns
            ),
        )
        for number, one in enumerate(short)
    )
    head = Heading("Doing nothing, quarter by quarter", 3)
    if not rows:
        return (head, Paragraph(NO_UNIT_SHORT))
    columns = (
        Column("Job", wraps=True),
        *(Column(desk.plan.quarters[quarter], "right") for quarter in desk.columns),
    )
    return (head, Table(columns, rows, caption=UNITS_SHORT.rstrip(".")))


def idle_table(desk: Desk) -> Table:
    """What doing nothing leaves short, in GPUs."""
    rows = tuple(
        (
            label,
            figure(desk.capacity.needed(place), "count", "how-use"),
            figure(desk.capacity.owned(place), "count", "how-use"),
            figure(desk.capacity.short(place), "count", "how-use"),
        )
        for place, label in enumerate(desk.plan.quarters)
    )
    return Table(
        (
            Column("Quarter"),
            Column("GPUs that this plan uses", "right"),
            Column("GPUs owned", "right"),
            Column("Short without it", "right"),
        ),
        rows,
        caption="Doing nothing: the GPUs that would be missing, whatever their type; below zero "
        "is room to spare",
    )
