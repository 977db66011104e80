"""`planner plan` and `planner explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner.cli.options import SHARE, catalog_option, rules_option
from planner.cli.screen import print_document, print_exact
from planner.errors import DisagreementError, ExitCode, Finding, InputError

if TYPE_CHECKING:
    from planner.inputs.settled import Inputs
    from planner.plan.plan import Plan

__all__ = ["explain", "plan"]

_PLAN_JSON, _PLAN_MD = "plan.json", "plan.md"


@click.command(short_help="Plan a scenario: what to buy, what runs where, the proof.")
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help=f"Also write {_PLAN_JSON} and {_PLAN_MD} into this folder.",
)
@catalog_option
@rules_option
@click.option(
    "--gap",
    "asked_gap",
    type=SHARE,
    default="0.01%",
    show_default=True,
    help="Relative gap between cost and bound that counts as proved.",
)
@click.option(
    "--time-limit",
    "time_limit_s",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="When to stop looking for a better plan or bound.",
)
@click.option(
    "--crosscheck",
    is_flag=True,
    help="Ask other solvers for the bound again, each for as long as the time limit.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(("terminal", "json", "markdown")),
    default="terminal",
    show_default=True,
    help="What to print on standard output.",
)
@click.pass_context
def plan(
    ctx: click.Context,
    /,
    scenario: Path,
    out: Path | None,
    catalog: tuple[Path, ...],
    rules: tuple[Path, ...],
    format_: str,
    **how: Any,  # noqa: ANN401 - click's values
) -> None:
    """Plan a scenario: what to buy or rent when, what runs where, what it costs, and the proof.

    Exit code 0: proved within the asked gap. 4: a limit was hit, the plan says how far it may be
    from the best. 3: no plan exists, with the reasons. 5: the plan failed its check, or another
    solver refutes the proof; then no plan is shown.
    """
    from planner.cli.progress import Progress  # noqa: PLC0415
    from planner.inputs.load import load_inputs  # noqa: PLC0415
    from planner.plan.make import make_plan  # noqa: PLC0415

    if out is not None:
        _require_folder(out)
    inputs = load_inputs(scenario, catalog=catalog, rules=rules)
    if out is not None:
        _require_no_input_overwritten(out, scenario, inputs, (*catalog, *rules))
    try:
        with Progress() as progress:
            made = make_plan(inputs, progress=progress, **how)
    except DisagreementError as error:
        _write_files(out or Path(), error.files)
        raise
    if out is not None:
        _write(made, out)
    _print(made, format_)
    if made.proof.status != "proved":
        ctx.exit(ExitCode.LIMIT)


def _require_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise InputError(Finding("is a file, `--out` takes a folder", file=str(out)))


def _require_no_input_overwritten(
    out: Path, scenario: Path, inputs: Inputs, user_files: tuple[Path, ...]
) -> None:
    used = inputs.scenario.use
    beside = (scenario.parent / name for name in (*used.catalog, *used.rules))
    read = {path.resolve() for path in (scenario, *user_files, *beside)}
    for name in (_PLAN_JSON, _PLAN_MD):
        if (out / name).resolve() in read:
            raise InputError(
                Finding(
                    "is an input of this plan and would be overwritten",
                    file=str(out / name),
                    hint="choose another folder for `--out`",
                )
            )


def _write(made: Plan, out: Path) -> None:
    from planner.plan.store import dumps  # noqa: PLC0415

    _write_files(out, {_PLAN_JSON: dumps(made), _PLAN_MD: _markdown(made)})


def _write_files(out: Path, files: dict[str, str]) -> None:
    from planner.plan.store import write_atomically  # noqa: PLC0415

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(Finding(f"cannot be made: {error.strerror}", file=str(out))) from None
    for name, text in files.items():
        write_atomically(out / name, text)
    click.echo(f"wrote {' and '.join(str(out / name) for name in files)}", err=True)


def _print(made: Plan, format_: str) -> None:
    if format_ == "json":
        from planner.plan.store import dumps  # noqa: PLC0415

        print_exact(dumps(made))
    elif format_ == "markdown":
        print_exact(_markdown(made))
    else:
        from planner.report.plan import SCREEN, plan_document  # noqa: PLC0415

        print_document(plan_document(made, SCREEN))


def _markdown(made: Plan) -> str:
    from planner.report.markdown import draw  # noqa: PLC0415
    from planner.report.plan import FULL, plan_document  # noqa: PLC0415

    return draw(plan_document(made, FULL))


@click.command(short_help="Say why a job of a saved plan runs where it runs.")
@click.argument("plan_json", metavar="PLAN.json", type=click.Path(path_type=Path))
@click.argument("job")
def explain(plan_json: Path, job: str) -> None:
    """Say why a job of a saved plan runs where it runs, every number with formula and source.

    PLAN.json is what `planner plan SCENARIO --out DIR` has written; nothing else is read.
    """
    from planner.plan.explain import explain as explained  # noqa: PLC0415
    from planner.plan.store import loads  # noqa: PLC0415
    from planner.report.explain import explanation_document  # noqa: PLC0415

    told = explained(loads(_text(plan_json), str(plan_json)), job)
    print_document(explanation_document(told))


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise InputError(Finding("is not an ordinary file, a plan.json is needed", file=str(path)))
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(Finding("is not a plan: it is not UTF-8 text", file=str(path))) from None
    except OSError as error:
        raise InputError(Finding(f"cannot be read: {error.strerror}", file=str(path))) from None
