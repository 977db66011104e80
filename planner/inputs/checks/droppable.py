"""Units that a job may be short of, where the job or the policies contradict that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.checks.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.scenario.job import Job
    from planner.inputs.scenario.scenario import Scenario

__all__ = ["undroppable"]


def undroppable(name: str, job: Job, scenario: Scenario) -> Iterator[Fault]:
    """Find what is in the way of `droppable`, one thing at a time."""
    if job.droppable is None:
        return
    path = ("jobs", name, "droppable")
    most = max(job.units(scenario.horizon), default=0)
    if scenario.policies.shortage == "refuse":
        told = "nothing is dropped: `policies.shortage` is `refuse`"
        yield Fault(path, told, "leave it out, or write `policies: {shortage: drop}`")
    elif job.required:
        told = "a required job is kept whole"
        yield Fault(path, told, "leave it out, or require what must run as a job of its own")
    elif job.tune is not None and job.tune.deploy is not None:
        told = "the job is kept whole with the deployment that is derived from it"
        yield Fault(path, told, "leave it out, or serve the model by a job of its own")
    elif job.load:
        told = "replicas that follow from a load depend on the GPU type, so they are not counted"
        yield Fault(path, told, "leave it out, or state `replicas` in place of `load`")
    elif job.droppable != "all" and job.droppable > most > 0:
        told = f"{job.droppable:,} are more than the job has in any quarter ({most:,})"
        yield Fault(path, told, f"write {most}, or `all`")
