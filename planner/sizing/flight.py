"""A replica with some requests: how many it holds and answers in a second, and how soon.

Searches ask the same dozen rules for hundreds of counts. Which rules these are, and what else they
rest on, is found once; then their formulas alone are computed, in floating point. The trace of the
count that was found is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Final

from planner.inputs.rules.expression import Exact, Expression, estimator, exact
from planner.sizing.engine import Known, Reasoning
from planner.sizing.tries import walk

Figures = Callable[[str], Exact | float | None]
"""Gives the figure of a name; None where it is unknown."""

HIGH: Final = "in_flight_high"
PLANNED: Final = "planned_requests_per_second"
RATE: Final = "requests_per_second_per_replica"
_NEED: Final = "needed_gb_per_gpu"

TOLD: Final = {
    "ttft_ms": "to the first token",
    "tpot_ms": "for each further token",
    "e2e_ms": "to the end of an answer",
}

ALONE: Final = Fraction(1, 128)
"""Requests in flight on the average with which each is alone; a mean is a multiple of it."""

_UNITS: Final = {"concurrency": "requests", "in_flight": "requests", "ttft_ms": "ms"}
"""Of what varies; the time to the first token where it was found before."""

BELOW: Final = 1e-9
"""Share of a figure that is more than floating point can be off."""


class Varied:
    """One situation, in which figures vary that are given in turn."""

    def __init__(
        self, situation: Reasoning, results: tuple[str, ...], first: Reasoning | None = None
    ) -> None:
        """`results` are what may be asked for; `first` is the situation with one in flight."""
        self.situation = situation
        self._results, self._first = results, first or self._with({"in_flight": 1})
        self._estimators: dict[tuple[str, ...], Callable[[dict[str, Exact | float]], None]] = {}
        self._estimated: dict[tuple[tuple[str, Exact | float], ...], Figures] = {}

    def exactly(self, **given: Exact | float) -> Figures:
        """What the rules say with these figures."""
        return self._with(given).number

    def estimated(self, **given: Exact | float) -> Figures:
        """The same to a dozen digits: the results alone."""
        key = tuple(given.items())
        if key not in self._estimated:
            self._estimated[key] = self._estimate(given)
        return self._estimated[key]

    def _estimate(self, given: Mapping[str, Exact | float]) -> Figures:
        if self._formulas is None:
            return self.exactly(**given)
        formulas, fixed = self._formulas
        figures, names = {**fixed, **given}, tuple(given)
        if names not in self._estimators:
            self._estimators[names] = estimator(one for one in formulas if one[0] not in given)
        try:
            self._estimators[names](figures)
        except (ArithmeticError, ValueError):
            return self.exactly(**given)
        return figures.get

    def _with(self, given: Mapping[str, Exact | float]) -> Reasoning:
        return self.situation.within(
            {name: Known(exact(value), _UNITS[name], "tried") for name, value in given.items()}
        )

    @cached_property
    def _formulas(self) -> tuple[list[tuple[str, Expression]], dict[str, Exact | float]] | None:
        """Formulas in the order in which they need each other, and the figures that do not vary.

        None where rules switch with what is given, which no fixed list of them can tell.
        """
        alone = self._first
        formulas: list[tuple[str, Expression]] = []
        fixed: dict[str, Exact | float] = {}
        for derived in walk(alone.derive(name) for name in self._results):
            rule = derived.rule
            if rule is None or rule.gives is None or not alone.changes_here(rule.gives):
                continue
            if rule.expression is None or not alone.given_alike(rule.gives):
                return None
            formulas.append((rule.gives, rule.expression))
            for name, known in derived.inputs:
                if isinstance(known.value, str) or fixed.get(name, known.value) != known.value:
                    return None
                fixed[name] = known.value
        return formulas, {name: float(value) for name, value in fixed.items()}


def flight_of(replica: Reasoning) -> Varied:
    """One replica, whose requests in flight vary."""
    return Varied(replica, (RATE, PLANNED, HIGH, *TOLD))


def most_held(engine: Reasoning, alone: Reasoning, most: int) -> int:
    """Requests that the memory of an engine holds, `most` at most; `alone` it holds one of them."""
    offered = alone.number("usable_gb_per_gpu")
    if offered is None:
        return 1
    held, usable = Varied(engine, (_NEED,), alone), float(offered) * (1 - BELOW)

    def fits(count: int) -> bool:
        need = held.estimated(concurrency=count)(_NEED)
        return need is not None and need <= usable

    return most_of(most, fits)


def in_flight_at(flight: Varied, requests_per_second: Exact, most: Exact) -> Exact:
    """Requests in flight on a replica that takes so many per second; `most` if it cannot."""
    asked = float(requests_per_second)

    def is_short(mean: float) -> bool:
        return (flight.estimated(in_flight=mean)(RATE) or 0) < asked

    return min(most_in_flight(most, is_short) + ALONE, most)


def rate_with_room(flight: Varied, places: int) -> Exact | float:
    """The rate up to which requests hardly ever wait for one of so many places."""

    def has_room(mean: float) -> bool:
        high = flight.estimated(in_flight=mean)(HIGH)
        return high is None or high <= places

    return flight.estimated(in_flight=max(ALONE, most_in_flight(places, has_room)))(RATE) or 0


def latency_at(
    at: Callable[..., Figures], in_flight: Exact | float
) -> dict[str, Exact | float | None]:
    """What users wait at the percentile with so many requests in flight on the average.

    `at` is `exactly` or `estimated` of a flight. Tokens come as slowly as with the requests that
    the percentile allows for.
    """
    mean = at(in_flight=in_flight)
    first, high = mean("ttft_ms"), mean(HIGH)
    if high is None:
        return dict.fromkeys(TOLD)
    known = {} if first is None else {"ttft_ms": first}
    crowded = at(in_flight=max(high, 1), **known)
    return {
        "ttft_ms": first,
        "tpot_ms": crowded("tpot_ms"),
        "e2e_ms": None if first is None else crowded("e2e_ms"),
    }


def most_in_flight(most: Exact, holds: Callable[[float], bool]) -> Fraction:
    """The largest mean up to `most` for which it holds, as `most_of`."""
    return most_of(int(most / ALONE), lambda parts: holds(parts * float(ALONE))) * ALONE


def most_of(most: int, holds: Callable[[int], bool]) -> int:
    """The largest figure up to `most` for which it holds, which ends somewhere; 0 if for none."""
    if holds(most):
        return most
    low, high = 0, most - 1
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low
