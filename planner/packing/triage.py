"""Which jobs are kept where not all fit: priority by priority, each step proved by the search.

In this order, each kept while the next is asked for:

1. of the highest priority as few jobs as can be are dropped; then as few units of those that are
   kept are short, each counted once for each quarter; then the same of the next priority;
2. as few jobs as can be are delayed, the highest priority first;
3. the least cost;
4. where that leaves a mode, whoever comes first by name is kept, and starts first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Literal

from planner.errors import LimitError
from planner.packing.incumbent import Incumbent
from planner.packing.master import CENTS_PER_UNIT
from planner.packing.nowhere import Claim, JobGroup, at_most, with_groups
from planner.packing.problem import Problem, SpendLimit, Supply
from planner.packing.search import search
from planner.packing.work import spent

_Way = Literal["dropped", "short", "delayed"]


_ONE_CENTS = CENTS_PER_UNIT
"""What one dropped or delayed job counts: one unit of the objective."""
_TOLERANCE = 1e-6
_MOST_WEIGHT = 2**20
"""The most weight of one job over another if names decide; what is kept has rows of tight
tolerances."""
_LEAST_S = 1.0
"""Seconds for each step that is searched, whatever the time limit."""


@dataclass(frozen=True, slots=True)
class Level:
    """What was found for the jobs of one priority."""

    priority: int
    dropped: int
    delayed: int
    proved: bool
    """Whether no plan that keeps as much of what comes before has less of any of these."""
    short: int = 0
    """Units that do not run while their job is kept, counted once for each quarter."""


@dataclass(frozen=True, slots=True)
class Triage:
    """For each job of the scenario by name, the quarters of delay, or None if it is dropped."""

    delays: dict[str, int | None]
    levels: tuple[Level, ...]
    """The highest priority first."""
    cost_cents: int
    """The cost of the plan found."""
    bound_cents: int
    """No plan that keeps as much costs less."""
    short: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """For jobs with units that are short, by quarter, the numbers of these units. A unit with
    several replicas is named once for each that is short."""


def triage(
    problem: Problem,
    claims: Sequence[Claim],
    *,
    asked_gap: float,
    time_limit_s: float,
    progress: Callable[[str], None] = lambda _: None,
) -> Triage:
    """Decide who is kept, who is delayed and who is dropped, within seconds of work.

    Raises Infeasible if the required jobs alone do not fit, and LimitError if time ends before any
    plan is found.
    """
    stated, groups = with_groups(problem, claims)
    return _Triage(stated, groups, asked_gap, time_limit_s, progress).run()


@dataclass(frozen=True, slots=True)
class _Step:
    """A question: of how few jobs of a priority something is true."""

    priority: int
    way: _Way
    supplies: tuple[int, ...]
    """Supplies whose nodes count these jobs, or units."""
    most: int

    @property
    def name(self) -> str:
        """Such as `jobs of priority 50 that are dropped`."""
        counted = "units, by quarter," if self.way == "short" else "jobs"
        return f"{counted} of priority {self.priority} that are {self.way}"


class _Triage:
    def __init__(
        self,
        problem: Problem,
        groups: tuple[JobGroup, ...],
        asked_gap: float,
        time_limit_s: float,
        progress: Callable[[str], None],
    ) -> None:
        self._problem, self._groups = problem, groups
        self._asked_gap, self._say = asked_gap, progress
        self._began, self._time_limit_s = spent(), time_limit_s
        self._kept: list[SpendLimit] = []
        """What the steps so far have found, held while the next are taken."""

    def run(self) -> Triage:
        steps = list(_steps(self._problem, self._groups))
        priorities = sorted({step.priority for step in steps}, reverse=True)
        levels = {priority: Level(priority, 0, 0, proved=True) for priority in priorities}
        found: Incumbent | None = None
        for position, step in enumerate(steps):
            proved = True
            if found is None or _nodes(found, step.supplies):
                self._say(f"fewest {step.name}")
                found, proved = self._fewest(step, found, len(steps) - position + 1)
            least = _nodes(found, step.supplies)
            self._kept.append(at_most(self._problem, step.name, least, step.supplies))
            level = levels[step.priority]
            counted: dict[str, int] = {step.way: least}
            levels[step.priority] = replace(level, proved=level.proved and proved, **counted)
        self._say("least cost of what keeps as much")
        bound_cents = self._problem.fixed_cost_cents
        try:
            found = self._search(self._problem, self._asked_gap, 1)
            bound_cents = found.bound_cents
        except LimitError:
            if found is None:
                raise
        found = self._by_name(found, levels)
        delays = dict(_delays(self._groups, found))
        cost_cents = _cost(self._problem, found)
        short = {
            one.names[0]: units
            for one in self._groups
            if (units := _short(one, delays[one.names[0]], found)) and any(units)
        }
        return Triage(delays, tuple(levels.values()), cost_cents, bound_cents, short)

    def _fewest(
        self, step: _Step, known: Incumbent | None, steps_left: int
    ) -> tuple[Incumbent, bool]:
        """Return a plan with the fewest, and whether it is proved that no other has fewer.

        `known` is the plan of the step before, which will do if no better one is found.
        """
        asked = self._weighed(dict.fromkeys(step.supplies, 1))
        # Whole jobs and units are counted, so that a bound above one fewer is proof enough.
        try:
            found = self._search(asked, 1 / (step.most + 1), steps_left)
        except LimitError:
            if known is None:
                raise
            return known, False
        bound = ceil(found.bound_cents / _ONE_CENTS - _TOLERANCE)
        if known and _nodes(known, step.supplies) < _nodes(found, step.supplies):
            found = known
        return found, bound >= _nodes(found, step.supplies)

    def _by_name(self, found: Incumbent, levels: Mapping[int, Level]) -> Incumbent:
        """Return a plan of as many jobs and the same cost that keeps the first by name."""
        self._kept.append(self._problem.costs_at_most(_cost(self._problem, found)))
        for block in _blocks(_open(self._groups, levels), self._problem):
            total = sum(weight * _nodes(found, (supply,)) for supply, weight in block.items())
            if self._left_s() < 0:
                break
            if total:  # else nobody here gives way already
                self._say("who comes first by name")
                with suppress(LimitError):
                    found = self._search(self._weighed(block), 1 / (total + 1), 1)
            for supply in block:
                least = _nodes(found, (supply,))
                name = self._problem.supplies[supply].name
                self._kept.append(at_most(self._problem, name, least, (supply,)))
        return found

    def _weighed(self, weights: Mapping[int, int]) -> Problem:
        """Return the problem in which only nodes of these supplies count, each so much."""
        weighed = self._problem.repriced(
            lambda supply, _quarter: _ONE_CENTS * weights.get(supply, 0)
        )
        return replace(weighed, fixed_cost_cents=0)

    def _left_s(self) -> float:
        return self._began + self._time_limit_s - spent()

    def _search(self, problem: Problem, gap: float, steps_left: int) -> Incumbent:
        """Search with what is kept, in a fair share of the time that is left."""
        kept = replace(problem, budgets=(*problem.budgets, *self._kept))
        limit_s = max(_LEAST_S, self._left_s() / steps_left)
        return search(kept, asked_gap=gap, time_limit_s=limit_s)


def _steps(problem: Problem, groups: Sequence[JobGroup]) -> Iterator[_Step]:
    """Return the steps: all who may be dropped or short, then all who may be delayed.

    The highest priority first.
    """
    priorities = sorted({one.priority for one in groups}, reverse=True)
    whole: tuple[_Way, ...] = ("dropped", "short")
    for ways in (whole, ("delayed",)):
        for priority in priorities:
            mine = [one for one in groups if one.priority == priority]
            for way in ways:
                counting = (_counting(one, way) for one in mine)
                supplies = tuple(supply for supply in counting if supply is not None)
                if supplies:
                    most = sum(_most(problem.supplies[supply]) for supply in supplies)
                    yield _Step(priority, way, supplies, most)


def _counting(one: JobGroup, way: _Way) -> int | None:
    """Return the supply whose nodes count how a class gives way; None if it may not."""
    if way == "delayed":
        return one.other_start[0] if one.other_start else None
    return one.dropped if way == "dropped" else one.short


def _most(supply: Supply) -> int:
    """Return the most nodes that it can have, once for each quarter in which they can be had."""
    return (supply.maximum or 0) * sum(cents is not None for cents in supply.unit_cost_cents)


def _open(groups: Sequence[JobGroup], levels: Mapping[int, Level]) -> Iterator[int]:
    """Return the supplies of classes of which only some give way, by name of their jobs."""
    by_name = sorted(groups, key=lambda one: (-one.priority, one.names))
    ways: tuple[_Way, ...] = ("dropped", "short", "delayed")
    for way in ways:
        for one in by_name:
            supply = _counting(one, way)
            if supply is not None and getattr(levels[one.priority], way):
                yield from one.other_start if way == "delayed" else (supply,)


def _blocks(supplies: Iterable[int], problem: Problem) -> Iterator[dict[int, int]]:
    """Yield weights with which one node of each outweighs all nodes of those that follow.

    As many together as solvers can tell apart.
    """
    block: dict[int, int] = {}
    for supply in supplies:
        times = _most(problem.supplies[supply]) + 1
        if block and next(iter(block.values())) * times > _MOST_WEIGHT:
            yield block
            block = {}
        block = {**{one: weight * times for one, weight in block.items()}, supply: 1}
    if block:
        yield block


def _nodes(found: Incumbent, supplies: Collection[int]) -> int:
    """Return the nodes of these supplies, over all quarters."""
    return sum(
        round(found.values[index])
        for (supply, _), index in found.master.acquire.items()
        if supply in supplies
    )


def _cost(problem: Problem, found: Incumbent) -> int:
    """Return what a plan's nodes and its changes of GPU type cost, in cents, whatever was asked."""
    paid = found.master.total(found.values, *problem.prices)
    return problem.fixed_cost_cents + paid


