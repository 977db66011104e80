"""Options that several commands share, and the kinds of value that they take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["FILE", "SHARE", "Share", "catalog_option", "require_known", "rules_option"]

FILE = click.Path(path_type=Path)


class Share(click.ParamType[float]):
    """A share as `0.0001` or `0.01%`, from 0 to below 1."""

    name = "share"

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Read it; fails in the user's words."""
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            self.fail(f"{text!r} is not a share, write 0.0001 or 0.01%", param, ctx)
        if not 0 <= share < 1:
            self.fail(f"{text} is not between 0 and 1", param, ctx)
        return share


SHARE = Share()


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


def require_known(word: str, known: Iterable[str], what: str) -> None:
    """Raise InputError with the nearest names if there is no such id."""
    names = sorted(known)
    if word in names:
        return
    from planner.inputs.words import did_you_mean  # noqa: PLC0415 - only a mistake needs it

    ends = [name for name in names if name.rpartition("/")[2] == word]
    near = did_you_mean(ends[0] if ends else word, names, 3)
    raise InputError(Finding(f"there is no {what} {word!r}", hint=near))
