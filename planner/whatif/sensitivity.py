"""Sensitivity: how the cost answers to one uncertain figure at a time, and where purchases change.

The recommendation is what is acquired: offer, quarter and number of nodes. A turn is closed in
between two plans: one that still acquires what the plan of the scenario does, or costs no less than
that would, and one that does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Any, Literal

from planner.costs import CostStream, Entering, entry_quarters, portfolio_costs, spent_cents
from planner.inputs.base import Frozen
from planner.inputs.override import Override, six_decimals
from planner.inputs.scenario.job import Serve
from planner.inputs.scenario.load import TRAFFIC
from planner.inputs.scenario.offer import Offer
from planner.inputs.settled import Inputs
from planner.planning.words import amount
from planner.whatif.results import PlanSummary, StoredResult, question_of
from planner.whatif.variants import CachedRunner

_FINANCE = {
    "discount_rate_per_year": ("discount rate", "{percent} a year"),
    "energy_usd_per_kwh": ("price of energy", "${value} per kWh"),
    "support_share_per_year": ("support", "{percent} of the price a year"),
    "useful_life_years": ("useful life", "{value} years"),
}
"""Settings of cost that are estimates: their names for people, and how a value is written."""

_TOKEN_PRICES = tuple(f"usd_per_million_{kind}_tokens" for kind in ("input", "output", "cached"))
_SHARES = ("discount_rate_per_year", "support_share_per_year")
"""Those that cannot be more than 1."""


@dataclass(frozen=True, slots=True)
class UncertainFigure:
    """One figure, or several that move together."""

    name: str
    """For people: `price of buy-h200`."""
    unit: Literal["share", "weeks"]
    """A figure in shares is moved by a part of its value, one in weeks by whole weeks."""
    stated: str
    """The value as it is, where it is one value."""
    settings: Callable[[Fraction], tuple[Override, ...]]
    """What moves it by so much."""


def uncertain_figures(inputs: Inputs) -> Iterator[UncertainFigure]:
    """Prices, growth, traffic, latency, lead times and settings of cost, where stated."""
    scenario, jobs = inputs.scenario, sorted(inputs.scenario.jobs.items())
    for offer in inputs.offers:
        yield _price(inputs, offer.name)
    if any(map(scenario.apis_of, scenario.jobs)):
        apis = _of_each("apis", scenario.apis, _TOKEN_PRICES)
        yield _moving("prices by the token", sorted(scenario.apis), apis)
    if sold := {name: own.sale for name, own in scenario.fleet.items() if own.sale}:
        prices = _of_each("fleet", sold, ("price_usd", "paid_usd"), "sale")
        yield _moving("prices of nodes that are sold", sorted(sold), prices)
    if growing := {name: job for name, job in jobs if job.growth_per_quarter}:
        rates = _of_each("jobs", growing, ("growth_per_quarter",))
        told = amount(rates[0][1], "share") if len(rates) == 1 else f"{len(rates)} jobs that grow"
        yield _moving("growth of demand", [told], rates)
    yield from _of_serving(inputs)
    if any(offer.lead_time_weeks for offer in inputs.offers):
        lead = {offer.name: offer.lead_time_weeks for offer in inputs.offers}
        yield UncertainFigure("lead times", "weeks", "", lambda by: _late(lead, by))
    for name in _FINANCE:
        value: Decimal = getattr(inputs.settings, name).value
        if value:
            yield _setting(name, value)


_Figures = list[tuple[tuple[str, ...], Decimal]]
"""Values by their paths."""


def _of_each(section: str, parts: Mapping[str, Any], keys: Iterable[str], *inner: str) -> _Figures:
    """What parts of entries of a section state under some keys, by quarter where they do so."""
    found: _Figures = []
    for name, part in sorted(parts.items()):
        for key in keys:
            path, stated = (section, name, *inner, key), getattr(part, key)
            if isinstance(stated, Mapping):
                found += (((*path, at), one) for at, one in stated.items())
            elif stated:
                found.append((path, stated))
    return found


def _moving(name: str, stated: Sequence[str], figures: _Figures) -> UncertainFigure:
    """Several figures that move together, each by the same share of its own."""

    def settings(by: Fraction) -> tuple[Override, ...]:
        return tuple(Override.of(path, _moved(value, by)) for path, value in figures)

    return UncertainFigure(name, "share", ", ".join(stated), settings)


def price_at(inputs: Inputs, path: tuple[str, ...]) -> tuple[Offer, Decimal] | None:
    """The offer whose price stands at a path, and the price: as stated, else the price book's."""
    offer = inputs.scenario.offers.get(path[1]) if path[0] == "offers" else None
    if offer is None or path[2:] != (offer.price_key,):
        return None
    listed = inputs.catalog.prices.listed(offer.kind, offer.node_type)
    price = offer.stated_price or (listed and listed.usd)
    return (offer, price) if price else None


