"""`planner check`, `plan`, `explain` and `replay`: a question, its answer, why, and once more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import planner
from planner.api.folder import Folder
from planner.cli.options import (
    FILE,
    NEW_FILE,
    asking,
    effort_options,
    file_option,
    format_option,
    out_option,
    quiet_option,
)
from planner.cli.screen import Progress, page_width, print_exact, print_result, say_written, write
from planner.errors import ExitCode, InputError

if TYPE_CHECKING:
    from planner import Changes, Effort
    from planner.errors import Finding

_FILES = ("plan.json", "plan.md")
_MORE = "All of it, with schedule, use, assumptions, sources and proof"
_DISAGREEMENT = ("disagreement.json", "disagreement.mps")
"""What `--crosscheck` writes where another solver refutes the proof."""


@click.command()
@click.argument("scenario", type=FILE)
@out_option(*_FILES)
@file_option(
    "--from",
    "from_",
    metavar="PLAN.json",
    says="An earlier plan: what it ran in the quarter before this horizon runs today.",
)
@asking
@effort_options
@click.option(
    "--crosscheck",
    is_flag=True,
    help="Ask other solvers for the bound, too, each for as long as the time limit.",
)
@click.option(
    "--write-lp",
    "lp",
    type=NEW_FILE,
    metavar="FILE.lp",
    help="Also write the integer program; its least value is the bound.",
)
@click.option(
    "--full",
    is_flag=True,
    help="Print all of the plan: schedule, use, sites, teams, assumptions, sources and proof.",
)
@format_option
@click.pass_context
def plan(  # noqa: PLR0913, PLR0917 - click's options
    ctx: click.Context,
    scenario: Path,
    out: Folder | None,
    from_: Path | None,
    changes: Changes,
    effort: Effort,
    crosscheck: bool,
    lp: Path | None,
    full: bool,
    format_: str,
) -> None:
    """Plan a scenario: what to buy or rent when, what runs where, what it costs, and the proof.

    Exit code 0: proved within the asked gap. 3: no plan exists. 4: a limit was hit; the plan says
    how far it may be from the best. 5: the answer failed its check and is not shown.
    """
    asked = planner.load(scenario, **changes)
    read = (*asked.read_from, *filter(None, [from_]))
    folder = out or Folder(Path())
    folder.require_free(((*_FILES,) if out else ()) + (_DISAGREEMENT if crosscheck else ()), read)
    beside = lp and Folder(lp.parent, ctx.params["force"])
    if lp and beside:
        beside.require_free((lp.name,), read)
    try:
        with Progress() as progress:
            made = planner.plan(
                asked,
                previous=from_,
                crosscheck=crosscheck,
                program=lp is not None,
                progress=progress,
                **effort,
            )
    except planner.DisagreementError as error:
        folder.write(error.files)
        say_written(folder, error.files)
        raise
    if out is not None:
        write(made, out)
    if lp and beside and made.program is not None:
        beside.write({lp.name: made.program})
        say_written(beside, [lp.name])
    print_result(made, format_, brief=not full)
    if format_ == "terminal" and not full:
        more = f"{_MORE}: {out.path / 'plan.md' if out else '--full'}"
        click.echo(f"\n{click.wrap_text(more, page_width())}")
    if not made.proved:
        ctx.exit(ExitCode.LIMIT)


@click.command()
@click.argument("plan_json", metavar="PLAN.json", type=FILE)
@click.argument("job", required=False)
def explain(plan_json: Path, job: str | None) -> None:
    """Say why a job of a saved plan runs where it runs, every number with formula and source.

    Without a job: all of them, with what each would cost on the next best GPU type.

    PLAN.json is what `planner plan SCENARIO --out DIR` has written; it is checked against the
    inputs that it names first.
    """
    print_result(planner.explain(plan_json, job) if job else planner.explain(plan_json))


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


@click.command()
@click.argument("scenarios", metavar="SCENARIO...", nargs=-1, required=True, type=FILE)
@asking
@click.option(
    "--resolved",
    is_flag=True,
    help="Print the whole scenario as YAML, each value with the file and line it is from.",
)
def check(scenarios: tuple[Path, ...], changes: Changes, resolved: bool) -> None:
    """Find all mistakes of scenarios at once, each with file, line, column and a hint.

    Overrides and scenarios that a file names are tried as well.
    """
    if resolved and len(scenarios) > 1:
        raise click.UsageError("--resolved prints one scenario at a time")
    mistakes: list[Finding] = []
    for path in scenarios:
        try:
            found = planner.check(path, **changes)
        except InputError as error:
            mistakes += error.findings
            continue
        if resolved:
            print_exact(found.to_yaml())
        else:
            click.echo(f"{path}: no mistakes in {'; '.join(found.summary)}")
    if mistakes:
        raise InputError(*dict.fromkeys(mistakes))
