"""Offers: how many nodes they give, when, and at which price for how many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil

from planner.inputs.base import LARGEST_COUNT_PER_QUARTER
from planner.inputs.text import count_of
from planner.packing.constraints.base import (
    LIMITED_OFFERS,
    Condition,
    resupplying,
    rising,
)
from planner.packing.constraints.spares import most_spare
from planner.packing.master import MasterProgram
from planner.packing.problem import PriceTier, Problem, Supply
from planner.packing.statement.spans import said, spans, when
from planner.packing.statement.translate import Translation

BILL = LIMITED_OFFERS


def offers_of(problem: Problem) -> list[list[int]]:
    """Group supplies by offer; every other supply is a group by itself."""
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
    """Limit an offer: purchases over the horizon, rents and reservations in any one quarter.

    The same holds for released nodes: sales over the horizon, and switching off in any one
    quarter.
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
    """Limit the nodes that arrive in one quarter."""
    for quarter, most in enumerate(master.problem.supplies[supplies[0]].deliveries or ()):
        keys = [(number, quarter) for number in supplies]
        terms = {master.acquire[key]: 1.0 for key in keys if key in master.acquire}
        if terms:
            master.program.row(f"deliveries[{supplies[0]},{quarter}]", terms, "<=", most)


def _windows(problem: Problem, supply: Supply) -> list[range]:
    """Yield windows of entry quarters, each of which may use the maximum once."""
    quarters = range(problem.quarters)
    return [quarters] if supply.lasts() is None else [supply.entries(q) for q in quarters]


def _one_lot(master: MasterProgram, supplies: Sequence[int], quarter: int) -> None:
    """State one price for all nodes of an order: rows `lot-fewest`, `lot-most` and `one-lot`."""
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
    """Return an offer's supplies by price level, those at all sites together."""
    levels: dict[PriceTier, list[int]] = defaultdict(list)
    for number in supplies:
        lot = problem.supplies[number].lot
        if lot is not None:
            levels[lot].append(number)
    yield from levels.items()


def _most(problem: Problem, number: int) -> int:
    """Return the most nodes of an order: by the level, the offer, or what could be of use."""
    supply = problem.supplies[number]
    lot = supply.lot
    assert lot is not None
    limits = [limit for limit in (lot.most, supply.maximum) if limit is not None]
    return min(limits) if limits else max(lot.fewest, _useful(problem))


def _useful(problem: Problem) -> int:
    """Return the number of nodes beyond which none is of use.

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


def holds(master: MasterProgram, values: Sequence[float]) -> bool:
    """Return whether acquired nodes keep maxima, deliveries and price levels, in whole numbers."""
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
    """Return whether every order has one price, the one for its size."""
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
    """Return the maxima, the deliveries and the dates of offers as conditions."""
    for supplies in offers_of(translation.problem):
        offer = translation.problem.supplies[supplies[0]]
        if offer.releases:
            continue
        for span, nodes in spans(offer.deliveries or ()):
            yield rising(
                said(f"the deliveries of offer {offer.name}", span, translation.quarters),
                f"{_nodes(nodes)} a quarter",
                nodes,
                _nodes,
                resupplying(supplies, partial(_delivering, span)),
                procures=True,
            )
        if offer.maximum is not None:
            yield _maximum_of(offer.name, supplies, offer.maximum)
        if None in offer.unit_cost_cents:
            yield _dates_of(offer, supplies, translation.quarters)


_nodes = partial(count_of, singular="node")


def _delivering(span: range, supply: Supply, more: int | None) -> Supply:
    stated = supply.deliveries or ()
    if more is None and len(span) == len(stated):
        return replace(supply, deliveries=None)
    most = LARGEST_COUNT_PER_QUARTER if more is None else more
    found = tuple(nodes + most * (quarter in span) for quarter, nodes in enumerate(stated))
    return replace(supply, deliveries=found)


def _maximum_of(offer: str, supplies: Sequence[int], stated: int) -> Condition:
    name = f"the maximum of offer {offer}"

    def wider(supply: Supply, more: int | None) -> Supply:
        return replace(supply, maximum=None if more is None else stated + more)

    return Condition(
        name,
        _nodes(stated),
        resupplying(supplies, wider),
        lambda more: f"raise {name} by {more:,}, to {_nodes(stated + more)}",
        procures=True,
    )


def _dates_of(offer: Supply, supplies: Sequence[int], labels: Sequence[str]) -> Condition:
    """Return the quarters in which an offer's nodes can enter; raised by some at either end."""
    costs = offer.unit_cost_cents
    every = range(len(costs))
    known = [quarter for quarter in every if costs[quarter] is not None]
    opens = range(known[0], known[-1] + 1) if known else every[len(costs) :]

    def opened(more: int | None) -> range:
        return every if more is None else every[max(0, opens.start - more) : opens.stop + more]

    def wider(supply: Supply, more: int | None) -> Supply:
        costs = (
            0 if cents is None and quarter in opened(more) else cents
            for quarter, cents in enumerate(supply.unit_cost_cents)
        )
        return replace(supply, unit_cost_cents=tuple(costs))

    return Condition(
        f"the dates of offer {offer.name}",
        when(opens, labels) if known else "after the horizon",
        resupplying(supplies, wider),
        lambda more: f"have offer {offer.name} enter service {when(opened(more), labels)}",
        max(opens.start, len(costs) - opens.stop),
        procures=True,
    )
