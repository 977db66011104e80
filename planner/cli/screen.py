"""What standard output and standard error can show, and how documents get there."""

from __future__ import annotations

import os
import shutil
import sys
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

    from planner import Result
    from planner.api.folder import Folder

__all__ = [
    "error_pen",
    "page_width",
    "print_exact",
    "print_result",
    "say_written",
    "warnings_told",
    "write",
]

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
    result.write(folder.path, overwrite=folder.overwrite)
    say_written(folder, result.files())


def say_written(folder: Folder, names: Iterable[str]) -> None:
    """Say on standard error which files were written."""
    click.echo(f"wrote {listed([str(folder.path / name) for name in names])}", err=True)


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
