"""Checks that no GPU or host is overbooked at any hour, and that runs and GPU parts are allowed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, groupby

from planner.inputs.scenario.horizon import Run
from planner.inputs.scenario.quarter import RUN_HOURS, Quarter, moment
from planner.inputs.text import count_of
from planner.planning.checks.case import Findings, PlanCase
from planner.planning.plan import Node, Occupant
from planner.sizing.candidate import Candidate


def _numbers(case: PlanCase) -> Findings:
    for label, node, occupants in case.uses():
        for gpu in sorted({gpu for one in occupants for gpu in one.gpus}):
            if not 0 <= gpu < node.gpus:
                yield f"{label}: {node.id} has no GPU {gpu}, its {node.gpus} count from 0"
        for one in occupants:
            if len(set(one.gpus)) < len(one.gpus):
                yield f"{label}: {one.job} holds a GPU of {node.id} twice"
    return "only GPUs that a node has are held"


def _bounds(case: PlanCase) -> Findings:
    for label, node, occupants in case.uses():
        for one in occupants:
            if one.part and not 0 < one.part.taken <= one.part.of:
                yield f"{label}: {one.job} on {node.id} holds {one.part.taken} of {one.part.of}"
            if one.hours and not 0 <= one.hours[0] < one.hours[1] <= RUN_HOURS:
                yield (
                    f"{label}: {one.job} on {node.id} holds hours {one.hours[0]} to "
                    f"{one.hours[1]} of {RUN_HOURS:,}"
                )
    return "every hour is one of its quarter, every part one of a GPU"


def _gpus(case: PlanCase) -> Findings:
    """Check that a GPU has one holder at a time, disjoint partitions, or shares that fit."""
    for label, node, occupants in case.uses():
        told: set[int] = set()
        for hour, here in _turns(occupants):
            held: dict[int, list[Occupant]] = defaultdict(list)
            for one in here:
                for gpu in one.gpus:
                    held[gpu].append(one)
            for gpu, holders in sorted(held.items()):
                faults = [] if gpu in told else list(_faults(f"GPU {gpu} of {node.id}", holders))
                told.update([gpu] if faults else [])
                yield from (f"{_when(label, hour)}: {fault}" for fault in faults)
    if any(one.part for _, _, occupants in case.uses() for one in occupants):
        return "no GPU is held twice at any hour, but in parts that do not overlap"
    return "no GPU is held twice"


def _when(label: str, hour: int | None) -> str:
    return label if hour is None else f"{label}, {moment(Quarter.parse(label), hour)}"


def _turns(occupants: Sequence[Occupant]) -> Iterator[tuple[int | None, list[Occupant]]]:
    """Yield who is present whenever someone begins.

    Every set that is held together occurs at such a moment.
    """
    runs = sorted((one for one in occupants if one.hours), key=lambda one: one.hours or (0, 0))
    always = [one for one in occupants if not one.hours]
    if not runs:
        yield None, always
    here: list[Occupant] = []
    for start, beginning in groupby(runs, key=lambda one: one.hours[0] if one.hours else 0):
        here = [one for one in here if one.hours and one.hours[1] > start]
        here += beginning
        yield start, [*always, *here]


def _faults(gpu: str, holders: Sequence[Occupant]) -> Iterator[str]:
    if len(holders) == 1:
        return
    parts = [(one.job, one.part) for one in holders if one.part]
    if len(parts) < len(holders):
        yield f"{gpu} is held {len(holders)} times"
        return
    partitions = [(job, part) for job, part in parts if part.profile is not None]
    memory = [(job, part) for job, part in parts if part.profile is None]
    if partitions and memory:
        yield (
            f"{gpu} is partitioned for {partitions[0][0]}, and {memory[0][0]} shares it without a "
            "partition"
        )
    for (one, mine), (other, theirs) in combinations(partitions, 2):
        first, second = mine.first or 0, theirs.first or 0
        if first < second + theirs.taken and second < first + mine.taken:
            yield (
                f"{gpu}: memory slice {max(first, second)} is of the {mine.profile} of {one} "
                f"and of the {theirs.profile} of {other}"
            )
    taken_mb = sum(part.taken for _, part in memory)
    offered_mb = min((part.of for _, part in memory), default=0)
    if taken_mb > offered_mb:
        yield f"{gpu} has {offered_mb:,} MB to share, {taken_mb:,} are taken"


def _parts(case: PlanCase) -> Findings:
    """Check that each partition is in the catalog and starts where the driver allows it."""
    for label, node, occupants in case.uses():
        profiles = case.inputs.catalog.gpus[node.gpu_type].mig_profiles
        for one in occupants:
            if one.part is None or one.part.profile is None:
                continue
            what = f"{label}: the {one.part.profile} of {one.job} on {node.id}"
            profile = profiles.get(one.part.profile)
            if profile is None:
                yield f"{what} is no partition of {node.gpu_type}"
                continue
            if one.part.first not in profile.placement_starts:
                starts = ", ".join(map(str, profile.placement_starts))
                yield f"{what} begins at memory slice {one.part.first}, it may at {starts}"
            slices = (one.part.taken, one.part.of)
            ends = (max(p.placement_starts) + p.memory_slices for p in profiles.values())
            expected = (profile.memory_slices, max(ends))
            if slices != expected:
                yield f"{what} states memory slices {slices}, the catalog {expected}"
    if any(one.part and one.part.profile for _, _, held in case.uses() for one in held):
        return "each partition lies where the GPU allows it"
    return "no GPU is partitioned"


def _hosts(case: PlanCase) -> Findings:
    for label, node, occupants in case.uses():
        for hour, here in _turns(occupants):
            cpus, memory_mb = sum(one.cpus for one in here), sum(one.memory_mb for one in here)
            where = f"{_when(label, hour)}: {node.id}"
            if cpus > node.cpus:
                yield f"{where} has {node.cpus} cores, {cpus} are taken"
            if memory_mb > node.memory_mb:
                yield f"{where} has {node.memory_mb} MB of memory, {memory_mb} are taken"
    return "no node gives more cores or host memory than it has"


def _seated(case: PlanCase) -> Iterator[tuple[Quarter, str, str, list[tuple[Node, Occupant]]]]:
    """Yield each piece: its quarter, its name for messages, its job, and its nodes."""
    for quarter, label, (job, unit, replica), places in case.pieces():
        kind = "replica" if places[0][1].hours is None else "run"
        which = f"unit {unit}" if replica == 1 else f"{kind} {replica} of unit {unit}"
        yield case.quarters[quarter], f"{label}: {which} of {job}", job, places


def _runs(case: PlanCase) -> Findings:
    for quarter, what, job, places in _seated(case):
        node, first = places[0]
        if any(one.hours != first.hours for _, one in places):
            yield f"{what} is not on all of its nodes at the same hours"
        candidate = case.candidate(job, node, first)
        if candidate is None:
            continue
        stated = case.inputs.scenario.jobs.get(job)  # a deployment, always on, is not stated
        window = _window(stated.run if stated else None)
        for fault in _timed(quarter, candidate.planned_hours, first.hours, window):
            yield f"{what} {fault}"
    runs = sum(bool(places[0][1].hours) for *_, places in case.pieces())
    if not runs:
        return "every unit holds its GPUs all quarter"
    told = "long enough, between release and deadline, and not moved meanwhile"
    return f"{count_of(runs, 'run')}: {told}"


def _window(run: Run | None) -> tuple[int, int]:
    """Return the hours of the quarter, start and end, in which a run may take place."""
    if run is None:
        return 0, RUN_HOURS
    start, end = (
        (at - 1 + more) * 7 * 24
        if isinstance(at, int)
        else ((at - Quarter.of(at).start).days + more) * 24
        for at, more in ((run.release, 0), (run.deadline, 1))
    )
    return start, min(end, RUN_HOURS)


def _timed(
    quarter: Quarter, needed: int | None, held: tuple[int, int] | None, window: tuple[int, int]
) -> Iterator[str]:
    """Yield what is wrong with the hours of a run."""
    if needed is None:
        if held is not None:
            yield f"holds its GPUs for {held[1] - held[0]:,} h, it needs them all quarter"
        return
    start, end = held or (0, RUN_HOURS)
    if end - start != needed:
        yield f"runs for {end - start:,} h, it needs {needed:,}"
    if start < window[0]:
        yield f"starts on {moment(quarter, start)}, its release is {moment(quarter, window[0])}"
    if end > window[1]:
        yield f"ends on {moment(quarter, end)}, its deadline is {moment(quarter, window[1])}"


def _parts_as_sized(case: PlanCase) -> Findings:
    for _, what, job, places in _seated(case):
        node, one = places[0]
        candidate = case.candidate(job, node, one)
        if candidate is not None:
            yield from _as_sized(what, candidate, one)
        if one.part is not None:
            yield from _allowed(case, what, job, one)
    parts = sum(bool(places[0][1].part) for *_, places in case.pieces())
    if not parts:
        return "every unit has whole GPUs"
    told = count_of(parts, "part")
    return f"{told} of GPUs are held, by serving jobs alone, as their sizing says"


def _as_sized(what: str, candidate: Candidate, one: Occupant) -> Iterator[str]:
    """Check that a piece holds the partition or memory of its sizing, or whole GPUs."""
    part = one.part
    if part is None:
        if candidate.partition or candidate.shared_mb:
            yield f"{what} holds a whole GPU, its way to run takes a part: {candidate.way}"
        return
    if part.profile != candidate.partition:
        found, wanted = part.profile or "memory", candidate.partition or "no partition"
        yield f"{what} is on {found}, its way to run takes {wanted}: {candidate.way}"
    elif part.profile is None and part.taken != candidate.shared_mb:
        yield f"{what} takes {part.taken:,} MB of a GPU, it needs {candidate.shared_mb:,}"
    if part.profile is None and part.of > candidate.gpu_capacity_mb:
        most_mb = candidate.gpu_capacity_mb
        yield f"{what} counts on {part.of:,} MB of a GPU, that offers it {most_mb:,}"


def _allowed(case: PlanCase, what: str, job: str, one: Occupant) -> Iterator[str]:
    policies, sized = case.inputs.scenario.policies, case.sized.get(job)
    stated = case.inputs.scenario.jobs.get(job)
    if sized is None or sized.kind != "serve":
        yield f"{what} takes a part of a GPU, which only serving jobs may"
    if stated and stated.serve and stated.serve.whole_gpu:
        yield f"{what} takes a part of a GPU, but asks for whole ones"
    if one.hours is not None:
        yield f"{what} takes a part of a GPU for some hours, parts are held all quarter"
    if one.part and one.part.profile is not None and policies.mig == "never":
        yield f"{what} is on a partition, which policies.mig forbids"
    if one.part and one.part.profile is None and not policies.shared_gpus:
        yield f"{what} shares a GPU, which policies.shared_gpus forbids"


def _mixed(case: PlanCase) -> Findings:
    if case.inputs.scenario.policies.mig != "own-node":
        return "no policy keeps partitioned GPUs on nodes of their own"
    for label, node, occupants in case.uses():
        partitioned = [one.job for one in occupants if one.part and one.part.profile is not None]
        others = [one.job for one in occupants if not (one.part and one.part.profile is not None)]
        if partitioned and others:
            yield (
                f"{label}: {node.id} is partitioned for {partitioned[0]} and holds {others[0]}, "
                "which has no partition: policies.mig is own-node"
            )
    return "nodes with partitioned GPUs hold nothing else"


FIRST = (_bounds,)
CHECKS = (_numbers, _gpus, _parts, _hosts, _runs, _parts_as_sized, _mixed)
