"""From settled offers to supplies of the integer problem, and from budgets to its spend limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.costs import (
    api_costs,
    entry_quarters,
    node_costs,
    owned_costs,
    present_cents,
    spent_cents,
)
from planner.packing.limits import SpendLimit
from planner.packing.problem import PriceTier, Supply

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.inputs.settled import Inputs, SettledOffer
    from planner.packing.problem import Pool
    from planner.sizing.candidate import SizedJob

__all__ = ["spend_limits", "supplies_of"]


def supplies_of(inputs: Inputs, pools: Sequence[Pool]) -> tuple[Supply, ...]:
    """One supply for each offer, site and price level, named as the offer."""
    places = {
        (pool.node_type, pool.site, pool.offer): number
        for number, pool in enumerate(pools)
        if not pool.held
    }
    return tuple(
        Supply(
            offer.name,
            offer.kind,
            places[offer.node_type, site, offer.name if offer.step_hours else ""],
            offer.maximum,
            _unit_costs(inputs, offer, lot.fewest if lot else 1),
            offer.term_quarters,
            lot,
            number if lot or len(offer.sites) > 1 else None,
            offer.deliveries,
        )
        for number, offer in enumerate(inputs.offers)
        for site in offer.sites
        for lot in _lots(offer)
    )


def _lots(offer: SettledOffer) -> Iterator[PriceTier | None]:
    """The sizes of order that have a price of their own; None where all have the same."""
    if not offer.levels:
        yield None
        return
    fewest = (1, *(level.from_nodes for level in offer.levels))
    most = (*(nodes - 1 for nodes in fewest[1:]), None)
    for first, last in zip(fewest, most, strict=True):
        yield PriceTier(first, last)


def _unit_costs(inputs: Inputs, offer: SettledOffer, nodes: int) -> tuple[int | None, ...]:
    possible = entry_quarters(inputs, offer)
    return tuple(
        present_cents(node_costs(inputs, offer, quarter, nodes)) if quarter in possible else None
        for quarter in range(inputs.scenario.horizon.quarters)
    )


def spend_limits(
    inputs: Inputs, supplies: Sequence[Supply], jobs: Sequence[SizedJob]
) -> tuple[SpendLimit, ...]:
    """One limit for each budget, less what owned nodes and units on APIs cost in any case."""
    caps = tuple(inputs.scenario.budget.caps())
    if not caps:
        return ()
    offers = {offer.name: offer for offer in inputs.offers}
    paid = [
        [
            node_costs(inputs, offers[supply.name], entry, supply.lot.fewest if supply.lot else 1)
            for entry in range(inputs.scenario.horizon.quarters)
        ]
        for supply in supplies
    ]
    owned = [(entry.count, owned_costs(inputs, entry)) for entry in inputs.scenario.fleet.values()]
    owned += [(count, (stream,)) for count, stream in api_costs(inputs, jobs)]
    limits = []
    for cap in caps:
        fixed = sum(count * spent_cents(inputs, cap, streams) for count, streams in owned)
        cents = tuple(
            tuple(spent_cents(inputs, cap, streams) for streams in by_entry) for by_entry in paid
        )
        limits.append(SpendLimit(cap.name, cap.cents - fixed, cents, fixed))
    return tuple(limits)
