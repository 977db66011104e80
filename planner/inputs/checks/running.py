"""What is said to run today, but cannot: unknown jobs and nodes, too many units, too full nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from planner.inputs.catalog.catalog import Catalog
from planner.inputs.checks.faults import Fault, Whole, known
from planner.inputs.reading.document import Path
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.places import NodePlace, fleet_by_pool, node_places, plain, pool_places
from planner.inputs.scenario.scenario import ResolvedScenario, Running
from planner.inputs.text.words import count_of, did_you_mean

_LISTED = 8


@dataclass
class _Today:
    """What the entries so far say, and the places that they may name."""

    scenario: ResolvedScenario
    units: Counter[str] = field(default_factory=Counter)
    gpus: Counter[NodePlace] = field(default_factory=Counter)

    @cached_property
    def nodes(self) -> dict[str, NodePlace]:
        return node_places(self.scenario)

    @cached_property
    def pools(self) -> dict[str, NodePlace]:
        return pool_places(self.scenario)


def running(whole: Whole) -> Iterator[Fault]:
    """What the entries say that cannot be, in their order."""
    today = _Today(whole.scenario)
    for position, entry in enumerate(whole.scenario.running):
        path = ("running", position)
        yield from known(_of_job(today, path, entry), _at_places(today, whole.catalog, path, entry))


def _of_job(today: _Today, path: Path, entry: Running) -> Iterator[Fault]:
    job = today.scenario.jobs.get(entry.job)
    if job is None:
        hint = did_you_mean(entry.job, sorted(today.scenario.jobs), 3)
        yield Fault((*path, "job"), f"unknown job {entry.job!r}", hint)
        return
    today.units[entry.job] += entry.count
    units = today.units[entry.job]
    yield from known(_loaded(path, entry, job), _too_many(today.scenario, path, entry, job, units))


def _at_places(today: _Today, catalog: Catalog, path: Path, entry: Running) -> Iterator[Fault]:
    scenario = today.scenario
    job = scenario.jobs.get(entry.job)
    if job is None:
        return
    places = list(_places(entry, today.nodes, today.pools))
    unlike = list(_one_pool(path, [place for _, _, place in places if place]))
    yield from unlike
    for key, name, place in places:
        if place is None:
            yield _unknown(scenario, (*path, *key), name, today.pools)
            continue
        first = today.units[entry.job] - entry.count + 1
        yield from _kept_off(scenario, (*path, *key), entry, first, place)
        if place.numbers and not (unlike or _may_share(scenario, entry, job)):
            today.gpus[place] += entry.count * _gpus(catalog, entry, job, place)
            yield from _too_full(catalog, (*path, *key), name, place, today.gpus[place])


def not_staying(scenario: ResolvedScenario) -> Iterator[Fault]:
    """Find what is pinned where it may not stay, in a placement that is known to be one."""
    nodes, pools = node_places(scenario), pool_places(scenario)
    units: Counter[str] = Counter()
    for position, entry in enumerate(scenario.running):
        first = units[entry.job] + 1
        units[entry.job] += entry.count
        for key, _, place in _places(entry, nodes, pools):
            if place is not None:
                yield from _kept_off(scenario, ("running", position, *key), entry, first, place)


def _loaded(path: Path, entry: Running, job: Job) -> Iterator[Fault]:
    if job.load:
        yield Fault(
            (*path, "job"),
            f"{entry.job!r} states a load: its replicas follow from the GPU type and cannot be "
            "told apart",
            "state `replicas` in place of `load`, or leave the entry out",
        )


def _too_many(
    scenario: ResolvedScenario, path: Path, entry: Running, job: Job, units: int
) -> Iterator[Fault]:
    first, asked = scenario.horizon.first_quarter, job.units(scenario.horizon)[0]
    if asked < units:
        key = "count" if entry.count > 1 else "job"
        yield Fault(
            (*path, key),
            f"{count_of(units, 'unit')} of {entry.job!r} {'is' if units == 1 else 'are'} listed, "
            f"the job has {count_of(asked, 'unit')} in {first}",
            f"list those that go on in {first}, or raise its count",
        )


def _places(
    entry: Running, nodes: dict[str, NodePlace], pools: dict[str, NodePlace]
) -> Iterator[tuple[Path, str, NodePlace | None]]:
    """Where in the entry a place is named, the name, and the place if there is one."""
    if entry.pool is not None:
        yield ("pool",), entry.pool, pools.get(entry.pool)
    for position, name in enumerate(entry.nodes):
        at = ("node",) if isinstance(entry.node, str) else ("node", position)
        yield at, name, nodes.get(plain(name))


def _unknown(
    scenario: ResolvedScenario, path: Path, name: str, pools: dict[str, NodePlace]
) -> Fault:
    if path[-1] == "pool":
        hint = did_you_mean(name, pools) or f"known: {', '.join(list(pools)[:_LISTED])}"
        return Fault(path, f"no nodes of {name!r} are owned or offered", hint)
    pool = name.rpartition("/")[0]
    for (node_type, site), owned in fleet_by_pool(scenario).items():
        if pool == f"{node_type}/{site}":
            last = f"{pool}/{len(owned):02d}"
            there = last if len(owned) == 1 else f"{pool}/01 to {last}"
            return Fault(path, f"no node {name!r} is owned", f"owned there: {there}")
    known = [f"{node_type}/{site}/01" for node_type, site in fleet_by_pool(scenario)]
    hint = did_you_mean(name, known) or "a node is named by type, site and number: " + (
        ", ".join(known[:_LISTED]) or "none is owned here"
    )
    return Fault(path, f"no node {name!r} is owned", hint)


def _kept_off(
    scenario: ResolvedScenario, path: Path, entry: Running, unit: int, place: NodePlace
) -> Iterator[Fault]:
    """What keeps pinned units from staying; `unit` is the lowest of the entry, the last to end."""
    job = scenario.jobs[entry.job]
    if entry.pinned or job.pinned:
        yield from _retired(scenario, path, entry, unit, place)
        sites = scenario.sites_of(job)
        if sites and place.site not in sites:
            yield Fault(
                path,
                f"{entry.job!r} is pinned at {place.site!r}, but may run only at "
                f"{', '.join(sites)}",
                f"{_unpinned(entry, job)}, or allow the site",
            )


def _retired(
    scenario: ResolvedScenario, path: Path, entry: Running, unit: int, place: NodePlace
) -> Iterator[Fault]:
    """A node that leaves service keeps nobody; a unit that may be short may stop with it.

    Nodes that left before the horizon have no number, so that nothing can be listed on them.
    """
    if not place.numbers:
        return
    job, horizon = scenario.jobs[entry.job], scenario.horizon
    _, owned = fleet_by_pool(scenario)[place.node_type, place.site][place.numbers[0] - 1]
    units = zip(horizon.all_quarters, job.units(horizon), strict=True)
    active = [quarter for quarter, number in units if number >= unit]
    stops = owned.retires is not None and active and owned.retires <= active[-1]
    if stops and job.droppable is None:
        yield Fault(
            path,
            f"{place.pool}/{place.numbers[0]:02d} retires in {owned.retires}, but {entry.job!r} "
            f"is pinned to it and runs until {active[-1]}",
            f"{_unpinned(entry, job)}, or end it before",
        )


def _unpinned(entry: Running, job: Job) -> str:
    """What to write so that the units of an entry may move: a job may pin all of them."""
    where = f" of `jobs.{entry.job}`" if job.pinned else ""
    return f"let it move (`pinned: false`{where})"


def _may_share(scenario: ResolvedScenario, entry: Running, job: Job) -> bool:
    """Whether others may hold the GPUs of its units as well: other parts, or at other hours."""
    policies = scenario.policies
    if job.serve is not None:
        in_parts = policies.shared_gpus or policies.mig != "never"
        return in_parts and not job.serve.whole_gpu and entry.gpus in (None, 1)
    return job.tune is not None or job.run is not None


def _gpus(catalog: Catalog, entry: Running, job: Job, place: NodePlace) -> int:
    """GPUs that a unit holds of one node: as stated, and one at the least."""
    stated = entry.gpus or (job.fixed.gpus if job.fixed else None) or 1
    node = catalog.nodes.get(place.node_type)
    if len(entry.nodes) > 1 and node:
        return node.gpus.value
    return stated


def _too_full(
    catalog: Catalog, path: Path, name: str, place: NodePlace, gpus: int
) -> Iterator[Fault]:
    node = catalog.nodes.get(place.node_type)
    if node is not None and gpus > node.gpus.value:
        yield Fault(
            path,
            f"{name} has {node.gpus.value} GPUs, what is listed to run on it holds {gpus}",
            "name the node of each unit as it is today",
        )


def _one_pool(path: Path, places: list[NodePlace]) -> Iterator[Fault]:
    if len({place.pool for place in places}) > 1:
        yield Fault((*path, "node"), "are of different types or sites, one unit spans alike ones")
    elif len(set(places)) < len(places):
        yield Fault((*path, "node"), "names a node twice")


def nothing_to_keep(whole: Whole) -> Iterator[Fault]:
    """With the current placement listed, a job that is pinned must be in it."""
    listed = {entry.job for entry in whole.scenario.running}
    for name, job in whole.scenario.jobs.items():
        if listed and name not in listed:
            yield from known(_pinned_nowhere(("jobs", name, "pinned"), job))


def _pinned_nowhere(path: Path, job: Job) -> Iterator[Fault]:
    if job.pinned:
        yield Fault(
            path,
            "no entry of `running` says where it runs today",
            "add one, or leave `pinned` out",
        )
