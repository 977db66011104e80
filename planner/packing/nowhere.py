"""Units without a node: on an API, dropped, short, or at another start of their job.

Each runs on a node that is *nowhere*: in a pool by itself, whose GPU type no other pool has. So the
same search, bound and proof that serve rents and purchases serve these units, too.

- A unit on an API has such a node to itself, "rented" for a quarter at the cost of its tokens. What
  is then placed on nodes is stated again without the units that are on APIs.
- All units of a job that is dropped are on one node that is "bought". The cost of that depends on
  the question of a triage. If units may be short one by one, each of them has a node of its own,
  "rented" for a quarter.
- A job that may slip is there once for each start, and all of its starts but one need not run, at
  no cost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, lcm

from planner.costs import api_costs, spent_cents, token_costs
from planner.inputs.scenario.scenario import running_units
from planner.inputs.settled import Inputs
from planner.packing.problem import (
    ALL_TRAFFIC,
    API,
    NOWHERE,
    JobClass,
    Mode,
    Pool,
    Problem,
    Shape,
    SpendLimit,
    Supply,
    SupplyKind,
)
from planner.packing.solution import Solution
from planner.packing.translation import RunningUnits, Translation, Unit, translate
from planner.sizing.candidate import SizedJob

_MOST_PARTS = 10**9
"""The most parts of a request per second in which rate limits are counted."""
_ONE = Shape(1, 0, 0)
"""What takes one node that is nowhere, and what offers room for one unit."""


class _Stating:
    """A problem stated anew, with pools that are nowhere and what their nodes cost."""

    def __init__(self, problem: Problem) -> None:
        self._before = problem
        self.pools, self.supplies = list(problem.pools), list(problem.supplies)
        self.classes: list[JobClass] = []
        self._spent: list[Mapping[str, tuple[int, ...]]] = []
        """For each added supply, what a node takes of each budget, by quarter."""

    def pool(self, node: Shape, api: str = "") -> str:
        """Add a pool with such nodes, of an API if one is named; return its GPU type."""
        gpu_type = f"{NOWHERE}{f'{API} ' if api else ''}{len(self.pools)}"
        node_type, site = (API, api) if api else ("nowhere", gpu_type)
        self.pools.append(Pool(node_type, site, gpu_type, node, 0, 0, fabric=False))
        return gpu_type

    def supply(
        self,
        name: str,
        kind: SupplyKind,
        pool: int,
        maximum: int | None,
        cents: tuple[int | None, ...],
        spent: Mapping[str, tuple[int, ...]] | None = None,
    ) -> int:
        """Add an offer of nodes of a pool; return its number."""
        self.supplies.append(Supply(name, kind, pool, maximum, cents))
        self._spent.append(spent or {})
        return len(self.supplies) - 1

    def problem(self) -> Problem:
        """Return what was stated."""
        unpaid = (0,) * self._before.quarters
        budgets = (
            replace(one, cents=(*one.cents, *(of.get(one.name, unpaid) for of in self._spent)))
            for one in self._before.budgets
        )
        return replace(
            self._before,
            pools=tuple(self.pools),
            supplies=tuple(self.supplies),
            classes=tuple(self.classes),
            budgets=tuple(budgets),
        )


def solved_with_apis(
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    asked_gap: float,
    solve: Callable[[Translation], Solution],
) -> tuple[tuple[SizedJob, ...], Translation, Solution]:
    """Solve a portfolio whose jobs may be on APIs if they allow it; raises what `solve` raises.

    Returns the jobs with their units on APIs, and the solved problem of the others. It is solved
    twice: once with every API as a way to run, which decides who is on one and proves the bound,
    and once more for the units that are left, which are then placed on nodes. The same holds if
    the number of an endpoint's replicas is open.
    """
    translation = translate(inputs, jobs)
    open_to_apis = with_apis(inputs, translation)
    if open_to_apis is translation and not any(job.units_open for job in jobs):
        return jobs, translation, solve(translation)
    decided = solve(open_to_apis)
    placed = _split(open_to_apis, decided, jobs)
    translation = translate(inputs, placed)
    solution = solve(translation)
    tokens_cents = sum(count * one.present_cents for count, one in api_costs(inputs, placed))
    bound_cents = min(decided.bound_cents, solution.cost_cents)
    return placed, translation, solution.beside_apis(bound_cents, tokens_cents, asked_gap)


def _split(
    translation: Translation, solution: Solution, jobs: Sequence[SizedJob]
) -> tuple[SizedJob, ...]:
    """Return the jobs with the units that a solution has on APIs; the others are to be placed.

    For jobs whose units share traffic, as many as it has.
    """
    gone: dict[str, dict[str, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
    placed: dict[str, Counter[int]] = defaultdict(Counter)
    problem = translation.problem
    for job_class, members, assigned in zip(
        problem.classes, translation.members, solution.assigned, strict=True
    ):
        waiting = list(members)
        for mode, count in zip(job_class.modes, assigned, strict=True):
            mine, waiting = waiting[:count], waiting[count:]
            if mode.gpu_type.startswith(f"{NOWHERE}{API} "):
                for name, _ in mine:
                    gone[name][mode.way].update(job_class.quarters)
            else:
                for name, _ in mine:
                    placed[name].update(job_class.quarters)
    found = []
    for job in jobs:
        there = gone[job.name]
        on_apis = tuple(
            (api, tuple(there[api][quarter] for quarter in range(problem.quarters)))
            for api in sorted(there)
        )
        units = tuple(placed[job.name][quarter] for quarter in range(problem.quarters))
        split = {"units": units, "on_apis": on_apis, "units_open": False}
        found.append(job.model_copy(update=split))
    return tuple(found)


def with_apis(inputs: Inputs, translation: Translation) -> Translation:
    """Return the problem in which units may be on the APIs that their jobs allow.

    The very same if no job allows one that is there.
    """
    scenario, problem = inputs.scenario, translation.problem
    stating = _Stating(problem)
    members: list[tuple[Unit, ...]] = []
    served: list[tuple[str, str]] = []
    """For each added supply, the job whose units it takes, and the API."""
    for job_class, every in zip(problem.classes, translation.members, strict=True):
        # Units of one job class differ by the APIs of their jobs, and by the traffic of these.
        alike: dict[tuple[tuple[str, ...], tuple[object, ...]], list[Unit]] = defaultdict(list)
        pinned = any(mode.shape.stays for mode in job_class.modes)
        for unit in every:
            job = unit[0].partition("\n")[0]
            apis = () if pinned else scenario.apis_of(job)
            peaks = scenario.jobs[job].peaks(scenario.horizon) if apis else ()
            alike[apis, peaks].append(unit)
        for (apis, _), units in sorted(alike.items(), key=lambda one: one[1]):
            job = units[0][0].partition("\n")[0]
            there = tuple(_on_api(inputs, stating, job, api, job_class) for api in apis)
            served += ((job, api) for api in apis)
            stating.classes.append(replace(_with_modes(job_class, there), count=len(units)))
            members.append(tuple(units))
    if not served:
        return translation
    stated = stating.problem()
    budgets = (*stated.budgets, *_rate_limits(inputs, problem, served))
    return replace(translation, problem=replace(stated, budgets=budgets), members=tuple(members))


def _with_modes(job_class: JobClass, nowhere: tuple[Mode, ...]) -> JobClass:
    """Return a job class that may also be nowhere; a unit there is all of an endpoint's traffic."""
    takes = (ALL_TRAFFIC,) * len(nowhere) if job_class.endpoint else ()
    modes = (*job_class.modes, *nowhere)
    return replace(job_class, modes=modes, takes=(*job_class.takes, *takes))