def _delays(groups: Sequence[JobGroup], found: Incumbent) -> Iterator[tuple[str, int | None]]:
    """Decide by name: the first claims of a class start first, and the last ones are dropped.

    If a job's nodes would hold several of its starts, it takes the earliest.
    """
    for one in groups:
        times = len(one.names)
        out = 0 if one.dropped is None else _nodes(found, (one.dropped,))
        starts = [0] * times
        if one.other_start:
            running = [times - _nodes(found, (supply,)) for supply in one.other_start]
            if out:
                # What is dropped is counted at the first start, beside what starts later.
                running[0] = max(0, running[0] - out)
            starts = [delay for delay, units in enumerate(running) for _ in range(units)]
        delays: list[int | None] = [*starts[: times - out], *([None] * out)]
        yield from zip(one.names, delays, strict=True)


def _short(one: JobGroup, delay: int | None, found: Incumbent) -> tuple[tuple[int, ...], ...]:
    """Return the units of a class that are short, by quarter.

    Empty if none may be, or it is dropped.

    In each stage a unit keeps its GPU type, as far as some have it.
    """
    if one.short is None or delay is None:
        return ()
    master, (claim,) = found.master, one.claims
    short: list[list[int]] = [[] for _ in range(master.problem.quarters)]
    before: dict[int, int] = {}
    left = list(claim.numbers[delay])
    for number in one.classes[delay]:
        job_class = master.problem.classes[number]
        units, left = left[: job_class.count], left[job_class.count :]
        before |= _chosen(found, number, units, before)
        for quarter in job_class.quarters:
            for position, mode in enumerate(job_class.modes):
                if (number, position, quarter) in master.short:
                    lacking = round(found.values[master.short[number, position, quarter]])
                    each = mode.copies_in(quarter) // mode.copies_short
                    mine = [unit for unit in reversed(units) if before[unit] == position]
                    every = [unit for unit in mine for _ in range(each)]
                    short[quarter] += every[:lacking]
    return tuple(tuple(sorted(units)) for units in short)


def _chosen(
    found: Incumbent, number: int, units: Sequence[int], before: Mapping[int, int]
) -> dict[int, int]:
    """Return the mode of each unit: of the same GPU type as before, as far as possible."""
    modes = found.master.problem.classes[number].modes
    left = [
        position
        for (job_class, position), index in found.master.mode.items()
        if job_class == number
        for _ in range(round(found.values[index]))
    ]
    chosen: dict[int, int] = {}
    for unit in units:
        if unit in before:
            gpu_type = modes[before[unit]].gpu_type
            now = next((one for one in left if modes[one].gpu_type == gpu_type), None)
            if now is not None:
                left.remove(now)
                chosen[unit] = now
    return chosen | dict(zip((unit for unit in units if unit not in chosen), left, strict=True))
