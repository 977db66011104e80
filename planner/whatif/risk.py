"""Risk: what many futures cost, and how purchase plans hold in them.

Each uncertainty has draws of its own, given by the seed, its name and the number of the future: two
scenarios, or one that gains an uncertainty, are tried with the same draws (common random numbers).
What is bought and reserved is chosen once; what is rented, and what runs where, adapts to each
future. The first purchase plan is that of the scenario; the others are searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
from planner.packing import translate
from planner.packing.incumbent import Infeasible
from planner.packing.nowhere import with_apis
from planner.packing.scenario_program import Future, Hedged, Mean, Order, future_of, hedged
from planner.packing.solver import Outcome
from planner.whatif.results import Acquired, PlanSummary, StoredResult, question_of, summary_of
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


_MOST = 24
"""Futures in one program. Of the others, what they cost at the least is counted."""
_GAP = 1e-3
"""The relative gap within which purchases are searched."""
_ANY = 1.0
"""The same where any purchases will do."""


class Hedging:
    """A stochastic program of purchases, to which futures are added."""

    def __init__(
        self, planner: VariantPlanner, drawn: Sequence[Variant], known: Sequence[PlanSummary]
    ) -> None:
        """`known` are the futures as drawn, each with its best plan."""
        self.planner, self.drawn, self.known = planner, drawn, known
        inputs = planner.inputs(drawn[0])
        self._offers = {offer.name: offer for offer in inputs.offers}
        self._first = inputs.scenario.horizon.first_quarter
        self._futures: dict[int, Future] = {}
        self._worst: list[Sequence[int]] = []
        self.apart = 0
        """Futures that no purchases hold beside all those that were taken in before."""

    def propose(self, worst: Sequence[int]) -> tuple[tuple[Acquired, ...], int, int] | None:
        """The best purchases once these futures count as bad, too, as far as fractional units tell.

        With how many futures they were searched over, and cents below which no purchases that hold
        all futures have their mean of the worst cases. None where time ends before, or no purchases
        hold any of them. `worst` are places of futures that have a plan, as many each time.
        """
        self._worst.append(worst)
        new = [place for place in worst if place not in self._futures]
        self._take_in(new[: _MOST - len(self._futures)])
        if not self._futures:
            return None
        places = {place: number for number, place in enumerate(self._futures)}
        means = []
        for bad in self._worst:
            others = (self.known[place].bound_cents or 0 for place in bad if place not in places)
            within = tuple(places[place] for place in bad if place in places)
            means.append(Mean(within, sum(others), len(bad)))
        found = self._solved(means, _GAP)
        if found.orders is None:
            return None
        purchased = []
        for order in found.orders:
            offer = self._offers[order.offer]
            purchased.append(
                Acquired(
                    quarter=str(self._first + order.quarter),
                    kind=offer.kind,
                    offer=offer.name,
                    node_type=offer.node_type,
                    site=order.site,
                    count=order.nodes,
                    chosen=len(offer.sites) > 1,
                )
            )
        return tuple(purchased), len(self._futures), found.bound_cents

    def _take_in(self, new: Sequence[int]) -> None:
        """Take these futures in, but for those that no purchases hold beside the others."""
        if not new:
            return
        before = dict(self._futures)
        try:
            for place in new:
                request = self.planner.request(self.planner.inputs(self.drawn[place]))
                jobs = request.sizers.portfolio(request.inputs)
                asked = with_apis(request.inputs, translate(request.inputs, jobs))
                self._futures[place] = future_of(asked.problem, request.time_limit_s)
            if self._solved((), _ANY).outcome is not Outcome.INFEASIBLE:
                return
        except Infeasible:
            pass
        self._futures = before
        if len(new) == 1:
            self.apart += 1
            return
        half = len(new) // 2
        self._take_in(new[:half])
        self._take_in(new[half:])

    def _solved(self, means: Sequence[Mean], gap: float) -> Hedged:
        limit_s = self.planner.config.time_limit_s
        futures = tuple(self._futures.values())
        return hedged(futures, means, time_limit_s=limit_s, relative_gap=gap)


PURCHASES = "purchases-"
"""How the folders of the results with each purchase plan are called, before their numbers."""
WORST_PER_CENT = 5
"""Share of the futures that are the bad cases."""


class PurchasePlan(Frozen):
    """One purchase plan over all futures."""

    searched: int | None
    """Futures that it was searched for; None: it is that of the scenario as it stands."""
    purchased: tuple[Acquired, ...]
    """Nodes to buy and to reserve."""
    short: int
    """Futures in which it does not hold all jobs, whatever is rented, or was not shown to."""
    costs_cents: tuple[int, ...]
    """Net present cost in the other futures, the least first."""
    worst_cents: int | None
    """Mean of the worst `WORST_PER_CENT` of them; None where there are none."""
    not_proved: int
    """Futures for which a cheaper plan with these purchases may exist."""


class PurchasePlans(Frozen):
    """Purchase plans side by side, in the same futures."""

    plans: tuple[PurchasePlan, ...]
    """That of the scenario as it stands first."""
    best: int
    """Position of the one that falls short in the fewest futures; of several such, of the one with
    the least mean of the worst cases."""
    bound_cents: int
    """No purchases that hold all futures that have a plan have a lower mean of the worst cases."""
    none_holds_all: bool = False
    """Whether it is proved that no purchases hold all of these."""


def compare_purchases(
    search: Hedging, base: PlanSummary, most: int, out: FilePath, runs: VariantRuns
) -> PurchasePlans:
    """Hold at most so many purchase plans against the futures; at least one future has a plan.

    That of the scenario comes first; the others are searched, each with what those before it have
    shown. Results are kept in folders of their own, one for each purchase plan. Raises what a sweep
    raises.
    """
    planner, drawn, known = search.planner, search.drawn, search.known
    planned = [place for place, one in enumerate(known) if one.cost_cents is not None]
    bound_cents = mean_of_worst(sorted(known[place].bound_cents or 0 for place in planned))
    labels = planner.inputs(drawn[0]).scenario.horizon.labels
    plans: list[PurchasePlan] = []
    tried: dict[tuple[Acquired, ...], list[PlanSummary]] = {}

    def hold(purchased: tuple[Acquired, ...], searched: int | None) -> None:
        bought = tuple(
            Order(one.offer, one.site, labels.index(one.quarter), one.count) for one in purchased
        )
        given = VariantPlanner(replace(planner.config, committed=None, purchases=bought))
        folder = out / f"{PURCHASES}{len(plans)}"
        folder.mkdir(exist_ok=True)
        found = tried[purchased] = runs.figures(given, drawn, folder, force=True)
        costs = sorted(one.cost_cents for one in found if one.cost_cents is not None)
        plans.append(
            PurchasePlan(
                searched=searched,
                purchased=purchased,
                short=len(found) - len(costs),
                costs_cents=tuple(costs),
                worst_cents=mean_of_worst(costs) if costs else None,
                not_proved=sum(one.result in ("not proved", "no plan in time") for one in found),
            )
        )

    hold(_purchases(base.acquired), None)
    worst, asked = _costliest(known, known, planned), set()
    while worst not in asked:
        asked.add(worst)
        proposal = search.propose(worst)
        if proposal is None:
            break
        acquired, searched, bound = proposal
        bound_cents = max(bound_cents, bound)
        purchased = _purchases(acquired)
        if purchased not in tried:
            if len(plans) >= most:
                break
            hold(purchased, searched)
        worst = _costliest(tried[purchased], known, planned)
    ranks = [(plan.short, plan.worst_cents or 0) for plan in plans]
    return PurchasePlans(
        plans=tuple(plans),
        best=ranks.index(min(ranks)),
        bound_cents=bound_cents,
        none_holds_all=bool(search.apart),
    )


def _purchases(acquired: Iterable[Acquired]) -> tuple[Acquired, ...]:
    """What is not rented, in an order of its own."""
    bought = (one for one in acquired if one.kind not in ("rent", "hourly"))
    return tuple(sorted(bought, key=lambda one: (one.quarter, one.offer, one.site)))


def _costliest(
    found: Sequence[PlanSummary], known: Sequence[PlanSummary], planned: Sequence[int]
) -> tuple[int, ...]:
    """Return the bad cases among the futures with a plan, first those in which it falls short."""

    def rank(place: int) -> tuple[int, int, int]:
        cost = found[place].cost_cents
        return (cost is not None, -(cost or 0), -(known[place].cost_cents or 0))

    return tuple(sorted(sorted(planned, key=rank)[: _bad_cases(len(planned))]))


def mean_of_worst(costs: Sequence[int]) -> int:
    """Return the mean of the last `WORST_PER_CENT` of sorted costs, rounded down.

    At least of one.
    """
    worst = costs[-_bad_cases(len(costs)) :]
    return sum(worst) // len(worst)


def _bad_cases(futures: int) -> int:
    return max(1, ceil(futures * WORST_PER_CENT / 100))


FORMAT = "3.0"
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
    choices: PurchasePlans | None = None
    """Purchase plans side by side in these futures; None where nobody asks."""


def assess_risk(
    planner: VariantPlanner,
    futures: Futures,
    samples: int,
    out: FilePath,
    *,
    plans: int = 0,
    force: bool = False,
    runs: VariantRuns,
) -> Risk:
    """Plan each of so many futures, and ask of each whether the nodes of the plan now would do.

    Of at most so many purchase plans, the best in the bad cases is looked for. Results are kept in
    the folder like those of a sweep. Raises InfeasibleError where the scenario as it stands has no
    plan, and what a sweep raises.
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
    choices = None
    if plans:
        choices = compare_purchases(Hedging(planner, drawn, every), base, plans, out, runs)
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
        choices=choices,
    )


def at_percentile(values: Sequence[int], share: int) -> int:
    """Return the sorted value at so many per cent, by nearest rank."""
    return values[ceil(len(values) * share / 100) - 1]
