"""What the sites of a scenario allow, as limits on the nodes in service, in whole W and U."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from planner.packing.limits import Limit, RackSpace, Reserve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.inputs.catalog.catalog import NodeType
    from planner.inputs.scenario.site import Site
    from planner.inputs.settled import Inputs
    from planner.packing.problem import Pool

__all__ = ["growth_reserves", "rack_spaces", "site_limits", "spare_nodes"]

Stand = tuple[int, "NodeType"]
"""Pool, and the type of its nodes."""


def site_limits(inputs: Inputs, pools: Sequence[Pool]) -> tuple[Limit, ...]:
    """Power and rack units of every site that states them, by site."""
    scenario = inputs.scenario
    return tuple(
        limit
        for name, site in sorted(scenario.sites.items())
        for stands in [_stands(inputs, pools, name)]
        if stands
        for limit in _limits(inputs, name, site, stands)
    )


def rack_spaces(inputs: Inputs, pools: Sequence[Pool]) -> tuple[RackSpace, ...]:
    """The racks of every site that states them, by site."""
    return tuple(
        _racks(name, site, stands)
        for name, site in sorted(inputs.scenario.sites.items())
        if site.racks is not None and (stands := _stands(inputs, pools, name))
    )


def spare_nodes(inputs: Inputs, node_type: str, site: str) -> int:
    """Nodes that a pool keeps empty: what its node type asks for or its site, the larger."""
    policy = inputs.scenario.policies.spare_nodes
    by_type = policy if isinstance(policy, int) else policy.get(node_type, 0)
    here = inputs.scenario.sites.get(site)
    return max(by_type, here.spare_nodes) if here else by_type


def growth_reserves(inputs: Inputs) -> tuple[Reserve, ...]:
    """Shares of the GPUs in service that stay free, by GPU type."""
    shares = inputs.scenario.policies.growth_reserve
    return tuple(Reserve(gpu_type, Fraction(share)) for gpu_type, share in sorted(shares.items()))


def _stands(inputs: Inputs, pools: Sequence[Pool], site: str) -> list[Stand]:
    return [
        (number, inputs.catalog.nodes[pool.node_type])
        for number, pool in enumerate(pools)
        if pool.site == site and not pool.hire
    ]


def _limits(inputs: Inputs, name: str, site: Site, stands: Sequence[Stand]) -> Iterator[Limit]:
    quarters = inputs.scenario.horizon.all_quarters
    if site.power_kw is not None:
        fed = tuple(map(site.power_w, quarters))
        watts = tuple((number, _watts(node)) for number, node in stands)
        yield Limit(f"power at {name}", watts, fed, "W")
    if site.rack_units is not None:
        units = tuple((number, _units(node)) for number, node in stands)
        yield Limit(f"rack units at {name}", units, (site.rack_units,) * len(quarters), "U")


def _racks(name: str, site: Site, stands: Sequence[Stand]) -> RackSpace:
    racks = site.racks
    if racks is None:
        raise ValueError(f"site {name} states no racks")
    fed = None if racks.power_kw is None else int(racks.power_kw * 1000)
    nodes = tuple(
        (number, _units(node), 0 if fed is None else _watts(node)) for number, node in stands
    )
    return RackSpace(name, racks.count, racks.units, fed, nodes)


def _watts(node: NodeType) -> int:
    """Nameplate power, rounded up: whole watts never let too much in."""
    if node.max_power_kw is None:
        raise ValueError(f"{node.product} has no nameplate power; inputs are checked for it")
    return ceil(node.max_power_kw.value * 1000)


def _units(node: NodeType) -> int:
    if node.rack_units is None:
        raise ValueError(f"{node.product} has no rack units; inputs are checked for them")
    return node.rack_units.value
