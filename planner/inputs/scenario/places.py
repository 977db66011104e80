"""Pools and owned nodes by name, and which of them hold what runs today."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from planner.inputs.scenario.offer import FleetEntry
from planner.inputs.scenario.scenario import ResolvedScenario, Running


class NodePlace(NamedTuple):
    """A pool, or nodes of it."""

    node_type: str
    site: str
    numbers: tuple[int, ...] = ()
    """Of the owned nodes, from 1, sorted; empty: any node of the pool, owned or not."""

    @property
    def pool(self) -> str:
        """`xe9680-h100/frankfurt`."""
        return f"{self.node_type}/{self.site}"


def fleet_by_pool(
    scenario: ResolvedScenario,
) -> dict[tuple[str, str], list[tuple[str, FleetEntry]]]:
    """By node type and site: the entry behind each owned node, by number from 1.

    Nodes that serve longest have the lowest numbers, then they go by the name of their entry.
    """
    end = scenario.horizon.first_quarter + scenario.horizon.quarters
    found: dict[tuple[str, str], list[tuple[str, FleetEntry]]] = {}
    ranked = sorted(
        scenario.fleet.items(), key=lambda item: (end - min(item[1].retires or end, end), item[0])
    )
    for name, entry in ranked:
        found.setdefault((entry.node_type, entry.site), []).extend([(name, entry)] * entry.count)
    return found


def node_places(scenario: ResolvedScenario) -> dict[str, NodePlace]:
    """Owned nodes by name, numbers without leading zeros: look them up by `plain`."""
    return {
        f"{node_type}/{site}/{number}": NodePlace(node_type, site, (number,))
        for (node_type, site), nodes in fleet_by_pool(scenario).items()
        for number in range(1, len(nodes) + 1)
    }


def plain(node: str) -> str:
    """The name of a node without the zeros that lead its number."""
    pool, slash, number = node.rpartition("/")
    return f"{pool}{slash}{number.lstrip('0')}"


def pool_places(scenario: ResolvedScenario) -> dict[str, NodePlace]:
    """Pools that are owned or offered, by name."""
    owned = {NodePlace(entry.node_type, entry.site) for entry in scenario.fleet.values()}
    offered = {
        NodePlace(offer.node_type, site)
        for offer in scenario.offers.values()
        for site in offer.sites
    }
    return {place.pool: place for place in sorted(owned | offered)}


class RunningUnit(NamedTuple):
    """One unit that runs today."""

    job: str
    place: NodePlace
    pinned: bool


def running_units(scenario: ResolvedScenario) -> dict[tuple[str, int], RunningUnit]:
    """Job and unit number, from 1 -> where it runs; entries must have been checked."""
    nodes, pools = node_places(scenario), pool_places(scenario)
    done: Counter[str] = Counter()
    found = {}
    for entry in scenario.running:
        place = place_of(entry, nodes, pools)
        pinned = entry.pinned or scenario.jobs[entry.job].pinned
        for _ in range(entry.count):
            done[entry.job] += 1
            found[entry.job, done[entry.job]] = RunningUnit(entry.job, place, pinned)
    return found


def place_of(entry: Running, nodes: dict[str, NodePlace], pools: dict[str, NodePlace]) -> NodePlace:
    """Where an entry runs; a pool that is neither owned nor offered any more is one, too."""
    if entry.pool is not None:
        node_type, _, site = entry.pool.partition("/")
        return pools.get(entry.pool, NodePlace(node_type, site))
    places = [nodes[plain(name)] for name in entry.nodes]
    numbers = sorted(place.numbers[0] for place in places)
    return places[0]._replace(numbers=tuple(numbers))
