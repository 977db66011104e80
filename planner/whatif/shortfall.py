"""What given nodes lack for the jobs of a scenario, each quarter considered by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from planner.costs import entry_quarters
from planner.errors import LimitError
from planner.inputs.scenario.offer import FleetEntry
from planner.inputs.scenario.scenario import Budget
from planner.inputs.settled import Inputs
from planner.packing import translate
from planner.packing.incumbent import Infeasible
from planner.packing.nowhere import Claim, with_apis
from planner.packing.pack import attempt
from planner.packing.triage import triage
from planner.planning.assemble import Request
from planner.planning.jobs import stuck_jobs
from planner.planning.plan import Plan
from planner.sizing import SizedJob
from planner.sizing.candidate import Candidate
from planner.whatif.results import JobShort

_FIRST = 101
"""The priority of required units, above all that may be stated."""


@dataclass(frozen=True, slots=True)
class Commitment:
    """Nodes that a plan acquires or sells."""

    entry: str
    """The offer, or the fleet entry of owned nodes."""
    node_type: str
    site: str
    quarters: tuple[str, ...]
    """When they were to be in service; of sold nodes, when they are gone."""
    count: int
    sold: bool = False


def commitments(plan: Plan) -> tuple[Commitment, ...]:
    """Return all that a plan acquires for whole quarters, and what it sells."""
    nodes: Counter[tuple[str, str, str, tuple[str, ...], bool]] = Counter()
    for node in plan.nodes:
        if node.sold:
            gone = plan.quarters[plan.quarters.index(node.sold) :]
            nodes[node.entry, node.node_type, node.site, gone, True] += 1
        elif node.origin != "owned" and not node.hours:
            nodes[node.entry, node.node_type, node.site, node.in_service, False] += 1
    return tuple(
        Commitment(entry, node_type, site, quarters, count, sold)
        for (entry, node_type, site, quarters, sold), count in sorted(nodes.items())
    )


def short_quarters(request: Request, committed: Sequence[Commitment]) -> tuple[str, ...]:
    """Return the quarters in which owned nodes, less sold and with acquired ones, do not hold all.

    Policies are kept, and nodes for hours or weeks may be had as offered. Each quarter is
    considered by itself: a unit may change its GPU type between them. Nodes are ordered as early
    as necessary, and miss the quarters for which even that is too late. Raises LimitError if
    time ends before it is known.
    """
    inputs, jobs = request.inputs, request.sizers.portfolio(request.inputs)
    labels = inputs.scenario.horizon.labels
    by_the_hour = {offer.name for offer in inputs.offers if offer.step_hours}
    entries = {offer.name: entry_quarters(inputs, offer) for offer in inputs.offers}
    earliest = {name: labels[quarters[0]] for name, quarters in entries.items() if quarters}
    short = []
    for place, label in enumerate(labels):
        active = _active_jobs(jobs, [job.units[place] for job in jobs], place)
        if not active:
            continue
        fleet = _nodes_in_service(inputs, committed, earliest, label)
        asked = _one_quarter(inputs, fleet, place, by_the_hour)
        translation = with_apis(asked, translate(asked, active))
        try:
            if all(inputs.scenario.apis_of(job.name) for job in stuck_jobs(active, translation)):
                attempt(translation, asked_gap=1.0, time_limit_s=request.time_limit_s)
            else:
                short.append(label)
        except Infeasible:
            short.append(label)
    return tuple(short)


def _nodes_in_service(
    inputs: Inputs, committed: Sequence[Commitment], earliest: dict[str, str], quarter: str
) -> dict[str, FleetEntry]:
    """Return everything in service in a quarter."""
    fleet = {}
    gone: Counter[str] = Counter()
    for number, one in enumerate(committed):
        if quarter not in one.quarters:
            continue
        if one.sold:
            gone[one.entry] += one.count
        elif one.entry in earliest and quarter >= earliest[one.entry]:
            entry = FleetEntry(node_type=one.node_type, site=one.site, count=one.count)
            fleet[f"committed {number}"] = entry
    for name, entry in inputs.scenario.fleet.items():
        left = entry.count - gone[name]
        if left > 0 and (entry.retires is None or quarter < str(entry.retires)):
            kept = {"count": left, "retires": None, "may_switch_off": False, "sale": None}
            fleet[name] = entry.model_copy(update=kept)
    return fleet


def units_short(request: Request) -> tuple[JobShort, ...] | None:
    """Return the fewest units that the owned nodes do not hold, the highest priority first.

    Each quarter is considered by itself, as if nothing ran yet, and so is each unit: some units
    of a job may run. A deployment whose model is not tuned for want of room has nothing to
    serve. None if time, in seconds for each quarter, ends before it is known.
    """
    inputs, jobs = request.inputs, request.sizers.portfolio(request.inputs)
    kept: dict[str, list[int]] = {job.name: [] for job in jobs}
    for place, label in enumerate(inputs.scenario.horizon.labels):
        asked = [min(job.units[place], _units_to_serve(inputs, job, kept, place)) for job in jobs]
        fleet = _nodes_in_service(inputs, (), {}, label)
        try:
            lacking = _units_without_room(request, _active_jobs(jobs, asked, place), fleet, place)
        except (Infeasible, LimitError):
            return None
        for job, units in zip(jobs, asked, strict=True):
            kept[job.name].append(units - lacking[job.name])
    short = {job.name: job.lacking(kept[job.name]) for job in jobs}
    return tuple(
        JobShort(job=job.name, asked=job.endpoints(), short=short[job.name])
        for job in jobs
        if any(short[job.name])
    )


def _units_without_room(
    request: Request, active: tuple[SizedJob, ...], fleet: dict[str, FleetEntry], place: int
) -> Counter[str]:
    """Return, for each job, the units that have no room in a quarter."""
    every = Counter({job.name: job.units[0] for job in active})
    if not active or not fleet:
        return every
    asked = _one_quarter(request.inputs, fleet, place)
    stuck = {job.name for job in stuck_jobs(active, translate(asked, active))}
    translation = translate(asked, tuple(job for job in active if job.name not in stuck))
    stated = request.inputs.scenario.jobs
    roots = {job.name: stated[job.root] for job in active}
    shared = {job.name for job in active if job.shares_traffic}  # kept, or short, as a whole
    claims = tuple(
        Claim(
            f"{name}\n{number:06}",  # a name of its own, in the order of the units
            _FIRST if roots[name].required else roots[name].priority,
            required=False,
            starts=(((job_class, len(members) if name in shared else 1),),),
        )
        for job_class, members in enumerate(translation.members)
        for name, number in members
        if name not in shared or number == 1
    )
    limit_s = request.time_limit_s
    found = triage(translation.problem, claims, asked_gap=1.0, time_limit_s=limit_s)
    lacking = Counter({name: every[name] for name in stuck})
    for name, delay in found.delays.items():
        if delay is None:
            job = name.partition("\n")[0]
            lacking[job] += every[job] if job in shared else 1
    return lacking


def _active_jobs(
    jobs: Sequence[SizedJob], units: Sequence[int], place: int
) -> tuple[SizedJob, ...]:
    """Return the jobs with units in one quarter, sized for that quarter alone."""
    found = []
    for job, count in zip(jobs, units, strict=True):
        if count:
            candidates = tuple(_in_quarter(one, place) for one in job.sizing.candidates)
            sizing = job.sizing.model_copy(update={"candidates": candidates})
            found.append(job.model_copy(update={"units": (count,), "sizing": sizing}))
    return tuple(found)


def _in_quarter(candidate: Candidate, place: int) -> Candidate:
    """Return the horizon of this quarter alone."""
    serving = candidate.serving
    if not candidate.replicas_by_quarter and not serving:
        return candidate
    if serving:
        serving = serving.model_copy(update={"peaks": (serving.peaks[place],)})
    own = {"replicas": candidate.replicas_in(place), "replicas_by_quarter": (), "serving": serving}
    return candidate.model_copy(update=own)


def _one_quarter(
    inputs: Inputs, fleet: dict[str, FleetEntry], place: int, offered: Container[str] = ()
) -> Inputs:
    """Return the problem of one quarter in which these nodes and offers are all there is."""
    scenario = inputs.scenario
    horizon = scenario.horizon
    now = horizon.model_copy(
        update={
            "first_quarter": horizon.first_quarter + place,
            "quarters": 1,
            "as_of": horizon.earliest_order,  # the quarters before it are still there to order in
        }
    )
    offers = {name: offer for name, offer in scenario.offers.items() if name in offered}
    only = {"horizon": now, "fleet": fleet, "offers": offers, "running": (), "budget": Budget()}
    return inputs.model_copy(
        update={
            "scenario": scenario.model_copy(update=only),
            "offers": tuple(offer for offer in inputs.offers if offer.name in offered),
        }
    )


def _units_to_serve(
    inputs: Inputs, job: SizedJob, kept: Mapping[str, Sequence[int]], place: int
) -> int:
    """Return the units of a deployment whose model was tuned before; of other jobs all."""
    tuned = inputs.scenario.jobs[job.derived_from].tune if job.derived_from else None
    if job.derived_from is None or tuned is None or tuned.deploy is None:
        return job.units[place]
    counts = inputs.scenario.jobs[job.derived_from].counts(inputs.scenario.horizon)
    first = next(quarter for quarter, units in enumerate(job.units) if units)
    delay = first - next(quarter for quarter, runs in enumerate(counts) if runs)
    runs = kept[job.derived_from][: max(0, place - delay + 1)]
    return max(runs, default=0) * tuned.deploy.replicas if delay else job.units[place]
