"""Sensitivity: how the cost answers to one uncertain figure at a time, and where purchases change.

The recommendation is what is acquired: offer, quarter and number of nodes. A turn is closed in
between two plans: one that still acquires what the scenario's plan does, and one that does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import floor
from typing import Any, Literal

from planner.inputs.base import Frozen
from planner.inputs.override import Override, six_decimals
from planner.inputs.scenario.load import TRAFFIC
from planner.inputs.scenario.offer import LONGEST_LEAD_WEEKS, Offer
from planner.inputs.settled import Inputs
from planner.inputs.text import amount
from planner.whatif.results import PlanSummary, StoredResult, question_of
from planner.whatif.variants import CachedRunner

_FINANCE = {
    "discount_rate_per_year": ("discount rate", "{percent} a year"),
    "energy_usd_per_kwh": ("price of energy", "${value} per kWh"),
    "support_share_per_year": ("support", "{percent} of the price a year"),
    "useful_life_years": ("useful life", "{value} years"),
}
"""Cost settings that are estimates: their names for people, and how a value is written."""

_TOKEN_PRICES = tuple(f"usd_per_million_{kind}_tokens" for kind in ("input", "output", "cached"))
_SHARES = ("discount_rate_per_year", "support_share_per_year")
"""Settings that cannot be more than 1."""


@dataclass(frozen=True, slots=True)
class UncertainFigure:
    """One figure, or several that move together."""

    name: str
    """For people: `price of buy-h200`."""
    unit: Literal["share", "weeks"]
    """A figure in shares moves by a part of its value, one in weeks by whole weeks."""
    stated: str
    """The current value, if it is one value."""
    moved: Callable[[Fraction], Iterable[Override]]

    def settings(self, by: Fraction) -> tuple[Override, ...]:
        """Return the settings that move it by so much."""
        return tuple(self.moved(by)) if by else ()


def uncertain_figures(inputs: Inputs) -> Iterator[UncertainFigure]:
    """Return prices, growth, traffic, latency, lead times and cost settings, if stated."""
    scenario, jobs = inputs.scenario, sorted(inputs.scenario.jobs.items())
    shown = {name for name, _ in _FINANCE.values()}
    for offer in inputs.offers:
        path = ("offers", offer.name, scenario.offers[offer.name].price_key)
        priced = price_at(inputs, path)
        assert priced is not None  # no inputs are settled without a price
        said = f"price of {offer.name}"
        said = f"price of the offer {offer.name}" if said in shown else said
        yield UncertainFigure(said, "share", offer.price_text, partial(_price, path, *priced))
    if any(map(scenario.apis_of, scenario.jobs)):
        apis = _of_each("apis", scenario.apis, _TOKEN_PRICES)
        yield _moving("prices by the token", ", ".join(sorted(scenario.apis)), apis)
    if sold := {name: own.sale for name, own in scenario.fleet.items() if own.sale}:
        prices = _of_each("fleet", sold, ("price_usd", "paid_usd"), "sale")
        yield _moving("prices of nodes that are sold", ", ".join(sorted(sold)), prices)
    loads = {name: job.serve.load for name, job in jobs if job.serve and job.serve.load}
    growth = ("growth_per_quarter",)
    rates = _of_each("jobs", scenario.jobs, growth) + _of_each(
        "jobs", loads, growth, "serve", "load"
    )
    if rates:
        growing = len({path[1] for path, _ in rates})
        told = amount(rates[0][1], "share") if len(rates) == 1 else f"{growing} jobs that grow"
        yield _moving("growth of demand", told, rates)
    if loads:
        served = f"{len(loads)} jobs" if len(loads) > 1 else next(iter(loads))
        yield _moving("traffic", served, _of_each("jobs", loads, TRAFFIC, "serve", "load"))
        longer = partial(_longer, inputs)
        yield UncertainFigure("length of prompts and answers", "share", served, longer)
    waited = {name: job.serve.latency for name, job in jobs if job.serve and job.serve.latency}
    if waited := {name: latency for name, latency in waited.items() if name in loads}:
        served = f"{len(waited)} jobs" if len(waited) > 1 else next(iter(waited))
        limits = _of_each("jobs", waited, ("ttft_ms", "tpot_ms", "e2e_ms"), "serve", "latency")
        yield _moving("latency asked for", served, limits)
    if any(offer.lead_time_weeks for offer in inputs.offers):
        yield UncertainFigure("lead times", "weeks", "", partial(_late, inputs))
    for key, (name, pattern) in _FINANCE.items():
        value: Decimal = getattr(inputs.settings, key).value
        most = Decimal(1) if key in _SHARES else None
        if value:
            stated = pattern.format(value=f"{value:f}", percent=amount(value, "share"))
            yield _moving(name, stated, [(("finance", key), value)], most)


_Figures = list[tuple[tuple[str, ...], Decimal]]
"""Values by their paths."""


def _of_each(section: str, parts: Mapping[str, Any], keys: Iterable[str], *inner: str) -> _Figures:
    """Return what entries of a section state under some keys, by quarter if they do so."""
    found: _Figures = []
    for name, part in sorted(parts.items()):
        for key in keys:
            path, stated = (section, name, *inner, key), getattr(part, key)
            if isinstance(stated, Mapping):
                found += (((*path, at), one) for at, one in stated.items())
            elif stated:
                found.append((path, stated))
    return found


def _moving(
    name: str, stated: str, figures: _Figures, most: Decimal | None = None
) -> UncertainFigure:
    """Return figures that move together, each by the same share of its own, at most by `most`."""

    def moved(by: Fraction) -> Iterator[Override]:
        for path, value in figures:
            one = _moved(value, by)
            yield Override.of(path, one if most is None else min(one, most))

    return UncertainFigure(name, "share", stated, moved)


def _moved(value: Decimal, by: Fraction) -> Decimal:
    """Return the value moved by a share of itself, to six decimals."""
    return six_decimals(Fraction(value) * (1 + by))


def price_at(inputs: Inputs, path: tuple[str, ...]) -> tuple[Offer, Decimal] | None:
    """Return the offer whose price stands at a path, and the price: stated, or the price book's."""
    offer = inputs.scenario.offers.get(path[1]) if path[0] == "offers" else None
    if offer is None or path[2:] != (offer.price_key,):
        return None
    listed = inputs.catalog.prices.listed(offer.kind, offer.node_type)
    price = offer.stated_price or (listed and listed.usd)
    return (offer, price) if price else None


