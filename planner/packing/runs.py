"""Schedules the runs of a counted plan on what the staying pieces leave of the nodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import floor
from typing import NamedTuple

from planner.packing.constraints.quotas import held_all_quarter
from planner.packing.cutting import CuttingStock, Packed
from planner.packing.hourly_runs import HourlyPool, Rental, hired
from planner.packing.list_schedule import (
    Cap,
    Placed,
    Room,
    UsageProfile,
    Waiting,
    one_after_the_other,
    scheduled,
)
from planner.packing.master import MasterProgram, PoolInQuarter, Usage
from planner.packing.problem import Shape

ClassMode = tuple[int, int]
"""A job class and one of its modes, by position."""
Schedule = dict[int, tuple["Placed", ...]]
"""One entry for each quarter. The nodes of a pool are numbered as `rooms_of` yields them."""
Rentals = dict["PoolInQuarter", tuple["Rental", ...]]
"""Nodes that exist for a part of a quarter."""


class Scheduled(NamedTuple):
    """Runs with their places, and the solution that results."""

    values: tuple[float, ...]
    schedule: Schedule
    rentals: Rentals
    crowded: list[PoolInQuarter]
    """Pools some of whose runs had to go to nodes for hours or weeks."""


def schedule_runs(
    master: MasterProgram,
    values: tuple[float, ...],
    packings: Mapping[PoolInQuarter, Packed],
    stocks: Mapping[int, CuttingStock],
) -> tuple[Scheduled, list[PoolInQuarter]]:
    """Schedule all runs of a plan; return also the pools, by quarter, whose runs found no room.

    Runs for which their pool's nodes leave no room go to those of another, or to nodes for hours
    or weeks if there are any; the solution then counts them there, and what those nodes cost.
    """
    schedule: Schedule = {}
    rentals: Rentals = {}
    short: dict[PoolInQuarter, None] = {}
    crowded: dict[PoolInQuarter, None] = {}
    for quarter in range(master.problem.quarters):
        hourly = hourly_pools(master, quarter)
        every = list(_waiting(master, values, quarter))
        if not every:
            continue
        rooms = list(rooms_of(master, values, packings, stocks, quarter))
        caps = list(_caps(master, values, quarter))
        asked = [one for one in every if one.pool not in hourly]
        placed, left = scheduled(rooms, asked, lambda caps=caps: _with(caps, ()))  # type: ignore[misc]
        crowded |= dict.fromkeys((one.pool, quarter) for one in left)
        hiring = [one for one in every if one.pool in hourly]
        for one in left:
            ways = sorted(
                (way for way in one.ways if way.pool in hourly),
                key=lambda way: hourly[way.pool].cents_per_hour,
            )
            if ways:
                hiring.append(replace(ways[0], elsewhere=tuple(ways[1:])))
            else:
                short[one.pool, quarter] = None
        if hiring:
            had, by_the_hour, without = hired(
                hourly,
                hiring,
                lambda caps=caps, placed=tuple(placed): _with(caps, placed),  # type: ignore[misc]
            )
            rentals |= {(pool, quarter): nodes for pool, nodes in had.items()}
            placed += by_the_hour
            short |= dict.fromkeys((one.pool, quarter) for one in without)
        schedule[quarter] = tuple(placed)
    values = _as_scheduled(master, values, schedule, rentals)
    return Scheduled(values, schedule, rentals, list(crowded)), list(short)


def on_fewest_gpus(
    master: MasterProgram,
    values: tuple[float, ...],
    packings: Mapping[PoolInQuarter, Packed],
    stocks: Mapping[int, CuttingStock],
    schedule: Schedule,
) -> Schedule:
    """Let the runs of each quarter follow each other on as few GPUs as their windows allow.

    Each run still needs a place in its pool. What is paid by the hour stays as it is.
    """
    changed = dict(schedule)
    for quarter, placed in schedule.items():
        hourly = hourly_pools(master, quarter)
        asked = {(usage.pool, usage.asked): _waits(usage) for usage in master.runs_in(quarter)}
        by_the_hour = [one for one in placed if one.pool in hourly]
        before = [one for one in placed if one.pool not in hourly]
        after = one_after_the_other(
            list(rooms_of(master, values, packings, stocks, quarter)),
            [asked[one.pool, one.shape] for one in before],
            _with(_caps(master, values, quarter), by_the_hour),
        )
        held = [
            len(
                {
                    (one.pool, node, gpu)
                    for one in runs
                    for node, first in one.places
                    for gpu in range(first, first + one.shape.gpus)
                }
            )
            for runs in (after or (), before)
        ]
        if after is not None and held[0] < held[1]:
            changed[quarter] = (*after, *by_the_hour)
    return changed


def hourly_pools(master: MasterProgram, quarter: int) -> dict[int, HourlyPool]:
    """Return the pools with nodes for hours or weeks in a quarter."""
    found = {}
    for number, supply in enumerate(master.problem.supplies):
        pool, cents = master.problem.pools[supply.pool], supply.unit_cost_cents[quarter]
        if pool.hire and cents is not None and (number, quarter) in master.acquire:
            offer = ~number if supply.offer is None else supply.offer
            found[supply.pool] = HourlyPool(pool, offer, supply.maximum, cents)
    return found


def _with(caps: Iterable[tuple[str, frozenset[int], int]], placed: Iterable[Placed]) -> list[Cap]:
    """Subtract runs that have a place from what quotas leave."""
    found = [Cap(owner, pools, UsageProfile(most)) for owner, pools, most in caps]
    for one in placed:
        for cap in found:
            if cap.owner == one.shape.owner and one.pool in cap.pools:
                cap.use.take(one.shape.gpus, one.start, one.start + one.shape.run.hours)
    return found


def _as_scheduled(
    master: MasterProgram, values: tuple[float, ...], schedule: Schedule, rentals: Rentals
) -> tuple[float, ...]:
    """Return a solution that counts runs where they are, and the hourly nodes that they need."""
    changed = list(values)
    for quarter, placed in schedule.items():
        there = Counter((one.pool, one.shape) for one in placed)
        for usage in master.runs_in(quarter):
            if usage.terms[0][0] in master.splits:
                changed[usage.terms[0][0]] = float(there[usage.pool, usage.asked])
    for (number, quarter), index in master.acquire.items():
        pool = master.problem.supplies[number].pool
        if master.problem.pools[pool].hire:
            changed[index] = float(sum(one.steps for one in rentals.get((pool, quarter), ())))
    return tuple(changed)


def rooms_of(
    master: MasterProgram,
    values: tuple[float, ...],
    packings: Mapping[PoolInQuarter, Packed],
    stocks: Mapping[int, CuttingStock],
    quarter: int,
) -> Iterator[Room]:
    """Yield the nodes that runs may use, pool after pool.

    In the order of their layouts, then empty ones: no more of these than runs could use, on
    whichever pool of their GPU type.
    """
    runs: dict[str, Counter[Shape]] = defaultdict(Counter)
    for usage in master.runs_in(quarter):
        gpu_type = master.problem.pools[usage.pool].gpu_type
        runs[gpu_type][usage.asked] += round(usage.pieces(values))
    for key in master.usages:
        if key[1] != quarter or master.problem.pools[key[0]].hire:
            continue
        kind, packed = master.problem.pools[key[0]], packings[key]
        node, here = kind.node, {usage.asked for usage in master.usages[key]}
        most = sum(
            pieces * max(1, shape.gpus // node.gpus)
            for shape, pieces in runs[kind.gpu_type].items()
            if shape in here
        )
        if not most:
            continue
        free = round(master.shared_nodes(*key, values))
        for pattern, times in packed.patterns:
            taken = [0, 0, 0]
            for index, units in pattern:
                held = packed.bundles[-1 - index] if index < 0 else (stocks[key[0]].shapes[index],)
                taken[0] += units if index < 0 else units * held[0].gpus
                taken[1] += units * sum(one.cpus for one in held)
                taken[2] += units * sum(one.memory_mb for one in held)
            free -= times
            left = (node.gpus - taken[0], node.cpus - taken[1], node.memory_mb - taken[2])
            for _ in range(times):
                yield Room(key[0], *left, whole=False)
        for _ in range(min(free, most)):
            yield Room(key[0], node.gpus, node.cpus, node.memory_mb)


def _waiting(master: MasterProgram, values: tuple[float, ...], quarter: int) -> Iterator[Waiting]:
    pools = master.problem.pools
    ways: dict[tuple[str, Shape], list[Waiting]] = defaultdict(list)
    pieces = []
    for usage in master.runs_in(quarter):
        alike = ways[pools[usage.pool].gpu_type, usage.asked]
        alike.append(_waits(usage))
        pieces.append((alike[-1], alike, round(usage.pieces(values))))
    for run, alike, number in pieces:
        elsewhere = tuple(other for other in alike if other is not run)
        yield from [replace(run, elsewhere=elsewhere)] * number


def _waits(usage: Usage) -> Waiting:
    on_node = usage.shape._replace(run=usage.asked.run)
    return Waiting(usage.pool, usage.asked, on_node, usage.times)


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
