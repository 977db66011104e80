"""A problem in which what is bought and reserved is given; what is rented, and where, is not.

Nor is which owned nodes are let go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from planner.packing.limits import SpendLimit
from planner.packing.problem import Problem, Supply


@dataclass(frozen=True, slots=True, order=True)
class Order:
    """Nodes of an offer that were ordered to enter service in a quarter."""

    offer: str
    site: str
    quarter: int
    """From 0."""
    nodes: int


_Entry = tuple[str, str, int]
"""Offer, site, and quarter of entry."""


def holding(problem: Problem, orders: Sequence[Order]) -> Problem:
    """The problem with these orders and no others; rents are free.

    An order whose quarter no offer reaches any more enters in the first that it does, and never,
    unpaid, where there is none.
    """
    due: Counter[_Entry] = Counter()
    for order in orders:
        entries = _entries(problem, order)
        late = min((quarter for quarter in entries if quarter >= order.quarter), default=None)
        if late is not None:
            due[order.offer, order.site, late] += order.nodes
    supplies = tuple(_only_due(problem, supply, due) for supply in problem.supplies)
    exact = (limit for key, nodes in sorted(due.items()) for limit in _exactly(problem, key, nodes))
    return replace(problem, supplies=supplies, budgets=(*problem.budgets, *exact))


def _place(problem: Problem, supply: Supply) -> tuple[str, str]:
    """Offer and site."""
    return supply.name, problem.pools[supply.pool].site


def _entries(problem: Problem, order: Order) -> set[int]:
    return {
        quarter
        for supply in problem.supplies
        if _place(problem, supply) == (order.offer, order.site) and not supply.releases
        for quarter, cents in enumerate(supply.unit_cost_cents)
        if cents is not None
    }


def _only_due(problem: Problem, supply: Supply, due: Counter[_Entry]) -> Supply:
    if supply.kind in ("rent", "hourly") or supply.releases:
        return supply
    costs = tuple(
        cents if due[*_place(problem, supply), quarter] else None
        for quarter, cents in enumerate(supply.unit_cost_cents)
    )
    return replace(supply, unit_cost_cents=costs)


def _exactly(problem: Problem, key: _Entry, nodes: int) -> Iterator[SpendLimit]:
    """At most so many nodes of an offer at a site in a quarter, at any price, and at least."""
    *place, entry = key
    for sign in (1, -1):
        counted = tuple(
            tuple(
                sign
                if _place(problem, supply) == tuple(place)
                and quarter == entry
                and not supply.releases
                else 0
                for quarter in range(problem.quarters)
            )
            for supply in problem.supplies
        )
        yield SpendLimit(f"{place[0]} ordered", sign * nodes, counted)
