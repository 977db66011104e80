"""Where pieces sit on named nodes, and where those sit that run before the first quarter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.packing.problem import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.packing import Translation
    from planner.packing.problem import Choice
    from planner.plan.placing.fleet import Fleet

__all__ = ["Piece", "Seat", "Seats", "seats_today"]

Piece = tuple[int, int, int]
"""Demand, position among its members, and replica from 1."""


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a piece sits: its nodes, and the GPU numbers it holds on each of them."""

    nodes: tuple[int, ...]
    gpus: tuple[tuple[int, ...], ...]
    start: int | None = None
    """Hour of the quarter in which its run starts; None: it holds them all quarter."""
    slot: int = 0
    """First memory slice of its partition."""
    shared: bool = False
    """Whether others may have the same GPUs, at other hours or in parts."""


Seats = dict[Piece, Seat]


def seats_today(
    translation: Translation,
    fleet: Fleet,
    kept: tuple[tuple[int, ...], ...],
    today: Mapping[tuple[str, int], tuple[int, ...]],
) -> Seats:
    """Seats of the units that run today with the choice that they take from now on.

    `today` gives their nodes by job and unit. Left out are units whose choice runs on other nodes,
    those for which their nodes, by the needs that the rules state, have no room, and runs, which
    hold no node for good.
    """
    seats: Seats = {}
    free = {place: _offered(fleet, place) for nodes in today.values() for place in nodes}
    numbers = {place: list(range(fleet.nodes[place].gpus)) for place in free}
    serving = {place for pool in fleet.in_service[0] for place in pool} if today else set()
    for demand, members in enumerate(translation.members):
        for position, unit in enumerate(members):
            nodes = today.get(unit, ())
            choice = translation.problem.demands[demand].choices[kept[demand][position]]
            if choice.shape.is_run or not serving.issuperset(nodes):
                continue
            if not _runs_on(translation, fleet, choice, nodes):
                continue
            each = _share(choice.shape, len(nodes))
            if all(_fits(each, free[place]) for place in nodes):
                held = tuple(tuple(numbers[place][: each.gpus]) for place in nodes)
                for place in nodes:
                    free[place] = _less(free[place], each)
                    del numbers[place][: each.gpus]
                seats[demand, position, 1] = Seat(nodes, held, shared=choice.shape.bundles)
    return seats


def _offered(fleet: Fleet, place: int) -> Shape:
    node = fleet.nodes[place]
    return Shape(node.gpus, node.cpus, node.memory_mb)


def _runs_on(
    translation: Translation, fleet: Fleet, choice: Choice, nodes: tuple[int, ...]
) -> bool:
    """Whether a unit that takes this choice may run on just these nodes."""
    pools = translation.problem.pools
    if not nodes or pools[fleet.pool[nodes[0]]].gpu_type != choice.gpu_type:
        return False
    home = pools[fleet.pool[nodes[0]]].home
    taken = {pool.nodes_taken(choice.shape) for pool in pools if pool.home == home}
    return len(nodes) in taken or (len(nodes) == 1 and 0 in taken)


def _share(shape: Shape, nodes: int) -> Shape:
    """What a piece takes of each of its nodes, rounded up."""
    return Shape(-(-shape.gpus // nodes), -(-shape.cpus // nodes), -(-shape.memory_mb // nodes))


def _fits(shape: Shape, node: Shape) -> bool:
    return shape.gpus <= node.gpus and shape.cpus <= node.cpus and shape.memory_mb <= node.memory_mb


def _less(node: Shape, shape: Shape) -> Shape:
    return Shape(node.gpus - shape.gpus, node.cpus - shape.cpus, node.memory_mb - shape.memory_mb)
