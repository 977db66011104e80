"""Uncertain figures of a scenario: what moves each, and futures drawn of them.

Each uncertainty has draws of its own, given by the seed, its name and the number of the future: two
scenarios, or one that gains an uncertainty, are tried with the same draws (common random numbers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import floor, isqrt
from pathlib import Path as FilePath
from random import Random
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from planner.errors import InputError, refuse
from planner.inputs.base import Count, Format, Frozen, Name, Number, share
from planner.inputs.layers import base_path
from planner.inputs.override import Override, matching, six_decimals
from planner.inputs.reading.diagnostics import read_as
from planner.inputs.reading.document import Path, YamlDocument, parts_of
from planner.inputs.reading.reader import read_document
from planner.inputs.reading.shape import FieldTree
from planner.inputs.scenario.job import Serve
from planner.inputs.scenario.load import TRAFFIC
from planner.inputs.scenario.offer import Offer
from planner.inputs.scenario.scenario import ResolvedScenario, VariationName
from planner.inputs.settled import Inputs
from planner.planning.words import amount
from planner.whatif.sweep import unknown_names
from planner.whatif.variants import AS_STATED, Variant, VariantPlanner

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


def _price_at(inputs: Inputs, path: tuple[str, ...]) -> tuple[Offer, Decimal] | None:
    """The offer whose price stands at a path, and the price: as stated, else the price book's."""
    offer = inputs.scenario.offers.get(path[1]) if path[0] == "offers" else None
    if offer is None or path[2:] != (offer.price_key,):
        return None
    listed = inputs.catalog.prices.listed(offer.kind, offer.node_type)
    price = offer.stated_price or (listed and listed.usd)
    return (offer, price) if price else None


