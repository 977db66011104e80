"""Peak memory of each GPU: its phases or parts, what is expected and what the GPU offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.document import Block, Column, Heading, Paragraph, Table
from planner.reporting.format import figure, gibibytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.sizing.calibration import Calibration
    from planner.sizing.candidate import Candidate
    from planner.sizing.memory import Memory, MemoryPart

__all__ = ["calibration_blocks", "need_and_offer", "peak_blocks"]

_NONE = "–"
_OF_TUNING = (
    "The peak is the largest phase, and the CUDA context and gaps beside it. nvidia-smi typically "
    "shows more: it counts cache that is not needed."
)
_OF_SERVING = (
    "The peak is the sum of its parts and the CUDA context. nvidia-smi shows more: the engine "
    "fills its share of the GPU with KV cache."
)


def peak_blocks(candidates: Sequence[Candidate], level: int = 2) -> tuple[Block, ...]:
    """The table by GPU count and what its columns mean; nothing where a formula decided."""
    by_count = {one.gpus: one.memory for one in candidates if one.memory is not None}
    known = sorted(by_count.items())
    if not known:
        return ()
    tuned = bool(known[0][1].phases)
    columns = (
        Column("GPUs", "right"),
        *(Column(_head(part.name), "right", wraps=True) for part in _parts(known[0][1])),
        Column("Context", "right"),
        Column("Peak", "right"),
        Column("Range", "right"),
        Column("With margin", "right", wraps=True),
        *((Column("nvidia-smi", "right"),) if tuned else ()),
    )
    return (
        Heading("Peak memory of each GPU, GiB (2^30 bytes)", level),
        Table(columns, tuple(_row(gpus, memory) for gpus, memory in known)),
        Paragraph(_OF_TUNING if tuned else _OF_SERVING, tone="faint"),
    )


def need_and_offer(one: Candidate) -> str:
    """What each GPU needs with its margin, and what it offers, GiB; a dash where unknown."""
    if one.memory is None:
        return _NONE
    return f"{_told(one.memory.needed_mb)} / {gibibytes(one.gpu_capacity_mb // one.gpus)}"


def calibration_blocks(calibration: Calibration) -> tuple[Block, ...]:
    """What measured runs say about the predictions, and by how much they move them."""
    rows = tuple(
        (
            one.method,
            str(one.runs),
            f"{float(one.mean_ratio):.3f}",
            f"{float(one.factor):.3f}",
            f"{float(one.factor - 1) * 100:+.1f} %",
        )
        for one in calibration.methods
    )
    columns = (
        Column("Method"),
        Column("Runs", "right"),
        Column("Measured / expected", "right"),
        Column("Peaks are multiplied by", "right"),
        Column("Moved", "right"),
    )
    return (
        Heading("Your measured runs"),
        Table(columns, rows),
        Paragraph(
            f"The shipped model weighs as much as {figure(float(calibration.prior_runs))} runs "
            "that come out as expected. Methods without runs are multiplied by "
            f"{float(calibration.elsewhere):.3f}.",
            tone="faint",
        ),
    )


def _row(gpus: int, memory: Memory) -> tuple[str, ...]:
    shown = (_told(memory.nvidia_smi_mb),) if memory.phases else ()
    return (
        str(gpus),
        *(gibibytes(part.mb) for part in _parts(memory)),
        _told(memory.context_mb),
        gibibytes(memory.peak_mb),
        f"{_told(memory.low_mb)}–{_told(memory.high_mb)}",
        _told(memory.needed_mb),
        *shown,
    )


def _parts(memory: Memory) -> tuple[MemoryPart, ...]:
    return memory.phases or memory.parts


def _head(name: str) -> str:
    return name[0].upper() + name[1:]


def _told(mb: int | None) -> str:
    return _NONE if mb is None else gibibytes(mb)
