"""What a reader must know of spare nodes: that there are none, or more than are of use."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from planner.inputs.text.words import count_of
from planner.packing.statement.facility import spare_nodes
from planner.plan.figures.costs import acquired_cents
from planner.plan.plan import Note
from planner.plan.words import usd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.settled import Inputs
    from planner.plan.plan import Acquisition, Node, NodeUse

__all__ = ["dear_spares", "no_spare", "without_room"]

_ORIGIN = "policies.spare_nodes"

_Pool = tuple[str, str]
"""Node type and site."""


def dear_spares(
    inputs: Inputs,
    nodes: tuple[Node, ...],
    placements: tuple[tuple[NodeUse, ...], ...],
    bought: tuple[Acquisition, ...],
) -> Iterator[Note]:
    """Pools that keep more nodes empty than work there, with what the plan acquires beside that.

    Such a figure is seldom meant: it takes owned nodes out of use, or buys nodes to stand empty.
    """
    cents = acquired_cents(inputs, bought)
    at_work = _most_at_work(nodes, placements)
    shut = without_room(inputs, nodes)
    for pool in sorted(shut | at_work.keys()):
        kept, works = spare_nodes(inputs, *pool), at_work[pool]
        place = f"{pool[0]} @ {pool[1]}"
        here = cents.get(pool, 0)
        elsewhere = sum(cents.values()) - here
        others = f"the plan acquires others for {usd(elsewhere)} net present cost"
        if pool in shut:
            beside = f"; {others}" if elsewhere else ""
            yield Note(
                text=f"nothing can run on {place}, as {count_of(kept, 'spare node')} must stay "
                "empty in a pool that runs a job and it never has more nodes than that"
                f"{beside}",
                origin=_origin(inputs, pool),
            )
        elif kept > works and (here or elsewhere):
            what = f"the nodes that the plan acquires there cost {usd(here)} net present cost"
            yield Note(
                text=f"{count_of(kept, 'node')} of {place} must stay empty as spare beside "
                f"{works:,} at work; {what if here else others}",
                origin=_origin(inputs, pool),
            )


def no_spare(
    inputs: Inputs, nodes: tuple[Node, ...], placements: tuple[tuple[NodeUse, ...], ...]
) -> Iterator[Note]:
    """Everything on one node type, of which a failed node stops its jobs."""
    node_type_of = {node.id: node.node_type for node in nodes if not node.hours}
    at_work = (use.node for uses in placements for use in uses)
    used = {node_type_of[name] for name in at_work if name in node_type_of}
    spare = inputs.scenario.policies.spare_nodes
    by_site = any(site.spare_nodes for site in inputs.scenario.sites.values())
    if len(used) == 1:
        node_type = used.pop()
        kept = spare if isinstance(spare, int) else spare.get(node_type, 0)
        if not (kept or by_site):
            yield Note(
                text=f"everything runs on one node type, {node_type}, and no spare node is kept: "
                "a failed node stops its jobs",
                origin=_ORIGIN,
            )


def without_room(inputs: Inputs, nodes: tuple[Node, ...]) -> set[_Pool]:
    """Pools with owned nodes that have no more than are kept spare."""
    owned = {(node.node_type, node.site) for node in nodes if node.origin == "owned"}
    there = Counter(
        (node.node_type, node.site, quarter)
        for node in nodes
        if not node.hours
        for quarter in node.in_service
    )
    enough = {
        (node_type, site)
        for (node_type, site, _), count in there.items()
        if count > spare_nodes(inputs, node_type, site)
    }
    return owned - enough


def _most_at_work(
    nodes: tuple[Node, ...], placements: tuple[tuple[NodeUse, ...], ...]
) -> Counter[_Pool]:
    """Nodes of each pool that run anything, in the quarter in which most do."""
    pool_of = {node.id: (node.node_type, node.site) for node in nodes if not node.hours}
    most: Counter[_Pool] = Counter()
    for uses in placements:
        most |= Counter(pool_of[use.node] for use in uses if use.node in pool_of)
    return most


def _origin(inputs: Inputs, pool: _Pool) -> str:
    """Who asks for so many: the site, or the policies."""
    site = inputs.scenario.sites.get(pool[1])
    asked = spare_nodes(inputs, *pool)
    return f"sites.{pool[1]}.spare_nodes" if site and site.spare_nodes == asked else _ORIGIN
