"""One row for each thing measured, compared with its target, in a table."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Row", "table"]


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured, what was asked for, and whether it was met."""

    what: str
    measured: str
    target: str
    met: bool

    @property
    def verdict(self) -> str:
        """`ok` or `MISSED`."""
        return "ok" if self.met else "MISSED"


def table(title: str, rows: list[Row]) -> str:
    """A Markdown table whose columns also line up in a terminal."""
    cells = [("what", "measured", "target", "")]
    cells += [(row.what, row.measured, row.target, row.verdict) for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(4)]
    lines = [_line(line, widths) for line in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join([f"### {title}", "", *lines, ""])


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "| " + " | ".join(padded) + " |"
