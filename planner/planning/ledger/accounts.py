"""Money of a plan by year and kind, and how far a price may move before it decides otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from planner.costs import CAPEX, NOT_PAID
from planner.planning.ledger.traced import NOTHING, FigureReader, TracedFigure, total, where
from planner.planning.plan import Acquisition, BudgetUse, Plan

_RUNNING = ("support", "energy", "licence", "colocation")
"""Costs that are paid by a price of their own, which moves all of them."""
_SUPPORT = "support_share_per_year"
_QUARTERS_A_YEAR = 4


class Year(NamedTuple):
    """A calendar year of the horizon, whole or in part."""

    label: str
    quarters: tuple[int, ...]
    """Places in the horizon."""


class Price(NamedTuple):
    """Prices that move together: of offers for one node type, of all offers of a kind, or a rate.

    `lines` are places of `acquisitions`; a rate, such as that of energy, has a line of `costs`.
    """

    kind: str
    """`buy`, `rent`, `reserve`, or the name of a cost."""
    node_type: str | None
    """None: of every type."""
    lines: tuple[int, ...] = ()
    cost: int | None = None


class Meets(NamedTuple):
    """What a price meets when it moves by itself."""

    by: TracedFigure
    """Share of the price; negative: down."""
    budget: int | None
    """Place of the budget that is then exhausted; None: a node is then cheaper the other way."""
    left: TracedFigure | None = None
    """Of the budget, cents."""


class Accounts:
    """Sums of a plan's cost lines, all in cents, and margins of its prices.

    Worked out from the plan as it is; nothing is planned anew.
    """

    def __init__(self, plan: Plan, read: FigureReader) -> None:
        self._plan = plan
        self._read = read
        self._place = {label: place for place, label in enumerate(plan.quarters)}
        self._all = tuple(range(len(plan.quarters)))
        self.years = tuple(
            Year(label, tuple(places))
            for label, places in groupby(self._all, key=lambda place: plan.quarters[place][:4])
        )

    def line(self, line: int, quarters: Iterable[int]) -> TracedFigure:
        """One kind of cost in these quarters, not discounted."""
        return total(self._read.at(f"costs[{line}].cents[{place}]") for place in quarters)

    def capex(self, quarters: Iterable[int]) -> TracedFigure:
        """Purchases in these quarters."""
        return self._lines(tuple(quarters), lambda name: name in CAPEX)

    def opex(self, quarters: Iterable[int]) -> TracedFigure:
        """All else that is paid in these quarters."""
        return self._lines(tuple(quarters), lambda name: name not in CAPEX | NOT_PAID)

    def paid(self, quarters: Iterable[int] | None = None) -> TracedFigure:
        """Everything that is paid in these quarters, or over the horizon."""
        chosen = self._all if quarters is None else tuple(quarters)
        return self._lines(chosen, lambda name: name not in NOT_PAID)

    def unpaid(self, quarters: Iterable[int]) -> TracedFigure:
        """What is counted in these quarters and paid by nobody: the value left, and weights."""
        return self._lines(tuple(quarters), lambda name: name in NOT_PAID)

    def acquired(self, kind: str) -> TracedFigure:
        """What the bill says of one kind of acquisition, within the horizon."""
        return self._read.sum(f"acquisitions{where(kind=kind)}.total_cents")

    @property
    def net_present(self) -> TracedFigure:
        """The figure that the plan minimizes: the present values of all kinds of cost."""
        return self._read.sum("costs[*].present_cents")

    @property
    def adjusted(self) -> TracedFigure | None:
        """The same with purchases dearer by the optimism bias, and worth no more at the end.

        None where the scenario states none.
        """
        if self._plan.optimism_bias is None:
            return None
        bought = total(
            self._read.at(f"costs[{place}].present_cents")
            for place, line in enumerate(self._plan.costs)
            if line.name in CAPEX
        )
        return self.net_present + bought * self._read.at("optimism_bias")

    @property
    def residual(self) -> TracedFigure | None:
        """What servers are still worth at the end, in present value; None where none is bought."""
        lines = self._line_of("residual value")
        return None if lines is None else NOTHING - self._read.at(f"{lines}.present_cents")

    @property
    def residual_share(self) -> TracedFigure | None:
        """The same of what they cost, neither of them discounted."""
        left, paid = self._line_of("residual value"), self._line_of("purchase")
        if left is None or paid is None:
            return None
        price = self._read.at(f"{paid}.total_cents")
        return (NOTHING - self._read.at(f"{left}.total_cents")) / price if price.value else None

    def _line_of(self, name: str) -> str | None:
        """Where a kind of cost stands."""
        names = [line.name for line in self._plan.costs]
        return f"costs[{names.index(name)}]" if name in names else None

    @property
    def per_gpu_hour(self) -> TracedFigure | None:
        """Net present cost of each GPU-hour that jobs hold, cents; None where no job runs."""
        held = self._read.sum("pools[*].gpu_hours_used[*]")
        return self.net_present / held if held.value else None

    @property
    def idle_share(self) -> TracedFigure | None:
        """Share of the GPU-hours in service that no job holds; None where no node is."""
        every = self._read.sum("pools[*].gpu_hours[*]")
        held = self._read.sum("pools[*].gpu_hours_used[*]")
        return (every - held) / every if every.value else None

    @property
    def delivered(self) -> TracedFigure | None:
        """GPU-hours that jobs deliver; None without teams, or where the time of a run is open."""
        charged = self._plan.chargeback
        if charged is None or any(use.open_gpu_hours for use in charged.teams):
            return None
        return self._read.sum("chargeback.teams[*].delivered_gpu_hours")

    def _lines(self, quarters: tuple[int, ...], chosen: Callable[[str], bool]) -> TracedFigure:
        return total(
            self.line(place, quarters)
            for place, line in enumerate(self._plan.costs)
            if chosen(line.name)
        )

    def prices(self) -> Iterator[Price]:
        """Of node types by kind, of all that is bought, rented or reserved, and of what is used."""
        every = list(enumerate(self._plan.acquisitions))
        for kind in ("buy", "rent", "reserve", "hourly"):
            lines = [(place, line) for place, line in every if line.kind == kind]
            types = sorted({line.node_type for _, line in lines})
            for name in types:
                mine = tuple(place for place, line in lines if line.node_type == name)
                yield Price(kind, name, mine)
            if len(types) > 1:
                yield Price(kind, None, tuple(place for place, _ in lines))
        for place, cost in enumerate(self._plan.costs):
            if cost.name in _RUNNING:
                yield Price(cost.name, None, cost=place)

    def met_by_rise(self, price: Price) -> Meets | None:
        """The first thing that a rise meets; None where nothing stands against it."""
        found = [*self._budgets(price), *self._cheaper_rented(price)]
        return min(found, key=lambda one: one.by.value, default=None)

    def met_by_fall(self, price: Price) -> Meets | None:
        """Where a fall of a rent makes it cheaper to rent a node than to buy one, as is planned."""
        if price.kind != "rent":
            return None
        offers = self._offers(price)
        found = []
        for place, more in self._compared():
            price_part = self._read.at(f"break_evens[{place}].rent_price_cents")
            if self._plan.break_evens[place].rent in offers and price_part.value:
                found.append(Meets(NOTHING - more / price_part, None))
        return max(found, key=lambda one: one.by.value, default=None)

    def _offers(self, price: Price) -> frozenset[str]:
        return frozenset(self._plan.acquisitions[place].offer for place in price.lines)

    def _budgets(self, price: Price) -> Iterator[Meets]:
        for place, budget in enumerate(self._plan.budgets):
            spent = self._counted(price, budget)
            if spent.value > 0:
                limit = self._read.at(f"budgets[{place}].limit_cents")
                left = limit - self._read.at(f"budgets[{place}].spent_cents")
                yield Meets(left / spent, place, left)

    def _cheaper_rented(self, price: Price) -> Iterator[Meets]:
        if price.kind != "buy":
            return
        offers = self._offers(price)
        for place, more in self._compared():
            price_part = self._read.at(f"break_evens[{place}].buy_price_cents")
            if self._plan.break_evens[place].offer in offers and price_part.value:
                yield Meets(more / price_part, None)

    def _compared(self) -> Iterator[tuple[int, TracedFigure]]:
        """What one node costs more that is rented, where it is bought and that is no dearer."""
        bought = {line.offer for line in self._plan.acquisitions if line.kind == "buy"}
        for place, one in enumerate(self._plan.break_evens):
            if one.offer in bought and one.buy_cents <= one.rent_cents:
                stem = f"break_evens[{place}]"
                own = self._read.at(f"{stem}.buy_cents")
                yield place, self._read.at(f"{stem}.rent_cents") - own

    def _counted(self, price: Price, budget: BudgetUse) -> TracedFigure:
        """What of a price counts against a budget."""
        places = range(len(self._plan.quarters))
        if budget.quarter is not None:
            places = range(self._place[budget.quarter], self._place[budget.quarter] + 1)
        capital = budget.spend in ("capex", "spending")
        running = budget.spend in ("opex", "spending")
        if price.cost is not None:
            terms = (self._read.at(f"costs[{price.cost}].cents[{place}]") for place in places)
            return total(terms) if running else NOTHING
        lines = [(place, self._plan.acquisitions[place]) for place in price.lines]
        if price.kind == "buy":
            paid = self._bought(lines, places) if capital else NOTHING
            return paid + (self._supported(lines, places) if running else NOTHING)
        return self._held(lines, places) if running else NOTHING

    def _bought(self, lines: Sequence[tuple[int, Acquisition]], places: range) -> TracedFigure:
        return total(
            self._read.at(f"acquisitions[{place}].total_cents")
            for place, line in lines
            if self._place[line.quarter] in places
        )

    def _supported(self, lines: Sequence[tuple[int, Acquisition]], places: range) -> TracedFigure:
        """Support is a share of the price, in each quarter from entry into service."""
        if not any(setting.name == _SUPPORT for setting in self._plan.settings):
            return NOTHING
        share = self._read.at(f"settings[name={_SUPPORT}].value") / _number(_QUARTERS_A_YEAR)
        return total(
            self._read.at(f"acquisitions[{place}].total_cents") * share * _number(served)
            for place, line in lines
            if (served := sum(quarter >= self._place[line.quarter] for quarter in places))
        )

    def _held(self, lines: Sequence[tuple[int, Acquisition]], places: range) -> TracedFigure:
        """Rents and reservations, in each quarter that a node is held."""
        terms = []
        for place, line in lines:
            first = self._place[line.quarter]
            held = range(first, first + (line.term_quarters or 1))
            times = sum(quarter in held for quarter in places)
            if times:
                each = self._read.at(f"acquisitions[{place}].unit_price_cents")
                terms.append(each * self._read.at(f"acquisitions[{place}].count") * _number(times))
        return total(terms)


def _number(value: int) -> TracedFigure:
    return TracedFigure(Fraction(value), str(value))
