"""Each job with its demand, its GPU types, its price tag and what the others would have cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from planner.plan.fit import beyond_quota, obstacle
from planner.plan.plan import Alternative, PlannedJob
from planner.plan.words import usd

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.packing import Translation
    from planner.packing.problem import Choice, Problem
    from planner.packing.solution import Solution
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
    ways = _ways(translation, kept)
    first_demand = {
        job: demand
        for demand, members in enumerate(translation.members)
        for job, unit in members
        if unit == 1
    }
    known: dict[tuple[str, int | None, frozenset[str]], tuple[Alternative, ...]] = {}
    planned = []
    for job in jobs:
        gpu_type_of = {candidate.way: candidate.gpu_type for candidate in job.sizing.candidates}
        gpu_types: Counter[str] = Counter()
        for way, units in ways[job.name].items():
            gpu_types[gpu_type_of[way]] += units
        demand = first_demand.get(job.name)
        key = (job.sizing.id, demand, frozenset(ways[job.name]))
        if key not in known:
            known[key] = _alternatives(job, translation, solution, demand, key[2])
        planned.append(
            PlannedJob(
                name=job.name,
                kind=job.kind,
                derived_from=job.derived_from,
                derived_by=job.derived_by,
                team=job.team,
                sites=job.sites,
                sizing=job.sizing.id,
                units=job.units,
                gpu_types=_most_first(gpu_types),
                ways=_most_first(ways[job.name]),
                tag_cents=tags.get(job.name, 0),
                alternatives=known[key],
            )
        )
    return tuple(planned)


def _most_first(units: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(units.items(), key=lambda item: (-item[1], item[0])))


def stored_assets(
    jobs: tuple[SizedJob, ...], translation: Translation, kept: Kept
) -> tuple[int, ...]:
    """Storage for tuned assets by the end of each quarter, MB.

    Each unit keeps one asset from its first active quarter on; tuning it again replaces the asset.
    """
    sizings = {job.sizing.id: job.sizing for job in jobs}
    sizing_of = {job.name: job.sizing.id for job in jobs}
    sizes = {
        (key, candidate.way): candidate.storage_mb
        for key, sizing in sizings.items()
        for candidate in sizing.candidates
    }
    problem = translation.problem
    stored = [0] * problem.quarters
    for demand, members, choices in zip(problem.demands, translation.members, kept, strict=True):
        for (job, _), choice in zip(members, choices, strict=True):
            size_mb = sizes[sizing_of[job], demand.choices[choice].way]
            for quarter in range(demand.quarters[0] if size_mb else problem.quarters, len(stored)):
                stored[quarter] += size_mb
    return tuple(stored)


def _ways(translation: Translation, kept: Kept) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for demand, members, choices in zip(
        translation.problem.demands, translation.members, kept, strict=True
    ):
        for (job, _), choice in zip(members, choices, strict=True):
            found[job][demand.choices[choice].way] += 1
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
    problem = translation.problem
    in_play = {pool.gpu_type for pool in problem.pools}
    choices: tuple[Choice, ...] = ()
    extras: tuple[float | None, ...] = ()
    if demand is not None:
        choices = problem.demands[demand].choices
        extras = solution.tags[demand].extra_cents_by_choice
    extra_of = {choice.way: extra for choice, extra in zip(choices, extras, strict=True)}
    allowed = sum(choice.gpu_type in in_play for choice in choices)
    found = []
    for candidate in job.sizing.candidates:
        if candidate.gpu_type not in in_play:
            continue
        extra = extra_of.get(candidate.way)
        cents = None if extra is None else max(0, round(extra))
        if candidate.way in chosen:
            found.append(_chosen(candidate, cents or 0, allowed))
        else:
            found.append(_not_chosen(candidate, cents, problem, demand, solution, job.sites))
    return tuple(found)


def _chosen(candidate: Candidate, cents: int, allowed: int) -> Alternative:
    reason = "no other GPU type adds less to the bound"
    if cents:
        reason = f"dearer by {usd(cents)} by the bound alone, but whole nodes fill better with it"
    elif allowed == 1:
        reason = "the only GPU type in play that the job may use"
    return Alternative(gpu_type=candidate.gpu_type, way=candidate.way, extra_cents=0, reason=reason)


def _not_chosen(
    candidate: Candidate,
    cents: int | None,
    problem: Problem,
    demand: int | None,
    solution: Solution,
    sites: tuple[str, ...],
) -> Alternative:
    """What speaks against a GPU type that would be allowed."""
    if demand is None:
        reason, cents = "the job has no unit in any quarter", None
    elif told := _obstacle(candidate, problem, demand, sites):
        reason, cents = told, None
    elif cents is None:
        reason = "its nodes are not to be had in the quarters of the job"
    elif cents:
        reason = f"one unit on it would raise the proved bound by {usd(cents)}"
    else:
        reason = _tie(solution)
    return Alternative(
        gpu_type=candidate.gpu_type, way=candidate.way, extra_cents=cents, reason=reason
    )


def _obstacle(
    candidate: Candidate, problem: Problem, demand: int, sites: tuple[str, ...]
) -> str | None:
    quarters = problem.demands[demand].quarters
    stays = problem.demands[demand].choices[0].shape.stays
    if stays:
        return f"the job is pinned to {stays}, where it runs"
    return obstacle(candidate, problem, quarters, sites) or beyond_quota(
        candidate.way, problem, demand
    )


def _tie(solution: Solution) -> str:
    """Why a GPU type that is no dearer by the bound is no better choice either."""
    left = solution.cost_cents - solution.bound_cents
    by = f" by more than {usd(left)}" if left else ""
    return (
        "costs no more by the bound, which fills nodes in fractions; on whole nodes no plan with "
        f"it is cheaper than this one{by}"
    )
