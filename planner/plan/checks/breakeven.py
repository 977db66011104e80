"""Purchases beside renting the same nodes by the hour, worked out again in exact fractions."""

from __future__ import annotations

from datetime import timedelta
from math import ceil
from typing import TYPE_CHECKING

from planner.plan.checks.money import costs_of_one
from planner.plan.checks.view import Check, View, differences
from planner.plan.plan import Node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.settled import SettledOffer

__all__ = ["CHECKS"]


def _break_evens(view: View) -> Iterator[str]:
    hours = view.inputs.settings.hours_per_quarter.value
    expected = []
    for offer, rent, entry, nodes in _comparisons(view):
        buying, renting = (_present_cents(view, one, entry) for one in (offer, rent))
        bought, rented = sum(buying.values()), sum(renting.values())
        expected.append(
            {
                "offer": offer.name,
                "rent": rent.name,
                "node_type": offer.node_type,
                "quarter": view.labels[entry],
                "nodes": nodes,
                "buy_cents": bought,
                "rent_cents": rented,
                "buy_price_cents": sum(
                    buying[name] for name in ("purchase", "residual value", "support")
                ),
                "rent_price_cents": renting["rent"],
                "hours": ceil(hours * bought / rented),
                "quarter_hours": ceil(hours),
            }
        )
    found = [line.model_dump() for line in view.plan.break_evens]
    yield from differences("the list of break-evens", len(found), len(expected))
    for given, due in zip(found, expected, strict=False):
        yield from differences(f"the break-even of {given['offer']}", given, due)


def _comparisons(view: View) -> Iterator[tuple[SettledOffer, SettledOffer, int, int]]:
    """Offer to buy, cheapest rent of its node type, quarter of entry, nodes of the order."""
    entering = view.entering()
    for offer in view.inputs.offers:
        rents = [
            (other.unit_price_usd, other.name, other)
            for other in view.inputs.offers
            if (other.kind, other.node_type, other.step_hours) == ("rent", offer.node_type, None)
        ]
        if offer.kind != "buy" or not rents:
            continue
        orders = [(q, entering[offer.name, q]) for q in range(len(view.labels))]
        orders = [order for order in orders if order[1]] or _first(view, offer)
        for entry, nodes in orders:
            yield offer, min(rents)[2], entry, nodes


def _first(view: View, offer: SettledOffer) -> list[tuple[int, int]]:
    """One node as soon as the offer allows; nothing where it never does."""
    for entry, quarter in enumerate(view.quarters):
        order_by = quarter.start - timedelta(weeks=offer.lead_time_weeks)
        late = offer.end_of_sale is not None and order_by > offer.end_of_sale
        shut = offer.available is not None and quarter not in offer.available
        if order_by >= view.earliest_order and not late and not shut:
            return [(entry, 1)]
    return []


def _present_cents(view: View, offer: SettledOffer, entry: int) -> dict[str, int]:
    """Net present cost of one node of an offer from a quarter to the end, by kind."""
    node = Node(
        id="compared",
        node_type=offer.node_type,
        gpu_type="",
        gpus=0,
        cpus=0,
        memory_mb=0,
        site=offer.sites[0],
        origin=offer.kind,
        entry=offer.name,
        in_service=view.labels[entry:],
    )
    return {name: sums.present_cents for name, sums in costs_of_one(view, node).items()}


CHECKS = (
    Check(
        _break_evens,
        lambda view: f"{len(view.plan.break_evens)} break-evens of buying against renting agree",
    ),
)
