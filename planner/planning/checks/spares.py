"""Nodes stay empty for those that fail, in each pool and in groups that share their spares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from planner.inputs.scenario.site import SpareGroup
from planner.inputs.text.words import count_of
from planner.planning.checks.moves import running_today
from planner.planning.checks.view import Findings, View
from planner.planning.plan import Node, Occupant
from planner.sizing.candidate import Candidate


class _Quarter(NamedTuple):
    """One quarter, as the placements have it."""

    number: int
    """From 0."""
    label: str
    serving: tuple[Node, ...]
    """Those that come and go within the quarter have no spare ones."""
    held: dict[str, tuple[Occupant, ...]]
    """By node in use."""

    def empty(self, node_type: str, site: str) -> int:
        """Nodes of a pool on which nobody is."""
        here = (node for node in self.serving if (node.node_type, node.site) == (node_type, site))
        return sum(node.id not in self.held for node in here)

    def one_of(self, node_type: str, site: str) -> Node | None:
        """A node of a pool, where there is one."""
        pool = (node_type, site)
        return next((one for one in self.serving if (one.node_type, one.site) == pool), None)


def _quarters(view: View) -> Iterator[_Quarter]:
    for number, (label, uses) in enumerate(zip(view.labels, view.plan.placements, strict=True)):
        serving = tuple(
            node for node in view.plan.nodes if label in node.in_service and node.hours is None
        )
        known = {node.id for node in serving}
        held = {use.node: use.occupants for use in uses if use.node in known}
        yield _Quarter(number, label, serving, held)


def _spares(view: View) -> Findings:
    groups = [
        (name, site, group)
        for site, stated in view.inputs.scenario.sites.items()
        for name, group in stated.spare_groups.items()
    ]
    for quarter in _quarters(view):
        yield from _of_each(view, quarter)
        for name, site, group in groups:
            where = f"{quarter.label}: spare nodes of {name} at {site}"
            yield from _shared(view, quarter, where, site, group)
    shared = f", and {count_of(len(groups), 'group')} of node types can share theirs"
    return f"spare nodes stay empty{shared if groups else ''}"


def _of_each(view: View, quarter: _Quarter) -> Iterator[str]:
    serving = Counter((node.node_type, node.site) for node in quarter.serving)
    used = {(node.node_type, node.site) for node in quarter.serving if node.id in quarter.held}
    for pool in sorted(used):
        spare, empty = view.spare(*pool), quarter.empty(*pool)
        if empty < spare:
            yield (
                f"{quarter.label}: {pool[0]} at {pool[1]} must keep {spare} spare, "
                f"{empty} of {serving[pool]} nodes are empty"
            )


def _shared(
    view: View, quarter: _Quarter, where: str, site: str, group: SpareGroup
) -> Iterator[str]:
    """What is told as spare is empty, and stands in for each node type of the group in use."""
    kept = {
        pool.node_type: pool.nodes_spare[quarter.number]
        for pool in view.plan.pools
        if pool.site == site and pool.node_type in group.node_types and not pool.offer
    }
    for node_type, nodes in kept.items():
        empty = quarter.empty(node_type, site)
        if nodes > empty:
            yield f"{where}: {nodes} of {node_type} are told, {empty} are empty"
    needed = group.nodes or (group.racks or 0) * _fullest(quarter, site, group)
    for node_type in kept:
        mine = quarter.one_of(node_type, site)
        units = list(_units(view, quarter, node_type, site))
        if mine is None or not units:
            continue
        there = sum(
            nodes
            for other, nodes in kept.items()
            if other == node_type
            or (
                (one := quarter.one_of(other, site)) and _stands_in(view, quarter, units, mine, one)
            )
        )
        if there < needed:
            yield f"{where}: {there} can stand in for {node_type}, {needed} are needed"


def _fullest(quarter: _Quarter, site: str, group: SpareGroup) -> int:
    """Nodes of a group in the rack that holds most of them."""
    racks = Counter(
        node.racks[node.in_service.index(quarter.label)]
        for node in quarter.serving
        if node.site == site and node.node_type in group.node_types and node.racks
    )
    return max(racks.values(), default=0)


class _Unit(NamedTuple):
    """A replica or a run of a unit on one node."""

    job: str
    way: Candidate
    stays: bool
    """Whether it is pinned, or takes several nodes."""


def _units(view: View, quarter: _Quarter, node_type: str, site: str) -> Iterator[_Unit]:
    pinned = {unit for unit, place in running_today(view).items() if place.pinned}
    for node in quarter.serving:
        if (node.node_type, node.site) == (node_type, site):
            for one in quarter.held.get(node.id, ()):
                way = view.candidate(one.job, node, one)
                if way is not None:
                    stays = (one.job, one.unit) in pinned or way.gpus > node.gpus
                    yield _Unit(one.job, way, stays)


def _rate(way: Candidate) -> float:
    return way.serving.planned_requests_per_second if way.serving else 0.0


def _stands_in(view: View, quarter: _Quarter, units: list[_Unit], mine: Node, other: Node) -> bool:
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
            and way.replicas_in(quarter.number) <= now.replicas_in(quarter.number)
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
