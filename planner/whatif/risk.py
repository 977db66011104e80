"""Risk: what many futures cost, and how often the nodes of the plan do not hold their jobs.

Each uncertainty has draws of its own, given by the seed, its name and the number of the future: two
scenarios, or one that gains an uncertainty, are tried with the same draws (common random numbers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import ceil, isqrt, sqrt
from pathlib import Path as FilePath
from random import Random
from typing import Annotated

from pydantic import Field, model_validator

from planner.errors import InfeasibleError, InputError, refuse
from planner.inputs.base import Count, Format, Frozen, Name, Number, share
from planner.inputs.layers import base_path
from planner.inputs.override import EVERY, Override, matching, names_at, six_decimals
from planner.inputs.reading.diagnostics import read_as
from planner.inputs.reading.document import Path, YamlDocument, parts_of
from planner.inputs.reading.reader import read_document
from planner.inputs.reading.shape import FieldTree
from planner.inputs.scenario.offer import Offer
from planner.inputs.scenario.scenario import ResolvedScenario, VariationName
from planner.inputs.settled import Inputs
from planner.inputs.text import did_you_mean
from planner.whatif.results import PlanSummary, StoredResult, question_of, summary_of
from planner.whatif.sensitivity import price_at, repriced
from planner.whatif.shortfall import commitments
from planner.whatif.sweep import VariantRuns, unknown_names
from planner.whatif.variants import AS_STATED, Variant, VariantPlanner

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
            raise ValueError(
                "the three points are the least, the most likely and the greatest, not all alike"
            )
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
    place: Path
    """Where the file of the futures names it."""
    offer: Offer | None
    """Whose price it is: its price breaks move with it."""

    def settings(self, moved: Callable[[Decimal], Fraction]) -> Iterator[Override]:
        """What states another value in its place."""

        def written(value: Decimal) -> Decimal | int:
            future = moved(value)
            return round(future) if _SHAPE.is_whole(self.path) else six_decimals(future)

        if self.offer is None:
            return iter((Override.of(self.path, written(self.stated)),))
        return repriced(self.path, self.offer, self.stated, written)


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
        seen: dict[tuple[str, ...], str] = {}
        for name, one in ((name, one) for name, moving in values.items() for one in moving):
            if one.path in seen:  # only the last would count
                message = f"is moved by {seen[one.path]!r} already"
                raise InputError(self.document.finding(one.place, message))
            seen[one.path] = name
        for end in (0, -1):
            points = {name: Fraction(one.points[end]) for name, one in self.file.uncertain.items()}
            planner.inputs(base.with_more(Variant((), tuple(self._settings(values, points)))))
        drawn = []
        for number in range(futures):
            draws = {}
            for name, uncertainty in self.file.uncertain.items():
                # Seeded by text, Python's generator gives the same numbers on every machine.
                uniform = Fraction(Random(f"{self.file.seed}:{name}:{number}").random())
                draws[name] = _quantile(uniform, *map(Fraction, uncertainty.points))
            drawn.append(base.with_more(Variant((), tuple(self._settings(values, draws)))))
        return drawn

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
                numbers, priced = list(_numbers(document, path)), price_at(inputs, path)
                stated += numbers or ([(path, priced[1])] if priced else [])
            if not stated:
                message = f"the scenario states no number at {text}"
                hint = _meant(document, parts_of(text))
                raise InputError(self.document.finding(place, message, hint))
            for inner, value in stated:
                offer, _ = price_at(inputs, inner) or (None, None)
                found.append(_Value(inner, value, place, offer))
        return found

    def _settings(
        self, values: dict[str, list[_Value]], points: dict[str, Fraction]
    ) -> Iterator[Override]:
        """What a future states, each where this file names it."""
        for name, moving in values.items():
            moved = partial(self.file.uncertain[name].moved, by=points[name])
            for one in moving:
                for stated in one.settings(moved):
                    yield replace(stated, document=self.document, at=one.place)


def _quantile(uniform: Fraction, low: Fraction, likely: Fraction, high: Fraction) -> Fraction:
    """Return a quantile of the triangular distribution, with its root in integers, to 2^-53."""
    if uniform <= (likely - low) / (high - low):
        return low + _root(uniform * (high - low) * (likely - low))
    return high - _root((1 - uniform) * (high - low) * (high - likely))


def _root(square: Fraction) -> Fraction:
    return Fraction(isqrt(int(square * _FINE * _FINE)), _FINE)


def _meant(document: YamlDocument, path: tuple[str, ...]) -> str | None:
    """Say which path was meant where no number stands, or how one comes to stand there."""
    for depth, name in enumerate(path):
        known = {*_SHAPE.keys(path[:depth]), *names_at(document.data, path[:depth])}
        if known and name not in known and name != EVERY:
            return did_you_mean(name, sorted(known)) or f"known there: {', '.join(sorted(known))}"
    if _SHAPE.is_number(path):
        return "state the value there, so that it can be moved"
    return "name a number, such as offers.NAME.price_usd"


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


FORMAT = "4.0"
"""Minor: additive changes. Major: older readers refuse the file."""

_PERCENTILES = (5, 25, 50, 75, 95)
_CONFIDENCE = 1.96
"""Standard deviations to either side that hold 95 % of a normal distribution."""


class Chance(Frozen):
    """How often the nodes of the plan do not hold all jobs of a quarter."""

    quarter: str
    short: int
    """Futures in which they do not."""
    of: int
    """Futures of which it is known."""

    @property
    def range(self) -> tuple[float, float]:
        """Within which the chance lies with 95 % confidence, by Wilson's score interval."""
        share, z2 = self.short / self.of, _CONFIDENCE**2
        middle = share + z2 / (2 * self.of)
        half = _CONFIDENCE * sqrt(share * (1 - share) / self.of + z2 / (4 * self.of**2))
        scale = 1 + z2 / self.of
        return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


