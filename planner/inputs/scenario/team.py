"""Who asks for jobs, and how many GPUs each team may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import Discriminator, Field, Tag

from planner.inputs.base import Count, Frozen
from planner.inputs.scenario.horizon import Horizon
from planner.inputs.scenario.spelling import ByQuarter, QuarterKey, in_force

ALL_GPU_TYPES = "total"
"""The key that stands for all GPU types together, beside some of them."""

_BEGINS_AS_A_QUARTER = re.compile(r"[0-9]{4}-?[qQ]")


def kind_of_quota(value: object) -> str:
    """`one figure`, `by quarter` or `by GPU type`: how a quota is stated."""
    if not isinstance(value, dict):
        return "one figure"
    keys = [key for key in value if isinstance(key, str)]
    quarters = not keys or any(_BEGINS_AS_A_QUARTER.match(key) for key in keys)
    return "by quarter" if quarters else "by GPU type"


Gpus = Annotated[Count, Field(le=10**7)]
GpusByType = Annotated[
    Annotated[Gpus, Tag("one figure")]
    | Annotated[dict[QuarterKey, Gpus], Field(min_length=1), Tag("by quarter")]
    | Annotated[dict[str, ByQuarter[Gpus, Gpus]], Tag("by GPU type")],
    Discriminator(kind_of_quota),
]
"""One figure, or figures by quarter, each of which holds until the next, or such figures by GPU
type, with `total` for all of them together."""


class Team(Frozen):
    """A team whose jobs are planned and charged together."""

    quota_gpus: GpusByType | None = None
    """GPUs that all its jobs may hold at once: one figure, by quarter, or by GPU type with `total`
    for all; no limit if left out."""
    note: str | None = None
    """For readers; nothing is computed from it."""

    def quotas(self, horizon: Horizon) -> Iterator[tuple[str | None, tuple[int | None, ...]]]:
        """Each quota by itself: its GPU type (None: all) and the GPUs by quarter (None: no limit).

        All types together first, then by name.
        """
        figures = self._by_gpu_type()
        for key in sorted(figures, key=lambda key: (key != ALL_GPU_TYPES, key)):
            at_most = tuple(in_force(figures[key], one) for one in horizon.all_quarters)
            yield None if key == ALL_GPU_TYPES else key, at_most

    def _by_gpu_type(self) -> dict[str, int | dict[str, int]]:
        stated = self.quota_gpus
        if stated is None:
            return {}
        if isinstance(stated, dict) and kind_of_quota(stated) == "by GPU type":
            return dict(stated)
        if isinstance(stated, dict):
            one = {key: figure for key, figure in stated.items() if isinstance(figure, int)}
            return {ALL_GPU_TYPES: one}
        return {ALL_GPU_TYPES: stated}
