"""`planner replay`: a saved plan made again from the inputs that it records."""

from __future__ import annotations

from pathlib import Path

import click

import planner
from planner.cli.options import FILE, format_option, quiet_option
from planner.cli.progress import Progress
from planner.cli.screen import print_result
from planner.errors import ExitCode

__all__ = ["replay"]


@click.command()
@click.argument("plan_json", metavar="PLAN.json", type=FILE)
@click.option(
    "--in",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=".",
    metavar="DIR",
    help="The folder from which it was planned; its files are looked for from there.",
)
@quiet_option
@format_option
@click.pass_context
def replay(ctx: click.Context, plan_json: Path, folder: Path, format_: str) -> None:
    """Plan again from the files and options that a saved plan records, and compare.

    Exit code 0: identical, byte for byte. 1: not; each input file, version and figure that has
    changed is named. A plan.json that was edited by hand is refused with 2.
    """
    with Progress() as progress:
        found = planner.replay(plan_json, directory=folder, progress=progress)
    print_result(found, format_)
    if not found.identical:
        ctx.exit(ExitCode.DIFFERENT)
