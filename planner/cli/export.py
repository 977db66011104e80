"""`planner export`: what other tools read of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from planner.cli.options import FILE, asking, folder_option
from planner.cli.saved import saved_plan
from planner.cli.typos import Group

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from planner.cli.files import Target
    from planner.cli.options import Asked
    from planner.planning.plan import Plan

    Exporter = Callable[[Plan, str], dict[str, str]]

__all__ = ["export"]


_PORTFOLIO = "portfolio.csv"
_FEW = 5
"""Names that a line tells."""


@click.group(
    cls=Group, short_help="Write what other tools read: watsonx, Kueue, Kubernetes, spreadsheets."
)
def export() -> None:
    """Write what other tools read: of a saved plan for one of its quarters, or of a scenario."""


_into_folder = folder_option("the files, made if needed")


@export.command(short_help="The jobs of a scenario as a table.")
@click.argument("scenario", type=FILE)
@_into_folder
@asking
def portfolio(scenario: Path, out: Target, asked: Asked) -> None:
    """Write portfolio.csv: the jobs of a scenario, a row each, as `planner import` reads them."""
    from planner.exchange.portfolio import portfolio_csv  # noqa: PLC0415 - slow to load
    from planner.inputs.reading.reader import parse_document  # noqa: PLC0415 - likewise

    inputs = asked.inputs(scenario)
    out.require_free((_PORTFOLIO,), inputs.read_from)
    jobs = parse_document(inputs.question, str(scenario)).data["jobs"]
    out.write({_PORTFOLIO: portfolio_csv(jobs)})


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


def _write(
    plan_json: Path, out: Target, quarter: str | None, exporter: Exporter
) -> tuple[Plan, str]:
    """Write what a plan asks for in a quarter; both are returned."""
    from planner.exchange.needs import quarter_of  # noqa: PLC0415 - slow to load
    from planner.planning.saved import sound  # noqa: PLC0415 - likewise

    plan = saved_plan(plan_json).plan
    asked = quarter_of(plan, quarter)
    with sound(str(plan_json)):
        files = exporter(plan, asked)
    out.require_free(files, [plan_json])
    out.write(files)
    return plan, asked


@export.command(short_help="Custom hardware specifications, and who uses which.")
@_from_plan
def watsonx(plan_json: Path, out: Target, quarter: str | None) -> None:
    """Write a custom hardware specification for each distinct need of tuning and serving jobs.

    Each file is the body of `POST /v2/hardware_specifications`; used-by.csv says who uses which.
    """
    from planner.exchange.watsonx import left_out, watsonx_files  # noqa: PLC0415 - slow to load
    from planner.planning.words import some_of  # noqa: PLC0415 - likewise

    without = left_out(*_write(plan_json, out, quarter, watsonx_files))
    if without:
        names = some_of(without, _FEW)
        click.echo(f"hint: fixed jobs have no specification here: {names}", err=True)


@export.command(short_help="Resource flavors, cluster queues and topology.")
@_from_plan
def kueue(plan_json: Path, out: Target, quarter: str | None) -> None:
    """Write kueue.yaml: a ResourceFlavor per node type and site, a ClusterQueue per team, Topology.

    Quotas are what the plan gives each team, summed over the nodes of a flavor.
    """
    from planner.exchange.kueue import kueue_files  # noqa: PLC0415 - slow to load

    _write(plan_json, out, quarter, kueue_files)


@export.command(short_help="Pod templates with their resources.")
@_from_plan
def kubernetes(plan_json: Path, out: Target, quarter: str | None) -> None:
    """Write pods.yaml: what the pods of each job ask for, and on which nodes they are planned."""
    from planner.exchange.kubernetes import kubernetes_files  # noqa: PLC0415 - slow to load

    _write(plan_json, out, quarter, kubernetes_files)
