"""Purchases that are made once: given to a problem, or chosen by one program over several futures.

Each future has a master program of its own, with the cuts of its root: rents, released owned
nodes and placements adapt to it. Purchases and reservations are the same in all. Units are
fractional, so the result is a proposal, and a bound on what any purchases could reach.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, isfinite

from planner.packing.master import CENTS_PER_UNIT, MasterProgram
from planner.packing.problem import Problem, SpendLimit
from planner.packing.search import rooted
from planner.packing.solver import Outcome, Program, Variable, solve_integer

_ROUNDED = 1e-3
"""The part of a cent by which a solver's objective may be below a whole number."""


@dataclass(frozen=True, slots=True, order=True)
class Order:
    """Nodes of an offer that were ordered to enter service in a quarter."""

    offer: str
    site: str
    quarter: int
    """From 0."""
    nodes: int


_Entry = tuple[str, str, int]
"""The offer, the site, and the quarter of entry from 0."""


def holding(problem: Problem, orders: Sequence[Order]) -> Problem:
    """Return the problem with these orders and no others; rents are free.

    An order whose quarter its offer no longer reaches enters in the first that it does, and
    never, unpaid, if there is none.
    """
    places = [(supply.name, problem.pools[supply.pool].site) for supply in problem.supplies]
    due: Counter[_Entry] = Counter()
    for order in orders:
        entries = (
            quarter
            for supply, place in zip(problem.supplies, places, strict=True)
            if place == (order.offer, order.site) and not supply.releases
            for quarter, cents in enumerate(supply.unit_cost_cents)
            if cents is not None and quarter >= order.quarter
        )
        entry = min(entries, default=None)
        if entry is not None:
            due[order.offer, order.site, entry] += order.nodes
    supplies = tuple(
        supply
        if supply.kind in ("rent", "hourly") or supply.releases
        else replace(
            supply,
            unit_cost_cents=tuple(
                cents if due[*place, quarter] else None
                for quarter, cents in enumerate(supply.unit_cost_cents)
            ),
        )
        for supply, place in zip(problem.supplies, places, strict=True)
    )
    exact = (limit for key, nodes in sorted(due.items()) for limit in _exactly(problem, key, nodes))
    return replace(problem, supplies=supplies, budgets=(*problem.budgets, *exact))


def _exactly(problem: Problem, key: _Entry, nodes: int) -> Iterator[SpendLimit]:
    """Limit an offer's nodes at a site in a quarter, at any price, to exactly so many."""
    offer, site, entry = key
    mine = [
        (supply.name, problem.pools[supply.pool].site) == (offer, site) and not supply.releases
        for supply in problem.supplies
    ]
    for sign in (1, -1):
        counted = tuple(
            tuple(sign * (here and quarter == entry) for quarter in range(problem.quarters))
            for here in mine
        )
        yield SpendLimit(f"{offer} ordered", sign * nodes, counted)


@dataclass(frozen=True, slots=True)
class Future:
    """The master program of one future."""

    master: MasterProgram
    entering: Mapping[_Entry, tuple[int, ...]]
    """Variables that count nodes bought or reserved."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean cost of some futures, of which not all need be in the program."""

    futures: tuple[int, ...]
    """By their position in the program."""
    others_cents: int
    """The least that the rest costs, all together."""
    of: int
    """The number of futures, the rest included."""


@dataclass(frozen=True, slots=True)
class Hedged:
    """What one program over several futures says."""

    outcome: Outcome
    orders: tuple[Order, ...] | None
    """The best purchases found, sorted; None if none were found."""
    bound_cents: int
    """Whatever is bought, the greatest of the means is no less."""


