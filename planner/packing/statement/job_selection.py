"""Jobs that may be dropped or delayed, and the problem in which the search may decide it.

A job that is dropped runs on a node that is nowhere: a pool by itself, large enough for all of its
units, whose one node can be "bought". What that costs is what the question is about, so that the
search, the bound and the proof that serve purchases serve triage too. Where units of a job may be
short one by one, each of them has such a node of its own, which is "rented" for a quarter. A job
that may slip is there once for each start, and all of its starts but one need not run for nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.inputs.scenario.places import running_units
from planner.packing.limits import SpendLimit
from planner.packing.problem import NOWHERE, Choice, Pool, Shape, Supply
from planner.packing.statement.apis import with_apis
from planner.packing.statement.translate import translate

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from planner.inputs.settled import Inputs
    from planner.packing.problem import Demand, Problem
    from planner.packing.statement.translate import Running, Translation
    from planner.sizing.candidate import SizedJob

__all__ = ["Claim", "Class", "at_most", "claims_of", "with_classes"]

Start = tuple[tuple[int, int], ...]
"""(demand, units) that are to run."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A job of the scenario, with the deployment derived from it: one answer holds for both."""

    name: str
    priority: int
    required: bool
    starts: tuple[Start, ...]
    """By quarters of delay."""
    droppable: int = 0
    """Units that may be short in each quarter while the others run."""
    numbers: tuple[tuple[int, ...], ...] = ()
    """By quarters of delay: the numbers of the units that are to run, in the order of the demands;
    only where some may be short."""


@dataclass(frozen=True, slots=True)
class Class:
    """Claims that are alike, and the supplies whose nodes say how many of them do not run."""

    claims: tuple[Claim, ...]
    other_start: tuple[int, ...]
    """By quarters of delay: not run, as it starts at another time; empty: it may not slip."""
    dropped: int | None
    """None: never."""
    short: int | None = None
    """Counts units that do not run in a quarter, where some may be short; of one claim alone."""
    demands: tuple[tuple[int, ...], ...] = ()
    """By quarters of delay: the demands of that claim."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the claims."""
        return tuple(claim.name for claim in self.claims)

    @property
    def priority(self) -> int:
        """Of each of them."""
        return self.claims[0].priority


def claims_of(inputs: Inputs, jobs: Sequence[SizedJob]) -> tuple[Problem, tuple[Claim, ...]]:
    """All jobs that have units, by name, with the problem in which each start has demands.

    A start that leaves nothing of the job within the horizon is none.
    """
    together: dict[str, list[SizedJob]] = defaultdict(list)
    for job in jobs:
        if any(job.units):
            together[job.derived_from or job.name].append(job)
    today = running_units(inputs.scenario)
    running: Running = {}
    owner: dict[str, tuple[str, int]] = {}
    every: list[SizedJob] = []
    for name, parts in together.items():
        for delay in range(inputs.scenario.jobs[name].may_slip_quarters + 1):
            if any(parts[0].later(delay).units):
                for part in parts:
                    # A name of its own for each start: no job's name holds a line break.
                    alias = f"{part.name}\n{delay}"
                    owner[alias] = name, delay
                    named = {"name": alias, "derived_from": name}
                    every.append(part.later(delay).model_copy(update=named))
                    for (stated, number), unit in today.items():
                        if stated == part.name:
                            running[alias, number] = unit
    translation = with_apis(inputs, translate(inputs, tuple(every), running))
    units: dict[tuple[str, int], Counter[int]] = {key: Counter() for key in owner.values()}
    for demand, members in enumerate(translation.members):
        for alias, _ in members:
            units[owner[alias]][demand] += 1
    starts: dict[str, list[Start]] = defaultdict(list)
    for (name, _), counts in sorted(units.items()):
        starts[name].append(tuple(sorted(counts.items())))
    return translation.problem, tuple(
        _claim(inputs, translation, name, tuple(found)) for name, found in starts.items()
    )


def _claim(inputs: Inputs, translation: Translation, name: str, starts: tuple[Start, ...]) -> Claim:
    stated = inputs.scenario.jobs[name]
    claim = Claim(name, stated.priority, stated.required, starts)
    if stated.droppable is None:
        return claim
    problem, members = translation.problem, translation.members
    mine = [problem.demands[number] for start in starts for number, _ in start]
    most = sum(
        demand.count * max((choice.copies for choice in demand.choices), default=1)
        for demand in mine
    )
    numbers = tuple(
        tuple(
            unit
            for demand, _ in start
            for alias, unit in members[demand]
            if alias == f"{name}\n{delay}"
        )
        for delay, start in enumerate(starts)
    )
    if stated.droppable == "all":  # so that there is no need to drop it as a whole
        return replace(claim, required=True, droppable=most, numbers=numbers)
    return replace(claim, droppable=stated.droppable, numbers=numbers)


