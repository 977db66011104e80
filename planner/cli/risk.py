"""`planner risk`: what many futures cost, and how often the plan falls short in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import planner
from planner.cli.options import FILE, asking, folder_option, work_options
from planner.cli.progress import Progress
from planner.cli.screen import print_result, say_written
from planner.errors import ExitCode

if TYPE_CHECKING:
    from pathlib import Path

    from planner import Changes, Work
    from planner.api.folder import Folder

__all__ = ["risk"]


@click.command()
@click.argument("futures", type=FILE)
@click.option(
    "--samples",
    type=click.IntRange(min=1, max=100_000),
    default=200,
    show_default=True,
    metavar="N",
    help="Futures to draw and plan.",
)
@folder_option("the results, made if needed; what was stopped carries on from there")
@click.option(
    "--plans",
    type=click.IntRange(min=0, max=9),
    default=3,
    show_default=True,
    metavar="N",
    help="Most purchase plans to compare in these futures, in search of the best in the bad "
    "cases; 0: none.",
)
@asking
@work_options
@click.pass_context
def risk(
    ctx: click.Context,
    futures: Path,
    samples: int,
    plans: int,
    out: Folder,
    changes: Changes,
    work: Work,
) -> None:
    """Plan many futures of a scenario: cost bands, and the chance that the plan falls short.

    FUTURES is a file that names the scenario and what is uncertain about it, each as a least, most
    likely and greatest value. It also searches for what to buy for the bad cases: purchase plans
    are compared in all futures, with rents and placements adapted to each.
    """
    with Progress() as progress:
        found = planner.risk(
            futures,
            samples=samples,
            plans=plans,
            out=out.path,
            overwrite=out.overwrite,
            progress=progress,
            **changes,
            **work,
        )
    say_written(out, found.files())
    print_result(found)
    if not found.proved:
        ctx.exit(ExitCode.LIMIT)
