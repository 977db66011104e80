"""Seeded portfolios of serving jobs, most of them too small for a whole GPU."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.inputs.load import load_catalog
from planner.packing.problem import Division, JobClass, Mode, Part, Pool, Problem, Shape, Supply
from planner.packing.translation import divisions_of

if TYPE_CHECKING:
    from planner.inputs.catalog.catalog import GpuType

__all__ = ["divided"]

_NODES = (
    ("xe9680-a100", "a100-80gb-sxm", 80, Shape(8, 112, 2_000_000), 20_500_000, False),
    ("xe9680-h100", "h100-80gb-sxm", 80, Shape(8, 112, 2_000_000), 28_500_000, True),
    ("xe9680-h200", "h200-141gb-sxm", 141, Shape(8, 112, 3_000_000), 33_500_000, True),
    ("r760xa-l40s", "l40s-48gb", 48, Shape(4, 64, 1_000_000), 7_800_000, True),
)
"""Node type, GPU type, GB of a GPU, node, synthetic price in cents, computes in 8 bits."""
_SIZES_B = (1, 2, 3, 4, 7, 8, 9, 13, 20, 34, 70)
_GIB = 1.073741824
_CONTEXT_GB = 1.5


@dataclass(frozen=True, slots=True)
class _Replica:
    memory_gb: float
    cpus: int
    host_gb: int
    eight_bit: bool


def _replicas() -> list[_Replica]:
    """Some hundred kinds: model size, precision, context, cores and host memory."""
    return [
        _Replica(_CONTEXT_GB + size_b * per_b * context, cpus, 4 + round(size_b * per_b), eight_bit)
        for size_b in _SIZES_B
        for per_b, eight_bit in ((2.0, False), (1.0, True))
        for context in (1.15, 1.6)
        for cpus in (1, 2, 4)
    ]


def _modes(replica: _Replica, gpus: dict[str, GpuType]) -> tuple[Mode, ...]:
    """On each GPU type the smallest partitions that hold it, and the fewest whole GPUs."""
    found = []
    for _, gpu_type, memory_gb, node, _, eight_bit in _NODES:
        if replica.eight_bit and not eight_bit:
            continue
        whole = next((n for n in (1, 2, 4, 8) if n * memory_gb >= replica.memory_gb), None)
        if whole is not None and whole <= node.gpus:
            shape = Shape(whole, whole * replica.cpus, replica.host_gb * 1000)
            found.append(Mode(gpu_type, shape))
        if whole == 1:
            found += [
                Mode(
                    gpu_type,
                    Shape(1, replica.cpus, replica.host_gb * 1000, part=Part(profile, 0)),
                )
                for profile in _fitting(gpus[gpu_type], replica.memory_gb)
            ]
    return tuple(sorted(found))


def _fitting(gpu: GpuType, memory_gb: float) -> list[str]:
    """The two smallest profiles with so much memory, less than a whole GPU."""
    usable = {
        name: float(profile.reported_gib) * _GIB
        for name, profile in gpu.mig_profiles.items()
        if profile.reported_gib is not None and profile.compute_slices < gpu.compute_slices
    }
    fits = sorted((gib, name) for name, gib in usable.items() if gib >= memory_gb)
    return [name for _, name in fits[:2]]


def divided(jobs: int, seed: int) -> Problem:
    """Serving jobs by a Zipf law over kinds of replicas, on partitions or on whole GPUs."""
    catalog, _ = load_catalog()
    gpus = dict(catalog.gpus)
    rng = random.Random(f"divided-{jobs}-{seed}")
    known = [modes for replica in _replicas() if (modes := _modes(replica, gpus))]
    rng.shuffle(known)
    weights = [1 / (rank + 1) for rank in range(len(known))]
    counts = Counter(rng.choices(known, weights, k=jobs))
    pools = tuple(
        Pool(name, "main", gpu_type, node, 0, 0, True, divisions=_divisions(gpus[gpu_type]))
        for name, gpu_type, _, node, _, _ in _NODES
    )
    supplies = tuple(
        Supply(f"buy-{name}", "buy", number, None, (cents,))
        for number, (name, _, _, _, cents, _) in enumerate(_NODES)
    )
    classes = tuple(
        JobClass(modes, (0,), times) for modes, times in sorted(counts.items(), key=repr)
    )
    return Problem(1, pools, supplies, classes, 0)


def _divisions(gpu: GpuType) -> tuple[Division, ...]:
    return divisions_of(gpu, sorted(gpu.mig_profiles)) if gpu.mig_profiles else ()
