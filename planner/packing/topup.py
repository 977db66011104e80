"""Room for what found none on the nodes that were counted: one node more, the cheapest that helps.

A plan made so is sound, and no more: its cost is above the bound by what was added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.packing.procure import may_add

if TYPE_CHECKING:
    from collections.abc import Collection

    from planner.packing.counts import Counts

__all__ = ["with_a_node_more"]

Key = tuple[int, int]
"""Pool and quarter."""


def with_a_node_more(
    counts: Counts, values: tuple[float, ...], stuck: Collection[Key]
) -> tuple[float, ...] | None:
    """The plan with the node more that costs the least for each stuck pool and quarter it serves.

    A pool that borrows its nodes gets one from its lender. None where none may be added to any.
    """
    served: dict[int, list[Key]] = {}
    for key in sorted({_owner(counts, key) for key in stuck}):
        for index in counts.in_service[key]:
            served.setdefault(index, []).append(key)
    variables = counts.program.variables
    whole = [float(round(value)) for value in values]
    by_worth = sorted(served, key=lambda index: (variables[index].cost / len(served[index]), index))
    for index in by_worth:
        upper = variables[index].upper
        full = upper is not None and whole[index] >= upper
        if not full and may_add(counts, whole, index):
            whole[index] += 1.0
            for key in served[index]:
                if key in counts.usable:
                    whole[counts.usable[key]] += 1.0
                if key not in stuck:
                    whole[counts.lent[key]] += 1.0
            return tuple(whole)
    return None


def _owner(counts: Counts, key: Key) -> Key:
    lender = counts.problem.pools[key[0]].lender
    return key if lender is None else (lender, key[1])
