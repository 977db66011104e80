"""A CSV table whose columns are known, for what is measured or delivered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen
from planner.inputs.reading.diagnostics import validate_values
from planner.inputs.reading.grid import csv_grid
from planner.inputs.text.scalars import ScalarError, plain_value
from planner.inputs.text.words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from planner.inputs.reading.grid import Cell

__all__ = ["Row", "table_rows"]

Model = TypeVar("Model", bound=Frozen)


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row that hold something, by column."""

    file: str
    line: int | None
    cells: Mapping[str, Cell]

    def finding(self, message: str, column: str | None = None, hint: str | None = None) -> Finding:
        """One mistake, in its cell if the row has one in that column."""
        if cell := self.cells.get(column or ""):
            return cell.finding(message, column, hint)
        return Finding(message, file=self.file, line=self.line, path=column, hint=hint)

    def value(self, column: str) -> object:
        """What the cell would be in a scenario; raises InputError where it is nothing."""
        try:
            return plain_value(self.cells[column].text)
        except ScalarError as error:
            raise InputError(self.finding(str(error), column)) from None

    def build(
        self, model: type[Model], values: dict[str, object], column_of: Callable[[str], str] = str
    ) -> Model:
        """The row as a value of `model`; raises InputError with all mistakes, cell by cell."""
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
) -> tuple[Row, ...]:
    """The rows of a table in these columns; lines after a `#` are notes.

    Raises InputError where the file is no table, the header unusable or no `row` stands below it.
    """
    grid = csv_grid(text, shown_as, notes=True)
    findings = list(_faults(grid.header, columns, required))
    if not findings and not grid.rows:
        findings.append(grid.header[0].finding(f"there is no {row} below the header"))
    if findings:
        raise InputError(*findings)
    names = [cell.text for cell in grid.header]
    return tuple(
        Row(
            shown_as,
            cells[0].line,
            {n: cell for n, cell in zip(names, cells, strict=True) if cell.text},
        )
        for cells in grid.rows
    )


def _faults(
    header: Sequence[Cell], columns: Sequence[str], required: Sequence[str]
) -> Iterator[Finding]:
    met: set[str] = set()
    for cell in header:
        if cell.text not in columns:
            hint = did_you_mean(cell.text, columns) or f"columns are {', '.join(columns)}"
            yield cell.finding("unknown column", cell.text, hint)
        elif cell.text in met:
            yield cell.finding("stands twice in the header", cell.text)
        met.add(cell.text)
    for column in required:
        if column not in met:
            yield Finding("this column is missing", header[0].file, header[0].line, path=column)
