"""`planner check`, `schema` and `doctor`: what may be written, and whether the solver is sound."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

import planner
from planner.cli.options import FILE, asking
from planner.cli.screen import print_exact, print_result
from planner.errors import ExitCode, InputError

if TYPE_CHECKING:
    from pathlib import Path

    from planner import Changes
    from planner.errors import Finding

__all__ = ["check", "doctor", "schema"]


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
def schema() -> None:
    """Print the JSON Schema of a scenario, for editors that complete and check YAML."""
    print_exact(json.dumps(planner.schema(), indent=2, ensure_ascii=False) + "\n")


@click.command()
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Put small programs on which released solvers have lied to the solver installed here.

    Exit code 0: every answer of the solver that plans rest on is right. 5: one is wrong.
    """
    found = planner.doctor()
    print_result(found)
    if found.failed:
        ctx.exit(ExitCode.UNVERIFIED)
