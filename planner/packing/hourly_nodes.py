"""Nodes that exist for a part of a quarter: what the runs on them need at least.

The capacity rows count the paid hours on average. Beyond that, a run needs its nodes for all of
its hours, whoever shares them (rows `moments` and `paid`), and hours in which a run has a node
alone are nobody else's (rows `alone`). Around each run, its nodes are paid for the minimum (rows
`minimum`). And in no window do runs need more nodes than the offer gives at once, at all of its
sites (rows `at-once`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.constraints.offers import offers_of
from planner.packing.dual_feasible import weights_by_order, windows_of
from planner.packing.master import MasterProgram, PoolInQuarter, Terms, Usage

_FEW = 60
"""The most lengths of runs for which moments are counted, longest first; the average decides
beyond."""
_WINDOWS = 8
"""The most windows of runs for which paid hours are told apart by when they are."""


def add_hire(master: MasterProgram) -> None:
    """State the rows of all pools with nodes for hours or weeks, offer by offer."""
    for supplies in offers_of(master.problem):
        offered = [master.problem.supplies[number] for number in supplies]
        if not master.problem.pools[offered[0].pool].hire:
            continue
        for quarter in range(master.problem.quarters):
            keys = [(supply.pool, quarter) for supply in offered]
            _add_offer(master, [key for key in keys if key in master.usages], offered[0].maximum)


def _add_offer(master: MasterProgram, keys: Sequence[PoolInQuarter], most: int | None) -> None:
    """State what is paid of an offer's pools in one quarter, and what it gives at once."""
    usages = [usage for key in keys for usage in master.usages[key]]
    spans = windows_of(master.gpus_of_runs(usages))
    present = [_add_paid(master, key, spans, most) for key in keys]
    if most is None:
        return
    for usage in usages:
        if usage.times > most:
            name = f"at-once[{usage.pool},{usage.quarter}]"
            master.program.row(name, dict(usage.terms), "<=", 0.0)
    for first, end in spans:
        load: Terms = defaultdict(float)
        for usage in usages:
            share = usage.asked.run.least_within(first, end) / (end - first)
            usage.weigh(load, usage.shape.gpus / master.problem.pools[usage.pool].node.gpus, share)
        name = f"at-once[{keys[0][0]},{keys[0][1]},{first}]"
        master.program.row(name, load, "<=", most)
        there = {nodes[first, end]: 1.0 for nodes in present if (first, end) in nodes}
        master.program.row(name, there, "<=", most)


