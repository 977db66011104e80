"""From settled offers to supplies of the integer problem, and from budgets to its spend limits."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from planner.packing.limits import SpendLimit
from planner.packing.problem import Lot, Supply
from planner.packing.statement.economics import CAPEX, NOT_PAID, node_costs, owned_costs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.inputs.scenario.finance import SpendCap
    from planner.inputs.settled import Inputs, SettledOffer
    from planner.packing.problem import Pool
    from planner.packing.statement.economics import CostStream

__all__ = ["entry_quarters", "spend_limits", "supplies_of"]


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
        )
        for number, offer in enumerate(inputs.offers)
        for site in offer.sites
        for lot in _lots(offer)
    )


def _lots(offer: SettledOffer) -> Iterator[Lot | None]:
    """The sizes of order that have a price of their own; None where all have the same."""
    if not offer.levels:
        yield None
        return
    fewest = (1, *(level.from_nodes for level in offer.levels))
    most = (*(nodes - 1 for nodes in fewest[1:]), None)
    for first, last in zip(fewest, most, strict=True):
        yield Lot(first, last)


def _unit_costs(inputs: Inputs, offer: SettledOffer, nodes: int) -> tuple[int | None, ...]:
    possible = entry_quarters(inputs, offer)
    return tuple(
        sum(stream.present_cents for stream in node_costs(inputs, offer, quarter, nodes))
        if quarter in possible
        else None
        for quarter in range(inputs.scenario.horizon.quarters)
    )


def entry_quarters(inputs: Inputs, offer: SettledOffer) -> tuple[int, ...]:
    """Quarters, from 0, in which nodes of an offer may enter service.

    Ordered the lead time before, neither before the day of the plan nor after the end of sale.
    """
    horizon = inputs.scenario.horizon
    found = []
    for step, quarter in enumerate(horizon.all_quarters):
        ordered = quarter.start - timedelta(weeks=offer.lead_time_weeks)
        on_sale = offer.end_of_sale is None or ordered <= offer.end_of_sale
        offered = offer.available is None or quarter in offer.available
        if horizon.earliest_order <= ordered and on_sale and offered:
            found.append(step)
    return tuple(found)


def spend_limits(inputs: Inputs, supplies: Sequence[Supply]) -> tuple[SpendLimit, ...]:
    """One limit for each budget, less what the owned fleet costs in any case."""
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
    labels = inputs.scenario.horizon.labels
    limits = []
    for cap in caps:
        fixed = sum(count * _spent(cap, labels, streams) for count, streams in owned)
        cents = tuple(
            tuple(_spent(cap, labels, streams) for streams in by_entry) for by_entry in paid
        )
        limits.append(SpendLimit(cap.name, cap.cents - fixed, cents, fixed))
    return tuple(limits)


def _spent(cap: SpendCap, labels: Sequence[str], streams: Sequence[CostStream]) -> int:
    """Cents that count against a budget, not discounted."""
    counted = [stream.cents for stream in streams if _counts(cap, stream.name)]
    if cap.quarter is None:
        return sum(sum(cents) for cents in counted)
    quarter = labels.index(cap.quarter)
    return sum(cents[quarter] for cents in counted)


def _counts(cap: SpendCap, name: str) -> bool:
    if name == NOT_PAID:
        return False
    return cap.spend == "spending" or (cap.spend == "capex") == (name == CAPEX)
