"""The figures that a plan derives from its own placements: use of pools, moves, storage."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING

from planner.plan.checks.view import Check, View, differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.plan.plan import Node, PoolUse

__all__ = ["CHECKS"]


def _pools(view: View) -> Iterator[str]:
    in_pool: dict[tuple[str, str], list[Node]] = defaultdict(list)
    for node in view.plan.nodes:
        in_pool[node.node_type, node.site].append(node)
    listed = [(pool.node_type, pool.site) for pool in view.plan.pools]
    yield from differences("the list of pools", sorted(listed), sorted(in_pool))
    taken = [_taken(view, quarter) for quarter in range(len(view.labels))]
    for pool in view.plan.pools:
        nodes = in_pool[pool.node_type, pool.site]
        for quarter, label in enumerate(view.labels):
            serving = [node for node in nodes if label in node.in_service]
            yield from _pool(view, pool, quarter, serving, taken[quarter])


def _taken(view: View, quarter: int) -> dict[str, tuple[int, int, int]]:
    """GPUs, cores and MB taken of each node in use."""
    return {
        use.node: (
            sum(len(occupant.gpus) for occupant in use.occupants),
            sum(occupant.cpus for occupant in use.occupants),
            sum(occupant.memory_mb for occupant in use.occupants),
        )
        for use in view.plan.placements[quarter]
    }


def _pool(
    view: View,
    pool: PoolUse,
    quarter: int,
    serving: list[Node],
    taken: dict[str, tuple[int, int, int]],
) -> Iterator[str]:
    used = [taken[node.id] for node in serving if node.id in taken]
    gpus = sum(node.gpus for node in serving)
    expected = {
        "nodes": len(serving),
        "nodes_used": len(used),
        "nodes_spare": view.spare(pool.node_type, pool.site) if used else 0,
        "gpus": gpus,
        "gpus_used": sum(amounts[0] for amounts in used),
        "cpus": sum(node.cpus for node in serving),
        "cpus_used": sum(amounts[1] for amounts in used),
        "memory_mb": sum(node.memory_mb for node in serving),
        "memory_used_mb": sum(amounts[2] for amounts in used),
    }
    where = f"{view.labels[quarter]}: {pool.node_type} at {pool.site}"
    for name, value in expected.items():
        column = getattr(pool, name)
        found = column[quarter] if len(column) == len(view.labels) else column
        yield from differences(f"{where}: {name}", found, value)
    free = sum(node.gpus - taken[node.id][0] for node in serving if node.id in taken)
    stranded = dict(enumerate(pool.gpus_stranded)).get(quarter, -1)
    if not 0 <= stranded <= free:
        yield f"{where}: {stranded} GPUs stranded of {free} free ones"


def _moves(view: View) -> Iterator[str]:
    moves = [0] * len(view.labels)
    for quarter in range(1, len(view.labels)):
        before, now = view.seats[quarter - 1], view.seats[quarter]
        moves[quarter] = sum(
            {node.id for node, _ in before[piece]} != {node.id for node, _ in places}
            for piece, places in now.items()
            if piece in before
        )
    yield from differences(
        "the number of units that move, by quarter,", view.plan.moves, tuple(moves)
    )


def _storage(view: View) -> Iterator[str]:
    stored: Counter[int] = Counter()
    seen: set[tuple[str, int]] = set()
    for quarter, seats in enumerate(view.seats):
        units = {(job, unit): places for (job, unit, _), places in seats.items()}
        for job, unit in sorted(units.keys() - seen):
            candidate = view.candidate(job, units[job, unit][0][0].gpu_type)
            stored[quarter] += candidate.storage_mb if candidate else 0
        seen |= units.keys()
    sums = tuple(sum(stored[q] for q in range(last + 1)) for last in range(len(view.labels)))
    yield from differences("the storage for tuned assets, MB,", view.plan.storage_mb, sums)


def _growth(view: View) -> Iterator[str]:
    for gpu_type, share in view.inputs.scenario.policies.growth_reserve.items():
        of_type = [node for node in view.plan.nodes if node.gpu_type == gpu_type]
        names = {node.id for node in of_type}
        for label, uses in zip(view.labels, view.plan.placements, strict=True):
            there = sum(node.gpus for node in of_type if label in node.in_service)
            held = sum(
                len(occupant.gpus)
                for use in uses
                if use.node in names
                for occupant in use.occupants
            )
            if there - held < Fraction(share) * there:
                yield (
                    f"{label}: {there - held} of {there} GPUs of {gpu_type} are free, "
                    f"{float(share):.4g} of them must stay so"
                )


CHECKS = (
    Check(_growth, lambda _: "what is kept free for growth is free"),
    Check(_pools, lambda _: "utilization is counted from the placements"),
    Check(_moves, lambda _: "the units that change node are counted rightly"),
    Check(_storage, lambda _: "storage covers every tuned asset"),
)
