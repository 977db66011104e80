"""What small changes of demand would save a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.document import Bullets
from planner.reporting.format import count_of, percent, usd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.plan import NearMiss, Plan
    from planner.reporting.document import Block

__all__ = ["near_miss_section"]


def near_miss_section(plan: Plan) -> Iterator[Block]:
    """The changes, what saves most first; nothing where none was found."""
    if plan.near_misses:
        found = sorted(plan.near_misses, key=lambda one: -one.saved_cents)
        yield Bullets(tuple(map(_told, found)))


def _told(one: NearMiss) -> str:
    change = f"{percent(one.share, 0)} less traffic of {one.job}"
    if one.units:
        change = f"{count_of(one.units, 'unit')} fewer of {one.job}"
    freed = f"{count_of(one.gpus, 'GPU')} fewer on {one.node_type} @ {one.site}"
    return f"{change} would save {usd(one.saved_cents)} net present cost ({freed}; planned, proved)"
