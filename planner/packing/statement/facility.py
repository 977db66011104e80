"""What the sites of a scenario allow, as limits on the nodes in service, in whole units."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from planner.inputs.catalog.catalog import NodeType
from planner.inputs.scenario.site import HEIGHT, POWER, SiteLimit
from planner.inputs.settled import Inputs
from planner.packing.limits import Limit, RackSpace, Reserve, SharedSpares
from planner.packing.problem import Pool

Stand = tuple[int, "NodeType"]
"""Pool, and the type of its nodes."""


def site_limits(inputs: Inputs, pools: Sequence[Pool]) -> tuple[Limit, ...]:
    """What every site states that nodes may take of it, by site."""
    quarters = inputs.scenario.horizon.all_quarters
    return tuple(
        Limit(
            f"{limit.name} at {name}",
            tuple((number, _taken(limit, node)) for number, node in stands),
            tuple(site.allows(limit, quarter) for quarter in quarters),
            limit.unit,
            limit.drawn,
        )
        for name, site in sorted(inputs.scenario.sites.items())
        if (stands := _stands(inputs, pools, name))
        for limit in site.limits
    )


def rack_spaces(inputs: Inputs, pools: Sequence[Pool]) -> tuple[RackSpace, ...]:
    """The racks of every site that states them, by site."""
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
    """Nodes that a pool keeps empty: what its node type asks for or its site, the larger."""
    policy = inputs.scenario.policies.spare_nodes
    by_type = policy if isinstance(policy, int) else policy.get(node_type, 0)
    here = inputs.scenario.sites.get(site)
    return max(by_type, here.spares_of_each) if here else by_type


def shared_spares(inputs: Inputs, pools: Sequence[Pool]) -> tuple[SharedSpares, ...]:
    """Groups of node types that share their spare nodes, by site; those without a pool left out."""
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
    """Shares of the GPUs in service that stay free, by GPU type."""
    shares = inputs.scenario.policies.growth_reserve
    return tuple(Reserve(gpu_type, Fraction(share)) for gpu_type, share in sorted(shares.items()))


def _stands(inputs: Inputs, pools: Sequence[Pool], site: str) -> list[Stand]:
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
