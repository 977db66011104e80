"""Reads a sheet of an Excel workbook: what its cells show, and nothing that would run."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from openpyxl import load_workbook
from openpyxl.cell.cell import Cell as SheetCell
from openpyxl.cell.cell import MergedCell
from openpyxl.utils.cell import (
    column_index_from_string,
    coordinate_to_tuple,
    get_column_letter,
)
from openpyxl.worksheet.worksheet import Worksheet

from planner.errors import Finding, InputError, refuse
from planner.inputs.reading.grid import Grid, GridCell
from planner.inputs.reading.reader import read_bytes
from planner.inputs.text import ILLEGAL_CHARACTER, character_name, did_you_mean, one_of, some_of

_LARGEST_INFLATED_BYTES = 128 * 2**20
_MOST_CELLS = 2_000_000
"""Up to the last row and column in use: every cell of them is examined."""
_AREA = re.compile(
    rb"""<(?:[\w.-]+:)?(?:mergeCell|hyperlink)\b[^>]*?\bref\s*=\s*"""
    rb"""["']\$?([A-Z]{1,3})\$?(\d{1,9}):\$?([A-Z]{1,3})\$?(\d{1,9})["']""",
    re.IGNORECASE,
)
"""What openpyxl spreads over every cell of an area as it reads."""
_MOST_NAMED = 8
"""The most hidden rows or columns that are named one by one."""
_ACTIVE = ("vbaproject.bin", "externallinks/", "activex/", "connections.xml")


def workbook_grid(path: Path, sheet: str | None = None) -> Grid:
    """Read one sheet: by default the only visible one.

    Formulas are never computed: the value that was saved with them counts. Raises InputError,
    cell by cell, for formulas without one, dates, error values and merged cells, and for a file
    that is no plain workbook: too large when unpacked, with macros or links to others.
    """
    shown_as = str(path)
    content = read_bytes(path, shown_as)
    _require_plain(content, shown_as)
    with warnings.catch_warnings(), _readable(shown_as):
        warnings.simplefilter("ignore")  # of charts and the like, which are not read
        values, formulas = (
            load_workbook(io.BytesIO(content), data_only=only, keep_links=False)
            for only in (True, False)
        )
    visible = [one.title for one in values.worksheets if one.sheet_state == "visible"]
    if sheet is not None and sheet not in visible:
        hint = did_you_mean(sheet, visible) or f"there is {one_of(visible)}"
        raise InputError(Finding(f"has no visible sheet {sheet!r}", file=shown_as, hint=hint))
    if sheet is None and len(visible) != 1:
        hint = f"name one with `--sheet`: {one_of(visible)}"
        raise InputError(Finding(f"has {len(visible)} visible sheets", file=shown_as, hint=hint))
    name = sheet or visible[0]
    rows, columns = values[name].max_row, values[name].max_column
    _require_small(rows * columns, rows, columns, shown_as)
    findings: list[Finding] = []
    shown = [
        row
        for row in _rows(values[name], formulas[name], shown_as, findings)
        if any(cell.text for cell in row)
    ]
    refuse(findings)
    if not shown:
        raise InputError(Finding("is empty, a header and a row are needed", shown_as, path=name))
    width = max(i for row in shown for i, cell in enumerate(row, 1) if cell.text)
    header, *body = (row[:width] for row in shown)
    hidden = [
        f"hidden sheet {one.title!r}: not read; show it, and name it with `--sheet`"
        for one in values.worksheets
        if one.sheet_state != "visible"
    ]
    return Grid(
        header, tuple(body), f"sheet {name!r}", (*_hidden_parts(values[name], shown), *hidden)
    )


def _hidden_parts(sheet: Worksheet, rows: Sequence[tuple[GridCell, ...]]) -> Iterator[str]:
    """Return rows and columns with content that are not shown, hidden by hand or by a filter."""
    filled = [
        coordinate_to_tuple((cell.address or "").rpartition("!")[2])
        for row in rows
        for cell in row
        if cell.text
    ]
    dark_rows = {row for row, one in sheet.row_dimensions.items() if one.hidden}
    dark_columns = {
        column
        for one in sheet.column_dimensions.values()
        if one.hidden
        for column in range(one.min or 0, (one.max or 0) + 1)
    }
    for what, found, shown in (
        ("row", {row for row, _ in filled} & dark_rows, str),
        ("column", {column for _, column in filled} & dark_columns, get_column_letter),
    ):
        if found:
            several, them = ("s", "them") if len(found) > 1 else ("", "it")
            named = some_of([shown(one) for one in sorted(found)], _MOST_NAMED)
            yield (
                f"hidden {what}{several} {named} of sheet {sheet.title!r}: read like all "
                f"others; delete {them} there if that is not meant"
            )


