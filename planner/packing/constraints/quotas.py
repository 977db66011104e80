"""What quotas allow their owners to hold: rows of the master program, and the exact test.

Rows `quota[name]` sum the GPUs of an owner's active units over the modes that they take; a run
counts by its share of the quarter. Every unit of an owner with a quota is in a job class of its own
owner alone, so that these sums are exact. Rows `quota-wide` keep whole lanes for the owner's
runs beside what it holds all quarter. The hours of the runs are tested with the plan.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import floor, gcd, lcm

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.inputs.text import count_of
from planner.packing.constraints.base import (
    Condition,
    by_quarter_wider,
    rising,
    widening,
)
from planner.packing.dual_feasible import times_of
from planner.packing.list_schedule import Placed
from planner.packing.master import MasterProgram, Terms
from planner.packing.problem import ALL_TRAFFIC, WHOLE, Mode, Problem, Quota, RunWindow
from planner.packing.translation import Translation

BILL = "quotas of the teams"


def add_rows(master: MasterProgram) -> None:
    """State every quota; quarters in which the same units are active share the lowest limit."""
    for quota in master.problem.quotas:
        least: dict[object, tuple[int, int]] = {}
        for quarter, most in enumerate(quota.at_most):
            taken = _taken_in(master, quota, quarter)
            if most is not None and taken:
                key = tuple((index, pieces) for index, _, pieces in taken)
                least[key] = min((most, quarter), least.get(key, (most, quarter)))
        for most, quarter in least.values():
            for row in _rows(master, quota, most, quarter):
                master.relaxable(f"the {quota.name}", row, float(most), 1.0)


def _rows(master: MasterProgram, quota: Quota, most: int, quarter: int) -> Iterator[int]:
    """Yield what is held on average and, for each width of runs, whole lanes beside the rest."""
    taken = _taken_in(master, quota, quarter)
    load: Terms = defaultdict(float)
    for index, mode, pieces in taken:
        held = quota.taken_by_piece(mode) * pieces
        load[index] += float(held * mode.shape.run.hours / RUN_HOURS)
    at_most = float(most)
    if not any(mode.shape.is_run for _, mode, _ in taken):
        amounts = [quota.taken_by_piece(mode) * pieces for _, mode, pieces in taken]
        below = lcm(*(amount.denominator for amount in amounts))
        divisor = Fraction(gcd(*(int(amount * below) for amount in amounts)), below)
        at_most = float(floor(most / divisor) * divisor)
    yield master.program.row(f"quota[{quota.name}]", load, "<=", at_most)
    runs = [one for one in taken if one[1].shape.is_run]
    for gpus in sorted({mode.shape.gpus for _, mode, _ in runs}):
        lanes = master.program.variable(f"quota-lanes[{quota.name}]", integer=True)
        asked = [mode.shape.run for _, mode, _ in runs]
        for time, taken_then, of in times_of(asked, _gpus_of_runs(master, runs)):
            turns: Terms = defaultdict(float, {lanes: -1.0})
            for (index, mode, pieces), hours in zip(runs, taken_then, strict=True):
                turns[index] += mode.shape.gpus // gpus * pieces * hours / of
            name = "-".join(filter(None, ("quota", time, f"lanes-{gpus}")))
            master.program.row(f"{name}[{quota.name}]", turns, "<=", 0.0)
        beside: Terms = defaultdict(float, {lanes: float(gpus)})
        for index, mode, pieces in taken:
            if not mode.shape.is_run:
                beside[index] += float(quota.taken_by_piece(mode) * pieces)
        yield master.program.row(f"quota-wide-{gpus}[{quota.name}]", beside, "<=", most)


def _gpus_of_runs(
    master: MasterProgram, runs: Sequence[tuple[int, Mode, int]]
) -> Iterator[tuple[RunWindow, int]]:
    """Yield runs with the GPUs that the most of them can hold."""
    for index, mode, pieces in runs:
        if pieces > 0:
            units = master.program.variables[index].upper or 1.0
            yield mode.shape.run, round(units) * pieces * mode.shape.gpus


def _taken_in(master: MasterProgram, quota: Quota, quarter: int) -> list[tuple[int, Mode, int]]:
    """Yield what a quota counts in a quarter: variables, modes and the pieces that each adds.

    Units that are short take pieces off.
    """
    found = []
    for number, position in master.mode:
        job_class = master.problem.classes[number]
        mode = job_class.modes[position]
        if job_class.owner == quota.owner and quota.taken(mode) and quarter in job_class.quarters:
            every = master.pieces_in(number, position, quarter)
            found += [(index, mode, pieces) for index, pieces in every]
    return found


def held_all_quarter(
    master: MasterProgram, quota: Quota, quarter: int, values: Sequence[float]
) -> Fraction:
    """Return the GPUs of a quota that whole units hold, without runs."""
    held = (gpus * round(values[index]) for index, gpus in staying(master, quota, quarter))
    return sum(held, Fraction(0))


def staying(master: MasterProgram, quota: Quota, quarter: int) -> list[tuple[int, Fraction]]:
    """Return variables of units that are no runs, with the GPUs that each counts."""
    return [
        (index, quota.taken_by_piece(mode) * pieces)
        for index, mode, pieces in _taken_in(master, quota, quarter)
        if not mode.shape.is_run
    ]


def holds(master: MasterProgram, values: Sequence[float]) -> bool:
    """Return whether what units hold all quarter keeps every quota, in whole numbers."""
    return hold_by_hour(master, values, {})


def hold_by_hour(
    master: MasterProgram, values: Sequence[float], schedule: Mapping[int, Iterable[Placed]]
) -> bool:
    """Return whether the units keep every quota at every hour, with the runs of each quarter."""
    for quota in master.problem.quotas:
        for quarter, most in enumerate(quota.at_most):
            if most is None:
                continue
            changes: Counter[int] = Counter()
            for one in schedule.get(quarter, ()):
                gpu_type = master.problem.pools[one.pool].gpu_type
                if one.shape.owner == quota.owner and quota.gpu_type in (None, gpu_type):
                    changes[one.start] += one.shape.gpus
                    changes[one.start + one.shape.run.hours] -= one.shape.gpus
            held = held_all_quarter(master, quota, quarter, values)
            if held > most:
                return False
            for hour in sorted(changes):
                held += changes[hour]
                if held > most:
                    return False
    return True


def whole_units(master: MasterProgram, values: Sequence[float]) -> Iterator[tuple[int, int]]:
    """Round to whole units (job class, mode): as counted, then where fractions are largest.

    For an endpoint whose traffic units share, rounding down is allowed only where the others can
    take the rest; if the number of units is open, no more of them run than are needed.
    """
    for number, job_class in enumerate(master.problem.classes):
        wanted = {
            position: values[master.mode[number, position]]
            for position in range(len(job_class.modes))
            if (number, position) in master.mode
        }
        takes = job_class.takes or (0,) * len(job_class.modes)
        most = max((takes[at] for at in wanted), default=0)
        left = ALL_TRAFFIC
        for others in reversed(range(job_class.count)):  # units still to come
            if job_class.at_most and left <= 0:
                break
            enough = left - others * most if job_class.endpoint else 0
            open_to = [at for at in wanted if takes[at] >= enough]
            position = max(open_to or wanted, key=lambda position: (wanted[position], -position))
            wanted[position] -= 1.0
            left -= takes[position]
            yield number, position


def conditions(translation: Translation) -> Iterator[Condition]:
    """Return the quotas as conditions."""
    told = partial(count_of, singular="GPU")
    for quota in translation.problem.quotas:
        name, counted = f"the {quota.name}", _counted(translation.problem, quota)
        yield rising(
            name,
            told(quota.figure),
            quota.figure,
            told,
            widening("quotas", "name", quota.name, by_quarter_wider),
            reason=f"{name} counts {counted}" if counted else "",
        )


def _counted(problem: Problem, quota: Quota) -> str:
    """Say what of its owner a quota counts for more than is held; empty: nothing."""
    parts = any(
        mode.shape.part != WHOLE and mode.share == 1 and quota.taken(mode)
        for job_class in problem.classes
        if job_class.owner == quota.owner
        for mode in job_class.modes
    )
    return "a part of a GPU as a whole one, as policies.quota_of_part asks" if parts else ""
