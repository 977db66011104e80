"""Draws a document as an Excel workbook: a sheet per section, the same bytes every time."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from xlsxwriter import Workbook

from planner.reporting.document import Document, Heading
from planner.reporting.excel.looks import Looks
from planner.reporting.excel.sheet import Sheet, Traced

if TYPE_CHECKING:
    from planner.reporting.document import Block

__all__ = ["render"]

_OPENING = "Overview"
_SUMS = "Where figures come from"
_LONGEST_NAME = 31
_FORBIDDEN = re.compile(r"[\[\]:*?/\\']")
_MADE = datetime(2000, 1, 1, tzinfo=UTC)
"""Excel wants a day; a real one would make two workbooks of one plan differ."""


def render(document: Document, title: str) -> bytes:
    """The workbook; the last sheet lists every figure with its sum over plan.json."""
    paper = io.BytesIO()
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_numbers": False,
        "strings_to_urls": False,
    }
    with Workbook(paper, options) as book:
        book.set_properties({"title": title, "created": _MADE})
        book.set_calc_mode("auto")
        looks = Looks(book)
        traced: list[Traced] = []
        names: set[str] = set()
        for heading, blocks in _sections(document):
            sheet = Sheet(book, _name(heading, names), looks)
            sheet.draw(blocks)
            traced += sheet.finish()
        _list_sums(book, looks, traced)
    return paper.getvalue()


def _sections(document: Document) -> list[tuple[str, list[Block]]]:
    sections: list[tuple[str, list[Block]]] = [(_OPENING, [])]
    for block in document:
        if isinstance(block, Heading) and block.level == 2:
            sections.append((block.text, []))
        sections[-1][1].append(block)
    return sections


def _name(heading: str, taken: set[str]) -> str:
    """A name that Excel allows, and no other sheet has."""
    name = _FORBIDDEN.sub(" ", heading)[:_LONGEST_NAME].strip()
    number = 2
    while name.lower() in taken:
        mark = f" {number}"
        name, number = name[: _LONGEST_NAME - len(mark)] + mark, number + 1
    taken.add(name.lower())
    return name


def _list_sums(book: Workbook, looks: Looks, traced: list[Traced]) -> None:
    sheet = book.add_worksheet(_SUMS)
    for column, head in enumerate(("Sheet", "Cell", "Figure", "Sum over plan.json")):
        sheet.write_string(0, column, head, looks.head(right=column == 2))
    for row, one in enumerate(traced, 1):
        sheet.write_string(row, 0, one.sheet)
        sheet.write_url(row, 1, f"internal:'{one.sheet}'!{one.cell}", string=one.cell)
        looks.write_figure(sheet, row, 2, one.figure)
        sheet.write_string(row, 3, one.figure.sum)
    sheet.set_column(0, 0, 30)
    sheet.set_column(1, 1, 8)
    sheet.set_column(2, 2, 16)
    sheet.set_column(3, 3, 90)
    sheet.freeze_panes(1, 0)
    sheet.repeat_rows(0)
    looks.print_setup(sheet)
    if traced:
        sheet.autofilter(0, 0, len(traced), 3)
