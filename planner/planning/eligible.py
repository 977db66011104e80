"""Which pools can take a unit at all, what keeps it out, and jobs that no pool can take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain
from math import ceil

from planner.errors import InfeasibleError
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.text.words import count_of
from planner.packing.problem import Pool, Problem
from planner.packing.statement.translate import Translation
from planner.planning.words import gpus_text, some_of
from planner.sizing.candidate import Candidate, SizedJob, Sizing


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
        has = _gb(nodes * pool.node.memory_mb)
        short.append(f"{_gb(candidate.memory_mb)} GB of host memory of {has}")
    return short


def _gb(megabytes: int) -> str:
    return f"{Decimal(megabytes) / 1000:,f}".removesuffix(".000")


def _cannot_span(candidate: Candidate, pool: Pool, rest: int) -> str | None:
    """Why a unit that one node does not hold cannot take several."""
    if not candidate.may_span:
        said = (step.rule for step in candidate.trace if step.result.name == "nodes_at_most")
        rules = "".join(f" ({rule})" for rule in said)
        return f"a node has {pool.node.gpus}, and a unit stays within one node{rules}"
    if not pool.fabric:
        return f"a node has {pool.node.gpus} and no fabric to span"
    return f"which is not a whole number of nodes of {pool.node.gpus}" if rest else None


def obstacle(
    candidate: Candidate, problem: Problem, quarters: Iterable[int], sites: Sequence[str] = ()
) -> str | None:
    """Why no nodes in play can take one unit in these quarters; None if some can.

    `sites` are those at which it may run; any if empty.
    """
    active = tuple(quarters)
    reasons = []
    for index, pool in enumerate(problem.pools):
        if pool.gpu_type != candidate.gpu_type or (sites and pool.site not in sites):
            continue
        if short := shortfalls(candidate, pool):
            reasons.append(f"on {pool.name} it needs {' and '.join(short)}")
        elif (reason := _too_few(candidate, problem, index, active)) is None:
            return None
        else:
            reasons.append(reason)
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
        for quarter in demand.quarters:
            taken, most = quota.taken(chosen, quarter), quota.at_most[quarter]
            if most is not None and taken > most:
                return f"one unit takes {gpus_text(taken)}, {quota.name} is {most:,}"
    return None


def _too_few(
    candidate: Candidate, problem: Problem, index: int, quarters: tuple[int, ...]
) -> str | None:
    """Why too few whole nodes of a pool can be had for one unit; None if enough can."""
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
        caps = [] if supply.maximum is None else [supply.maximum]
        if supply.deliveries is not None:
            caps.append(sum(supply.deliveries[entry] for entry in supply.entries(quarter)))
        if not caps:
            return None
        nodes += min(caps)
    return max(0, nodes)


_WAIVE = "change it, or waive a rule under policies.waived_rules with the reason"
_ADVICE = {
    "capacity/fits": "ask for less memory of each GPU: a smaller model, shorter sequences or "
    "contexts, a smaller batch or fewer requests at once, fewer bits",
    "exclusions/deadline": "give it more hours, or less data",
    "exclusions/run-within-window": "give it more time, or less data",
}
"""By the rule that rejects a GPU type: what to change where waiving the rule helps nobody."""

_JOBS_NAMED = 3
_OTHERS_NAMED = 6
_SITES_NAMED = 4
_WHOLE_FROM = 10
"""Factors from here on are told without decimals."""


def stuck_jobs(jobs: tuple[SizedJob, ...], translation: Translation) -> tuple[SizedJob, ...]:
    """Jobs with units that fit no node that is owned or offered, however many there were."""
    fit: dict[tuple[str, tuple[str, ...]], bool] = {}
    for job in jobs:
        kind = (job.sizing.id, job.sites)
        if kind not in fit:
            pools = _open_to(job.sites, translation.problem.pools)
            pairs = ((one, pool) for one in job.sizing.candidates for pool in pools)
            fit[kind] = any(
                one.gpu_type == pool.gpu_type and not shortfalls(one, pool) for one, pool in pairs
            )
    return tuple(job for job in jobs if any(job.units) and not fit[job.sizing.id, job.sites])


def require_eligible(
    stuck: tuple[SizedJob, ...], translation: Translation, catalog: Catalog
) -> None:
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
        if not sizing.candidates:
            reasons += (f"  worth a second look: {warning}" for warning in sizing.warnings)
    if reasons:
        what = "1 job has" if len(stuck) == 1 else f"{len(stuck):,} jobs have"
        headline = f"no plan exists: {what} no GPU type to run on"
        raise InfeasibleError(headline, tuple(reasons), remedies(stuck, translation, catalog))


def remedies(
    stuck: Sequence[SizedJob], translation: Translation, catalog: Catalog
) -> tuple[str, ...]:
    """What would let some node run them, once for those that are specified alike."""
    pools = translation.problem.pools
    told = (
        _remedies(names[0], sizing, _open_to(sites, pools), catalog)
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


def _remedies(job: str, sizing: Sizing, pools: tuple[Pool, ...], catalog: Catalog) -> Iterator[str]:
    in_play = {pool.gpu_type for pool in pools}
    host = any(one.gpu_type in in_play for one in sizing.candidates)
    held = [one for one in sizing.candidates if not host or _some_node_holds(one, catalog)]
    others = [f"{one.gpus} × {one.gpu_type}" for one in held if one.gpu_type not in in_play]
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
        none = "" if held else "; the catalog has none with so much, so ask for less"
        yield f"{job}: offer a node type with more GPUs, cores or host memory{or_fabric}{none}"
    elif (nearest := sizing.nearest(in_play)) is not None:
        text = (
            f"{job}: {nearest.gpu_type} comes nearest, {_times(nearest.times_as_long)} times as "
            f"long as is asked for: `{nearest.kept}` would let it run there"
        )
        fastest = sizing.nearest()
        if fastest is not None and fastest.gpu_type not in in_play:
            text += f"; {fastest.gpu_type}, which is not offered, would keep `{fastest.kept}`"
        yield text
    else:
        said = {one.rule for one in sizing.rejections if one.gpu_type in in_play}
        yield from dict.fromkeys(f"{job}: {_ADVICE.get(rule, _WAIVE)}" for rule in sorted(said))


def _some_node_holds(one: Candidate, catalog: Catalog) -> bool:
    """Whether a node type of the catalog has its GPUs with its cores and its host memory."""
    return any(
        one.cpus <= (nodes := ceil(one.gpus / node.gpus.value)) * node.cpu_cores.value
        and one.memory_mb <= nodes * node.host_memory_gb.value * 1000
        for node in catalog.nodes.values()
        if node.gpu_type == one.gpu_type
    )


def _times(factor: float) -> str:
    return f"{factor:,.0f}" if factor >= _WHOLE_FROM else f"{factor:.2g}"


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
