"""A problem in which what is bought and reserved is given; what is rented, and where, is not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.packing.problem import SpendLimit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.packing.problem import Problem, Supply

__all__ = ["Order", "holding"]


@dataclass(frozen=True, slots=True, order=True)
class Order:
    """Nodes of an offer that were ordered to enter service in a quarter."""

    offer: str
    quarter: int
    """From 0."""
    nodes: int


def holding(problem: Problem, orders: Sequence[Order]) -> Problem:
    """The problem with these orders and no others; rents are free.

    An order whose quarter no offer reaches any more enters in the first that it does, and never,
    unpaid, where there is none.
    """
    due: Counter[tuple[str, int]] = Counter()
    for order in orders:
        entries = _entries(problem.supplies, order.offer)
        late = min((quarter for quarter in entries if quarter >= order.quarter), default=None)
        if late is not None:
            due[order.offer, late] += order.nodes
    supplies = tuple(_only_due(supply, due) for supply in problem.supplies)
    exact = (limit for key, nodes in sorted(due.items()) for limit in _exactly(problem, key, nodes))
    return replace(problem, supplies=supplies, budgets=(*problem.budgets, *exact))


def _entries(supplies: Sequence[Supply], offer: str) -> set[int]:
    return {
        quarter
        for supply in supplies
        if supply.name == offer
        for quarter, cents in enumerate(supply.unit_cost_cents)
        if cents is not None
    }


def _only_due(supply: Supply, due: Counter[tuple[str, int]]) -> Supply:
    if supply.kind == "rent":
        return supply
    costs = tuple(
        cents if due[supply.name, quarter] else None
        for quarter, cents in enumerate(supply.unit_cost_cents)
    )
    return replace(supply, unit_cost_cents=costs)


def _exactly(problem: Problem, key: tuple[str, int], nodes: int) -> Iterator[SpendLimit]:
    """At most so many nodes of an offer in a quarter, at all its price levels, and at least."""
    offer, entry = key
    for sign in (1, -1):
        counted = tuple(
            tuple(
                sign if supply.name == offer and quarter == entry else 0
                for quarter in range(problem.quarters)
            )
            for supply in problem.supplies
        )
        yield SpendLimit(f"{offer} ordered", sign * nodes, counted)
