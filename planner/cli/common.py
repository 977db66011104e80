"""What commands share: options, groups, and how results, progress and mistakes are shown."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from planner.errors import InputError, PlannerWarning
from planner.inputs.text import nearest, one_of
from planner.planning.files import Folder
from planner.reporting.findings import Styler
from planner.reporting.format import listed
from planner.version import GAP, TIME_LIMIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.status import Status

    from planner import Effort, Result, Work
    from planner.errors import Finding, PlannerError

    _Adds = Callable[[Callable[..., None]], Callable[..., None]]


class _Named(click.Path):
    """What a name stands for, there or not; an empty name stands for nothing."""

    def __init__(self, *, files: bool = True, folders: bool = True) -> None:
        super().__init__(file_okay=files, dir_okay=folders, path_type=Path)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """Read it; fails in the user's words."""
        path, what = Path(value), "file" if self.file_okay else "folder"
        fault = "" if value else "it is empty"
        if value == "-" and not (self.file_okay and self.dir_okay):
            fault = "- stands for standard output"
        elif not self.file_okay and path.exists() and not path.is_dir():
            fault = f"{path} is a file"
        elif not self.dir_okay and path.is_dir() and not fault:
            fault = f"{path} is a folder"
        if fault:
            self.fail(f"{fault}, a {what} is needed", param, ctx)
        return path


FILE = _Named()
"""To read; it may be a folder where several files are read."""
NEW_FILE = _Named(folders=False)
FOLDER = _Named(files=False)
"""To write files into."""

_SHARE = re.compile(r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?) ?(%?)")


def share(text: str) -> Decimal:
    """A share as a scenario has it, `0.0001` or `0.01%`; fails in the user's words."""
    written = _SHARE.fullmatch(text.strip())
    if written is None:
        raise click.BadParameter(f"{text!r} is not a share, write 0.0001 or 0.01%")
    return Decimal(written[1]) / (100 if written[2] else 1)


def file_option(*names: str, says: str, metavar: str = "FILE", multiple: bool = False) -> _Adds:
    """An option that names a file to read."""
    return click.option(*names, type=FILE, metavar=metavar, help=says, multiple=multiple)


def share_option(flag: str, default: str, says: str) -> _Adds:
    """An option that is a share."""
    return click.option(flag, type=share, default=default, show_default=True, help=says)


def number_option(flag: str, default: int, says: str) -> _Adds:
    """An option that is a whole number."""
    return click.option(flag, default=default, show_default=True, metavar="N", help=says)


