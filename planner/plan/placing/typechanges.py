"""Units that change their GPU type from one of their quarters to the next, as they are placed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from planner.packing.statement.economics import change_costs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from planner.inputs.settled import Inputs
    from planner.packing.statement.economics import CostStream
    from planner.plan.parts.servers import NodeUse
    from planner.sizing.candidate import SizedJob

__all__ = ["TypeChange", "paid_changes", "type_changes"]


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


def paid_changes(
    inputs: Inputs, jobs: Iterable[SizedJob], changes: Iterable[TypeChange]
) -> Iterator[tuple[TypeChange, CostStream]]:
    """Changes that have a price, each with what it costs."""
    stated = {job.name: job.derived_from or job.name for job in jobs}
    for change in changes:
        if inputs.scenario.gpu_type_change_usd(stated[change.job]):
            yield change, change_costs(inputs, stated[change.job], change.quarter)
