"""Options that several commands share, and the kinds of value that they take."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner.api.folder import Folder
from planner.cli.screen import QUIET
from planner.errors import InputError
from planner.inputs.text import did_you_mean, nearest, one_of
from planner.reporting.format import listed

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from planner import Effort, Work
    from planner.errors import Finding, PlannerError

    _Adds = Callable[[Callable[..., None]], Callable[..., None]]


class _Named(click.Path):
    """What a name stands for, there or not; an empty name stands for nothing."""

    def __init__(self, what: str, *, files: bool = True, folders: bool = True) -> None:
        super().__init__(file_okay=files, dir_okay=folders, path_type=Path)
        self._what = what

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """Read it; fails in the user's words."""
        path = Path(value)
        if value == "":
            self.fail(f"it is empty, a {self._what} is needed", param, ctx)
        if value == "-" and not (self.file_okay and self.dir_okay):
            self.fail(f"- is no {self._what}, name one", param, ctx)
        if not self.file_okay and path.exists() and not path.is_dir():
            self.fail(f"{path} is a file, a {self._what} is needed", param, ctx)
        if not self.dir_okay and path.is_dir():
            self.fail(f"{path} is a folder, a {self._what} is needed", param, ctx)
        return path


FILE = _Named("file")
"""To read; it may be a folder where several files are read."""
NEW_FILE = _Named("file", folders=False)
FOLDER = _Named("folder", files=False)
"""To write files into."""


_SHARE = re.compile(r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?) ?(%?)")


def share(text: str) -> Decimal:
    """A share as a scenario has it, `0.0001` or `0.01%`; fails in the user's words."""
    written = _SHARE.fullmatch(text.strip())
    if written is None:
        raise click.BadParameter(f"{text!r} is not a share, write 0.0001 or 0.01%")
    return Decimal(written[1]) / (100 if written[2] else 1)


def file_option(*names: str, says: str, metavar: str = "FILE") -> _Adds:
    """An option that names a file to read."""
    return click.option(*names, type=FILE, metavar=metavar, help=says)


def share_option(flag: str, default: str, says: str) -> _Adds:
    """An option that is a share."""
    return click.option(flag, type=share, default=default, show_default=True, help=says)


def number_option(flag: str, default: int, says: str) -> _Adds:
    """An option that is a whole number."""
    return click.option(flag, default=default, show_default=True, metavar="N", help=says)


