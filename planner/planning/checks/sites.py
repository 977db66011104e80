"""Checks the limits, racks, cooling and spare nodes of sites, and where jobs may run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from planner.inputs.checks.consistency import cooled_by
from planner.inputs.scenario.site import Racks, Site, SpareGroup
from planner.inputs.text import count_of
from planner.planning.checks.case import (
    Findings,
    PlanCase,
    differences,
    each_difference,
    in_force,
)
from planner.planning.checks.placement import running_today
from planner.planning.plan import Node
from planner.sizing.candidate import Candidate


class Limited(NamedTuple):
    """A resource of a site that its nodes share, and that the site limits."""

    need: str
    """The name of the need in the plan."""
    key: str
    """The key of the site that states the limit."""
    figure: str
    """The field of the node type that states what a node takes."""
    per: int
    """How many units of the plan make one unit of the key and the field."""
    what: str
    """The resource in the user's words."""
    unit: str
    """The unit of the key and the field."""
    drawn: bool = False
    """Whether a node that is switched off takes none of it."""


_POWER = Limited("power_w", "power_kw", "max_power_kw", 1000, "power", "kW", drawn=True)
_HEIGHT = Limited("rack_units", "rack_units", "rack_units", 1, "rack units", "U")
LIMITED = (
    _POWER,
    _HEIGHT,
    Limited("network_ports", "network_ports", "network_ports", 1, "network ports", "ports"),
)
"""Stated again here on purpose, so that the check finds a limit that the planner forgets."""


def _here(case: PlanCase, site: str) -> list[Node]:
    """Return the nodes that stand at a site.

    Nodes by the hour or week stand at their provider's.
    """
    return [node for node in case.plan.nodes if node.site == site and node.hours is None]


def _taking(nodes: Sequence[Node], label: str, limited: Limited) -> list[Node]:
    """Return the nodes in service and, unless the resource is a draw, those switched off."""
    return [
        node
        for node in nodes
        if label in node.in_service or (label in node.off and not limited.drawn)
    ]


def _taken(case: PlanCase, limited: Limited, nodes: Sequence[Node]) -> int | None:
    """Return what the nodes take, each rounded up to whole units of the plan.

    None if the catalog lacks the figure of one of them.
    """
    types = case.inputs.catalog.nodes
    stated = [getattr(types[node.node_type], limited.figure) for node in nodes]
    if None in stated:
        return None
    return sum(ceil(Fraction(str(one.value)) * limited.per) for one in stated)


def _allowed_at(site: Site, limited: Limited, label: str) -> int | None:
    stated = in_force(getattr(site, limited.key), label)
    return None if stated is None else floor(Fraction(str(stated)) * limited.per)


def _beyond(where: str, limited: Limited, taken: int | None, most: int | None) -> Iterator[str]:
    what, unit, per = limited.what, limited.unit, limited.per
    if most is None:
        return
    if taken is None:
        yield f"{where}: {what} is limited, but the catalog lacks the figure of a node there"
    elif taken > most:
        yield f"{where}: the nodes take {taken / per:g} of {most / per:g} {unit} of {what}"


def _limits(case: PlanCase) -> Findings:
    for name, site in case.inputs.scenario.sites.items():
        for label in case.labels:
            for limited in LIMITED:
                nodes = _taking(_here(case, name), label, limited)
                taken, most = _taken(case, limited, nodes), _allowed_at(site, limited, label)
                yield from _beyond(f"{label}: {name}", limited, taken, most)
    sites = case.inputs.scenario.sites.values()
    stated = sum(any(getattr(site, one.key) is not None for one in LIMITED) for site in sites)
    *others, last = (one.what for one in LIMITED)
    what = f"{', '.join(others)} or {last}"
    return f"no site gives more {what} than it has ({count_of(stated, 'site')} limited)"


def _racks(case: PlanCase) -> Findings:
    sites = case.inputs.scenario.sites
    for node in case.plan.nodes:
        site = sites.get(node.site)
        racks = site.racks if site and node.hours is None else None
        if racks is None:
            yield from differences(f"node {node.id}: the list of its racks", node.racks, ())
            continue
        if len(node.racks) != len(node.in_service) + len(node.off):
            yield f"node {node.id} is not in a rack in every quarter in which it stands"
        for rack in sorted({rack for rack in node.racks if not 1 <= rack <= racks.count}):
            yield f"node {node.id} stands in rack {rack}, {node.site} has {racks.count}"
    for name, site in sites.items():
        if site.racks is not None:
            yield from _each_rack(case, name, site.racks)
    return "every node at a site with racks stands in one that holds it"


