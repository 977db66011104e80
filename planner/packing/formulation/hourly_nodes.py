"""Nodes that come and go within a quarter: what the runs on them need at the least.

Rows of capacity count the hours that are paid, on the average. Beyond that a run needs its nodes
for all of its hours, whoever shares them: rows `moments` and `paid`. Around each run, its nodes are
paid for the minimum: rows `minimum`. And in no window do runs need more nodes than the offer gives
at once, at all of its sites: rows `at-once`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.constraints.offers import offers_of
from planner.packing.node_packing.dual_feasible import weights_by_order, windows_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from planner.packing.master import MasterProgram, PoolInQuarter, Terms, Usage
    from planner.packing.problem import Supply

__all__ = ["add_hire"]

_FEW = 60
"""Lengths of runs for which moments are counted, the longest ones: beyond, the average decides."""
_WINDOWS = 8
"""Beyond so many windows of runs, hours that are paid are not told apart by when they are."""


def add_hire(master: MasterProgram) -> None:
    """State the rows of all pools whose nodes come and go."""
    for number, quarter in master.usages:
        if master.problem.pools[number].hire:
            _add_paid(master, (number, quarter))
    for quarter in range(master.problem.quarters):
        for supplies in offers_of(master.problem):
            _at_once(master, [master.problem.supplies[number] for number in supplies], quarter)


def _add_paid(master: MasterProgram, key: PoolInQuarter) -> None:
    """State what is paid of a pool in one quarter."""
    usages, pool = master.usages[key], master.problem.pools[key[0]]
    assert pool.hire is not None
    most = next(s.maximum for s in master.problem.supplies if s.pool == key[0])
    windows = {(usage.asked.run.earliest, usage.asked.run.until) for usage in usages}
    if len(windows) > _WINDOWS:
        windows = set()
    every = sorted({*windows, (0, RUN_HOURS)})
    least = _around(usages, windows, pool.hire.minimum_hours)
    points = {hour for window in (*every, *least) for hour in window}
    paid = _paid_by_hours(master, key, sorted(points))
    for first, end in every:
        inside = [
            usage
            for usage in usages
            if first <= usage.asked.run.earliest and usage.asked.run.until <= end
        ]
        left: Terms = {index: -1.0 for index, start in paid.items() if first <= start < end}
        sharing = [usage for usage in inside if usage.shape.gpus < pool.node.gpus]
        for usage in inside:
            if usage.shape.gpus == pool.node.gpus:  # nothing is beside it
                for index, factor in usage.terms:
                    left[index] = left.get(index, 0.0) + factor * usage.asked.run.hours
        hours = sorted({usage.asked.run.hours for usage in sharing}, reverse=True)
        for each in hours[:_FEW]:
            upper = None if most is None else most * ((end - first) // each)
            _moments(master, key, sharing, each, left, upper)
    for (first, end), mine in sorted(least.items()):
        _minimum(master, key, mine, [index for index, at in paid.items() if first <= at < end])


def _paid_by_hours(
    master: MasterProgram, key: PoolInQuarter, points: Sequence[int]
) -> dict[int, int]:
    """Variables of the node-hours that are paid between two points of time, with the first."""
    program, hire = master.program, master.problem.pools[key[0]].hire
    assert hire is not None
    paid = {program.variable(f"paid[{key[0]},{key[1]},{first}]"): first for first in points[:-1]}
    load: Terms = dict.fromkeys(paid, 1.0)
    load |= dict.fromkeys(master.in_service[key], -float(hire.step_hours))
    program.row(f"paid[{key[0]},{key[1]}]", load, "<=", 0.0)
    return paid


def _moments(
    master: MasterProgram,
    key: PoolInQuarter,
    usages: Sequence[Usage],
    hours: int,
    left: Terms,
    upper: int | None,
) -> None:
    """Moments that are so many hours apart, while a node is had: on each, what runs fits one node.

    A run is on as many of them as it is long, in whole numbers; and each is paid with its hours.
    `left` is what others take less what is paid, and `upper` how many there can be.
    """
    program, (pool, quarter) = master.program, key
    node = master.problem.pools[pool].node
    moments = program.variable(f"moments[{pool},{quarter},{hours}]", upper=upper, integer=True)
    times = [usage.asked.run.hours // hours for usage in usages]
    for resource, offered in (
        ("gpus", node.gpus),
        ("cpus", node.cpus),
        ("memory_mb", node.memory_mb),
    ):
        taken = [
            (0, getattr(usage.shape, resource), often)
            for usage, often in zip(usages, times, strict=True)
        ]
        if not any(size for _, size, _ in taken):
            continue
        for order, weights in weights_by_order(taken, offered, 1):
            load: Terms = defaultdict(float, {moments: -1.0})
            for usage, weight in zip(usages, weights, strict=True):
                usage.weigh(load, weight, 1.0)
            name = f"moments-{resource}-{order}[{pool},{quarter},{hours}]"
            program.row(name, load, "<=", 0.0)
    program.row(f"paid[{pool},{quarter},{hours}]", left | {moments: float(hours)}, "<=", 0.0)


def _around(
    usages: Iterable[Usage], windows: Collection[tuple[int, int]], minimum: int
) -> dict[tuple[int, int], list[Usage]]:
    """Runs that are shorter than the minimum, by the hours within which it is paid around them."""
    short: dict[tuple[int, int], list[Usage]] = defaultdict(list)
    for usage in usages:
        run = usage.asked.run
        if run.hours < minimum:
            short[(run.earliest, run.until) if windows else (0, RUN_HOURS)].append(usage)
    found: dict[tuple[int, int], list[Usage]] = defaultdict(list)
    for (first, end), mine in short.items():
        more = minimum - min(usage.asked.run.hours for usage in mine)
        found[max(0, first - more), min(RUN_HOURS, end + more)] += mine
    return found


def _minimum(
    master: MasterProgram, key: PoolInQuarter, usages: Sequence[Usage], paid: Iterable[int]
) -> None:
    """Where a run is, all of its nodes are paid for the minimum, in the hours around it."""
    hire = master.problem.pools[key[0]].hire
    assert hire is not None
    most = max(usage.times for usage in usages)
    nodes = master.program.variable(f"hiring[{key[0]},{key[1]}]", upper=most, integer=True)
    for usage, (_, gpus) in zip(usages, master.gpus_of_runs(usages), strict=True):
        runs = {**dict(usage.terms), nodes: -gpus / usage.asked.gpus}
        master.program.row(f"hiring[{key[0]},{key[1]}]", runs, "<=", 0.0)
    load = {nodes: float(hire.minimum_hours)} | dict.fromkeys(paid, -1.0)
    master.program.row(f"minimum[{key[0]},{key[1]}]", load, "<=", 0.0)


def _at_once(master: MasterProgram, supplies: Sequence[Supply], quarter: int) -> None:
    """No more nodes than an offer gives at any hour, at all of its sites."""
    most = supplies[0].maximum
    keys = [(supply.pool, quarter) for supply in supplies]
    usages = [usage for key in keys for usage in master.usages.get(key, ())]
    if most is None or not master.problem.pools[supplies[0].pool].hire:
        return
    gpus = master.problem.pools[supplies[0].pool].node.gpus
    for first, end in windows_of(master.gpus_of_runs(usages)):
        load: Terms = defaultdict(float)
        for usage in usages:
            share = usage.asked.run.least_within(first, end) / (end - first)
            usage.weigh(load, usage.shape.gpus / gpus, share)
        master.program.row(f"at-once[{supplies[0].pool},{quarter},{first}]", load, "<=", most)
