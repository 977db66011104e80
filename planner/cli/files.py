"""Files that commands read and write, with what can be wrong about them in a user's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from planner.cli.guard import interrupts_held
from planner.errors import Finding, InputError
from planner.report.format import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["make_folder", "plan_text", "require_none_overwritten", "write_files"]


def plan_text(path: Path) -> str:
    """The text of a plan.json; raises InputError for what cannot be one."""
    if path.exists() and not path.is_file():
        raise InputError(Finding("is not an ordinary file, a plan.json is needed", file=str(path)))
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(Finding("is not a plan: it is not UTF-8 text", file=str(path))) from None
    except OSError as error:
        raise InputError(Finding(f"cannot be read: {error.strerror}", file=str(path))) from None


def make_folder(out: Path) -> None:
    """Make a folder where there is none; raises InputError."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(Finding(f"cannot be made: {error.strerror}", file=str(out))) from None


def require_none_overwritten(out: Path, names: Iterable[str], read: Iterable[Path]) -> None:
    """Raise InputError where a file to be written is one that was read."""
    inputs = {path.resolve() for path in read}
    for name in names:
        if (out / name).resolve() in inputs:
            raise InputError(
                Finding(
                    "is an input and would be overwritten",
                    file=str(out / name),
                    hint="choose another folder for `--out`",
                )
            )


def write_files(out: Path, texts: Mapping[str, str | bytes]) -> None:
    """Write files by name into a folder, which is made if needed, and say so on standard error."""
    from planner.plan.store import write_atomically  # noqa: PLC0415 - only where files are asked for

    make_folder(out)
    with interrupts_held():
        for name, text in texts.items():
            write_atomically(out / name, text)
    click.echo(f"wrote {listed([str(out / name) for name in texts])}", err=True)
