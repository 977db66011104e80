"""Runs of a counted plan on the nodes that pieces which stay leave them."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, NamedTuple

from planner.packing.constraints.quotas import held_all_quarter
from planner.packing.formulation.hourly_nodes import most_at_once
from planner.packing.node_packing.hourly_runs import hired
from planner.packing.node_packing.list_schedule import (
    Cap,
    Placed,
    Room,
    UsageProfile,
    Waiting,
    scheduled,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from planner.packing.master import MasterProgram, PoolInQuarter
    from planner.packing.node_packing.hourly_runs import Rental
    from planner.packing.node_packing.packed import Packed
    from planner.packing.problem import Shape

__all__ = ["Rentals", "Schedule", "rooms_of", "schedule_runs"]

Schedule = dict[int, tuple["Placed", ...]]
"""By quarter. Nodes are numbered as `rooms_of` gives them, pool after pool."""
Rentals = dict["PoolInQuarter", tuple["Rental", ...]]
"""Nodes that come and go within a quarter."""


class Scheduled(NamedTuple):
    """Runs with their places, and the solution that they make."""

    values: tuple[float, ...]
    schedule: Schedule
    rentals: Rentals
    crowded: list[PoolInQuarter]
    """Pools some of whose runs had to go to nodes that come and go."""


def schedule_runs(
    master: MasterProgram,
    values: tuple[float, ...],
    packings: Mapping[PoolInQuarter, Packed],
    shapes: Mapping[int, tuple[Shape, ...]],
) -> tuple[Scheduled, list[PoolInQuarter]]:
    """All runs of a plan, and the pools whose runs found no room, with their quarters.

    Runs for which nodes leave no room are on such as come and go where these can be had; the
    solution counts them there then, and what is paid of those nodes.
    """
    schedule: Schedule = {}
    rentals: Rentals = {}
    pools = master.problem.pools
    short: dict[PoolInQuarter, None] = {}
    crowded: dict[PoolInQuarter, None] = {}
    for quarter in range(master.problem.quarters):
        every = list(_waiting(master, values, quarter))
        runs = [one for one in every if not pools[one.pool].hire]
        hiring = [one for one in every if pools[one.pool].hire]
        if not every:
            continue
        rooms = [room for _, room in rooms_of(master, values, packings, shapes, quarter)]
        caps = list(_caps(master, values, quarter))
        placed, left = scheduled(
            rooms,
            runs,
            lambda caps=caps: _with(caps, ()),  # type: ignore[misc]
        )
        if left:
            crowded |= dict.fromkeys((one.pool, quarter) for one in left)
            values, left, beyond = _with_hours(master, values, quarter, left)
            hiring += beyond
        for pool in sorted({one.pool for one in hiring}):
            mine = [one for one in hiring if one.pool == pool]
            had, without = hired(
                pools[pool],
                most_at_once(master, pool),
                mine,
                lambda caps=caps, placed=tuple(placed): _with(caps, placed),  # type: ignore[misc]
            )
            rentals[pool, quarter] = tuple(had)
            left = [*left, *without]
            placed += [
                Placed(pool, shape, start, ((-1, gpu),))
                for rental in rentals[pool, quarter]
                for shape, start, gpu in rental.runs
            ]
        schedule[quarter] = tuple(placed)
        short |= dict.fromkeys((one.pool, quarter) for one in left)
    values = _with_rentals(master, values, rentals)
    return Scheduled(values, schedule, rentals, list(crowded)), list(short)


def _with_hours(
    master: MasterProgram, values: tuple[float, ...], quarter: int, left: Iterable[Waiting]
) -> tuple[tuple[float, ...], list[Waiting], list[Waiting]]:
    """Runs without room counted on nodes that come and go, those that still have none, and them."""
    problem, changed = master.problem, list(values)
    without, beyond = [], []
    for one in left:
        here = _split_of(master, (one.pool, quarter), one.shape)
        gpu_type = problem.pools[one.pool].gpu_type
        for number, pool in enumerate(problem.pools):
            there = _split_of(master, (number, quarter), one.shape)
            if pool.hire and pool.gpu_type == gpu_type and None not in (here, there):
                assert here is not None
                assert there is not None
                changed[here] -= 1.0
                changed[there] += 1.0
                beyond.append(Waiting(number, one.shape, pool.on_node(one.shape), 1))
                break
        else:
            without.append(one)
    return tuple(changed), without, beyond


def _split_of(master: MasterProgram, key: PoolInQuarter, shape: Shape) -> int | None:
    """The variable that counts pieces of a shape on a pool, where several pools share them."""
    usages = master.usages.get(key, ())
    indices = (usage.terms[0][0] for usage in usages if usage.asked == shape)
    return next((index for index in indices if index in master.splits), None)


def _with(caps: Iterable[tuple[str, frozenset[int], int]], placed: Iterable[Placed]) -> list[Cap]:
    """What quotas leave beside runs that have a place."""
    found = [Cap(owner, pools, UsageProfile(most)) for owner, pools, most in caps]
    for one in placed:
        for cap in found:
            if cap.owner == one.shape.owner and one.pool in cap.pools:
                cap.use.take(one.shape.gpus, one.start, one.start + one.shape.run.hours)
    return found


def _with_rentals(
    master: MasterProgram, values: tuple[float, ...], rentals: Rentals
) -> tuple[float, ...]:
    """A solution in which what is paid of nodes that come and go is what their runs need."""
    changed = list(values)
    for (number, quarter), index in master.acquire.items():
        pool = master.problem.supplies[number].pool
        if master.problem.pools[pool].hire:
            changed[index] = float(sum(one.steps for one in rentals.get((pool, quarter), ())))
    return tuple(changed)


def rooms_of(
    master: MasterProgram,
    values: tuple[float, ...],
    packings: Mapping[PoolInQuarter, Packed],
    shapes: Mapping[int, tuple[Shape, ...]],
    quarter: int,
) -> Iterator[tuple[int, Room]]:
    """Nodes that runs may use, pool after pool: in the order of their layouts, then empty ones.

    Each comes with the number of its pattern, or -1. Of empty nodes, no more than runs could use.
    """
    for key in master.usages:
        if key[1] != quarter or master.problem.pools[key[0]].hire:
            continue
        node, packed = master.problem.pools[key[0]].node, packings[key]
        most = sum(round(usage.units(values)) for usage in master.usages[key] if usage.asked.is_run)
        if not most:
            continue
        free = round(master.shared_nodes(*key, values))
        for number, (pattern, times) in enumerate(packed.patterns):
            taken = [0, 0, 0]
            for index, units in pattern:
                held = packed.bundles[-1 - index] if index < 0 else (shapes[key[0]][index],)
                taken[0] += units if index < 0 else units * held[0].gpus
                taken[1] += units * sum(one.cpus for one in held)
                taken[2] += units * sum(one.memory_mb for one in held)
            free -= times
            left = (node.gpus - taken[0], node.cpus - taken[1], node.memory_mb - taken[2])
            for _ in range(times):
                yield number, Room(key[0], *left, whole=False)
        for _ in range(min(free, most)):
            yield -1, Room(key[0], node.gpus, node.cpus, node.memory_mb)


def _waiting(master: MasterProgram, values: tuple[float, ...], quarter: int) -> Iterator[Waiting]:
    for key, usages in master.usages.items():
        for usage in usages if key[1] == quarter else ():
            if usage.asked.is_run:
                run = Waiting(key[0], usage.asked, usage.shape, usage.times)
                yield from [run] * round(usage.pieces(values))


def _caps(
    master: MasterProgram, values: tuple[float, ...], quarter: int
) -> Iterator[tuple[str, frozenset[int], int]]:
    for quota in master.problem.quotas:
        most = quota.at_most[quarter]
        if most is not None:
            pools = frozenset(
                number
                for number, pool in enumerate(master.problem.pools)
                if quota.gpu_type in (None, pool.gpu_type)
            )
            left = floor(most - held_all_quarter(master, quota, quarter, values))
            yield quota.owner, pools, left
