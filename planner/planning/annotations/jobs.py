"""Each job with its demand, its GPU types, its price tag and what the others would have cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from planner.inputs.scenario.scenario import NO_SITE, ResolvedScenario
from planner.inputs.text.words import usd
from planner.packing import Translation
from planner.packing.problem import Choice
from planner.packing.solution import Solution
from planner.planning.eligible import beyond_quota, obstacle
from planner.planning.plan import Alternative, PlannedJob
from planner.planning.words import some_of
from planner.sizing.candidate import Candidate, SizedJob

_QUARTERS_NAMED = 3

Kept = tuple[tuple[int, ...], ...]
"""demand × member: choice."""


def planned_jobs(
    jobs: tuple[SizedJob, ...],
    scenario: ResolvedScenario,
    translation: Translation,
    solution: Solution,
    kept: Kept,
    tags: Mapping[str, int],
) -> tuple[PlannedJob, ...]:
    """All jobs in the order of sizing, which is by name."""
    ways = _ways(translation, kept)
    of_first: dict[str, tuple[int, ...]] = {}
    for demand, members in enumerate(translation.members):
        for name, unit in members:
            if unit == 1:
                of_first[name] = (*of_first.get(name, ()), demand)
    known: dict[object, tuple[Alternative, ...]] = {}
    planned = []
    for job in jobs:
        gpu_type_of = {candidate.way: candidate.gpu_type for candidate in job.sizing.candidates}
        units_in = Counter(way for _, way in ways[job.name])
        on = {(unit, gpu_type_of[way]) for unit, way in ways[job.name]}
        units_on = Counter(gpu_type for _, gpu_type in on)
        stages = of_first.get(job.name, ())
        chosen = frozenset(units_in)
        key = (job.sizing.id, stages, chosen, bool(job.on_apis))
        if key not in known:
            known[key] = _alternatives(job, translation, solution, stages, chosen)
        stated = scenario.jobs.get(job.name)
        planned.append(
            PlannedJob(
                name=job.name,
                kind=job.kind,
                derived_from=job.derived_from,
                derived_by=job.derived_by,
                team=job.team,
                owner=stated.owner if stated else None,
                benefit=stated.benefit if stated else None,
                if_not_met=stated.if_not_met if stated else None,
                sites=tuple(site for site in job.sites if site != NO_SITE),
                sizing=job.sizing.id,
                units=job.units,
                on_apis=job.on_apis,
                runs=job.runs,
                gpu_types=_most_first(units_on),
                ways=_most_first(units_in),
                replicas=tuple(_replicas(job, translation, kept, _most_first(units_in))),
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
    begun: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for demand, members, choices in zip(problem.demands, translation.members, kept, strict=True):
        for unit, choice in zip(members, choices, strict=True):
            way = demand.choices[choice].way
            begun[unit][demand.quarters[0]] = sizes[sizing_of[unit[0]], way]
    stored = [0] * problem.quarters
    for sizes_mb in begun.values():
        size_mb = 0
        for quarter in range(min(sizes_mb), problem.quarters):
            size_mb = sizes_mb.get(quarter, size_mb)
            stored[quarter] += size_mb
    return tuple(stored)


def _ways(translation: Translation, kept: Kept) -> dict[str, set[tuple[int, str]]]:
    """By job: (unit, way), in whatever quarter."""
    found: dict[str, set[tuple[int, str]]] = defaultdict(set)
    for demand, members, choices in zip(
        translation.problem.demands, translation.members, kept, strict=True
    ):
        for (job, unit), choice in zip(members, choices, strict=True):
            found[job].add((unit, demand.choices[choice].way))
    return found


def _replicas(
    job: SizedJob, translation: Translation, kept: Kept, ways: Iterable[tuple[str, int]]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """By way: units in each quarter of a job whose units share the traffic of an endpoint."""
    if not job.shares_traffic:
        return
    found: Counter[tuple[str, int]] = Counter()
    for demand, choices in zip(translation.problem.demands, kept, strict=True):
        if demand.endpoint == job.name:
            for choice in choices:
                found.update((demand.choices[choice].way, one) for one in demand.quarters)
    quarters = range(translation.problem.quarters)
    yield from ((way, tuple(found[way, one] for one in quarters)) for way, _ in ways)


def _alternatives(
    job: SizedJob,
    translation: Translation,
    solution: Solution,
    stages: tuple[int, ...],
    chosen: frozenset[str],
) -> tuple[Alternative, ...]:
    """Candidates that are owned or offered, as the job's first unit sees them.

    The first unit is active in every quarter in which the job is; `stages` are its demands. What
    it would cost to stay on a GPU type over all of them is the sum of theirs.
    """
    problem = translation.problem
    in_play = {pool.gpu_type for pool in problem.pools}
    choices: tuple[Choice, ...] = problem.demands[stages[0]].choices if stages else ()
    extra_of: dict[str, int | None] = {}
    for place, choice in enumerate(choices):
        extras = [solution.tags[one].extra_cents_by_choice[place] for one in stages]
        known = [extra for extra in extras if extra is not None]
        extra_of[choice.way] = max(0, round(sum(known))) if len(known) == len(extras) else None
    allowed = sum(choice.gpu_type in in_play for choice in choices)
    found = []
    for one in job.sizing.candidates:
        if one.gpu_type not in in_play:
            continue
        cents = extra_of.get(one.way)
        if one.way in chosen:
            cents, reason = 0, _why_chosen(cents or 0, allowed)
        elif not stages:
            on_api = "an API answers all its requests, which costs less than GPUs"
            cents, reason = None, on_api if job.on_apis else "the job has no unit in any quarter"
        elif told := _obstacle(one, translation, stages, job.sites):
            cents, reason = None, told
        else:
            reason = _why_not_chosen(cents, solution)
        found.append(
            Alternative(gpu_type=one.gpu_type, way=one.way, extra_cents=cents, reason=reason)
        )
    return tuple(found)


def _why_chosen(cents: int, allowed: int) -> str:
    if cents:
        return f"dearer by {usd(cents)} by the bound alone, but whole nodes fill better with it"
    if allowed == 1:
        return "the only GPU type in play that the job may use"
    return "no other GPU type adds less to the bound"


def _why_not_chosen(cents: int | None, solution: Solution) -> str:
    """Of a GPU type that would be allowed; one that is no dearer by the bound is no better."""
    if cents is None:
        return "its nodes are not to be had in the quarters of the job"
    if cents:
        return f"one unit on it would raise the proved bound by {usd(cents)}"
    left = solution.cost_cents - solution.bound_cents
    by = f" by more than {usd(left)}" if left else ""
    return (
        "costs no more by the bound, which fills nodes in fractions; on whole nodes no plan with "
        f"it is cheaper than this one{by}"
    )


def _obstacle(
    candidate: Candidate, translation: Translation, stages: tuple[int, ...], sites: tuple[str, ...]
) -> str | None:
    """What keeps the first unit off in some of its quarters, and in which, if not in all."""
    problem = translation.problem
    stays = problem.demands[stages[0]].choices[0].shape.stays
    if stays:
        return f"the job is pinned to {stays}, where it runs"
    told: dict[str, str] = {}
    for stage in stages:
        quarters = problem.demands[stage].quarters
        against = obstacle(candidate, problem, quarters, sites)
        alone = [one for one in quarters if against and obstacle(candidate, problem, (one,), sites)]
        if against := against or beyond_quota(candidate.way, problem, stage):
            told |= {translation.quarters[one]: against for one in alone or quarters}
    every = {one for stage in stages for one in problem.demands[stage].quarters}
    if not told or len(told) == len(every):
        return next(iter(told.values()), None)
    return f"not in {some_of(list(told), _QUARTERS_NAMED)}: {next(iter(told.values()))}"