def repriced(
    path: tuple[str, ...], offer: Offer, price: Decimal, moved: Callable[[Decimal], Decimal | int]
) -> Iterator[Override]:
    """Overrides of the price of an offer, moved, and of its price breaks with it."""
    yield Override.of(path, moved(price))
    if offer.price_breaks:
        levels = tuple(
            {"from_nodes": one.from_nodes, "price_usd": moved(one.price_usd)}
            for one in offer.price_breaks
        )
        yield Override.of((*path[:2], "price_breaks"), levels)


def _price(inputs: Inputs, name: str) -> UncertainFigure:
    path = ("offers", name, inputs.scenario.offers[name].price_key)
    priced = price_at(inputs, path)
    assert priced is not None  # no inputs are settled without a price

    def settings(by: Fraction) -> tuple[Override, ...]:
        return tuple(repriced(path, *priced, lambda one: _moved(one, by)))

    (stated,) = (one.price_text for one in inputs.offers if one.name == name)
    said = f"price of {name}"
    taken = any(said == other for other, _ in _FINANCE.values())
    return UncertainFigure(
        f"price of the offer {name}" if taken else said, "share", stated, settings
    )


def _of_serving(inputs: Inputs) -> Iterator[UncertainFigure]:
    """Traffic, lengths and latency of all serving jobs that state them, each kind together."""
    jobs = sorted(inputs.scenario.jobs.items())
    served = {name: job.serve for name, job in jobs if job.serve and job.serve.load}
    waited = {name: serve.latency for name, serve in served.items() if serve.latency}
    if served:
        one = f"{len(served)} jobs" if len(served) > 1 else next(iter(served))
        loads = {name: serve.load for name, serve in served.items()}
        yield _moving("traffic", [one], _of_each("jobs", loads, TRAFFIC, "serve", "load"))
        yield UncertainFigure(
            "length of prompts and answers", "share", one, lambda by: _longer(served, by)
        )
    if waited:
        one = f"{len(waited)} jobs" if len(waited) > 1 else next(iter(waited))
        limits = _of_each("jobs", waited, ("ttft_ms", "tpot_ms", "e2e_ms"), "serve", "latency")
        yield _moving("latency asked for", [one], limits)


def _longer(served: Mapping[str, Serve], by: Fraction) -> tuple[Override, ...]:
    """Both lengths moved alike, as far as a stated context has room for them."""
    found = []
    for name, serve in served.items():
        if serve.load is None:
            continue
        tokens = serve.load.input_tokens + serve.load.output_tokens
        most = None if serve.context is None else Fraction(serve.context, tokens) - 1
        share = 1 + (by if most is None else min(by, most))
        for key in ("input_tokens", "output_tokens"):
            stated = getattr(serve.load, key)
            moved = max(min(1, stated), floor(stated * share))
            found.append(Override.of(("jobs", name, "serve", "load", key), moved))
        for key in ("input_percentiles", "output_percentiles"):
            lengths = getattr(serve.load, key)
            for at, stated in () if lengths is None else lengths.stated.items():
                path = ("jobs", name, "serve", "load", key, at)
                found.append(Override.of(path, max(1, floor(stated * share))))
    return tuple(found)


def _late(lead: dict[str, int], by: Fraction) -> tuple[Override, ...]:
    return tuple(
        Override.of(("offers", name, "lead_time_weeks"), max(0, weeks + round(by)))
        for name, weeks in lead.items()
    )


