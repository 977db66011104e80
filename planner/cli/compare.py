"""`planner compare`: two plans, scenarios or variants of a scenario side by side."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

import planner
from planner.cli.options import asking, effort_options, file_option, format_choice, out_option
from planner.cli.screen import Progress, print_exact, print_result, write
from planner.errors import ExitCode, Finding, InputError
from planner.inputs.text.words import did_you_mean

if TYPE_CHECKING:
    from planner import Changes, Effort, PlanResult, Scenario
    from planner.api.folder import Folder

_FILES = ("compare.json", "compare.md", "compare.html", "waterfall.svg")


@click.command()
@click.argument("before")
@click.argument("after")
@out_option(*_FILES)
@file_option(
    "--actuals",
    says="What came, a CSV file (quarter, job or node_type, count), beside the plan of BEFORE.",
)
@click.option("--exit-code", is_flag=True, help="End with exit code 1 where anything differs.")
@effort_options
@format_choice("github")
@asking
def compare(
    before: str,
    after: str,
    out: Folder | None,
    actuals: Path | None,
    exit_code: bool,
    effort: Effort,
    format_: str,
    changes: Changes,
) -> None:
    """Show what differs between two plans: inputs first, then purchases, cost, jobs and more.

    BEFORE and AFTER are each a plan.json, a scenario, or SCENARIO:NAME for one of its overrides or
    scenarios; AFTER may be such a NAME alone. Scenarios are planned first; `--scenario` and `--set`
    apply to both sides. `--format github` prints a comment for a pull request.
    """
    sides = [_side(before, changes), _side(after, changes, beside=before)]
    if out is not None:
        read = (one for side in sides for one in side.read_from)
        out.require_free(_FILES, (*read, *filter(None, [actuals])))
    with Progress() as progress:
        found = planner.compare(
            *sides, labels=(before, after), actuals=actuals, progress=progress, **effort
        )
    if out is not None:
        write(found, out)
    if format_ == "github":
        print_exact(found.to_github())
    else:
        print_result(found, format_)
    if exit_code and not found.same:
        click.get_current_context().exit(ExitCode.DIFFERENT)


def _side(text: str, changes: Changes, *, beside: str = "") -> PlanResult | Scenario:
    """What a side is called on the command line, read."""
    path, names = _named(text, changes, beside)
    if path.suffix == ".json":
        return planner.read_plan(path, catalog=changes["catalog"], rules=changes["rules"])
    varied: Changes = {**changes, "apply": (*changes["apply"], *names)}
    return planner.load(path, **varied)


def _named(text: str, changes: Changes, beside: str) -> tuple[Path, tuple[str, ...]]:
    """File and variations of a side; a name alone is a variation of the scenario `beside` it.

    Raises InputError for what is neither.
    """
    if Path(text).exists():
        return Path(text), ()
    for place in reversed([match.start() for match in re.finditer(":", text)]):
        if Path(text[:place]).is_file():
            return Path(text[:place]), tuple(text[place + 1 :].split(","))
    if not beside:
        return Path(text), ()
    other, _ = _named(beside, changes, "")
    if other.suffix == ".json":
        return Path(text), ()
    known = planner.load(other, **changes).variations
    if not set(text.split(",")) <= set(known):
        message = f"is neither a file nor a scenario or override of {other}"
        raise InputError(Finding(message, file=text, hint=did_you_mean(text, known)))
    return other, tuple(text.split(","))
