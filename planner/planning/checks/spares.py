"""Nodes stay empty for those that fail, in each pool and in groups that share their spares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from planner.inputs.scenario.site import SpareGroup
from planner.inputs.text import count_of
from planner.planning.checks.moves import running_today
from planner.planning.checks.view import Findings, View
from planner.planning.plan import Node
from planner.sizing.candidate import Candidate

_Pool = tuple[str, str]
"""Node type and site."""


def _here(view: View, quarter: int, pool: _Pool) -> list[Node]:
    return [node for node in view.serving[quarter] if (node.node_type, node.site) == pool]


def _empty(view: View, quarter: int, pool: _Pool) -> int:
    """Nodes of a pool on which nobody is."""
    return sum(node.id not in view.held[quarter] for node in _here(view, quarter, pool))


def _spares(view: View) -> Findings:
    groups = [
        (name, site, group)
        for site, stated in view.inputs.scenario.sites.items()
        for name, group in stated.spare_groups.items()
    ]
    for quarter, label in enumerate(view.labels):
        yield from _of_each(view, quarter)
        for name, site, group in groups:
            where = f"{label}: spare nodes of {name} at {site}"
            yield from _shared(view, quarter, where, site, group)
    shared = f", and {count_of(len(groups), 'group')} of node types can share theirs"
    return f"spare nodes stay empty{shared if groups else ''}"


def _of_each(view: View, quarter: int) -> Iterator[str]:
    held = view.held[quarter]
    used = {(one.node_type, one.site) for one in view.serving[quarter] if one.id in held}
    for pool in sorted(used):
        spare, empty = view.spare(*pool), _empty(view, quarter, pool)
        if empty < spare:
            yield (
                f"{view.labels[quarter]}: {pool[0]} at {pool[1]} must keep {spare} spare, "
                f"{empty} of {len(_here(view, quarter, pool))} nodes are empty"
            )


def _shared(view: View, quarter: int, where: str, site: str, group: SpareGroup) -> Iterator[str]:
    """What is told as spare is empty, and stands in for each node type of the group in use."""
    kept = {
        pool.node_type: pool.nodes_spare[quarter]
        for pool in view.plan.pools
        if pool.site == site and pool.node_type in group.node_types and not pool.offer
    }
    for node_type, nodes in kept.items():
        empty = _empty(view, quarter, (node_type, site))
        if nodes > empty:
            yield f"{where}: {nodes} of {node_type} are told, {empty} are empty"
    needed = group.nodes or (group.racks or 0) * _fullest(view, quarter, site, group)
    for node_type in kept:
        mine = _here(view, quarter, (node_type, site))
        units = list(_units(view, quarter, mine))
        if not units:
            continue
        there = sum(
            nodes
            for other, nodes in kept.items()
            if other == node_type
            or (
                (others := _here(view, quarter, (other, site)))
                and _stands_in(view, quarter, units, mine[0], others[0])
            )
        )
        if there < needed:
            yield f"{where}: {there} can stand in for {node_type}, {needed} are needed"


def _fullest(view: View, quarter: int, site: str, group: SpareGroup) -> int:
    """Nodes of a group in the rack that holds most of them."""
    racks = Counter(
        node.racks[node.in_service.index(view.labels[quarter])]
        for node in view.serving[quarter]
        if node.site == site and node.node_type in group.node_types and node.racks
    )
    return max(racks.values(), default=0)


class _Unit(NamedTuple):
    """A replica or a run of a unit on one node."""

    job: str
    way: Candidate
    stays: bool
    """Whether it is pinned, or takes several nodes."""


def _units(view: View, quarter: int, nodes: list[Node]) -> Iterator[_Unit]:
    """All that is on these nodes."""
    pinned = {unit for unit, place in running_today(view).items() if place.pinned}
    for node in nodes:
        for one in view.held[quarter].get(node.id, ()):
            way = view.candidate(one.job, node, one)
            if way is not None:
                stays = (one.job, one.unit) in pinned or way.gpus > node.gpus
                yield _Unit(one.job, way, stays)


def _rate(way: Candidate) -> float:
    return way.serving.planned_requests_per_second if way.serving else 0.0


def _stands_in(view: View, quarter: int, units: list[_Unit], mine: Node, other: Node) -> bool:
    """Whether a node of another type can take in all that a node of the first may hold of these.

    Each of them has whole GPUs, could run there on no more of them and for no longer, takes no more
    of the host than the share of its GPUs, and of traffic that it shares as much.
    """

    def goes_on(job: str, now: Candidate, way: Candidate) -> bool:
        shared = view.sized[job].shares_traffic
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
            for way in view.sized[unit.job].sizing.candidates
            if other.gpu_type != mine.gpu_type or way == unit.way
        )
        for unit in units
    )


CHECKS = (_spares,)
