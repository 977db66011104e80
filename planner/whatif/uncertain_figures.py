"""Figures of a scenario that nobody knows for sure, each with the overrides that move it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Literal

from planner.inputs.layers.override import Override
from planner.inputs.scenario.load import TRAFFIC
from planner.planning.words import amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from planner.inputs.scenario.job import Latency, Serve
    from planner.inputs.scenario.offer import Offer
    from planner.inputs.settled import Inputs

_FINANCE = {
    "discount_rate_per_year": ("discount rate", "{percent} a year"),
    "energy_usd_per_kwh": ("price of energy", "${value} per kWh"),
    "support_share_per_year": ("support", "{percent} of the price a year"),
    "useful_life_years": ("useful life", "{value} years"),
}
"""Settings of cost that are estimates: their names for people, and how a value is written."""

_SHARES = ("discount_rate_per_year", "support_share_per_year")
"""Those that cannot be more than 1."""
_DIGITS = Decimal("0.000001")


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
    """Prices of offers and APIs, growth, traffic, lead times and settings of cost, if stated."""
    for offer in inputs.offers:
        yield _price(inputs, offer.name)
    if any(map(inputs.scenario.apis_of, inputs.scenario.jobs)):
        apis = ", ".join(sorted(inputs.scenario.apis))
        yield UncertainFigure(
            "prices by the token", "share", apis, lambda by: tuple(_by_the_token(inputs, by))
        )
    if growing := _growing(inputs):
        one, *others = growing.values()
        stated = f"{len(growing)} jobs that grow" if others else amount(one, "share")
        yield UncertainFigure("growth of demand", "share", stated, lambda by: _grown(growing, by))
    yield from _of_serving(inputs)
    if any(offer.lead_time_weeks for offer in inputs.offers):
        lead = {offer.name: offer.lead_time_weeks for offer in inputs.offers}
        yield UncertainFigure("lead times", "weeks", "", lambda by: _late(lead, by))
    for name in _FINANCE:
        value: Decimal = getattr(inputs.settings, name).value
        if value:
            yield _setting(name, value)


def price_of(inputs: Inputs, name: str) -> tuple[str, Decimal]:
    """Key and value of an offer's price, USD: as stated, else that of the price book."""
    offer = inputs.scenario.offers[name]
    price = offer.stated_price
    if price is None:
        listed = inputs.catalog.prices.listed(offer.kind, offer.node_type)
        assert listed is not None  # no inputs are settled without a price
        price = listed.usd
    return offer.price_key, price


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
    offer = inputs.scenario.offers[name]
    key, price = price_of(inputs, name)

    def settings(by: Fraction) -> tuple[Override, ...]:
        return tuple(repriced(("offers", name, key), offer, price, lambda one: _moved(one, by)))

    (stated,) = (one.price_text for one in inputs.offers if one.name == name)
    said = f"price of {name}"
    taken = any(said == other for other, _ in _FINANCE.values())
    return UncertainFigure(
        f"price of the offer {name}" if taken else said, "share", stated, settings
    )


def _by_the_token(inputs: Inputs, by: Fraction) -> Iterator[Override]:
    """Every price of every API."""
    for name, api in sorted(inputs.scenario.apis.items()):
        for kind in ("input", "output", "cached"):
            key = f"usd_per_million_{kind}_tokens"
            if stated := getattr(api, key):
                yield Override.of(("apis", name, key), _moved(stated, by))


def _growing(inputs: Inputs) -> dict[str, Decimal]:
    return {
        name: job.growth_per_quarter
        for name, job in sorted(inputs.scenario.jobs.items())
        if job.growth_per_quarter
    }


def _grown(growing: dict[str, Decimal], by: Fraction) -> tuple[Override, ...]:
    return tuple(
        Override.of(("jobs", name, "growth_per_quarter"), _moved(rate, by))
        for name, rate in growing.items()
    )


def _of_serving(inputs: Inputs) -> Iterator[UncertainFigure]:
    """Traffic, lengths and latency of all serving jobs that state them, each kind together."""
    jobs = sorted(inputs.scenario.jobs.items())
    served = {name: job.serve for name, job in jobs if job.serve and job.serve.load}
    if served:
        one = f"{len(served)} jobs" if len(served) > 1 else next(iter(served))
        yield UncertainFigure("traffic", "share", one, lambda by: _busier(served, by))
        yield UncertainFigure(
            "length of prompts and answers", "share", one, lambda by: _longer(served, by)
        )
    waited = {name: serve.latency for name, serve in served.items() if serve.latency}
    if waited:
        one = f"{len(waited)} jobs" if len(waited) > 1 else next(iter(waited))
        yield UncertainFigure(
            "latency asked for", "share", one, lambda by: tuple(_slower(waited, by))
        )


def _busier(served: Mapping[str, Serve], by: Fraction) -> tuple[Override, ...]:
    found = []
    for name, serve in served.items():
        for key in TRAFFIC:
            stated, path = getattr(serve.load, key), ("jobs", name, "serve", "load", key)
            if isinstance(stated, dict):
                found += [Override.of((*path, at), _moved(one, by)) for at, one in stated.items()]
            elif stated is not None:
                found.append(Override.of(path, _moved(stated, by)))
    return tuple(found)


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
            moved = max(1, floor(getattr(serve.load, key) * share))
            found.append(Override.of(("jobs", name, "serve", "load", key), moved))
        for key in ("input_percentiles", "output_percentiles"):
            lengths = getattr(serve.load, key)
            for at, stated in () if lengths is None else lengths.stated.items():
                path = ("jobs", name, "serve", "load", key, at)
                found.append(Override.of(path, max(1, floor(stated * share))))
    return tuple(found)


def _slower(waited: Mapping[str, Latency], by: Fraction) -> Iterator[Override]:
    for name, latency in waited.items():
        for key in ("ttft_ms", "tpot_ms", "e2e_ms"):
            if (stated := getattr(latency, key)) is not None:
                yield Override.of(("jobs", name, "serve", "latency", key), _moved(stated, by))


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
    exact = Fraction(value) * (1 + by)
    rounded = (Decimal(exact.numerator) / Decimal(exact.denominator)).quantize(_DIGITS)
    return rounded.normalize()
