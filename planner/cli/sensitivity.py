"""`planner sensitivity`: which figures the cost and the recommendation hang on."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import click

from planner.cli.beside import SENSITIVITY
from planner.cli.options import FILE, asking, format_option, out_option, share
from planner.cli.screen import print_as
from planner.cli.staff import staff_options

if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path

    from planner.cli.files import Target
    from planner.cli.options import Asked
    from planner.cli.staff import Staff

__all__ = ["sensitivity"]

_SVG = "tornado.svg"
_FILES = (SENSITIVITY, "sensitivity.md", "sensitivity.html", _SVG)


@click.command(short_help="Show which figures cost and recommendation hang on.")
@click.argument("scenario", type=FILE)
@click.option(
    "--swing",
    type=share,
    default="20%",
    show_default=True,
    help="By which share of its value each figure is moved either way.",
)
@click.option(
    "--weeks",
    type=click.IntRange(min=1, max=52),
    default=4,
    show_default=True,
    metavar="N",
    help="By how many weeks lead times are moved either way.",
)
@click.option(
    "--precision",
    type=share,
    default="1%",
    show_default=True,
    help="To which share of the value a turn of the recommendation is closed in.",
)
@click.option(
    "--pairs",
    type=click.IntRange(min=0, max=50),
    default=3,
    show_default=True,
    metavar="N",
    help="Pairs of the figures that leave no plan or move the cost most, to move both together.",
)
@out_option(*_FILES)
@asking
@staff_options
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
    out: Target | None,
    asked: Asked,
    staff: Staff,
    format_: str,
) -> None:
    """Show which figures the cost hangs on, and at which values the recommendation turns.

    Prices of offers, growth, lead times, discount, energy, support and useful life are moved one at
    a time. Where another purchase results, the value at which that happens is closed in on, between
    two plans. No plan counts as the widest swing. The figures that come first are moved two at a
    time as well.
    """
    from planner.reporting.markdown import draw  # noqa: PLC0415
    from planner.reporting.pages import illustrated  # noqa: PLC0415
    from planner.reporting.sensitivity import sensitivity_document, tornado  # noqa: PLC0415
    from planner.whatif.kept import dumps  # noqa: PLC0415
    from planner.whatif.sensitivity.sensitivity import sensitivity as found_by  # noqa: PLC0415

    if not (swing and precision):
        raise click.UsageError("--swing and --precision are more than 0")
    with staff.made(scenario, asked) as made:
        if out is not None:
            out.require_free(_FILES, made.inputs.read_from)
        found = found_by(
            made,
            swing=Fraction(swing),
            weeks=weeks,
            precision=Fraction(precision),
            pairs=pairs,
        )
    document = sensitivity_document(found)
    json = dumps(found)
    if out is not None:
        picture = tornado(found)
        pictures = {_SVG: picture} if picture else {}
        title = f"Sensitivity of {found.scenario}"
        pages = illustrated("sensitivity", document, pictures, title)
        out.write({SENSITIVITY: json, **pages})
    print_as(format_, document, lambda: json, lambda: draw(document))
    ctx.exit(found.base.exit_code)
