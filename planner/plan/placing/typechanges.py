"""Units that change their GPU type from one of their quarters to the next, as they are placed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from planner.plan.parts.servers import NodeUse

__all__ = ["TypeChange", "type_changes"]


class TypeChange(NamedTuple):
    """One unit that does."""

    quarter: int
    """From 0: the one at whose start it changes."""
    job: str
    before: str
    after: str
    unit: int


def type_changes(
    placements: Iterable[Sequence[NodeUse]], gpu_types: Mapping[str, str]
) -> tuple[TypeChange, ...]:
    """All changes in these placements, by quarter; `gpu_types` are those of the nodes."""
    found: list[TypeChange] = []
    last: dict[tuple[str, int], str] = {}
    for quarter, uses in enumerate(placements):
        now = {(one.job, one.unit): gpu_types[use.node] for use in uses for one in use.occupants}
        found += sorted(
            TypeChange(quarter, job, last[job, unit], after, unit)
            for (job, unit), after in now.items()
            if last.get((job, unit), after) != after
        )
        last |= now
    return tuple(found)
