"""Keeps the published scoreboard in the documentation as it was last measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.accuracy.origins import HERE
from planner.errors import Finding, InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["publish", "with_scoreboard"]

SCOREBOARD: Final = HERE / "scoreboard.txt"
"""Every row of every table."""

_BEGIN: Final = "<!-- scoreboard, written by `make accuracy` -->\n```\n"
_END: Final = "```\n<!-- end of scoreboard -->"


def with_scoreboard(page: str, scoreboard: str) -> str:
    """Put a scoreboard between the marks of a page; raises InputError where it has none."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise InputError(Finding(f"has no marks {_BEGIN.splitlines()[0]} for the scoreboard"))
    return f"{before}{begin}{scoreboard.strip()}\n{end}{after}"


def publish(folder: Path, whole: str, brief: str, picture: str) -> tuple[Path, ...]:
    """Write picture and brief scoreboard into a folder of documentation, and the whole one here.

    Returns what was written.
    """
    page = folder / "accuracy.md"
    written = {
        page: with_scoreboard(page.read_text(encoding="utf-8"), brief),
        folder / "accuracy.svg": picture,
        SCOREBOARD: f"{whole.strip()}\n",
    }
    for path, text in written.items():
        path.write_text(text, encoding="utf-8", newline="\n")
    return tuple(written)
