"""Peak memory of one GPU: what the rules say of a job on a given number of GPUs."""

from __future__ import annotations

from math import ceil
from typing import Final

from planner.inputs.base import Frozen
from planner.sizing.engine import Reasoning

_PHASES: Final = {
    "load": "load_gb_per_gpu",
    "forward": "forward_gb_per_gpu",
    "backward": "backward_gb_per_gpu",
    "step": "step_gb_per_gpu",
    "save": "save_gb_per_gpu",
}
"""Tuning: what is live at once in each phase; the largest, and what is beside it, is the peak."""

_PARTS: Final = {
    "paged states": "paged_on_gpu_gb",
    "weights": "weights_gb_per_gpu",
    "adapters": "adapters_gb_per_gpu",
    "draft": "draft_gb_per_gpu",
    "KV cache": "kv_gb_per_gpu",
    "activations": "activation_gb_per_gpu",
    "CUDA graphs": "graphs_gb_per_gpu",
}
"""Tuning: what is beside any phase. Serving: what is live all the time; the sum is the peak."""

_FIGURES: Final = {
    "allocator_peak_mb": "allocator_peak_gb_per_gpu",
    "context_mb": "context_gb_per_gpu",
    "low_mb": "peak_low_gb_per_gpu",
    "high_mb": "peak_high_gb_per_gpu",
    "needed_mb": "needed_gb_per_gpu",
    "reserved_mb": "reserved_gb_per_gpu",
    "nvidia_smi_mb": "nvidia_smi_gb_per_gpu",
}

_PEAK: Final = "peak_gb_per_gpu"

MEMORY_RESULTS: Final = (*_PHASES.values(), *_PARTS.values(), _PEAK, *_FIGURES.values())
"""What the rules are asked for, per GPU."""

_MB_PER_GB: Final = 1000


class MemoryPart(Frozen):
    """A phase of a tuning run, or a part of what a serving job keeps."""

    name: str
    mb: int


class Memory(Frozen):
    """Peak memory of one GPU, MB of 10^6 bytes, rounded up; None where no rule speaks."""

    phases: tuple[MemoryPart, ...]
    """Tuning: what is live at once in each phase."""
    parts: tuple[MemoryPart, ...]
    """Tuning: what is beside any phase. Serving: what is live all the time."""
    allocator_peak_mb: int | None
    """What the framework allocates at its peak (`torch.cuda.max_memory_allocated`)."""
    context_mb: int | None
    """CUDA context and communication buffers, outside the allocator."""
    peak_mb: int
    """Allocator peak, context and paged states, as expected."""
    low_mb: int | None
    high_mb: int | None
    """Where measured runs with the same prediction mostly lie between."""
    needed_mb: int | None
    """What decides: the peak without paged states, with a margin."""
    reserved_mb: int | None
    """What the allocator typically holds, its cache included."""
    nvidia_smi_mb: int | None
    """What nvidia-smi will typically show; it holds cache that is not needed."""


def memory_at(situation: Reasoning) -> Memory | None:
    """Gather what the rules say at a number of GPUs; None where they cannot tell the peak."""
    figures = {name: _mb(situation, result) for name, result in _FIGURES.items()}
    peak_mb = _mb(situation, _PEAK)
    if peak_mb is None:
        return None
    return Memory(
        phases=_named(situation, _PHASES),
        parts=_named(situation, _PARTS),
        peak_mb=peak_mb,
        **figures,
    )


def _named(situation: Reasoning, results: dict[str, str]) -> tuple[MemoryPart, ...]:
    found = ((name, _mb(situation, result)) for name, result in results.items())
    return tuple(MemoryPart(name=name, mb=mb) for name, mb in found if mb is not None)


def _mb(situation: Reasoning, result: str) -> int | None:
    gb = situation.number(result)
    return None if gb is None else ceil(gb * _MB_PER_GB)