def _each_rack(case: PlanCase, name: str, racks: Racks) -> Iterator[str]:
    held: dict[tuple[str, int], list[Node]] = defaultdict(list)
    for node in _here(case, name):
        for label, rack in _stands(case, node):
            held[label, rack].append(node)
    fed = None if racks.power_kw is None else floor(Fraction(racks.power_kw) * 1000)
    for (label, rack), nodes in sorted(held.items()):
        where = f"{label}: rack {rack} of {name}"
        yield from _beyond(where, _HEIGHT, _taken(case, _HEIGHT, nodes), racks.units)
        yield from _beyond(where, _POWER, _taken(case, _POWER, nodes), fed)


def _cooling(case: PlanCase) -> Findings:
    for node in case.plan.nodes:
        site = case.inputs.scenario.sites.get(node.site)
        if site is None or node.hours or not site.cooling or len(set(site.cooling)) == 2:
            continue  # both air and liquid cool anything
        ways = cooled_by(case.inputs.catalog.nodes[node.node_type]) or frozenset()
        if not ways & set(site.cooling):
            yield f"node {node.id} cannot be cooled at {node.site}, which has {site.cooling[0]}"
    return "every node can be cooled where it stands"


def _sites_of_jobs(case: PlanCase) -> Findings:
    allowed = {job.name: _allowed(case, job.root) for job in case.jobs}
    for planned in case.plan.jobs:
        expected = tuple(sorted(allowed.get(planned.name) or ()))
        yield from differences(f"job {planned.name}: its sites", planned.sites, expected)
    for _, label, (job, unit, _), places in case.pieces():
        sites, may = {node.site for node, _ in places}, allowed.get(job)
        if may is not None and not sites <= may:
            yield (
                f"{label}: unit {unit} of {job} is at {', '.join(sorted(sites - may))}, "
                f"it may run at {', '.join(sorted(may))} alone"
            )
    return "each unit runs at a site that its job may use"


def _allowed(case: PlanCase, name: str) -> set[str] | None:
    """Return the sites that a job may use by name and label; None if it restricts neither."""
    job = case.inputs.scenario.jobs.get(name)
    if job is None or (job.sites is None and not job.labels):
        return None
    listed = case.inputs.scenario.sites
    named = set(listed) if job.sites is None else set(job.sites)
    if not job.labels:
        return named
    return {
        site for site in named if site in listed and not set(job.labels) - {*listed[site].labels}
    }


def _figures(case: PlanCase) -> Findings:
    sites = case.inputs.scenario.sites
    names = [use.site for use in case.plan.sites]
    yield from differences("the list of sites", names, sorted(sites))
    for use in case.plan.sites:
        site, nodes = sites.get(use.site), _here(case, use.site)
        if site is None:
            continue
        entered = Counter(label for node in nodes for label in node.in_service)
        racks = Counter(label for label, _ in {at for one in nodes for at in _stands(case, one)})
        expected = {
            "nodes": tuple(entered[label] for label in case.labels),
            "racks_used": tuple(racks[label] for label in case.labels),
        }
        taken = {}
        for one in LIMITED:
            sums = tuple(_taken(case, one, _taking(nodes, label, one)) for label in case.labels)
            taken[one.need] = None if None in sums else sums
        allowed = {
            one.need: tuple(_allowed_at(site, one, label) for label in case.labels)
            for one in LIMITED
            if getattr(site, one.key) is not None
        }
        yield from each_difference(f"site {use.site}: taken", use.taken, taken)
        yield from each_difference(f"site {use.site}: allowed", use.allowed, allowed)
        yield from each_difference(f"site {use.site}:", use, expected)
    return "what the nodes take of their sites is counted rightly"


def _stands(case: PlanCase, node: Node) -> Iterator[tuple[str, int]]:
    """Yield the quarters in which a node stands, on or off, with its rack in each.

    Nothing without racks.
    """
    there = (label for label in case.labels if label in (*node.in_service, *node.off))
    return zip(there, node.racks, strict=False)


_Pool = tuple[str, str]
"""The node type and the site."""


def _in_pool(case: PlanCase, quarter: int, pool: _Pool) -> list[Node]:
    return [node for node in case.serving[quarter] if (node.node_type, node.site) == pool]


def _empty(case: PlanCase, quarter: int, pool: _Pool) -> int:
    """Return how many nodes of a pool run nothing."""
    return sum(node.id not in case.held[quarter] for node in _in_pool(case, quarter, pool))


