"""Tables as CSV text that a spreadsheet reads as it is meant, and the way back."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["csv_text", "plain_cell"]

_FORMULA = re.compile(r"[=+\-@\t\r＝＋－＠]")
"""What makes a spreadsheet run a cell (CWE-1236), full-width forms included."""
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?")


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV, lines end in LF; None is an empty cell.

    Text that a spreadsheet would run begins with an apostrophe, numbers stay as they are.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    runs = _FORMULA.match(text.lstrip("'")) and not _NUMBER.fullmatch(text)
    return f"'{text}" if runs else text


def plain_cell(text: str) -> str:
    """A cell without the apostrophe that `csv_text` has put before it."""
    return text[1:] if text[:1] == "'" and _FORMULA.match(text.lstrip("'")) else text
