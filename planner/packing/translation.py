"""Translates settled inputs and sized jobs into the integer problem, and back into names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from planner.costs import api_costs, portfolio_costs
from planner.inputs.catalog.catalog import GpuType, MigProfile, NodeType
from planner.inputs.scenario.offer import FleetEntry
from planner.inputs.scenario.scenario import (
    NodePlace,
    ResolvedScenario,
    RunningUnit,
    fleet_by_pool,
    running_units,
)
from planner.inputs.settled import Inputs
from planner.packing.problem import (
    ALL_TRAFFIC,
    Division,
    HourlyTerms,
    JobClass,
    Mode,
    Part,
    Pool,
    Problem,
    Quota,
    RunWindow,
    Shape,
)
from planner.packing.supply import (
    growth_reserves,
    only,
    rack_spaces,
    releases_of,
    said,
    shared_spares,
    site_limits,
    spans,
    spare_nodes,
    spend_limits,
    supplies_of,
)
from planner.sizing.candidate import Candidate, SizedJob

Unit = tuple[str, int]
"""The job's name and the unit's number, from 1."""


RunningUnits = dict[Unit, "RunningUnit"]

_Alike = tuple[tuple[Mode, ...], tuple[int, ...], str, str, int, bool, str, tuple[int, ...], bool]
"""What a job class's units have in common."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A problem with the names behind its indices."""

    problem: Problem
    members: tuple[tuple[Unit, ...], ...]
    """For each job class, its units, sorted. A unit that may change its GPU type has one
    for each of its quarters, a *stage*; every other unit has one."""
    quarters: tuple[str, ...]
    """Labels such as `2027Q1`."""


def translate(
    inputs: Inputs, jobs: tuple[SizedJob, ...], running: RunningUnits | None = None
) -> Translation:
    """State a sized portfolio as an integer problem; units that are alike become one job class.

    A unit that may change its GPU type is asked for in each quarter by itself. `running` says
    what runs today; by default, it is what the scenario says.
    """
    if running is None:
        running = running_units(inputs.scenario)
    pools = shareable(_pools(inputs, running), inputs, jobs)
    free = _free(inputs.scenario, running)
    supplies = (*supplies_of(inputs, pools), *releases_of(inputs, pools, free))
    quotas = _quotas(inputs.scenario)
    owners = frozenset(quota.owner for quota in quotas)
    classes, members = _classes(jobs, pools, owners, running, inputs)
    horizon = inputs.scenario.horizon
    decided = (*portfolio_costs(inputs, ()), *api_costs(inputs, jobs))
    problem = Problem(
        horizon.quarters,
        pools,
        supplies,
        classes,
        sum(count * stream.present_cents for count, stream in decided),
        limits=site_limits(inputs, pools),
        racks=rack_spaces(inputs, pools),
        reserves=growth_reserves(inputs),
        budgets=spend_limits(inputs, supplies, jobs),
        quotas=quotas,
        spare_groups=shared_spares(inputs, pools),
    )
    return Translation(problem, members, horizon.labels)


def _pools(inputs: Inputs, running: RunningUnits) -> tuple[Pool, ...]:
    """Return the pools by type and site.

    Nodes that some unit may not leave are pools of their own.
    """
    scenario, catalog = inputs.scenario, inputs.catalog
    owned = fleet_by_pool(scenario)
    held = _held(running)
    apart = {(place.node_type, place.site, number) for place in held for number in place.numbers}
    whole_quarters = (offer for offer in inputs.offers if not offer.step_hours)
    offered = {(offer.node_type, site) for offer in whole_quarters for site in offer.sites}
    pools = []
    for node_type, site in sorted({*owned, *offered}):
        node = catalog.nodes[node_type]
        nodes = owned.get((node_type, site), [])
        everybody = tuple(
            number for number in range(1, len(nodes) + 1) if (node_type, site, number) not in apart
        )
        whole = Pool(
            node_type,
            site,
            node.gpu_type,
            _node(node),
            len(everybody),
            spare_nodes(inputs, node_type, site),
            node.scale_out_fabric is not None,
            _retired(scenario, nodes, everybody),
        )
        pools.append(whole)
        for place in held:
            if (place.node_type, place.site) == (node_type, site):
                gone = _retired(scenario, nodes, place.numbers)
                count = len(place.numbers)
                pools.append(
                    replace(whole, owned=count, spare=0, retired=gone, held=held_name(place))
                )
    return (*pools, *_hired(inputs))


