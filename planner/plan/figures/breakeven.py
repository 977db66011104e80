"""From how many hours of use a quarter a purchase is cheaper than renting by the hour."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from planner.packing.statement.economics import PRICED, node_costs
from planner.packing.statement.offers import entry_quarters
from planner.plan.plan import BreakEven

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.inputs.settled import Inputs, SettledOffer
    from planner.plan.plan import Acquisition

__all__ = ["break_evens"]


def break_evens(inputs: Inputs, acquisitions: Sequence[Acquisition]) -> tuple[BreakEven, ...]:
    """One for each purchase of the plan, and one for each offer to buy that it leaves.

    Against the cheapest rent of the same node type, at whatever site; none where nobody rents it.
    """
    quarters = inputs.scenario.horizon.labels
    found = []
    for offer in inputs.offers:
        rents = [
            other
            for other in inputs.offers
            if (other.kind, other.node_type) == ("rent", offer.node_type) and not other.step_hours
        ]
        if offer.kind != "buy" or not rents:
            continue
        rent = min(rents, key=lambda other: (other.unit_price_usd, other.name))
        for entry, nodes in _orders(inputs, offer, acquisitions, quarters):
            found.append(_break_even(inputs, offer, rent, entry, nodes, quarters[entry]))
    return tuple(found)


def _orders(
    inputs: Inputs,
    offer: SettledOffer,
    acquisitions: Sequence[Acquisition],
    quarters: Sequence[str],
) -> Iterator[tuple[int, int]]:
    """Quarter of entry and nodes of each order, or of one node as soon as may be."""
    taken: Counter[str] = Counter()
    for line in acquisitions:
        if line.offer == offer.name:
            taken[line.quarter] += line.count
    for label, nodes in taken.items():
        yield quarters.index(label), nodes
    possible = entry_quarters(inputs, offer)
    if not taken and possible:
        yield possible[0], 1


def _break_even(
    inputs: Inputs,
    offer: SettledOffer,
    rent: SettledOffer,
    entry: int,
    nodes: int,
    quarter: str,
) -> BreakEven:
    buying = node_costs(inputs, offer, entry, nodes)
    renting = [
        stream
        for step in range(entry, inputs.scenario.horizon.quarters)
        for stream in node_costs(inputs, rent, step, 1)
    ]
    bought, rented = (sum(one.present_cents for one in each) for each in (buying, renting))
    by_price = (
        sum(one.present_cents for one in each if one.name in PRICED) for each in (buying, renting)
    )
    buy_price, rent_price = by_price
    hours = Fraction(inputs.settings.hours_per_quarter.value)
    return BreakEven(
        offer=offer.name,
        rent=rent.name,
        node_type=offer.node_type,
        quarter=quarter,
        nodes=nodes,
        buy_cents=bought,
        rent_cents=rented,
        buy_price_cents=buy_price,
        rent_price_cents=rent_price,
        hours=ceil(hours * bought / rented),
        quarter_hours=ceil(hours),
    )