def together(*options: _Adds) -> _Adds:
    """Several options as one."""

    def added(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return added


def _merged(
    name: str, values: tuple[str, ...], make: Callable[..., object], *options: _Adds
) -> _Adds:
    """These options, whose values are handed over as one argument, made of them."""

    def added(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_them(**given: Any) -> None:  # noqa: ANN401 - click's values
            made = make(**{value: given.pop(value) for value in values})
            command(**{name: made}, **given)

        return together(*options)(with_them)

    return added


def _names(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """`--scenario a,b --scenario c` as a, b, c."""
    names = tuple(name.strip() for text in given for name in text.split(","))
    if "" in names:
        raise click.BadParameter("a name is empty", ctx, param)
    return names


catalog_option = file_option(
    "--catalog",
    multiple=True,
    metavar="PATH",
    says="Catalog file or folder of your own; extends or replaces entries by id. Repeatable.",
)
rules_option = file_option(
    "--rules",
    multiple=True,
    metavar="PATH",
    says="Rule file or folder of your own; extends or replaces rules by id. Repeatable.",
)
asking = _merged(
    "changes",
    ("apply", "set", "catalog", "rules"),
    dict,
    click.option(
        "--scenario",
        "apply",
        multiple=True,
        metavar="NAME",
        callback=_names,
        help="Apply this scenario or override of the file; several with commas. Repeatable, in "
        "order.",
    ),
    click.option(
        "--set",
        multiple=True,
        metavar="PATH=VALUE",
        help="Set a value after all overrides: offers.buy-h200.price_usd=380000. Repeatable.",
    ),
    catalog_option,
    rules_option,
)
"""`--scenario`, `--set`, `--catalog` and `--rules`, handed over together as `changes`."""

force_option = click.option("--force", is_flag=True, help="Overwrite files that are there already.")


def _target(out: Path | None, force: bool) -> Folder | None:
    if force and out is None:
        raise click.UsageError("--force says that --out may overwrite files: give both")
    return None if out is None else Folder(out, force)


def folder_option(says: str, *, required: bool = True) -> _Adds:
    """`--out` and `--force`, handed over together as `out`: a folder, or None."""
    option = click.option("--out", type=FOLDER, metavar="DIR", required=required, help=says)
    return _merged("out", ("out", "force"), _target, option, force_option)


def out_option(*names: str) -> _Adds:
    """The same of a command that prints its result, and writes these files where asked to."""
    return folder_option(f"Also write {listed(names)} into this folder.", required=False)


_QUIET = "planner.quiet"
"""Under which a command keeps whether nothing is to be said."""


def _heed(ctx: click.Context, _: click.Parameter, given: bool) -> None:
    ctx.meta[_QUIET] = given


quiet_option = click.option(
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_heed,
    help="Print no messages about progress.",
)
"""Heeded by `ProgressLine`."""


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        message = f"{text!r} is not a number of seconds, write 60"
        raise click.BadParameter(message) from None


effort_options = _merged(
    "effort",
    ("gap", "time_limit"),
    lambda gap, time_limit: {"gap": float(gap), "time_limit_seconds": time_limit},
    share_option(
        "--gap", f"{GAP:.2%}", "Relative gap between cost and bound that counts as proved."
    ),
    click.option(
        "--time-limit",
        type=_seconds,
        default=TIME_LIMIT_SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="When to stop looking for a better plan or bound, in seconds of work on a usual "
        "machine, so that load changes no plan. After ten times as long, it ends in any case.",
    ),
    quiet_option,
)
"""`--gap` and `--time-limit`, handed over together as `effort`; and `--quiet`."""

jobs_option = click.option(
    "--jobs",
    type=int,
    metavar="N",
    show_default="the cores at hand",
    help="How many plans to make at the same time, each in a process of its own.",
)


def _work(jobs: int | None, cluster: str | None, effort: Effort) -> Work:
    return {"workers": jobs, "cluster": cluster, **effort}


work_options = _merged(
    "work",
    ("jobs", "cluster", "effort"),
    _work,
    jobs_option,
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Plan on the workers of the Dask scheduler at this address instead.",
    ),
    effort_options,
)
"""`--jobs`, `--cluster` and those of `effort_options`, handed over together as `work`."""


def format_choice(*more: str) -> _Adds:
    """`--format` of a command that prints its result in `more` formats than all others do."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(("terminal", "json", "markdown", *more)),
        default="terminal",
        show_default=True,
        help="What to print on standard output.",
    )


format_option = format_choice()

_CALLED = {"time_limit_seconds": "time-limit", "workers": "jobs"}
"""Options that are not called as the argument of `planner` that they give."""


def flag(name: str) -> str:
    """How an option is written on the command line."""
    return f"--{_CALLED.get(name, name).replace('_', '-')}"


def on_options(error: PlannerError, command: click.Command) -> PlannerError:
    """The same mistakes, those of an argument of `planner` at the option of the command for it."""
    if not isinstance(error, InputError):
        return error
    flags = _flags(command)
    return InputError(*(_on_option(one, flags) for one in error.findings))


def _on_option(finding: Finding, flags: set[str]) -> Finding:
    option = flag(finding.path or "")
    return replace(finding, path=option) if finding.file is None and option in flags else finding


def _flags(command: click.Command) -> set[str]:
    """All options of a command, or of those in a group."""
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    return {flag for one in command.params for flag in one.opts}.union(*map(_flags, inner))


def with_hint(error: click.NoSuchOption) -> click.UsageError:
    """The same, naming the options that begin so; click compares whole names alone."""
    asked = f"--{error.option_name.lstrip('-')}"
    options = error.ctx.command.params if error.ctx else ()
    names = sorted(name for option in options for name in option.opts if name.startswith("--"))
    near = [name for name in names if name.startswith(asked)] or nearest(asked, names)
    hint = f"; did you mean {one_of([repr(name) for name in near[:5]])}?" if near else ""
    return click.UsageError(f"no option {error.option_name!r}{hint}", error.ctx)


_PIPE_WIDTH = 100
_SYMBOLS = "×–·…─ä"


def show(
    result: Result, format_: str = "terminal", *, out: Folder | None = None, brief: bool = False
) -> None:
    """Write a result into a folder where one is given, and print it as `--format` says.

    On a terminal it is drawn for standard output as it is: wide or narrow, Unicode or not.
    """
    if out is not None:
        write(result, out)
    if format_ != "terminal":
        print_exact(getattr(result, f"to_{format_}")())
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


def finish(code: int) -> None:
    """End the command with this exit code."""
    click.get_current_context().exit(code)


@contextmanager
def warnings_told() -> Iterator[None]:
    """Show each warning of this package as a line on standard error."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PlannerWarning)
        others = warnings.showwarning

        def told(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:  # noqa: ANN401
            if issubclass(category, PlannerWarning):
                click.echo(f"warning: {message}", err=True)
            else:
                others(message, category, *rest, **more)

        warnings.showwarning = told
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


_FIRST_LINE_SECONDS, _MOST_SECONDS = 10.0, 60.0
"""Before the first line in a pipe; each pause is twice the one before, up to the most."""


class ProgressLine:
    """Call it with what is being done; it shows the latest, if there is somebody to see it."""

    def __init__(self) -> None:
        self._doing = "planning"
        self._status: Status | None = None
        self._over = threading.Event()
        self._lines = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> ProgressLine:
        ctx = click.get_current_context(silent=True)
        if ctx and ctx.meta.get(_QUIET):
            return self
        # A thread begins with the mask of whoever starts it, and Ctrl-C is for that one alone.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        if sys.stderr.isatty():
            from rich.console import Console  # noqa: PLC0415 - a pipe needs none
            from rich.status import Status  # noqa: PLC0415

            self._status = Status(self._doing, console=Console(stderr=True))
            self._status.start()
        else:
            self._lines.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._status:
            self._status.stop()
        elif self._lines.is_alive():
            self._lines.join()

    def __call__(self, doing: str) -> None:
        """Say what is being done now."""
        self._doing = doing
        if self._status:
            self._status.update(doing)

    def _write(self) -> None:
        """A line now and then: what is being done, and for how long all has taken."""
        start, pause = time.monotonic(), _FIRST_LINE_SECONDS
        while not self._over.wait(pause):
            took = time.monotonic() - start
            click.echo(f"{self._doing} ({took:,.0f} s so far)", err=True)
            pause = min(2 * pause, _MOST_SECONDS)