class Risk(StoredResult):
    """Futures of one scenario."""

    format: str = FORMAT
    seed: int
    futures: int
    base: PlanSummary
    """The plan of the scenario as it stands: what is bought now."""
    without_plan: int
    """Futures for which no plan exists, or none was found in time."""
    not_proved: int
    giving_way: int = 0
    """Futures in which jobs give way: their cost is that of the others."""
    percentiles: tuple[int, ...] = _PERCENTILES
    cost_cents: tuple[int, ...]
    """Net present cost of the best plan of a future, by percentile, of those that have a plan."""
    costs_cents: tuple[int, ...]
    """All of them, the cheapest first."""
    chances: tuple[Chance, ...]


def assess_risk(
    planner: VariantPlanner,
    futures: Futures,
    samples: int,
    out: FilePath,
    *,
    force: bool = False,
    runs: VariantRuns,
) -> Risk:
    """Plan each of so many futures, and ask of each whether the nodes of the plan now would do.

    Results are kept in the folder like those of a sweep. Raises InfeasibleError where the scenario
    as it stands has no plan, and what a sweep raises.
    """
    inputs = planner.inputs(futures.base(planner))
    plan = planner.plan(inputs)
    knowing = VariantPlanner(replace(planner.config, committed=commitments(plan)))
    drawn = futures.drawn(knowing, samples)
    every = runs.figures(knowing, drawn, out, force=force)
    planned = [one for one in every if one.cost_cents is not None]
    if not planned:
        raise InfeasibleError("no future has a plan", tuple(sorted({one.reason for one in every})))
    costs = sorted(one.cost_cents or 0 for one in planned)
    base = summary_of(plan)
    known = [one.short_quarters for one in every if one.short_quarters is not None]
    return Risk(
        question=question_of(inputs),
        scenario=inputs.scenario.name,
        seed=futures.file.seed,
        futures=samples,
        base=base,
        without_plan=len(every) - len(planned),
        not_proved=sum(one.result == "not proved" for one in every),
        giving_way=sum(bool(one.short) for one in planned),
        cost_cents=tuple(at_percentile(costs, share) for share in _PERCENTILES),
        costs_cents=tuple(costs),
        chances=tuple(
            Chance(quarter=quarter, short=sum(quarter in one for one in known), of=len(known))
            for quarter in plan.quarters
            if known
        ),
    )


def at_percentile(values: Sequence[int], share: int) -> int:
    """Return the sorted value at so many per cent, by nearest rank."""
    return values[ceil(len(values) * share / 100) - 1]
