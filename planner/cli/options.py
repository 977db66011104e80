"""Options that several commands share, and the kinds of value that they take."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner.api.folder import Folder
from planner.cli.progress import QUIET
from planner.reporting.format import listed

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from planner import Changes, Effort, Work

__all__ = [
    "FILE",
    "FOLDER",
    "NEW_FILE",
    "asking",
    "catalog_option",
    "effort_options",
    "folder_option",
    "force_option",
    "format_choice",
    "format_option",
    "jobs_option",
    "out_option",
    "quiet_option",
    "rules_option",
    "share",
    "work_options",
]


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
    """A share as a scenario has it, `0.0001` or `0.01%`, from 0 to below 1.

    Fails in the user's words.
    """
    written = _SHARE.fullmatch(text.strip())
    if written is None:
        raise click.BadParameter(f"{text!r} is not a share, write 0.0001 or 0.01%")
    found = Decimal(written[1]) / (100 if written[2] else 1)
    if not 0 <= found < 1:
        raise click.BadParameter(f"{text} is not between 0 and 1")
    return found


def catalog_option(command: Callable[..., None]) -> Callable[..., None]:
    """`--catalog PATH`, repeatable."""
    return click.option(
        "--catalog",
        type=FILE,
        multiple=True,
        metavar="PATH",
        help="Catalog file or folder of your own; extends or replaces entries by id. Repeatable.",
    )(command)


def rules_option(command: Callable[..., None]) -> Callable[..., None]:
    """`--rules PATH`, repeatable."""
    return click.option(
        "--rules",
        type=FILE,
        multiple=True,
        metavar="PATH",
        help="Rule file or folder of your own; extends or replaces rules by id. Repeatable.",
    )(command)


def _names(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """`--scenario a,b --scenario c` as a, b, c."""
    names = tuple(name.strip() for text in given for name in text.split(","))
    if "" in names:
        raise click.BadParameter("a name is empty", ctx, param)
    return names


def _seconds(ctx: click.Context, param: click.Parameter, given: float) -> float:
    """A time that is neither endless nor no number: click compares, and lets both pass."""
    if not isfinite(given):
        raise click.BadParameter(f"{given} is not a number of seconds", ctx, param)
    return given


def out_option(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`--out DIR` of a command that prints its result, and writes these files where asked to."""
    return _target_option(f"Also write {listed(names)} into this folder.", required=False)


def folder_option(what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`--out DIR` of a command whose result are files."""
    return _target_option(f"Folder for {what}.", required=True)


def _target_option(
    says: str, *, required: bool
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`--out` and `--force`, handed over together as `out`: a folder, or None."""
    option = click.option("--out", type=FOLDER, metavar="DIR", required=required, help=says)

    def added(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_target(*, out: Path | None, force: bool, **given: Any) -> None:  # noqa: ANN401
            if force and out is None:
                raise click.UsageError("--force says that --out may overwrite files: give both")
            command(out=None if out is None else Folder(out, force), **given)

        return option(force_option(with_target))

    return added


force_option = click.option("--force", is_flag=True, help="Overwrite files that are there already.")


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """`--scenario`, `--set`, `--catalog` and `--rules`, handed over together as `changes`."""

    @wraps(command)
    def with_asked(
        *,
        catalog: tuple[Path, ...],
        rules: tuple[Path, ...],
        variations: tuple[str, ...],
        settings: tuple[str, ...],
        **given: Any,  # noqa: ANN401 - click's values
    ) -> None:
        changes: Changes = {
            "apply": variations,
            "set": settings,
            "catalog": catalog,
            "rules": rules,
        }
        command(changes=changes, **given)

    return _scenario_option(_set_option(catalog_option(rules_option(with_asked))))


_scenario_option = click.option(
    "--scenario",
    "variations",
    multiple=True,
    metavar="NAME",
    callback=_names,
    help="Apply this scenario or override of the file; several with commas. Repeatable, in order.",
)
_set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PATH=VALUE",
    help="Set a value after all overrides: offers.buy-h200.price_usd=380000. Repeatable.",
)


def quiet_option(command: Callable[..., None]) -> Callable[..., None]:
    """`--quiet`, which `Progress` heeds."""

    def heed(ctx: click.Context, _: click.Parameter, given: bool) -> None:
        ctx.meta[QUIET] = given

    return click.option(
        "--quiet",
        is_flag=True,
        expose_value=False,
        callback=heed,
        help="Say nothing of the progress of long work.",
    )(command)


def effort_options(command: Callable[..., None]) -> Callable[..., None]:
    """`--gap` and `--time-limit`, handed over together as `effort`; and `--quiet`."""

    @wraps(command)
    def with_effort(*, gap: Decimal, time_limit: float, **given: Any) -> None:  # noqa: ANN401
        effort: Effort = {"gap": float(gap), "time_limit_seconds": time_limit}
        command(effort=effort, **given)

    return _gap_option(_time_limit_option(quiet_option(with_effort)))


_gap_option = click.option(
    "--gap",
    type=share,
    default="0.01%",
    show_default=True,
    help="Relative gap between cost and bound that counts as proved.",
)
_time_limit_option = click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    callback=_seconds,
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="When to stop looking for a better plan or bound, in seconds of work on a usual machine, "
    "so that load changes no plan. After ten times as long, it ends in any case.",
)


def _address(ctx: click.Context, param: click.Parameter, given: str | None) -> str | None:
    """An address, which must not be empty: Dask would start a cluster of its own."""
    if given is not None and not given.strip():
        raise click.BadParameter("an address is needed: tcp://HOST:8786", ctx, param)
    return given


def work_options(command: Callable[..., None]) -> Callable[..., None]:
    """`--jobs`, `--cluster`, `--gap` and `--time-limit`, handed over together as `work`."""

    @wraps(command)
    def with_work(
        *,
        jobs: int | None,
        cluster: str | None,
        effort: Effort,
        **given: Any,  # noqa: ANN401 - click's values
    ) -> None:
        if jobs is not None and cluster is not None:
            raise click.UsageError("--jobs is for this machine, --cluster for others: give one")
        work: Work = {"workers": jobs, "cluster": cluster, **effort}
        command(work=work, **given)

    return jobs_option(_cluster_option(effort_options(with_work)))


jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    show_default="the cores at hand",
    help="Plans to make at the same time, each in a process of its own.",
)
_cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS",
    callback=_address,
    help="Plan on the workers of the Dask scheduler at this address instead.",
)


def format_choice(*more: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
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
