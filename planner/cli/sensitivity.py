"""`planner sensitivity`: which figures the cost and the recommendation hang on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import planner
from planner.cli.options import FILE, asking, format_option, out_option, share, work_options
from planner.cli.progress import Progress
from planner.cli.screen import print_result, write

if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path

    from planner import Changes, Work
    from planner.api.folder import Folder

__all__ = ["sensitivity"]

_FILES = ("sensitivity.json", "sensitivity.md", "sensitivity.html", "tornado.svg")


@click.command()
@click.argument("scenario", type=FILE)
@click.option(
    "--swing",
    type=share,
    default="20%",
    show_default=True,
    help="Share of its value by which each figure is moved either way.",
)
@click.option(
    "--weeks",
    type=click.IntRange(min=1, max=52),
    default=4,
    show_default=True,
    metavar="N",
    help="Weeks by which lead times are moved either way.",
)
@click.option(
    "--precision",
    type=share,
    default="1%",
    show_default=True,
    help="Share of the value to which a turn is found.",
)
@click.option(
    "--pairs",
    type=click.IntRange(min=0, max=50),
    default=3,
    show_default=True,
    metavar="N",
    help="Pairs of the figures that matter most, to move together.",
)
@out_option(*_FILES)
@asking
@work_options
@format_option
@click.pass_context
def sensitivity(  # noqa: PLR0913 - a parameter for each option
    ctx: click.Context,
    scenario: Path,
    *,
    swing: Decimal,
    weeks: int,
    precision: Decimal,
    pairs: int,
    out: Folder | None,
    changes: Changes,
    work: Work,
    format_: str,
) -> None:
    """Show which figures the cost hangs on, and at which values the recommendation turns.

    Prices of offers, growth, lead times, discount, energy, support and useful life are moved one at
    a time. Where another purchase results, the value at which that happens is found. The figures
    that matter most are moved two at a time as well.
    """
    if not (swing and precision):
        raise click.UsageError("--swing and --precision are more than 0")
    asked = planner.load(scenario, **changes)
    if out is not None:
        out.require_free(_FILES, asked.read_from)
    with Progress() as progress:
        found = planner.sensitivity(
            asked,
            swing=swing,
            weeks=weeks,
            precision=precision,
            pairs=pairs,
            progress=progress,
            **work,
        )
    if out is not None:
        write(found, out)
    print_result(found, format_)
    ctx.exit(found.exit_code)
