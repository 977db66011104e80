"""One job at any number of GPUs, on any GPU type: what does not differ is derived once."""

from __future__ import annotations

from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Final

from planner.sizing.engine import Known
from planner.sizing.subject import GPU_FACTS
from planner.sizing.trace import Recorder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.sizing.engine import Reasoning

__all__ = ["COUNT_FACTS", "Tries"]

COUNT_FACTS: Final = frozenset({"gpus_tried"})
"""What is known once a number of GPUs is being tried."""

TRIED: Final = "tried"
"""Origin of a count that is being tried."""

_NEEDED: Final = frozenset({"gpus_needed"})


class Tries:
    """Situations of one job by GPU count and GPU type.

    A peak of memory depends on the count and rarely on the GPU type, so the count comes first.
    """

    def __init__(self, job: Reasoning) -> None:
        """`job` is what is known before a count or a GPU type is chosen."""
        self.job = job
        self.recorder = Recorder()
        """Writes the traces of this job."""
        self._counted: dict[int, int] = {}
        self._by_count: dict[tuple[int, int | None], Reasoning] = {}

    @cached_property
    def by_peak(self) -> bool:
        """Whether the job says enough to tell the peak of memory per GPU, which then decides."""
        alone = self._counting(1, 1, None)
        known = alone.derive("peak_gb_per_gpu") is not None
        if known:
            self._by_count[1, None] = alone
        return known

    def at(self, gpus: int, enough: int | None = None) -> Reasoning:
        """The job on this many GPUs of no particular type.

        `enough` is the smaller count that would do, were it not for a deadline and the like.
        """
        key = (gpus, enough)
        by_peak = self.by_peak
        if key not in self._by_count:
            for_memory = (enough or gpus) if by_peak else None
            self._by_count[key] = self._counting(gpus, for_memory, enough)
        return self._by_count[key]

    def _counting(self, gpus: int, for_memory: int | None, enough: int | None) -> Reasoning:
        settled = {"gpus_tried": _gpus(gpus)}
        if for_memory is not None:
            settled["gpus_for_memory"] = _gpus(for_memory)
        if enough is not None:
            settled["gpus_needed"] = _gpus(gpus)
        return self.job.within(settled, COUNT_FACTS)

    def on(self, gpu: Mapping[str, Known], gpus: int, enough: int | None = None) -> Reasoning:
        """The job on this many GPUs of a type."""
        return self.at(gpus, enough).within(gpu, GPU_FACTS)

    def counted(self, needed: int) -> int:
        """The number of GPUs that a job takes which needs so many, as the rules allow it."""
        if needed not in self._counted:
            asked = {"gpus_needed": _gpus(needed)}
            allowed = self.job.within(asked, _NEEDED).number("gpus")
            self._counted[needed] = ceil(allowed) if allowed else needed
        return self._counted[needed]


def _gpus(count: int) -> Known:
    return Known(count, "GPUs", TRIED)
