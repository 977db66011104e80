"""Offers: how many nodes they give, when, and at which price for how many."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

from planner.inputs.text.words import count_of
from planner.packing.constraints.base import (
    LIMITED_OFFERS,
    Condition,
    Rising,
    resupplied,
    the_one,
)
from planner.packing.constraints.spares import most_spare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from planner.packing.master import MasterProgram
    from planner.packing.node_packing.list_schedule import Placed
    from planner.packing.problem import PriceTier, Problem, Supply
    from planner.packing.statement.translate import Translation

__all__ = ["BILL", "add_rows", "conditions", "holds", "offers_of"]

BILL = LIMITED_OFFERS


def offers_of(problem: Problem) -> list[list[int]]:
    """Supplies by offer: those of one offer together, every other supply by itself."""
    offers: dict[tuple[bool, int], list[int]] = defaultdict(list)
    for number, supply in enumerate(problem.supplies):
        key = (False, number) if supply.offer is None else (True, supply.offer)
        offers[key].append(number)
    return list(offers.values())


def add_rows(master: MasterProgram) -> None:
    """State the rows `maximum`, `deliveries` and `lot`."""
    for supplies in offers_of(master.problem):
        _maximum(master, supplies)
        _deliveries(master, supplies)
        if master.problem.supplies[supplies[0]].lot is not None:
            for quarter in range(master.problem.quarters):
                _one_lot(master, supplies, quarter)


def _maximum(master: MasterProgram, supplies: Sequence[int]) -> None:
    """An offer ends: over the horizon to buy, in any one quarter to rent or reserve.

    So do nodes that may be let go: over the horizon to sell, in any one quarter to switch off.
    """
    supply = master.problem.supplies[supplies[0]]
    if supply.maximum is None or master.problem.pools[supply.pool].hire:
        return
    for window in _windows(master.problem, supply):
        group = [
            master.acquire[number, quarter]
            for number in supplies
            for quarter in window
            if (number, quarter) in master.acquire
        ]
        if group:
            name = f"maximum[{supplies[0]}]"
            terms = dict.fromkeys(group, 1.0)
            master.program.row(name, terms, "<=", supply.maximum)


def _deliveries(master: MasterProgram, supplies: Sequence[int]) -> None:
    """So many nodes arrive in one quarter."""
    for quarter, most in enumerate(master.problem.supplies[supplies[0]].deliveries or ()):
        keys = [(number, quarter) for number in supplies]
        terms = {master.acquire[key]: 1.0 for key in keys if key in master.acquire}
        if terms:
            master.program.row(f"deliveries[{supplies[0]},{quarter}]", terms, "<=", most)


def _windows(problem: Problem, supply: Supply) -> list[range]:
    """Quarters of entry of which each window gives the maximum once."""
    quarters = range(problem.quarters)
    return [quarters] if supply.lasts() is None else [supply.entries(q) for q in quarters]


def _one_lot(master: MasterProgram, supplies: Sequence[int], quarter: int) -> None:
    """One price for all nodes of an order: rows `lot-fewest`, `lot-most` and `one-lot`."""
    program = master.program
    used: dict[int, float] = {}
    for lot, alike in _by_lot(master.problem, supplies):
        keys = [(number, quarter) for number in alike]
        nodes = {master.acquire[key]: 1.0 for key in keys if key in master.acquire}
        if not nodes:
            continue
        place = f"[{alike[0]},{quarter}]"
        level = program.variable(f"lot{place}", upper=1, integer=True)
        used[level] = 1.0
        most = _most(master.problem, alike[0])
        program.row(f"lot-fewest{place}", {**nodes, level: -lot.fewest}, ">=", 0.0)
        program.row(f"lot-most{place}", {**nodes, level: -most}, "<=", 0.0)
    if len(used) > 1:
        program.row(f"one-lot[{supplies[0]},{quarter}]", used, "<=", 1.0)


def _by_lot(problem: Problem, supplies: Sequence[int]) -> Iterator[tuple[PriceTier, list[int]]]:
    """The supplies of an offer by price level, those at all sites together."""
    levels: dict[PriceTier, list[int]] = defaultdict(list)
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
    spare = sum(pool.spare for pool in problem.pools)
    spare += sum(most_spare(problem, group) for group in problem.spare_groups)
    return ceil(asked / (1 - free)) + spare


def holds(
    master: MasterProgram, values: Sequence[float], schedule: Mapping[int, Iterable[Placed]]
) -> bool:
    """Whether the nodes acquired keep to maxima, deliveries and price levels, in whole numbers."""
    del schedule
    taken = {key: round(values[index]) for key, index in master.acquire.items()}
    return all(
        _within_maximum(master.problem, supplies, taken)
        and _delivered(master.problem, supplies, taken)
        and _in_lots(master.problem, supplies, taken)
        for supplies in offers_of(master.problem)
    )


def _within_maximum(
    problem: Problem, supplies: Sequence[int], taken: Mapping[tuple[int, int], int]
) -> bool:
    supply = problem.supplies[supplies[0]]
    if supply.maximum is None or problem.pools[supply.pool].hire:
        return True
    return all(
        sum(taken.get((number, quarter), 0) for number in supplies for quarter in window)
        <= supply.maximum
        for window in _windows(problem, supply)
    )


def _delivered(
    problem: Problem, supplies: Sequence[int], taken: Mapping[tuple[int, int], int]
) -> bool:
    return all(
        sum(taken.get((number, quarter), 0) for number in supplies) <= most
        for quarter, most in enumerate(problem.supplies[supplies[0]].deliveries or ())
    )


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


def conditions(translation: Translation) -> Iterator[Condition]:
    """The maxima of offers, their deliveries, and their dates."""
    for supplies in offers_of(translation.problem):
        if translation.problem.supplies[supplies[0]].releases:
            continue
        maximum = translation.problem.supplies[supplies[0]].maximum
        deliveries = translation.problem.supplies[supplies[0]].deliveries
        if deliveries is not None:
            name = f"the deliveries of offer {translation.offers[supplies[0]]}"
            told = partial(count_of, singular="node")
            figure = _in_quarters(deliveries, told, translation.quarters)
            yield _Deliveries(name, figure, None, the_one(deliveries), tuple(supplies))
        if maximum is not None:
            name = f"the maximum of offer {translation.offers[supplies[0]]}"
            yield _Maximum(name, count_of(maximum, "node"), None, tuple(supplies), maximum)
        dates = _Dates.of(translation, supplies)
        if dates:
            yield dates


@dataclass(frozen=True, slots=True)
class _Maximum(Condition):
    supplies: tuple[int, ...]
    """Those of one offer."""
    stated: int

    procures = True

    def raised(self, problem: Problem, more: int | None) -> Problem:
        def wider(supply: Supply) -> Supply:
            return replace(supply, maximum=None if more is None else self.stated + more)

        return resupplied(problem, self.supplies, wider)

    def mended(self, more: int) -> str:
        return f"raise {self.name} by {more:,}, to {count_of(self.stated + more, 'node')}"


@dataclass(frozen=True, slots=True)
class _Deliveries(Rising):
    supplies: tuple[int, ...]
    """Those of one offer."""

    procures = True

    def _told(self, amount: int) -> str:
        return count_of(amount, "node")

    def raised(self, problem: Problem, more: int | None) -> Problem:
        def wider(supply: Supply) -> Supply:
            before = supply.deliveries or ()
            after = None if more is None else tuple(nodes + more for nodes in before)
            return replace(supply, deliveries=after)

        return resupplied(problem, self.supplies, wider)


@dataclass(frozen=True, slots=True)
class _Dates(Condition):
    """Quarters in which nodes of an offer can enter service; raised by some at either end."""

    supplies: tuple[int, ...]
    offer: str
    opens: range
    labels: tuple[str, ...]

    procures = True

    @classmethod
    def of(cls, translation: Translation, supplies: Sequence[int]) -> _Dates | None:
        """None where they can enter in every quarter."""
        costs = translation.problem.supplies[supplies[0]].unit_cost_cents
        known = [quarter for quarter, cents in enumerate(costs) if cents is not None]
        if len(known) == len(costs):
            return None
        opens = range(known[0], known[-1] + 1) if known else range(len(costs), len(costs))
        name, labels = translation.offers[supplies[0]], translation.quarters
        figure = _entries(opens, labels) if known else "after the horizon"
        most = max(opens.start, len(costs) - opens.stop)
        return cls(f"the dates of offer {name}", figure, most, tuple(supplies), name, opens, labels)

    def _open(self, more: int | None) -> range:
        every = range(len(self.labels))
        if more is None:
            return every
        return every[max(0, self.opens.start - more) : self.opens.stop + more]

    def raised(self, problem: Problem, more: int | None) -> Problem:
        opened = self._open(more)

        def wider(supply: Supply) -> Supply:
            costs = (
                0 if cents is None and quarter in opened else cents
                for quarter, cents in enumerate(supply.unit_cost_cents)
            )
            return replace(supply, unit_cost_cents=tuple(costs))

        return resupplied(problem, self.supplies, wider)

    def mended(self, more: int) -> str:
        return f"have offer {self.offer} enter service {_entries(self._open(more), self.labels)}"


def _in_quarters(
    deliveries: Sequence[int], told: Callable[[int], str], labels: Sequence[str]
) -> str:
    """`2 nodes a quarter`, `2 nodes in 2027Q1, 6 nodes in 2027Q2`."""
    if len(set(deliveries)) == 1:
        return f"{told(deliveries[0])} a quarter"
    stated = (
        f"{told(nodes)} in {label}"
        for nodes, label in zip(deliveries, labels, strict=True)
        if nodes
    )
    return ", ".join(stated)


def _entries(opens: range, labels: Sequence[str]) -> str:
    """`from 2027Q2 on`, `in 2027Q2 to 2027Q3`."""
    if opens.stop == len(labels):
        return f"from {labels[opens.start]} on"
    if len(opens) == 1:
        return f"in {labels[opens.start]}"
    return f"in {labels[opens.start]} to {labels[opens.stop - 1]}"
