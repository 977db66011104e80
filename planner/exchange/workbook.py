"""Reads a sheet of an Excel workbook: what its cells show, and nothing that would run."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
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
from openpyxl.workbook.workbook import Workbook as OpenedWorkbook
from openpyxl.worksheet.worksheet import Worksheet

from planner.errors import Finding, InputError, refuse
from planner.inputs.reading.grid import Grid, GridCell
from planner.inputs.reading.reader import read_bytes
from planner.inputs.text import ILLEGAL_CHARACTER, character_name, did_you_mean, one_of

_LARGEST_INFLATED_BYTES = 128 * 2**20
_MOST_CELLS = 2_000_000
"""Up to the last row and column in use: every cell of them is looked at."""
_AREA = re.compile(
    rb"""<(?:[\w.-]+:)?(?:mergeCell|hyperlink)\b[^>]*?\bref\s*=\s*"""
    rb"""["']\$?([A-Z]{1,3})\$?(\d{1,9}):\$?([A-Z]{1,3})\$?(\d{1,9})["']""",
    re.IGNORECASE,
)
"""What openpyxl spreads over every cell of an area as it reads."""
_ACTIVE = ("vbaproject.bin", "externallinks/", "activex/", "connections.xml")


def workbook_grid(path: Path, sheet: str | None = None) -> Grid:
    """Read one sheet, the only visible one unless it is named.

    Formulas are never worked out: what counts is the value that was saved beside them. Raises
    InputError, cell by cell, for formulas without one, dates, error values and merged cells, and
    for a file that is no plain workbook: too large when unpacked, with macros or links to others.
    """
    shown_as = str(path)
    content = read_bytes(path, shown_as)
    _require_plain(content, shown_as)
    values, formulas = (_opened(content, shown_as, data_only=only) for only in (True, False))
    name = _sheet_name(values.worksheets, sheet, shown_as)
    last = values[name]
    if last.max_row * last.max_column > _MOST_CELLS:
        raise InputError(_too_far(f"{get_column_letter(last.max_column)}{last.max_row}", shown_as))
    reading = _Reading(shown_as, values[name], formulas[name])
    rows = [row for row in reading.rows() if any(cell.text for cell in row)]
    refuse(reading.findings)
    if not rows:
        raise InputError(Finding("is empty, a header and a row are needed", shown_as, path=name))
    width = max(i for row in rows for i, cell in enumerate(row, 1) if cell.text)
    header, *body = (row[:width] for row in rows)
    hidden = (*_hidden_parts(values[name], rows), *_hidden_sheets(values.worksheets))
    return Grid(header, tuple(body), f"sheet {name!r}", hidden)


def _hidden_parts(sheet: Worksheet, rows: Sequence[tuple[GridCell, ...]]) -> Iterator[str]:
    """Rows and columns that hold something and are not shown, by hand or by a filter."""
    filled = [coordinate_to_tuple(_place(cell)) for row in rows for cell in row if cell.text]
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
            s, them = ("s", "them") if len(found) > 1 else ("", "it")
            yield (
                f"hidden {what}{s} {_spans(sorted(found), shown)} of sheet {sheet.title!r}: read "
                f"like all others; delete {them} there if that is not meant"
            )


def _hidden_sheets(sheets: Sequence[Worksheet]) -> Iterator[str]:
    for one in sheets:
        if one.sheet_state != "visible":
            yield f"hidden sheet {one.title!r}: not read; show it, and name it with `--sheet`"


def _place(cell: GridCell) -> str:
    """`B7` of `Sheet1!B7`."""
    return (cell.address or "").rpartition("!")[2]