def _setting(name: str, value: Decimal) -> UncertainFigure:
    shown, pattern = _FINANCE[name]
    most = Decimal(1) if name in _SHARES else Decimal("Infinity")

    def settings(by: Fraction) -> tuple[Override, ...]:
        return (Override.of(("finance", name), min(_moved(value, by), most)),)

    stated = pattern.format(value=f"{value:f}", percent=amount(value, "share"))
    return UncertainFigure(shown, "share", stated, settings)


def _moved(value: Decimal, by: Fraction) -> Decimal:
    """The value moved by a share of itself, to six decimals."""
    return six_decimals(Fraction(value) * (1 + by))


class Moved(Frozen):
    """A plan with one figure moved."""

    by: float
    """Share of the value, or weeks; negative: down."""
    settings: tuple[Override, ...]
    """With which `planner plan` makes this plan."""
    figures: PlanSummary


class SwitchingPoint(Frozen):
    """Between these two the recommendation changes."""

    before: Moved
    """Nearer to the scenario; acquires what its plan does."""
    after: Moved


class Swing(Frozen):
    """One figure, moved down and up."""

    name: str
    unit: Literal["share", "weeks"]
    stated: str
    low: Moved
    high: Moved
    turns: tuple[SwitchingPoint, ...]
    """At most one each way: the nearest that was found."""

    @property
    def spread_cents(self) -> int | None:
        """How far apart the costs are; None where an end has no plan."""
        ends = (self.low.figures.cost_cents, self.high.figures.cost_cents)
        return None if None in ends else abs((ends[1] or 0) - (ends[0] or 0))

    @property
    def without_plan(self) -> tuple[Moved, ...]:
        """Where there is no plan: the least move that was tried, at most one each way."""
        tried = (self.low, self.high, *(turn.after for turn in self.turns))
        gone = [one for one in tried if one.figures.cost_cents is None]
        ways = ([one for one in gone if one.by < 0], [one for one in gone if one.by > 0])
        return tuple(min(way, key=lambda one: abs(one.by)) for way in ways if way)


class Sensitivity(StoredResult):
    """One scenario, figure by figure: first what leaves no plan, then the widest swing."""

    swing: float
    """Share by which values are moved either way."""
    weeks: int
    """Weeks by which lead times are."""
    precision: float
    """Turns are closed in to this share of the value."""
    base: PlanSummary
    swings: tuple[Swing, ...]


_Move = tuple[UncertainFigure, Fraction]


def _at(runner: CachedRunner, figure: UncertainFigure, by: Fraction) -> Moved:
    """A plan with one figure moved."""
    settings = _settings((figure, by))
    return Moved(by=float(by), settings=settings, figures=runner.one(settings))


def _turned(runner: CachedRunner, figure: UncertainFigure, by: Fraction) -> bool:
    """Whether something else is recommended then, or nothing at all; equals are no turn."""
    settings = _settings((figure, by))
    base, other = runner.one(), runner.one(settings)
    if (base.cost_cents is None, base.acquired) == (other.cost_cents is None, other.acquired):
        return False
    return not would_do(runner.inputs, runner.inputs_with(settings), base, other)


def _plan_together(runner: CachedRunner, asked: Iterable[_Move]) -> None:
    """Plan the scenario as it stands and with each move, those that are not planned yet."""
    runner.all([*map(_settings, asked), ()])


def _settings(move: _Move) -> tuple[Override, ...]:
    figure, by = move
    return tuple(figure.settings(by)) if by else ()


def would_do(stated: Inputs, moved: Inputs, base: PlanSummary, other: PlanSummary) -> bool:
    """Whether what the scenario's plan acquires would do as well as another plan, to the cent.

    `stated` and `moved` are the inputs of the two; nobody plans for this. Where another plan costs
    no less, the two are equal, and the recommendation has not turned, whichever of them the search
    has found. False where that is not known: where other jobs are asked for, or the plan has costs
    that are not those of its nodes.
    """
    if base.cost_cents is None or other.cost_cents is None:
        return False
    if (moved.scenario.jobs, other.giving_way) != (stated.scenario.jobs, base.giving_way):
        return False
    if _present(_streams(stated, base)) != base.cost_cents:
        return False
    streams = list(_streams(moved, base))
    if _present(streams) > other.cost_cents:
        return False
    labels, offers = moved.scenario.horizon.labels, {one.name: one for one in moved.offers}
    return all(
        labels.index(one.quarter) in entry_quarters(moved, offers[one.offer])
        for one in base.acquired
    ) and all(
        sum(count * spent_cents(moved, cap, (one,)) for count, one in streams) <= cap.cents
        for cap in moved.scenario.budget.caps()
    )


