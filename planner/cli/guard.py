"""Turns whatever a user can cause into words on standard error and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from planner.cli.screen import error_pen
from planner.errors import ExitCode, PlannerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

__all__ = [
    "BROKEN_PIPE",
    "guarded",
    "heed_interrupts",
    "interrupts_held",
    "require_output",
    "told_of",
]

_INTERRUPTED = Event()

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
        _say_interrupted(ctx)
    except MemoryError:
        click.echo(f"{error_pen().red('error:')} out of memory: no plan was made", err=True)
        ctx.exit(ExitCode.LIMIT)
    except OSError as error:
        ctx.exit(told_of(error))
    except Exception:
        # Libraries turn an interrupt that meets them at work into errors of their own.
        if not _INTERRUPTED.is_set():
            raise
        _say_interrupted(ctx)
    return result


def told_of(error: OSError) -> int:
    """Say what the system refused; the exit code. A reader that went away is told nothing."""
    _abandon_stdout()
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    name = f"{error.filename}: " if error.filename else ""
    click.echo(f"{error_pen().red('error:')} {name}{error.strerror or error}", err=True)
    return ExitCode.INPUT


def require_output() -> None:
    """End at once where standard output is closed: what is found would reach nobody.

    Closed streams get a stand-in first, so that no file that is written later takes their number.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the least number that is free
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end
    if sys.stdout is None:
        words = "standard output is closed; if nobody reads it, redirect it to /dev/null"
        click.echo(f"{error_pen().red('error:')} {words}", err=True)
        sys.exit(ExitCode.INPUT)


def heed_interrupts() -> None:
    """Remember that the user pressed Ctrl-C, besides raising KeyboardInterrupt for it."""

    def interrupt(signum: int, frame: FrameType | None) -> None:
        _INTERRUPTED.set()
        signal.default_int_handler(signum, frame)

    signal.signal(signal.SIGINT, interrupt)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Do what is short and must be whole, then heed the Ctrl-C that came meanwhile."""

    def remember(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler's own
        _INTERRUPTED.set()

    heeding = signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heeding)
    if _INTERRUPTED.is_set():
        raise KeyboardInterrupt


def _say_interrupted(ctx: click.Context) -> None:
    click.echo("interrupted", err=True)
    ctx.exit(ExitCode.INTERRUPTED)


def _abandon_stdout() -> None:
    """Keep the interpreter from trying again, loudly, to write what nobody takes."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