def _spans(numbers: Sequence[int], shown: Callable[[int], str]) -> str:
    """`3, 5 to 7` of 3, 5, 6, 7."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][-1] + 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(" to ".join(map(shown, dict.fromkeys((one[0], one[-1])))) for one in spans)


def _opened(content: bytes, shown_as: str, *, data_only: bool) -> OpenedWorkbook:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of charts and the like, which are not read
            return load_workbook(io.BytesIO(content), data_only=data_only, keep_links=False)
    except MemoryError:
        raise
    except Exception:  # openpyxl raises whatever it stumbles over in a broken file
        raise InputError(_unreadable(shown_as)) from None


def _require_plain(content: bytes, shown_as: str) -> None:
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except zipfile.BadZipFile:
        raise InputError(
            Finding(
                "is no .xlsx workbook, whatever its name says",
                file=shown_as,
                hint="save it as .xlsx or .csv",
            )
        ) from None
    parts = archive.infolist()
    inflated = sum(part.file_size for part in parts)
    if inflated > _LARGEST_INFLATED_BYTES:
        message = f"would unpack to {inflated / 2**20:,.0f} MiB, at most "
        message += f"{_LARGEST_INFLATED_BYTES // 2**20} MiB"
        raise InputError(Finding(message, file=shown_as))
    for part in parts:
        if any(word in part.filename.lower() for word in _ACTIVE):
            raise InputError(
                Finding(
                    f"holds {part.filename}: macros and links to other files are not read",
                    file=shown_as,
                    hint="save its values alone as .xlsx or .csv",
                )
            )
        if part.filename.startswith("xl/worksheets/"):
            _require_small(archive, part.filename, shown_as)


def _too_far(last: str, shown_as: str) -> Finding:
    message = f"reaches to {last}, more than {_MOST_CELLS:,} cells"
    hint = "delete what stands far from the table, or save it as .csv"
    return Finding(message, file=shown_as, hint=hint)


def _require_small(archive: zipfile.ZipFile, part: str, shown_as: str) -> None:
    """No area of a sheet may be larger than a sheet that is read."""
    for left, top, right, bottom in _AREA.findall(_part(archive, part, shown_as)):
        first, last = (
            column_index_from_string(column.decode().upper()) for column in (left, right)
        )
        if (last - first + 1) * (int(bottom) - int(top) + 1) > _MOST_CELLS:
            raise InputError(_too_far(f"{get_column_letter(last)}{int(bottom)}", shown_as))


def _part(archive: zipfile.ZipFile, part: str, shown_as: str) -> bytes:
    try:
        return archive.read(part)
    except MemoryError:
        raise
    except Exception:  # whatever zipfile stumbles over: damage, a password, another method
        raise InputError(_unreadable(shown_as)) from None


def _unreadable(shown_as: str) -> Finding:
    return Finding("is no workbook that can be read", file=shown_as)


def _sheet_name(sheets: Sequence[Worksheet], asked: str | None, shown_as: str) -> str:
    visible = [one.title for one in sheets if one.sheet_state == "visible"]
    if asked is not None and asked not in visible:
        hint = did_you_mean(asked, visible) or f"there is {one_of(visible)}"
        raise InputError(Finding(f"has no visible sheet {asked!r}", file=shown_as, hint=hint))
    if asked is None and len(visible) != 1:
        hint = f"name one with `--sheet`: {one_of(visible)}"
        raise InputError(Finding(f"has {len(visible)} visible sheets", file=shown_as, hint=hint))
    return asked or visible[0]


class _Reading:
    """One sheet, and what is wrong with its cells."""

    def __init__(self, shown_as: str, values: Worksheet, formulas: Worksheet) -> None:
        self.findings: list[Finding] = []
        self._shown_as = shown_as
        self._values = values
        self._formulas = formulas
        self._merged = {
            (row, column): str(area)
            for area in values.merged_cells.ranges
            for row in range(area.min_row, area.max_row + 1)
            for column in range(area.min_col, area.max_col + 1)
        }

    def rows(self) -> Iterator[tuple[GridCell, ...]]:
        for shown, written in zip(
            self._values.iter_rows(), self._formulas.iter_rows(), strict=True
        ):
            yield tuple(map(self._cell, shown, written))

    def _cell(self, shown: SheetCell | MergedCell, written: SheetCell | MergedCell) -> GridCell:
        address = f"{self._values.title}!{shown.coordinate}"
        cell = GridCell("", self._shown_as, address=address)
        fault = self._fault(shown, written)
        if fault is not None:
            self.findings.append(cell.finding(*fault))
            return cell
        is_number = shown.data_type == "n" and shown.value is not None
        return GridCell(_text(shown.value), self._shown_as, address=address, is_number=is_number)

    def _fault(
        self, shown: SheetCell | MergedCell, written: SheetCell | MergedCell
    ) -> tuple[str, None, str] | None:
        """What is wrong with a cell, and what mends it."""
        area = self._merged.get((shown.row or 0, shown.column or 0))
        if area is not None:
            return f"is merged with others ({area})", None, "split the cells and fill each"
        value: Any = shown.value
        if written.data_type == "f" and value is None:
            return "is a formula without a saved value", None, "open and save it in a spreadsheet"
        if shown.data_type == "e":
            return f"is an error: {value}", None, "mend the formula"
        if isinstance(value, datetime | date | time):
            hint = "write text: a quarter as 2027Q1, a name in a cell of type text"
            return "is a date to the spreadsheet", None, hint
        if isinstance(value, str) and (found := ILLEGAL_CHARACTER.search(value)):
            return f"holds {character_name(found[0])}, which cannot be seen", None, "delete it"
        return None


def _text(value: object) -> str:
    """A value as a person would write it: whole numbers without a fraction, others exact."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{int(value) if value.is_integer() else Decimal(repr(value)):f}"
    return str(value).strip()
