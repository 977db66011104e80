"""`planner alternatives`: the plans that stand beside the cheapest one."""

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

__all__ = ["alternatives"]

_PICTURES = ("headroom.svg", "power.svg")
_FILES = ("alternatives.json", "alternatives.md", "alternatives.html", *_PICTURES)


@click.command()
@click.argument("scenario", type=FILE)
@click.option(
    "--within",
    type=share,
    default="3%",
    show_default=True,
    help="Share by which such a plan may cost more than the cheapest.",
)
@out_option(*_FILES)
@asking
@work_options
@format_option
@click.pass_context
def alternatives(
    ctx: click.Context,
    scenario: Path,
    within: Decimal,
    out: Folder | None,
    changes: Changes,
    work: Work,
    format_: str,
) -> None:
    """Show plans that differ where people care, beside the cheapest.

    Do nothing, reclaim first and rent only are always among them, with their shortfall. Of the
    plans that cost little more than the cheapest: fewest node types, a single vendor, most
    headroom, no or fewest moves, lowest power, earliest.
    """
    asked = planner.load(scenario, **changes)
    if out is not None:
        out.require_free(_FILES, asked.read_from)
    with Progress() as progress:
        found = planner.alternatives(asked, within=within, progress=progress, **work)
    if out is not None:
        write(found, out)
    print_result(found, format_)
    ctx.exit(found.exit_code)
