"""Checks the figures that a plan derives from its placements: use, moves, storage, reserve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.planning.checks.case import (
    Findings,
    PlanCase,
    at_once,
    differences,
    gpu_hours,
    most_at_once,
    node_hours,
)
from planner.planning.plan import Node, Occupant, PoolUse


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
            yield from _pool(case, pool, quarter, there)
    return "utilization is counted from the placements"


def _pool(case: PlanCase, pool: PoolUse, quarter: int, there: list[Node]) -> Iterator[str]:
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
    if case.shares_spares(pool.node_type, pool.site):
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
            if piece in before and not _is_run(before[piece]) and not _is_run(places)
        )
    yield from differences(
        "the number of units that move, by quarter,", case.plan.moves, tuple(moves)
    )
    return "the units that change node are counted rightly"


def _is_run(places: list[tuple[Node, Occupant]]) -> bool:
    """Return whether an occupant is a run of some hours, whose next run may sit elsewhere."""
    return places[0][1].hours is not None


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


CHECKS = (_growth, _pools, _moves, _storage)