def repriced(
    path: tuple[str, ...], offer: Offer, price: Decimal, moved: Callable[[Decimal], Decimal | int]
) -> Iterator[Override]:
    """Return overrides of an offer's price, moved, and of its price breaks with it."""
    yield Override.of(path, moved(price))
    if offer.price_breaks:
        levels = tuple(
            {"from_nodes": one.from_nodes, "price_usd": moved(one.price_usd)}
            for one in offer.price_breaks
        )
        yield Override.of((*path[:2], "price_breaks"), levels)


def _price(path: tuple[str, ...], offer: Offer, price: Decimal, by: Fraction) -> Iterator[Override]:
    return repriced(path, offer, price, lambda one: _moved(one, by))


def _late(inputs: Inputs, by: Fraction) -> Iterator[Override]:
    for offer in inputs.offers:
        weeks = min(max(0, offer.lead_time_weeks + round(by)), LONGEST_LEAD_WEEKS)
        yield Override.of(("offers", offer.name, "lead_time_weeks"), weeks)


def _longer(inputs: Inputs, by: Fraction) -> Iterator[Override]:
    """Move both lengths alike, as far as a stated context has room for them."""
    for name, job in sorted(inputs.scenario.jobs.items()):
        serve = job.serve
        if serve is None or serve.load is None:
            continue
        tokens = serve.load.input_tokens + serve.load.output_tokens
        most = by if serve.context is None else Fraction(serve.context, tokens) - 1
        path, share = ("jobs", name, "serve", "load"), 1 + min(by, most)
        for key in ("input_tokens", "output_tokens"):
            stated = getattr(serve.load, key)
            yield Override.of((*path, key), max(min(1, stated), floor(stated * share)))
        for key in ("input_percentiles", "output_percentiles"):
            lengths = getattr(serve.load, key)
            for at, stated in () if lengths is None else lengths.stated.items():
                yield Override.of((*path, key, at), max(1, floor(stated * share)))


class Moved(Frozen):
    """A plan with one figure moved."""

    by: float
    """A share of the value, or weeks; negative: down."""
    settings: tuple[Override, ...]
    """The settings with which `planner plan` makes this plan."""
    figures: PlanSummary


class SwitchingPoint(Frozen):
    """The two plans between which the recommendation changes."""

    before: Moved
    """The one nearer to the scenario; it acquires what the scenario's plan does."""
    after: Moved


