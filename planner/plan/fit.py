"""Whether a pool can take a unit at all, and what keeps it out, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plan.words import some

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.packing.problem import Pool, Problem
    from planner.sizing.candidate import Candidate

__all__ = ["fits", "obstacle", "shortfalls"]


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
            return [f"{some(candidate.gpus, 'GPU')}, {cannot_span}"]
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


def obstacle(candidate: Candidate, problem: Problem, quarters: Iterable[int]) -> str | None:
    """Why no node in play can take one unit in these quarters; None if some pool can."""
    active = tuple(quarters)
    reasons = []
    for index, pool in enumerate(problem.pools):
        if pool.gpu_type != candidate.gpu_type:
            continue
        short = shortfalls(candidate, pool)
        if short:
            reasons.append(f"on {pool.name} it needs {' and '.join(short)}")
            continue
        reason = _too_few(candidate, problem, index, active)
        if reason is None:
            return None
        reasons.append(reason)
    return "; ".join(reasons) or "no such node is owned or offered"


def _too_few(
    candidate: Candidate, problem: Problem, index: int, quarters: tuple[int, ...]
) -> str | None:
    pool = problem.pools[index]
    needed = max(1, candidate.gpus // pool.node.gpus)
    most = [_obtainable(problem, index, quarter) for quarter in quarters]
    least = min((nodes for nodes in most if nodes is not None), default=needed)
    if least >= needed:
        return None
    return f"it needs {some(needed, 'whole node')} of {pool.name}, which can have {least:,} at most"


def _obtainable(problem: Problem, index: int, quarter: int) -> int | None:
    """Nodes that can run units in a quarter, the spare ones apart; None if there is no maximum."""
    nodes = problem.pools[index].owned - problem.pools[index].spare
    for supply in problem.supplies:
        costs = supply.unit_cost_cents
        entry = costs[: quarter + 1] if supply.kind == "buy" else costs[quarter : quarter + 1]
        if supply.pool != index or all(cost is None for cost in entry):
            continue
        if supply.maximum is None:
            return None
        nodes += supply.maximum
    return max(0, nodes)
