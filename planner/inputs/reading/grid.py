"""Reads a CSV table as cells, each with its place, and as rows of known columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from planner.errors import Finding, InputError, refuse
from planner.inputs.base import Frozen
from planner.inputs.reading.diagnostics import validate_values
from planner.inputs.text import ScalarError, count_of, key_meant, plain_cell, plain_value

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_NAMED_DELIMITER = re.compile(r"sep=([,;\t])\n", re.IGNORECASE)
"""The line with which a spreadsheet program names the delimiter."""
_QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True, slots=True)
class GridCell:
    """The text of a cell, and its place."""

    text: str
    file: str
    line: int | None = None
    column: int | None = None
    """The number of the cell in its line, from 1."""
    address: str | None = None
    """`Sheet1!B7`, in a workbook."""
    source_line: str | None = None
    is_number: bool = False
    """Whether a spreadsheet holds a number there, whatever was typed."""

    def finding(self, message: str, path: str | None = None, hint: str | None = None) -> Finding:
        """Return a mistake in this cell; `path` names its column in the planner's words."""
        where = ": ".join(part for part in (self.address, path) if part)
        return Finding(
            message,
            file=self.file,
            line=self.line,
            column=self.column,
            path=where or None,
            hint=hint,
        )


@dataclass(frozen=True, slots=True)
class Grid:
    """A header and the rows below it, as long as the header, without empty rows."""

    header: tuple[GridCell, ...]
    rows: tuple[tuple[GridCell, ...], ...]
    said: str = ""
    """How the file was read, if that had to be found out."""
    hidden: tuple[str, ...] = ()
    """What the file hides from a reader, and what becomes of it, in words."""


def delimiter_of(text: str, note: str = "\n") -> tuple[str, int]:
    """Return what separates the cells of a table, and how long a first line is that names it.

    That is what a first line `sep=;` names, or what is most frequent in the header, outside quotes.
    Lines that begin with `note` are passed over.
    """
    if named := _NAMED_DELIMITER.match(text):
        return named[1], named.end()
    lines = (line for line in text.split("\n") if line.strip() and not line.startswith(note))
    return max(DELIMITERS, key=_QUOTED.sub("", next(lines, "")).count), 0


def csv_grid(text: str, shown_as: str, *, notes: bool = False) -> Grid:
    """Read a CSV text whose cells are separated by commas, semicolons or tabs.

    With `notes`, lines that begin with `#` are skipped. Raises InputError for a file
    that is no table, rows of other lengths than the header, and a quote that is never closed,
    each in its line.
    """
    note = "#" if notes else "\n"
    delimiter, begins = delimiter_of(text, note)
    text = f"\n{text[begins:]}" if begins else text
    rows = [row for row in _rows(text, shown_as, delimiter) if not row[0].text.startswith(note)]
    if not rows:
        raise InputError(Finding("is empty, a header and a row are needed", file=shown_as))
    header, *body = rows
    wrong = [_length(row, header) for row in body if len(row) != len(header)]
    refuse(wrong)
    said = f"cells are parted by {DELIMITERS[delimiter]}" if len(header) > 1 else "one column"
    return Grid(header, tuple(body), said)


def _length(row: Sequence[GridCell], header: Sequence[GridCell]) -> Finding:
    cell = row[0]
    return Finding(
        f"has {count_of(len(row), 'cell')}, the header has {len(header)}",
        file=cell.file,
        line=cell.line,
        source_line=cell.source_line,
    )


def _rows(text: str, shown_as: str, delimiter: str) -> Iterator[tuple[GridCell, ...]]:
    lines = text.split("\n")
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    begins = 1
    try:
        for cells in reader:
            shown = lines[begins - 1]
            if any(cell.strip() for cell in cells):
                yield tuple(
                    GridCell(plain_cell(cell.strip()), shown_as, begins, column, source_line=shown)
                    for column, cell in enumerate(cells, 1)
                )
            begins = reader.line_num + 1
    except csv.Error as error:
        open_quote = "unexpected end of data" in str(error)
        message = (
            "a quoted cell begins here and never ends" if open_quote else f"is no CSV: {error}"
        )
        raise InputError(Finding(message, file=shown_as, line=begins)) from None


RowModel = TypeVar("RowModel", bound=Frozen)


@dataclass(frozen=True, slots=True)
class TableRow:
    """The non-empty cells of one row, by column."""

    file: str
    line: int | None
    cells: Mapping[str, GridCell]

    def finding(self, message: str, column: str | None = None, hint: str | None = None) -> Finding:
        """Return a mistake, in its cell if the row has one in that column."""
        if cell := self.cells.get(column or ""):
            return cell.finding(message, column, hint)
        return Finding(message, file=self.file, line=self.line, path=column, hint=hint)

    def value(self, column: str) -> object:
        """Return the cell's value as a scenario would read it; raises InputError if it is none."""
        try:
            return plain_value(self.cells[column].text)
        except ScalarError as error:
            raise InputError(self.finding(str(error), column)) from None

    def build(
        self,
        model: type[RowModel],
        values: dict[str, object],
        column_of: Callable[[str], str] = str,
    ) -> RowModel:
        """Return the row as a value of `model`.

        Raises InputError with all mistakes, cell by cell.
        """
        try:
            return validate_values(values, model, column_of)
        except InputError as error:
            found = (self.finding(one.message, one.path, one.hint) for one in error.findings)
            raise InputError(*found) from None


def table_rows(
    text: str,
    shown_as: str,
    columns: Sequence[str],
    required: Sequence[str] = (),
    *,
    row: str = "row",
) -> tuple[TableRow, ...]:
    """Return the rows of a table with these columns; lines that begin with `#` are notes.

    Raises InputError if the file is no table, the header is unusable or no `row` stands below
    it.
    """
    grid = csv_grid(text, shown_as, notes=True)
    findings = list(_faults(grid.header, columns, required))
    if not findings and not grid.rows:
        findings.append(grid.header[0].finding(f"there is no {row} below the header"))
    refuse(findings)
    names = [cell.text for cell in grid.header]
    return tuple(
        TableRow(
            shown_as,
            cells[0].line,
            {n: cell for n, cell in zip(names, cells, strict=True) if cell.text},
        )
        for cells in grid.rows
    )


def _faults(
    header: Sequence[GridCell], columns: Sequence[str], required: Sequence[str]
) -> Iterator[Finding]:
    met: set[str] = set()
    for cell in header:
        if cell.text not in columns:
            hint = key_meant(cell.text, columns) or f"columns are {', '.join(columns)}"
            yield cell.finding("unknown column", cell.text, hint)
        elif cell.text in met:
            yield cell.finding("stands twice in the header", cell.text)
        met.add(cell.text)
    for column in required:
        if column not in met:
            yield Finding("this column is missing", header[0].file, header[0].line, path=column)
