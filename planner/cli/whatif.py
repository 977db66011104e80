"""`planner sweep`, `sensitivity`, `alternatives` and `risk`: many plans of one scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import planner
from planner.cli.options import (
    FILE,
    asking,
    folder_option,
    format_option,
    number_option,
    out_option,
    share_option,
    work_options,
)
from planner.cli.screen import ProgressLine, print_result, say_written, write
from planner.reporting.format import count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from decimal import Decimal
    from pathlib import Path

    from planner import AlternativesResult, Changes, SensitivityResult, Work
    from planner.api.folder import Folder

_OF_ALTERNATIVES = ("alternatives.json", "alternatives.md", "alternatives.html")
_OF_SENSITIVITY = ("sensitivity.json", "sensitivity.md", "sensitivity.html", "tornado.svg")


def _answer(
    question: Callable[..., AlternativesResult | SensitivityResult],
    scenario: Path,
    changes: Changes,
    files: Sequence[str],
    out: Folder | None,
    format_: str,
    **asked: Any,  # noqa: ANN401 - as the question takes them
) -> None:
    """Ask of a scenario, write the files where that is wanted, print, and end."""
    loaded = planner.load(scenario, **changes)
    if out is not None:
        out.require_free(files, loaded.read_from)
    with ProgressLine() as progress:
        found = question(loaded, progress=progress, **asked)
    if out is not None:
        write(found, out)
    print_result(found, format_)
    click.get_current_context().exit(found.exit_code)


@click.command()
@click.argument("scenario", type=FILE)
@share_option("--within", "3%", "Share by which such a plan may cost more than the cheapest.")
@out_option(*_OF_ALTERNATIVES)
@asking
@work_options
@format_option
def alternatives(
    scenario: Path, within: Decimal, out: Folder | None, changes: Changes, work: Work, format_: str
) -> None:
    """Show plans that differ where people care, beside the cheapest.

    Do nothing, reclaim first and rent only are always among them, with their shortfall. Of the
    plans that cost little more than the cheapest: fewest node types, a single vendor, most
    headroom, fewest moves, lowest power, earliest.
    """
    question = planner.alternatives
    _answer(question, scenario, changes, _OF_ALTERNATIVES, out, format_, within=within, **work)


@click.command()
@click.argument("scenario", type=FILE)
@share_option("--swing", "20%", "Share of its value by which each figure is moved either way.")
@number_option("--weeks", 4, "Weeks by which lead times are moved either way.")
@share_option(
    "--precision", "1%", "How closely a switching value is found, as a share of the value."
)
@out_option(*_OF_SENSITIVITY)
@asking
@work_options
@format_option
def sensitivity(
    scenario: Path,
    out: Folder | None,
    changes: Changes,
    work: Work,
    format_: str,
    **moved: Any,  # noqa: ANN401 - swing, weeks and precision
) -> None:
    """Show which figures the cost depends on, and at which values the recommendation changes.

    Prices of offers, growth, lead times, discount, energy, support and useful life are moved one at
    a time. Where another purchase results, the value at which that happens is found.
    """
    question = planner.sensitivity
    _answer(question, scenario, changes, _OF_SENSITIVITY, out, format_, **moved, **work)


@click.command()
@click.argument("grid", type=FILE)
@folder_option("the results, made if needed; a sweep that was stopped carries on from there")
@asking
@work_options
@click.pass_context
def sweep(
    ctx: click.Context,
    grid: Path,
    out: Folder,
    changes: Changes,
    work: Work,
) -> None:
    """Plan many variants of a scenario, a row each.

    GRID is a file that names the scenario and what is changed. Rows that the folder has already
    are not planned again. Exit code 4: a row was not proved within the limits.
    """
    with ProgressLine() as progress:
        found = planner.sweep(
            grid,
            out=out.path,
            overwrite=out.overwrite,
            progress=progress,
            **changes,
            **work,
        )
    if found.left_out:
        rows = count_of(found.left_out, "row")
        click.echo(f"left out {rows} that others ask for already", err=True)
    say_written(out.path / name for name in found.files())
    click.echo(f"wrote {found.results}", err=True)
    print_result(found)
    ctx.exit(found.exit_code)


@click.command()
@click.argument("futures", type=FILE)
@number_option("--samples", 200, "How many futures to draw and plan.")
@folder_option("the results, made if needed; what was stopped carries on from there")
@number_option(
    "--plans",
    3,
    "Most purchase plans to compare in these futures, in search of the best in the bad cases; "
    "0: none.",
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
    with ProgressLine() as progress:
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
    say_written(out.path / name for name in found.files())
    print_result(found)
    ctx.exit(found.exit_code)
