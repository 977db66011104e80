"""Asks CP-SAT for the plan that costs least, in a process of its own.

HiGHS and OR-Tools cannot share a process: each brings symbols of the other. So this module is run
by its path, imports nothing of the planner, and speaks JSON: a question on standard input, the
answer on standard output. `exact_plan` states both.

The model has the rows of the master program, and what they only count: on which nodes units stay,
and in which hours runs are on them, with the GPUs of a node as one resource. Hours and nodes given,
each run then gets neighbouring GPUs.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from ortools.sat.python import cp_model

_RESOURCES = ("gpus", "cpus", "memory_mb")
_Interval = cp_model.IntervalVar
_Amount = Any
"""A whole number, or an expression."""
_Load = list[tuple[_Interval, _Amount]]
"""Intervals, with what each takes."""


def solved(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the work done, what no plan costs less than, and a plan if one is found."""
    model = _Model(asked)
    solver = _solver(asked["work"])
    status = solver.solve(model.model)
    work = solver.response_proto.deterministic_time
    if status == cp_model.INFEASIBLE:
        return {"work": work, "bound": None}
    if status == cp_model.MODEL_INVALID:
        raise ValueError(model.model.validate())
    bound = round(solver.best_objective_bound)
    if status == cp_model.UNKNOWN:
        return {"work": work, "bound": bound}
    pools = []
    for pool in model.pools:
        found, more = pool.found(solver, asked["work"])
        work += more
        if found is None:
            return {"work": work, "bound": bound}
        pools.append(found)
    values = [solver.value(variable) for variable in model.variables]
    return {"work": work, "bound": bound, "values": values, "pools": pools}


