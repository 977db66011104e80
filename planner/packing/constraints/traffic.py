"""Endpoints whose traffic replicas on several GPU types share: together they take all of it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from planner.packing.problem import ALL_TRAFFIC

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.packing.constraints.base import Condition
    from planner.packing.master import MasterProgram
    from planner.packing.problem import Problem
    from planner.packing.statement.translate import Translation


BILL = "traffic that GPU types share"


def _endpoints(problem: Problem) -> dict[tuple[str, int], list[int]]:
    """By endpoint and quarter: the demands whose units share its traffic."""
    found: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, demand in enumerate(problem.demands):
        for quarter in demand.quarters if demand.endpoint else ():
            found[demand.endpoint, quarter].append(number)
    return found


def _taking(master: MasterProgram, numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Variables that count units of these demands, and what one unit takes, in millionths."""
    for number in numbers:
        for position, takes in enumerate(master.problem.demands[number].takes):
            if (number, position) in master.choice:
                yield master.choice[number, position], takes


def add_rows(master: MasterProgram) -> None:
    """Row `traffic` for each endpoint and quarter."""
    for numbers in _endpoints(master.problem).values():
        terms = {index: takes / ALL_TRAFFIC for index, takes in _taking(master, numbers)}
        row = master.program.row(f"traffic[{numbers[0]}]", terms, ">=", 1.0)
        master.traffic_rows[row] = tuple(numbers)


def holds(master: MasterProgram, values: Sequence[float]) -> bool:
    """Whether units take all traffic."""
    return all(
        sum(round(values[index]) * takes for index, takes in _taking(master, numbers))
        >= ALL_TRAFFIC
        for numbers in _endpoints(master.problem).values()
    )


def conditions(translation: Translation) -> tuple[Condition, ...]:
    """None: traffic is what jobs ask for, not what limits them."""
    del translation
    return ()
