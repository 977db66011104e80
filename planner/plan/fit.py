"""Whether a pool can take a unit at all, and what keeps it out, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.text.words import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planner.packing.problem import Pool, Problem
    from planner.sizing.candidate import Candidate

__all__ = ["beyond_quota", "fits", "obstacle", "shortfalls"]


def fits(candidate: Candidate, pool: Pool) -> bool:
    """Whether one unit can run within a pool of unlimited nodes."""
    return candidate.gpu_type == pool.gpu_type and not shortfalls(candidate, pool)


def shortfalls(candidate: Candidate, pool: Pool) -> list[str]:
    """What a unit asks for beyond one node, or beyond the whole nodes that it may span."""
    nodes = 1
    if candidate.gpus > pool.node.gpus:
        nodes, rest = divmod(candidate.gpus, pool.node.gpus)
        cannot_span = _cannot_span(candidate, pool, rest)
        if cannot_span:
            return [f"{count_of(candidate.gpus, 'GPU')}, {cannot_span}"]
    short = []
    if candidate.cpus > nodes * pool.node.cpus:
        short.append(f"{candidate.cpus:,} cores of {nodes * pool.node.cpus:,}")
    if candidate.memory_mb > nodes * pool.node.memory_mb:
        short.append(
            f"{candidate.memory_mb:,} MB of host memory of {nodes * pool.node.memory_mb:,}"
        )
    return short


def _cannot_span(candidate: Candidate, pool: Pool, rest: int) -> str | None:
    """Why a unit that one node does not hold cannot take several."""
    if not candidate.may_span:
        return f"a node has {pool.node.gpus}, and a unit stays within one node{_rule(candidate)}"
    if not pool.fabric:
        return f"a node has {pool.node.gpus} and no fabric to span"
    return f"which is not a whole number of nodes of {pool.node.gpus}" if rest else None


def _rule(candidate: Candidate) -> str:
    """The rule that gave the number of nodes, as the trace has it."""
    said = (step.rule for step in candidate.trace if step.result.name == "nodes_at_most")
    return "".join(f" ({rule})" for rule in said)


def obstacle(
    candidate: Candidate, problem: Problem, quarters: Iterable[int], sites: Sequence[str] = ()
) -> str | None:
    """Why no nodes in play can take one unit in these quarters; None if some can.

    `sites` are those at which it may run; any if empty.
    """
    active = tuple(quarters)
    able, reasons = [], []
    for index, pool in enumerate(problem.pools):
        if pool.gpu_type != candidate.gpu_type or (sites and pool.site not in sites):
            continue
        short = shortfalls(candidate, pool)
        if short:
            reasons.append(f"on {pool.name} it needs {' and '.join(short)}")
            continue
        reason = _too_few(candidate, problem, index, active)
        if reason is None:
            able.append(index)
        else:
            reasons.append(reason)
    if able:
        return _too_many(candidate, problem, able, active)
    where = f" at {' or '.join(sites)}" if sites else ""
    return "; ".join(reasons) or f"no such node is owned or offered{where}"


def beyond_quota(way: str, problem: Problem, number: int) -> str | None:
    """Why no unit of a demand can run in this way within its quotas; None if one can."""
    demand = problem.demands[number]
    chosen = next((one for one in demand.choices if one.way == way), None)
    if chosen is None:
        return None
    for quota in problem.quotas:
        if quota.owner != demand.owner:
            continue
        taken = quota.taken(chosen)
        limits = [limit for q in demand.quarters if (limit := quota.at_most[q]) is not None]
        least = min(limits, default=taken)
        if taken > least:
            return f"one unit takes {count_of(taken, 'GPU')}, {quota.name} is {least:,}"
    return None


def _too_many(
    candidate: Candidate, problem: Problem, pools: list[int], quarters: tuple[int, ...]
) -> str | None:
    """Why the replicas of one unit do not fit these pools together; None if they do."""
    places = min(
        (sum(_places(candidate, problem, pool, quarter) for pool in pools) for quarter in quarters),
        default=candidate.replicas,
    )
    if places >= candidate.replicas:
        return None
    told = count_of(candidate.replicas, "replica")
    return f"its load takes {told}, for which these nodes have {count_of(places, 'place')} at most"


def _places(candidate: Candidate, problem: Problem, index: int, quarter: int) -> int:
    """Replicas for which a pool can have room; all where it has no maximum."""
    node, nodes = problem.pools[index].node, _obtainable(problem, index, quarter)
    if nodes is None:
        return candidate.replicas
    if candidate.gpus > node.gpus:
        return nodes * node.gpus // candidate.gpus
    needs = (candidate.gpus, candidate.cpus, candidate.memory_mb)
    offers = (node.gpus * _parts(candidate, problem.pools[index]), node.cpus, node.memory_mb)
    return nodes * min(offer // need for offer, need in zip(offers, needs, strict=True) if need)


def _parts(candidate: Candidate, pool: Pool) -> int:
    """How many copies one GPU holds side by side at the most."""
    if candidate.shared_mb:
        return pool.shared_mb // candidate.shared_mb
    if candidate.partition is None:
        return 1
    profiles = ([profile for profile, _ in division.slots] for division in pool.divisions)
    return max((listed.count(candidate.partition) for listed in profiles), default=0)


def _too_few(
    candidate: Candidate, problem: Problem, index: int, quarters: tuple[int, ...]
) -> str | None:
    pool = problem.pools[index]
    needed = max(1, candidate.gpus // pool.node.gpus)
    most = [_obtainable(problem, index, quarter) for quarter in quarters]
    least = min((nodes for nodes in most if nodes is not None), default=needed)
    if least >= needed:
        return None
    wanted = count_of(needed, "whole node")
    return f"it needs {wanted} of {pool.name}, which can have {least:,} at most"


def _obtainable(problem: Problem, index: int, quarter: int) -> int | None:
    """Nodes that can run units in a quarter, the spare ones apart; None if there is no maximum."""
    nodes = problem.pools[index].owned_in(quarter) - problem.pools[index].spare
    counted: set[int] = set()
    for supply in problem.supplies:
        costs = [supply.unit_cost_cents[entry] for entry in supply.entries(quarter)]
        if supply.pool != index or all(cost is None for cost in costs):
            continue
        if supply.offer in counted:
            continue
        if supply.offer is not None:
            counted.add(supply.offer)
        if supply.maximum is None:
            return None
        nodes += supply.maximum
    return max(0, nodes)
