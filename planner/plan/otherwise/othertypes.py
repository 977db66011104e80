"""Whether a plan exists if one of the jobs that lack room may use GPU types that it rules out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import LimitError
from planner.packing import translate
from planner.packing.found import Infeasible
from planner.packing.pack import attempt
from planner.packing.work import spent
from planner.plan.words import some_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from planner.inputs.settled import Inputs
    from planner.sizing.sizers import Sizers

__all__ = ["other_types"]

_TIME_S = 10.0
"""For all questions together."""
_JOBS = 4
"""At most so many jobs are asked about."""
_NAMED = 4


def other_types(inputs: Inputs, lacking: Iterable[str], sizers: Sizers) -> Iterator[str]:
    """For each of these jobs that names its GPU types: others in play on which a plan has it.

    Proved by a plan that keeps all the rest.
    """
    deadline = spent() + _TIME_S
    stated = inputs.scenario.jobs
    named = (name for name in sorted(set(lacking)) if name in stated and stated[name].gpu_types)
    for name in [*named][:_JOBS]:
        free = stated[name].model_copy(update={"gpu_types": None})
        scenario = inputs.scenario.model_copy(update={"jobs": {**stated, name: free}})
        asked = inputs.model_copy(update={"scenario": scenario})
        jobs = sizers.portfolio(asked)
        translation = translate(asked, jobs)
        left_s = max(0.1, deadline - spent())
        try:
            solution = attempt(translation, asked_gap=1.0, time_limit_s=left_s)
        except (Infeasible, LimitError):
            continue
        used = {
            choice.gpu_type
            for demand, members, taken in zip(
                translation.problem.demands, translation.members, solution.assigned, strict=True
            )
            if any(job == name for job, _ in members)
            for choice, units in zip(demand.choices, taken, strict=True)
            if units
        }
        others = sorted(used - set(stated[name].gpu_types or ()))
        if others:
            yield f"let {name} run on {some_of(others, _NAMED)} as well"
