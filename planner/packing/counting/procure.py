"""What an offer and a budget allow to acquire: maxima, price levels, money by quarter.

A budget that is missed by a cent is missed: its row asks the solver for its tightest tolerances,
and what leaves the search is held against the whole cents themselves.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from math import ceil, gcd
from typing import TYPE_CHECKING

from planner.packing.counting.limits import within_limits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.packing.counting.counts import Counts
    from planner.packing.limits import SpendLimit
    from planner.packing.problem import Lot, Problem

__all__ = [
    "acquirable",
    "may_add",
    "offers_of",
    "repriced",
    "state_procurement",
    "state_spent_on_moves",
]

_LARGE = 1000
"""Coefficients above this are scaled down to it, so that a row is not the program's largest."""


def offers_of(problem: Problem) -> list[list[int]]:
    """Supplies by offer: those of one offer together, every other supply by itself."""
    offers: dict[tuple[bool, int], list[int]] = defaultdict(list)
    for number, supply in enumerate(problem.supplies):
        key = (False, number) if supply.offer is None else (True, supply.offer)
        offers[key].append(number)
    return list(offers.values())


def state_procurement(counts: Counts) -> None:
    """State the rows `maximum`, `lot` and `budget` over the variables that count acquisitions."""
    for supplies in offers_of(counts.problem):
        _maximum(counts, supplies)
        if counts.problem.supplies[supplies[0]].lot is not None:
            for quarter in range(counts.problem.quarters):
                _one_lot(counts, supplies, quarter)
    for number, limit in enumerate(counts.problem.budgets):
        if not any(limit.moves):
            _budget(counts, number, limit)


def state_spent_on_moves(counts: Counts) -> None:
    """State the rows `budget` that count moves as well, after these have variables."""
    for number, limit in enumerate(counts.problem.budgets):
        if any(limit.moves):
            _budget(counts, number, limit)


def repriced(counts: Counts, problem: Problem) -> Counts:
    """A copy of the program, with its cuts, for a problem at other prices and with more budgets.

    Offers cost something else in the quarters in which they cost anything, moves and changes of GPU
    type as well, budgets come last, and all else is the same.
    """
    before = counts.problem.budgets
    assert problem.budgets[: len(before)] == before
    copy = counts.copied(problem)
    prices = {index: problem.demands[demand].move_cents for demand, index in copy.moved.items()}
    for (supply, quarter), index in copy.acquire.items():
        cents = problem.supplies[supply].unit_cost_cents[quarter]
        assert cents is not None
        prices[index] = cents
    for index, cents in prices.items():
        variable = copy.program.variables[index]
        copy.program.variables[index] = replace(variable, cost=copy.cost(cents))
    for number, limit in enumerate(problem.budgets[len(before) :], len(before)):
        _budget(copy, number, limit)
    return copy


def _maximum(counts: Counts, supplies: Sequence[int]) -> None:
    """An offer ends: over the horizon to buy, in any one quarter to rent or reserve."""
    supply = counts.problem.supplies[supplies[0]]
    if supply.maximum is None or counts.problem.pools[supply.pool].hire:
        return
    quarters = range(counts.problem.quarters)
    windows = [quarters] if supply.kind == "buy" else [supply.entries(q) for q in quarters]
    rows = []
    for window in windows:
        group = [
            counts.acquire[number, quarter]
            for number in supplies
            for quarter in window
            if (number, quarter) in counts.acquire
        ]
        if group:
            name = f"maximum[{supplies[0]}]"
            terms = dict.fromkeys(group, 1.0)
            rows.append(counts.program.row(name, terms, "<=", supply.maximum))
    if rows:
        counts.supply_rows[supplies[0]] = rows


def _one_lot(counts: Counts, supplies: Sequence[int], quarter: int) -> None:
    """One price for all nodes of an order: rows `lot-fewest`, `lot-most` and `one-lot`."""
    program = counts.program
    used: dict[int, float] = {}
    for lot, alike in _by_lot(counts.problem, supplies):
        keys = [(number, quarter) for number in alike]
        nodes = {counts.acquire[key]: 1.0 for key in keys if key in counts.acquire}
        if not nodes:
            continue
        place = f"[{alike[0]},{quarter}]"
        level = program.variable(f"lot{place}", upper=1, integer=True)
        used[level] = 1.0
        most = _most(counts.problem, alike[0])
        counts.purchase_rows += [
            program.row(f"lot-fewest{place}", {**nodes, level: -lot.fewest}, ">=", 0.0),
            program.row(f"lot-most{place}", {**nodes, level: -most}, "<=", 0.0),
        ]
    if len(used) > 1:
        counts.purchase_rows.append(
            program.row(f"one-lot[{supplies[0]},{quarter}]", used, "<=", 1.0)
        )


