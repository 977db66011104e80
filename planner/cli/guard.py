"""Turns whatever a user can cause into words on standard error and an exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from planner.cli.screen import error_pen
from planner.errors import ExitCode, PlannerError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BROKEN_PIPE", "guarded"]

BROKEN_PIPE = 141
"""128 + SIGPIPE: what a shell reports of a program whose reader went away."""


def guarded(ctx: click.Context, action: Callable[[click.Context], Any]) -> Any:  # noqa: ANN401
    """Run an action to its last byte on standard output, without a traceback for a user."""
    try:
        result = action(ctx)
        sys.stdout.flush()
    except PlannerError as error:
        from planner.report.findings import draw_error  # noqa: PLC0415 - only an error needs it

        click.echo(draw_error(error, error_pen()), err=True, nl=False)
        ctx.exit(error.exit_code)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        ctx.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        _abandon_stdout()
        ctx.exit(BROKEN_PIPE)
    except OSError as error:
        _abandon_stdout()
        name = f"{error.filename}: " if error.filename else ""
        click.echo(f"{error_pen().red('error:')} {name}{error.strerror or error}", err=True)
        ctx.exit(ExitCode.INPUT)
    return result


def _abandon_stdout() -> None:
    """Keep the interpreter from trying again, loudly, to write what nobody takes."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
