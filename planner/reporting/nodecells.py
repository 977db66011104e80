"""What the map of the fleet shows of one GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.planning.plan import Node, NodeUse, Plan

__all__ = ["FREE", "OTHER", "cell", "holders_by_gpu", "sharing_aid"]

FREE = "·"
OTHER = "#"
"""A job for which no letter is left on one line."""
_SEVERAL = "+"


def holders_by_gpu(use: NodeUse, node: Node) -> tuple[tuple[str, ...], ...]:
    """Jobs that hold something of each GPU at some hour, in order."""
    held: list[dict[str, None]] = [{} for _ in range(node.gpus)]
    for occupant in use.occupants:
        for gpu in occupant.gpus:
            held[gpu].setdefault(occupant.job)
    return tuple(tuple(jobs) for jobs in held)


def cell(jobs: Sequence[str], marks: Mapping[str, str]) -> str:
    """One character: free, the mark of its job, or that several share it."""
    if len(jobs) > 1:
        return _SEVERAL
    return marks.get(jobs[0], OTHER) if jobs else FREE


def sharing_aid(plan: Plan) -> str:
    """What the mark of several jobs means, where there is one."""
    nodes = {node.id: node for node in plan.nodes}
    shared = any(
        len(jobs) > 1
        for uses in plan.placements
        for use in uses
        for jobs in holders_by_gpu(use, nodes[use.node])
    )
    return f" {_SEVERAL} is one that several jobs share, in time or in parts." if shared else ""