def _on_api(inputs: Inputs, stating: _Stating, job: str, api: str, job_class: JobClass) -> Mode:
    """State a pool and an offer of an API for units of a job class; return the mode to be there."""
    quarters, available = inputs.scenario.horizon.all_quarters, inputs.scenario.apis[api].available
    tokens = token_costs(inputs, job, api)
    cents = tuple(
        one.present_cents
        if quarter in job_class.quarters and (available is None or quarters[quarter] in available)
        else None
        for quarter, one in enumerate(tokens)
    )
    spent = {
        cap.name: tuple(spent_cents(inputs, cap, (one,)) for one in tokens)
        for cap in inputs.scenario.budget.caps()
    }
    gpu_type = stating.pool(_ONE, api)
    stating.supply(api, "rent", len(stating.pools) - 1, None, cents, spent)
    return Mode(gpu_type, _ONE, way=api)


def _rate_limits(
    inputs: Inputs, problem: Problem, served: Sequence[tuple[str, str]]
) -> Iterator[SpendLimit]:
    """Return one limit for each quarter of each API that has one.

    In whole numbers of the common denominator of all rates; where that is too large for the
    solver, each rate is rounded up.
    """
    scenario, every = inputs.scenario, range(problem.quarters)
    nothing = ((0,) * problem.quarters,) * len(problem.supplies)
    peaks = {job: scenario.jobs[job].peaks(scenario.horizon) for job, _ in served}
    for name, api in sorted(scenario.apis.items()):
        if api.requests_per_second is None:
            continue
        most = Fraction(api.requests_per_second)
        for quarter, label in enumerate(scenario.horizon.labels):
            rates = [peaks[job][quarter] if of == name else Fraction(0) for job, of in served]
            parts = min(lcm(*(rate.denominator for rate in (most, *rates))), _MOST_PARTS)
            taken = (
                tuple(ceil(rate * parts) if at == quarter else 0 for at in every) for rate in rates
            )
            told = f"requests per second on {name} in {label}"
            yield SpendLimit(told, int(most * parts), (*nothing, *taken), parts_of_request=parts)


