"""What stands at each site of the scenario, and how much of its limits that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.scenario.site import SITE_LIMITS
from planner.plan.plan import SiteUse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.inputs.scenario.site import Site, SiteLimit
    from planner.inputs.settled import Inputs
    from planner.plan.plan import Node

__all__ = ["site_uses"]


def site_uses(inputs: Inputs, nodes: Sequence[Node]) -> tuple[SiteUse, ...]:
    """Every site that the scenario lists, by name."""
    return tuple(
        _use(inputs, name, site, [node for node in nodes if node.site == name and not node.hours])
        for name, site in sorted(inputs.scenario.sites.items())
    )


def _use(inputs: Inputs, name: str, site: Site, nodes: Sequence[Node]) -> SiteUse:
    horizon = inputs.scenario.horizon
    racks = site.racks
    return SiteUse(
        site=name,
        cooling=tuple(sorted(site.cooling or ())),
        labels=tuple(sorted(site.labels)),
        nodes=tuple(_serving(nodes, label) for label in horizon.labels),
        taken={limit.need: _taken(inputs, nodes, limit) for limit in SITE_LIMITS},
        allowed={
            limit.need: tuple(site.allows(limit, quarter) for quarter in horizon.all_quarters)
            for limit in site.limits
        },
        racks=racks.count if racks else None,
        racks_used=tuple(_racks(nodes, label) for label in horizon.labels),
        units_per_rack=racks.units if racks else None,
        power_per_rack_w=int(racks.power_kw * 1000) if racks and racks.power_kw else None,
        spare_nodes=site.spare_nodes,
    )


def _serving(nodes: Sequence[Node], quarter: str) -> int:
    return sum(quarter in node.in_service for node in nodes)


def _racks(nodes: Sequence[Node], quarter: str) -> int:
    """Racks in use."""
    return len(
        {
            rack
            for node in nodes
            for label, rack in zip(node.in_service, node.racks, strict=False)
            if label == quarter
        }
    )


def _taken(inputs: Inputs, nodes: Sequence[Node], limit: SiteLimit) -> tuple[int, ...] | None:
    """What the nodes in service take by quarter; None where the catalog lacks one of them."""
    types = {node.node_type for node in nodes}
    each = {name: limit.taken_by(inputs.catalog.nodes[name]) for name in types}
    known = {name: taken for name, taken in each.items() if taken is not None}
    if len(known) < len(each):
        return None
    return tuple(
        sum(known[node.node_type] for node in nodes if label in node.in_service)
        for label in inputs.scenario.horizon.labels
    )