def _present(streams: Iterable[tuple[int, CostStream]]) -> int:
    return sum(count * stream.present_cents for count, stream in streams)


def _streams(inputs: Inputs, plan: PlanSummary) -> Iterator[tuple[int, CostStream]]:
    """Nodes, and what each of them costs: those that are owned, and those that are acquired."""
    offers = {offer.name: offer for offer in inputs.offers}
    labels = inputs.scenario.horizon.labels
    orders: Counter[tuple[str, str]] = Counter()
    for one in plan.acquired:
        orders[one.offer, one.quarter] += one.count
    acquired = (
        Entering(offers[name], labels.index(quarter), count, count)
        for (name, quarter), count in orders.items()
    )
    return portfolio_costs(inputs, acquired)


_HAS_PLANS = 2.0
"""Beyond every part of a range."""


@dataclass(slots=True)
class _Search:
    """Where one figure turns, in one direction: between `kept` and `turned`."""

    figure: UncertainFigure
    kept: Fraction
    turned: Fraction
    least: Fraction
    """The bracket is closed where it is no wider."""

    @property
    def closed(self) -> bool:
        return abs(self.turned - self.kept) <= self.least

    @property
    def middle(self) -> Fraction:
        middle = (self.kept + self.turned) / 2
        return Fraction(round(middle)) if self.figure.unit == "weeks" else middle

    def narrow(self, *, turned: bool) -> None:
        if turned:
            self.turned = self.middle
        else:
            self.kept = self.middle


def analyze_sensitivity(
    runner: CachedRunner,
    *,
    swing: Fraction = Fraction(1, 5),
    weeks: int = 4,
    precision: Fraction = Fraction(1, 100),
) -> Sensitivity:
    """Move every uncertain figure either way, and close in on where what is acquired turns.

    No plan counts as the widest swing.
    Raises InputError where a moved value is one that no scenario may have, LimitError where
    workers die.
    """
    found = list(uncertain_figures(runner.inputs))
    reach = {figure.name: Fraction(weeks) if figure.unit == "weeks" else swing for figure in found}
    ends = [(figure, by) for figure in found for by in (-reach[figure.name], reach[figure.name])]
    _plan_together(runner, ends)
    searches = [
        _Search(figure, Fraction(0), end, Fraction(1) if figure.unit == "weeks" else precision)
        for figure, end in ends
        if _turned(runner, figure, end)
    ]
    while waiting := [one for one in searches if not one.closed]:  # all brackets together
        _plan_together(runner, ((one.figure, one.middle) for one in waiting))
        for one in waiting:
            one.narrow(turned=_turned(runner, one.figure, one.middle))
    swings = [
        _swing(
            runner, figure, reach[figure.name], [one for one in searches if one.figure is figure]
        )
        for figure in found
    ]
    swings.sort(key=lambda one: _rank(one, reach[one.name]))
    return Sensitivity(
        question=question_of(runner.inputs),
        scenario=runner.inputs.scenario.name,
        swing=float(swing),
        weeks=weeks,
        precision=float(precision),
        base=runner.one(),
        swings=tuple(swings),
    )


def _rank(one: Swing, reach: Fraction) -> tuple[float, int]:
    """First what leaves no plan, the sooner the sooner, in parts of the range; then the widest."""
    nearest = min((abs(end.by) for end in one.without_plan), default=None)
    if nearest is None:
        return _HAS_PLANS, -(one.spread_cents or 0)
    return nearest / float(reach), 0


def _swing(
    runner: CachedRunner, figure: UncertainFigure, reach: Fraction, searches: Sequence[_Search]
) -> Swing:
    return Swing(
        name=figure.name,
        unit=figure.unit,
        stated=figure.stated,
        low=_at(runner, figure, -reach),
        high=_at(runner, figure, reach),
        turns=tuple(
            SwitchingPoint(
                before=_at(runner, figure, one.kept), after=_at(runner, figure, one.turned)
            )
            for one in searches
        ),
    )
