"""How well the plan fills what is in service, and how much of the limits of sites that takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

from planner.inputs.scenario.site import SITE_LIMITS, Site, SiteLimit
from planner.inputs.settled import Inputs
from planner.packing import Translation
from planner.packing.problem import Pool
from planner.planning.placing.fleet import Fleet
from planner.planning.placing.place import UnitPlacement
from planner.planning.plan import Node, NodeUse, Occupant, PoolUse, SiteUse


def pool_uses(
    translation: Translation,
    fleet: Fleet,
    placement: UnitPlacement,
    hours_per_quarter: Fraction,
    shared_spares: Sequence[Sequence[int]] = (),
) -> tuple[PoolUse, ...]:
    """Capacity and use per pool and quarter; pools that never have a node are left out.

    `shared_spares` are the nodes that stand in for others, by quarter and pool, or nothing.
    """
    nodes: dict[tuple[str, str, str], list[Node]] = defaultdict(list)
    pool_of: dict[str, tuple[str, str, str]] = {}
    for node in fleet.nodes:
        nodes[node.pool].append(node)
        pool_of[node.id] = node.pool
    used: dict[tuple[int, tuple[str, str, str]], list[NodeUse]] = defaultdict(list)
    for quarter, uses in enumerate(placement.uses):
        for use in uses:
            used[quarter, pool_of[use.node]].append(use)
    found = []
    for number, pool in enumerate(translation.problem.pools):
        key = (pool.node_type, pool.site, pool.offer)
        if pool.held or key not in nodes:
            continue
        rows = [
            _figures(
                pool,
                [node for node in nodes[key] if label in node.in_service],
                used[quarter, key],
                hours_per_quarter,
                shared_spares[quarter][number] if shared_spares else 0,
            )
            for quarter, label in enumerate(translation.quarters)
        ]
        columns: dict[str, Any] = {name: tuple(row[name] for row in rows) for name in rows[0]}
        found.append(
            PoolUse(
                node_type=pool.node_type,
                site=pool.site,
                gpu_type=pool.gpu_type,
                offer=pool.offer,
                **columns,
            )
        )
    return tuple(found)


def _figures(
    pool: Pool,
    serving: Sequence[Node],
    uses: list[NodeUse],
    hours: Fraction,
    shared_spare: int,
) -> dict[str, float]:
    """Of one pool in one quarter; of nodes that come and go within it, GPU-hours alone."""
    everybody = [occupant for use in uses for occupant in use.occupants]
    gpu_hours = float(sum((node.gpu_hours(hours) for node in serving), Fraction(0)))
    held_hours = float(sum((one.gpu_hours(hours) for one in everybody), Fraction(0)))
    spare = max(shared_spare, pool.spare if uses else 0)
    if pool.hire:
        serving, uses, everybody = [], [], []
    gpus_used = cpus_used = memory_used_mb = 0
    for use in uses:
        gpus_used += len({gpu for occupant in use.occupants for gpu in occupant.gpus})
        cpus_used += int(at_peak(use.occupants, lambda occupant: occupant.cpus))
        memory_used_mb += int(at_peak(use.occupants, lambda occupant: occupant.memory_mb))
    return {
        "nodes": len(serving),
        "nodes_used": len(uses),
        "nodes_spare": spare,
        "gpus": len(serving) * pool.node.gpus,
        "gpus_used": gpus_used,
        "gpus_peak": float(at_peak(everybody, lambda one: one.gpus_at_once)),
        "gpu_hours": gpu_hours,
        "gpu_hours_used": held_hours,
        "cpus": len(serving) * pool.node.cpus,
        "cpus_used": cpus_used,
        "memory_mb": len(serving) * pool.node.memory_mb,
        "memory_used_mb": memory_used_mb,
    }


def at_peak(
    occupants: Sequence[Occupant], amount: Callable[[Occupant], int | Fraction]
) -> int | Fraction:
    """The sum of what is held at the hour at which it is largest."""
    changes: dict[int, int | Fraction] = defaultdict(int)
    for occupant in occupants:
        start, end = occupant.held_hours
        changes[start] += amount(occupant)
        changes[end] -= amount(occupant)
    return max(accumulate(changes[hour] for hour in sorted(changes)), default=0)


def site_uses(inputs: Inputs, nodes: Sequence[Node]) -> tuple[SiteUse, ...]:
    """Every site that the scenario lists, by name."""
    return tuple(
        _site_use(inputs, name, site, [one for one in nodes if one.site == name and not one.hours])
        for name, site in sorted(inputs.scenario.sites.items())
    )


def _site_use(inputs: Inputs, name: str, site: Site, nodes: Sequence[Node]) -> SiteUse:
    horizon, racks = inputs.scenario.horizon, site.racks
    serving = [[node for node in nodes if label in node.in_service] for label in horizon.labels]
    standing = [[node for node in nodes if label in node.standing] for label in horizon.labels]
    in_racks = [
        {node.racks[node.standing.index(label)] for node in there if node.racks}
        for label, there in zip(horizon.labels, standing, strict=True)
    ]
    return SiteUse(
        site=name,
        cooling=tuple(sorted(site.cooling or ())),
        labels=tuple(sorted(site.labels)),
        nodes=tuple(map(len, serving)),
        taken={
            limit.need: _taken(inputs, serving if limit.drawn else standing, limit)
            for limit in SITE_LIMITS
        },
        allowed={
            limit.need: tuple(site.allows(limit, quarter) for quarter in horizon.all_quarters)
            for limit in site.limits
        },
        racks=racks.count if racks else None,
        racks_used=tuple(map(len, in_racks)),
        units_per_rack=racks.units if racks else None,
        power_per_rack_w=int(racks.power_kw * 1000) if racks and racks.power_kw else None,
        spare_nodes=site.spare_nodes_in_order,
    )


def _taken(
    inputs: Inputs, serving: Sequence[Sequence[Node]], limit: SiteLimit
) -> tuple[int, ...] | None:
    """What the nodes in service take by quarter; None where the catalog lacks one of them."""
    types = {node.node_type for there in serving for node in there}
    each = {name: limit.taken_by(inputs.catalog.nodes[name]) for name in types}
    known = {name: taken for name, taken in each.items() if taken is not None}
    if len(known) < len(each):
        return None
    return tuple(sum(known[node.node_type] for node in there) for there in serving)
