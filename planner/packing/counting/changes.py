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

    from planner.packing.counting.counts import Counts, Terms
    from planner.packing.problem import Choice, Problem

__all__ = ["add_changes", "with_changes"]


def add_changes(counts: Counts) -> None:
    """Rows `changed-to` and `changed` for every stage of a chain but the first."""
    program = counts.program
    for before, after in _successive(counts.problem):
        arrivals: dict[int, Terms] = {}
        for gpu_type, terms in sorted(_more_of(counts, before, after).items()):
            arrival = program.variable(f"changed-to[{after},{gpu_type}]")
            program.row(f"changed-to[{after},{gpu_type}]", {**terms, arrival: -1.0}, "<=", 0.0)
            arrivals[arrival] = terms
        cost = counts.cost(counts.problem.demands[after].move_cents)
        changed = program.variable(f"changed[{after}]", cost=cost, integer=True)
        every = {**dict.fromkeys(arrivals, 1.0), changed: -1.0}
        program.row(f"changed[{after}]", every, "<=", 0.0)
        counts.moved[after] = changed
        counts.arrivals[after] = arrivals


def _successive(problem: Problem) -> Iterator[tuple[int, int]]:
    """Demands that are two stages of the same units, one after the other."""
    chains: dict[tuple[tuple[Choice, ...], str, str], list[int]] = defaultdict(list)
    for number, demand in enumerate(problem.demands):
        if demand.chain:
            chains[demand.choices, demand.owner, demand.chain].append(number)
    for numbers in chains.values():
        yield from pairwise(sorted(numbers, key=lambda number: problem.demands[number].quarters))


def _more_of(counts: Counts, before: int, after: int) -> dict[str, Terms]:
    """By GPU type: the units that take it in a stage, less those that took it before."""
    more: dict[str, Terms] = defaultdict(dict)
    for number, sign in ((before, -1.0), (after, 1.0)):
        for position, choice in enumerate(counts.problem.demands[number].choices):
            if (number, position) in counts.choice:
                more[choice.gpu_type][counts.choice[number, position]] = sign
    return more


def with_changes(counts: Counts, values: Sequence[float]) -> tuple[float, ...]:
    """A plan in whole units with the changes of GPU type that it makes."""
    found = list(values)
    for number, arrivals in counts.arrivals.items():
        for index, terms in arrivals.items():
            more = sum(round(values[unit]) * factor for unit, factor in terms.items())
            found[index] = max(0.0, more)
        found[counts.moved[number]] = sum(found[index] for index in arrivals)
    return tuple(found)