def _by_lot(problem: Problem, supplies: Sequence[int]) -> Iterator[tuple[Lot, list[int]]]:
    """The supplies of an offer by price level, those at all sites together."""
    levels: dict[Lot, list[int]] = defaultdict(list)
    for number in supplies:
        lot = problem.supplies[number].lot
        if lot is not None:
            levels[lot].append(number)
    yield from levels.items()


def _most(problem: Problem, number: int) -> int:
    """Nodes of an order: what the level allows, the offer gives, or could ever be of use."""
    supply = problem.supplies[number]
    lot = supply.lot
    assert lot is not None
    limits = [limit for limit in (lot.most, supply.maximum) if limit is not None]
    return min(limits) if limits else max(lot.fewest, _useful(problem))


def _useful(problem: Problem) -> int:
    """Nodes beyond which none is of use.

    One for each GPU asked for or kept free for growth, and the spare ones.
    """
    asked = sum(
        demand.count
        * max((choice.copies * choice.shape.gpus for choice in demand.choices), default=0)
        for demand in problem.demands
    )
    free = max((reserve.free for reserve in problem.reserves), default=0)
    return ceil(asked / (1 - free)) + sum(pool.spare for pool in problem.pools)


def _budget(counts: Counts, number: int, limit: SpendLimit) -> None:
    """Row `budget`."""
    amounts = {
        index: limit.cents[supply][quarter]
        for (supply, quarter), index in counts.acquire.items()
        if limit.cents[supply][quarter]
    }
    amounts |= {
        index: limit.moves[demand]
        for demand, index in counts.moved.items()
        if limit.moves and limit.moves[demand]
    }
    divisor = gcd(*amounts.values()) or 1
    whole = {index: cents // divisor for index, cents in amounts.items()}
    right = limit.at_most_cents // divisor
    scale = max(1.0, max(whole.values(), default=0) / _LARGE)
    terms = {index: amount / scale for index, amount in whole.items()}
    row = counts.program.row(f"budget[{number}]", terms, "<=", right / scale, exact=True)
    counts.purchase_rows.append(row)
    counts.budget_rows[limit.name] = row, 1 / divisor / scale


def acquirable(counts: Counts, values: Sequence[float]) -> bool:
    """Whether the nodes acquired keep to maxima, price levels and budgets, in whole numbers."""
    problem = counts.problem
    for number in (row for rows in counts.supply_rows.values() for row in rows):
        row = counts.program.rows[number]
        if sum(factor * round(values[index]) for index, factor in row.terms) > row.right:
            return False
    taken = {key: round(values[index]) for key, index in counts.acquire.items()}
    for limit in problem.budgets:
        spent = sum(nodes * limit.cents[number][q] for (number, q), nodes in taken.items())
        if limit.moves:
            spent += sum(round(values[i]) * limit.moves[d] for d, i in counts.moved.items())
        if spent > limit.at_most_cents:
            return False
    return all(_in_lots(problem, supplies, taken) for supplies in offers_of(problem))


def _in_lots(problem: Problem, supplies: Sequence[int], taken: dict[tuple[int, int], int]) -> bool:
    """Whether every order is at one price, and at that of its size."""
    for quarter in range(problem.quarters):
        orders = [
            (lot, nodes)
            for lot, alike in _by_lot(problem, supplies)
            if (nodes := sum(taken.get((number, quarter), 0) for number in alike))
        ]
        fits = all(lot.fewest <= nodes <= (lot.most or nodes) for lot, nodes in orders)
        if len(orders) > 1 or not fits:
            return False
    return True


def may_add(counts: Counts, values: Sequence[float], index: int) -> bool:
    """Whether one node more of an offer keeps to all that is asked of acquisitions."""
    shared = any(supply.offer is not None for supply in counts.problem.supplies)
    if not (shared or counts.purchase_rows or counts.limit_rows):
        return True
    grown = list(values)
    grown[index] += 1.0
    return acquirable(counts, grown) and within_limits(counts, grown)
