"""Every total is what stands above it, and one figure is the same on every page."""

import io
import re
from fractions import Fraction

import pytest
from openpyxl import load_workbook

import planner
from planner.reporting import excel
from planner.reporting.document import Figure, Fold, Table, cell_text
from planner.reporting.documents import justification_document, quarterly_document
from planner.reporting.sections.options import cheaper_text, is_cheaper
from tests.report.pages import justification, quarterly
from tests.stated import changed

ADDED_ANEW = ("rate", "share", "per_cent", "margin")
"""Styles of figures of which a sum is no sum: prices of a unit, and shares."""
SUBTOTALS = ("All that is paid", "Sum", "All pools")
"""First cells of rows that are sums of rows above them."""
BY_THE_TOKEN = """
format: 1
name: By the token and by the hour
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-11-23}
fleet:
  old: {node_type: xe9680-h100, count: 1}
offers:
  hire: {node_type: xe9680-h100, kind: hourly, price_usd_per_gpu_hour: 4.1}
  box: {node_type: xe9680-h100, kind: buy}
apis:
  hosted:
    model: llama-3.1-70b
    usd_per_million_input_tokens: 0.6
    usd_per_million_output_tokens: 0.8
jobs:
  chat: {fixed: {gpus: 8}}
  rare:
    serve:
      model: llama-3.1-70b
      bits: 8
      load: {requests_per_second: 0.05, input_tokens: 800, output_tokens: 200}
    api: allowed
  tune: {fixed: {gpus: 4}, run: {hours: 10}}
"""


@pytest.fixture(scope="module", params=["shipped", "short", "by the token", "data-centre"])
def priced(request, plan, short):
    """Plans that buy and rent, that leave jobs out, on APIs and by the hour, at two sites."""
    if request.param == "by the token":
        return planner.plan(BY_THE_TOKEN)._plan
    if request.param == "data-centre":
        return planner.plan("scenarios/data-centre.yaml")._plan
    return {"shipped": plan, "short": short}[request.param]


def tables(document):
    for block in document:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Fold):
            yield from tables(block.blocks)


def totals(table):
    """Title, the figures of a column, and its total."""
    rows = [row for row in table.rows if cell_text(row[0]) not in SUBTOTALS]
    for column, summed in zip(table.columns, table.footer, strict=bool(table.footer)):
        cells = [row[table.columns.index(column)] for row in rows]
        figures = [cell for cell in cells if isinstance(cell, Figure)]
        if isinstance(summed, Figure) and summed.style not in ADDED_ANEW:
            yield column.title, figures, summed


@pytest.mark.parametrize("make", [justification_document, quarterly_document])
def test_every_total_is_the_sum_of_what_stands_above_it(priced, make):
    found = 0
    for table in tables(make(priced)):
        if cell_text(table.footer[0] if table.footer else "") == "Present value":
            continue  # discounted, of quarters that are not
        for title, figures, summed in totals(table):
            found += 1
            assert sum((one.value for one in figures), Fraction(0)) == summed.value, title
    assert found > 5


def test_page_1_has_the_money_of_all_other_pages(priced):
    page = list(tables(justification_document(priced)))
    orders = next((one for one in page if one.columns[0].title == "Order by"), None)
    money = next(one for one in page if one.columns[0].title == "USD")
    options = next(one for one in page if one.columns[0].title == "Option")
    cost = next(one for one in page if one.columns[0].title == "Quarter" and one.footer)
    bill = next((one for one in page if one.columns[0].title == "Offer" and one.footer), None)
    net = money.footer[-1]
    assert net.value == priced.proof.cost_cents
    assert net.text == options.rows[0][2].text == cost.footer[-1].text
    assert money.footer[-2].text == cost.rows[-1][-1].text
    if orders is not None:
        (summed,) = (cell.text for cell in orders.footer if isinstance(cell, Figure))
        assert bill is not None
        assert summed in [cell_text(cell) for cell in bill.footer]


