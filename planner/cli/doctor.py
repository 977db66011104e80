"""`planner doctor`: whether the solver of this installation can be trusted."""

from __future__ import annotations

import click

import planner
from planner.cli.screen import print_result
from planner.errors import ExitCode

__all__ = ["doctor"]


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
