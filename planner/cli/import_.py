"""`planner import`: jobs from tables, traces and metrics, actuals from clusters."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

import planner
from planner.api.folder import Folder
from planner.cli.options import FILE, NEW_FILE, force_option
from planner.cli.screen import print_exact, say_written

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["import_"]


@click.command(name="import")
@click.argument("file", type=FILE, required=False)
@click.option(
    "--out",
    type=NEW_FILE,
    metavar="FILE",
    help="Where to write: a scenario part (.yaml) of jobs, a table (.csv) of actuals.",
)
@force_option
@click.option(
    "--mapping",
    type=FILE,
    metavar="FILE",
    help="A YAML file that renames the columns, or the jobs of a cluster.",
)
@click.option(
    "--sheet", metavar="NAME", help="Sheet of a workbook; its only visible one if not given."
)
@click.option("--template", is_flag=True, help="Print a CSV file of jobs to write over.")
@click.option("--full", is_flag=True, help="The template with every column that there is.")
def import_(
    file: Path | None,
    out: Path | None,
    *,
    force: bool,
    mapping: Path | None,
    sheet: str | None,
    template: bool,
    full: bool,
) -> None:
    """Read jobs from a table, the load of models from traffic, or actuals from a cluster.

    Tables are CSV or Excel. Traffic is a trace of requests, or vLLM's counters as Prometheus or
    Grafana export them. Actuals come from `sacct --parsable2`, Kueue's `kubectl get workloads -o
    json`, or DCGM's gauges. Jobs become a scenario file that yours may extend, actuals a table for
    `planner compare --actuals`.
    """
    if full and not template:
        raise click.UsageError("--full goes with --template")
    if template:
        print_exact(planner.table_template(full=full))
        return
    if file is None or out is None:
        raise click.UsageError("name a file to read, and `--out FILE` to write; or `--template`")
    folder = Folder(out.parent, force)
    folder.require_free([out.name], filter(None, (file, mapping)))
    say = partial(click.echo, err=True)
    found = planner.import_table(file, mapping=mapping, sheet=sheet, progress=say)
    folder.write({out.name: found.text})
    say_written(folder, [out.name])