def _spares(case: PlanCase) -> Findings:
    groups = [
        (name, site, group)
        for site, stated in case.inputs.scenario.sites.items()
        for name, group in stated.spare_groups.items()
    ]
    for quarter, label in enumerate(case.labels):
        yield from _of_each(case, quarter)
        for name, site, group in groups:
            where = f"{label}: spare nodes of {name} at {site}"
            yield from _shared(case, quarter, where, site, group)
    shared = f", and {count_of(len(groups), 'group')} of node types can share theirs"
    return f"spare nodes stay empty{shared if groups else ''}"


def _of_each(case: PlanCase, quarter: int) -> Iterator[str]:
    held = case.held[quarter]
    used = {(one.node_type, one.site) for one in case.serving[quarter] if one.id in held}
    for pool in sorted(used):
        spare, empty = case.spare(*pool), _empty(case, quarter, pool)
        if empty < spare:
            yield (
                f"{case.labels[quarter]}: {pool[0]} at {pool[1]} must keep {spare} spare, "
                f"{empty} of {len(_in_pool(case, quarter, pool))} nodes are empty"
            )


def _shared(
    case: PlanCase, quarter: int, where: str, site: str, group: SpareGroup
) -> Iterator[str]:
    """Check that stated spares are empty and can stand in for each node type in use."""
    kept = {
        pool.node_type: pool.nodes_spare[quarter]
        for pool in case.plan.pools
        if pool.site == site and pool.node_type in group.node_types and not pool.offer
    }
    for node_type, nodes in kept.items():
        empty = _empty(case, quarter, (node_type, site))
        if nodes > empty:
            yield f"{where}: {nodes} of {node_type} are told, {empty} are empty"
    needed = group.nodes or (group.racks or 0) * _fullest(case, quarter, site, group)
    for node_type in kept:
        mine = _in_pool(case, quarter, (node_type, site))
        units = list(_units(case, quarter, mine))
        if not units:
            continue
        there = sum(
            nodes
            for other, nodes in kept.items()
            if other == node_type
            or (
                (others := _in_pool(case, quarter, (other, site)))
                and _stands_in(case, quarter, units, mine[0], others[0])
            )
        )
        if there < needed:
            yield f"{where}: {there} can stand in for {node_type}, {needed} are needed"


def _fullest(case: PlanCase, quarter: int, site: str, group: SpareGroup) -> int:
    """Return how many nodes of a group stand in the rack that holds most of them."""
    racks = Counter(
        rack
        for node in case.serving[quarter]
        if node.site == site and node.node_type in group.node_types
        for label, rack in _stands(case, node)
        if label == case.labels[quarter]
    )
    return max(racks.values(), default=0)


class _Unit(NamedTuple):
    """A replica or a run of a unit on one node."""

    job: str
    way: Candidate
    stays: bool
    """Whether it cannot go elsewhere: it is pinned, or takes several nodes."""


def _units(case: PlanCase, quarter: int, nodes: list[Node]) -> Iterator[_Unit]:
    """Yield everything that runs on these nodes."""
    pinned = {unit for unit, place in running_today(case).items() if place.pinned}
    for node in nodes:
        for one in case.held[quarter].get(node.id, ()):
            way = case.candidate(one.job, node, one)
            if way is not None:
                stays = (one.job, one.unit) in pinned or way.gpus > node.gpus
                yield _Unit(one.job, way, stays)


def _rate(way: Candidate) -> float:
    return way.serving.planned_requests_per_second if way.serving else 0.0


def _stands_in(case: PlanCase, quarter: int, units: list[_Unit], mine: Node, other: Node) -> bool:
    """Return whether a node of another type could take over these units.

    Each unit must hold whole GPUs, run on the other type on no more GPUs and for no longer, need
    no more of the host than its GPUs' share, and take as much of a shared traffic.
    """

    def goes_on(job: str, now: Candidate, way: Candidate) -> bool:
        shared = case.sized[job].shares_traffic
        in_time = now.planned_hours is None or (
            way.planned_hours is not None and way.planned_hours <= now.planned_hours
        )
        return (
            way.gpu_type == other.gpu_type
            and not (shared and _rate(way) < _rate(now))
            and not (way.partition or way.shared_mb or now.partition or now.shared_mb)
            and (way.gpus <= now.gpus and in_time)
            and way.replicas_in(quarter) <= now.replicas_in(quarter)
            and way.cpus * mine.gpus <= now.gpus * other.cpus
            and way.memory_mb * mine.gpus <= now.gpus * other.memory_mb
        )

    return mine.gpus <= other.gpus and all(
        not unit.stays
        and any(
            goes_on(unit.job, unit.way, way)
            for way in case.sized[unit.job].sizing.candidates
            if other.gpu_type != mine.gpu_type or way == unit.way
        )
        for unit in units
    )


CHECKS = (_limits, _racks, _cooling, _sites_of_jobs, _figures)
SPARES = (_spares,)
