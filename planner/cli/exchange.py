"""`planner init`, `import` and `export`: files of other tools, in and out."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import click

import planner
from planner.cli.common import (
    FILE,
    NEW_FILE,
    asking,
    error_pen,
    file_option,
    folder_option,
    force_option,
    on_options,
    print_exact,
    say_written,
    write,
)
from planner.errors import Finding, InputError
from planner.planning.files import Folder
from planner.reporting.findings import render_error
from planner.reporting.format import count_of

if TYPE_CHECKING:
    from pathlib import Path

    from planner import Changes, ExportResult


_QUESTIONS = {
    "serve": (
        "Which models are served, to how much traffic? (`planner catalog list models`)",
        "llama-3.1-8b 900 users, qwen2.5-32b 5 requests/s",
        "none",
    ),
    "tune": ("Which models are tuned, and how?", "llama-3.1-8b lora", "none"),
    "own": ("Which servers are owned? (`planner catalog list nodes`)", "2 xe9680-h100", "none"),
    "offer": (
        "What may be bought, rented, or had by the hour?",
        "buy xe9680-h200 at 310000, rent xe9680-h100",
        "servers with H200 and L40S, assumed",
    ),
    "quarters": ("Which quarters are planned?", "2027Q1..2027Q4", "a year from the next"),
}
"""Each with an example, and what an empty line means."""


@click.command()
@click.option(
    "--out",
    type=NEW_FILE,
    metavar="FILE",
    default="scenario.yaml",
    show_default=True,
    help="The scenario to write.",
)
@force_option
@file_option(
    "--from",
    "sources",
    multiple=True,
    says="Jobs of a table (CSV, Excel), or servers: `kubectl get nodes -o json`, `nvidia-smi -q "
    "-x`. Repeatable.",
)
@file_option(
    "--mapping", says="A YAML file that names the columns of the table, as for `planner import`."
)
@click.option("--sheet", metavar="NAME", help="Sheet of a workbook, if several are visible.")
@click.option("--serve", metavar="MODELS", help="Models to serve: `llama-3.1-8b 900 users, …`.")
@click.option("--tune", metavar="MODELS", help="Models to tune: `llama-3.1-8b lora, …`.")
@click.option("--own", metavar="SERVERS", help="Servers that you own: `2 xe9680-h100, …`.")
@click.option("--offer", metavar="OFFERS", help="What you may buy or rent: `buy xe9680-h200, …`.")
@click.option("--quarters", metavar="SPAN", help="First and last quarter: `2027Q1..2027Q4`.")
@click.option("--as-of", metavar="DATE", help="Day of the plan; today if not given.")
def init(out: Path, force: bool, sources: tuple[Path, ...], **given: Any) -> None:  # noqa: ANN401
    """Write a first scenario that plans: five questions, or what other programs know.

    What an option or a file answers is not asked; an empty line leaves a question open. Answers
    may come from a pipe, a line each. What nobody has said is marked as an assumption.
    """
    folder = Folder(out.parent, force)
    read = (*sources, *filter(None, [given["mapping"]]))
    folder.require_free([out.name], read)
    made = planner.init(sources=sources, ask=_ask, **given)
    say_written(folder.write({out.name: made.text}, read))
    figures = count_of(len(made.rows()), "figure")
    click.echo(f"{figures} assumed, each marked so: correct them where you know better", err=True)
    click.echo(f"next: planner plan {out}", err=True)


def _ask(name: str, mistakes: InputError | None) -> str | None:
    """What is answered on the terminal or in a pipe; None for an empty line, or for no more."""
    if mistakes is not None:
        if not sys.stdin.isatty():
            raise mistakes
        told = on_options(mistakes, click.get_current_context().command)
        click.echo(render_error(told, error_pen()), err=True, nl=False)
    words, example, left_open = _QUESTIONS[name]
    click.echo(f"{words} Such as:\n  {example}\n[Enter: {left_open}] ", err=True, nl=False)
    try:
        answer = sys.stdin.readline().strip()
    except UnicodeDecodeError:
        raise InputError(Finding("the answers are no text in UTF-8")) from None
    if not sys.stdin.isatty():
        click.echo(answer, err=True)
    return answer or None


@click.command(name="import")
@click.argument("file", type=FILE, required=False)
@click.option(
    "--out",
    type=NEW_FILE,
    metavar="FILE",
    help="Where to write: a scenario part (.yaml) of jobs, a table (.csv) of actuals.",
)
@force_option
@file_option("--mapping", says="A YAML file that renames the columns, or the jobs of a cluster.")
@click.option(
    "--sheet", metavar="NAME", help="Sheet of a workbook; its only visible one if not given."
)
@click.option(
    "--template", is_flag=True, help="Print a CSV file of example jobs to replace with yours."
)
@click.option("--full", is_flag=True, help="With --template: include every column.")
def import_(
    file: Path | None,
    out: Path | None,
    *,
    force: bool,
    mapping: Path | None,
    sheet: str | None,
    template: bool,
    full: bool,
) -> None:
    """Read jobs from a table, the load of models from traffic, or actuals from a cluster.

    Tables are CSV or Excel. Traffic is a trace of requests, or vLLM's counters as Prometheus or
    Grafana export them. Actuals come from `sacct --parsable2`, Kueue's `kubectl get workloads -o
    json`, or DCGM's gauges. Jobs become a scenario file that yours may extend, actuals a table for
    `planner compare --actuals`.
    """
    if full and not template:
        raise click.UsageError("--full goes with --template")
    if template:
        print_exact(planner.table_template(full=full))
        return
    if file is None or out is None:
        raise click.UsageError("name a file to read, and `--out FILE` to write; or `--template`")
    folder = Folder(out.parent, force)
    folder.require_free([out.name], filter(None, (file, mapping)))
    say = partial(click.echo, err=True)
    found = planner.import_table(file, mapping=mapping, sheet=sheet, progress=say)
    say_written(folder.write({out.name: found.text}))


@click.group()
def export() -> None:
    """Write what other tools read: of a saved plan for one of its quarters, or of a scenario."""


_into_folder = folder_option("Folder for the files, made if needed.")


@export.command(short_help="The jobs of a scenario as a table.")
@click.argument("scenario", type=FILE)
@_into_folder
@asking
def portfolio(scenario: Path, out: Folder, changes: Changes) -> None:
    """Write portfolio.csv: the jobs of a scenario, a row each, as `planner import` reads them."""
    _write(planner.export(scenario, "portfolio", **changes), out)


def _write(found: ExportResult, out: Folder) -> None:
    """Write files of which none is there yet."""
    out.require_free(found.files(), found.read_from)
    write(found, out)
    for hint in found.hints:
        click.echo(f"hint: {hint}", err=True)


def _of_plan(what: str, short: str, told: str) -> None:
    """Add the command that exports this of a plan."""

    @export.command(what, short_help=short, help=told)
    @click.argument("plan_json", metavar="PLAN.json", type=FILE)
    @_into_folder
    @click.option(
        "--quarter", metavar="QUARTER", help="Quarter of the plan; its first if left out."
    )
    def _(plan_json: Path, out: Folder, quarter: str | None) -> None:
        _write(planner.export(plan_json, cast("Any", what), quarter=quarter), out)


_of_plan(
    "watsonx",
    "Custom hardware specifications, and who uses which.",
    "Write a custom hardware specification for each distinct need of tuning and serving jobs.\n\n"
    "Each file is the body of `POST /v2/hardware_specifications`; used-by.csv says who uses which.",
)
_of_plan(
    "kueue",
    "Resource flavors, cluster queues and topology.",
    "Write kueue.yaml: a ResourceFlavor per node type and site, a ClusterQueue per team, Topology."
    "\n\nQuotas are what the plan gives each team, summed over the nodes of a flavor.",
)
_of_plan(
    "kubernetes",
    "Pod templates with their resources.",
    "Write pods.yaml: what the pods of each job ask for, and on which nodes they are planned.",
)
