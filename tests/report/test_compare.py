"""A comparison as people read it."""

from fractions import Fraction

import pytest

from planner.reporting import markdown
from planner.reporting.document import Fields, Figure
from planner.reporting.sections.comparison import changes_since, comparison_document
from planner.reporting.terminal import TerminalOptions, render
from planner.whatif.comparison.actuals import PlannedAndActual
from planner.whatif.comparison.compare import compare
from planner.whatif.comparison.sides import Side
from tests.report.conftest import never


@pytest.mark.parametrize("width", [80, 120])
def test_the_comparison_is_drawn_as_before(compared, golden, width):
    golden(
        f"compare-{width}.txt", render(comparison_document(compared, 40), TerminalOptions(width))
    )


def test_the_comparison_in_markdown_is_drawn_as_before(compared, golden):
    golden("compare.md", markdown.render(comparison_document(compared, 1000)))


def test_what_is_cut_is_counted(compared):
    inputs = compared.inputs * 5
    text = markdown.render(comparison_document(compared.model_copy(update={"inputs": inputs}), 4))
    assert "11 more rows, all of them in compare.json" in text


@pytest.mark.parametrize("width", [20, 40, 60, 200])
def test_no_line_of_a_comparison_is_wider_than_the_page(compared, width):
    text = render(comparison_document(compared, 40), TerminalOptions(width, unicode=False))
    assert max(map(len, text.splitlines())) <= width
    assert text.isascii()


def test_reservations_of_one_node_type_are_told_apart_by_their_terms(plan):
    line = plan.acquisitions[0].model_copy(update={"kind": "reserve"})
    terms = (
        line.model_copy(update={"offer": name, "term_quarters": term})
        for name, term in (("one", 4), ("three", 12))
    )
    other = plan.model_copy(update={"acquisitions": tuple(terms)})
    before, after = (Side("plan.json", one, None, None, "old") for one in (plan, other))
    told = markdown.render(comparison_document(compare(before, after, never), 40))
    assert told.count("reserve for 1 year |") == told.count("reserve for 3 years |") == 1


def test_why_causes_are_not_told_apart_is_said(plan):
    side = Side("last.json", plan, None, None, "last.json is old")
    other = Side("now.json", plan.model_copy(update={"warnings": ()}), None, None)
    text = markdown.render(comparison_document(compare(side, other, never), 40))
    assert "Not told apart by cause: last.json is old." in text
    assert "does not record its scenario, so its inputs are not compared" in text


def test_the_forecast_error_weighs_differences_by_what_came(compared):
    def error(*pairs):
        demand = tuple(
            PlannedAndActual(quarter="2027Q1", name="chat", planned=planned, actual=actual)
            for planned, actual in pairs
        )
        told = changes_since(compared.model_copy(update={"demand": demand}))
        found = [row for block in told if isinstance(block, Fields) for row in block.rows]
        return [cell.value for _, cell in found if isinstance(cell, Figure)]

    assert error((6, 8), (4, 2)) == [Fraction(4, 10)]
    assert error((5, 5), (7, None), (None, 3)) == [0]
    assert error((5, 0)) == error() == []
