"""What the terminal can show, and how results and progress get there."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

import click

from planner.errors import PlannerWarning
from planner.reporting.findings import Styler
from planner.reporting.format import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

    from rich.status import Status

    from planner import Result
    from planner.api.folder import Folder

_PIPE_WIDTH = 100
_SYMBOLS = "×–·…─ä"


def print_result(result: Result, format_: str = "terminal", *, brief: bool = False) -> None:
    """A result in the format asked for (`--format`), or what comes first of it on a terminal.

    On a terminal it is drawn for standard output as it is: wide or narrow, Unicode or not.
    """
    if format_ != "terminal":
        print_exact(result.to_json() if format_ == "json" else result.to_markdown())
        return
    colour = _colour(sys.stdout)
    unicode = _unicode(sys.stdout)
    text = result.to_text(width=page_width(), colour=colour, unicode=unicode, brief=brief)
    click.echo(text, nl=False, color=colour)


def write(result: Result, folder: Folder) -> None:
    """Write the files of a result and say so on standard error; raises InputError."""
    say_written(result.write(folder.path, overwrite=folder.overwrite))


def say_written(paths: Iterable[Path]) -> None:
    """Say on standard error which files were written."""
    click.echo(f"wrote {listed([*map(str, paths)])}", err=True)


@contextmanager
def warnings_told() -> Iterator[None]:
    """Show each warning of this package as a line on standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PlannerWarning)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:  # noqa: ANN401
            if issubclass(category, PlannerWarning):
                click.echo(f"warning: {message}", err=True)
            else:
                others(message, category, *rest, **more)

        warnings.showwarning = show
        yield


def print_exact(text: str) -> None:
    """UTF-8 as it is, for formats that other programs read."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def error_pen() -> Styler:
    """What standard error can show."""
    look = Styler(colour=_colour(sys.stderr), unicode=_unicode(sys.stderr))
    known = sys.stderr.isatty() or os.environ.get("COLUMNS")
    return replace(look, width=_width(sys.stderr)) if known else look


def page_width() -> int:
    """Cells of a line of standard output."""
    return _width(sys.stdout)


def _width(stream: TextIO) -> int:
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and int(asked) > 0:
        return min(int(asked), 1000)
    if stream.isatty():
        return shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns
    return _PIPE_WIDTH


def _colour(stream: TextIO) -> bool:
    """https://no-color.org, and no colour in a pipe."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def _unicode(stream: TextIO) -> bool:
    if os.environ.get("LC_ALL") in ("C", "POSIX"):
        return False
    try:
        _SYMBOLS.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


QUIET = "planner.quiet"
"""Under which a command keeps whether nothing is to be said."""

_SHORT_SECONDS = 1.0
"""What takes no longer shows nothing on a terminal."""
_FIRST_LINE_SECONDS, _MOST_SECONDS = 10.0, 60.0
"""Before the first line in a pipe; each pause is twice the one before, up to the most."""


class ProgressLine:
    """Call it with what is being done; it shows the latest, if there is somebody to see it."""

    def __init__(self) -> None:
        self._doing = "planning"
        self._status: Status | None = None
        self._over = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> ProgressLine:
        ctx = click.get_current_context(silent=True)
        if not (ctx and ctx.meta.get(QUIET)):
            shows = self._spin if sys.stderr.isatty() else self._write
            # A thread begins with the mask of whoever starts it, and Ctrl-C is for that one alone.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            threading.Thread(target=shows, daemon=True).start()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._over.set()
            if self._status:
                self._status.stop()

    def __call__(self, doing: str) -> None:
        """Say what is being done now."""
        with self._lock:
            self._doing = doing
            if self._status:
                self._status.update(doing)

    def _write(self) -> None:
        """A line now and then: what is being done, and for how long all has taken."""
        start, pause = time.monotonic(), _FIRST_LINE_SECONDS
        while not self._over.wait(pause):
            with self._lock:
                if not self._over.is_set():
                    took = time.monotonic() - start
                    click.echo(f"{self._doing} ({took:,.0f} s so far)", err=True)
            pause = min(2 * pause, _MOST_SECONDS)

    def _spin(self) -> None:
        if self._over.wait(_SHORT_SECONDS):
            return
        from rich.console import Console  # noqa: PLC0415 - most runs end before it is needed
        from rich.status import Status  # noqa: PLC0415

        with self._lock:
            if not self._over.is_set():
                self._status = Status(self._doing, console=Console(stderr=True))
                self._status.start()
