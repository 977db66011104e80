"""Endpoints whose traffic replicas on several GPU types share: together they take all of it.

With fractional units, a part of a replica may be all that the traffic asks for. Cuts state what
whole replicas need: every *cover*, a set of replicas that suffices, has at least so much weight.
The weights are found like those of a cutting stock, against the covers known so far.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from planner.packing.constraints.base import Condition
from planner.packing.master import MasterProgram
from planner.packing.problem import ALL_TRAFFIC, Problem
from planner.packing.solver import Program, solve_linear
from planner.packing.translation import Translation

BILL = "traffic that GPU types share"

_TOLERANCE: Final = 1e-6
_ROUNDED: Final = 1e-9
"""The share by which the weights of a cut may be off, and by which they are raised."""
_LEAST: Final = 1e-4
"""The weight of units that a solution does not use: of equal cuts, the one that weighs such ways
least."""
_STEPS: Final = 20_000
"""The most steps in search of the lightest cover, which usually takes a few hundred."""


def _endpoints(problem: Problem) -> dict[tuple[str, int], list[int]]:
    """Return, by endpoint and quarter, the demands whose units share its traffic."""
    found: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, demand in enumerate(problem.demands):
        for quarter in demand.quarters if demand.endpoint else ():
            found[demand.endpoint, quarter].append(number)
    return found


def _taking(master: MasterProgram, numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield variables that count units of these demands, and what one unit takes, in millionths."""
    for number in numbers:
        for position, takes in enumerate(master.problem.demands[number].takes):
            if (number, position) in master.choice:
                yield master.choice[number, position], takes


def add_rows(master: MasterProgram) -> None:
    """State the row `traffic` for each endpoint and quarter."""
    for numbers in _endpoints(master.problem).values():
        terms = {index: takes / ALL_TRAFFIC for index, takes in _taking(master, numbers)}
        row = master.program.row(f"traffic[{numbers[0]}]", terms, ">=", 1.0)
        master.traffic_rows[row] = tuple(numbers)


def cut(master: MasterProgram, values: Sequence[float]) -> int:
    """State cuts that a solution with fractional units violates; return how many."""
    found = 0
    for numbers in master.traffic_rows.copy().values():
        ways = dict(_taking(master, numbers))
        units = [values[index] for index in ways]
        if all(abs(count - round(count)) <= _TOLERANCE for count in units):
            continue
        covers = master.covers.setdefault(numbers, [])
        weights = _separated([*ways.values()], units, covers)
        if weights is not None:
            terms = {
                index: weight * (1 + _ROUNDED) for index, weight in zip(ways, weights, strict=True)
            }
            row = master.program.row("cover", terms, ">=", 1.0, tightens=True)
            master.traffic_cuts[row] = numbers
            found += 1
    return found


def _separated(
    takes: Sequence[int], units: Sequence[float], covers: list[tuple[int, ...]]
) -> tuple[float, ...] | None:
    """Return weights that give every cover at least 1 and these units less; None: there are none.

    `covers` that are met on the way are added to those that are known.
    """
    if not covers:
        ways = range(len(takes))
        covers += (
            tuple(-(-ALL_TRAFFIC // takes[one]) * (way == one) for way in ways) for one in ways
        )
    program = Program()
    for count in units:
        program.variable("weight", cost=max(count, _LEAST), upper=1.0)
    while True:
        for cover in covers[len(program.rows) :]:
            terms = {way: float(count) for way, count in enumerate(cover) if count}
            program.row("covers", terms, ">=", 1.0)
        solved = solve_linear(program)
        if solved is None or _weight(solved.values, units) >= 1 - 10 * _TOLERANCE:
            return None
        lightest = _lightest(takes, solved.values)
        if lightest is None:
            return None
        least = _weight(solved.values, lightest)
        if least >= 1 - _TOLERANCE:
            return tuple(weight / least for weight in solved.values)
        covers.append(lightest)


def _weight(weights: Sequence[float], units: Sequence[float]) -> float:
    return sum(weight * count for weight, count in zip(weights, units, strict=True))


def _lightest(takes: Sequence[int], weights: Sequence[float]) -> tuple[int, ...] | None:
    """Return the cover that weighs least; None if looking for it takes too long."""
    order = sorted(range(len(takes)), key=lambda way: (weights[way] / takes[way], way))
    counts, best, steps = [0] * len(takes), [0] * len(takes), 0
    least = float("inf")

    def go_on(place: int, left: int, weight: float) -> None:
        nonlocal best, least, steps
        steps += 1
        if left <= 0:
            best, least = [*counts], weight
            return
        if place == len(order) or steps > _STEPS:
            return
        way = order[place]
        for count in range(-(-left // takes[way]), -1, -1):
            counts[way] = count
            rest, so_far = left - count * takes[way], weight + count * weights[way]
            after = order[place + 1] if place + 1 < len(order) else way
            if so_far + max(rest, 0) * weights[after] / takes[after] < least - _ROUNDED / 10:
                go_on(place + 1, rest, so_far)
        counts[way] = 0

    go_on(0, ALL_TRAFFIC, 0.0)
    return None if steps > _STEPS else tuple(best)


def holds(master: MasterProgram, values: Sequence[float]) -> bool:
    """Return whether the units take all traffic."""
    return all(
        sum(round(values[index]) * takes for index, takes in _taking(master, numbers))
        >= ALL_TRAFFIC
        for numbers in _endpoints(master.problem).values()
    )


def conditions(translation: Translation) -> tuple[Condition, ...]:
    """Return nothing: traffic is what jobs ask for, not a limit on them."""
    del translation
    return ()