def future_of(problem: Problem, time_limit_s: float) -> Future:
    """State the program of a future; raises Infeasible if its relaxation has no solution."""
    master = rooted(problem, time_limit_s).master
    entering: dict[_Entry, list[int]] = defaultdict(list)
    for (number, quarter), index in master.acquire.items():
        supply = master.problem.supplies[number]
        if supply.kind not in ("rent", "hourly") and not supply.releases:
            site = master.problem.pools[supply.pool].site
            entering[supply.name, site, quarter].append(index)
    return Future(master, {key: tuple(indices) for key, indices in entering.items()})


def hedged(
    futures: Sequence[Future],
    means: Sequence[Mean],
    *,
    time_limit_s: float,
    relative_gap: float,
) -> Hedged:
    """Return the purchases that suffice in all these futures, with the least greatest mean.

    Without means, any purchases that suffice. An order whose quarter its offer does not reach in
    a future enters there in the first that it does, and never, unpaid, if there is none.
    """
    joined = _Joined(futures)
    joined.weigh(means)
    answer = solve_integer(
        joined.program,
        time_limit_s=time_limit_s,
        relative_gap=relative_gap,
        relaxed=frozenset(joined.relaxed),
    )
    orders = None
    if answer.values:
        taken = {key: round(answer.values[index]) for key, index in joined.ordered.items()}
        orders = tuple(Order(*key, nodes) for key, nodes in sorted(taken.items()) if nodes)
    bounded = means and isfinite(answer.bound)
    bound_cents = floor(answer.bound * CENTS_PER_UNIT + _ROUNDED) if bounded else 0
    return Hedged(answer.outcome, orders, bound_cents)


class _Joined:
    """The programs of all futures side by side, tied together by what is ordered."""

    def __init__(self, futures: Sequence[Future]) -> None:
        self._futures = futures
        self.program = Program()
        self.relaxed: set[int] = set()
        self._starts = [self._stand(future.master) for future in futures]
        keys = {key for future in futures for key in future.entering}
        self.ordered = {
            key: self.program.variable(f"order[{','.join(map(str, key))}]", integer=True)
            for key in sorted(keys)
        }
        for start, future in zip(self._starts, futures, strict=True):
            self._tie(start, future)

    def _stand(self, master: MasterProgram) -> int:
        """Put a program beside the others, without its costs; return where its variables begin."""
        start = len(self.program.variables)
        self.program.variables += [replace(one, cost=0.0) for one in master.program.variables]
        for row in master.program.rows:
            moved = tuple((start + index, factor) for index, factor in row.terms)
            self.program.rows.append(replace(row, terms=moved))
        self.relaxed |= {start + index for index in master.shared_unit_variables}
        return start

    def _tie(self, start: int, future: Future) -> None:
        """Let enter in a future what was ordered: row `ordered`."""
        due: dict[_Entry, dict[int, float]] = {key: {} for key in future.entering}
        for (*place, quarter), index in self.ordered.items():
            reached = [key for key in due if [*key[:2]] == place and key[2] >= quarter]
            if reached:
                due[min(reached)][index] = -1.0
        for key, orders in due.items():
            entering = {start + index: 1.0 for index in future.entering[key]}
            self.program.row("ordered", entering | orders, "==", 0.0)

    def weigh(self, means: Sequence[Mean]) -> None:
        """Minimize the greatest of the means: a row `mean` for each."""
        if not means:
            return
        least_cents = min(future.master.problem.least_cents for future in self._futures)
        least_cents += min(0, *(mean.others_cents for mean in means))
        greatest = len(self.program.variables)
        self.program.variables.append(
            Variable("greatest mean", least_cents / CENTS_PER_UNIT, None, 1.0, integer=False)
        )
        for mean in means:
            terms = {greatest: -1.0}
            fixed_cents = mean.others_cents
            for place in mean.futures:
                start, master = self._starts[place], self._futures[place].master
                fixed_cents += master.problem.fixed_cost_cents
                for index, variable in enumerate(master.program.variables):
                    terms[start + index] = variable.cost / mean.of
            self.program.row("mean", terms, "<=", -fixed_cents / mean.of / CENTS_PER_UNIT)
