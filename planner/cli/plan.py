"""`planner check`, `plan`, `explain`, `replay`, `compare` and `report`: one plan, or two."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

import planner
from planner.api.folder import Folder
from planner.cli.options import (
    FILE,
    NEW_FILE,
    asking,
    effort_options,
    file_option,
    folder_option,
    format_choice,
    format_option,
    jobs_option,
    out_option,
    quiet_option,
)
from planner.cli.screen import (
    ProgressLine,
    page_width,
    print_exact,
    print_result,
    say_written,
    write,
)
from planner.errors import ExitCode, Finding, InputError
from planner.inputs.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner import Changes, Effort, PlanResult, Scenario

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
    help="Also ask other solvers for the bound, each for up to the time limit.",
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
    help="Print the whole plan: schedule, use, sites, teams, assumptions, sources and proof.",
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
        with ProgressLine() as progress:
            made = planner.plan(
                asked,
                previous=from_,
                crosscheck=crosscheck,
                program=lp is not None,
                progress=progress,
                **effort,
            )
    except planner.DisagreementError as error:
        say_written(folder.write(error.files))
        raise
    if out is not None:
        write(made, out)
    if lp and beside and made.program is not None:
        say_written(beside.write({lp.name: made.program}))
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
@quiet_option
@format_option
@click.pass_context
def replay(ctx: click.Context, plan_json: Path, format_: str) -> None:
    """Plan again from the files and options that a saved plan records, and compare.

    Its files are looked for from the current folder: replay a plan where it was made.
    Exit code 0: identical, byte for byte. 1: not; each input file, version and figure that has
    changed is named. A plan.json that was edited by hand is refused with 2.
    """
    with ProgressLine() as progress:
        found = planner.replay(plan_json, progress=progress)
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


_OF_COMPARISON = ("compare.json", "compare.md", "compare.html", "waterfall.svg")


@click.command()
@click.argument("before")
@click.argument("after")
@out_option(*_OF_COMPARISON)
@file_option(
    "--actuals",
    says="A CSV file (quarter, job or node_type, count) of what came of the plan BEFORE.",
)
@click.option("--exit-code", is_flag=True, help="Exit with code 1 if anything differs.")
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
        out.require_free(_OF_COMPARISON, (*read, *filter(None, [actuals])))
    with ProgressLine() as progress:
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
    alternatives = planner.AlternativesResult.beside(plan, *folders)
    sensitivity = planner.SensitivityResult.beside(plan, *folders)
    risk = planner.RiskResult.beside(plan, *folders)
    kept: dict[str, str] = {}
    if alternatives and (alternatives.whole or wanted != "all"):
        kept[_ALTERNATIVES] = alternatives.to_json()
    if sensitivity:
        kept[_SENSITIVITY] = sensitivity.to_json()
    unmade = [name for name in _MADE[wanted] if name not in kept]
    out.require_free((*out.changed(kept), *unmade), read)
    with ProgressLine() as progress:
        made = planner.report(
            plan,
            options=asked,
            since=since,
            actuals=actuals,
            alternatives=alternatives,
            sensitivity=sensitivity,
            risk=risk,
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
