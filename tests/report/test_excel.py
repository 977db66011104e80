"""The workbook: real numbers, sums that Excel adds up, text that stays text."""

import io
import json
import zipfile
from dataclasses import replace
from datetime import datetime
from fractions import Fraction

import openpyxl
import pytest

from planner.planning.store import dumps, loads
from planner.reporting.documents import justification_document
from planner.reporting.excel import render
from tests.report.sums import again_in
from tests.sealed import sealed

LIST = "Where figures come from"


@pytest.fixture(scope="module")
def document(plan, beside, compared):
    return justification_document(plan, replace(beside, comparison=compared))


@pytest.fixture(scope="module")
def content(document):
    return render(document, "Justification")


def opened(content, *, values=True):
    return openpyxl.load_workbook(io.BytesIO(content), data_only=values)


def traced(book):
    """Sheet, cell and sum of every figure, as the last sheet lists them."""
    rows = book[LIST].iter_rows(min_row=2, values_only=True)
    return [(sheet, cell, formula) for sheet, cell, _, formula in rows]


def formulas(book):
    return {
        (sheet.title, cell.coordinate): cell.value
        for sheet in book
        for row in sheet.iter_rows()
        for cell in row
        if cell.data_type == "f"
    }


def test_there_is_a_sheet_for_each_section(content):
    names = opened(content).sheetnames
    assert names[:3] == ["Overview", "1. The ask", "2. Need"]
    assert "15. Provenance and sign-off" in names
    assert len(names) == 21


def test_every_figure_is_a_real_number_that_comes_out_again(files, content):
    book = opened(content)
    listed = traced(book)
    assert len(listed) > 200
    assert {formula.partition(": ")[0] for _, _, formula in listed} >= {*files} - {"", "risk.json"}
    scales = set()
    for sheet, cell, formula in listed:
        shown, value = book[sheet][cell].value, again_in(files, formula)
        if isinstance(value, str):
            assert isinstance(shown, datetime)
            assert shown.date().isoformat() == value
            continue
        assert isinstance(shown, int | float), (sheet, cell)
        every = (Fraction(1, 100), 1, 100, 1000)
        matching = [one for one in every if shown == pytest.approx(float(value / one))]
        assert matching, (sheet, cell, shown, formula)
        scales.update(matching)
    assert scales >= {1, 100, 1000}


def test_no_figure_is_left_out_of_the_list(content):
    book = opened(content)
    listed = {(sheet, cell) for sheet, cell, _ in traced(book)}
    numbers = {
        (sheet.title, cell.coordinate)
        for sheet in book.worksheets[:-1]
        for row in sheet.iter_rows()
        for cell in row
        if cell.data_type in ("n", "d") and cell.value is not None
    }
    assert numbers == listed


def test_sums_that_a_reviewer_would_check_are_live(content):
    live = formulas(opened(content, values=False))
    assert any(formula.startswith("=SUM(") for formula in live.values())
    bill = [formula for (sheet, _), formula in live.items() if sheet.startswith("10.")]
    assert len(bill) == 1, "the costs; nodes that are rented anew in each quarter are no sum"


def test_text_that_looks_like_a_formula_stays_text(plan):
    name = "=HYPERLINK(1+1)"
    attacked = loads(sealed(dumps(plan).replace('"claims-tune"', json.dumps(name))), "plan.json")
    book = opened(render(justification_document(attacked), name), values=False)
    cells = [
        cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value == name
    ]
    assert cells
    assert {cell.data_type for cell in cells} == {"s"}


def test_the_workbook_links_to_nothing_outside(content):
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        for name in parts.namelist():
            assert b'TargetMode="External"' not in parts.read(name)
