"""Saved plans as commands take them: checked, and with a word on what has changed since."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from planner.cli.files import plan_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from planner.planning.saved import Saved

__all__ = ["saved_plan", "warn"]


def saved_plan(
    path: Path,
    text: str | None = None,
    *,
    catalog: Sequence[Path] = (),
    rules: Sequence[Path] = (),
    label: str | None = None,
) -> Saved:
    """Read and check a plan.json, of which `text` is known already where it is given.

    What has changed of its inputs is told on standard error. Raises CheckError, InputError.
    """
    from planner.planning.saved import checked, read_saved  # noqa: PLC0415 - slow to load

    name = label or str(path)
    content = plan_text(path) if text is None else text
    saved = checked(read_saved(content, name, catalog=catalog, rules=rules))
    for sentence in saved.told(name):
        warn(sentence)
    return saved


def warn(sentence: str) -> None:
    """Tell of something that stops nothing."""
    click.echo(f"warning: {sentence}", err=True)
