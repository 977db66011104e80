"""Offers: how many nodes they give, when, and at which price for how many.

Of owned nodes that are let go, none is switched off that was sold before, and none twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import ceil

from planner.inputs.base import LARGEST_COUNT_PER_QUARTER
from planner.inputs.text import count_of
from planner.packing.constraints.base import (
    LIMITED_OFFERS,
    OWNED_NODES,
    Condition,
    resupplying,
    rising,
)
from planner.packing.constraints.spares import most_spare
from planner.packing.master import MasterProgram
from planner.packing.problem import PriceTier, Problem, Supply
from planner.packing.supply import said, spans, whenever
from planner.packing.translation import Translation

BILL = LIMITED_OFFERS


def offers_of(problem: Problem) -> list[list[int]]:
    """Group supplies by offer; every other supply is a group by itself."""
    offers: dict[tuple[bool, int], list[int]] = defaultdict(list)
    for number, supply in enumerate(problem.supplies):
        key = (False, number) if supply.offer is None else (True, supply.offer)
        offers[key].append(number)
    return list(offers.values())


def add_rows(master: MasterProgram) -> None:
    """State the rows `maximum`, `deliveries`, `lot` and, of nodes that are let go, `let-go`."""
    for supplies in offers_of(master.problem):
        for name, gone, most in _limited(master, supplies):
            master.program.row(name, dict.fromkeys(gone, 1.0), "<=", most)
        for quarter in range(master.problem.quarters):
            _one_lot(master, supplies, quarter)
    master.program.owner = OWNED_NODES
    for name, gone, most in _let_go(master):
        master.program.row(name, dict.fromkeys(gone, 1.0), "<=", most)


def _limited(
    master: MasterProgram, supplies: Sequence[int]
) -> Iterator[tuple[str, list[int], int]]:
    """Rows of what an offer gives: a name, variables, and the most that they come to together.

    It ends: over the horizon to buy, in any one quarter to rent or reserve; so do nodes that may be
    let go, over the horizon to sell, in any one quarter to switch off. And so many nodes arrive in
    one quarter.
    """
    supply = master.problem.supplies[supplies[0]]
    limits: list[tuple[str, Iterable[int], int]] = []
    if supply.maximum is not None and not master.problem.pools[supply.pool].hire:
        for window in _windows(master.problem, supply):
            limits.append((f"maximum[{supplies[0]}]", window, supply.maximum))
    for quarter, most in enumerate(supply.deliveries or ()):
        limits.append((f"deliveries[{supplies[0]},{quarter}]", [quarter], most))
    for name, quarters, most in limits:
        keys = [(number, quarter) for number in supplies for quarter in quarters]
        if group := [master.acquire[key] for key in keys if key in master.acquire]:
            yield name, group, most


def _windows(problem: Problem, supply: Supply) -> list[range]:
    """Yield windows of entry quarters, each of which may use the maximum once."""
    quarters = range(problem.quarters)
    return [quarters] if supply.lasts() is None else [supply.entries(q) for q in quarters]


def _one_lot(master: MasterProgram, supplies: Sequence[int], quarter: int) -> None:
    """State one price for all nodes of an order: rows `lot-fewest`, `lot-most` and `one-lot`."""
    program = master.program
    used: dict[int, float] = {}
    for lot, group in _by_lot(master, supplies, quarter):
        nodes = dict.fromkeys(group, 1.0)
        place = f"[{supplies[0]},{quarter}]"
        level = program.variable(f"lot{place}", upper=1, integer=True)
        used[level] = 1.0
        most = _most(master.problem, lot, supplies[0])
        program.row(f"lot-fewest{place}", {**nodes, level: -lot.fewest}, ">=", 0.0)
        program.row(f"lot-most{place}", {**nodes, level: -most}, "<=", 0.0)
    if len(used) > 1:
        program.row(f"one-lot[{supplies[0]},{quarter}]", used, "<=", 1.0)


def _by_lot(
    master: MasterProgram, supplies: Sequence[int], quarter: int
) -> Iterator[tuple[PriceTier, list[int]]]:
    """What counts the nodes of an order by price level, those at all sites together."""
    levels: dict[PriceTier, list[int]] = defaultdict(list)
    for number in supplies:
        lot = master.problem.supplies[number].lot
        if lot is not None and (number, quarter) in master.acquire:
            levels[lot].append(master.acquire[number, quarter])
    yield from levels.items()


def _most(problem: Problem, lot: PriceTier, number: int) -> int:
    """Nodes of an order: what the level allows, the offer gives, or could ever be of use.

    That is one for each GPU asked for or kept free for growth, and the spare ones.
    """
    limits = [one for one in (lot.most, problem.supplies[number].maximum) if one is not None]
    if limits:
        return min(limits)
    asked = sum(
        job_class.count
        * max((mode.copies * mode.shape.gpus for mode in job_class.modes), default=0)
        for job_class in problem.classes
    )
    free = max((reserve.free for reserve in problem.reserves), default=0)
    spare = sum(pool.spare for pool in problem.pools)
    spare += sum(most_spare(problem, group) for group in problem.spare_groups)
    return max(lot.fewest, ceil(asked / (1 - free)) + spare)


def _let_go(master: MasterProgram) -> Iterator[tuple[str, list[int], int]]:
    """Rows of owned nodes, by fleet entry and quarter: none is let go twice.

    Where nodes may be sold alone, or switched off alone, their maximum says as much.
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
                yield f"let-go[{off[0].name}]", gone, max(one.maximum or 0 for one in off)


