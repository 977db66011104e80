"""Checks that every unit is placed once and on what it needs, and what follows from that.

What follows: what moves, what is used, stored and kept free, counted from the placements.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import NamedTuple

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.inputs.scenario.scenario import plain
from planner.inputs.text import count_of
from planner.planning.checks.case import (
    Findings,
    PlanCase,
    ReplicaKey,
    Unit,
    at_once,
    differences,
    gpu_hours,
    most_at_once,
    node_hours,
)
from planner.planning.plan import Node, Occupant, PoolUse
from planner.sizing.candidate import Candidate

_ROUNDED = 1e-9
"""The share of a rate that may be lost because it is stored as a float."""
_SHARED = 1e-6
"""The share by which a replica's traffic is rounded up if GPU types share an endpoint."""


def _jobs(case: PlanCase) -> Findings:
    names = tuple(job.name for job in case.plan.jobs)
    yield from differences("the list of jobs", names, tuple(job.name for job in case.jobs))
    expected = {job.sizing.id: job.sizing for job in case.jobs}
    yield from differences("the list of sizings", sorted(case.plan.sizings), sorted(expected))
    wrong = {key for key, sizing in expected.items() if case.plan.sizings.get(key) != sizing}
    for planned in case.plan.jobs:
        sized = case.sized.get(planned.name)
        if sized is None:
            continue
        what = f"job {planned.name}"
        yield from differences(f"{what}: units by quarter", planned.units, sized.units)
        yield from differences(f"{what}: runs of a unit", planned.runs, sized.runs)
        origin = (planned.kind, planned.derived_from, planned.derived_by, planned.team)
        known = (sized.kind, sized.derived_from, sized.derived_by, sized.team)
        yield from differences(f"{what}: (kind, derived from, by, team)", origin, known)
        if planned.sizing != sized.sizing.id or planned.sizing in wrong:
            yield f"{what}: its sizing is not what the rules give"
    return f"each of {count_of(len(case.jobs), 'job')} has the sizing that the rules give"


def _once(case: PlanCase) -> Findings:
    for quarter, seats in enumerate(case.seats):
        label = case.labels[quarter]
        wanted = {
            (job.name, unit)
            for job in case.jobs
            for unit in range(1, job.units[quarter] + case.units_short(job.name, quarter) + 1)
        }
        placed = {(job, unit) for job, unit, _ in seats}
        missing: dict[str, list[int]] = {name: [] for name in case.sized}
        for job, unit in sorted(wanted - placed):
            missing[job].append(unit)
        for job, lacking in sorted(missing.items()):
            short = case.units_short(job, quarter)
            if short and len(lacking) != short:
                told = f"{count_of(len(lacking), 'unit')} of {job} not placed"
                yield f"{label}: {told}, the plan says that {short:,} are short"
            for unit in () if short else lacking:
                yield f"{label}: unit {unit} of {job} is not placed"
        for job, unit in sorted(placed - wanted):
            yield f"{label}: unit {unit} of {job} is placed but not asked for"
        for piece, places in seats.items():
            for node_id, times in Counter(node.id for node, _ in places).items():
                if times > 1:
                    yield f"{label}: {_told(piece)} is placed {times} times on {node_id}"
    units = sum(sum(job.units) for job in case.jobs)
    return f"each of {count_of(units, 'unit')} (job × quarter) is placed exactly once"


def _told(piece: ReplicaKey) -> str:
    job, unit, replica = piece
    return f"{'' if replica == 1 else f'replica {replica} of '}unit {unit} of {job}"


def _replicas(case: PlanCase) -> Findings:
    """Check the number of replicas or runs: what the job's load or its runs per quarter require."""
    for quarter, seats in enumerate(case.seats):
        label = case.labels[quarter]
        found: dict[Unit, list[int]] = defaultdict(list)
        for job, unit, replica in sorted(seats):
            found[job, unit].append(replica)
        for (job, unit), replicas in found.items():
            candidate = case.candidate(job, *seats[job, unit, replicas[0]][0])
            if candidate is None:
                continue
            runs = candidate.planned_hours is not None
            pieces = case.sized[job].runs if runs else candidate.replicas_in(quarter)
            wanted = list(range(1, 1 + pieces))
            what = "runs" if runs else "replicas"
            yield from differences(f"{label}: {what} of unit {unit} of {job}", replicas, wanted)
    return "each unit has the replicas that its load takes on its GPU type, and its runs"


