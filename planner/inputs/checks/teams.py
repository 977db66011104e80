"""Jobs of teams that nobody listed, and quotas that say nothing of the horizon or of what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.checks.faults import Fault, held_figures, known, not_in_play
from planner.inputs.checks.references import unknown_reference
from planner.inputs.scenario.team import ALL_GPU_TYPES, kind_of_quota
from planner.inputs.text.words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.reading.document import Path
    from planner.inputs.scenario.job import Job
    from planner.inputs.scenario.scenario import Scenario
    from planner.inputs.scenario.team import Team

__all__ = ["misassigned"]


def misassigned(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    """Find all of these; without `teams`, a job's team is a name alone and any will do."""
    for name, job in scenario.jobs.items():
        yield from known(_unlisted(scenario, ("jobs", name, "team"), job))
    for name, team in scenario.teams.items():
        yield from known(_quota(scenario, catalog, ("teams", name, "quota_gpus"), team))


def _unlisted(scenario: Scenario, path: Path, job: Job) -> Iterator[Fault]:
    teams = sorted(scenario.teams)
    if teams and job.team is not None and job.team not in teams:
        hint = did_you_mean(job.team, teams, 3) or f"known: {', '.join(teams)}"
        yield Fault(path, f"unknown team {job.team!r}", hint)


def _quota(scenario: Scenario, catalog: Catalog, path: Path, team: Team) -> Iterator[Fault]:
    stated = team.quota_gpus
    if not isinstance(stated, dict):
        return
    if kind_of_quota(stated) == "by quarter":
        yield from held_figures(path, stated, scenario.horizon)
        return
    for key, figure in stated.items():
        if key != ALL_GPU_TYPES:
            yield from known(_gpu_type(scenario, catalog, (*path, key), key))
        if isinstance(figure, dict):
            yield from held_figures((*path, key), figure, scenario.horizon)


def _gpu_type(scenario: Scenario, catalog: Catalog, path: Path, name: str) -> Iterator[Fault]:
    if name not in catalog.gpus:
        message, hint = unknown_reference("GPU type", name, catalog.gpus, catalog)
        yield Fault(path, message, hint, at_key=True)
    yield from not_in_play(path, name, scenario, catalog)
