"""Jobs that no server in play can take are named before anything is packed, with what says so."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from planner.errors import InfeasibleError
from planner.inputs.text.words import count_of
from planner.plan.fit import fits, shortfalls
from planner.plan.words import some_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.packing.problem import Pool
    from planner.packing.statement.translate import Translation
    from planner.sizing.candidate import Candidate, SizedJob, Sizing

__all__ = ["remedies", "require_eligible", "stuck_jobs"]

_JOBS_NAMED = 3
_OTHERS_NAMED = 6
_SITES_NAMED = 4


def stuck_jobs(jobs: tuple[SizedJob, ...], translation: Translation) -> tuple[SizedJob, ...]:
    """Jobs with units that fit no node that is owned or offered, however many there were."""
    pools = translation.problem.pools
    verdicts: dict[tuple[str, tuple[str, ...]], bool] = {}
    for job in jobs:
        kind = (job.sizing.id, job.sites)
        if kind not in verdicts:
            verdicts[kind] = any(
                fits(candidate, pool)
                for candidate in job.sizing.candidates
                for pool in _open_to(job.sites, pools)
            )
    return tuple(job for job in jobs if any(job.units) and not verdicts[job.sizing.id, job.sites])


def require_eligible(stuck: tuple[SizedJob, ...], translation: Translation) -> None:
    """Refuse a portfolio in which some job fits no node that is owned or offered.

    `stuck` are those jobs, sized on every GPU type of the catalog. Raises InfeasibleError with one
    line per job, and per GPU type in play the rule or the figure that rules it out.
    """
    pools = translation.problem.pools
    reasons: list[str] = []
    for sizing, sites, names in _by_sizing(stuck):
        where = f" at {some_of(sites, _SITES_NAMED)}, where it may run" if sites else ""
        reasons.append(
            f"{_named(names)} ({sizing.summary}) fits nothing that is owned or offered{where}"
        )
        reasons += (f"  {line}" for line in _why(sizing, _open_to(sites, pools)))
    if reasons:
        what = "1 job has" if len(stuck) == 1 else f"{len(stuck):,} jobs have"
        headline = f"no plan exists: {what} no GPU type to run on"
        raise InfeasibleError(headline, tuple(reasons), remedies(stuck, translation))


def remedies(stuck: Sequence[SizedJob], translation: Translation) -> tuple[str, ...]:
    """What would let some node run them, once for those that are specified alike."""
    pools = translation.problem.pools
    told = (
        _remedies(names[0], sizing, _open_to(sites, pools))
        for sizing, sites, names in _by_sizing(stuck)
    )
    return tuple(dict.fromkeys(chain.from_iterable(told)))


def _open_to(sites: tuple[str, ...], pools: tuple[Pool, ...]) -> tuple[Pool, ...]:
    """Pools at sites where a job may run; all where it asks for none."""
    return tuple(pool for pool in pools if not sites or pool.site in sites)


def _by_sizing(jobs: Sequence[SizedJob]) -> list[tuple[Sizing, tuple[str, ...], list[str]]]:
    """Jobs that are specified alike, and may run at the same sites, together."""
    found: dict[tuple[str, tuple[str, ...]], tuple[Sizing, tuple[str, ...], list[str]]] = {}
    for job in jobs:
        found.setdefault((job.sizing.id, job.sites), (job.sizing, job.sites, []))[2].append(
            job.name
        )
    return list(found.values())


def _why(sizing: Sizing, pools: tuple[Pool, ...]) -> Iterator[str]:
    """For each GPU type in play what speaks against it."""
    in_play = sorted({pool.gpu_type for pool in pools})
    if not in_play:
        yield "no node is owned and none is offered"
    for gpu_type in in_play:
        for rejection in sizing.rejections:
            if rejection.gpu_type == gpu_type:
                yield f"{gpu_type}: {rejection.message} ({rejection.rule})"
        for candidate in sizing.candidates:
            if candidate.gpu_type == gpu_type:
                for pool in pools:
                    if pool.gpu_type == gpu_type:
                        short = " and ".join(shortfalls(candidate, pool))
                        yield f"{gpu_type}: on {pool.name} it needs {short}"


def _remedies(job: str, sizing: Sizing, pools: tuple[Pool, ...]) -> Iterator[str]:
    in_play = {pool.gpu_type for pool in pools}
    others = [
        f"{candidate.gpus} × {candidate.gpu_type}"
        for candidate in sizing.candidates
        if candidate.gpu_type not in in_play
    ]
    stated = [one for one in sizing.candidates if one.decided_by == "stated"]
    counts = _countable(stated, pools)
    if counts:
        yield f"{job}: state {counts}, or offer a node type whose GPUs divide it"
    if others:
        shown = some_of(others, _OTHERS_NAMED)
        yield f"{job}: offer nodes of a GPU type that it can use: {shown}"
    elif sizing.candidates:
        fabric = any(candidate.may_span for candidate in sizing.candidates)
        or_fabric = ", or with a fabric" if fabric else ""
        yield f"{job}: offer a node type with more GPUs, cores or host memory{or_fabric}"
    else:
        yield f"{job}: change it, or waive a rule under policies.waived_rules with the reason"


def _countable(stated: Sequence[Candidate], pools: tuple[Pool, ...]) -> str:
    """The nearest GPU counts, below and above, that whole nodes in play give; empty if none do."""
    odd = {
        (pool.node.gpus, one.gpus)
        for pool in pools
        for one in stated
        if pool.fabric and one.gpu_type == pool.gpu_type and one.gpus > pool.node.gpus
        if one.gpus % pool.node.gpus
    }
    if not odd:
        return ""
    size, asked = max(odd)
    below = asked // size * size
    return f"{below} or {count_of(below + size, 'GPU')}, whole nodes of {size}"


def _named(names: list[str]) -> str:
    more = len(names) - _JOBS_NAMED
    shown = ", ".join(names[:_JOBS_NAMED])
    return f"{shown} and {count_of(more, 'more job')} specified alike" if more > 0 else shown
