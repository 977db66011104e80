"""A comparison as people read it."""

import re
from fractions import Fraction

import pytest

from planner.planning.plan import NodeRelease
from planner.planning.store import Saved
from planner.reporting import markdown
from planner.reporting.document import Fields, Figure
from planner.reporting.sections.variants import OPEN, changes_since, comparison_document
from planner.reporting.terminal import TerminalOptions, render
from planner.whatif.actuals import PlannedAndActual
from planner.whatif.compare import compare_plans
from tests.report.conftest import QUESTION, never
from tests.stated import changed


def test_the_comparison_is_drawn_as_before(compared, golden):
    golden("compare-80.txt", render(comparison_document(compared, 40), TerminalOptions(80)))
    golden("compare.md", markdown.render(comparison_document(compared, 1000)))


def test_what_is_cut_is_counted(compared):
    inputs = compared.inputs * 5
    text = markdown.render(comparison_document(changed(compared, inputs=inputs), 4))
    assert "11 more rows, all of them in compare.json" in text


def test_reservations_of_one_node_type_are_told_apart_by_their_terms(plan):
    line = changed(plan.acquisitions[0], kind="reserve")
    terms = (
        changed(line, offer=name, term_quarters=term) for name, term in (("one", 4), ("three", 12))
    )
    other = changed(plan, acquisitions=tuple(terms))
    before, after = (Saved("plan.json", one, QUESTION, None, "old") for one in (plan, other))
    told = markdown.render(comparison_document(compare_plans(before, after, never), 40))
    assert told.count("reserve for 1 year |") == told.count("reserve for 3 years |") == 1


def test_nodes_that_are_sold_or_switched_off_stand_among_the_purchases(plan):
    sold = NodeRelease(
        action="sell",
        entry="east",
        node_type="xe9680-h100",
        product="PowerEdge XE9680",
        gpu_type="h100-80gb-sxm",
        gpus_per_node=8,
        site="dc-east",
        quarter="2027Q2",
        count=2,
        unit_price_cents=90_000_00,
        total_cents=180_000_00,
        saved_cents=0,
        present_cents=180_000_00,
    )
    off = changed(sold, action="switch off", count=1, total_cents=0)
    other = changed(plan, releases=(sold, off))
    before, after = (Saved("plan.json", one, QUESTION, None, "old") for one in (plan, other))
    told = markdown.render(comparison_document(compare_plans(before, after, never), 40))
    assert "| + | 2027Q2 | sell | xe9680-h100 @ dc-east | 0 | 2 | 0 | -180,000 | -180,000 |" in told
    assert "| + | 2027Q2 | switch off | xe9680-h100 @ dc-east | 0 | 1 | 0 | 0 | 0 |" in told


def test_why_causes_are_not_told_apart_is_said(plan):
    side = Saved("last.json", plan, QUESTION, None, "last.json is old")
    other = Saved("now.json", changed(plan, warnings=()), QUESTION, None)
    text = markdown.render(comparison_document(compare_plans(side, other, never), 40))
    assert "Not told apart by cause: last.json is old." in text


def test_the_forecast_error_weighs_differences_by_what_came(compared):
    def error(*pairs):
        demand = tuple(
            PlannedAndActual(quarter="2027Q1", name="chat", planned=planned, actual=actual)
            for planned, actual in pairs
        )
        told = changes_since(changed(compared, demand=demand))
        found = [row for block in told if isinstance(block, Fields) for row in block.rows]
        return [cell.value for _, cell in found if isinstance(cell, Figure)]

    assert error((6, 8), (4, 2)) == [Fraction(4, 10)]
    assert error((5, 5), (7, None), (None, 3)) == [0]
    assert error((5, 0)) == error() == []


# As a comment on a pull request


def commented(compared):
    return markdown.comment(comparison_document(compared, 10**9), OPEN, "elsewhere.")


@pytest.mark.parametrize("most", [1, 30, 2_000])
def test_a_comment_keeps_within_the_limit_and_says_what_it_leaves_out(compared, most):
    names = [f"jobs.{'ä|<' * 30}{number}.count" for number in range(most)]
    inputs = tuple(changed(compared.inputs[0], path=name) for name in names)
    bought = compared.purchases * most
    warned = ("w" * 900,) * most
    changes = {"inputs": inputs, "purchases": bought, "warnings_new": warned}
    text = commented(changed(compared, **changes))
    assert len(text.encode()) <= markdown.MOST_BYTES
    left = [int(one.replace(",", "")) for one in re.findall(r"… ([\d,]+) more row", text)]
    assert len(left) == (3 if most > 30 else 0)
    assert all(count < most for count in left)
    assert text.count("<details>") == text.count("</details>") == 7


def test_no_name_refers_to_an_issue_or_a_person(compared):
    change = changed(compared.inputs[0], path="jobs.#12 of @ann.count")
    text = commented(changed(compared, inputs=(change,)))
    assert "&#35;12 of &#64;ann" in text