def holds(master: MasterProgram, values: Sequence[float]) -> bool:
    """Whether nodes keep to maxima, deliveries and price levels, and none is let go twice."""
    offers = offers_of(master.problem)
    limits = [*_let_go(master), *(one for offer in offers for one in _limited(master, offer))]
    return all(
        sum(round(values[index]) for index in group) <= most for _, group, most in limits
    ) and all(_in_lots(master, offer, values) for offer in offers)


def _in_lots(master: MasterProgram, supplies: Sequence[int], values: Sequence[float]) -> bool:
    """Return whether every order has one price, the one for its size."""
    for quarter in range(master.problem.quarters):
        orders = [
            (lot, nodes)
            for lot, group in _by_lot(master, supplies, quarter)
            if (nodes := sum(round(values[index]) for index in group))
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
            yield rising(
                f"the maximum of offer {offer.name}",
                _nodes(offer.maximum),
                offer.maximum,
                _nodes,
                resupplying(supplies, _giving),
                procures=True,
            )
        if None in offer.unit_cost_cents:
            is_api = translation.problem.pools[offer.pool].is_api
            yield _dates_of(offer, supplies, translation.quarters, is_api=is_api)


_nodes = partial(count_of, singular="node")


def _giving(supply: Supply, more: int | None) -> Supply:
    most = None if None in (more, supply.maximum) else (supply.maximum or 0) + (more or 0)
    return replace(supply, maximum=most)


def _delivering(span: range, supply: Supply, more: int | None) -> Supply:
    stated = supply.deliveries or ()
    if more is None and len(span) == len(stated):
        return replace(supply, deliveries=None)
    most = LARGEST_COUNT_PER_QUARTER if more is None else more
    found = tuple(nodes + most * (quarter in span) for quarter, nodes in enumerate(stated))
    return replace(supply, deliveries=found)


def _dates_of(
    offer: Supply, supplies: Sequence[int], labels: Sequence[str], *, is_api: bool
) -> Condition:
    """Return the quarters in which an offer's nodes can enter.

    Raised by those between them, if there are any, and then by some at either end.
    """
    costs = offer.unit_cost_cents
    every = range(len(costs))
    known = [quarter for quarter in every if costs[quarter] is not None]
    opens = range(known[0], known[-1] + 1) if known else every[len(costs) :]
    gaps = len(known) < len(opens)

    def opened(more: int | None) -> Sequence[int]:
        if more == 0:
            return known
        ends = len(costs) if more is None else more - gaps
        return every[max(0, opens.start - ends) : opens.stop + ends]

    def wider(supply: Supply, more: int | None) -> Supply:
        costs = (
            0 if cents is None and quarter in opened(more) else cents
            for quarter, cents in enumerate(supply.unit_cost_cents)
        )
        return replace(supply, unit_cost_cents=tuple(costs))

    name = f"{'API' if is_api else 'offer'} {offer.name}"
    served = "be there" if is_api else "enter service"
    return Condition(
        f"the dates of {name}",
        whenever(known, labels) if known else "after the horizon",
        resupplying(supplies, wider),
        lambda more: f"have {name} {served} {whenever(opened(more), labels)}",
        max(opens.start, len(costs) - opens.stop) + gaps,
        procures=True,
    )
