"""Options that several commands share, and the kinds of value that they take."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from planner.cli.files import Target
from planner.errors import Finding, InputError
from planner.reporting.format import listed

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from planner.inputs.load import Question
    from planner.inputs.settled import Inputs
    from planner.packing.found import Found
    from planner.packing.statement.translate import Translation
    from planner.planning.plan import Plan

__all__ = [
    "FILE",
    "FOLDER",
    "NEW_FILE",
    "Asked",
    "Effort",
    "asking",
    "catalog_option",
    "effort_options",
    "folder_option",
    "force_option",
    "format_option",
    "out_option",
    "require_known",
    "rules_option",
    "share",
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


def share(text: str) -> Decimal:
    """A share as a scenario has it, `0.0001` or `0.01%`, from 0 to below 1.

    Fails in the user's words.
    """
    from planner.inputs.base import share as shared  # noqa: PLC0415 - slow to load
    from planner.inputs.text.scalars import plain_value  # noqa: PLC0415 - likewise

    try:
        found = shared(plain_value(text.strip()))
    except ValueError:
        found = None
    if not isinstance(found, Decimal):
        raise click.BadParameter(f"{text!r} is not a share, write 0.0001 or 0.01%")
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


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says about any scenario that is read."""

    catalog: tuple[Path, ...]
    rules: tuple[Path, ...]
    variations: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    def question(self, scenario: Path) -> Question:
        """Read a scenario, to ask for several variants of it; raises InputError."""
        from planner.inputs.load import Question  # noqa: PLC0415 - not every command reads one

        return Question(scenario, catalog=self.catalog, rules=self.rules)

    def inputs(self, scenario: Path) -> Inputs:
        """Read a scenario as it is asked for, with variations and settings; raises InputError."""
        return self.question(scenario).inputs(self.variations, self.settings)


def out_option(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`--out DIR` of a command that prints its result, and writes these files where asked to."""
    return _target_option(f"Also write {listed(names)} into this folder.", required=False)


def folder_option(what: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`--out DIR` of a command whose result are files."""
    return _target_option(f"Folder for {what}.", required=True)


def _target_option(
    says: str, *, required: bool
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`--out` and `--force`, handed over together as `out`: a target, or None."""
    option = click.option("--out", type=FOLDER, metavar="DIR", required=required, help=says)

    def added(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_target(*, out: Path | None, force: bool, **given: Any) -> None:  # noqa: ANN401
            if force and out is None:
                raise click.UsageError("--force says that --out may overwrite files: give both")
            command(out=None if out is None else Target(out, force), **given)

        return option(force_option(with_target))

    return added


force_option = click.option(
    "--force", is_flag=True, help="Overwrite files that are there already; without it, none is."
)


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """`--scenario`, `--set`, `--catalog` and `--rules`, handed over together as `asked`."""

    @wraps(command)
    def with_asked(
        *,
        catalog: tuple[Path, ...],
        rules: tuple[Path, ...],
        variations: tuple[str, ...],
        settings: tuple[str, ...],
        **given: Any,  # noqa: ANN401 - click's values
    ) -> None:
        command(asked=Asked(catalog, rules, variations, settings), **given)

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


@dataclass(frozen=True, slots=True)
class Effort:
    """How far each plan is to be proved, and for how long that is tried."""

    gap: float
    time_limit_s: float

    def plan(
        self,
        inputs: Inputs,
        progress: Callable[[str], None] | None = None,
        *,
        crosscheck: bool = False,
        watch: Callable[[Translation, Found], None] | None = None,
    ) -> Plan:
        """Make a plan with this effort; raises what planning raises."""
        from planner.planning.make import make_plan  # noqa: PLC0415 - not every command plans

        return make_plan(
            inputs,
            asked_gap=self.gap,
            time_limit_s=self.time_limit_s,
            crosscheck=crosscheck,
            progress=progress,
            watch=watch,
        )


def effort_options(command: Callable[..., None]) -> Callable[..., None]:
    """`--gap` and `--time-limit`, handed over together as `effort`."""

    @wraps(command)
    def with_effort(*, gap: Decimal, time_limit: float, **given: Any) -> None:  # noqa: ANN401
        command(effort=Effort(float(gap), time_limit), **given)

    return _gap_option(_time_limit_option(with_effort))


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
    help="When to stop looking for a better plan or bound: in seconds of work, counted as a usual "
    "machine does it, so that load changes no plan. Ten times as long, it ends in any case.",
)
format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(("terminal", "json", "markdown")),
    default="terminal",
    show_default=True,
    help="What to print on standard output.",
)


def require_known(word: str, known: Iterable[str], what: str) -> None:
    """Raise InputError with the nearest names if there is no such id."""
    names = sorted(known)
    if word in names:
        return
    from planner.inputs.text.words import did_you_mean, one_of  # noqa: PLC0415 - only a mistake needs it

    ends = [name for name in names if name.rpartition("/")[2] == word]
    begun = [name for name in names if name.startswith(f"{word}-")]
    near = did_you_mean(ends[0] if ends else word, names, 3)
    hint = f"did you mean {one_of([repr(name) for name in begun[:5]])}?" if begun else near
    raise InputError(
        Finding(f"there is no {what} {word!r}", hint=hint or f"`list` shows every {what}")
    )
