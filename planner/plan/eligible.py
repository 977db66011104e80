"""Jobs that no server in play can take are named before anything is packed, with what says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import InfeasibleError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.packing.problem import Pool
    from planner.packing.translate import Translation
    from planner.sizing.candidate import Candidate, SizedJob, Sizing

__all__ = ["require_eligible"]

_JOBS_NAMED = 3


def require_eligible(jobs: tuple[SizedJob, ...], translation: Translation) -> None:
    """Refuse a portfolio in which some job fits no node that is owned or offered.

    Raises InfeasibleError with one line per job, and per GPU type in play the rule or the figure
    that rules it out.
    """
    pools = translation.problem.pools
    reasons: list[str] = []
    remedies: dict[str, None] = {}
    stuck = 0
    for sizing, names in _by_sizing(jobs):
        if any(_fits(candidate, pool) for candidate in sizing.candidates for pool in pools):
            continue
        stuck += len(names)
        reasons.append(f"{_named(names)} ({sizing.summary}) fits nothing that is owned or offered")
        reasons += (f"  {line}" for line in _why(sizing, pools))
        remedies |= dict.fromkeys(_remedies(sizing, pools))
    if reasons:
        what = "1 job has" if stuck == 1 else f"{stuck:,} jobs have"
        headline = f"no plan exists: {what} no GPU type to run on"
        raise InfeasibleError(headline, tuple(reasons), tuple(remedies))


def _by_sizing(jobs: tuple[SizedJob, ...]) -> list[tuple[Sizing, list[str]]]:
    """Jobs with any unit, those that are specified alike together."""
    found: dict[str, tuple[Sizing, list[str]]] = {}
    for job in jobs:
        if any(job.units):
            found.setdefault(job.sizing.id, (job.sizing, []))[1].append(job.name)
    return list(found.values())


def _fits(candidate: Candidate, pool: Pool) -> bool:
    """Whether one unit can run within a pool of unlimited nodes."""
    return candidate.gpu_type == pool.gpu_type and not _shortfalls(candidate, pool)


def _shortfalls(candidate: Candidate, pool: Pool) -> list[str]:
    """What a unit asks for beyond one node, or beyond the whole nodes that it may span."""
    nodes, rest = 1, 0
    if candidate.gpus > pool.node.gpus:
        nodes, rest = divmod(candidate.gpus, pool.node.gpus)
        if not pool.fabric:
            return [f"{candidate.gpus} GPUs, a node has {pool.node.gpus} and no fabric to span"]
        if rest:
            return [f"{candidate.gpus} GPUs, which is not a whole number of {pool.node.gpus}"]
    short = []
    if candidate.cpus > nodes * pool.node.cpus:
        short.append(f"{candidate.cpus} cores of {nodes * pool.node.cpus}")
    if candidate.memory_mb > nodes * pool.node.memory_mb:
        short.append(
            f"{candidate.memory_mb:,} MB of host memory of {nodes * pool.node.memory_mb:,}"
        )
    return short


def _why(sizing: Sizing, pools: tuple[Pool, ...]) -> Iterator[str]:
    """For each GPU type in play what speaks against it."""
    in_play = sorted({pool.gpu_type for pool in pools})
    if not in_play:
        yield "no node is owned and none is offered"
    for gpu_type in in_play:
        for rejection in sizing.rejections:
            if rejection.gpu_type == gpu_type:
                yield f"{gpu_type}: {rejection.message} (rule {rejection.rule})"
        for candidate in sizing.candidates:
            if candidate.gpu_type == gpu_type:
                for pool in pools:
                    if pool.gpu_type == gpu_type:
                        short = " and ".join(_shortfalls(candidate, pool))
                        yield f"{gpu_type}: on {pool.name} it needs {short}"


def _remedies(sizing: Sizing, pools: tuple[Pool, ...]) -> Iterator[str]:
    in_play = {pool.gpu_type for pool in pools}
    others = [
        f"{candidate.gpus} × {candidate.gpu_type}"
        for candidate in sizing.candidates
        if candidate.gpu_type not in in_play
    ]
    if others:
        yield f"offer nodes of a GPU type that it can use: {' or '.join(others)}"
    elif sizing.candidates:
        yield "offer a node type with more GPUs, cores or host memory, or with a fabric to span"
    else:
        yield "change the job, or waive a rule under policies.waived_rules with the reason"


def _named(names: list[str]) -> str:
    more = len(names) - _JOBS_NAMED
    shown = ", ".join(names[:_JOBS_NAMED])
    return f"{shown} and {more:,} more jobs specified alike" if more > 0 else shown
