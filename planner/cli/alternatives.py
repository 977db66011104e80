"""`planner alternatives`: the plans that stand beside the cheapest one."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import click

from planner.cli.beside import ALTERNATIVES
from planner.cli.options import FILE, asking, format_option, out_option, share
from planner.cli.screen import print_as
from planner.cli.staff import staff_options

if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path

    from planner.cli.files import Target
    from planner.cli.options import Asked
    from planner.cli.staff import Staff

__all__ = ["alternatives"]

_PICTURES = ("headroom.svg", "power.svg")
_FILES = (ALTERNATIVES, "alternatives.md", "alternatives.html", *_PICTURES)


@click.command(short_help="Show plans that differ where people care, beside the cheapest.")
@click.argument("scenario", type=FILE)
@click.option(
    "--within",
    type=share,
    default="3%",
    show_default=True,
    help="By which share a plan may cost more than the cheapest to be near it.",
)
@out_option(*_FILES)
@asking
@staff_options
@format_option
@click.pass_context
def alternatives(
    ctx: click.Context,
    scenario: Path,
    within: Decimal,
    out: Target | None,
    asked: Asked,
    staff: Staff,
    format_: str,
) -> None:
    """Show plans that differ where people care, beside the cheapest.

    Do nothing, reclaim first and rent only are always among them, with their shortfall. Of the
    plans that cost little more than the cheapest: fewest node types, a single vendor, most
    headroom, no or fewest moves, lowest power, earliest; each proved for its own objective, or
    left out with the reason.
    """
    from planner.reporting.alternatives import alternatives_document, near_ones  # noqa: PLC0415
    from planner.reporting.markdown import draw  # noqa: PLC0415
    from planner.reporting.pages import illustrated  # noqa: PLC0415
    from planner.reporting.variants import frontiers  # noqa: PLC0415
    from planner.whatif.alternatives import alternatives as found_by  # noqa: PLC0415
    from planner.whatif.kept import dumps  # noqa: PLC0415

    with staff.made(scenario, asked) as made:
        if out is not None:
            out.require_free(_FILES, made.inputs.read_from)
        found = found_by(made, within=Fraction(within))
    document = alternatives_document(found)
    json = dumps(found)
    if out is not None:
        title = f"Alternatives for {found.scenario}"
        pictures = frontiers(title, near_ones(found))
        pages = illustrated("alternatives", document, pictures, title)
        out.write({ALTERNATIVES: json, **pages})
    print_as(format_, document, lambda: json, lambda: draw(document))
    ctx.exit(found.cheapest.exit_code)
