"""The servers of a plan by name: owned, bought, rented, reserved, and those had for hours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.inputs.scenario.places import fleet_by_pool, running_units
from planner.packing.statement.translate import held_name
from planner.plan.plan import Node

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planner.inputs.settled import Inputs
    from planner.packing import Translation
    from planner.packing.problem import Pool
    from planner.packing.solution import Solution
    from planner.plan.parts.servers import Origin

__all__ = ["Fleet", "build_fleet", "with_racks"]

Slot = tuple["Origin", str, tuple[int, ...], "tuple[int, int] | None"]
"""Origin, fleet entry or offer, quarters in service from 0; from when to when of the one quarter,
where it comes and goes."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Every server that is in service at some time, by position."""

    nodes: tuple[Node, ...]
    pool: tuple[int, ...]
    """Pool of each node; where it is held apart, the pool of its type and site."""
    in_service: tuple[tuple[tuple[int, ...], ...], ...]
    """quarter × pool: positions of the nodes in service, longest-lived origin first."""


def build_fleet(inputs: Inputs, translation: Translation, solution: Solution) -> Fleet:
    """Give every owned, bought and rented node an identity.

    A bought node stays to the end. A rented number stands for one place of its offer: rented again
    in a later quarter it keeps its number, so that a renewed rent is no move.
    """
    problem = translation.problem
    labels = inputs.scenario.horizon.labels
    nodes: list[Node] = []
    pool_of: list[int] = []
    serving: list[list[list[int]]] = [[[] for _ in problem.pools] for _ in labels]
    numbered = {
        (place.node_type, place.site, number): held_name(place)
        for place in {unit.place for unit in running_units(inputs.scenario).values() if unit.pinned}
        for number in place.numbers
    }
    parts = {pool.name: index for index, pool in enumerate(problem.pools)}
    for index, pool in enumerate(problem.pools):
        if pool.held:
            continue
        slots = [
            *_owned(inputs, pool, len(labels)),
            *_bought(translation, solution, index),
        ]
        rented = list(_rented(translation, solution, index))
        reserved = list(_reserved(translation, solution, index))
        hired = list(_hired(translation, solution, index))
        marked = (("", slots), ("r", rented), ("v", reserved), ("h", hired))
        suffixes = [suffix for mark, slots in marked for suffix in _numbers(mark, slots)]
        every = [slot for _, slots in marked for slot in slots]
        for number, (suffix, (origin, entry, quarters, hours)) in enumerate(
            zip(suffixes, every, strict=True), start=1
        ):
            held = numbered.get((pool.node_type, pool.site, number))
            part = index if held is None else parts[held]
            for quarter in quarters:
                serving[quarter][part].append(len(nodes))
            nodes.append(
                Node(
                    id=f"{pool.home}/{suffix}",
                    node_type=pool.node_type,
                    gpu_type=pool.gpu_type,
                    gpus=pool.node.gpus,
                    cpus=pool.node.cpus,
                    memory_mb=pool.node.memory_mb,
                    site=pool.site,
                    origin=origin,
                    entry=entry,
                    in_service=tuple(labels[quarter] for quarter in quarters),
                    hours=hours,
                    steps=(hours[1] - hours[0]) // pool.hire.step_hours
                    if hours and pool.hire
                    else 1,
                )
            )
            pool_of.append(index)
    return Fleet(
        tuple(nodes),
        tuple(pool_of),
        tuple(tuple(tuple(nodes) for nodes in quarter) for quarter in serving),
    )


def with_racks(fleet: Fleet, racks: Mapping[int, tuple[int, ...]]) -> Fleet:
    """The same servers, each in its rack."""
    nodes = tuple(
        node.model_copy(update={"racks": racks[place]}) if place in racks else node
        for place, node in enumerate(fleet.nodes)
    )
    return replace(fleet, nodes=nodes)


def _numbers(mark: str, slots: list[Slot]) -> Iterator[str]:
    """`03`, `r03` of a rented node, `v03` of a reserved one, `h03` of one that is had for hours."""
    width = max(2, len(str(len(slots))))
    for number in range(1, len(slots) + 1):
        yield f"{mark}{number:0{width}d}"


def _owned(inputs: Inputs, pool: Pool, quarters: int) -> Iterator[Slot]:
    """By fleet entry, those that serve longest first."""
    first = inputs.scenario.horizon.first_quarter
    for name, entry in fleet_by_pool(inputs.scenario).get((pool.node_type, pool.site), ()):
        end = quarters if entry.retires is None else min(quarters, entry.retires - first)
        yield "owned", name, tuple(range(end)), None


def _bought(translation: Translation, solution: Solution, pool: int) -> Iterator[Slot]:
    quarters = translation.problem.quarters
    for quarter in range(quarters):
        for name, supply in _supplies(translation, pool):
            for _ in range(solution.bought[supply][quarter]):
                yield "buy", name, tuple(range(quarter, quarters)), None


def _rented(translation: Translation, solution: Solution, pool: int) -> Iterator[Slot]:
    for name, supply in _supplies(translation, pool):
        counts = solution.rented[supply]
        for place in range(max(counts, default=0)):
            yield "rent", name, tuple(q for q, count in enumerate(counts) if count > place), None


def _reserved(translation: Translation, solution: Solution, pool: int) -> Iterator[Slot]:
    for quarter in range(translation.problem.quarters if solution.reserved else 0):
        for name, supply in _supplies(translation, pool):
            for _ in range(solution.reserved[supply][quarter]):
                served = translation.problem.supplies[supply].served(quarter)
                yield "reserve", name, tuple(served), None


def _hired(translation: Translation, solution: Solution, pool: int) -> Iterator[Slot]:
    """In the order of the layouts, which say when each is there."""
    if not translation.problem.pools[pool].hire:
        return
    ((name, _),) = _supplies(translation, pool)
    for quarter, layouts in enumerate(solution.layouts):
        for layout in layouts[pool]:
            yield "hourly", name, (quarter,), layout.hours


def _supplies(translation: Translation, pool: int) -> list[tuple[str, int]]:
    supplies = enumerate(translation.problem.supplies)
    return sorted(
        (translation.offers[index], index) for index, supply in supplies if supply.pool == pool
    )
