"""`planner replay`: a saved plan made again from the inputs that it records."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import click

from planner.cli.files import plan_text
from planner.cli.options import FILE, format_option
from planner.cli.screen import print_as
from planner.errors import ExitCode

__all__ = ["replay"]

_ON_SCREEN, _IN_FULL = 40, 1000


@click.command(short_help="Make a saved plan again and say whether it is the same.")
@click.argument("plan_json", metavar="PLAN.json", type=FILE)
@click.option(
    "--in",
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=".",
    metavar="DIR",
    help="The folder from which it was planned; its files are looked for from there.",
)
@format_option
@click.pass_context
def replay(ctx: click.Context, plan_json: Path, folder: Path, format_: str) -> None:
    """Plan again from the files and options that a saved plan records, and compare.

    Exit code 0: identical, byte for byte. 1: not; then each input file and version that has changed
    is named, and each figure. A plan.json that was edited by hand is refused with 2.
    """
    from planner.cli.progress import Progress  # noqa: PLC0415 - slow to load
    from planner.reporting.markdown import draw  # noqa: PLC0415 - likewise
    from planner.reporting.replay import replay_document  # noqa: PLC0415 - likewise
    from planner.whatif.comparison.replay import replay as replayed  # noqa: PLC0415 - likewise

    text = plan_text(plan_json)
    with Progress() as progress, chdir(folder):
        found = replayed(text, str(plan_json), plan_text, progress)
    print_as(
        format_,
        replay_document(found, _ON_SCREEN),
        lambda: found.model_dump_json(indent=1) + "\n",
        lambda: draw(replay_document(found, _IN_FULL)),
    )
    if not found.identical:
        ctx.exit(ExitCode.DIFFERENT)
