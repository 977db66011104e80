"""What standard output and standard error can show, and how documents get there."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.reporting.document import Document
    from planner.reporting.findings import Pen

__all__ = ["error_pen", "page_width", "print_as", "print_document", "print_exact"]

_PIPE_WIDTH = 100
_SYMBOLS = "×–·…─ä"


def print_document(document: Document) -> None:
    """Draw for standard output, as it is: terminal or pipe, wide or narrow, Unicode or not."""
    from planner.reporting.terminal import Look, draw  # noqa: PLC0415 - rich is slow to load

    look = Look(width=page_width(), colour=_colour(sys.stdout), unicode=_unicode(sys.stdout))
    click.echo(draw(document, look), nl=False, color=look.colour)


def print_as(
    format_: str, document: Document, json: Callable[[], str], markdown: Callable[[], str]
) -> None:
    """A result in the format asked for (`--format`); `document` is for the terminal."""
    if format_ == "terminal":
        print_document(document)
    else:
        print_exact(json() if format_ == "json" else markdown())


def print_exact(text: str) -> None:
    """UTF-8 as it is, for formats that other programs read."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def error_pen() -> Pen:
    """What standard error can show."""
    from planner.reporting.findings import Pen  # noqa: PLC0415 - only an error needs it

    return Pen(colour=_colour(sys.stderr), unicode=_unicode(sys.stderr))


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