def with_classes(problem: Problem, claims: Sequence[Claim]) -> tuple[Problem, tuple[Class, ...]]:
    """The problem in which every claim may be dropped, or start later, as far as it allows."""
    stating = _Stating(problem)
    alike: dict[object, list[Claim]] = defaultdict(list)
    for claim in claims:
        # One node stands for one claim only where all of its units are active together.
        one = all(len(start) == 1 for start in claim.starts) and not claim.droppable
        key = claim.priority, claim.required, claim.starts, None if one else claim.name
        alike[key].append(claim)
    classes = [stating.add(members) for members in alike.values()]
    return stating.problem(), tuple(one for one in classes if one is not None)


class _Stating:
    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._pools = list(problem.pools)
        self._supplies = list(problem.supplies)
        self._demands: list[Demand] = []
        self._starts: list[tuple[str, int, tuple[int, ...]]] = []
        """Name, and at most so many nodes of these supplies together."""

    def add(self, claims: Sequence[Claim]) -> Class | None:
        """State claims that are alike; None where nothing can be decided about them."""
        first, times = claims[0], len(claims)
        if first.required and len(first.starts) == 1 and not first.droppable:
            for demand, units in first.starts[0]:
                self._demands.append(self._stated(demand, units * times, first.name))
            return None
        short = self._short(first) if first.droppable else None
        nowhere = None if short is None else self._supplies[short].pool
        begun = len(self._demands)
        pools = [self._nowhere(start, times, nowhere) for start in first.starts]
        other: tuple[int, ...] = ()
        if len(pools) > 1:
            name = f"other starts of {first.name}"
            other = tuple(self._supply(name, pool, times) for pool in pools)
            self._starts.append((name, (len(pools) - 1) * times, other))
        dropped = None
        if not first.required:
            dropped = self._supply(f"{first.name} is dropped", pools[0], times)
        demands: list[tuple[int, ...]] = []
        for start in first.starts if first.droppable else ():
            demands.append(tuple(range(begun, begun + len(start))))
            begun += len(start)
        return Class(tuple(claims), other, dropped, short, tuple(demands))

    def problem(self) -> Problem:
        """What was stated, with the budgets that hold the starts of one job together."""
        more = len(self._supplies) - len(self._problem.supplies)
        unpaid = ((0,) * self._problem.quarters,) * more
        budgets = (replace(one, cents=(*one.cents, *unpaid)) for one in self._problem.budgets)
        stated = replace(
            self._problem,
            pools=tuple(self._pools),
            supplies=tuple(self._supplies),
            demands=tuple(self._demands),
        )
        starts = (at_most(stated, name, most, which) for name, most, which in self._starts)
        return replace(stated, budgets=(*budgets, *starts))

    def _stated(self, number: int, units: int, claim: str) -> Demand:
        """So many units of a demand, in a chain with none but those of the claim."""
        asked = self._problem.demands[number]
        chain = asked.chain and f"{asked.chain} of {claim}"
        return replace(asked, count=units, chain=chain)

    def _short(self, claim: Claim) -> int:
        """A pool each of whose nodes is one unit that is short in a quarter; who rents them."""
        self._pools.append(_no_pool(len(self._pools), Shape(1, 0, 0)))
        free, pool = (0,) * self._problem.quarters, len(self._pools) - 1
        name = f"units of {claim.name} are short"
        self._supplies.append(Supply(name, "rent", pool, claim.droppable, free))
        return len(self._supplies) - 1

    def _nowhere(self, start: Start, times: int, short: int | None) -> int:
        """A pool each of whose nodes holds all units of one claim; the units' demands."""
        number = len(self._pools)
        gpu_type = f"{NOWHERE}{number}"
        active: Counter[int] = Counter()
        for demand, units in start:
            asked = self._stated(demand, units * times, gpu_type)
            choices = (*asked.choices, Choice(gpu_type, Shape(1, 0, 0)))
            self._demands.append(replace(asked, choices=choices, nowhere=short))
            active.update(dict.fromkeys(asked.quarters, units))
        self._pools.append(_no_pool(number, Shape(max(active.values()), 0, 0)))
        return number

    def _supply(self, name: str, pool: int, maximum: int) -> int:
        never = (None,) * (self._problem.quarters - 1)
        self._supplies.append(Supply(name, "buy", pool, maximum, (0, *never)))
        return len(self._supplies) - 1


def _no_pool(number: int, node: Shape) -> Pool:
    """The pool of this number, of which each node offers so much, and is nowhere."""
    gpu_type = f"{NOWHERE}{number}"
    return Pool("nowhere", gpu_type, gpu_type, node, 0, 0, fabric=False)


def at_most(problem: Problem, name: str, most: int, supplies: Collection[int]) -> SpendLimit:
    """At most so many nodes of these supplies together, as a budget that each takes 1 of."""
    every = range(len(problem.supplies))
    return SpendLimit(
        name, most, tuple((int(number in supplies),) * problem.quarters for number in every)
    )
