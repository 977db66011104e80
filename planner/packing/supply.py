"""Offers, and owned nodes that may be let go, as supplies; what limits them and must stay free.

A figure that holds for some of the quarters is a limit of its own, named with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby

from planner.costs import (
    CostStream,
    Released,
    api_costs,
    entry_quarters,
    node_costs,
    owned_costs,
    present_cents,
    released_costs,
    sale_quarters,
    spent_cents,
)
from planner.inputs.catalog.catalog import NodeType
from planner.inputs.scenario.site import HEIGHT, POWER, SiteLimit
from planner.inputs.settled import Inputs, SettledOffer
from planner.inputs.text import listed
from planner.packing.problem import (
    Limit,
    Pool,
    PriceTier,
    RackSpace,
    Reserve,
    SharedSpares,
    SpendLimit,
    Supply,
)
from planner.sizing.candidate import SizedJob


def spans(at_most: Sequence[int | None]) -> Iterator[tuple[range, int]]:
    """Yield successive quarters and the figure that holds there.

    Quarters without a limit are left out.
    """
    start = 0
    for most, alike in groupby(at_most):
        span = range(start, start + sum(1 for _ in alike))
        start = span.stop
        if most is not None:
            yield span, most


def only(span: range, most: int, quarters: int) -> tuple[int | None, ...]:
    """Return the figure by quarter, with no limit outside of these quarters."""
    return tuple(most if quarter in span else None for quarter in range(quarters))


def said(name: str, span: range, labels: Sequence[str]) -> str:
    """Name a limit, with its quarters if another one holds before.

    `quota of risk`, `quota of risk from 2027Q2 on`.
    """
    return name if len(span) == len(labels) else f"{name} {when(span, labels)}"


def when(span: range, labels: Sequence[str]) -> str:
    """Name quarters: `from 2027Q2 on`, `in 2027Q1`, `in 2027Q2 to 2027Q3`."""
    if span.stop == len(labels):
        return f"from {labels[span.start]} on"
    if len(span) == 1:
        return f"in {labels[span.start]}"
    return f"in {labels[span.start]} to {labels[span.stop - 1]}"


def whenever(quarters: Sequence[int], labels: Sequence[str]) -> str:
    """Name quarters, given in order, that may have gaps: `in 2027Q1 and from 2027Q3 on`."""
    spans: list[range] = []
    for quarter in quarters:
        start = spans.pop().start if spans and spans[-1].stop == quarter else quarter
        spans.append(range(start, quarter + 1))
    return listed([when(span, labels) for span in spans])


def supplies_of(inputs: Inputs, pools: Sequence[Pool]) -> Iterator[Supply]:
    """Return one supply for each offer, site and price level, named as the offer."""
    places = {
        (pool.node_type, pool.site, pool.offer): number
        for number, pool in enumerate(pools)
        if not pool.held
    }
    for number, offer in enumerate(inputs.offers):
        possible = entry_quarters(inputs, offer)
        for site in offer.sites:
            pool = places[offer.node_type, site, offer.name if offer.step_hours else ""]
            for lot in _lots(offer):
                supply = Supply(
                    offer.name,
                    offer.kind,
                    pool,
                    offer.maximum,
                    (),
                    offer.term_quarters,
                    lot,
                    number if lot or len(offer.sites) > 1 else None,
                    offer.deliveries,
                )
                yield _priced(inputs, supply, possible)


def _priced(inputs: Inputs, supply: Supply, possible: Collection[int]) -> Supply:
    """Return the supply with its net cost by quarter in which nodes can enter or be released."""
    costs = tuple(
        present_cents(_streams(inputs, supply, quarter)) if quarter in possible else None
        for quarter in range(inputs.scenario.horizon.quarters)
    )
    return replace(supply, unit_cost_cents=costs)


def _lots(offer: SettledOffer) -> Iterator[PriceTier | None]:
    """Return the order sizes that have a price of their own; None if all have the same."""
    if not offer.levels:
        yield None
        return
    fewest = (1, *(level.from_nodes for level in offer.levels))
    most = (*(nodes - 1 for nodes in fewest[1:]), None)
    for first, last in zip(fewest, most, strict=True):
        yield PriceTier(first, last)


def releases_of(
    inputs: Inputs, pools: Sequence[Pool], free: Mapping[tuple[str, str], Counter[str]]
) -> Iterator[Supply]:
    """Return supplies of owned nodes that may be released, named as their fleet entry.

    `free` are the nodes of each entry that hold no pinned unit, by node type and site.
    """
    horizon = inputs.scenario.horizon
    for number, pool in enumerate(pools):
        if pool.held or pool.hire:
            continue
        for name, nodes in sorted(free.get((pool.node_type, pool.site), {}).items()):
            entry = inputs.scenario.fleet[name]
            until = None if entry.retires is None else entry.retires - horizon.first_quarter
            if entry.sale is not None:
                most = nodes if entry.sale.maximum is None else min(nodes, entry.sale.maximum)
                sold = Supply(name, "sell", number, most, (), until=until)
                yield _priced(inputs, sold, sale_quarters(inputs, entry))
            if entry.may_switch_off:
                served = range(horizon.quarters if until is None else min(until, horizon.quarters))
                yield _priced(inputs, Supply(name, "switch off", number, nodes, ()), served)


def spend_limits(
    inputs: Inputs, supplies: Sequence[Supply], jobs: Sequence[SizedJob]
) -> tuple[SpendLimit, ...]:
    """Return a limit for each budget, less what owned nodes and units on APIs cost anyway."""
    caps = tuple(inputs.scenario.budget.caps())
    if not caps:
        return ()
    paid = [
        [_streams(inputs, supply, entry) for entry in range(inputs.scenario.horizon.quarters)]
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


def _streams(inputs: Inputs, supply: Supply, quarter: int) -> tuple[CostStream, ...]:
    """Return the costs of a node that enters service in a quarter, or is released."""
    if supply.releases:
        gone = Released(inputs.scenario.fleet[supply.name], quarter, 1, supply.kind == "sell")
        return released_costs(inputs, gone)
    offer = next(offer for offer in inputs.offers if offer.name == supply.name)
    return node_costs(inputs, offer, quarter, supply.lot.fewest if supply.lot else 1)


StandingPool = tuple[int, "NodeType"]
"""A pool, and the type of its nodes."""


def site_limits(inputs: Inputs, pools: Sequence[Pool]) -> tuple[Limit, ...]:
    """Return what every site states that nodes may take of it, by site."""
    horizon = inputs.scenario.horizon
    return tuple(
        Limit(
            said(f"{limit.name} at {name}", span, horizon.labels),
            tuple((number, _taken(limit, node)) for number, node in stands),
            only(span, most, horizon.quarters),
            limit.unit,
            limit.drawn,
        )
        for name, site in sorted(inputs.scenario.sites.items())
        if (stands := _stands(inputs, pools, name))
        for limit in site.limits
        for span, most in spans([site.allows(limit, at) for at in horizon.all_quarters])
    )


def rack_spaces(inputs: Inputs, pools: Sequence[Pool]) -> tuple[RackSpace, ...]:
    """Return the racks of every site that states them, by site."""
    found = []
    for name, site in sorted(inputs.scenario.sites.items()):
        stands, racks = _stands(inputs, pools, name), site.racks
        if racks is not None and stands:
            fed = None if racks.power_kw is None else int(racks.power_kw * 1000)
            nodes = tuple(
                (number, _taken(HEIGHT, node), 0 if fed is None else _taken(POWER, node))
                for number, node in stands
            )
            found.append(RackSpace(name, racks.count, racks.units, fed, nodes))
    return tuple(found)


def spare_nodes(inputs: Inputs, node_type: str, site: str) -> int:
    """Return the nodes that a pool keeps empty: the larger figure of its node type and site."""
    policy = inputs.scenario.policies.spare_nodes
    by_type = policy if isinstance(policy, int) else policy.get(node_type, 0)
    here = inputs.scenario.sites.get(site)
    return max(by_type, here.spares_of_each) if here else by_type


def shared_spares(inputs: Inputs, pools: Sequence[Pool]) -> tuple[SharedSpares, ...]:
    """Return groups of node types that share spares, by site; types without a pool are left out."""
    found = []
    for site, stated in sorted(inputs.scenario.sites.items()):
        for name, group in sorted(stated.spare_groups.items()):
            mine = tuple(
                number
                for number, pool in enumerate(pools)
                if (pool.site, pool.held) == (site, "")
                and pool.node_type in group.node_types
                and not pool.hire
            )
            if mine:
                sizes = (group.nodes or 0, group.racks or 0)
                found.append(SharedSpares(f"{name} at {site}", mine, *sizes, site))
    return tuple(found)


def growth_reserves(inputs: Inputs) -> tuple[Reserve, ...]:
    """Return shares of the GPUs in service that stay free, by GPU type."""
    shares = inputs.scenario.policies.growth_reserve
    return tuple(Reserve(gpu_type, Fraction(share)) for gpu_type, share in sorted(shares.items()))


def _stands(inputs: Inputs, pools: Sequence[Pool], site: str) -> list[StandingPool]:
    return [
        (number, inputs.catalog.nodes[pool.node_type])
        for number, pool in enumerate(pools)
        if pool.site == site and not pool.hire
    ]


def _taken(limit: SiteLimit, node: NodeType) -> int:
    taken = limit.taken_by(node)
    if taken is None:
        raise ValueError(f"{node.product} has no {limit.figure}; inputs are checked for it")
    return taken
