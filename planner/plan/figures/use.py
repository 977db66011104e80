"""How well the plan fills what is in service, and how much of the limits of sites that takes."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from planner.inputs.scenario.site import SITE_LIMITS
from planner.plan.plan import PoolUse, SiteUse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from planner.inputs.scenario.site import Site, SiteLimit
    from planner.inputs.settled import Inputs
    from planner.packing import Translation
    from planner.packing.problem import Pool, Shape
    from planner.plan.placing.fleet import Fleet
    from planner.plan.placing.place import Placement
    from planner.plan.plan import Node, NodeUse, Occupant

__all__ = ["pool_uses", "site_uses", "stranded_gpus"]


class _Quarter(NamedTuple):
    """Figures of one pool in one quarter."""

    nodes: int
    nodes_used: int
    nodes_spare: int
    gpus: int
    gpus_used: int
    gpus_peak: float
    gpu_hours: float
    gpu_hours_used: float
    gpus_stranded: int
    cpus: int
    cpus_used: int
    memory_mb: int
    memory_used_mb: int


def pool_uses(
    translation: Translation, fleet: Fleet, placement: Placement, hours_per_quarter: Fraction
) -> tuple[PoolUse, ...]:
    """Capacity and use per pool and quarter; pools that never have a node are left out."""
    position = {node.id: index for index, node in enumerate(fleet.nodes)}
    used: dict[tuple[int, int], list[NodeUse]] = defaultdict(list)
    for quarter, uses in enumerate(placement.uses):
        for use in uses:
            used[quarter, fleet.pool[position[use.node]]].append(use)
    shapes = [_smallest_shapes(translation, quarter) for quarter in range(len(fleet.in_service))]
    found = []
    for index, pool in enumerate(translation.problem.pools):
        rows = [
            _figures(
                pool,
                [
                    fleet.nodes[node]
                    for nodes in pools
                    for node in nodes
                    if fleet.pool[node] == index
                ],
                used[quarter, index],
                hours_per_quarter,
                [
                    shape
                    for shape in shapes[quarter][pool.gpu_type]
                    if not shape.sites or pool.site in shape.sites
                ],
            )
            for quarter, pools in enumerate(fleet.in_service)
        ]
        if any(row.gpu_hours for row in rows):
            columns: Mapping[str, tuple[int, ...]] = dict(
                zip(_Quarter._fields, zip(*rows, strict=True), strict=True)
            )
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
    shapes: Sequence[Shape],
) -> _Quarter:
    hired = bool(pool.hire)
    nodes = 0 if hired else len(serving)
    gpus_used = cpus_used = memory_used_mb = stranded = 0
    for use in [] if hired else uses:
        gpus = len({gpu for occupant in use.occupants for gpu in occupant.gpus})
        cpus = int(at_peak(use.occupants, lambda occupant: occupant.cpus))
        memory_mb = int(at_peak(use.occupants, lambda occupant: occupant.memory_mb))
        gpus_used += gpus
        cpus_used += cpus
        memory_used_mb += memory_mb
        free = (pool.node.gpus - gpus, pool.node.cpus - cpus, pool.node.memory_mb - memory_mb)
        stranded += stranded_gpus(free, shapes)
    everybody = [occupant for use in uses for occupant in use.occupants]
    held = sum((occupant.gpu_hours(hours) for occupant in everybody), Fraction(0))
    return _Quarter(
        nodes=nodes,
        nodes_used=0 if hired else len(uses),
        nodes_spare=pool.spare if uses else 0,
        gpus=nodes * pool.node.gpus,
        gpus_used=gpus_used,
        gpus_peak=0.0 if hired else float(at_peak(everybody, lambda one: one.gpus_at_once)),
        gpu_hours=float(sum((node.gpu_hours(hours) for node in serving), Fraction(0))),
        gpu_hours_used=float(held),
        gpus_stranded=stranded,
        cpus=nodes * pool.node.cpus,
        cpus_used=cpus_used,
        memory_mb=nodes * pool.node.memory_mb,
        memory_used_mb=memory_used_mb,
    )


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


def stranded_gpus(free: tuple[int, int, int], shapes: Iterable[Shape]) -> int:
    """Free GPUs, if some unit wants no more of them but none finds its cores and memory."""
    gpus, cpus, memory_mb = free
    small_enough = [shape for shape in shapes if shape.gpus <= gpus]
    fits = any(shape.cpus <= cpus and shape.memory_mb <= memory_mb for shape in small_enough)
    return gpus if small_enough and not fits else 0


def _smallest_shapes(translation: Translation, quarter: int) -> dict[str, list[Shape]]:
    """By GPU type, the shapes of units active in a quarter than which none is smaller."""
    wanted: dict[str, set[Shape]] = defaultdict(set)
    for demand in translation.problem.demands:
        if quarter in demand.quarters:
            for choice in demand.choices:
                wanted[choice.gpu_type].add(choice.shape)
    smallest: dict[str, list[Shape]] = defaultdict(list)
    for gpu_type, shapes in wanted.items():
        kept = smallest[gpu_type]
        for shape in sorted(shapes):
            if not any(_within(other, shape) for other in kept):
                kept.append(shape)
    return smallest


def _within(small: Shape, large: Shape) -> bool:
    anywhere = not small.sites or (large.sites and set(large.sites) <= set(small.sites))
    return bool(
        anywhere
        and small.gpus <= large.gpus
        and small.cpus <= large.cpus
        and small.memory_mb <= large.memory_mb
    )


def site_uses(inputs: Inputs, nodes: Sequence[Node]) -> tuple[SiteUse, ...]:
    """Every site that the scenario lists, by name."""
    return tuple(
        _site_use(
            inputs, name, site, [node for node in nodes if node.site == name and not node.hours]
        )
        for name, site in sorted(inputs.scenario.sites.items())
    )


def _site_use(inputs: Inputs, name: str, site: Site, nodes: Sequence[Node]) -> SiteUse:
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
