"""Jobs of teams that nobody listed, and quotas that say nothing of the horizon or of what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from planner.inputs.quarter import Quarter
from planner.inputs.references import unknown_reference
from planner.inputs.team import ALL_GPU_TYPES
from planner.inputs.words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planner.inputs.catalog import Catalog
    from planner.inputs.document import Path
    from planner.inputs.horizon import Horizon
    from planner.inputs.scenario import Scenario

__all__ = ["misassigned"]


class _Fault(NamedTuple):
    path: Path
    message: str
    hint: str | None = None
    at_key: bool = False


def misassigned(scenario: Scenario, catalog: Catalog) -> Iterator[_Fault]:
    """Find them all; without `teams`, a job's team is a name alone and any will do."""
    known = sorted(scenario.teams)
    for name, job in scenario.jobs.items():
        if known and job.team is not None and job.team not in scenario.teams:
            hint = did_you_mean(job.team, known, 3) or f"known: {', '.join(known)}"
            yield _Fault(("jobs", name, "team"), f"unknown team {job.team!r}", hint)
    for name, team in scenario.teams.items():
        if isinstance(team.quota_gpus, dict):
            yield from _quota(scenario, catalog, ("teams", name, "quota_gpus"), team.quota_gpus)


def _quota(
    scenario: Scenario, catalog: Catalog, path: Path, stated: Mapping[str, object]
) -> Iterator[_Fault]:
    if not _by_gpu_type(stated):
        yield from _quarters(scenario.horizon, path, stated)
        return
    for key, figure in stated.items():
        if key != ALL_GPU_TYPES:
            yield from _gpu_type(scenario, catalog, (*path, key), key)
        if isinstance(figure, dict):
            yield from _quarters(scenario.horizon, (*path, key), figure)


def _by_gpu_type(stated: Mapping[str, object]) -> bool:
    try:
        for key in stated:
            Quarter.parse(key)
    except ValueError:
        return True
    return False


def _gpu_type(scenario: Scenario, catalog: Catalog, path: Path, name: str) -> Iterator[_Fault]:
    if name not in catalog.gpus:
        message, hint = unknown_reference("GPU type", name, catalog.gpus, catalog)
        yield _Fault(path, message, hint, at_key=True)
        return
    node_types = {entry.node_type for entry in scenario.fleet.values()}
    node_types |= {offer.node_type for offer in scenario.offers.values()}
    in_play = {catalog.nodes[name].gpu_type for name in node_types if name in catalog.nodes}
    if name not in in_play:
        yield _Fault(
            path,
            f"no node with {name!r} is owned or offered here",
            f"in play: {', '.join(sorted(in_play))}" if in_play else None,
            at_key=True,
        )


def _quarters(horizon: Horizon, path: Path, stated: Mapping[str, object]) -> Iterator[_Fault]:
    steps = [Quarter.parse(key) - horizon.first_quarter for key in stated]
    for key, step in zip(stated, steps, strict=True):
        if step >= horizon.quarters:
            yield _Fault((*path, key), f"{key} lies after the horizon", at_key=True)
    if min(steps) > 0:
        yield _Fault(
            path,
            f"says nothing of {horizon.first_quarter}: a figure holds from its quarter on",
            f"state one for {horizon.first_quarter}",
        )
