"""Exact plan: CP-SAT decides on a small portfolio as a whole, nodes and hours together.

The master program counts runs by their hours, and knows no schedule. Here it is solved once more,
with all of its rows and, for each pool and quarter with runs, with the nodes on which everything
is and the hours in which each run is there. That gives a cheaper plan, or a better bound.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil, floor, inf
from pathlib import Path
from typing import Any

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing import work
from planner.packing.constraints.quotas import staying
from planner.packing.cutting import CuttingStock, Packed
from planner.packing.hourly_runs import Rental
from planner.packing.list_schedule import Placed
from planner.packing.master import CENTS_PER_UNIT, MasterProgram, PoolInQuarter, Usage
from planner.packing.runs import Rentals, Scheduled, hourly_pools

_PROGRAM = Path(__file__).with_name("cp_sat.py")
_START_S, _UNIT_S = 0.5, 10.0
"""Seconds that starting CP-SAT takes on a usual machine, and each of its units of work."""
_MOST_PLACES = 4_000
"""Pieces times nodes, beyond which CP-SAT is not asked."""
_MOST = 10**6
"""What a variable without an upper bound counts at most."""
_PARTS = 2**20
"""Coefficients that are not whole are stated in parts of this."""


@dataclass(frozen=True, slots=True)
class ExactPlan:
    """What CP-SAT found out about a portfolio."""

    bound_cents: int | None
    """No plan costs less; None: there is no plan."""
    made: Scheduled | None = None
    """A plan that costs less than the one that was known, if one was found."""
    packings: Mapping[PoolInQuarter, Packed] = field(default_factory=dict)
    """Where on the nodes of that plan units stay beside runs."""


def exactly(
    master: MasterProgram,
    stocks: Mapping[int, CuttingStock],
    least_cents: int,
    below_cents: int | None,
    most_s: float,
) -> ExactPlan | None:
    """Look for a plan that costs less than a known one, for so many seconds of work.

    `least_cents` is what plans are known to cost at least. Returns None where CP-SAT is not asked,
    or says nothing: the portfolio is too large, or runs share nodes with parts of GPUs.
    """
    if most_s <= _START_S or any(
        usage.asked.is_run for key in (*master.opened, *master.lent) for usage in master.usages[key]
    ):
        return None
    question = _Question(master, least_cents, below_cents)
    if question.places > _MOST_PLACES:
        return None
    found = _answer(question.stated((most_s - _START_S) / _UNIT_S))
    work.add(_START_S + found.get("work", 0.0) * _UNIT_S)
    if "bound" not in found:
        return None
    if found["bound"] is None:
        return ExactPlan(below_cents)
    bound_cents = found["bound"] + master.problem.fixed_cost_cents
    if "values" not in found:
        return ExactPlan(bound_cents)
    return ExactPlan(bound_cents, *question.read(found, stocks))


class _Question:
    """The master program in whole numbers, and the nodes of each pool and quarter with runs."""

    def __init__(self, master: MasterProgram, least_cents: int, below_cents: int | None) -> None:
        self._master, program = master, master.program
        fixed_cents = master.problem.fixed_cost_cents
        self._least = least_cents - fixed_cents
        self._below = None if below_cents is None else below_cents - fixed_cents
        self._costs = [round(one.cost * CENTS_PER_UNIT) for one in program.variables]
        self._uppers = self._most_of_each()
        self._rows = [_whole(row.terms, row.sense, row.right) for row in program.rows]
        self._quotas = dict(self._left_by_quotas())
        self._offers: dict[tuple[int, int], int] = {}
        """(offer, quarter) -> the nodes by the hour that it gives at once."""
        self._usages = {
            key: sorted(
                (usage for usage in master.on_nodes(*key) if not usage.span),
                key=lambda one: (one.asked.is_run, -one.times, -one.shape.gpus, one.asked),
            )
            for key, usages in master.usages.items()
            if any(usage.asked.is_run for usage in usages)
        }
        """By pool and quarter: what is on its nodes; first what stays, then the widest runs."""
        self._pools = [self._pool(key) for key in self._usages]
        self.places = sum(
            pool["nodes"] * sum(kind["most"] for kind in pool["kinds"]) for pool in self._pools
        )
        """Pieces times nodes."""

    def stated(self, work: float) -> dict[str, Any]:
        """Return the question as `cp_sat` reads it, for so many of its units of work."""
        return {
            "uppers": self._uppers,
            "rows": self._rows,
            "costs": [[index, cents] for index, cents in enumerate(self._costs) if cents],
            "least": self._least,
            "below": self._below,
            "quotas": list(self._quotas.values()),
            "offers": list(self._offers.values()),
            "pools": self._pools,
            "hours": RUN_HOURS,
            "work": work,
        }

    def _most_of_each(self) -> list[int]:
        """Return upper bounds of the variables: also by what a cheaper plan can pay for."""
        every = self._master.program.variables
        uppers = [_MOST if one.upper is None else floor(one.upper) for one in every]
        if self._below is None:
            return uppers
        pairs = list(zip(self._costs, uppers, strict=True))
        spent = self._below - 1 - sum(cents * most for cents, most in pairs if cents < 0)
        return [min(most, max(0, spent) // cents) if cents > 0 else most for cents, most in pairs]

    def _left_by_quotas(self) -> Iterator[tuple[tuple[str, str | None, int], int]]:
        """Yield, by owner, GPU type and quarter, the variable of GPUs that a quota leaves to runs.

        With it comes its row.
        """
        for quota in self._master.problem.quotas:
            for quarter, most in enumerate(quota.at_most):
                if most is not None:
                    self._uppers.append(most)
                    held = staying(self._master, quota, quarter)
                    terms = [(index, float(gpus)) for index, gpus in held]
                    left = len(self._uppers) - 1
                    self._rows.append(_whole([*terms, (left, 1.0)], "<=", most))
                    yield (quota.owner, quota.gpu_type, quarter), left

    def _pool(self, key: PoolInQuarter) -> dict[str, Any]:
        master, (number, quarter) = self._master, key
        pool, node = master.problem.pools[number], master.problem.pools[number].node
        kinds = [self._kind(usage) for usage in self._usages[key]]
        most = sum(kind["most"] * kind["nodes"] for kind in kinds)
        usable, owned = ({}, 0) if pool.hire else master.usable_nodes(*key)
        for usage in master.usages[key]:
            if usage.span:
                usable = usable | {index: -usage.span * factor for index, factor in usage.terms}
        hourly = None
        if pool.hire:
            steps = [
                index
                for (supply, now), index in master.acquire.items()
                if now == quarter and master.problem.supplies[supply].pool == number
            ]
            offer = hourly_pools(master, quarter).get(number)
            if offer is not None and offer.most is not None:
                self._offers[offer.offer, quarter] = offer.most
            hourly = {
                "step_hours": pool.hire.step_hours,
                "minimum_hours": pool.hire.minimum_hours,
                "steps": steps,
                "offer": None
                if offer is None or offer.most is None
                else list(self._offers).index((offer.offer, quarter)),
            }
            shortest = min(pool.hire.steps(kind["hours"]) for kind in kinds)
            most = min(most, sum(self._uppers[index] for index in steps) // shortest)
        else:
            had = sum(max(0.0, factor) * self._uppers[at] for at, factor in usable.items())
            most = max(0, min(most, owned + round(had)))
        return {
            "nodes": most,
            "gpus": node.gpus,
            "cpus": node.cpus,
            "memory_mb": node.memory_mb,
            "usable": [[index, round(factor)] for index, factor in usable.items()],
            "owned": owned,
            "hourly": hourly,
            "kinds": kinds,
        }

    def _kind(self, usage: Usage) -> dict[str, Any]:
        """State pieces that are alike: what each takes, and what counts them."""
        problem, run = self._master.problem, usage.asked.run
        gpu_type = problem.pools[usage.pool].gpu_type
        most = 0
        for job_class in problem.classes:
            if usage.quarter in job_class.quarters:
                mine = [mode for mode in job_class.modes if mode.shape == usage.asked]
                pieces = max((mode.copies_in(usage.quarter) for mode in mine), default=0)
                most += job_class.count * pieces
        return {
            "gpus": usage.shape.gpus,
            "cpus": usage.shape.cpus,
            "memory_mb": usage.shape.memory_mb,
            "nodes": usage.times,
            "hours": run.hours if usage.asked.is_run else None,
            "earliest": run.earliest,
            "latest": run.latest,
            "most": most,
            "counted": [[index, round(factor)] for index, factor in usage.terms],
            "quotas": [
                number
                for number, (owner, of, quarter) in enumerate(self._quotas)
                if usage.asked.is_run
                and (owner, quarter) == (usage.asked.owner, usage.quarter)
                and of in (None, gpu_type)
            ],
        }

    def read(
        self, found: Mapping[str, Any], stocks: Mapping[int, CuttingStock]
    ) -> tuple[Scheduled, dict[PoolInQuarter, Packed]]:
        """Return the plan that was found, and where on its nodes units stay."""
        packings: dict[PoolInQuarter, Packed] = {}
        rentals: Rentals = {}
        schedule: dict[int, list[Placed]] = defaultdict(list)
        for (key, usages), pool in zip(self._usages.items(), found["pools"], strict=True):
            hire = self._master.problem.pools[key[0]].hire
            if hire:
                had = pool["rented"]
                order = sorted(
                    (at for at, (_, steps) in enumerate(had) if steps), key=had.__getitem__
                )
                rentals[key] = tuple(
                    Rental(*hire.paid(start, start + steps * hire.step_hours), steps)
                    for start, steps in (had[at] for at in order)
                )
            else:
                shapes = stocks[key[0]].shapes
                stay = [shapes.index(usage.shape) for usage in usages if not usage.asked.is_run]
                held = [
                    tuple(
                        sorted(
                            (shape, units) for shape, units in zip(stay, mine, strict=True) if units
                        )
                    )
                    for mine in pool["stay"]
                ]
                order = sorted(range(len(held)), key=lambda at: (not held[at], held[at]))
                packings[key] = Packed(tuple(Counter(held[at] for at in order if held[at]).items()))
            position = {at: number for number, at in enumerate(order)}
            for kind, start, places in pool["runs"]:
                where = tuple((position[at], gpu) for at, gpu in places)
                schedule[key[1]].append(Placed(key[0], usages[kind].asked, start, where))
        values = tuple(map(float, found["values"][: len(self._master.program.variables)]))
        runs = {quarter: tuple(placed) for quarter, placed in schedule.items()}
        return Scheduled(values, runs, rentals, []), packings


def _whole(
    terms: Iterable[tuple[int, float]], sense: str, right: float
) -> tuple[list[tuple[int, int]], int | None, int | None]:
    """Return a row in whole numbers (terms, least, most) that every solution of it keeps."""
    terms = list(terms)
    if all(factor.is_integer() for _, factor in terms):
        whole = [(index, round(factor)) for index, factor in terms]
        least, most = ceil(right - 1 / _PARTS), floor(right + 1 / _PARTS)
        return whole, None if sense == "<=" else least, None if sense == ">=" else most
    assert sense != "==", "what defines a count is whole"
    sign = 1 if sense == "<=" else -1
    below = [(index, floor(sign * factor * _PARTS)) for index, factor in terms]
    return below, None, ceil(sign * right * _PARTS) + 1


def _answer(question: Mapping[str, Any]) -> dict[str, Any]:
    """Ask CP-SAT; nothing is known if the guard ends it, or the system does."""
    left_s = work.guarded_s()
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(_PROGRAM)],
            input=json.dumps(question),
            capture_output=True,
            text=True,
            timeout=None if left_s == inf else max(0.0, left_s),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {}
    if done.returncode < 0:  # killed, such as for lack of memory
        return {}
    if done.returncode:
        raise RuntimeError(f"CP-SAT ended with {done.returncode}: {done.stderr[-500:]}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