def _traffic(case: PlanCase) -> Findings:
    """Check that the replicas of each endpoint can take the traffic that its load states."""
    horizon, loaded = case.inputs.scenario.horizon, 0
    for name, job in sorted(case.inputs.scenario.jobs.items()):
        load = job.load
        if load is None or name in case.short:
            continue
        loaded += 1
        counts = job.counts(horizon)
        begins = next((quarter for quarter, count in enumerate(counts) if count), 0)
        peaks = load.peaks(horizon, begins)
        for quarter, count in enumerate(counts):
            arriving = float(count * peaks[quarter])
            taken = sum(
                candidate.serving.planned_requests_per_second
                for (of, _, _), places in case.seats[quarter].items()
                if of == name
                and (candidate := case.candidate(of, *places[0])) is not None
                and candidate.serving is not None
            )
            on_apis = sum(units[quarter] for _, units in case.on_apis.get(name, ()))
            taken += on_apis * float(peaks[quarter])
            lost = _ROUNDED
            if name in case.sized and case.sized[name].shares_traffic:
                lost += _SHARED * case.sized[name].units[quarter]
            if taken < arriving * (1 - lost):
                yield (
                    f"{case.labels[quarter]}: {arriving:,.4g} requests a second arrive at {name}, "
                    f"what is there takes {taken:,.4g}"
                )
    return f"{count_of(loaded, 'endpoint')} can take what arrives, on GPUs or on APIs"


def _needs(case: PlanCase) -> Findings:
    for _, label, piece, places in case.pieces():
        what, (node, one) = f"{label}: {_told(piece)}", places[0]
        gpu_types = {node.gpu_type for node, _ in places}
        candidate = case.candidate(piece[0], node, one)
        if len(gpu_types) > 1:
            yield f"{what} is on several GPU types: {', '.join(sorted(gpu_types))}"
        elif candidate is None:
            way = one.way if one.way.startswith(node.gpu_type) else node.gpu_type
            yield f"{what} may not use {way}"
        else:
            held = [(len(one.gpus), one.cpus, one.memory_mb) for _, one in places]
            expected = (candidate.gpus, candidate.cpus, candidate.memory_mb)
            found = tuple(map(sum, zip(*held, strict=True)))
            yield from differences(f"{what}: (GPUs, cores, MB)", found, expected)
            if min(map(min, held)) < 0:
                yield f"{what} takes less than nothing of a node"
            yield from _together(case, what, candidate, places)
    return "each unit has the GPUs, cores and memory that its sizing asks for"


def _together(
    case: PlanCase, what: str, candidate: Candidate, places: Sequence[tuple[Node, Occupant]]
) -> Iterator[str]:
    """Check that a piece stays within one node, or takes whole nodes of one pool with a fabric."""
    if len(places) == 1:
        return
    nodes = [node for node, _ in places]
    if len({node.pool for node in nodes}) > 1:
        yield f"{what} spans different pools"
    if case.inputs.catalog.nodes[nodes[0].node_type].scale_out_fabric is None:
        yield f"{what} spans nodes of {nodes[0].node_type}, which has no fabric"
    if any(len(occupant.gpus) != node.gpus for node, occupant in places):
        yield f"{what} spans {len(places)} nodes without taking them whole"
    if not candidate.may_span:
        yield f"{what} spans {len(places)} nodes, but must stay within one"
    if candidate.gpus <= nodes[0].gpus:
        yield f"{what} spans {len(places)} nodes but fits one"