@contextmanager
def _readable(shown_as: str) -> Iterator[None]:
    """Handle whatever openpyxl and zipfile stumble over: damage, a password, another method."""
    try:
        yield
    except MemoryError:
        raise
    except Exception:
        raise InputError(Finding("is no workbook that can be read", file=shown_as)) from None


def _require_plain(content: bytes, shown_as: str) -> None:
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except zipfile.BadZipFile:
        message, hint = "is no .xlsx workbook, whatever its name says", "save it as .xlsx or .csv"
        raise InputError(Finding(message, file=shown_as, hint=hint)) from None
    parts = archive.infolist()
    inflated = sum(part.file_size for part in parts)
    if inflated > _LARGEST_INFLATED_BYTES:
        message = f"would unpack to {inflated / 2**20:,.0f} MiB, at most "
        message += f"{_LARGEST_INFLATED_BYTES // 2**20} MiB"
        raise InputError(Finding(message, file=shown_as))
    for part in parts:
        if any(word in part.filename.lower() for word in _ACTIVE):
            message = f"holds {part.filename}: macros and links to other files are not read"
            hint = "save its values alone as .xlsx or .csv"
            raise InputError(Finding(message, file=shown_as, hint=hint))
        if part.filename.startswith("xl/worksheets/"):
            with _readable(shown_as):
                areas = _AREA.findall(archive.read(part.filename))
            for left, top, right, bottom in areas:
                height, width = int(bottom) - int(top) + 1, _column(right) - _column(left) + 1
                _require_small(height * width, int(bottom), _column(right), shown_as)


def _column(letters: bytes) -> int:
    return column_index_from_string(letters.decode().upper())


def _require_small(cells: int, row: int, column: int, shown_as: str) -> None:
    """No sheet, and no area of one, may have more cells than are read."""
    if cells > _MOST_CELLS:
        message = f"reaches to {get_column_letter(column)}{row}, more than {_MOST_CELLS:,} cells"
        hint = "delete what stands far from the table, or save it as .csv"
        raise InputError(Finding(message, file=shown_as, hint=hint))


def _rows(
    values: Worksheet, formulas: Worksheet, shown_as: str, findings: list[Finding]
) -> Iterator[tuple[GridCell, ...]]:
    """Yield the cells of a sheet; what is wrong with them becomes findings."""
    merged = {
        (row, column): str(area)
        for area in values.merged_cells.ranges
        for row in range(area.min_row, area.max_row + 1)
        for column in range(area.min_col, area.max_col + 1)
    }
    for shown_row, written_row in zip(values.iter_rows(), formulas.iter_rows(), strict=True):
        row = []
        for shown, written in zip(shown_row, written_row, strict=True):
            text = _text(shown.value)
            is_number = shown.data_type == "n" and shown.value is not None
            address = f"{values.title}!{shown.coordinate}"
            cell = GridCell(text, shown_as, address=address, is_number=is_number)
            area = merged.get((shown.row or 0, shown.column or 0))
            if fault := _fault(shown, written, area):
                findings.append(cell.finding(fault[0], None, fault[1]))
            row.append(cell)
        yield tuple(row)


def _fault(
    shown: SheetCell | MergedCell, written: SheetCell | MergedCell, area: str | None
) -> tuple[str, str] | None:
    """Say what is wrong with a cell, and what mends it."""
    value: Any = shown.value
    if area is not None:
        return f"is merged with others ({area})", "split the cells and fill each"
    if written.data_type == "f" and value is None:
        return "is a formula without a saved value", "open and save it in a spreadsheet"
    if shown.data_type == "e":
        return f"is an error: {value}", "mend the formula"
    if isinstance(value, datetime | date | time):
        hint = "write text: a quarter as 2027Q1, a name in a cell of type text"
        return "is a date to the spreadsheet", hint
    if isinstance(value, str) and (found := ILLEGAL_CHARACTER.search(value)):
        return f"holds {character_name(found[0])}, which cannot be seen", "delete it"
    return None


def _text(value: object) -> str:
    """Return a value as a person would write it: whole numbers without a fraction, others exact."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{int(value) if value.is_integer() else Decimal(repr(value)):f}"
    return str(value).strip()
