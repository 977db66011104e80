"""Describes the jobs of a plan: how each runs, what alternatives add, and why some fit nowhere."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import product
from math import ceil
from typing import Literal, NamedTuple

from planner.errors import Finding, InfeasibleError, InputError
from planner.inputs.base import Frozen
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.scenario.scenario import NO_SITE, ResolvedScenario
from planner.inputs.text import (
    amount,
    count_of,
    did_you_mean,
    gpus_text,
    listed,
    one_of,
    some_of,
    usd,
)
from planner.packing import Problem, Translation
from planner.packing.problem import Mode, Pool
from planner.packing.solution import Solution
from planner.planning.place import Kept
from planner.planning.plan import Alternative, GpuPart, Node, Occupant, Plan, PlannedJob, ShortJob
from planner.sizing.candidate import Candidate, SizedJob, Sizing

_QUARTERS_NAMED = 3
_WAIVE = "change the job, or waive the rule under policies.waived_rules with the reason"
_ADVICE = {
    "capacity/fits": "ask for less memory of each GPU: a smaller model, shorter sequences or "
    "contexts, a smaller batch or fewer requests at once, fewer bits; or state more GPUs, where "
    "their number is stated",
    "exclusions/deadline": "give it less data, or make several shorter runs of it, each of "
    "a quarter at the most; or allow a later `deadline_hours`",
    "exclusions/run-within-window": "give it more time, or less to do",
    "exclusions/stated-too-few": "state as many GPUs as are needed, or leave their number out",
    "serving/heads-divide": "state another number of GPUs for each replica",
}
"""For a rule that rejects a GPU type, what to change if waiving the rule would not help."""

_LISTS = {
    "job.gpu_types": "its `gpu_types`",
    "policies.allowed_gpu_types": "`policies.allowed_gpu_types`",
    "policies.excluded_gpu_types": "`policies.excluded_gpu_types`",
}
"""Lists of a scenario by which a GPU type is rejected."""
_JOBS_NAMED = 3
_OTHERS_NAMED = 6
_SITES_NAMED = 4
_WHOLE_FROM = 10
"""From this factor on, factors are shown without decimals."""


class Stage(NamedTuple):
    """A unit of a job during the quarters in which it runs in one way."""

    unit: int
    """From 1."""
    job_class: int
    mode: Mode
    quarters: tuple[int, ...]


def stages_by_job(translation: Translation, kept: Kept) -> dict[str, list[Stage]]:
    """Return what the units of each job do, in the order of the job classes."""
    found: dict[str, list[Stage]] = defaultdict(list)
    for number, (job_class, members) in enumerate(
        zip(translation.problem.classes, translation.members, strict=True)
    ):
        for (job, unit), mode in zip(members, kept[number], strict=True):
            found[job].append(Stage(unit, number, job_class.modes[mode], job_class.quarters))
    return found


def planned_jobs(
    jobs: tuple[SizedJob, ...],
    scenario: ResolvedScenario,
    translation: Translation,
    solution: Solution,
    stages: Mapping[str, Sequence[Stage]],
    tags: Mapping[str, int],
) -> tuple[PlannedJob, ...]:
    """Return all jobs in the order in which they were sized, which is by name."""
    known: dict[object, tuple[Alternative, ...]] = {}
    planned = []
    for job in jobs:
        mine = stages.get(job.name, ())
        ways = _most_first({(one.unit, one.mode.way) for one in mine})
        first = tuple(one.job_class for one in mine if one.unit == 1)
        chosen = frozenset(way for way, _ in ways)
        key = (job.sizing.id, first, chosen, bool(job.on_apis))
        if key not in known:
            known[key] = _alternatives(job, translation, solution, first, chosen)
        in_way = Counter((one.mode.way, at) for one in mine for at in one.quarters)
        quarters = range(translation.problem.quarters)
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
                gpu_types=_most_first({(one.unit, one.mode.gpu_type) for one in mine}),
                ways=ways,
                replicas=tuple(
                    (way, tuple(in_way[way, at] for at in quarters))
                    for way, _ in (ways if job.shares_traffic else ())
                ),
                tag_cents=tags.get(job.name, 0),
                alternatives=known[key],
            )
        )
    return tuple(planned)


def _most_first(units: Iterable[tuple[int, str]]) -> tuple[tuple[str, int], ...]:
    """Return the names by which units go, with the number of units, most first."""
    counted = Counter(name for _, name in units)
    return tuple(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def stored_assets(
    jobs: Iterable[SizedJob], stages: Mapping[str, Sequence[Stage]], quarters: int
) -> tuple[int, ...]:
    """Return the storage for tuned assets at the end of each quarter, in MB.

    Each unit keeps one asset from its first active quarter on; tuning it again replaces the
    asset.
    """
    stored = [0] * quarters
    for job in jobs:
        sizes = {one.way: one.storage_mb for one in job.sizing.candidates}
        begun: dict[int, dict[int, int]] = defaultdict(dict)
        for one in stages.get(job.name, ()):
            begun[one.unit][one.quarters[0]] = sizes[one.mode.way]
        for sizes_mb in begun.values():
            size_mb = 0
            for quarter in range(min(sizes_mb), quarters):
                size_mb = sizes_mb.get(quarter, size_mb)
                stored[quarter] += size_mb
    return tuple(stored)


def _alternatives(
    job: SizedJob,
    translation: Translation,
    solution: Solution,
    stages: tuple[int, ...],
    chosen: frozenset[str],
) -> tuple[Alternative, ...]:
    """Return the candidates that are owned or offered, from the view of the job's first unit.

    The first unit is active in every quarter in which the job is, and `stages` are its job classes.
    Staying on a GPU type costs the sum over them.
    """
    problem = translation.problem
    in_play = {pool.gpu_type for pool in problem.pools}
    modes: tuple[Mode, ...] = problem.classes[stages[0]].modes if stages else ()
    extra_of: dict[str, int | None] = {}
    for place, mode in enumerate(modes):
        extras = [solution.tags[one].extra_cents_by_mode[place] for one in stages]
        known = [extra for extra in extras if extra is not None]
        extra_of[mode.way] = max(0, round(sum(known))) if len(known) == len(extras) else None
    allowed = sum(mode.gpu_type in in_play for mode in modes)
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
    """Say why an allowed GPU type was not chosen.

    One that is no dearer by the bound is no better.
    """
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
    """Say what keeps the first unit off a GPU type, and in which quarters, if not in all."""
    problem = translation.problem
    stays = problem.classes[stages[0]].modes[0].shape.stays
    if stays:
        return f"the job is pinned to {stays}, where it runs"
    told: dict[str, str] = {}
    for stage in stages:
        quarters = problem.classes[stage].quarters
        against = _no_pool(candidate, problem, quarters, sites)
        alone = [one for one in quarters if against and _no_pool(candidate, problem, (one,), sites)]
        if against := against or _beyond_quota(candidate.way, problem, stage):
            told |= {translation.quarters[one]: against for one in alone or quarters}
    every = {one for stage in stages for one in problem.classes[stage].quarters}
    if not told or len(told) == len(every):
        return next(iter(told.values()), None)
    keeps = any(len(problem.classes[stage].quarters) > 1 for stage in stages)
    why = ", and its units keep one GPU type over all quarters (`may_change_gpu_type`)" * keeps
    return f"not in {some_of(list(told), _QUARTERS_NAMED)}: {next(iter(told.values()))}{why}"


def _shortfalls(candidate: Candidate, pool: Pool) -> list[str]:
    """Say what a unit needs beyond one node, or beyond the whole nodes that it may span."""
    nodes = 1
    if pool.hire is not None and candidate.planned_hours is None:
        return ["whole quarters, and these nodes are for runs of known length"]
    if candidate.gpus > pool.node.gpus:
        nodes, rest = divmod(candidate.gpus, pool.node.gpus)
        needs = count_of(candidate.gpus, "GPU")
        if not candidate.may_span:
            said = (one.rule for one in candidate.trace if one.result.name == "nodes_at_most")
            rules = "".join(f" ({rule})" for rule in said)
            within = "and a unit stays within one node"
            return [f"{needs}, a node has {pool.node.gpus}, {within}{rules}"]
        if not pool.fabric:
            return [f"{needs}, a node has {pool.node.gpus} and no fabric to span"]
        if rest:
            return [f"{needs}, which is not a whole number of nodes of {pool.node.gpus}"]
    short = []
    if candidate.cpus > nodes * pool.node.cpus:
        short.append(f"{candidate.cpus:,} cores of {nodes * pool.node.cpus:,}")
    if candidate.memory_mb > nodes * pool.node.memory_mb:
        asked, has = (Decimal(mb) / 1000 for mb in (candidate.memory_mb, pool.node.memory_mb))
        short.append(f"{amount(asked, 'GB')} of host memory of {(nodes * has).normalize():,f}")
    return short


def _no_pool(
    candidate: Candidate, problem: Problem, quarters: Iterable[int], sites: Sequence[str] = ()
) -> str | None:
    """Say why no node in play can take a unit in these quarters; None if one can.

    `sites` are those at which it may run; empty: any.
    """
    active = tuple(quarters)
    reasons = []
    for index, pool in enumerate(problem.pools):
        if pool.gpu_type != candidate.gpu_type or (sites and pool.site not in sites):
            continue
        if short := _shortfalls(candidate, pool):
            reasons.append(f"on {pool.name} it needs {' and '.join(short)}")
        else:
            needed = max(1, candidate.gpus // pool.node.gpus)
            most = [_obtainable(problem, index, quarter) for quarter in active]
            least = min((nodes for nodes in most if nodes is not None), default=needed)
            if least >= needed:
                return None
            if not least:
                reasons.append(f"no node of {pool.name} can be had")
                continue
            wanted = count_of(needed, "whole node")
            reasons.append(f"it needs {wanted} of {pool.name}, of which {least:,} can be had")
    where = f" at {' or '.join(sites)}" if sites else ""
    return "; ".join(reasons) or f"no such node is owned or offered{where}"


def _beyond_quota(way: str, problem: Problem, number: int) -> str | None:
    """Say why no unit of a job class can run in this way within its quotas; None if one can."""
    job_class = problem.classes[number]
    chosen = next((one for one in job_class.modes if one.way == way), None)
    if chosen is None:
        return None
    for quota in problem.quotas:
        if quota.owner != job_class.owner:
            continue
        for quarter in job_class.quarters:
            taken, most = quota.taken(chosen, quarter), quota.at_most[quarter]
            if most is not None and taken > most:
                return f"one unit takes {gpus_text(taken)}, {quota.name} is {most:,}"
    return None


def _obtainable(problem: Problem, index: int, quarter: int) -> int | None:
    """Return the nodes that can run units in a quarter, without spare ones.

    None if there is no maximum.
    """
    nodes = problem.pools[index].owned_in(quarter) - problem.pools[index].spare
    counted: set[int] = set()
    for supply in problem.supplies:
        if supply.releases:
            continue
        costs = [supply.unit_cost_cents[entry] for entry in supply.entries(quarter)]
        if supply.pool != index or all(cost is None for cost in costs):
            continue
        if supply.offer in counted:
            continue
        if supply.offer is not None:
            counted.add(supply.offer)
        caps = [] if supply.maximum is None else [supply.maximum]
        if supply.deliveries is not None:
            caps.append(sum(supply.deliveries[entry] for entry in supply.entries(quarter)))
        if not caps:
            return None
        nodes += min(caps)
    return max(0, nodes)


def stuck_jobs(jobs: tuple[SizedJob, ...], translation: Translation) -> tuple[SizedJob, ...]:
    """Return the jobs whose units fit no node that is owned or offered, however many there were."""
    fit: dict[tuple[str, tuple[str, ...]], bool] = {}
    for sizing, sites, _ in _by_sizing(jobs):
        fit[sizing.id, sites] = any(
            one.gpu_type == pool.gpu_type and not _shortfalls(one, pool)
            for one, pool in product(sizing.candidates, _open_to(sites, translation.problem.pools))
        )
    return tuple(job for job in jobs if any(job.units) and not fit[job.sizing.id, job.sites])


def require_eligible(
    stuck: tuple[SizedJob, ...], translation: Translation, catalog: Catalog
) -> None:
    """Refuse a portfolio in which some job fits no node that is owned or offered.

    `stuck` are those jobs, sized on every GPU type of the catalog. Raises InfeasibleError with
    one line for each job and, for each GPU type in play, the rule or the figure that rules it
    out.
    """
    pools = translation.problem.pools
    reasons: list[str] = []
    for sizing, sites, names in _by_sizing(stuck):
        where = f" at {some_of(sites, _SITES_NAMED)}, where it may run" if sites else ""
        alike = " specified alike" if len(names) > _JOBS_NAMED else ""
        reasons.append(
            f"{some_of(names, _JOBS_NAMED)}{alike} ({sizing.summary}) fits nothing that is owned "
            f"or offered{where}"
        )
        reasons += (f"  {line}" for line in _why(sizing, sites, pools))
        if not sizing.candidates:
            reasons += (f"  worth a second look: {warning}" for warning in sizing.warnings)
    what = "1 job has" if len(stuck) == 1 else f"{len(stuck):,} jobs have"
    headline = f"no plan exists: {what} no GPU type to run on"
    raise InfeasibleError(headline, tuple(reasons), remedies(stuck, translation, catalog))


def remedies(
    stuck: Sequence[SizedJob], translation: Translation, catalog: Catalog
) -> tuple[str, ...]:
    """Say what would let a node run these jobs, once for jobs that are specified alike."""
    pools = translation.problem.pools
    told = (
        f"{names[0]}: {remedy}"
        for sizing, sites, names in _by_sizing(stuck)
        for remedy in _remedies(sizing, sites, pools, catalog)
    )
    return tuple(dict.fromkeys(told))


def _open_to(sites: tuple[str, ...], pools: tuple[Pool, ...]) -> tuple[Pool, ...]:
    """Return the pools at sites where a job may run; all if it asks for none."""
    return tuple(pool for pool in pools if not sites or pool.site in sites)


def _by_sizing(jobs: Sequence[SizedJob]) -> list[tuple[Sizing, tuple[str, ...], list[str]]]:
    """Group the jobs that are specified alike and may run at the same sites."""
    found: dict[tuple[str, tuple[str, ...]], tuple[Sizing, tuple[str, ...], list[str]]] = {}
    for job in jobs:
        found.setdefault((job.sizing.id, job.sites), (job.sizing, job.sites, []))[2].append(
            job.name
        )
    return list(found.values())


def _why(sizing: Sizing, sites: tuple[str, ...], every: tuple[Pool, ...]) -> Iterator[str]:
    """Say for each GPU type in play what speaks against it."""
    pools = _open_to(sites, every)
    in_play = {pool.gpu_type for pool in pools}
    if not in_play:
        yield f"no node is owned{' there' if every else ''} and none is offered"
    meant = _meant(sizing) - in_play
    for gpu_type in sorted(in_play | meant):
        if gpu_type in meant:
            yield f"{gpu_type}: neither owned nor offered"
        for rejection in sizing.rejections:
            if rejection.gpu_type == gpu_type:
                yield f"{gpu_type}: {rejection.message} ({rejection.rule})"
        for candidate, pool in product(sizing.candidates, pools):
            if candidate.gpu_type == pool.gpu_type == gpu_type:
                short = " and ".join(_shortfalls(candidate, pool))
                yield f"{gpu_type}: on {pool.name} it needs {short}"


def _meant(sizing: Sizing) -> set[str]:
    """Return the GPU types that the job lists itself, if it does."""
    unlisted = {one.gpu_type for one in sizing.rejections if one.rule == "job.gpu_types"}
    rejected = {one.gpu_type for one in sizing.rejections} - unlisted
    return rejected.union(one.gpu_type for one in sizing.candidates) if unlisted else set()


def _lists_to_open(sizing: Sizing, in_play: set[str]) -> Iterator[str]:
    """Say which GPU types in play are rejected by lists of the scenario alone, and by which."""
    against: dict[str, list[str]] = defaultdict(list)
    for one in sizing.rejections:
        if one.gpu_type in in_play:
            against[one.gpu_type].append(one.rule)
    by_lists: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for gpu_type, rules in sorted(against.items()):
        if _LISTS.keys() >= set(rules):
            by_lists[tuple(rules)].append(gpu_type)
    for lists, gpu_types in by_lists.items():
        yield f"let it use {one_of(gpu_types)}: change {listed([_LISTS[one] for one in lists])}"


def _remedies(
    sizing: Sizing, sites: tuple[str, ...], every: tuple[Pool, ...], catalog: Catalog
) -> Iterator[str]:
    pools = _open_to(sites, every)
    if every and not pools:
        yield f"offer nodes at {one_of(sites)}, or change its `sites` or `labels`"
        return
    in_play = {pool.gpu_type for pool in pools}
    for_runs = {
        pool.node_type
        for one, pool in product(sizing.candidates, pools)
        if pool.hire is not None and one.planned_hours is None and one.gpu_type == pool.gpu_type
        if not _shortfalls(one, replace(pool, hire=None))
    }
    if for_runs:
        yield f"offer {one_of(sorted(for_runs))} to buy, rent or reserve by the quarter as well"
        return
    yield from _lists_to_open(sizing, in_play)
    host = any(one.gpu_type in in_play for one in sizing.candidates)
    held = [one for one in sizing.candidates if not host or _some_node_holds(one, catalog)]
    others = [f"{one.gpus} × {one.gpu_type}" for one in held if one.gpu_type not in in_play]
    stated = [one for one in sizing.candidates if one.decided_by == "stated"]
    counts = _countable(stated, pools)
    if counts:
        yield f"state {counts}, or offer a node type whose GPUs divide it"
    nearest = sizing.nearest(in_play)
    if others:
        shown = some_of(others, _OTHERS_NAMED)
        yield f"offer nodes of a GPU type that it can use: {shown}"
    elif sizing.candidates:
        fabric = any(candidate.may_span for candidate in sizing.candidates)
        or_fabric = ", or with a fabric" if fabric else ""
        none = "" if held else "; the catalog has none with so much, so ask for less"
        yield f"offer a node type with more GPUs, cores or host memory{or_fabric}{none}"
    if nearest is not None:
        longer = nearest.times_as_long
        times = f"{longer:,.0f}" if longer >= _WHOLE_FROM else f"{longer:.{2 + (longer < 1.1)}g}"
        text = (
            f"{nearest.gpu_type} comes nearest, {times} times as "
            f"long as is asked for: `{nearest.kept}` would let it run there"
        )
        fastest = None if others else sizing.nearest()
        if fastest is not None and fastest.gpu_type not in in_play:
            text += f"; {fastest.gpu_type}, which is not offered, would keep `{fastest.kept}`"
        yield text
    elif not sizing.candidates:
        said = {one.rule for one in sizing.rejections if one.gpu_type in in_play} - _LISTS.keys()
        yield from dict.fromkeys(_ADVICE.get(rule, _WAIVE) for rule in sorted(said))


def _some_node_holds(one: Candidate, catalog: Catalog) -> bool:
    """Return whether a node type of the catalog has enough GPUs, cores and host memory."""
    return any(
        one.cpus <= (nodes := ceil(one.gpus / node.gpus.value)) * node.cpu_cores.value
        and one.memory_mb <= nodes * node.host_memory_gb.value * 1000
        and (
            nodes == 1
            or (one.may_span and node.scale_out_fabric and not one.gpus % node.gpus.value)
        )
        for node in catalog.nodes.values()
        if node.gpu_type == one.gpu_type
    )


def _countable(stated: Sequence[Candidate], pools: tuple[Pool, ...]) -> str:
    """Return the nearest GPU counts, below and above, that whole nodes give; empty if none do."""
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


_AHEAD_NAMED = 10


class PlacedUnits(Frozen):
    """Units of the job that hold the same GPUs of one node, or whole nodes, in one quarter."""

    quarter: str
    nodes: tuple[str, ...]
    """More than one only for a unit that takes whole nodes."""
    gpu_type: str
    units: tuple[int, ...]
    replicas: tuple[int, ...]
    """The replicas or runs of each of these units, from 1; a unit may have several here."""
    in_replicas: bool
    """Whether a unit has several replicas, or several runs in a quarter, in this way."""
    gpus: tuple[int, ...]
    """The GPU numbers held on the (first) node."""
    way: str
    """The way of the candidate by which they run."""
    hours: tuple[int, int] | None = None
    """Start and end of the time for which they hold the GPUs, in hours of the quarter; None: all
    quarter."""
    parts: tuple[tuple[int, GpuPart], ...] = ()
    """The GPU number and the part held, for each unit; empty if the GPUs are whole."""


class Reason(Frozen):
    """Something that speaks for or against a GPU type."""

    text: str
    rule: str | None = None
    sources: tuple[str, ...] = ()


class ModeVerdict(Frozen):
    """The verdict on one way to run: chosen, dearer, not available, or ruled out."""

    gpu_type: str
    way: str
    """The way of the candidate, or the GPU type if it is rejected as a whole."""
    outcome: Literal["chosen", "costs more", "costs no more", "not available", "rejected"]
    units: int
    """How many units of the job run in this way."""
    extra_cents: int | None
    """What one unit would add to the bound here; None if there is no price for it."""
    reasons: tuple[Reason, ...]
    candidate: Candidate | None
    """What a unit would take; None if the GPU type is rejected."""


class Explanation(Frozen):
    """Everything that a plan knows about one job."""

    job: PlannedJob
    sizing: Sizing
    quarters: tuple[str, ...]
    places: tuple[PlacedUnits, ...]
    """Sorted by quarter, then by node."""
    verdicts: tuple[ModeVerdict, ...]
    """The chosen ways first, then by cost, then those not available, then the rejected ones."""
    chosen: tuple[Candidate, ...]
    """The chosen candidates with their full traces, most units first."""
    when: dict[str, tuple[str, ...]]
    """The quarters of each way, if some unit changes its GPU type; else empty."""
    shortage: ShortJob | None = None
    """How this job, or the job that it is derived from, gives way; None if it is kept."""
    ahead: tuple[str, ...] = ()
    """The jobs that also give way, and that would get new room before this one."""


def explain_job(plan: Plan, job_name: str) -> Explanation:
    """Explain one job of a plan.

    Raises InputError, with the nearest names, if the plan has no such job.
    """
    job = next((job for job in plan.jobs if job.name == job_name), None)
    if job is None:
        names = [job.name for job in plan.jobs]
        others = f"it has {count_of(len(names), 'other')}" if names else "nor any other"
        message = f"the plan has no job {job_name!r}, {others}"
        all_of_them = f"its jobs: {some_of(names, _AHEAD_NAMED)}" if names else None
        raise InputError(Finding(message, hint=did_you_mean(job_name, names, 3) or all_of_them))
    sizing = plan.sizings[job.sizing]
    candidates = {candidate.way: candidate for candidate in sizing.candidates}
    gives_way = plan.shortage.jobs if plan.shortage else ()
    short = next((one for one in gives_way if job_name in (one.name, one.deployment)), None)
    return Explanation(
        job=job,
        sizing=sizing,
        quarters=plan.quarters,
        places=tuple(_places(plan, job)),
        verdicts=_verdicts(job, sizing),
        chosen=tuple(candidates[way] for way, _ in job.ways),
        when=plan.quarters_by_way().get(job.name, {}),
        shortage=short,
        ahead=plan.shortage.ahead_of(short) if plan.shortage and short else (),
    )


def _places(plan: Plan, job: PlannedJob) -> Iterator[PlacedUnits]:
    nodes = {node.id: node for node in plan.nodes}
    candidates = {one.way: one for one in plan.sizings[job.sizing].candidates}
    for quarter, uses in zip(plan.quarters, plan.placements, strict=True):
        seats: dict[tuple[int, int], list[tuple[Node, Occupant]]] = {}
        for use in uses:
            for occupant in use.occupants:
                if occupant.job == job.name:
                    piece = occupant.unit, occupant.replica
                    seats.setdefault(piece, []).append((nodes[use.node], occupant))
        alike: dict[tuple[tuple[str, ...], tuple[int, int], str], list[tuple[int, int]]] = {}
        for piece, places in sorted(seats.items()):
            one = places[0][1]
            key = tuple(node.id for node, _ in places), one.hours or (0, 0), one.way
            alike.setdefault(key, []).append(piece)
        several = {places[0][1].way for (_, replica), places in seats.items() if replica > 1}
        for (ids, _, way), pieces in sorted(alike.items()):
            node, first = seats[pieces[0]][0]
            held = [seats[piece][0][1] for piece in pieces]
            yield PlacedUnits(
                quarter=quarter,
                nodes=ids,
                gpu_type=node.gpu_type,
                units=tuple(unit for unit, _ in pieces),
                replicas=tuple(replica for _, replica in pieces),
                in_replicas=way in several or candidates[way].replicas > 1,
                gpus=tuple(sorted({gpu for one in held for gpu in one.gpus})),
                way=way,
                hours=first.hours,
                parts=tuple((one.gpus[0], one.part) for one in held if one.part),
            )


def _verdicts(job: PlannedJob, sizing: Sizing) -> tuple[ModeVerdict, ...]:
    """Return the verdicts in order.

    Chosen first, then by cost, then those without a price, then the rejected ones.
    """
    units = dict(job.ways)
    known = {alternative.way: alternative for alternative in job.alternatives}
    priced = []
    for candidate in sizing.candidates:
        alternative = known.get(candidate.way)
        extra = alternative.extra_cents if alternative else None
        outcome: Literal["chosen", "costs more", "costs no more", "not available"]
        if candidate.way in units:
            outcome = "chosen"
        elif extra is None:
            outcome = "not available"
        else:
            outcome = "costs more" if extra else "costs no more"
        told = alternative.reason if alternative else "not owned and not offered"
        priced.append(
            ModeVerdict(
                gpu_type=candidate.gpu_type,
                way=candidate.way,
                outcome=outcome,
                units=units.get(candidate.way, 0),
                extra_cents=extra,
                reasons=(Reason(text=told),),
                candidate=candidate,
            )
        )
    priced.sort(key=lambda v: (-v.units, v.extra_cents is None, v.extra_cents or 0, v.way))
    rejected: dict[str, ModeVerdict] = {}
    for one in (*sizing.rejections, *sizing.refused_parts):
        way = one.way or one.gpu_type
        before = rejected[way].reasons if way in rejected else ()
        reason = Reason(text=one.message, rule=one.rule, sources=one.sources)
        rejected[way] = ModeVerdict(
            gpu_type=one.gpu_type,
            way=way,
            outcome="rejected",
            units=0,
            extra_cents=None,
            reasons=(*before, reason),
            candidate=None,
        )
    return (*priced, *(verdict for _, verdict in sorted(rejected.items())))
