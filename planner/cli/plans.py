"""Commands on plans: `check`, `plan`, `explain`, `replay`, `compare`, `report`, and what if.

What if are `sweep`, `sensitivity`, `alternatives` and `risk`: many plans of one scenario.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import planner
from planner.cli.common import (
    FILE,
    NEW_FILE,
    ProgressLine,
    asking,
    effort_options,
    file_option,
    finish,
    folder_option,
    format_choice,
    format_option,
    jobs_option,
    number_option,
    out_option,
    page_width,
    print_exact,
    quiet_option,
    say_written,
    share_option,
    show,
    together,
    work_options,
    write,
)
from planner.errors import ExitCode, Finding, InputError
from planner.inputs.text import did_you_mean
from planner.planning.files import Folder
from planner.reporting.format import count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner import (
        AlternativesResult,
        Changes,
        Effort,
        PlanResult,
        Result,
        Scenario,
        SensitivityResult,
        Work,
    )

_FILES = ("plan.json", "plan.md")
_MORE = "All of it, with schedule, use, assumptions, sources and proof"
_DISAGREEMENT = ("disagreement.json", "disagreement.mps")
"""What `--crosscheck` writes where another solver refutes the proof."""
_OF_COMPARISON = ("compare.json", "compare.md", "compare.html")
_OF_ALTERNATIVES = ("alternatives.json", "alternatives.md", "alternatives.html")
_OF_SENSITIVITY = ("sensitivity.json", "sensitivity.md", "sensitivity.html")

_scenario_argument = click.argument("scenario", type=FILE)
_plan_argument = click.argument("plan_json", metavar="PLAN.json", type=FILE)


@click.command()
@_scenario_argument
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
def plan(  # noqa: PLR0913, PLR0917 - click's options
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
    """Plan a scenario: what to buy or rent when, what runs where, what it costs, and the proof."""
    asked = planner.load(scenario, **changes)
    read = (*asked.read_from, *filter(None, [from_]))
    folder = out or Folder(Path())
    folder.require_free(((*_FILES,) if out else ()) + (_DISAGREEMENT if crosscheck else ()), read)
    beside = Folder(lp.parent, folder.overwrite) if lp else folder
    if lp:
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
    if lp and made.program is not None:
        say_written(beside.write({lp.name: made.program}))
    show(made, format_, out=out, brief=not full)
    if format_ == "terminal" and not full:
        more = f"{_MORE}: {out.path / 'plan.md' if out else '--full'}"
        click.echo(f"\n{click.wrap_text(more, page_width())}")
    if not made.proved:
        finish(ExitCode.LIMIT)


@click.command()
@_plan_argument
@click.argument("job", required=False)
def explain(plan_json: Path, job: str | None) -> None:
    """Say why a job of a saved plan runs where it runs, every number with formula and source.

    Without a job: all of them, with what each would cost on the next best GPU type. PLAN.json is
    what `planner plan SCENARIO --out DIR` has written.
    """
    show(planner.explain(plan_json, job) if job else planner.explain(plan_json))


@click.command()
@_plan_argument
@quiet_option
@format_option
def replay(plan_json: Path, format_: str) -> None:
    """Plan again from the files and options that a saved plan records, and compare.

    Run it in the folder where the plan was made. Exit code 0: identical, byte for byte. 1: not;
    what has changed is named. 2: plan.json was edited by hand.
    """
    with ProgressLine() as progress:
        found = planner.replay(plan_json, progress=progress)
    show(found, format_)
    if not found.identical:
        finish(ExitCode.DIFFERENT)


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
        read = [path for side in sides for path in side.read_from]
        out.require_free(_OF_COMPARISON, [*read, *filter(None, [actuals])])
    with ProgressLine() as progress:
        found = planner.compare(
            *sides, labels=(before, after), actuals=actuals, progress=progress, **effort
        )
    show(found, format_, out=out)
    if exit_code and not found.same:
        finish(ExitCode.DIFFERENT)


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
    other = _named(beside, changes, "")[0] if beside else Path("none.json")
    if other.suffix == ".json":
        return Path(text), ()
    known, names = planner.load(other, **changes).variations, tuple(text.split(","))
    if not {*names} <= {*known}:
        message = f"is neither a file nor a scenario or override of {other}"
        raise InputError(Finding(message, file=text, hint=did_you_mean(text, known)))
    return other, names


@click.command()
@_plan_argument
@folder_option("Folder for the documents, made if needed.")
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
    type=click.Choice(("none", "options", "all")),
    default="options",
    show_default=True,
    help="What to plan if PLAN.json has no results of `alternatives` and `sensitivity` beside it.",
)
@jobs_option
@effort_options
def report(
    plan_json: Path,
    *,
    out: Folder,
    options: tuple[str, ...],
    jobs: int | None,
    effort: Effort,
    **asked: Any,  # noqa: ANN401 - since, actuals, edition, pdf and what_if
) -> None:
    """Write the procurement justification and the quarterly capacity plan of a saved plan.

    Do nothing, reclaim first and rent only are planned beside it, once; `--what-if all` also plans
    every other alternative and the sensitivity.
    """
    others = dict(map(_option, options))
    if len(others) < len(options):
        raise InputError(Finding("is given to two plans", path="--option", hint="name each once"))
    kinds = ("html", "xlsx", "md", "pdf") if asked["pdf"] else ("html", "xlsx", "md")
    names = [f"{name}.{kind}" for name in ("justification", "quarterly") for kind in kinds]
    names += ["compare.json"] if asked["since"] else []
    given = (plan_json, asked["since"], asked["actuals"], *others.values())
    read = [*filter(None, given)]
    out.require_free(names, read)
    plan = planner.read_plan(plan_json)
    folders = (plan_json.parent, out.path)
    alternatives = planner.AlternativesResult.beside(plan, *folders)
    sensitivity = planner.SensitivityResult.beside(plan, *folders)
    whole = alternatives and (alternatives.whole or asked["what_if"] != "all")
    unmade = [] if whole or asked["what_if"] == "none" else ["alternatives.json"]
    unmade += ["sensitivity.json"] if asked["what_if"] == "all" and not sensitivity else []
    out.require_free(unmade, read)
    with ProgressLine() as progress:
        found = planner.report(
            plan,
            options=others,
            alternatives=alternatives,
            sensitivity=sensitivity,
            risk=planner.RiskResult.beside(plan, *folders),
            workers=jobs,
            progress=progress,
            **asked,
            **effort,
        )
    write(found, out)
    for hint in found.hints:
        click.echo(f"hint: {hint}", err=True)


def _option(text: str) -> tuple[str, Path]:
    """The name of another plan, and its file."""
    name, _, path = text.partition("=")
    if not (name.strip() and path):
        raise InputError(
            Finding(f"`--option {text}` is not NAME=PLAN.json", hint="--option 'rent only=a.json'")
        )
    return name.strip(), Path(path)


def _answer(
    question: Callable[..., AlternativesResult | SensitivityResult],
    files: Sequence[str],
    scenario: Path,
    changes: Changes,
    *,
    out: Folder | None,
    work: Work,
    format_: str,
    **asked: Any,  # noqa: ANN401 - as the question takes them
) -> None:
    """Ask of a scenario, write the files where that is wanted, print, and end."""
    loaded = planner.load(scenario, **changes)
    if out is not None:
        out.require_free(files, loaded.read_from)
    with ProgressLine() as progress:
        found = question(loaded, progress=progress, **asked, **work)
    show(found, format_, out=out)
    finish(found.exit_code)


@click.command()
@_scenario_argument
@share_option("--within", "3%", "Share by which such a plan may cost more than the cheapest.")
@out_option(*_OF_ALTERNATIVES)
@asking
@work_options
@format_option
def alternatives(**given: Any) -> None:  # noqa: ANN401 - click's values
    """Show plans that differ where people care, beside the cheapest.

    Options such as rent only, with their shortfall; and of the plans that cost little more, the one
    with the fewest node types or most headroom.
    """
    _answer(planner.alternatives, _OF_ALTERNATIVES, **given)


@click.command()
@_scenario_argument
@share_option("--swing", "20%", "Share of its value by which each figure is moved either way.")
@number_option("--weeks", 4, "Weeks by which lead times are moved either way.")
@share_option(
    "--precision", "1%", "How closely a switching value is found, as a share of the value."
)
@out_option(*_OF_SENSITIVITY)
@asking
@work_options
@format_option
def sensitivity(**given: Any) -> None:  # noqa: ANN401 - click's values
    """Show which figures the cost depends on, and at which values the recommendation changes.

    One figure at a time is moved. Where another purchase results, the value at which that happens
    is found.
    """
    _answer(planner.sensitivity, _OF_SENSITIVITY, **given)


def _kept(
    question: Callable[..., Any],
    asked: Path,
    out: Folder,
    changes: Changes,
    work: Work,
    **more: Any,  # noqa: ANN401 - as the question takes them
) -> Any:  # noqa: ANN401 - the result of the question
    """Ask what is kept in a folder as it is found, and say which files are there."""
    with ProgressLine() as progress:
        found: Result = question(
            *(asked,),
            out=out.path,
            overwrite=out.overwrite,
            progress=progress,
            **changes,
            **work,
            **more,
        )
    say_written(out.path / name for name in found.files())
    return found


_kept_options = together(asking, work_options)


@click.command()
@click.argument("grid", type=FILE)
@folder_option(
    "Folder for the results, made if needed; a sweep that was stopped carries on from there."
)
@_kept_options
def sweep(grid: Path, **given: Any) -> None:  # noqa: ANN401 - click's values
    """Plan many variants of a scenario, a row each.

    GRID is a file that names the scenario and what is changed. Rows that the folder has already
    are not planned again. Exit code 4: a row was not proved within the limits.
    """
    found = _kept(planner.sweep, grid, **given)
    if found.left_out:
        rows = count_of(found.left_out, "row")
        click.echo(f"left out {rows} that others ask for already", err=True)
    click.echo(f"wrote {found.results}", err=True)
    show(found)
    finish(found.exit_code)


@click.command()
@click.argument("futures", type=FILE)
@number_option("--samples", 200, "How many futures to draw and plan.")
@folder_option("Folder for the results, made if needed; what was stopped carries on from there.")
@_kept_options
def risk(futures: Path, **given: Any) -> None:  # noqa: ANN401 - click's values
    """Plan many futures: costs by percentile, and the chance that the plan falls short.

    FUTURES is a file that names the scenario and what is uncertain about it, each as a least, most
    likely and greatest value.
    """
    found = _kept(planner.risk, futures, **given)
    show(found)
    finish(found.exit_code)
