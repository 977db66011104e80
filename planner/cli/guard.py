"""Turns whatever a user can cause into words on standard error and an exit code."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner.cli.screen import error_pen, warnings_told
from planner.errors import ExitCode, PlannerError
from planner.reporting.findings import render_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

__all__ = [
    "BROKEN_PIPE",
    "guarded",
    "require_output",
    "say_nothing_of_memory",
    "told_of",
]

_INTERRUPTED = threading.Event()
_AGAIN_S = 0.02

_NO_ROOM = re.compile(
    r"failed to map|cannot allocate memory|can't start new thread|without exception set",
    re.IGNORECASE,
)
"""What the linker says of a library, and Python of a thread or call, without memory for it."""

BROKEN_PIPE = 141
"""128 + SIGPIPE: what a shell reports of a program whose reader went away."""


def guarded(ctx: click.Context, action: Callable[[click.Context], Any]) -> Any:  # noqa: ANN401
    """Run an action to its last byte on standard output, without a traceback for a user."""
    try:
        with _interrupts_heeded(), warnings_told():
            result = action(ctx)
            sys.stdout.flush()
    except PlannerError as error:
        click.echo(render_error(error, error_pen()), err=True, nl=False)
        ctx.exit(error.exit_code)
    except KeyboardInterrupt:
        _say_interrupted(ctx)
    except Exception as error:
        # Libraries turn an interrupt that meets them at work into errors of their own.
        if _INTERRUPTED.is_set():
            _say_interrupted(ctx)
        ctx.exit(told_of(error))
    return result


def told_of(error: Exception) -> int:
    """Say what the system refused; the exit code. A reader that went away is told nothing.

    Raises again what the system has no part in.
    """
    if _lacks_memory(error):
        _abandon_stdout()
        click.echo("error: out of memory: no plan was made", err=True)  # a pen would take more
        return ExitCode.LIMIT
    if not isinstance(error, OSError):
        raise error
    _abandon_stdout()
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    name = f"{error.filename}: " if error.filename else ""
    click.echo(f"{error_pen().red('error:')} {name}{error.strerror or error}", err=True)
    return ExitCode.INPUT


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether memory gave out: for objects, for a library that is to be loaded, for a thread."""
    if isinstance(error, ImportError | RuntimeError | SystemError):
        return _NO_ROOM.search(str(error)) is not None
    return isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM


def say_nothing_of_memory(failed: threading.ExceptHookArgs) -> None:
    """Leave it to whoever waits for a thread to say that memory gave out in it."""
    if not _lacks_memory(failed.exc_value):
        threading.__excepthook__(failed)


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


@contextmanager
def _interrupts_heeded() -> Iterator[None]:
    """Remember that the user pressed Ctrl-C, besides raising KeyboardInterrupt for it."""

    def interrupt(signum: int, frame: FrameType | None) -> None:
        _INTERRUPTED.set()
        signal.default_int_handler(signum, frame)

    before = signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = _interrupt_again
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = sys.__unraisablehook__


def _interrupt_again(dropped: sys.UnraisableHookArgs) -> None:
    """Press Ctrl-C again where Python dropped it, as it drops whatever a destructor raises."""
    if isinstance(dropped.exc_value, KeyboardInterrupt):
        threading.Timer(_AGAIN_S, os.kill, [os.getpid(), signal.SIGINT]).start()
    else:
        sys.__unraisablehook__(dropped)


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