def _nodes_used(case: PlanCase) -> Findings:
    for label, uses in zip(case.labels, case.plan.placements, strict=True):
        for node_id, times in Counter(use.node for use in uses).items():
            if times > 1:
                yield f"{label}: node {node_id} is listed {times} times"
        for use in uses:
            node = case.nodes.get(use.node)
            if node is None:
                yield f"{label}: there is no node {use.node}"
            elif label not in node.in_service:
                yield f"{label}: node {use.node} is used but not in service"
            if not use.occupants:
                yield f"{label}: node {use.node} is listed as used but holds nothing"
    return "only nodes in service are used"


def _keeps(case: PlanCase) -> Findings:
    gpu_types: dict[str, Counter[str]] = defaultdict(Counter)
    ways: dict[str, Counter[str]] = defaultdict(Counter)
    found: dict[Unit, set[tuple[str, str]]] = defaultdict(set)
    for _, _, (job, unit, _), places in case.pieces():
        found[job, unit].update((node.gpu_type, one.way) for node, one in places)
    for (job, unit), seen in found.items():
        of_type, in_way = {gpu_type for gpu_type, _ in seen}, {way for _, way in seen}
        keeps = job not in case.sized or case.sized[job].keeps_gpu_type
        if keeps and len(of_type) > 1:
            yield f"unit {unit} of {job} changes its GPU type: {', '.join(sorted(of_type))}"
        elif keeps and len(in_way) > 1:
            yield f"unit {unit} of {job} changes how it runs: {', '.join(sorted(in_way))}"
        gpu_types[job].update(of_type)
        ways[job].update(in_way)
    for planned in case.plan.jobs:
        what = f"job {planned.name}"
        expected = _most_first(gpu_types[planned.name])
        yield from differences(f"{what}: GPU types", planned.gpu_types, expected)
        yield from differences(f"{what}: ways", planned.ways, _most_first(ways[planned.name]))
        sized = case.sized.get(planned.name)
        if planned.replicas or (sized and sized.shares_traffic):
            placed = Counter(
                (at, places[0][1].way)
                for at, _, (job, *_), places in case.pieces()
                if job == planned.name
            )
            every = range(len(case.labels))
            by_way = ((way, tuple(placed[at, way] for at in every)) for way, _ in planned.ways)
            yield from differences(f"{what}: replicas by way", planned.replicas, tuple(by_way))
    free = sum(not job.keeps_gpu_type for job in case.jobs)
    but = f", but for those of {count_of(free, 'job')} that may change it" if free else ""
    return f"each unit keeps its GPU type and how it runs there{but}"


def _most_first(units: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(units.items(), key=lambda item: (-item[1], item[0])))


class _Today(NamedTuple):
    """Where a unit runs before the first quarter."""

    pool: str
    """The pool, such as `xe9680-h100/frankfurt`."""
    nodes: frozenset[str]
    """The node ids; empty if only the pool is known."""
    pinned: bool


def running_today(case: PlanCase) -> dict[Unit, _Today]:
    """Return where each unit runs today.

    The entries of a job are its units 1, 2, … in the order in which they are listed.
    """
    ids = {plain(node.id): node for node in case.plan.nodes if node.origin == "owned"}
    found: dict[Unit, _Today] = {}
    last: dict[str, int] = {}
    for entry in case.inputs.scenario.running:
        named = [ids[plain(name)] for name in entry.nodes]
        pool = entry.pool or _pool_of(named[0])
        pinned = entry.pinned or case.inputs.scenario.jobs[entry.job].pinned
        for _ in range(entry.count):
            last[entry.job] = last.get(entry.job, 0) + 1
            nodes = frozenset(node.id for node in named)
            found[entry.job, last[entry.job]] = _Today(pool, nodes, pinned)
    return found


def _pool_of(node: Node) -> str:
    return f"{node.node_type}/{node.site}"


def _pinned(case: PlanCase) -> Findings:
    running = running_today(case)
    for _, label, (job, unit, _), places in case.pieces():
        today = running.get((job, unit))
        if today is None or not today.pinned:
            continue
        ids, pools = {node.id for node, _ in places}, {_pool_of(node) for node, _ in places}
        if ids != today.nodes if today.nodes else pools != {today.pool}:
            to, found = ", ".join(sorted(today.nodes)) or today.pool, ", ".join(sorted(ids))
            yield f"{label}: unit {unit} of {job} is pinned to {to}, but is on {found}"
    pinned = sum(place.pinned for place in running.values())
    if not pinned:
        return "no running unit is pinned"
    return f"{count_of(pinned, 'pinned unit')} stay where they run, in every quarter"


