"""`planner report`: the documents that leave the building."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.cli.beside import ALTERNATIVES, SENSITIVITY, options_ahead, results_beside
from planner.cli.compare import COMPARISON, comparison_json
from planner.cli.files import plan_text
from planner.cli.options import FILE, folder_option
from planner.cli.saved import saved_plan
from planner.cli.staff import jobs_options
from planner.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.cli.beside import WhatIf
    from planner.cli.files import Target
    from planner.cli.options import Effort
    from planner.cli.staff import Staff
    from planner.planning.saved import Saved
    from planner.whatif.comparison.comparison import Comparison

__all__ = ["report"]

_DOCUMENTS = ("justification", "quarterly")
_KINDS = ("html", "xlsx", "md")


@click.command(short_help="Write the justification and the quarterly plan of a saved plan.")
@click.argument("plan_json", metavar="PLAN.json", type=FILE)
@folder_option("the documents, made if needed")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=PLAN.json",
    help="Another plan to show beside this one, such as `rent only=out/plan.json`. Repeatable.",
)
@click.option("--since", type=FILE, metavar="LAST.json", help="Say what changed since this plan.")
@click.option(
    "--actuals",
    type=FILE,
    metavar="FILE",
    help="With --since: what came of that plan, a CSV file (quarter, job or node_type, count).",
)
@click.option("--pdf", is_flag=True, help="Also print both to PDF; needs the extra `pdf`.")
@click.option(
    "--what-if",
    "wanted",
    type=click.Choice(("none", "options", "all")),
    default="options",
    show_default=True,
    help="What to plan where no results of `alternatives` and `sensitivity` lie beside PLAN.json.",
)
@jobs_options
def report(
    plan_json: Path,
    *,
    out: Target,
    options: tuple[str, ...],
    since: Path | None,
    actuals: Path | None,
    pdf: bool,
    wanted: WhatIf,
    staff: Staff,
) -> None:
    """Write the procurement justification and the quarterly capacity plan of a saved plan.

    PLAN.json is what `planner plan SCENARIO --out DIR` has written. Every figure leads back to it;
    what no input says is a marked field. Do nothing, reclaim first and rent only are planned beside
    it, once; `--what-if all` also plans every other alternative and the sensitivity. With
    `--since`, the steps between the two plans are planned, to tell which cause costs how much.
    """
    if actuals is not None and since is None:
        raise InputError(Finding("`--actuals` stands beside the plan that `--since` names"))
    asked = _asked(options)
    kinds = (*_KINDS, "pdf") if pdf else _KINDS
    names = [f"{name}.{kind}" for name in _DOCUMENTS for kind in kinds]
    names += [COMPARISON] if since else []
    read = tuple(filter(None, (plan_json, since, actuals, *asked.values())))
    out.require_free(names, read)
    print_page = _printer() if pdf else None
    text = plan_text(plan_json)
    with options_ahead(text, plan_json, out, wanted, staff) as ahead:
        saved = saved_plan(plan_json, text)
        plan = saved.plan
        others = {name: saved_plan(path).plan for name, path in asked.items()}
        compared = _compared(saved, since, actuals, staff.effort) if since else None
        from planner.cli.documents import drawn  # noqa: PLC0415 - slow to load

        found, moved = results_beside(plan, plan_json, out, wanted, staff, ahead, read=read)
    from planner.planning.saved import sound  # noqa: PLC0415 - slow to load
    from planner.reporting.again import command_for  # noqa: PLC0415 - slow to load
    from planner.reporting.justification.beside import Beside  # noqa: PLC0415 - likewise
    from planner.whatif.kept import dumps  # noqa: PLC0415 - likewise

    beside = Beside(others, found, moved, compared, saved.told("this plan", gone=False))
    with sound(str(plan_json)):
        files = drawn(plan, beside, together=staff.jobs > 1)
    if print_page:
        files |= _printed(files, print_page)
    if found:
        files[ALTERNATIVES] = dumps(found)
    if moved:
        files[SENSITIVITY] = dumps(moved)
    if compared:
        files[COMPARISON] = comparison_json(compared)
    out.write(files)
    if moved is None:
        command = command_for("sensitivity", plan, str(plan_json.parent))
        click.echo(
            f"hint: where the recommendation turns is left open; `{command}` finds out, for the "
            "next report",
            err=True,
        )


def _printer() -> Callable[[str], bytes]:
    from planner.reporting.pdf import printer  # noqa: PLC0415 - only with `--pdf`

    return printer()


def _printed(files: dict[str, str | bytes], print_page: Callable[[str], bytes]) -> dict[str, bytes]:
    pages = {name: text for name, text in files.items() if isinstance(text, str)}
    return {
        f"{name.removesuffix('.html')}.pdf": print_page(text)
        for name, text in pages.items()
        if name.endswith(".html")
    }


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


def _compared(saved: Saved, since: Path, actuals: Path | None, effort: Effort) -> Comparison:
    from planner.cli.progress import Progress  # noqa: PLC0415 - only with `--since`
    from planner.whatif.comparison.actuals import read_actuals  # noqa: PLC0415 - likewise
    from planner.whatif.comparison.compare import compare  # noqa: PLC0415 - likewise
    from planner.whatif.comparison.sides import saved_side  # noqa: PLC0415 - likewise

    before, after = saved_side(saved_plan(since)), saved_side(saved)
    came = read_actuals(actuals, (before.plan, after.plan)) if actuals else ()
    with Progress() as progress:
        return compare(before, after, partial(effort.plan, progress=progress), came)