class Swing(Frozen):
    """One figure, moved down and up."""

    name: str
    unit: Literal["share", "weeks"]
    stated: str
    low: Moved
    high: Moved
    turns: tuple[SwitchingPoint, ...]
    """At most one in each direction: the nearest that was found."""

    @property
    def spread_cents(self) -> int | None:
        """How far apart the costs are; None if one end has no plan."""
        ends = (self.low.figures.cost_cents, self.high.figures.cost_cents)
        return None if None in ends else abs((ends[1] or 0) - (ends[0] or 0))

    @property
    def without_plan(self) -> tuple[Moved, ...]:
        """The least move tried that leaves no plan, at most one in each direction."""
        tried = (self.low, self.high, *(turn.after for turn in self.turns))
        gone = [one for one in tried if one.figures.cost_cents is None]
        ways = ([one for one in gone if one.by < 0], [one for one in gone if one.by > 0])
        return tuple(min(way, key=lambda one: abs(one.by)) for way in ways if way)


class Sensitivity(StoredResult):
    """One scenario, figure by figure: first what leaves no plan, then the widest swing."""

    swing: float
    """The share by which values are moved in each direction."""
    weeks: int
    """The weeks by which lead times are moved."""
    precision: float
    """Turning points are bracketed to this share of the value."""
    base: PlanSummary
    swings: tuple[Swing, ...]


def _at(runner: CachedRunner, figure: UncertainFigure, by: Fraction) -> Moved:
    settings = figure.settings(by)
    return Moved(by=float(by), settings=settings, figures=runner.one(settings))


def _turned(runner: CachedRunner, figure: UncertainFigure, by: Fraction) -> bool:
    """Return whether something else is then recommended, or nothing at all."""
    base, other = runner.one(), runner.one(figure.settings(by))
    return (base.cost_cents is None, base.acquired) != (other.cost_cents is None, other.acquired)


@dataclass(slots=True)
class _Search:
    """The search for one figure's turning point in one direction: between `kept` and `turned`."""

    figure: UncertainFigure
    kept: Fraction
    turned: Fraction
    least: Fraction
    """The bracket is closed once it is no wider."""

    @property
    def closed(self) -> bool:
        return abs(self.turned - self.kept) <= self.least

    @property
    def middle(self) -> Fraction:
        middle = (self.kept + self.turned) / 2
        return Fraction(round(middle)) if self.figure.unit == "weeks" else middle


def analyze_sensitivity(
    runner: CachedRunner,
    *,
    swing: Fraction = Fraction(1, 5),
    weeks: int = 4,
    precision: Fraction = Fraction(1, 100),
) -> Sensitivity:
    """Move every uncertain figure in each direction, and bracket where acquisitions change.

    No plan counts as the widest swing. Raises InputError if a moved value is one that no
    scenario may have, and LimitError if workers die.
    """
    found = list(uncertain_figures(runner.inputs))
    reach = {one.name: Fraction(weeks) if one.unit == "weeks" else swing for one in found}
    ends = [(figure, by) for figure in found for by in (-reach[figure.name], reach[figure.name])]
    runner.all([*(figure.settings(by) for figure, by in ends), ()])  # all that are new together
    searches = [
        _Search(figure, Fraction(0), end, Fraction(1) if figure.unit == "weeks" else precision)
        for figure, end in ends
        if _turned(runner, figure, end)
    ]
    while waiting := [one for one in searches if not one.closed]:
        runner.all([one.figure.settings(one.middle) for one in waiting])
        for one in waiting:
            if _turned(runner, one.figure, one.middle):
                one.turned = one.middle
            else:
                one.kept = one.middle
    swings = [
        Swing(
            name=figure.name,
            unit=figure.unit,
            stated=figure.stated,
            low=_at(runner, figure, -reach[figure.name]),
            high=_at(runner, figure, reach[figure.name]),
            turns=tuple(
                SwitchingPoint(
                    before=_at(runner, figure, one.kept), after=_at(runner, figure, one.turned)
                )
                for one in searches
                if one.figure is figure
            ),
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
    """Sort by the least move that leaves no plan, then by the widest swing.

    The move counts as a part of its range.
    """
    nearest = min((abs(end.by) for end in one.without_plan), default=None)
    if nearest is None:
        return 2.0, -(one.spread_cents or 0)  # beyond every part of a range
    return nearest / float(reach), 0
