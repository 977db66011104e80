"""What the GPUs of a pool may be divided into, of what the catalog and the policies say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from planner.packing.problem import Division

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planner.inputs.catalog.catalog import GpuType, MigProfile
    from planner.inputs.settled import Inputs
    from planner.packing.problem import Pool
    from planner.sizing.candidate import SizedJob

__all__ = ["divisions_of", "shareable"]

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
    """The ways to partition a GPU into these profiles to which no partition can be added.

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
    """Every set of partitions side by side within the slices of a GPU, by first slice."""

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
