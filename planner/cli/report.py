"""`planner report`: the documents that leave the building."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.cli.files import plan_text, require_folder, require_none_overwritten, write_files
from planner.cli.options import FILE, effort_options
from planner.errors import Finding, InputError

if TYPE_CHECKING:
    from planner.cli.options import Effort
    from planner.plan.plan import Plan
    from planner.report.document import Document
    from planner.whatif.comparison import Comparison

__all__ = ["report"]


@click.command(short_help="Write the justification and the quarterly plan of a saved plan.")
@click.argument("plan_json", metavar="PLAN.json", type=FILE)
@click.option(
    "--out",
    type=FILE,
    metavar="DIR",
    required=True,
    help="Folder for the documents, made if needed.",
)
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
@effort_options
def report(
    plan_json: Path,
    out: Path,
    options: tuple[str, ...],
    since: Path | None,
    actuals: Path | None,
    pdf: bool,
    effort: Effort,
) -> None:
    """Write the procurement justification and the quarterly capacity plan of a saved plan.

    PLAN.json is what `planner plan SCENARIO --out DIR` has written. Every figure leads back to it;
    what no input says is a marked field. With `--since`, the steps between the two plans are
    planned, to tell which cause costs how much.
    """
    from planner.report.justification.document import (  # noqa: PLC0415 - slow to load
        justification_document,
    )
    from planner.report.quarterly import quarterly_document  # noqa: PLC0415 - likewise

    require_folder(out)
    if actuals is not None and since is None:
        raise InputError(Finding("`--actuals` stands beside the plan that `--since` names"))
    plan = _plan(plan_json)
    others = dict(map(_option, options))
    compared = _compared(plan_json, since, actuals, effort) if since else None
    files: dict[str, str | bytes] = {}
    files |= _drawn("justification", justification_document(plan, others, compared), plan.scenario)
    files |= _drawn("quarterly", quarterly_document(plan, others, compared), plan.scenario)
    if pdf:
        files |= _printed(files)
    read = [path for path in (plan_json, since, actuals) if path is not None]
    require_none_overwritten(out, files, read)
    write_files(out, files)


def _drawn(name: str, document: Document, title: str) -> dict[str, str | bytes]:
    from planner.report import markdown  # noqa: PLC0415 - slow to load
    from planner.report.excel.draw import draw as excel  # noqa: PLC0415 - likewise
    from planner.report.html.draw import draw as html  # noqa: PLC0415 - likewise

    return {
        f"{name}.html": html(document, title),
        f"{name}.xlsx": excel(document, title),
        f"{name}.md": markdown.draw(document),
    }


def _printed(files: dict[str, str | bytes]) -> dict[str, bytes]:
    from planner.report.pdf import print_page  # noqa: PLC0415 - only with `--pdf`

    pages = {name: text for name, text in files.items() if isinstance(text, str)}
    return {
        f"{name.removesuffix('.html')}.pdf": print_page(text)
        for name, text in pages.items()
        if name.endswith(".html")
    }


def _option(text: str) -> tuple[str, Plan]:
    name, equals, path = text.partition("=")
    if not (name.strip() and equals and path):
        raise InputError(
            Finding(f"`--option {text}` is not NAME=PLAN.json", hint="--option 'rent only=a.json'")
        )
    return name.strip(), _plan(Path(path))


def _plan(path: Path) -> Plan:
    """Read a plan; those of earlier versions do not say what a report must look up."""
    from planner.plan.store import loads  # noqa: PLC0415 - slow to load

    plan = loads(plan_text(path), str(path))
    if not (plan.settings and plan.node_types):
        raise InputError(
            Finding(
                "lacks the settings and node types that a report states",
                file=str(path),
                hint="make the plan again with this version of the planner",
            )
        )
    return plan


def _compared(plan_json: Path, since: Path, actuals: Path | None, effort: Effort) -> Comparison:
    from planner.cli.progress import Progress  # noqa: PLC0415 - only with `--since`
    from planner.whatif.actuals import read_actuals  # noqa: PLC0415 - likewise
    from planner.whatif.compare import compare  # noqa: PLC0415 - likewise
    from planner.whatif.sides import saved_side  # noqa: PLC0415 - likewise

    before, after = (saved_side(str(path), plan_text(path)) for path in (since, plan_json))
    came = read_actuals(actuals, (before.plan, after.plan)) if actuals else ()
    with Progress() as progress:
        return compare(before, after, partial(effort.plan, progress=progress), came)