def _add_paid(
    master: MasterProgram,
    key: PoolInQuarter,
    spans: Sequence[tuple[int, int]],
    most: int | None,
) -> dict[tuple[int, int], int]:
    """State what is paid of a pool in one quarter.

    Returns variables of the nodes that are there for all of a span in which some run must be.
    """
    usages, pool = master.usages[key], master.problem.pools[key[0]]
    assert pool.hire is not None
    minimum = pool.hire.minimum_hours
    windows = {(usage.asked.run.earliest, usage.asked.run.until) for usage in usages}
    if len(windows) > _WINDOWS:
        windows = set()
    every = sorted({*windows, (0, RUN_HOURS)})
    least = _around(usages, windows, minimum)
    must = {
        span: mine
        for span in spans
        if (
            mine := [
                one for one in usages if one.asked.run.least_within(*span) == span[1] - span[0]
            ]
        )
    }
    beside = {
        (first, end): (max(0, first - minimum + 1), min(RUN_HOURS, first + minimum))
        for first, end in must
    }
    points = {hour for window in (*every, *least, *beside.values()) for hour in window}
    alone, shared = _paid_by_hours(master, key, sorted(points))
    paid = alone | shared
    for first, end in every:
        inside = [
            usage
            for usage in usages
            if first <= usage.asked.run.earliest and usage.asked.run.until <= end
        ]
        load: Terms = defaultdict(float, _within(alone, first, end))
        for usage in inside:
            if usage.shape.gpus == pool.node.gpus:  # nothing is beside it
                usage.weigh(load, float(usage.asked.run.hours), 1.0)
        master.program.row(f"alone[{key[0]},{key[1]},{first}]", load, "<=", 0.0)
        sharing = [usage for usage in inside if usage.shape.gpus < pool.node.gpus]
        left = _within(shared, first, end)
        hours = sorted({usage.asked.run.hours for usage in sharing}, reverse=True)
        for each in hours[:_FEW]:
            upper = None if most is None else most * ((end - first) // each)
            _moments(master, key, sharing, each, left, upper)
    for (first, end), mine in sorted(least.items()):
        _minimum(master, key, mine, _within(paid, first, end))
    present = {}
    for span, mine in must.items():
        present[span] = nodes = master.program.variable(f"present[{key[0]},{key[1]}]", integer=True)
        for label, weights in _weights(master, key, mine, [1] * len(mine)):
            load = defaultdict(float, {nodes: -1.0})
            for usage, weight in zip(mine, weights, strict=True):
                usage.weigh(load, weight, 1.0)
            master.program.row(f"present-{label}[{key[0]},{key[1]}]", load, "<=", 0.0)
        first, end = beside[span]
        row = _within(paid, first, end) | {nodes: float(minimum)}
        master.program.row(f"minimum[{key[0]},{key[1]}]", row, "<=", 0.0)
    return present


def _paid_by_hours(
    master: MasterProgram, key: PoolInQuarter, points: Sequence[int]
) -> tuple[dict[int, int], dict[int, int]]:
    """Return variables of the node-hours paid between two points of time, with the first.

    Those in which some run has the whole node, and those in which runs may share it.
    """
    program, hire = master.program, master.problem.pools[key[0]].hire
    assert hire is not None
    alone, shared = (
        {program.variable(f"{kind}[{key[0]},{key[1]},{first}]"): first for first in points[:-1]}
        for kind in ("alone", "shared")
    )
    load: Terms = dict.fromkeys((*alone, *shared), 1.0)
    load |= dict.fromkeys(master.in_service[key], -float(hire.step_hours))
    program.row(f"paid[{key[0]},{key[1]}]", load, "<=", 0.0)
    return alone, shared


def _within(paid: Mapping[int, int], first: int, end: int) -> Terms:
    """Subtract the node-hours that are paid between two points of time."""
    return {index: -1.0 for index, start in paid.items() if first <= start < end}


def _moments(
    master: MasterProgram,
    key: PoolInQuarter,
    usages: Sequence[Usage],
    hours: int,
    left: Terms,
    upper: int | None,
) -> None:
    """State moments so many hours apart while a node exists: the runs on each fit one node.

    A run covers as many of them as it is long, in whole numbers, and each is paid with its
    hours. `left` subtracts what is paid while runs may share a node; `upper` bounds their
    number.
    """
    program, (pool, quarter) = master.program, key
    moments = program.variable(f"moments[{pool},{quarter},{hours}]", upper=upper, integer=True)
    times = [usage.asked.run.hours // hours for usage in usages]
    for label, weights in _weights(master, key, usages, times):
        load: Terms = defaultdict(float, {moments: -1.0})
        for usage, weight in zip(usages, weights, strict=True):
            usage.weigh(load, weight, 1.0)
        program.row(f"moments-{label}[{pool},{quarter},{hours}]", load, "<=", 0.0)
    program.row(f"paid[{pool},{quarter},{hours}]", left | {moments: float(hours)}, "<=", 0.0)


def _weights(
    master: MasterProgram, key: PoolInQuarter, usages: Sequence[Usage], often: Sequence[int]
) -> Iterator[tuple[str, list[float]]]:
    """Return weights with which a node's pieces at one moment add up to at most 1.

    And what they are based on. Each run counts `often` times.
    """
    node = master.problem.pools[key[0]].node
    for resource, offered in (
        ("gpus", node.gpus),
        ("cpus", node.cpus),
        ("memory_mb", node.memory_mb),
    ):
        taken = [
            (0, getattr(usage.shape, resource), times)
            for usage, times in zip(usages, often, strict=True)
        ]
        if any(size for _, size, _ in taken):
            for order, weights in weights_by_order(taken, offered, 1):
                yield f"{resource}-{order}", weights


def _around(
    usages: Iterable[Usage], windows: Collection[tuple[int, int]], minimum: int
) -> dict[tuple[int, int], list[Usage]]:
    """Yield runs shorter than the minimum, by the hours within which it is paid around them."""
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
    master: MasterProgram, key: PoolInQuarter, usages: Sequence[Usage], left: Terms
) -> None:
    """Pay all nodes of a run for the minimum, in the hours around it.

    `left` subtracts what is paid in these.
    """
    hire = master.problem.pools[key[0]].hire
    assert hire is not None
    name = f"[{key[0]},{key[1]}]"
    for nodes in sorted({usage.times for usage in usages}):
        mine = [usage for usage in usages if usage.times == nodes]
        any_run = master.program.variable(f"hiring{name}", upper=1, integer=True)
        for usage in mine:
            runs = {**dict(usage.terms), any_run: -float(nodes * master.most_pieces[usage.asked])}
            master.program.row(f"hiring{name}", runs, "<=", 0.0)
        load = left | {any_run: float(nodes * hire.minimum_hours)}
        master.program.row(f"minimum{name}", load, "<=", 0.0)