def _together(
    name: str, values: tuple[str, ...], make: Callable[..., object], *options: _Adds
) -> _Adds:
    """These options, whose values are handed over as one argument, made of them."""

    def added(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_them(**given: Any) -> None:  # noqa: ANN401 - click's values
            made = make(**{value: given.pop(value) for value in values})
            command(**{name: made}, **given)

        whole: Callable[..., None] = with_them
        for option in reversed(options):
            whole = option(whole)
        return whole

    return added


catalog_option = click.option(
    "--catalog",
    type=FILE,
    multiple=True,
    metavar="PATH",
    help="Catalog file or folder of your own; extends or replaces entries by id. Repeatable.",
)
rules_option = click.option(
    "--rules",
    type=FILE,
    multiple=True,
    metavar="PATH",
    help="Rule file or folder of your own; extends or replaces rules by id. Repeatable.",
)


def _names(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """`--scenario a,b --scenario c` as a, b, c."""
    names = tuple(name.strip() for text in given for name in text.split(","))
    if "" in names:
        raise click.BadParameter("a name is empty", ctx, param)
    return names


_scenario_option = click.option(
    "--scenario",
    "apply",
    multiple=True,
    metavar="NAME",
    callback=_names,
    help="Apply this scenario or override of the file; several with commas. Repeatable, in order.",
)
_set_option = click.option(
    "--set",
    multiple=True,
    metavar="PATH=VALUE",
    help="Set a value after all overrides: offers.buy-h200.price_usd=380000. Repeatable.",
)


asking = _together(
    "changes",
    ("apply", "set", "catalog", "rules"),
    dict,
    *(_scenario_option, _set_option, catalog_option, rules_option),
)
"""`--scenario`, `--set`, `--catalog` and `--rules`, handed over together as `changes`."""


def out_option(*names: str) -> _Adds:
    """`--out DIR` of a command that prints its result, and writes these files where asked to."""
    return _target_option(f"Also write {listed(names)} into this folder.", required=False)


def folder_option(what: str) -> _Adds:
    """`--out DIR` of a command whose result are files."""
    return _target_option(f"Folder for {what}.", required=True)


force_option = click.option("--force", is_flag=True, help="Overwrite files that are there already.")


def _target_option(says: str, *, required: bool) -> _Adds:
    """`--out` and `--force`, handed over together as `out`: a folder, or None."""
    option = click.option("--out", type=FOLDER, metavar="DIR", required=required, help=says)
    return _together("out", ("out", "force"), _target, option, force_option)


def _target(out: Path | None, force: bool) -> Folder | None:
    if force and out is None:
        raise click.UsageError("--force says that --out may overwrite files: give both")
    return None if out is None else Folder(out, force)


def _heed(ctx: click.Context, _: click.Parameter, given: bool) -> None:
    ctx.meta[QUIET] = given


quiet_option = click.option(
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=_heed,
    help="Print no messages about progress.",
)
"""Heeded by `Progress`."""


_gap_option = share_option(
    "--gap", "0.01%", "Relative gap between cost and bound that counts as proved."
)


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        message = f"{text!r} is not a number of seconds, write 60"
        raise click.BadParameter(message) from None


_time_limit_option = click.option(
    "--time-limit",
    type=_seconds,
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="When to stop looking for a better plan or bound, in seconds of work on a usual machine, "
    "so that load changes no plan. After ten times as long, it ends in any case.",
)


def _effort(gap: Decimal, time_limit: float) -> Effort:
    return {"gap": float(gap), "time_limit_seconds": time_limit}


effort_options = _together(
    "effort", ("gap", "time_limit"), _effort, _gap_option, _time_limit_option, quiet_option
)
"""`--gap` and `--time-limit`, handed over together as `effort`; and `--quiet`."""

jobs_option = click.option(
    "--jobs",
    type=int,
    metavar="N",
    show_default="the cores at hand",
    help="How many plans to make at the same time, each in a process of its own.",
)
_cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Plan on the workers of the Dask scheduler at this address instead.",
)


def _work(jobs: int | None, cluster: str | None, effort: Effort) -> Work:
    return {"workers": jobs, "cluster": cluster, **effort}


work_options = _together(
    "work", ("jobs", "cluster", "effort"), _work, jobs_option, _cluster_option, effort_options
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


def on_options(error: PlannerError, command: click.Command) -> PlannerError:
    """The same mistakes, those of an argument of `planner` at the option of the command for it."""
    if not isinstance(error, InputError):
        return error
    flags = _flags(command)
    return InputError(*(_on_option(one, flags) for one in error.findings))


def _on_option(finding: Finding, flags: set[str]) -> Finding:
    name = finding.path or ""
    flag = f"--{_CALLED.get(name, name).replace('_', '-')}"
    return replace(finding, path=flag) if finding.file is None and flag in flags else finding


def _flags(command: click.Command) -> set[str]:
    """All options of a command, or of those in a group."""
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    return {flag for one in command.params for flag in one.opts}.union(*map(_flags, inner))


_SHOWN = 5


class CommandGroup(click.Group):
    """Commands that tell what an unknown one may have meant, or which there are."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but in the words of this planner."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
            if ctx.parent is None and Path(name).is_file():
                hint = f"name one before the file, such as `planner plan {name}`"
            ctx.fail(f"no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)


def with_hint(error: click.NoSuchOption) -> click.UsageError:
    """The same, naming the options that begin so; click compares whole names alone."""
    asked = f"--{error.option_name.lstrip('-')}"
    options = error.ctx.command.params if error.ctx else ()
    names = sorted(name for option in options for name in option.opts if name.startswith("--"))
    near = [name for name in names if name.startswith(asked)] or nearest(asked, names)
    hint = f"; did you mean {one_of([repr(name) for name in near[:_SHOWN]])}?" if near else ""
    return click.UsageError(f"no option {error.option_name!r}{hint}", error.ctx)
