"""`planner init`: a first scenario, of five answers or of what other programs know."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import planner
from planner.api.folder import Folder
from planner.cli.options import FILE, NEW_FILE, force_option
from planner.cli.screen import error_pen, say_written
from planner.errors import Finding, InputError
from planner.reporting.findings import render_error
from planner.reporting.format import count_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["init"]


class _Question(NamedTuple):
    words: str
    example: str
    left_open: str
    """What an empty line means."""


_QUESTIONS = {
    "serve": _Question(
        "Which models are served, to how much traffic? (`planner catalog list models`)",
        "llama-3.1-8b 900 users, qwen2.5-32b 5 requests/s",
        "none",
    ),
    "tune": _Question("Which models are tuned, and how?", "llama-3.1-8b lora", "none"),
    "own": _Question(
        "Which servers are owned? (`planner catalog list nodes`)",
        "2 xe9680-h100",
        "none",
    ),
    "offer": _Question(
        "What may be bought, rented, or had by the hour?",
        "buy xe9680-h200 at 310000, rent xe9680-h100",
        "servers with H200 and L40S, assumed",
    ),
    "quarters": _Question("Which quarters are planned?", "2027Q1..2027Q4", "a year from the next"),
}


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
@click.option(
    "--from",
    "sources",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Jobs of a table (CSV, Excel), or servers: `kubectl get nodes -o json`, `nvidia-smi -q "
    "-x`. Repeatable.",
)
@click.option(
    "--mapping",
    type=FILE,
    metavar="FILE",
    help="What the columns of the table are called, as for `planner import`.",
)
@click.option("--sheet", metavar="NAME", help="Sheet of a workbook, if several are visible.")
@click.option("--serve", metavar="MODELS", help="Models to serve: `llama-3.1-8b 900 users, …`.")
@click.option("--tune", metavar="MODELS", help="Models to tune: `llama-3.1-8b lora, …`.")
@click.option("--own", metavar="SERVERS", help="Servers that are owned: `2 xe9680-h100, …`.")
@click.option("--offer", metavar="OFFERS", help="What may be had: `buy xe9680-h200, …`.")
@click.option("--quarters", metavar="SPAN", help="First and last quarter: `2027Q1..2027Q4`.")
@click.option("--as-of", metavar="DATE", help="Day of the plan; today if not given.")
def init(out: Path, force: bool, sources: tuple[Path, ...], **given: Any) -> None:  # noqa: ANN401
    """Write a first scenario that plans: five questions, or what other programs know.

    What an option or a file answers is not asked; an empty line leaves a question open. Answers
    may come from a pipe, a line each. Whatever nobody has said is in the scenario as an assumption,
    marked so.
    """
    folder = Folder(out.parent, force)
    read = (*sources, *filter(None, [given["mapping"]]))
    folder.require_free([out.name], read)
    try:
        made = planner.init(sources=sources, ask=_ask, **given)
    except InputError as error:
        raise InputError(*map(_at_option, error.findings)) from None
    folder.write({out.name: made.text}, read)
    say_written(folder, [out.name])
    figures = count_of(len(made.rows()), "figure")
    click.echo(f"{figures} assumed, each marked so: correct them where you know better", err=True)
    click.echo(f"next: planner plan {out}", err=True)


def _ask(name: str, mistakes: InputError | None) -> str | None:
    """What is answered on the terminal or in a pipe; None for an empty line, or for no more."""
    if mistakes is not None:
        told = InputError(*map(_at_option, mistakes.findings))
        if not sys.stdin.isatty():
            raise told
        click.echo(render_error(told, error_pen()), err=True, nl=False)
    question = _QUESTIONS[name]
    click.echo(f"{question.words} Such as:\n  {question.example}", err=True)
    click.echo(f"[Enter: {question.left_open}] ", err=True, nl=False)
    try:
        answer = sys.stdin.readline().strip()
    except UnicodeDecodeError:
        raise InputError(Finding("the answers are no text in UTF-8")) from None
    if not sys.stdin.isatty():
        click.echo(answer, err=True)
    return answer or None


def _at_option(finding: Finding) -> Finding:
    """The same mistake, at the option that answers its question."""
    named = finding.file is None and finding.path in (*_QUESTIONS, "as_of")
    option = f"--{(finding.path or '').replace('_', '-')}"
    return replace(finding, path=option) if named else finding
