"""How parts of a GPU, and parts of a quarter, are told."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from planner.reporting.format import duration, memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.planning.plan import GpuPart, Plan
    from planner.sizing.candidate import Candidate

__all__ = ["parts_held", "some_share", "taken"]


def taken(candidate: Candidate) -> str:
    """What one of its GPUs is: `h100-80gb-sxm`, `h100-80gb-sxm 1g.10gb`, `… for 14 h`."""
    part = candidate.partition or ("shared" if candidate.shared_mb else "")
    held = f"for {duration(candidate.planned_hours)}" if candidate.planned_hours else ""
    return " ".join(filter(None, (candidate.gpu_type, part, held)))


def some_share(plan: Plan) -> bool:
    """Whether jobs share GPUs, so that a GPU in use is not one that is held all the time."""
    held = (one for uses in plan.placements for use in uses for one in use.occupants)
    return any(one.hours or one.part for one in held)


def parts_held(parts: Sequence[tuple[int, GpuPart]]) -> str:
    """`0 (1g.10gb at 0, 1), 3 (9.8 GB)`: GPU numbers, and what is held of each."""
    ordered = sorted(parts, key=lambda held: (held[0], held[1].profile or "", held[1].first or 0))
    return ", ".join(
        f"{gpu} ({'; '.join(_of_gpu([part for _, part in group]))})"
        for gpu, group in groupby(ordered, key=lambda held: held[0])
    )


def _of_gpu(parts: Sequence[GpuPart]) -> Iterator[str]:
    for profile, group in groupby(parts, key=lambda part: part.profile):
        alike = list(group)
        if profile is not None:
            yield f"{profile} at {', '.join(str(part.first) for part in alike)}"
        else:
            yield memory(sum(part.taken for part in alike))
