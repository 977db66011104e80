"""`planner report`: the documents that leave the building."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.cli.files import plan_text, require_folder, write_files
from planner.errors import Finding, InputError

if TYPE_CHECKING:
    from planner.plan.plan import Plan

__all__ = ["report"]


@click.command(short_help="Write the procurement justification of a saved plan.")
@click.argument("plan_json", metavar="PLAN.json", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    required=True,
    help="Folder for the documents, made if needed.",
)
def report(plan_json: Path, out: Path) -> None:
    """Write the procurement justification of a saved plan, as HTML, Excel and Markdown.

    PLAN.json is what `planner plan SCENARIO --out DIR` has written; nothing else is read. Every
    figure leads back to plan.json; what no input says is a marked field.
    """
    from planner.plan.store import loads  # noqa: PLC0415 - slow to load
    from planner.report import markdown  # noqa: PLC0415 - likewise
    from planner.report.excel.draw import draw as excel  # noqa: PLC0415 - likewise
    from planner.report.html.draw import draw as html  # noqa: PLC0415 - likewise
    from planner.report.justification.document import justification_document  # noqa: PLC0415

    require_folder(out)
    plan = loads(plan_text(plan_json), str(plan_json))
    _require_facts(plan, plan_json)
    document, title = justification_document(plan), f"Justification: {plan.scenario}"
    write_files(
        out,
        {
            "justification.html": html(document, title),
            "justification.xlsx": excel(document, title),
            "justification.md": markdown.draw(document),
        },
    )


def _require_facts(plan: Plan, plan_json: Path) -> None:
    """Plans of earlier versions do not say what a report must look up."""
    if not (plan.settings and plan.node_types):
        raise InputError(
            Finding(
                "lacks the settings and node types that a report states",
                file=str(plan_json),
                hint="make the plan again with this version of the planner",
            )
        )
