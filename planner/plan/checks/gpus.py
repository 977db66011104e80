"""No GPU and no host gives more than it has at any hour, and partitions lie where they can."""

from __future__ import annotations

from itertools import combinations, groupby
from typing import TYPE_CHECKING

from planner.inputs.scenario.quarter import RUN_HOURS, Quarter
from planner.plan.checks.view import Check, View
from planner.plan.words import moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.plan.plan import Node, Occupant

__all__ = ["CHECKS", "FIRST"]


def _numbers(view: View) -> Iterator[str]:
    for label, node, occupants in view.uses():
        for gpu in sorted({gpu for one in occupants for gpu in one.gpus}):
            if not 0 <= gpu < node.gpus:
                yield f"{label}: {node.id} has no GPU {gpu}, its {node.gpus} count from 0"
        for one in occupants:
            if len(set(one.gpus)) < len(one.gpus):
                yield f"{label}: {one.job} holds a GPU of {node.id} twice"


def _bounds(view: View) -> Iterator[str]:
    for label, node, occupants in view.uses():
        for one in occupants:
            if one.part and not 0 < one.part.taken <= one.part.of:
                yield f"{label}: {one.job} on {node.id} holds {one.part.taken} of {one.part.of}"
            if one.hours and not 0 <= one.hours[0] < one.hours[1] <= RUN_HOURS:
                yield (
                    f"{label}: {one.job} on {node.id} holds hours {one.hours[0]} to "
                    f"{one.hours[1]} of {RUN_HOURS:,}"
                )


def _gpus(view: View) -> Iterator[str]:
    """Holders of a GPU at one hour: one alone, or partitions apart, or memory within bounds."""
    for label, node, occupants in view.uses():
        told: set[int] = set()
        for hour, here in _turns(occupants):
            held: dict[int, list[Occupant]] = {}
            for one in here:
                for gpu in one.gpus:
                    held.setdefault(gpu, []).append(one)
            for gpu, holders in sorted(held.items()):
                faults = [] if gpu in told else list(_faults(f"GPU {gpu} of {node.id}", holders))
                told.update([gpu] if faults else [])
                yield from (f"{_when(label, hour)}: {fault}" for fault in faults)


def _when(label: str, hour: int | None) -> str:
    return label if hour is None else f"{label}, {moment(Quarter.parse(label), hour)}"


def _turns(occupants: Sequence[Occupant]) -> Iterator[tuple[int | None, list[Occupant]]]:
    """Who holds anything whenever somebody begins: what is held together at all is held then."""
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


def _parts(view: View) -> Iterator[str]:
    """Each partition is one that the catalog lists, at a place where the driver allows it."""
    for label, node, occupants in view.uses():
        gpu_type = view.inputs.catalog.gpus[node.gpu_type]
        for one in occupants:
            if one.part is None or one.part.profile is None:
                continue
            what = f"{label}: the {one.part.profile} of {one.job} on {node.id}"
            profile = gpu_type.mig_profiles.get(one.part.profile)
            if profile is None:
                yield f"{what} is no partition of {node.gpu_type}"
                continue
            if one.part.first not in profile.placement_starts:
                starts = ", ".join(map(str, profile.placement_starts))
                yield f"{what} begins at memory slice {one.part.first}, it may at {starts}"
            slices = (one.part.taken, one.part.of)
            expected = (profile.memory_slices, _memory_slices(view, node))
            if slices != expected:
                yield f"{what} states memory slices {slices}, the catalog {expected}"


def _memory_slices(view: View, node: Node) -> int:
    """Of a GPU of this node: where the last of all placements ends."""
    profiles = view.inputs.catalog.gpus[node.gpu_type].mig_profiles.values()
    return max(max(one.placement_starts) + one.memory_slices for one in profiles)


def _hosts(view: View) -> Iterator[str]:
    for label, node, occupants in view.uses():
        for hour, here in _turns(occupants):
            cpus = sum(one.cpus for one in here)
            memory_mb = sum(one.memory_mb for one in here)
            if cpus > node.cpus:
                yield f"{_when(label, hour)}: {node.id} has {node.cpus} cores, {cpus} are taken"
            if memory_mb > node.memory_mb:
                yield (
                    f"{_when(label, hour)}: {node.id} has {node.memory_mb} MB of memory, "
                    f"{memory_mb} are taken"
                )


def _confirm_gpus(view: View) -> str:
    if any(one.part for _, _, occupants in view.uses() for one in occupants):
        return "no GPU is held twice at any hour, but in parts that do not overlap"
    return "no GPU is held twice"


def _confirm_parts(view: View) -> str:
    if any(one.part and one.part.profile for _, _, held in view.uses() for one in held):
        return "each partition lies where the GPU allows it"
    return "no GPU is partitioned"


FIRST = (Check(_bounds, lambda _: "every hour is one of its quarter, every part one of a GPU"),)

CHECKS = (
    Check(_numbers, lambda _: "only GPUs that a node has are held"),
    Check(_gpus, _confirm_gpus),
    Check(_parts, _confirm_parts),
    Check(_hosts, lambda _: "no node gives more cores or host memory than it has"),
)
