"""What contradicts itself in prices, budgets and teams."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from planner.inputs.checks.faults import (
    Fault,
    entries,
    held_figures,
    known,
    not_in_play,
    unstated_figure,
)
from planner.inputs.checks.references import unknown_reference
from planner.inputs.scenario.finance import TOTAL
from planner.inputs.scenario.offer import FleetEntry
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.team import ALL_GPU_TYPES, kind_of_quota
from planner.inputs.text.words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.reading.document import Path
    from planner.inputs.scenario.job import Job
    from planner.inputs.scenario.scenario import Offer, Scenario
    from planner.inputs.scenario.team import Team

__all__ = ["misassigned", "unusable"]


def unusable(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    """Find all of these; names that the catalog does not know are passed over."""
    yield from known(
        _offers(scenario),
        _fleet(scenario),
        _budget(scenario),
        _colocation(scenario, catalog),
        _licences(scenario, catalog),
    )


def _offers(scenario: Scenario) -> Iterator[Fault]:
    for name, offer in scenario.offers.items():
        path = ("offers", name)
        yield from known(_window(scenario, path, offer), _end_of_sale(scenario, path, offer))


def _fleet(scenario: Scenario) -> Iterator[Fault]:
    for name, entry in scenario.fleet.items():
        yield from known(_retired(scenario, ("fleet", name), entry))


def _retired(scenario: Scenario, path: Path, entry: FleetEntry) -> Iterator[Fault]:
    if entry.retires is not None and entry.retires <= scenario.horizon.first_quarter:
        yield Fault(
            (*path, "retires"),
            f"nodes that retire in {entry.retires} never serve in this horizon",
            "leave the entry out",
        )


def _window(scenario: Scenario, path: Path, offer: Offer) -> Iterator[Fault]:
    if offer.available is not None and not any(map(scenario.horizon.includes, offer.available)):
        yield Fault((*path, "available"), "lies wholly outside the horizon", "leave the offer out")


def _end_of_sale(scenario: Scenario, path: Path, offer: Offer) -> Iterator[Fault]:
    horizon = scenario.horizon
    if offer.end_of_sale is None:
        return
    as_of = horizon.earliest_order
    lead = timedelta(weeks=offer.lead_time_weeks)
    if offer.end_of_sale < as_of:
        message = f"{offer.end_of_sale} has passed on the day of the plan, {as_of}"
        yield Fault((*path, "end_of_sale"), message, "leave the offer out")
    elif horizon.first_quarter.start - lead > offer.end_of_sale:
        first = horizon.first_quarter
        yield Fault(
            (*path, "end_of_sale"),
            f"what is ordered by {offer.end_of_sale} is delivered before {first}",
            "a node enters service when it is delivered: count it under `fleet:`",
        )


def _budget(scenario: Scenario) -> Iterator[Fault]:
    for key in ("capex_usd", "opex_usd", "total_usd"):
        yield from known(_outside(scenario, key))


def _outside(scenario: Scenario, key: str) -> Iterator[Fault]:
    figures = getattr(scenario.budget, key)
    for quarter in figures if isinstance(figures, dict) else ():
        if quarter != TOTAL and not scenario.horizon.includes(Quarter.parse(quarter)):
            message = f"{quarter} lies outside the horizon"
            yield Fault(("budget", key, quarter), message, at_key=True)


def _colocation(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    if not scenario.finance.colocation_usd_per_kw_month:
        return
    yield from known(*(_on_a_floor(path, entry, catalog) for path, entry in entries(scenario)))


def _on_a_floor(path: Path, entry: FleetEntry | Offer, catalog: Catalog) -> Iterator[Fault]:
    node = catalog.nodes.get(entry.node_type)
    on_own_floor = isinstance(entry, FleetEntry) or entry.kind == "buy"
    if on_own_floor and node is not None and node.max_power_kw is None:
        yield unstated_figure(path, entry.node_type, "max_power_kw", "colocation")


def _licences(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    stated = scenario.finance.licence_usd_per_gpu_year
    if not isinstance(stated, dict):
        return
    for gpu_type in stated:
        path = ("finance", "licence_usd_per_gpu_year", gpu_type)
        yield from not_in_play(path, gpu_type, scenario, catalog)


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
