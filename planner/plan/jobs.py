"""Each job with its demand, its GPU types, its price tag and what the others would have cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from planner.plan.plan import Alternative, PlannedJob

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.packing import Translation
    from planner.packing.problem import Choice, Pool, Solution
    from planner.sizing.candidate import Candidate, SizedJob

__all__ = ["planned_jobs", "stored_assets"]

Kept = tuple[tuple[int, ...], ...]
"""demand × member: choice."""


def planned_jobs(
    jobs: tuple[SizedJob, ...],
    translation: Translation,
    solution: Solution,
    kept: Kept,
    tags: Mapping[str, int],
) -> tuple[PlannedJob, ...]:
    """All jobs in the order of sizing, which is by name."""
    gpu_types = _gpu_types(translation, kept)
    first_demand = {
        job: demand
        for demand, members in enumerate(translation.members)
        for job, unit in members
        if unit == 1
    }
    known: dict[tuple[str, int | None, frozenset[str]], tuple[Alternative, ...]] = {}
    planned = []
    for job in jobs:
        chosen = tuple(sorted(gpu_types[job.name].items(), key=lambda item: (-item[1], item[0])))
        demand = first_demand.get(job.name)
        key = (job.sizing.id, demand, frozenset(gpu_types[job.name]))
        if key not in known:
            known[key] = _alternatives(job, translation, solution, demand, key[2])
        planned.append(
            PlannedJob(
                name=job.name,
                kind=job.kind,
                derived_from=job.derived_from,
                derived_by=job.derived_by,
                team=job.team,
                sizing=job.sizing.id,
                units=job.units,
                gpu_types=chosen,
                tag_cents=tags.get(job.name, 0),
                alternatives=known[key],
            )
        )
    return tuple(planned)


def stored_assets(
    jobs: tuple[SizedJob, ...], translation: Translation, kept: Kept
) -> tuple[int, ...]:
    """Storage for tuned assets by the end of each quarter, MB.

    Each unit keeps one asset from its first active quarter on; tuning it again replaces the asset.
    """
    sizings = {job.sizing.id: job.sizing for job in jobs}
    sizing_of = {job.name: job.sizing.id for job in jobs}
    sizes = {
        (key, candidate.gpu_type): candidate.storage_mb
        for key, sizing in sizings.items()
        for candidate in sizing.candidates
    }
    problem = translation.problem
    stored = [0] * problem.quarters
    for demand, members, choices in zip(problem.demands, translation.members, kept, strict=True):
        for (job, _), choice in zip(members, choices, strict=True):
            size_mb = sizes[sizing_of[job], demand.choices[choice].gpu_type]
            for quarter in range(demand.quarters[0] if size_mb else problem.quarters, len(stored)):
                stored[quarter] += size_mb
    return tuple(stored)


def _gpu_types(translation: Translation, kept: Kept) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for demand, members, choices in zip(
        translation.problem.demands, translation.members, kept, strict=True
    ):
        for (job, _), choice in zip(members, choices, strict=True):
            found[job][demand.choices[choice].gpu_type] += 1
    return found


def _alternatives(
    job: SizedJob,
    translation: Translation,
    solution: Solution,
    demand: int | None,
    chosen: frozenset[str],
) -> tuple[Alternative, ...]:
    """Candidates that are owned or offered, as the job's first unit sees them.

    The first unit is active in every quarter in which the job is.
    """
    pools = translation.problem.pools
    in_play = {pool.gpu_type for pool in pools}
    choices: tuple[Choice, ...] = ()
    extras: tuple[float | None, ...] = ()
    if demand is not None:
        choices = translation.problem.demands[demand].choices
        extras = solution.tags[demand].extra_cents_by_choice
    extra_of = {choice.gpu_type: extra for choice, extra in zip(choices, extras, strict=True)}
    found = []
    for candidate in job.sizing.candidates:
        if candidate.gpu_type not in in_play:
            continue
        extra = extra_of.get(candidate.gpu_type)
        cents = None if extra is None else max(0, round(extra))
        if candidate.gpu_type in chosen:
            found.append(_chosen(candidate.gpu_type, cents or 0))
        else:
            reason = _reason(candidate, cents, pools, demand)
            found.append(Alternative(gpu_type=candidate.gpu_type, extra_cents=cents, reason=reason))
    return tuple(found)


def _chosen(gpu_type: str, cents: int) -> Alternative:
    reason = "chosen"
    if cents:
        reason = "chosen: dearer by the bound alone, but whole nodes fill better with it"
    return Alternative(gpu_type=gpu_type, extra_cents=0, reason=reason)


def _reason(
    candidate: Candidate, cents: int | None, pools: tuple[Pool, ...], demand: int | None
) -> str:
    if demand is None:
        return "the job has no unit in any quarter"
    if cents:
        return "costs more"
    if cents == 0:
        return "costs no more by the bound; the other fills whole nodes better or comes first"
    of_type = {pool.node_type for pool in pools if pool.gpu_type == candidate.gpu_type}
    return f"no {' or '.join(sorted(of_type))} holds {_needs(candidate)}"


def _needs(candidate: Candidate) -> str:
    gpus = f"{candidate.gpus} GPU{'s' if candidate.gpus != 1 else ''}"
    return f"{gpus}, {candidate.cpus} cores and {candidate.memory_mb:,} MB of host memory"
