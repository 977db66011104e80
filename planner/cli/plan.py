"""`planner plan` and `planner explain`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.cli.files import Target, plan_text
from planner.cli.options import FILE, NEW_FILE, asking, effort_options, format_option, out_option
from planner.cli.saved import saved_plan, warn
from planner.cli.screen import page_width, print_as, print_document
from planner.errors import DisagreementError, ExitCode

if TYPE_CHECKING:
    from planner.cli.options import Asked, Effort
    from planner.packing.found import Found
    from planner.packing.statement.translate import Translation
    from planner.planning.plan import Plan

__all__ = ["explain", "plan"]

_PLAN_JSON, _PLAN_MD = "plan.json", "plan.md"
_DISAGREEMENT = ("disagreement.json", "disagreement.mps")
"""What `--crosscheck` writes where another solver refutes the proof."""


@click.command(short_help="Plan a scenario: what to buy, what runs where, the proof.")
@click.argument("scenario", type=FILE)
@out_option(_PLAN_JSON, _PLAN_MD)
@click.option(
    "--from",
    "from_",
    type=FILE,
    metavar="PLAN.json",
    help="An earlier plan: what it has in the quarter before this horizon runs today.",
)
@asking
@effort_options
@click.option(
    "--crosscheck",
    is_flag=True,
    help="Ask other solvers for the bound again, each for as long as the time limit.",
)
@click.option(
    "--write-lp",
    "lp",
    type=NEW_FILE,
    metavar="FILE.lp",
    help="Also write the integer program, for any solver: its least value is the bound.",
)
@format_option
@click.pass_context
def plan(  # noqa: PLR0913, PLR0917 - click's options
    ctx: click.Context,
    scenario: Path,
    out: Target | None,
    from_: Path | None,
    asked: Asked,
    effort: Effort,
    crosscheck: bool,
    lp: Path | None,
    format_: str,
) -> None:
    """Plan a scenario: what to buy or rent when, what runs where, what it costs, and the proof.

    Exit code 0: proved within the asked gap. 4: a limit was hit, the plan says how far it may be
    from the best. 3: no plan exists, with the reasons. 5: the plan failed its check, or another
    solver refutes the proof; then no plan is shown.
    """
    from planner.cli.progress import Progress  # noqa: PLC0415
    from planner.planning.store import dumps  # noqa: PLC0415

    inputs = asked.inputs(scenario)
    if from_ is not None:
        from planner.planning.rolling_horizon import carried_over  # noqa: PLC0415

        inputs = carried_over(inputs, plan_text(from_), from_, warn)
    target = out or Target(Path(), force=False)
    plans = (_PLAN_JSON, _PLAN_MD) if out else ()
    target.require_free((*plans, *(_DISAGREEMENT if crosscheck else ())), inputs.read_from)
    program = lp and Target(lp.parent, force=ctx.params["force"])
    if lp and program:
        program.require_free((lp.name,), inputs.read_from)
    searched: list[tuple[Translation, Found]] = []
    try:
        with Progress() as progress:
            made = effort.plan(
                inputs, progress, crosscheck=crosscheck, watch=lambda *one: searched.append(one)
            )
    except DisagreementError as error:
        target.write(error.files)
        raise
    if out is not None:
        out.write({_PLAN_JSON: dumps(made), _PLAN_MD: _markdown(made)})
    if lp and program:
        from planner.packing.written import written_program  # noqa: PLC0415 - seldom asked for

        program.write({lp.name: written_program(*searched[-1])})
    _print(made, format_)
    if made.proof.status != "proved":
        ctx.exit(ExitCode.LIMIT)


def _print(made: Plan, format_: str) -> None:
    from planner.planning.store import dumps  # noqa: PLC0415
    from planner.reporting.plan import SCREEN, plan_document  # noqa: PLC0415

    page = min(SCREEN.page, page_width())
    document = plan_document(made, replace(SCREEN, page=page))
    print_as(format_, document, lambda: dumps(made), lambda: _markdown(made))


def _markdown(made: Plan) -> str:
    from planner.reporting.markdown import draw  # noqa: PLC0415
    from planner.reporting.plan import FULL, plan_document  # noqa: PLC0415

    return draw(plan_document(made, FULL))


@click.command(short_help="Say why a job of a saved plan runs where it runs.")
@click.argument("plan_json", metavar="PLAN.json", type=FILE)
@click.argument("job")
def explain(plan_json: Path, job: str) -> None:
    """Say why a job of a saved plan runs where it runs, every number with formula and source.

    PLAN.json is what `planner plan SCENARIO --out DIR` has written; it is checked against the
    inputs that it names first.
    """
    from planner.planning.explain import explain as explained  # noqa: PLC0415
    from planner.planning.saved import sound  # noqa: PLC0415
    from planner.reporting.explain import explanation_document  # noqa: PLC0415

    saved = saved_plan(plan_json)
    with sound(str(plan_json)):
        document = explanation_document(explained(saved.plan, job))
    print_document(document)
