"""The scoreboard as plain text, at most 100 columns wide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["WIDTH", "percent", "table"]

WIDTH: Final = 100
_GAP: Final = "  "


def percent(share: float, digits: int = 1) -> str:
    """`4.2 %`; a dash where there is nothing to average."""
    return "–" if share != share else f"{100 * share:.{digits}f} %"  # noqa: PLR0124 - not a number


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A titled table: the first column to the left, figures to the right, no line too long."""
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - WIDTH
    widths[0] -= max(0, over)
    shown = [_line(line, widths) for line in lines]
    shown.insert(1, _GAP.join("─" * width for width in widths))
    return "\n".join((title, "", *shown, ""))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, rest = cells[0][: widths[0]].ljust(widths[0]), zip(cells[1:], widths[1:], strict=True)
    return _GAP.join((first, *(cell.rjust(width) for cell, width in rest))).rstrip()
