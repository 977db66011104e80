"""Keeps the published scoreboard in the documentation as it was last measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planner.errors import Finding, InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["publish", "with_scoreboard"]

_BEGIN: Final = "<!-- scoreboard, written by `make accuracy` -->\n```\n"
_END: Final = "```\n<!-- end of scoreboard -->"


def with_scoreboard(page: str, scoreboard: str) -> str:
    """Put a scoreboard between the marks of a page; raises InputError where it has none."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise InputError(Finding(f"has no marks {_BEGIN.splitlines()[0]} for the scoreboard"))
    return f"{before}{begin}{scoreboard.strip()}\n{end}{after}"


def publish(folder: Path, scoreboard: str, picture: str) -> tuple[Path, Path]:
    """Write scoreboard and picture into a folder of documentation; gives what was written."""
    page, drawing = folder / "accuracy.md", folder / "accuracy.svg"
    text = with_scoreboard(page.read_text(encoding="utf-8"), scoreboard)
    page.write_text(text, encoding="utf-8", newline="\n")
    drawing.write_text(picture, encoding="utf-8", newline="\n")
    return page, drawing