Start = tuple[tuple[int, int], ...]
"""(job class, units) that are to run."""


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
    """By quarters of delay, the numbers of the units that are to run, in the order of the
    job classes; only if some may be short."""


@dataclass(frozen=True, slots=True)
class JobGroup:
    """Claims that are alike, and the supplies whose nodes count how many of them do not run."""

    claims: tuple[Claim, ...]
    other_start: tuple[int, ...]
    """By quarters of delay: not run, because it starts at another time; empty: it may not slip."""
    dropped: int | None
    """None: never."""
    short: int | None = None
    """Counts units that do not run in a quarter, if some may be short; for one claim alone."""
    classes: tuple[tuple[int, ...], ...] = ()
    """By quarters of delay, the job classes of that claim."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the claims."""
        return tuple(claim.name for claim in self.claims)

    @property
    def priority(self) -> int:
        """The priority of each of them."""
        return self.claims[0].priority


def claims_of(inputs: Inputs, jobs: Sequence[SizedJob]) -> tuple[Problem, tuple[Claim, ...]]:
    """Return all jobs with units, by name, and the problem in which each start has job classes.

    A start that leaves nothing of the job within the horizon does not count.
    """
    together: dict[str, list[SizedJob]] = defaultdict(list)
    for job in jobs:
        if any(job.units):
            together[job.root].append(job)
    today = running_units(inputs.scenario)
    running: RunningUnits = {}
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
    for job_class, members in enumerate(translation.members):
        for alias, _ in members:
            units[owner[alias]][job_class] += 1
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
    mine = [problem.classes[number] for start in starts for number, _ in start]
    most = sum(
        job_class.count * max((mode.copies for mode in job_class.modes), default=1)
        for job_class in mine
    )
    numbers = tuple(
        tuple(
            unit
            for job_class, _ in start
            for alias, unit in members[job_class]
            if alias == f"{name}\n{delay}"
        )
        for delay, start in enumerate(starts)
    )
    if stated.droppable == "all":  # so that there is no need to drop it as a whole
        return replace(claim, required=True, droppable=most, numbers=numbers)
    return replace(claim, droppable=stated.droppable, numbers=numbers)


