"""All jobs of a scenario, sized, and the deployments that they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.scenario.run import Run
from planner.sizing.candidate import SizedJob
from planner.sizing.deploy import deployment

if TYPE_CHECKING:
    from planner.inputs.scenario.scenario import Scenario
    from planner.sizing.sizer import Sizer

__all__ = ["size_portfolio"]


def size_portfolio(sizer: Sizer, scenario: Scenario) -> tuple[SizedJob, ...]:
    """Size all jobs of a scenario and the deployments that they ask for, sorted by name."""
    sized: list[SizedJob] = []
    for name, job in sorted(scenario.jobs.items()):
        sizing = sizer.size(job)
        counts = job.counts(scenario.horizon)
        release, deadline = (job.run or Run()).window
        sized.append(
            SizedJob(
                name=name,
                kind=job.kind,
                derived_from=None,
                derived_by=None,
                team=job.team,
                units=job.units(scenario.horizon),
                sites=scenario.sites_of(job),
                sizing=sizing,
                release_hour=release,
                deadline_hour=deadline,
                runs=job.runs_per_quarter,
                keeps_gpu_type=scenario.keeps_gpu_type(job, job.kind),
            )
        )
        if job.tune is not None and job.tune.deploy is not None:
            derived = deployment(name, job, counts, sizer, scenario)
            if derived is not None:
                sized.append(derived)
    return tuple(sorted(sized, key=lambda one: one.name))
