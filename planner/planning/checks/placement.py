"""Checks that every unit is placed once, on what it needs, and that nothing is held twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from planner.inputs.text import count_of
from planner.planning.checks.case import Findings, Piece, PlanCase, differences
from planner.planning.plan import Node, Occupant
from planner.sizing.candidate import Candidate

_ROUNDED = 1e-9
"""The share of a rate that may be lost because it is stored as a float."""
_SHARED = 1e-6
"""The share by which a replica's traffic is rounded up if GPU types share an endpoint."""


def _jobs(case: PlanCase) -> Findings:
    names = tuple(job.name for job in case.plan.jobs)
    yield from differences("the list of jobs", names, tuple(job.name for job in case.jobs))
    expected = {job.sizing.id: job.sizing for job in case.jobs}
    yield from differences("the list of sizings", sorted(case.plan.sizings), sorted(expected))
    wrong = {key for key, sizing in expected.items() if case.plan.sizings.get(key) != sizing}
    for planned in case.plan.jobs:
        sized = case.sized.get(planned.name)
        if sized is None:
            continue
        what = f"job {planned.name}"
        yield from differences(f"{what}: units by quarter", planned.units, sized.units)
        yield from differences(f"{what}: runs of a unit", planned.runs, sized.runs)
        origin = (planned.kind, planned.derived_from, planned.derived_by, planned.team)
        known = (sized.kind, sized.derived_from, sized.derived_by, sized.team)
        yield from differences(f"{what}: (kind, derived from, by, team)", origin, known)
        if planned.sizing != sized.sizing.id or planned.sizing in wrong:
            yield f"{what}: its sizing is not what the rules give"
    return f"each of {count_of(len(case.jobs), 'job')} has the sizing that the rules give"


def _once(case: PlanCase) -> Findings:
    for quarter, seats in enumerate(case.seats):
        label = case.labels[quarter]
        wanted = {
            (job.name, unit)
            for job in case.jobs
            for unit in range(1, job.units[quarter] + case.units_short(job.name, quarter) + 1)
        }
        placed = {(job, unit) for job, unit, _ in seats}
        missing: dict[str, list[int]] = {name: [] for name in case.sized}
        for job, unit in sorted(wanted - placed):
            missing[job].append(unit)
        for job, lacking in sorted(missing.items()):
            short = case.units_short(job, quarter)
            if short and len(lacking) != short:
                told = f"{count_of(len(lacking), 'unit')} of {job} not placed"
                yield f"{label}: {told}, the plan says that {short:,} are short"
            for unit in () if short else lacking:
                yield f"{label}: unit {unit} of {job} is not placed"
        for job, unit in sorted(placed - wanted):
            yield f"{label}: unit {unit} of {job} is placed but not asked for"
        for piece, places in seats.items():
            for node_id, times in Counter(node.id for node, _ in places).items():
                if times > 1:
                    yield f"{label}: {_told(piece)} is placed {times} times on {node_id}"
    units = sum(sum(job.units) for job in case.jobs)
    return f"each of {count_of(units, 'unit')} (job × quarter) is placed exactly once"


def _told(piece: Piece) -> str:
    job, unit, replica = piece
    return f"{'' if replica == 1 else f'replica {replica} of '}unit {unit} of {job}"


def _replicas(case: PlanCase) -> Findings:
    """Check the number of replicas or runs: what the job's load or its runs per quarter require."""
    for quarter, seats in enumerate(case.seats):
        label = case.labels[quarter]
        found: dict[tuple[str, int], list[int]] = {}
        for job, unit, replica in sorted(seats):
            found.setdefault((job, unit), []).append(replica)
        for (job, unit), replicas in found.items():
            candidate = case.candidate(job, *seats[job, unit, replicas[0]][0])
            if candidate is None:
                continue
            runs = candidate.planned_hours is not None
            pieces = case.sized[job].runs if runs else candidate.replicas_in(quarter)
            wanted = list(range(1, 1 + pieces))
            what = "runs" if runs else "replicas"
            yield from differences(f"{label}: {what} of unit {unit} of {job}", replicas, wanted)
    return "each unit has the replicas that its load takes on its GPU type, and its runs"


def _traffic(case: PlanCase) -> Findings:
    """Check that the replicas of each endpoint can take the traffic that its load states."""
    horizon, loaded = case.inputs.scenario.horizon, 0
    for name, job in sorted(case.inputs.scenario.jobs.items()):
        load = job.load
        if load is None or name in case.short:
            continue
        loaded += 1
        counts = job.counts(horizon)
        begins = next((quarter for quarter, count in enumerate(counts) if count), 0)
        peaks = load.peaks(horizon, begins)
        for quarter, count in enumerate(counts):
            arriving = float(count * peaks[quarter])
            taken = sum(
                candidate.serving.planned_requests_per_second
                for (of, _, _), places in case.seats[quarter].items()
                if of == name
                and (candidate := case.candidate(of, *places[0])) is not None
                and candidate.serving is not None
            )
            on_apis = sum(units[quarter] for _, units in case.on_apis.get(name, ()))
            taken += on_apis * float(peaks[quarter])
            lost = _ROUNDED
            if name in case.sized and case.sized[name].shares_traffic:
                lost += _SHARED * case.sized[name].units[quarter]
            if taken < arriving * (1 - lost):
                yield (
                    f"{case.labels[quarter]}: {arriving:,.4g} requests a second arrive at {name}, "
                    f"what is there takes {taken:,.4g}"
                )
    return f"{count_of(loaded, 'endpoint')} can take what arrives, on GPUs or on APIs"


