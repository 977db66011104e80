"""`planner export`: what other tools read of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import planner
from planner.cli.options import FILE, asking, folder_option
from planner.cli.screen import write
from planner.cli.typos import Group

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from planner import Changes, ExportResult
    from planner.api.folder import Folder

__all__ = ["export"]


@click.group(cls=Group)
def export() -> None:
    """Write what other tools read: of a saved plan for one of its quarters, or of a scenario."""


_into_folder = folder_option("the files, made if needed")


@export.command(short_help="The jobs of a scenario as a table.")
@click.argument("scenario", type=FILE)
@_into_folder
@asking
def portfolio(scenario: Path, out: Folder, changes: Changes) -> None:
    """Write portfolio.csv: the jobs of a scenario, a row each, as `planner import` reads them."""
    _write(planner.export(scenario, "portfolio", **changes), out)


def _from_plan(command: Callable[..., None]) -> Callable[..., None]:
    """`PLAN.json --out DIR [--quarter QUARTER]`."""
    for option in (
        click.option(
            "--quarter", metavar="QUARTER", help="Quarter of the plan; its first if left out."
        ),
        _into_folder,
        click.argument("plan_json", metavar="PLAN.json", type=FILE),
    ):
        command = option(command)
    return command


def _write(found: ExportResult, out: Folder) -> None:
    """Write files of which none is there yet."""
    out.require_free(found.files(), found.read_from)
    write(found, out)


@export.command(short_help="Custom hardware specifications, and who uses which.")
@_from_plan
def watsonx(plan_json: Path, out: Folder, quarter: str | None) -> None:
    """Write a custom hardware specification for each distinct need of tuning and serving jobs.

    Each file is the body of `POST /v2/hardware_specifications`; used-by.csv says who uses which.
    """
    found = planner.export(plan_json, "watsonx", quarter=quarter)
    _write(found, out)
    for hint in found.hints:
        click.echo(f"hint: {hint}", err=True)


@export.command(short_help="Resource flavors, cluster queues and topology.")
@_from_plan
def kueue(plan_json: Path, out: Folder, quarter: str | None) -> None:
    """Write kueue.yaml: a ResourceFlavor per node type and site, a ClusterQueue per team, Topology.

    Quotas are what the plan gives each team, summed over the nodes of a flavor.
    """
    _write(planner.export(plan_json, "kueue", quarter=quarter), out)


@export.command(short_help="Pod templates with their resources.")
@_from_plan
def kubernetes(plan_json: Path, out: Folder, quarter: str | None) -> None:
    """Write pods.yaml: what the pods of each job ask for, and on which nodes they are planned."""
    _write(planner.export(plan_json, "kubernetes", quarter=quarter), out)
