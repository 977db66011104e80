"""`planner risk`: what many futures cost, and how often the plan falls short in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from planner.cli.options import FILE, catalog_option, folder_option, rules_option
from planner.cli.screen import print_document
from planner.cli.staff import staff_options, time_left
from planner.errors import ExitCode

if TYPE_CHECKING:
    from pathlib import Path

    from planner.cli.files import Target
    from planner.cli.staff import Staff

__all__ = ["risk"]

_JSON, _SVG = "risk.json", "risk.svg"
_FILES = (_JSON, "risk.md", "risk.html", _SVG)


@click.command(short_help="Plan many futures: cost bands, and the chance of falling short.")
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
    help="Purchase plans at the most to hold against each other in these futures, in search of the "
    "one that is best in the bad cases; 0: none.",
)
@catalog_option
@rules_option
@staff_options
@click.pass_context
def risk(
    ctx: click.Context,
    futures: Path,
    samples: int,
    plans: int,
    out: Target,
    catalog: tuple[Path, ...],
    rules: tuple[Path, ...],
    staff: Staff,
) -> None:
    """Plan many futures of a scenario: cost bands, and the chance that the plan falls short.

    FUTURES is a file that names the scenario and what is uncertain about it, each as a least, most
    likely and greatest value. The same file and number give the same futures, on any machine.
    What to buy for the bad cases is searched: purchase plans are held against each other in all
    futures, with rents and placements adapted to each.
    """
    from planner.cli.progress import Progress  # noqa: PLC0415
    from planner.reporting.pages import illustrated  # noqa: PLC0415
    from planner.reporting.risk import cost_bands, risk_document  # noqa: PLC0415
    from planner.whatif.risk.choices import PURCHASES  # noqa: PLC0415
    from planner.whatif.risk.futures import read_futures  # noqa: PLC0415
    from planner.whatif.risk.risk import risk as found_by  # noqa: PLC0415
    from planner.whatif.sweep import RESULTS, require_rows  # noqa: PLC0415

    asked = read_futures(futures)
    desk = staff.desk(asked.scenario, catalog, rules)
    asked.drawn(desk, 0)
    read = (futures, *desk.inputs(asked.base(desk)).read_from)
    out.require_free(_FILES, read, kept=(RESULTS,))
    for folder in (out.folder, *out.folder.glob(f"{PURCHASES}*")):
        require_rows(folder, force=out.force)
    out.make()
    with Progress() as progress:
        found = found_by(
            *(desk, asked, samples, out.folder),
            plans=plans,
            force=out.force,
            hire=staff.crew,
            progress=time_left(progress),
        )
    document = risk_document(found)
    pages = illustrated("risk", document, {_SVG: cost_bands(found)}, f"Risk of {found.scenario}")
    out.write({_JSON: found.model_dump_json(indent=1) + "\n", **pages})
    print_document(document)
    if found.not_proved or found.base.result != "proved":
        ctx.exit(ExitCode.LIMIT)