def with_groups(problem: Problem, claims: Sequence[Claim]) -> tuple[Problem, tuple[JobGroup, ...]]:
    """Return the problem in which every claim may be dropped or delayed as far as it allows."""
    stating = _StatingClasses(problem)
    alike: dict[object, list[Claim]] = defaultdict(list)
    for claim in claims:
        # One node stands for one claim only where all of its units are active together.
        one = all(len(start) == 1 for start in claim.starts) and not claim.droppable
        key = claim.priority, claim.required, claim.starts, None if one else claim.name
        alike[key].append(claim)
    groups = [stating.add(members) for members in alike.values()]
    return stating.problem(), tuple(one for one in groups if one is not None)


class _StatingClasses(_Stating):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._starts: list[tuple[str, int, tuple[int, ...]]] = []
        """Names, each with the most nodes of some supplies together."""

    def add(self, claims: Sequence[Claim]) -> JobGroup | None:
        """State claims that are alike; return None if nothing can be decided about them."""
        first, times = claims[0], len(claims)
        if first.required and len(first.starts) == 1 and not first.droppable:
            for job_class, units in first.starts[0]:
                stated = self._before.classes[job_class]
                self.classes.append(replace(stated, count=units * times))
            return None
        short = self._short(first) if first.droppable else None
        nowhere = None if short is None else self.supplies[short].pool
        begun = len(self.classes)
        pools = [self._nowhere(start, times, nowhere) for start in first.starts]
        other: tuple[int, ...] = ()
        if len(pools) > 1:
            name = f"other starts of {first.name}"
            other = tuple(self._bought(name, pool, times) for pool in pools)
            self._starts.append((name, (len(pools) - 1) * times, other))
        dropped = None
        if not first.required:
            dropped = self._bought(f"{first.name} is dropped", pools[0], times)
        classes: list[tuple[int, ...]] = []
        for start in first.starts if first.droppable else ():
            classes.append(tuple(range(begun, begun + len(start))))
            begun += len(start)
        return JobGroup(tuple(claims), other, dropped, short, tuple(classes))

    def problem(self) -> Problem:
        """Return what was stated, with budgets that hold the starts of one job together."""
        stated = super().problem()
        starts = (at_most(stated, name, most, which) for name, most, which in self._starts)
        return replace(stated, budgets=(*stated.budgets, *starts))

    def _short(self, claim: Claim) -> int:
        """State a pool each of whose nodes is one unit that is short in a quarter."""
        self.pool(_ONE)
        name, free = f"units of {claim.name} are short", (0,) * self._before.quarters
        return self.supply(name, "rent", len(self.pools) - 1, claim.droppable, free)

    def _nowhere(self, start: Start, times: int, short: int | None) -> int:
        """State a pool each of whose nodes holds all units of one claim; return their classes."""
        active: Counter[int] = Counter()
        for job_class, units in start:
            active.update(dict.fromkeys(self._before.classes[job_class].quarters, units))
        gpu_type = self.pool(Shape(max(active.values()), 0, 0))
        for job_class, units in start:
            asked = replace(self._before.classes[job_class], count=units * times)
            stated = _with_modes(asked, (Mode(gpu_type, _ONE),))
            self.classes.append(replace(stated, nowhere=short))
        return len(self.pools) - 1

    def _bought(self, name: str, pool: int, maximum: int) -> int:
        never = (None,) * (self._before.quarters - 1)
        return self.supply(name, "buy", pool, maximum, (0, *never))


def at_most(problem: Problem, name: str, most: int, supplies: Collection[int]) -> SpendLimit:
    """Limit the nodes of these supplies together, as a budget of which each takes 1."""
    every = range(len(problem.supplies))
    return SpendLimit(
        name, most, tuple((int(number in supplies),) * problem.quarters for number in every)
    )
