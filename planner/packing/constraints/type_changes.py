"""Units that take another GPU type in their next stage, where that has a price.

The units of a chain are interchangeable, so that it is enough to count: of each GPU type, as many
change to it as more units take it than did in the stage before.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.packing.constraints.base import Condition
    from planner.packing.master import MasterProgram, Terms
    from planner.packing.problem import Choice, Problem
    from planner.packing.statement.translate import Translation


BILL = "changes of GPU type"


def add_rows(master: MasterProgram) -> None:
    """Rows `changed-to` and `changed` for every stage of a chain but the first."""
    program = master.program
    for before, after in _successive(master.problem):
        arrivals: dict[int, Terms] = {}
        for gpu_type, terms in sorted(_more_of(master, before, after).items()):
            arrival = program.variable(f"changed-to[{after},{gpu_type}]")
            program.row(f"changed-to[{after},{gpu_type}]", {**terms, arrival: -1.0}, "<=", 0.0)
            arrivals[arrival] = terms
        cost = master.cost(master.problem.demands[after].move_cents)
        changed = program.variable(f"changed[{after}]", cost=cost, integer=True)
        every = {**dict.fromkeys(arrivals, 1.0), changed: -1.0}
        program.row(f"changed[{after}]", every, "<=", 0.0)
        master.moved[after] = changed
        master.arrivals[after] = arrivals


def _successive(problem: Problem) -> Iterator[tuple[int, int]]:
    """Demands that are two stages of the same units, one after the other."""
    chains: dict[tuple[tuple[Choice, ...], str, str], list[int]] = defaultdict(list)
    for number, demand in enumerate(problem.demands):
        if demand.chain:
            chains[demand.choices, demand.owner, demand.chain].append(number)
    for numbers in chains.values():
        yield from pairwise(sorted(numbers, key=lambda number: problem.demands[number].quarters))


def _more_of(master: MasterProgram, before: int, after: int) -> dict[str, Terms]:
    """By GPU type: the units that take it in a stage, less those that took it before."""
    more: dict[str, Terms] = defaultdict(dict)
    for number, sign in ((before, -1.0), (after, 1.0)):
        for position, choice in enumerate(master.problem.demands[number].choices):
            if (number, position) in master.choice:
                more[choice.gpu_type][master.choice[number, position]] = sign
    return more


def with_changes(master: MasterProgram, values: Sequence[float]) -> tuple[float, ...]:
    """A plan in whole units with the changes of GPU type that it makes."""
    found = list(values)
    for number, arrivals in master.arrivals.items():
        for index, terms in arrivals.items():
            more = sum(round(values[unit]) * factor for unit, factor in terms.items())
            found[index] = max(0.0, more)
        found[master.moved[number]] = sum(found[index] for index in arrivals)
    return tuple(found)


def holds(master: MasterProgram, values: Sequence[float]) -> bool:
    """True: what changes is counted from the plan."""
    del master, values
    return True


def conditions(translation: Translation) -> tuple[Condition, ...]:
    """None: a change has a price, and is not forbidden."""
    del translation
    return ()