def _held(running: RunningUnits) -> list[NodePlace]:
    """Return the nodes that some unit may not leave."""
    return sorted({unit.place for unit in running.values() if unit.pinned and unit.place.numbers})


def _free(scenario: ResolvedScenario, running: RunningUnits) -> dict[tuple[str, str], Counter[str]]:
    """Return, by node type and site, how many nodes of each fleet entry hold no pinned unit."""
    free = {
        pool: Counter(name for name, _ in nodes) for pool, nodes in fleet_by_pool(scenario).items()
    }
    for place in _held(running):
        nodes = fleet_by_pool(scenario)[place.node_type, place.site]
        free[place.node_type, place.site] -= Counter(nodes[n - 1][0] for n in place.numbers)
    return free


def _node(node: NodeType) -> Shape:
    return Shape(node.gpus.value, node.cpu_cores.value, int(node.host_memory_gb.value * 1000))


def _hired(inputs: Inputs) -> Iterator[Pool]:
    """Return the nodes for hours or weeks, by offer and site."""
    for offer in inputs.offers:
        if offer.step_hours:
            node = inputs.catalog.nodes[offer.node_type]
            hire = HourlyTerms(offer.step_hours, offer.minimum_hours)
            fabric = node.scale_out_fabric is not None
            for site in offer.sites:
                place = (offer.node_type, site, node.gpu_type, _node(node))
                yield Pool(*place, 0, 0, fabric=fabric, hire=hire, offer=offer.name)


def held_name(place: NodePlace) -> str:
    """Name the pool of nodes that some unit may not leave: `xe9680-h100/frankfurt/01+02`."""
    return f"{place.pool}/{'+'.join(f'{number:02}' for number in place.numbers)}"


def _retired(
    scenario: ResolvedScenario, nodes: Sequence[tuple[str, FleetEntry]], numbers: tuple[int, ...]
) -> tuple[int, ...]:
    """Return nodes of these numbers out of service by quarter; empty if none retires."""
    first = scenario.horizon.first_quarter
    ends = [
        entry.retires - first
        for entry in (nodes[number - 1][1] for number in numbers)
        if entry.retires is not None
    ]
    gone = tuple(
        sum(end <= quarter for end in ends) for quarter in range(scenario.horizon.quarters)
    )
    return gone if any(gone) else ()


