"""What stands at each site of the scenario, and how much of its limits that takes."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from planner.plan.plan import SiteUse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.inputs.scenario.site import Site
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
        power_w=_taken(inputs, nodes, "max_power_kw", 1000),
        power_limit_w=tuple(site.power_w(quarter) for quarter in horizon.all_quarters),
        rack_units=_taken(inputs, nodes, "rack_units", 1),
        rack_units_limit=site.rack_units,
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


def _taken(inputs: Inputs, nodes: Sequence[Node], name: str, factor: int) -> tuple[int, ...] | None:
    """A catalog figure summed over the nodes in service; None where one of them has none.

    Rounded up to whole units of `factor`.
    """
    figures = {}
    for node_type in {node.node_type for node in nodes}:
        figure = getattr(inputs.catalog.nodes[node_type], name)
        if figure is None:
            return None
        figures[node_type] = figure.value * factor
    return tuple(
        ceil(sum(figures[node.node_type] for node in nodes if label in node.in_service))
        for label in inputs.scenario.horizon.labels
    )
