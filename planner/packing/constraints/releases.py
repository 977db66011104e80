"""Released owned nodes: none is switched off after it was sold, and none is released twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from planner.packing.constraints.base import OWNED_NODES, Condition
from planner.packing.master import MasterProgram
from planner.packing.statement.translate import Translation

BILL = OWNED_NODES


def add_rows(master: MasterProgram) -> None:
    """State the nodes that may be sold and switched off: rows `let-go`."""
    for number, (most, gone) in enumerate(_let_go(master)):
        row = dict.fromkeys(gone, 1.0)
        master.program.row(f"let-go[{number}]", row, "<=", most)


def _let_go(master: MasterProgram) -> Iterator[tuple[int, list[int]]]:
    """Yield, by fleet entry and quarter, the number of nodes and the variables of released ones.

    If nodes may only be sold, or only switched off, their maximum says as much.
    """
    supplies = master.problem.supplies
    alike: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, supply in enumerate(supplies):
        if supply.releases:
            alike[supply.name, supply.pool].append(number)
    for group in alike.values():
        off = [supplies[number] for number in group if supplies[number].kind != "sell"]
        for quarter in range(master.problem.quarters) if len(group) > 1 else ():
            gone = [
                master.acquire[number, entry]
                for number in group
                for entry in supplies[number].entries(quarter)
                if (number, entry) in master.acquire
            ]
            if gone:
                yield max(one.maximum or 0 for one in off), gone


def holds(master: MasterProgram, values: Sequence[float]) -> bool:
    """Return whether no node is released twice, in whole numbers."""
    return all(
        sum(round(values[index]) for index in gone) <= most for most, gone in _let_go(master)
    )


def conditions(translation: Translation) -> Iterator[Condition]:
    """Return nothing: a plan may keep every node."""
    del translation
    yield from ()
