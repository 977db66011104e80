"""Units that an API may serve: a way to run that takes no node and costs money by its tokens.

An API is a pool by itself for each kind of unit, of as many nodes as are paid, each of which holds
one unit for one quarter. So the search, the bound and the proof that serve rents serve APIs, too.
What is then placed on nodes is stated anew without the units that are on APIs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from planner.costs import spent_cents, token_costs
from planner.packing.limits import SpendLimit
from planner.packing.problem import NOWHERE, Choice, Demand, Pool, Shape, Supply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planner.inputs.settled import Inputs
    from planner.packing.problem import Problem
    from planner.packing.solution import Solution
    from planner.packing.statement.translate import Translation, Unit
    from planner.sizing.candidate import SizedJob

__all__ = ["API", "split", "with_apis"]

API = "API"
"""In place of a node type."""
_MILLI = 1000
"""Rate limits are counted in thousandths of a request per second."""
_ONE = Shape(1, 0, 0)


def with_apis(inputs: Inputs, translation: Translation) -> Translation:
    """The same problem, where units may be on the APIs that their jobs allow.

    The very same where no job allows one that is there.
    """
    stating = _Stating(inputs, translation)
    for demand, members in zip(translation.problem.demands, translation.members, strict=True):
        stating.add(demand, members)
    return stating.translation() if stating.supplies else translation


def split(
    translation: Translation, solution: Solution, jobs: Sequence[SizedJob]
) -> tuple[SizedJob, ...]:
    """The jobs with those units on APIs that a solution has there; the others are to be placed."""
    gone: dict[str, dict[str, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
    problem = translation.problem
    for demand, members, assigned in zip(
        problem.demands, translation.members, solution.assigned, strict=True
    ):
        waiting = list(members)
        for choice, count in zip(demand.choices, assigned, strict=True):
            mine, waiting = waiting[:count], waiting[count:]
            if _is_api(choice):
                for name, _ in mine:
                    gone[name][choice.way].update(demand.quarters)
    quarters = range(problem.quarters)
    found = []
    for job in jobs:
        on_apis = tuple(
            (api, tuple(units[quarter] for quarter in quarters))
            for api, units in sorted(gone[job.name].items())
        )
        placed = tuple(
            count - sum(units[quarter] for _, units in on_apis)
            for quarter, count in enumerate(job.units)
        )
        found.append(job.model_copy(update={"units": placed, "on_apis": on_apis}))
    return tuple(found)


def _is_api(choice: Choice) -> bool:
    return choice.gpu_type.startswith(f"{NOWHERE}{API} ")


class _Stating:
    """Adds pools, offers and limits of APIs to a problem."""

    def __init__(self, inputs: Inputs, translation: Translation) -> None:
        self._inputs, self._before = inputs, translation
        self._demands: list[Demand] = []
        self._members: list[tuple[Unit, ...]] = []
        self._pools: list[Pool] = []
        self.supplies: list[Supply] = []
        self._spent: list[tuple[str, str]] = []
        """By supply: a job whose units it takes, and the API."""

    def add(self, demand: Demand, members: tuple[Unit, ...]) -> None:
        """State a demand: once for all of its units whose requests the same APIs may answer."""
        alike: dict[tuple[object, ...], list[Unit]] = defaultdict(list)
        for unit in members:
            alike[self._kind(unit[0], demand)].append(unit)
        for kind, units in sorted(alike.items(), key=lambda one: one[1]):
            choices = demand.choices
            for api in kind[0] if isinstance(kind[0], tuple) else ():
                choices = (*choices, self._choice(units[0][0].partition("\n")[0], api, demand))
            self._demands.append(replace(demand, choices=choices, count=len(units)))
            self._members.append(tuple(units))

    def _kind(self, name: str, demand: Demand) -> tuple[object, ...]:
        """APIs of a job, and its traffic, by which units of one demand may differ.

        Units that may not leave their place are not asked.
        """
        job = name.partition("\n")[0]
        apis = self._inputs.scenario.apis_of(job)
        if not apis or any(choice.shape.stays for choice in demand.choices):
            return ((),)
        return (apis, self._inputs.scenario.jobs[job].peaks(self._inputs.scenario.horizon))

    def _choice(self, job: str, api: str, demand: Demand) -> Choice:
        number = len(self._before.problem.pools) + len(self._pools)
        gpu_type = f"{NOWHERE}{API} {number}"
        self._pools.append(Pool(API, api, gpu_type, _ONE, 0, 0, fabric=False))
        available = self._inputs.scenario.apis[api].available
        labels = self._inputs.scenario.horizon.all_quarters
        costs = tuple(
            one.present_cents
            if quarter in demand.quarters and (available is None or labels[quarter] in available)
            else None
            for quarter, one in enumerate(token_costs(self._inputs, job, api))
        )
        self.supplies.append(Supply(api, "rent", number, None, costs))
        self._spent.append((job, api))
        return Choice(gpu_type, _ONE, way=api)

    def translation(self) -> Translation:
        """What was stated, with what APIs take of budgets, and their rate limits."""
        problem = self._before.problem
        caps = {cap.name: cap for cap in self._inputs.scenario.budget.caps()}
        budgets = tuple(
            replace(
                limit,
                cents=(
                    *limit.cents,
                    *(
                        tuple(
                            spent_cents(self._inputs, caps[limit.name], (one,))
                            for one in token_costs(self._inputs, *spent)
                        )
                        for spent in self._spent
                    ),
                ),
            )
            for limit in problem.budgets
        )
        stated = replace(
            problem,
            pools=(*problem.pools, *self._pools),
            supplies=(*problem.supplies, *self.supplies),
            demands=tuple(self._demands),
            budgets=(*budgets, *self._rate_limits(problem)),
        )
        return replace(
            self._before,
            problem=stated,
            members=tuple(self._members),
            offers=tuple(supply.name for supply in stated.supplies),
        )

    def _rate_limits(self, problem: Problem) -> Iterator[SpendLimit]:
        """One for each quarter of each API that has one."""
        scenario = self._inputs.scenario
        nothing = ((0,) * problem.quarters,) * len(problem.supplies)
        peaks: Mapping[str, tuple[int, ...]] = {
            job: tuple(ceil(peak * _MILLI) for peak in scenario.jobs[job].peaks(scenario.horizon))
            for job, _ in self._spent
        }
        for name, api in sorted(scenario.apis.items()):
            most = api.requests_per_second
            for quarter, label in enumerate(scenario.horizon.labels) if most is not None else ():
                taken = tuple(
                    tuple(
                        peaks[job][at] if (of, at) == (name, quarter) else 0
                        for at in range(problem.quarters)
                    )
                    for job, of in self._spent
                )
                yield SpendLimit(
                    f"requests per second on {name} in {label}",
                    int(most * _MILLI) if most is not None else 0,
                    (*nothing, *taken),
                    unit="requests/s",
                )
