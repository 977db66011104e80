"""Jobs of teams that nobody listed, and quotas that say nothing of the horizon or of what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.checks.faults import Fault, held_figures, not_in_play
from planner.inputs.checks.references import unknown_reference
from planner.inputs.scenario.team import ALL_GPU_TYPES, kind_of_quota
from planner.inputs.text.words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.reading.document import Path
    from planner.inputs.scenario.scenario import Scenario

__all__ = ["misassigned"]


def misassigned(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    """Find all of these; without `teams`, a job's team is a name alone and any will do."""
    known = sorted(scenario.teams)
    for name, job in scenario.jobs.items():
        if known and job.team is not None and job.team not in scenario.teams:
            hint = did_you_mean(job.team, known, 3) or f"known: {', '.join(known)}"
            yield Fault(("jobs", name, "team"), f"unknown team {job.team!r}", hint)
    for name, team in scenario.teams.items():
        if isinstance(team.quota_gpus, dict):
            yield from _quota(scenario, catalog, ("teams", name, "quota_gpus"), team.quota_gpus)


def _quota(
    scenario: Scenario, catalog: Catalog, path: Path, stated: Mapping[str, object]
) -> Iterator[Fault]:
    if kind_of_quota(stated) == "by quarter":
        yield from held_figures(path, stated, scenario.horizon)
        return
    for key, figure in stated.items():
        if key != ALL_GPU_TYPES:
            yield from _gpu_type(scenario, catalog, (*path, key), key)
        if isinstance(figure, dict):
            yield from held_figures((*path, key), figure, scenario.horizon)


def _gpu_type(scenario: Scenario, catalog: Catalog, path: Path, name: str) -> Iterator[Fault]:
    if name not in catalog.gpus:
        message, hint = unknown_reference("GPU type", name, catalog.gpus, catalog)
        yield Fault(path, message, hint, at_key=True)
    yield from not_in_play(path, name, scenario, catalog)
