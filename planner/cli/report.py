"""`planner report`: the documents that leave the building."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

import planner
from planner.cli.options import FILE, effort_options, file_option, folder_option, jobs_option
from planner.cli.screen import ProgressLine, write
from planner.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner import Effort
    from planner.api.folder import Folder

_DOCUMENTS = ("justification", "quarterly")
_KINDS = ("html", "xlsx", "md")
_ALTERNATIVES, _SENSITIVITY = "alternatives.json", "sensitivity.json"
_MADE: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "options": (_ALTERNATIVES,),
    "all": (_ALTERNATIVES, _SENSITIVITY),
}
"""What is planned where it is not there yet."""


@click.command()
@click.argument("plan_json", metavar="PLAN.json", type=FILE)
@folder_option("the documents, made if needed")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=PLAN.json",
    help="Another plan to show beside this one, such as `rent only=out/plan.json`. Repeatable.",
)
@file_option(
    "--since", metavar="LAST.json", says="An earlier plan: the documents say what changed since."
)
@file_option(
    "--actuals",
    says="With --since: a CSV file (quarter, job or node_type, count) of what came of that plan.",
)
@click.option(
    "--edition",
    type=click.Choice(("short", "full")),
    default="full",
    show_default=True,
    help="`short`: about six pages on paper; `full`: every table behind them.",
)
@click.option("--pdf", is_flag=True, help="Also print both to PDF; needs the extra `pdf`.")
@click.option(
    "--what-if",
    "wanted",
    type=click.Choice(("none", "options", "all")),
    default="options",
    show_default=True,
    help="What to plan if PLAN.json has no results of `alternatives` and `sensitivity` beside it.",
)
@jobs_option
@effort_options
def report(  # noqa: PLR0913 - click's options
    plan_json: Path,
    *,
    out: Folder,
    options: tuple[str, ...],
    since: Path | None,
    actuals: Path | None,
    edition: Literal["short", "full"],
    pdf: bool,
    wanted: Literal["none", "options", "all"],
    jobs: int | None,
    effort: Effort,
) -> None:
    """Write the procurement justification and the quarterly capacity plan of a saved plan.

    PLAN.json is what `planner plan SCENARIO --out DIR` has written; every figure leads back to it.
    The first page is alone enough to decide. Do nothing, reclaim first and rent only are planned
    beside it, once; `--what-if all` also plans every other alternative and the sensitivity. What
    `planner risk` wrote into the same folder is told as well.
    """
    asked = _asked(options)
    kinds = (*_KINDS, "pdf") if pdf else _KINDS
    names = [f"{name}.{kind}" for name in _DOCUMENTS for kind in kinds]
    names += ["compare.json"] if since else []
    read = tuple(filter(None, (plan_json, since, actuals, *asked.values())))
    out.require_free(names, read)
    plan = planner.read_plan(plan_json)
    folders = (plan_json.parent, out.path)
    found = planner.AlternativesResult.beside(plan, *folders)
    moved = planner.SensitivityResult.beside(plan, *folders)
    drawn = planner.RiskResult.beside(plan, *folders)
    kept = {_ALTERNATIVES: found.to_json()} if found and (found.whole or wanted != "all") else {}
    kept |= {_SENSITIVITY: moved.to_json()} if moved else {}
    unmade = [name for name in _MADE[wanted] if name not in kept]
    out.require_free((*out.changed(kept), *unmade), read)
    with ProgressLine() as progress:
        made = planner.report(
            plan,
            options=asked,
            since=since,
            actuals=actuals,
            alternatives=found,
            sensitivity=moved,
            risk=drawn,
            what_if=wanted,
            edition=edition,
            pdf=pdf,
            workers=jobs,
            progress=progress,
            **effort,
        )
    write(made, out)
    for hint in made.hints:
        click.echo(f"hint: {hint}", err=True)


def _asked(options: tuple[str, ...]) -> dict[str, Path]:
    """Other plans by name."""
    asked: dict[str, Path] = {}
    for name, path in map(_option, options):
        if name in asked:
            raise InputError(Finding(f"`--option {name}=…` is there twice: {asked[name]}, {path}"))
        asked[name] = path
    return asked


def _option(text: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if not (name.strip() and equals and path):
        raise InputError(
            Finding(f"`--option {text}` is not NAME=PLAN.json", hint="--option 'rent only=a.json'")
        )
    return name.strip(), Path(path)
