"""`planner import`: jobs from a table, actuals from Slurm."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from planner.cli.files import Target
from planner.cli.options import FILE, NEW_FILE, force_option
from planner.cli.screen import print_exact
from planner.errors import Finding, InputError

if TYPE_CHECKING:
    from pathlib import Path

    from planner.inputs.reading.grid import Grid

__all__ = ["import_"]

_EXCEL = (".xlsx", ".xlsm", ".xls")
_ZIPPED = b"PK\x03\x04"
"""The first bytes of a workbook."""


@click.command(name="import", short_help="Read jobs from a table, or actuals from Slurm.")
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
    help="A YAML file that says what the columns, or the jobs of Slurm, are called here.",
)
@click.option(
    "--sheet", metavar="NAME", help="Sheet of a workbook; its only visible one if not given."
)
@click.option("--template", is_flag=True, help="Print a CSV file with every column to fill in.")
def import_(
    file: Path | None,
    out: Path | None,
    *,
    force: bool,
    mapping: Path | None,
    sheet: str | None,
    template: bool,
) -> None:
    """Read jobs from a CSV file or an Excel workbook, or actuals from `sacct --parsable2`.

    Jobs become a scenario file that yours may extend; actuals a table for `planner compare
    --actuals`. Every mistake is told with its cell, and then nothing is written.
    """
    if template:
        from planner.exchange.portfolio import template as empty_table  # noqa: PLC0415 - slow to load

        print_exact(empty_table())
        return
    if file is None or out is None:
        raise click.UsageError("name a file to read, and `--out FILE` to write; or `--template`")
    target = Target(out.parent, force)
    target.require_free([out.name], filter(None, (file, mapping)))
    text = _text(file)
    target.write({out.name: _imported(file, text, mapping, sheet)})


def _text(file: Path) -> str | None:
    """What a table says; None for a workbook, whatever its name is."""
    from planner.inputs.reading.reader import read_bytes, read_text  # noqa: PLC0415 - likewise

    if file.suffix.lower() in _EXCEL or read_bytes(file, str(file)).startswith(_ZIPPED):
        return None
    return read_text(file, str(file))


def _imported(file: Path, text: str | None, mapping: Path | None, sheet: str | None) -> str:
    from planner.exchange.slurm import actuals_csv, is_sacct, read_names, usage_of  # noqa: PLC0415

    if text is not None and sheet is not None:
        raise InputError(Finding("is no workbook, so it has no sheets", path="--sheet"))
    if text is not None and is_sacct(text):
        names = read_names(mapping) if mapping else {}
        usage = usage_of(text, str(file), names)
        for note in usage.notes:
            click.echo(f"{file}: {note}", err=True)
        return actuals_csv(usage)
    return _jobs(_grid(file, text, sheet), file, mapping)


def _grid(file: Path, text: str | None, sheet: str | None) -> Grid:
    if text is None:
        hidden = sys.modules.setdefault("numpy", None) is None  # type: ignore[arg-type]
        from planner.exchange.workbook import workbook_grid  # noqa: PLC0415 - slow to load

        if hidden:  # openpyxl loads it if it can, and takes 100 MiB for nothing that is read here
            del sys.modules["numpy"]
        return workbook_grid(file, sheet)
    from planner.inputs.reading.grid import csv_grid  # noqa: PLC0415 - likewise

    return csv_grid(text, str(file))


def _jobs(grid: Grid, file: Path, mapping: Path | None) -> str:
    from planner.exchange.portfolio import (  # noqa: PLC0415 - likewise
        Columns,
        jobs_from,
        read_columns,
        scenario_part,
    )

    click.echo(f"{file}: {grid.said}", err=True)
    for words in grid.hidden:
        click.echo(f"warning: {file}: {words}", err=True)
    jobs = jobs_from(grid, read_columns(mapping) if mapping else Columns())
    return scenario_part(jobs, f"Jobs of {file.name}")
