"""A CSV table with a header, every cell with its line, for what is measured or delivered."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from planner.errors import Finding, InputError
from planner.inputs.cells import plain_cell
from planner.inputs.document import shown_line
from planner.inputs.words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Table"]


class Table:
    """One file: its header, its rows, and where each stands; lines after a `#` are notes."""

    def __init__(
        self,
        text: str,
        shown_as: str,
        columns: Sequence[str],
        required: Sequence[str] = (),
        *,
        row: str = "row",
    ) -> None:
        """Raises InputError where the header is unusable or no `row` stands below it."""
        self._shown_as = shown_as
        self._lines = text.split("\n")
        reader = csv.reader(text.splitlines(), strict=True)
        found: list[tuple[int, list[str]]] = []
        try:
            for cells in reader:
                if any(cell.strip() for cell in cells) and not cells[0].startswith("#"):
                    found.append((reader.line_num, [plain_cell(cell.strip()) for cell in cells]))
        except csv.Error as error:
            raise InputError(self.finding(reader.line_num, f"is no CSV: {error}")) from None
        if not found:
            raise InputError(Finding("is empty, a header and a row are needed", file=shown_as))
        self._header_line, self._header = found[0]
        self.rows: Sequence[tuple[int, list[str]]] = found[1:]
        self._check_header(columns, required, row)

    def _check_header(self, columns: Sequence[str], required: Sequence[str], row: str) -> None:
        findings = []
        for column in self._header:
            if column not in columns:
                hint = did_you_mean(column, columns) or f"columns are {', '.join(columns)}"
                findings.append(self.finding(self._header_line, "unknown column", column, hint))
        repeated = sorted({name for name in self._header if self._header.count(name) > 1})
        findings += [
            self.finding(self._header_line, "stands twice in the header", column)
            for column in repeated
        ]
        findings += [
            self.finding(self._header_line, "this column is missing", column)
            for column in required
            if column not in self._header
        ]
        if not findings and not self.rows:
            findings.append(self.finding(self._header_line, f"there is no {row} below the header"))
        if findings:
            raise InputError(*findings)

    def cells(self, line: int, cells: Sequence[str]) -> Iterator[tuple[str, str]]:
        """The cells of one row by column; raises InputError where there are more or fewer."""
        if len(cells) != len(self._header):
            message = f"has {len(cells)} cells, the header has {len(self._header)}"
            raise InputError(self.finding(line, message))
        return zip(self._header, cells, strict=True)

    def finding(
        self, line: int, message: str, column: str | None = None, hint: str | None = None
    ) -> Finding:
        """One mistake in a line of the file, 1-based."""
        return Finding(
            message,
            file=self._shown_as,
            line=line,
            path=column or None,
            source_line=shown_line(self._lines[line - 1]),
            hint=hint,
        )