def _classes(
    jobs: tuple[SizedJob, ...],
    pools: Sequence[Pool],
    owners: frozenset[str],
    running: RunningUnits,
    inputs: Inputs,
) -> tuple[tuple[JobClass, ...], tuple[tuple[Unit, ...], ...]]:
    """Group units that are alike, in a canonical order, not the input's.

    Alike: the same modes, active quarters and owner, and the same place today. `owners` are
    the teams with a quota: their units are counted apart.
    """
    in_play = {pool.site for pool in pools}
    shared_mb = {pool.gpu_type: pool.shared_mb for pool in pools if not pool.hire}
    groups: dict[_Alike, list[Unit]] = defaultdict(list)
    modes: dict[tuple[str, tuple[str, ...], int, int, int, str], tuple[Mode, ...]] = {}
    for job in jobs:
        sites = () if in_play <= set(job.sites) else job.sites
        owner = job.team if job.team in owners else ""
        endpoint = job.name if job.shares_traffic else ""
        for quarters, units in _activity(job, _in_quarters(job)):
            takes = tuple(_takes(one, quarters[0]) for one in _by_way(job) if endpoint)
            for number in units:
                unit = (job.name, number)
                stays, origin, cents = _today(inputs.scenario, running.get(unit))
                if quarters[0]:
                    origin, cents = "", 0  # a later stage: where it ran today is left by then
                kind = (job.sizing.id, sites, job.release_hour, job.deadline_hour, job.runs, stays)
                if kind not in modes:
                    modes[kind] = tuple(
                        replace(
                            _mode(candidate, job, sites, stays),
                            share=_counted_share(candidate, inputs, shared_mb),
                        )
                        for candidate in _by_way(job)
                    )
                stage = not job.keeps_gpu_type
                whose = (owner, origin, cents, stage, endpoint, takes, job.units_open)
                groups[modes[kind], quarters, *whose].append(unit)
    ordered = sorted((key, sorted(units)) for key, units in groups.items())
    classes = tuple(
        JobClass(
            ways,
            quarters,
            len(units),
            owner,
            origin,
            cents,
            stage,
            endpoint=endpoint,
            takes=takes,
            at_most=at_most,
        )
        for (ways, quarters, owner, origin, cents, stage, endpoint, takes, at_most), units in (
            ordered
        )
    )
    return classes, tuple(tuple(units) for _, units in ordered)


def _today(scenario: ResolvedScenario, unit: RunningUnit | None) -> tuple[str, str, int]:
    """Return what a unit may not leave, the pool that it runs in today, and the cents of a move."""
    if unit is None:
        return "", "", 0
    if unit.pinned:
        return held_name(unit.place) if unit.place.numbers else unit.place.pool, "", 0
    return "", unit.place.pool, scenario.move_cents(unit.job)


def _quotas(scenario: ResolvedScenario) -> tuple[Quota, ...]:
    labels = scenario.horizon.labels
    return tuple(
        Quota(
            said(f"quota of {team}{f' on {gpu_type}' * bool(gpu_type)}", span, labels),
            team,
            gpu_type,
            only(span, most, len(labels)),
        )
        for team, stated in sorted(scenario.teams.items())
        for gpu_type, at_most in stated.quotas(scenario.horizon)
        for span, most in spans(at_most)
    )


def _counted_share(candidate: Candidate, inputs: Inputs, shared_mb: Mapping[str, int]) -> Fraction:
    """Return what each of its GPUs counts against a quota.

    `shared_mb` is what can be shared of a GPU.
    """
    if inputs.scenario.policies.quota_of_part == "share":
        if candidate.partition is not None:
            gpu = inputs.catalog.gpus[candidate.gpu_type]
            taken = gpu.mig_profiles[candidate.partition].memory_slices
            return Fraction(taken, gpu.memory_slices)
        if candidate.shared_mb and shared_mb.get(candidate.gpu_type):
            return Fraction(candidate.shared_mb, shared_mb[candidate.gpu_type])
    return Fraction(1)


def _mode(candidate: Candidate, job: SizedJob, sites: tuple[str, ...], stays: str) -> Mode:
    shape = Shape(
        candidate.gpus,
        candidate.cpus,
        candidate.memory_mb,
        candidate.may_span,
        sites,
        stays=stays,
    )
    copies, by_quarter = candidate.replicas, candidate.replicas_by_quarter
    if candidate.planned_hours is not None:
        run = RunWindow(candidate.planned_hours, job.release_hour, job.deadline_hour)
        shape, copies = shape._replace(run=run), job.runs
    if candidate.partition is not None or candidate.shared_mb:
        part = Part(candidate.partition or "", candidate.shared_mb)
        shape = shape._replace(part=part)
    return Mode(candidate.gpu_type, shape, copies, candidate.way, by_quarter)


def _by_way(job: SizedJob) -> list[Candidate]:
    return sorted(job.sizing.candidates, key=lambda one: one.way)