def _needs(case: PlanCase) -> Findings:
    for _, label, piece, places in case.pieces():
        what, (node, one) = f"{label}: {_told(piece)}", places[0]
        gpu_types = {node.gpu_type for node, _ in places}
        candidate = case.candidate(piece[0], node, one)
        if len(gpu_types) > 1:
            yield f"{what} is on several GPU types: {', '.join(sorted(gpu_types))}"
        elif candidate is None:
            way = one.way if one.way.startswith(node.gpu_type) else node.gpu_type
            yield f"{what} may not use {way}"
        else:
            yield from _amounts(what, candidate, places)
            yield from _together(case, what, candidate, places)
    return "each unit has the GPUs, cores and memory that its sizing asks for"


def _amounts(
    what: str, candidate: Candidate, places: Sequence[tuple[Node, Occupant]]
) -> Iterator[str]:
    """Check that a piece holds exactly the GPUs, cores and host memory of its candidate."""
    occupants = [occupant for _, occupant in places]
    found = (
        sum(len(occupant.gpus) for occupant in occupants),
        sum(occupant.cpus for occupant in occupants),
        sum(occupant.memory_mb for occupant in occupants),
    )
    expected = (candidate.gpus, candidate.cpus, candidate.memory_mb)
    yield from differences(f"{what}: (GPUs, cores, MB)", found, expected)
    if any(occupant.cpus < 0 or occupant.memory_mb < 0 for occupant in occupants):
        yield f"{what} takes less than nothing of a node"


def _together(
    case: PlanCase, what: str, candidate: Candidate, places: Sequence[tuple[Node, Occupant]]
) -> Iterator[str]:
    """Check that a piece stays within one node, or takes whole nodes of one pool with a fabric."""
    if len(places) == 1:
        return
    nodes = [node for node, _ in places]
    if len({node.pool for node in nodes}) > 1:
        yield f"{what} spans different pools"
    if case.inputs.catalog.nodes[nodes[0].node_type].scale_out_fabric is None:
        yield f"{what} spans nodes of {nodes[0].node_type}, which has no fabric"
    if any(len(occupant.gpus) != node.gpus for node, occupant in places):
        yield f"{what} spans {len(places)} nodes without taking them whole"
    if not candidate.may_span:
        yield f"{what} spans {len(places)} nodes, but must stay within one"
    if candidate.gpus <= nodes[0].gpus:
        yield f"{what} spans {len(places)} nodes but fits one"


def _nodes_used(case: PlanCase) -> Findings:
    for label, uses in zip(case.labels, case.plan.placements, strict=True):
        for node_id, times in Counter(use.node for use in uses).items():
            if times > 1:
                yield f"{label}: node {node_id} is listed {times} times"
        for use in uses:
            node = case.nodes.get(use.node)
            if node is None:
                yield f"{label}: there is no node {use.node}"
            elif label not in node.in_service:
                yield f"{label}: node {use.node} is used but not in service"
            if not use.occupants:
                yield f"{label}: node {use.node} is listed as used but holds nothing"
    return "only nodes in service are used"


def _keeps(case: PlanCase) -> Findings:
    gpu_types: dict[str, Counter[str]] = defaultdict(Counter)
    ways: dict[str, Counter[str]] = defaultdict(Counter)
    for (job, unit), seen in case.ways_of.items():
        of_type, in_way = {gpu_type for gpu_type, _ in seen}, {way for _, way in seen}
        keeps = job not in case.sized or case.sized[job].keeps_gpu_type
        if keeps and len(of_type) > 1:
            yield f"unit {unit} of {job} changes its GPU type: {', '.join(sorted(of_type))}"
        elif keeps and len(in_way) > 1:
            yield f"unit {unit} of {job} changes how it runs: {', '.join(sorted(in_way))}"
        gpu_types[job].update(of_type)
        ways[job].update(in_way)
    for planned in case.plan.jobs:
        what = f"job {planned.name}"
        expected = _most_first(gpu_types[planned.name])
        yield from differences(f"{what}: GPU types", planned.gpu_types, expected)
        yield from differences(f"{what}: ways", planned.ways, _most_first(ways[planned.name]))
        sized = case.sized.get(planned.name)
        if planned.replicas or (sized and sized.shares_traffic):
            placed = Counter(
                (at, places[0][1].way)
                for at, _, (job, *_), places in case.pieces()
                if job == planned.name
            )
            every = range(len(case.labels))
            by_way = ((way, tuple(placed[at, way] for at in every)) for way, _ in planned.ways)
            yield from differences(f"{what}: replicas by way", planned.replicas, tuple(by_way))
    free = sum(not job.keeps_gpu_type for job in case.jobs)
    but = f", but for those of {count_of(free, 'job')} that may change it" if free else ""
    return f"each unit keeps its GPU type and how it runs there{but}"


def _most_first(units: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(units.items(), key=lambda item: (-item[1], item[0])))


CHECKS = (_jobs, _once, _replicas, _traffic, _needs, _nodes_used, _keeps)