def _move_cents(case: PlanCase, job: str) -> int:
    """Return the cost of moving one unit of the job out of its pool."""
    stated = case.inputs.scenario.jobs[job].move_cost_usd
    usd = case.inputs.scenario.policies.move_cost_usd if stated is None else stated
    return int(((usd or Decimal(0)) * 100).quantize(Decimal(1), ROUND_HALF_EVEN))


def _first_quarter(case: PlanCase) -> Iterator[tuple[Unit, _Today, set[str], bool]]:
    """Yield each unit that runs today, its nodes, and whether it leaves its pool.

    Given are its origin and its nodes in the first quarter. Units that stop because their job
    gives way are left out. A unit that runs several times counts by its first run; jobs that run
    today have no replicas within a unit.
    """
    for unit, today in running_today(case).items():
        nodes = [node for node, _ in case.seats[0].get((*unit, 1), ())]
        if not nodes and unit[0] in case.short:
            continue
        leaves = {_pool_of(node) for node in nodes} != {today.pool}
        yield unit, today, {node.id for node in nodes}, leaves


def moves_cents(case: PlanCase) -> dict[str, int]:
    """Return the cost of each job's moves in the first quarter."""
    leaving = (job for (job, _), _, _, leaves in _first_quarter(case) if leaves)
    return {job: count * _move_cents(case, job) for job, count in Counter(leaving).items()}


def _moves_today(case: PlanCase) -> Findings:
    current, today = case.plan.current, running_today(case)
    if current is None or not today:
        listed = current is not None
        yield from differences("whether moves are listed", listed, bool(today))
        return "nothing runs today, so nothing moves"
    expected = {}
    for unit, place, ids, leaves in _first_quarter(case):
        # Of a unit that holds nodes for some hours, another node of the pool is no move.
        runs = any(one.hours is not None for _, one in case.seats[0].get((*unit, 1), ()))
        if leaves or (place.nodes and ids != place.nodes and not runs):
            origin = tuple(sorted(place.nodes)) or (place.pool,)
            cents = _move_cents(case, unit[0]) if leaves else 0
            expected[unit] = (origin, tuple(sorted(ids)), leaves, cents)
    found = {
        (move.job, move.unit): (
            tuple(sorted(move.origin)),
            tuple(sorted(move.nodes)),
            move.leaves_pool,
            move.cost_cents,
        )
        for move in current.moves
    }
    yield from differences("the moves of running units", found, expected)
    counts = (current.units, current.stopped, current.pinned, current.cost_cents)
    stopped = len(today) - sum(1 for _ in _first_quarter(case))
    pinned = sum(place.pinned for place in today.values())
    cents = sum(moves_cents(case).values())
    wanted = (len(expected), len(today), stopped, pinned, cents)
    yield from differences(
        "(moves, running units, stopped, pinned, cents)", (len(current.moves), *counts), wanted
    )
    return "what moves is counted from the placements, and its cost is right to the cent"


def _pools(case: PlanCase) -> Findings:
    in_pool: dict[tuple[str, str, str], list[Node]] = defaultdict(list)
    for node in case.plan.nodes:
        in_pool[node.pool].append(node)
    listed = [(pool.node_type, pool.site, pool.offer) for pool in case.plan.pools]
    yield from differences("the list of pools", sorted(listed), sorted(in_pool))
    for pool in case.plan.pools:
        nodes = in_pool[pool.node_type, pool.site, pool.offer]
        for quarter, label in enumerate(case.labels):
            there = [node for node in nodes if label in node.in_service]
            yield from _utilization(case, pool, quarter, there)
    return "utilization is counted from the placements"