def _repriced(
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
    priced = _price_at(inputs, path)
    assert priced is not None  # no inputs are settled without a price

    def settings(by: Fraction) -> tuple[Override, ...]:
        return tuple(_repriced(path, *priced, lambda one: _moved(one, by)))

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


_SHAPE = FieldTree(ResolvedScenario)
_FINE = 2**53

Points = Annotated[tuple[Number, ...], Field(min_length=3, max_length=3)]


class Uncertainty(Frozen):
    """One thing that is not known; all values under `of` move with it together."""

    of: Annotated[tuple[str, ...], Field(min_length=1)]
    """Dotted paths of the values that it moves."""
    times: Points | None = None
    """By what they are multiplied: least, most likely and greatest."""
    plus: Points | None = None
    """Or what is added to them, likewise."""

    @model_validator(mode="after")
    def _one_estimate(self) -> Uncertainty:
        if (self.times is None) == (self.plus is None):
            raise ValueError("give either `times` or `plus`")
        low, likely, high = self.points
        if not (low <= likely <= high and low < high):
            raise ValueError("the three points are the least, the most likely and the greatest")
        return self

    @property
    def points(self) -> tuple[Decimal, Decimal, Decimal]:
        """Least, most likely, greatest."""
        low, likely, high = self.times or self.plus or ()
        return low, likely, high

    def moved(self, value: Decimal, by: Fraction) -> Fraction:
        """A value in a future in which this comes out so."""
        return Fraction(value) * by if self.times else Fraction(value) + by


class FuturesFile(Frozen):
    """A scenario and what is uncertain about it."""

    format: Format
    """Version of this file format."""
    scenario: Name
    """The scenario file, relative to this one."""
    apply: tuple[VariationName, ...] = ()
    """Overrides and scenarios of it that hold in every future."""
    seed: Count = 0
    """Which draws are taken."""
    uncertain: Annotated[dict[Name, Uncertainty], Field(min_length=1)]
    """What is not known, by names of your own."""


@dataclass(frozen=True, slots=True)
class _Value:
    """One value that moves."""

    path: tuple[str, ...]
    stated: Decimal
    whole: bool
    """Whether it must be a whole number."""
    place: Path
    """Where the file of the futures names it."""
    offer: Offer | None
    """Whose price it is: its price breaks move with it."""

    def settings(self, moved: Callable[[Decimal], Fraction]) -> Iterator[Override]:
        """What states another value in its place."""
        if self.offer is None:
            yield Override.of(self.path, self.written(moved(self.stated)))
        else:
            yield from _repriced(
                self.path, self.offer, self.stated, lambda price: self.written(moved(price))
            )

    def written(self, value: Fraction) -> Decimal | int:
        """What is stated in its place."""
        return round(value) if self.whole else six_decimals(value)


@dataclass(frozen=True, slots=True)
class Futures:
    """A file of uncertainties, read."""

    document: YamlDocument
    file: FuturesFile
    scenario: FilePath
    asked: Variant
    """Overrides and settings on which the file stands."""

    def base(self, planner: VariantPlanner) -> Variant:
        """The future in which everything is as stated; raises InputError for unknown names."""
        names = ((("apply", place), name) for place, name in enumerate(self.file.apply))
        refuse(unknown_names(self.document, planner, names))
        return self.asked.with_more(Variant(self.file.apply))

    def drawn(self, planner: VariantPlanner, futures: int) -> list[Variant]:
        """So many futures; raises InputError where an end of an estimate is no possible value."""
        base = self.base(planner)
        inputs = planner.inputs(base)
        document = planner.question.layers.composed(base.apply, base.settings).document
        values = {name: self._values(document, inputs, name) for name in self.file.uncertain}
        self._require_apart(values)
        for end in (0, -1):
            points = {name: Fraction(one.points[end]) for name, one in self.file.uncertain.items()}
            planner.inputs(base.with_more(Variant((), tuple(self._settings(values, points)))))
        drawn = (self._settings(values, self._draws(number)) for number in range(futures))
        return [base.with_more(Variant((), tuple(settings))) for settings in drawn]

    def _values(self, document: YamlDocument, inputs: Inputs, name: str) -> list[_Value]:
        found: list[_Value] = []
        for number, text in enumerate(self.file.uncertain[name].of):
            place: Path = ("uncertain", name, "of", number)
            try:
                paths = list(matching(document.data, parts_of(text)))
            except ValueError as error:
                raise InputError(self.document.finding(place, str(error))) from None
            stated = []
            for path in paths:
                numbers, priced = list(_numbers(document, path)), _price_at(inputs, path)
                stated += numbers or ([(path, priced[1])] if priced else [])
            if not stated:
                message = f"the scenario states no number at {text}"
                hint = "state the value there, so that it can be moved"
                raise InputError(self.document.finding(place, message, hint))
            for inner, value in stated:
                offer, _ = _price_at(inputs, inner) or (None, None)
                found.append(_Value(inner, value, _SHAPE.is_whole(inner), place, offer))
        return found

    def _require_apart(self, values: dict[str, list[_Value]]) -> None:
        """Raise InputError for a value that is moved twice: only the last would count."""
        seen: dict[tuple[str, ...], str] = {}
        for name, moving in values.items():
            for one in moving:
                if one.path in seen:
                    message = f"is moved by {seen[one.path]!r} already"
                    raise InputError(self.document.finding(one.place, message))
                seen[one.path] = name

    def _settings(
        self, values: dict[str, list[_Value]], points: dict[str, Fraction]
    ) -> Iterator[Override]:
        """What a future states, each where this file names it."""
        for name, moving in values.items():
            moved = partial(self.file.uncertain[name].moved, by=points[name])
            for one in moving:
                for stated in one.settings(moved):
                    yield replace(stated, document=self.document, at=one.place)

    def _draws(self, number: int) -> dict[str, Fraction]:
        """What each uncertainty comes out as in a future."""
        drawn = {}
        for name, one in self.file.uncertain.items():
            # Seeded by text, Python's generator gives the same numbers on every machine.
            uniform = Fraction(Random(f"{self.file.seed}:{name}:{number}").random())
            drawn[name] = _quantile(uniform, *map(Fraction, one.points))
        return drawn


def _quantile(uniform: Fraction, low: Fraction, likely: Fraction, high: Fraction) -> Fraction:
    """Of the triangular distribution; its square root is taken in whole numbers, to 2^-53."""
    if uniform <= (likely - low) / (high - low):
        return low + _root(uniform * (high - low) * (likely - low))
    return high - _root((1 - uniform) * (high - low) * (high - likely))


def _root(square: Fraction) -> Fraction:
    return Fraction(isqrt(int(square * _FINE * _FINE)), _FINE)


def _numbers(
    document: YamlDocument, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Decimal]]:
    """Numbers that are stated at a path, or by key in the mapping there."""
    try:
        value = document.value(path)
    except (KeyError, TypeError, IndexError):
        return
    stated = value.items() if isinstance(value, dict) else ((None, value),)
    for key, item in stated:
        try:
            number = share(item)
        except ValueError:
            return
        if not isinstance(number, Decimal):
            return
        yield (path if key is None else (*path, key)), number


def read_futures(
    path: FilePath,
    text: str | None = None,
    scenario: FilePath | None = None,
    asked: Variant = AS_STATED,
) -> Futures:
    """Read the file; raises InputError with all its mistakes.

    `text` stands in for the file, `scenario` for the one that it names; what is `asked` of that
    holds in every future.
    """
    document, file = read_as(partial(read_document, path, text=text), FuturesFile)
    named = scenario or base_path(document, file.scenario, key="scenario")
    return Futures(document, file, named, asked)
