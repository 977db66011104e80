"""Endpoints whose traffic replicas on several GPU types share: together they take all of it.

With fractional units, a part of a replica may be all that the traffic asks for. Rows `cover` state
what whole replicas need: counted in replicas that take so much, each rounded up, they come to as
many as the traffic takes of these, rounded up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import ceil

from planner.packing.constraints.base import Condition
from planner.packing.master import MasterProgram
from planner.packing.problem import ALL_TRAFFIC, Problem
from planner.packing.translation import Translation

BILL = "traffic that GPU types share"


def _endpoints(problem: Problem) -> dict[tuple[str, int], list[int]]:
    """Return, by endpoint and quarter, the job classes whose units share its traffic."""
    found: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, job_class in enumerate(problem.classes):
        for quarter in job_class.quarters if job_class.endpoint else ():
            found[job_class.endpoint, quarter].append(number)
    return found


def _taking(master: MasterProgram, numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield variables that count units of these classes, and what one unit takes, in millionths."""
    for number in numbers:
        for position, takes in enumerate(master.problem.classes[number].takes):
            if (number, position) in master.mode:
                yield master.mode[number, position], takes


def add_rows(master: MasterProgram) -> None:
    """State the rows `traffic` and `cover` for each endpoint and quarter."""
    for numbers in _endpoints(master.problem).values():
        taking = dict(_taking(master, numbers))
        terms = {index: takes / ALL_TRAFFIC for index, takes in taking.items()}
        row = master.program.row(f"traffic[{numbers[0]}]", terms, ">=", 1.0)
        master.traffic_rows[row] = tuple(numbers)
        for least in sorted(set(taking.values())):
            covers = {index: float(ceil(takes / least)) for index, takes in taking.items()}
            most = ceil(ALL_TRAFFIC / least)
            row = master.program.row(f"cover[{numbers[0]}]", covers, ">=", most, tightens=True)
            master.cover_rows[row] = tuple(numbers)


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
