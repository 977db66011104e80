"""`planner sweep`: many variants of a scenario, a row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import planner
from planner.cli.options import FILE, asking, folder_option, work_options
from planner.cli.progress import Progress
from planner.cli.screen import print_result, say_written
from planner.errors import ExitCode
from planner.reporting.format import count_of

if TYPE_CHECKING:
    from pathlib import Path

    from planner import Changes, Work
    from planner.api.folder import Folder

__all__ = ["sweep"]


def _shard(text: str) -> tuple[int, int]:
    """`2/8`: the second of eight; fails in the user's words."""
    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise click.BadParameter(f"{text!r} is not a part, write 2/8 for the second of eight")
    return int(number), int(of)


@click.command()
@click.argument("grid", type=FILE)
@folder_option("the results, made if needed; a sweep that was stopped carries on from there")
@click.option(
    "--shard",
    type=_shard,
    metavar="I/N",
    help="Plan only every N-th row, from the I-th on.",
)
@asking
@work_options
@click.pass_context
def sweep(
    ctx: click.Context,
    grid: Path,
    out: Folder,
    shard: tuple[int, int] | None,
    changes: Changes,
    work: Work,
) -> None:
    """Plan many variants of a scenario, a row each.

    GRID is a file that names the scenario and what is changed. Rows that the folder has already
    are not planned again. Exit code 4: a row was not proved within the limits.
    """
    with Progress() as progress:
        found = planner.sweep(
            grid,
            out=out.path,
            overwrite=out.overwrite,
            shard=shard,
            progress=progress,
            **changes,
            **work,
        )
    if found.left_out:
        rows = count_of(found.left_out, "row")
        click.echo(f"left out {rows} that others ask for already", err=True)
    if shard:
        done = count_of(len(found.rows()), "row")
        click.echo(f"wrote {done} of {found.asked:,} to {found.results}", err=True)
    else:
        say_written(out, found.files())
        click.echo(f"wrote {found.results}", err=True)
        print_result(found)
    for code in (ExitCode.UNVERIFIED, ExitCode.LIMIT):
        if code in found.exit_codes:
            ctx.exit(code)
