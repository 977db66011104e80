"""What parts of GPUs save: the same portfolio solved on whole GPUs alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import LimitError
from planner.packing import translate
from planner.packing.found import Infeasible
from planner.packing.pack import attempt
from planner.packing.problem import WHOLE
from planner.packing.solution import Status
from planner.packing.work import spent
from planner.plan.plan import PartitionSaving

if TYPE_CHECKING:
    from planner.inputs.settled import Inputs
    from planner.packing import Solution, Translation
    from planner.sizing import SizedJob

__all__ = ["partition_saving"]


def partition_saving(
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    translation: Translation,
    solution: Solution,
    *,
    asked_gap: float,
    deadline: float,
) -> PartitionSaving | None:
    """The plan against the best one on whole GPUs; None where no unit takes a part of one.

    It is open where either is not proved before the deadline, in seconds of work.
    """
    if not _takes_parts(translation, solution):
        return None
    whole = tuple(map(_on_whole_gpus, jobs))
    if any(any(job.units) and not job.sizing.candidates for job in whole):
        return PartitionSaving(outcome="no other plan", cents=None)
    left_s = deadline - spent()
    if solution.status is not Status.PROVED or left_s <= 0:
        return PartitionSaving(outcome="not proved", cents=None)
    try:
        found = attempt(translate(inputs, whole), asked_gap=asked_gap, time_limit_s=left_s)
    except Infeasible:
        return PartitionSaving(outcome="no other plan", cents=None)
    except LimitError:
        return PartitionSaving(outcome="not proved", cents=None)
    if found.status is not Status.PROVED:
        return PartitionSaving(outcome="not proved", cents=None)
    cents = max(0, found.cost_cents - solution.cost_cents)
    return PartitionSaving(outcome="proved", cents=cents)


def _takes_parts(translation: Translation, solution: Solution) -> bool:
    demands = zip(translation.problem.demands, solution.assigned, strict=True)
    return any(
        units and choice.shape.part != WHOLE
        for demand, assigned in demands
        for choice, units in zip(demand.choices, assigned, strict=True)
    )


def _on_whole_gpus(job: SizedJob) -> SizedJob:
    whole = tuple(
        one for one in job.sizing.candidates if one.partition is None and not one.shared_mb
    )
    sizing = job.sizing.model_copy(update={"candidates": whole})
    return job.model_copy(update={"sizing": sizing})
