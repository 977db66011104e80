"""Asks CP-SAT whether runs find places, in a process of its own.

HiGHS and OR-Tools cannot share a process: each brings symbols of the other. So this module is run
by its path, imports nothing of the planner, and speaks JSON: a question on standard input, the
answer on standard output. `exact_schedule` states both.

Hours and nodes are chosen first, with the GPUs of each node as one resource. If that has no
solution, none exists. Then, hours and nodes given, each run gets neighbouring GPUs.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from ortools.sat.python import cp_model

_UNKNOWN, _IMPOSSIBLE, _FOUND = "unknown", "impossible", "found"
_Interval = cp_model.IntervalVar
_Load = dict[Any, list[tuple[_Interval, int]]]
"""By resource: intervals, with what each takes."""


def solved(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the answer: its kind, the work done, and for each run its way, start and places."""
    model, starts, taken = _model(asked)
    kind, work, solver = _solve(model, asked["work"])
    if solver is None:
        return {"kind": kind, "work": work}
    chosen: list[list[tuple[int, int]]] = [
        [(way, room) for (way, room), there in rooms.items() if solver.value(there)]
        for rooms in taken
    ]
    hours: list[int] = [
        solver.value(begins[places[0][0]]) for begins, places in zip(starts, chosen, strict=True)
    ]
    on_room: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for run, places in enumerate(chosen):
        for way, room in places:
            on_room[room].append((run, way, hours[run]))
    firsts: dict[tuple[int, int], int] = {}
    for room, runs in on_room.items():
        found, more = _side_by_side(asked, room, runs)
        work += more
        if found is None:
            return {"kind": _UNKNOWN, "work": work}
        firsts |= {(run, room): first for run, first in found.items()}
    answers = [
        (places[0][0], hours[run], [(room, firsts[run, room]) for _, room in places])
        for run, places in enumerate(chosen)
    ]
    return {"kind": _FOUND, "work": work, "runs": answers}


def _model(
    asked: dict[str, Any],
) -> tuple[
    cp_model.CpModel, list[list[cp_model.IntVar]], list[dict[tuple[int, int], cp_model.IntVar]]
]:
    """State when runs start, by way, and which nodes they take, by way and node."""
    model, rooms = cp_model.CpModel(), asked["rooms"]
    starts: list[list[cp_model.IntVar]] = []
    taken: list[dict[tuple[int, int], cp_model.IntVar]] = []
    load: dict[str, _Load] = {name: defaultdict(list) for name in ("gpus", "cpus", "memory_mb")}
    capped: _Load = defaultdict(list)
    alike: dict[str, list[cp_model.IntVar]] = {}
    for ways in asked["runs"]:
        mine: dict[tuple[int, int], cp_model.IntVar] = {}
        chosen = [model.new_bool_var("way") for _ in ways]
        model.add_exactly_one(chosen)
        begins: dict[tuple[int, int], cp_model.IntVar] = {}
        starts.append([])
        for number, (way, present) in enumerate(zip(ways, chosen, strict=True)):
            window = way["earliest"], way["latest"]
            if window not in begins:
                begins[window] = model.new_int_var(*window, "start")
            start = begins[window]
            starts[-1].append(start)
            every = []
            for at in _open_to(way, rooms):
                there = mine[number, at] = model.new_bool_var("there")
                held = model.new_optional_fixed_size_interval_var(start, way["hours"], there, "")
                for name, loads in load.items():
                    if name == "gpus" or rooms[at]["scarce"]:
                        loads[at].append((held, way[name]))
                every.append(there)
            model.add(sum(every) == way["nodes"] * present)
            for cap in way["caps"]:
                held = model.new_optional_fixed_size_interval_var(start, way["hours"], present, "")
                capped[cap].append((held, way["gpus"] * way["nodes"]))
        # Of runs that are alike and have one window, none starts before the one before it.
        if len(begins) == 1:
            same = json.dumps(ways)
            if same in alike:
                model.add(starts[-1][0] >= alike[same][0])
            alike[same] = starts[-1]
        taken.append(mine)
    for name, loads in load.items():
        for at, held_by in loads.items():
            _add(model, held_by, rooms[at][name])
    for cap, held_by in capped.items():
        _add(model, held_by, asked["caps"][cap])
    return model, starts, taken


def _open_to(way: dict[str, Any], rooms: Sequence[dict[str, Any]]) -> list[int]:
    """Return the rooms that have what a run takes of each."""
    return [
        at
        for at, room in enumerate(rooms)
        if room["pool"] == way["pool"]
        and (room["whole"] or way["nodes"] == 1)
        and all(way[name] <= room[name] for name in ("gpus", "cpus", "memory_mb"))
    ]


def _add(model: cp_model.CpModel, held: Iterable[tuple[_Interval, int]], most: int) -> None:
    intervals, amounts = zip(*held, strict=True)
    model.add_cumulative(intervals, amounts, most)


def _side_by_side(
    asked: dict[str, Any], room: int, runs: Sequence[tuple[int, int, int]]
) -> tuple[dict[int, int] | None, float]:
    """Return the first GPU of each run (number, way, start) on one node; None if none was found."""
    model, gpus = cp_model.CpModel(), asked["rooms"][room]["gpus"]
    firsts, times, lanes = {}, [], []
    for number, way, start in runs:
        size, hours = (asked["runs"][number][way][key] for key in ("gpus", "hours"))
        first = firsts[number] = model.new_int_var(0, gpus - size, "first")
        times.append(model.new_fixed_size_interval_var(start, hours, ""))
        lanes.append(model.new_fixed_size_interval_var(first, size, ""))
    model.add_no_overlap_2d(times, lanes)
    _, work, solver = _solve(model, asked["work"])
    if solver is None:
        return None, work
    return {number: solver.value(first) for number, first in firsts.items()}, work


def _solve(
    model: cp_model.CpModel, most_work: float
) -> tuple[str, float, cp_model.CpSolver | None]:
    """Solve on one thread, up to a limit of work, so that the same question has one answer."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 0
    solver.parameters.use_overload_checker_in_cumulative = True
    solver.parameters.use_timetable_edge_finding_in_cumulative = True
    solver.parameters.max_deterministic_time = most_work
    status = solver.solve(model)
    work = solver.response_proto.deterministic_time
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return _FOUND, work, solver
    return _IMPOSSIBLE if status == cp_model.INFEASIBLE else _UNKNOWN, work, None


if __name__ == "__main__":
    json.dump(solved(json.load(sys.stdin)), sys.stdout)