def _takes(candidate: Candidate, quarter: int) -> int:
    """Return what a replica takes of its endpoint's traffic, in millionths, rounded up."""
    serving = candidate.serving
    if serving is None or not serving.peaks[quarter]:
        return ALL_TRAFFIC
    share = Fraction(serving.planned_requests_per_second) / Fraction(serving.peaks[quarter])
    return min(ALL_TRAFFIC, ceil(share * ALL_TRAFFIC))


def _in_quarters(job: SizedJob) -> dict[int, list[int]]:
    """Return, by number of a unit, the quarters in which it is to be placed."""
    found: dict[int, list[int]] = defaultdict(list)
    for quarter in range(len(job.units)):
        for number in job.numbers(quarter):
            found[number].append(quarter)
    return found


def _activity(
    job: SizedJob, in_quarters: Mapping[int, Sequence[int]]
) -> Iterator[tuple[tuple[int, ...], Sequence[int]]]:
    """Group numbers of units that are active in the same quarters, by stage or overall."""
    if not job.keeps_gpu_type:
        every = ((quarter, job.numbers(quarter)) for quarter in range(len(job.units)))
        yield from (((quarter,), numbers) for quarter, numbers in every if numbers)
        return
    alike: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, quarters in in_quarters.items():
        alike[tuple(quarters)].append(number)
    yield from alike.items()


_Slots = tuple[tuple[str, int], ...]


def shareable(pools: Sequence[Pool], inputs: Inputs, jobs: Sequence[SizedJob]) -> tuple[Pool, ...]:
    """Say of each pool how its GPUs may be divided: into partitions that some job can use.

    The memory that may be shared is the least that any job that shares this GPU type may fill:
    some are sized by what the driver reports, others by the memory as marketed.
    """
    profiles: dict[str, set[str]] = {}
    shared: dict[str, int] = {}
    for sizing in {job.sizing.id: job.sizing for job in jobs}.values():
        for candidate in sizing.candidates:
            gpu_type = candidate.gpu_type
            if candidate.partition is not None:
                profiles.setdefault(gpu_type, set()).add(candidate.partition)
            if candidate.shared_mb:
                capacity = candidate.gpu_capacity_mb
                shared[gpu_type] = min(capacity, shared.get(gpu_type, capacity))
    divisions = {
        gpu_type: divisions_of(inputs.catalog.gpus[gpu_type], sorted(used))
        for gpu_type, used in profiles.items()
    }
    return tuple(
        pool
        if pool.hire
        else replace(
            pool,
            divisions=divisions.get(pool.gpu_type, ()),
            shared_mb=shared.get(pool.gpu_type, 0),
            mixes=inputs.scenario.policies.mig != "own-node",
        )
        for pool in pools
    )


def divisions_of(gpu: GpuType, profiles: Sequence[str]) -> tuple[Division, ...]:
    """Return the ways to partition a GPU into these profiles that have no room for another.

    Of those that differ in their places alone, the first is kept, and none of those whose
    partitions another has as well; sorted.
    """
    found: dict[_Slots, _Slots] = {}
    for slots in _placed(gpu, {name: gpu.mig_profiles[name] for name in profiles}):
        found.setdefault(tuple(sorted((name, 0) for name, _ in slots)), slots)
    counted = {slots: Counter(name for name, _ in slots) for slots in found.values()}
    return tuple(
        Division(slots)
        for slots in sorted(counted)
        if not any(counted[slots] < other for other in counted.values())
    )


def _placed(gpu: GpuType, profiles: Mapping[str, MigProfile]) -> Iterator[_Slots]:
    """Yield every set of partitions side by side within a GPU's slices, by first slice."""

    def beyond(slots: _Slots, free: int, compute: int) -> Iterator[_Slots]:
        yield slots
        for name, profile in profiles.items():
            if profile.compute_slices <= compute:
                for start in profile.placement_starts:
                    if start >= free:
                        more = (*slots, (name, start))
                        left = compute - profile.compute_slices
                        yield from beyond(more, start + profile.memory_slices, left)

    return beyond((), 0, gpu.compute_slices)