@pytest.mark.parametrize("make", [justification_document, quarterly_document])
def test_what_is_held_in_cents_is_shown_in_dollars(priced, make):
    cells = [cell for table in tables(make(priced)) for row in table.rows for cell in row]
    amounts = [one for one in cells if isinstance(one, Figure) and "cents" in one.sum]
    assert len(amounts) > 10
    assert "count" not in {one.style for one in amounts}


def test_what_is_paid_by_the_hour_is_the_hours_times_their_price_as_shown():
    (bill,) = (
        table
        for table in tables(justification_document(planner.plan(BY_THE_TOKEN)._plan))
        if table.columns[0].title == "Offer" and table.footer
    )
    found = [dict(zip([one.title for one in bill.columns], row, strict=True)) for row in bill.rows]
    by_the_hour = [row for row in found if "node-hours" in cell_text(row["Nodes"])]
    assert by_the_hour
    for row in by_the_hour:
        hours, each, total = (
            float(cell_text(row[title]).split()[0].replace(",", ""))
            for title in ("Nodes", "Each, USD", "Total, USD")
        )
        assert abs(hours * each - total) < 1


def test_every_formula_of_the_workbook_comes_to_what_it_shows(priced):
    file = excel.render(justification_document(priced), "Totals")
    formulas, shown = (load_workbook(io.BytesIO(file), data_only=known) for known in (False, True))
    found = 0
    for sheet in formulas.worksheets[:-1]:
        values = shown[sheet.title]
        for cell in (cell for row in sheet.iter_rows() for cell in row if cell.data_type == "f"):
            found += 1
            formula = str(cell.value)
            if formula.startswith("=SUM("):
                summed = sum(one.value for (one,) in values[formula[5:-1]])
            else:
                terms = re.findall(r"([=+-])([A-Z]+\d+)", formula)
                assert "".join(map("".join, terms)) == formula
                summed = sum(values[at].value * (-1 if sign == "-" else 1) for sign, at in terms)
            assert summed == pytest.approx(values[cell.coordinate].value, abs=1e-6)
    assert found > 3


def test_units_on_an_api_are_asked_for_and_its_illustrative_price_is_named():
    plan = planner.plan(BY_THE_TOKEN)._plan
    drawn = justification(plan)
    assert re.search(r"\| rare \| serving of [^|]* \| 1 \| 1 \|\n", drawn)
    assert "`hosted` are illustrative, not quotes" in drawn.partition("## 2.")[0]


def test_a_pool_is_full_where_only_its_spare_nodes_are_free(plan):
    (first, *others), after = plan.pools, plan.quarters[-1]
    each = next(one.gpus for one in plan.node_types if one.node_type == first.node_type)
    kept = changed(
        first,
        nodes_spare=tuple(1 for _ in plan.quarters),
        gpus_used=tuple(gpus - each for gpus in first.gpus),
    )
    drawn = quarterly(changed(plan, pools=(kept, *others)))
    told = f"{first.node_type} @ {first.site}: no GPU beside its spare nodes is free all quarter"
    assert f"{told} in {plan.quarters[0]}–{after[-2:]}; jobs hold at least " in drawn
    assert f"{told} " not in quarterly(plan)


def test_an_option_that_keeps_more_for_as_much_is_warned_of(beside):
    found = beside.alternatives
    fewer = changed(
        found.others[0].figures, cost_cents=found.cheapest.cost_cents, short=(), dropped=()
    )
    more = changed(found.cheapest, short=("chat",), dropped=("chat",))
    one = changed(found.others[0], figures=fewer)
    assert is_cheaper(fewer, more)
    assert not is_cheaper(more, fewer)
    assert not is_cheaper(fewer, fewer)
    assert cheaper_text(one, more).startswith(
        f"There is a way to keep more for as much: {one.name}"
    )