def _utilization(case: PlanCase, pool: PoolUse, quarter: int, there: list[Node]) -> Iterator[str]:
    held = case.held[quarter]
    everybody = [one for node in there for one in held.get(node.id, ())]
    serving = [node for node in there if node.hours is None]
    used = [(node, held[node.id]) for node in serving if node.id in held]
    gpus_used = sum(len({gpu for one in holders for gpu in one.gpus}) for _, holders in used)
    peak, _ = most_at_once((one, at_once(one)) for _, holders in used for one in holders)
    fullest = {
        name: sum(int(most_at_once((one, getattr(one, name)) for one in on)[0]) for _, on in used)
        for name in ("cpus", "memory_mb")
    }
    hours = case.quarter_hours
    spare = case.spare(pool.node_type, pool.site) if used and not pool.offer else 0
    site = case.inputs.scenario.sites.get(pool.site)
    groups = site.spare_groups.values() if site else ()
    if any(pool.node_type in group.node_types for group in groups):
        spare = max(spare, pool.nodes_spare[quarter])  # whether they suffice is checked by itself
    expected = {
        "nodes": len(serving),
        "nodes_used": len(used),
        "nodes_spare": spare,
        "gpus": sum(node.gpus for node in serving),
        "gpus_used": gpus_used,
        "gpus_peak": float(peak),
        "gpu_hours": float(sum((node_hours(node, hours) for node in there), Fraction(0))),
        "gpu_hours_used": float(sum((gpu_hours(one, hours) for one in everybody), Fraction(0))),
        "cpus": sum(node.cpus for node in serving),
        "cpus_used": fullest["cpus"],
        "memory_mb": sum(node.memory_mb for node in serving),
        "memory_used_mb": fullest["memory_mb"],
    }
    where = f"{case.labels[quarter]}: {pool.node_type} at {pool.site}"
    for name, value in expected.items():
        column = getattr(pool, name)
        found = column[quarter] if len(column) == len(case.labels) else column
        yield from differences(f"{where}: {name}", found, value)


def _moves(case: PlanCase) -> Findings:
    moves = [0] * len(case.labels)
    for quarter in range(1, len(case.labels)):
        before, now = case.seats[quarter - 1], case.seats[quarter]
        moves[quarter] = sum(
            {node.id for node, _ in before[piece]} != {node.id for node, _ in places}
            for piece, places in now.items()
            # The next run of some hours may sit elsewhere.
            if piece in before and before[piece][0][1].hours is None and places[0][1].hours is None
        )
    yield from differences(
        "the number of units that move, by quarter,", case.plan.moves, tuple(moves)
    )
    return "the units that change node are counted rightly"


def _storage(case: PlanCase) -> Findings:
    stored: dict[tuple[str, int], int] = {}
    sums = []
    for seats in case.seats:
        for (job, unit, _), places in seats.items():
            candidate = case.candidate(job, *places[0])
            stored[job, unit] = candidate.storage_mb if candidate else 0
        sums.append(sum(stored.values()))
    yield from differences("the storage for tuned assets, MB,", case.plan.storage_mb, tuple(sums))
    return "storage covers every tuned asset"


def _growth(case: PlanCase) -> Findings:
    for gpu_type, share in case.inputs.scenario.policies.growth_reserve.items():
        for label, serving, held in zip(case.labels, case.serving, case.held, strict=True):
            of_type = [node for node in serving if node.gpu_type == gpu_type]
            there, taken = sum(node.gpus for node in of_type), Fraction(0)
            for here in (held.get(node.id, ()) for node in of_type):
                taken += len({gpu for one in here if not one.hours for gpu in one.gpus})
                runs = ((one, one.hours) for one in here if one.hours)
                hours = sum(len(one.gpus) * (end - start) for one, (start, end) in runs)
                taken += Fraction(hours, RUN_HOURS)
            free = there - taken
            if free < Fraction(share) * there:
                yield (
                    f"{label}: {float(free):.4g} of {there} GPUs of {gpu_type} are free, "
                    f"{float(share):.4g} of them must stay so"
                )
    return "what is kept free for growth is free"


CHECKS = (_jobs, _once, _replicas, _traffic, _needs, _nodes_used, _keeps)
TODAY = (_pinned, _moves_today)
FIGURES = (_growth, _pools, _moves, _storage)
