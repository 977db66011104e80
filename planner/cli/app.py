"""The `planner` command with its subcommands, and what may befall them.

Whatever a user can cause ends in words on standard error and an exit code.
"""

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

from planner.cli import exchange, plans, servers, sizing
from planner.cli.common import error_pen, on_options, warnings_told, with_hint
from planner.errors import ExitCode, PlannerError
from planner.reporting.findings import render_error
from planner.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

_INTERRUPTED = threading.Event()

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
    except click.NoSuchOption as error:
        raise with_hint(error) from None
    except PlannerError as error:
        asked = planner.get_command(ctx, ctx.invoked_subcommand or "")
        told = on_options(error, asked or ctx.command)
        click.echo(render_error(told, error_pen()), err=True, nl=False)
        ctx.exit(error.exit_code)
    except (KeyboardInterrupt, Exception) as error:
        # Libraries turn an interrupt that meets them at work into errors of their own.
        if isinstance(error, Exception) and not _INTERRUPTED.is_set():
            ctx.exit(told_of(error))
        click.echo("interrupted", err=True)
        ctx.exit(ExitCode.INTERRUPTED)
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
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _abandon_stdout() -> None:
    """Keep the interpreter from trying again, loudly, to write what nobody takes."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


GROUPS: dict[str, tuple[click.Command, ...]] = {
    "Decide": (
        exchange.init,
        plans.plan,
        sizing.size,
        sizing.measure,
        plans.check,
    ),
    "Understand": (plans.explain, plans.compare, plans.replay, servers.view),
    "Ask what if": (plans.sweep, plans.sensitivity, plans.alternatives, plans.risk),
    "Hand on": (plans.report, exchange.export, servers.mcp, exchange.import_),
    "Look up": (
        sizing.rules,
        sizing.catalog,
        sizing.schema,
        sizing.doctor,
    ),
}
"""Commands by what one wants to do, in the order in which users meet them."""


class _Planner(click.Group):
    """All commands; whatever a user can cause becomes a sentence and an exit code."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """The commands in short, by group."""
        widest = max(map(len, self.commands))
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(f"{one.name:{widest}}", one.get_short_help_str(100)) for one in group]
                )

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - whatever a command returns
        """Run a command."""
        return guarded(ctx, super().invoke)


@click.group(
    cls=_Planner,
    commands=[command for group in GROUPS.values() for command in group],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=(
        "Exit codes: 0 done (a plan is proved), 2 input or usage error, 3 proved infeasible, "
        "4 not proved, 5 failed the independent check, 130 interrupted."
    ),
)
@click.version_option(__version__, prog_name="planner", message="%(prog)s %(version)s")
def planner() -> None:
    """Decide which GPU servers to buy or rent for language models, and prove why."""


def main() -> None:
    """Entry point of the `planner` script."""
    threading.excepthook = say_nothing_of_memory
    require_output()
    try:
        code = planner(prog_name="planner")
    except SystemExit as done:
        code = done.code
    except Exception as error:  # help and version are written before any command runs
        code = told_of(error)
    try:
        sys.stdout.flush()
    except OSError as error:
        code = told_of(error)
    sys.stderr.flush()
    # To take the interpreter down object by object would cost a tenth of a short run, and around a
    # solver that was given up, which may still run in a thread, it ends in an abort.
    os._exit(int(code or ExitCode.PROVED))