class _Model:
    """The master program, and the nodes of each pool and quarter that runs something."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.model = model = cp_model.CpModel()
        self.variables = [model.new_int_var(0, upper, "") for upper in asked["uppers"]]
        for terms, low, high in asked["rows"]:
            if low is not None:
                model.add(self.sum(terms) >= low)
            if high is not None:
                model.add(self.sum(terms) <= high)
        cost = self.sum(asked["costs"])
        model.add(cost >= asked["least"])
        if asked["below"] is not None:
            model.add(cost < asked["below"])
        model.minimize(cost)
        self.held: dict[int, _Load] = defaultdict(list)
        """By quota: runs with their GPUs."""
        self.rented: dict[int, _Load] = defaultdict(list)
        """By offer with nodes by the hour."""
        self.hours: int = asked["hours"]
        self.pools = [_Nodes(self, pool) for pool in asked["pools"]]
        for number, held in self.held.items():
            self.limit(held, self.variables[asked["quotas"][number]])
        for number, rented in self.rented.items():
            self.limit(rented, asked["offers"][number])

    def sum(self, terms: Iterable[Sequence[int]]) -> Any:  # noqa: ANN401 - an expression
        """Return a sum of variables, each with its factor."""
        return sum(factor * self.variables[index] for index, factor in terms)

    def limit(self, load: _Load, most: _Amount) -> None:
        """Let intervals take no more than this at any hour."""
        intervals, amounts = zip(*load, strict=True)
        self.model.add_cumulative(intervals, amounts, most)


class _Nodes:
    """The nodes of one pool in one quarter, and what is on them."""

    def __init__(self, whole: _Model, pool: dict[str, Any]) -> None:
        self._whole, self._model, self._pool = whole, whole.model, pool
        self._used = [whole.model.new_bool_var("") for _ in range(pool["nodes"])]
        for one, next_one in zip(self._used, self._used[1:], strict=False):
            whole.model.add_implication(next_one, one)
        self._rented: list[tuple[Any, Any]] = []
        """Of each node by the hour: when it comes, and the steps that are paid."""
        self._ends: list[Any] = []
        """When it goes."""
        self._stay: list[list[Any]] = [[] for _ in self._used]
        """By node: the units of each kind that stay on it."""
        self._runs: list[tuple[int, Any, Any, list[Any]]] = []
        """Each run: its kind, presence and start, and whether it is on each node."""
        self._load: dict[tuple[str, int], _Load] = defaultdict(list)
        """By resource and node."""
        self._area: list[list[Any]] = [[] for _ in self._used]
        """By node: the GPU-hours of what is on it."""
        if pool["hourly"]:
            self._rent(pool["hourly"])
        else:
            whole.model.add(sum(self._used) <= whole.sum(pool["usable"]) + pool["owned"])
        opened = 0
        for number, kind in enumerate(pool["kinds"]):
            if kind["hours"] is None:
                self._add_staying(kind)
                opened += kind["most"]
            else:
                self._add_runs(number, kind, opened)
                opened += kind["most"] * kind["nodes"]
        self._limit()

    def _rent(self, hourly: dict[str, Any]) -> None:
        """Let nodes come and go, and pay for the hours between."""
        model, step, horizon = self._model, hourly["step_hours"], self._whole.hours
        fewest = -(-hourly["minimum_hours"] // step)
        most = max(fewest, -(-horizon // step))
        # Where no run waits, or counts elsewhere, all on a node may as well be there earlier.
        at_once = hourly["offer"] is None and all(
            kind["earliest"] == 0 and kind["nodes"] == 1 and not kind["quotas"]
            for kind in self._pool["kinds"]
        )
        for used in self._used:
            begin, end = (model.new_int_var(0, horizon, "") for _ in range(2))
            steps = model.new_int_var(0, most, "")
            model.add(steps >= fewest * used)
            model.add(steps <= most * used)
            model.add(step * steps >= end - begin)
            model.add(begin <= end)
            model.add(end <= horizon * used)
            self._rented.append((begin, steps))
            self._ends.append(end)
            if at_once:
                model.add(begin == 0)
            if hourly["offer"] is not None:
                until = model.new_int_var(0, horizon + most * step, "")
                paid = model.new_interval_var(begin, step * steps, until, "")
                outlasts = model.new_bool_var("")  # such a stay begins with the quarter
                model.add(begin == 0).only_enforce_if(outlasts)
                model.add(until <= horizon).only_enforce_if(~outlasts)
                self._whole.rented[hourly["offer"]].append((paid, 1))
        paid_steps = sum(steps for _, steps in self._rented)
        model.add(paid_steps == self._whole.sum([at, 1] for at in hourly["steps"]))

    def _add_staying(self, kind: dict[str, Any]) -> None:
        always = self._model.new_fixed_size_interval_var(0, self._whole.hours, "")
        numbers = [self._model.new_int_var(0, kind["most"], "") for _ in self._used]
        self._model.add(sum(numbers) == self._whole.sum(kind["counted"]))
        for at, (number, used) in enumerate(zip(numbers, self._used, strict=True)):
            self._model.add(number <= kind["most"] * used)
            self._stay[at].append(number)
            self._take(kind, at, always, self._whole.hours, number)

    def _add_runs(self, number: int, kind: dict[str, Any], opened: int) -> None:
        """Add runs that are alike; what comes before them takes so many nodes at most.

        Nodes are numbered in the order in which they are taken, and runs that are alike by their
        starts: anything else would be the same plan once more.
        """
        model, hours = self._model, kind["hours"]
        mine: list[tuple[Any, Any]] = []
        for _ in range(kind["most"]):
            present = model.new_bool_var("")
            start = model.new_int_var(kind["earliest"], kind["latest"], "")
            if mine:
                model.add_implication(present, mine[-1][0])
                model.add(start >= mine[-1][1])
            mine.append((present, start))
            opened += kind["nodes"]
            on = [model.new_bool_var("") for _ in self._used[:opened]]
            self._runs.append((number, present, start, on))
            model.add(sum(on) == kind["nodes"] * present)
            for quota in kind["quotas"]:
                held = model.new_optional_fixed_size_interval_var(start, hours, present, "")
                self._whole.held[quota].append((held, kind["gpus"] * kind["nodes"]))
            for at, there in enumerate(on):
                model.add_implication(there, self._used[at])
                held = model.new_optional_fixed_size_interval_var(start, hours, there, "")
                self._take(kind, at, held, hours, there)
                if self._rented:
                    model.add(self._rented[at][0] <= start).only_enforce_if(there)
                    model.add(start + hours <= self._ends[at]).only_enforce_if(there)
        every = sum(present for present, _ in mine)
        model.add(every * kind["nodes"] == self._whole.sum(kind["counted"]))

    def _take(
        self, kind: dict[str, Any], at: int, held: _Interval, hours: int, number: _Amount
    ) -> None:
        """Let pieces take what they need of a node; an interval that is optional counts once."""
        self._area[at].append(kind["gpus"] * hours * number)
        for name in _RESOURCES:
            if kind[name]:
                taken = kind[name] if kind["hours"] else kind[name] * number
                self._load[name, at].append((held, taken))

    def _limit(self) -> None:
        """Keep what a node has at every hour, and its GPU-hours."""
        pool = self._pool
        for at, (area, used) in enumerate(zip(self._area, self._used, strict=True)):
            hours = self._whole.hours * used
            if self._rented:
                hours = pool["hourly"]["step_hours"] * self._rented[at][1]
            self._model.add(sum(area) <= pool["gpus"] * hours)
        scarce = {  # GPUs bound the others already
            name
            for name in _RESOURCES
            for kind in pool["kinds"]
            if kind[name] * pool["gpus"] > pool[name] * kind["gpus"] or name == "gpus"
        }
        for (name, _), load in self._load.items():
            if name in scarce:
                self._whole.limit(load, pool[name])

    def found(
        self, solver: cp_model.CpSolver, most_work: float
    ) -> tuple[dict[str, Any] | None, float]:
        """Return what stays on each node, runs with their places, and hours paid, if GPUs fit.

        And the work done.
        """
        stay = [[solver.value(number) for number in numbers] for numbers in self._stay]
        runs = [
            (number, solver.value(start), [at for at, one in enumerate(on) if solver.value(one)])
            for number, present, start, on in self._runs
            if solver.value(present)
        ]
        kinds, work = self._pool["kinds"], 0.0
        kept = [kind["gpus"] for kind in kinds if kind["hours"] is None]
        places: list[list[tuple[int, int]]] = [[] for _ in runs]
        for at, numbers in enumerate(stay):
            mine = [one for one, (_, _, nodes) in enumerate(runs) if at in nodes]
            taken = sum(gpus * units for gpus, units in zip(kept, numbers, strict=True))
            timed = [(kinds[runs[one][0]], runs[one][1]) for one in mine]
            firsts, more = _side_by_side(timed, self._pool["gpus"] - taken, most_work)
            work += more
            if firsts is None:
                return None, work
            for one, first in zip(mine, firsts, strict=True):
                places[one].append((at, first))
        return {
            "stay": stay,
            "runs": [(*run[:2], where) for run, where in zip(runs, places, strict=True)],
            "rented": [(solver.value(begin), solver.value(steps)) for begin, steps in self._rented],
        }, work


def _side_by_side(
    runs: Sequence[tuple[dict[str, Any], int]], gpus: int, most_work: float
) -> tuple[list[int] | None, float]:
    """Return the first GPU of each run (kind, start) on one node; None if none was found."""
    if not runs:
        return [], 0.0
    model = cp_model.CpModel()
    firsts, times, lanes = [], [], []
    for kind, start in runs:
        firsts.append(model.new_int_var(0, gpus - kind["gpus"], ""))
        times.append(model.new_fixed_size_interval_var(start, kind["hours"], ""))
        lanes.append(model.new_fixed_size_interval_var(firsts[-1], kind["gpus"], ""))
    model.add_no_overlap_2d(times, lanes)
    solver = _solver(most_work)
    status = solver.solve(model)
    work = solver.response_proto.deterministic_time
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, work
    return [solver.value(first) for first in firsts], work


def _solver(most_work: float) -> cp_model.CpSolver:
    """Return a solver with one thread and a limit of work, so that one question has one answer."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 0
    solver.parameters.use_overload_checker_in_cumulative = True
    solver.parameters.use_timetable_edge_finding_in_cumulative = True
    solver.parameters.max_deterministic_time = most_work
    return solver


if __name__ == "__main__":
    json.dump(solved(json.load(sys.stdin)), sys.stdout)
