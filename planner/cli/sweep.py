"""`planner sweep`: many variants of a scenario, a row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from planner.cli.options import FILE, catalog_option, folder_option, rules_option
from planner.cli.screen import print_document
from planner.cli.staff import staff_options, time_left
from planner.errors import ExitCode
from planner.reporting.format import count_of

if TYPE_CHECKING:
    from pathlib import Path

    from planner.cli.files import Target
    from planner.cli.staff import Staff
    from planner.whatif.sweep import Shard

__all__ = ["sweep"]

_CSV = "sweep.csv"
_FILES = (_CSV, "sweep.md", "sweep.html", "headroom.svg", "power.svg")


def _shard(text: str) -> Shard:
    """`2/8`: the second of eight; fails in the user's words."""
    from planner.whatif.sweep import Shard  # noqa: PLC0415 - few sweeps are in parts

    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise click.BadParameter(f"{text!r} is not a part, write 2/8 for the second of eight")
    return Shard(int(number), int(of))


@click.command(short_help="Plan many variants of a scenario, a row each.")
@click.argument("grid", type=FILE)
@folder_option("the results, made if needed; a sweep that was stopped carries on from there")
@click.option(
    "--shard",
    type=_shard,
    metavar="I/N",
    help="Plan only every N-th row, from the I-th on: one part of N, for other machines.",
)
@catalog_option
@rules_option
@staff_options
@click.pass_context
def sweep(
    ctx: click.Context,
    grid: Path,
    out: Target,
    shard: Shard | None,
    catalog: tuple[Path, ...],
    rules: tuple[Path, ...],
    staff: Staff,
) -> None:
    """Plan many variants of a scenario, a row each.

    GRID is a file that names the scenario and what is changed. Rows that the folder has already
    are not planned again, whichever process or machine they are from. Exit code 4: a row was not
    proved within the limits.
    """
    from planner.cli.progress import Progress  # noqa: PLC0415
    from planner.reporting.pages import illustrated  # noqa: PLC0415
    from planner.reporting.variants import frontiers, sweep_csv, sweep_document  # noqa: PLC0415
    from planner.whatif.grid import read_grid  # noqa: PLC0415
    from planner.whatif.sweep import RESULTS, require_rows, results_name  # noqa: PLC0415
    from planner.whatif.sweep import sweep as swept  # noqa: PLC0415

    asked = read_grid(grid)
    desk = staff.desk(asked.scenario, catalog, rules)
    variants = asked.variants(desk)
    read = (grid, *desk.inputs(next(iter(variants.values()))).read_from)
    out.require_free(() if shard else _FILES, read, kept=(results_name(shard),))
    require_rows(out.folder, force=out.force)
    if alike := len(asked.rows) - len(variants):
        click.echo(f"left out {count_of(alike, 'row')} that others ask for already", err=True)
    out.make()
    with Progress() as progress, staff.crew(desk) as crew:
        rows = swept(
            *(crew, variants, out.folder),
            shard=shard,
            force=out.force,
            progress=time_left(progress),
        )
    if shard:
        done = count_of(len(rows), "row")
        file = out.folder / results_name(shard)
        click.echo(f"wrote {done} of {len(variants):,} to {file}", err=True)
    else:
        title = desk.name
        document = sweep_document(title, rows)
        pictures = frontiers(title, [(row.label, row.figures) for row in rows])
        pages = illustrated("sweep", document, pictures, f"Sweep of {title}")
        out.write({_CSV: sweep_csv(rows), **pages})
        click.echo(f"wrote {out.folder / RESULTS}", err=True)
        print_document(document)
    codes = {row.figures.exit_code for row in rows}
    for code in (ExitCode.UNVERIFIED, ExitCode.LIMIT):
        if code in codes:
            ctx.exit(code)
