"""How far figures may move before a plan meets a limit, held against plans made beyond it."""

import json
import re
from fractions import Fraction

import pytest

from planner.inputs.load import Question
from planner.inputs.override import Override
from planner.planning.accounts import Accounts
from planner.planning.make import make_plan
from planner.planning.plan_costs import break_evens
from planner.planning.store import dumps
from planner.planning.traced_figures import FigureReader
from planner.reporting.document import Figure
from planner.reporting.documents import justification_document
from planner.reporting.excel import number
from planner.reporting.format import styled
from planner.reporting.html import render
from planner.reporting.traced import RelatedResults
from planner.whatif.sensitivity import analyze_sensitivity
from planner.whatif.variants import VariantPlanner, WorkerConfig
from tests.report.pages import Page, justification
from tests.whatif.conftest import runner_of

SCENARIO = """\
format: 1
name: Close to the edge
horizon: {first_quarter: 2027Q1, quarters: 3, as_of: 2026-11-23}
sites:
  hall:
    power_kw: {2027Q1: 21, 2027Q2: 33}
    rack_units: 20
    racks: {count: 2, units: 12, power_kw: 21}
  barn: {}
fleet:
  own: {node_type: xe9680-h100, count: 1, site: hall}
offers:
  near: {node_type: xe9680-h100, kind: buy, site: hall, price_usd: 300000, quote: Q1,
         lead_time_weeks: 12, maximum: 1, end_of_sale: 2027-01-20}
  far: {node_type: xe9680-h100, kind: buy, site: barn, price_usd: 300000, quote: Q2,
        lead_time_weeks: 14, maximum: 1}
  plus: {node_type: xe9680-h200, kind: buy, site: barn, price_usd: 350000, quote: Q3,
         lead_time_weeks: 12, available: 2027Q3}
  hire: {node_type: xe9680-h100, kind: rent, site: hall, price_usd_per_gpu_hour: 4,
         lead_time_weeks: 2, maximum: 1, available: 2027Q1}
teams:
  a: {quota_gpus: {2027Q1: 20, 2027Q2: 24}}
finance:
  support_share_per_year: 10%
  energy_usd_per_kwh: 0.2
  licence_usd_per_gpu_year: 100
  colocation_usd_per_kw_month: 50
budget:
  capex_usd: {2027Q2: 630000, 2027Q3: 400000}
  opex_usd: {2027Q1: 90000, total: 200000}
  total_usd: {2027Q2: 700000, total: 1400000}
jobs:
  search: {fixed: {gpus: 8}, gpu_types: [h100-80gb-sxm], count: {2027Q1: 2, 2027Q2: 3, 2027Q3: 3},
           team: a, labels: []}
  chat: {fixed: {gpus: 8}, gpu_types: [h200-141gb-sxm], quarters: 2027Q3}
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("edge") / "edge.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def made(file):
    question = Question(file)
    return question, make_plan(question.inputs(), price_choices=False)


@pytest.fixture(scope="module")
def tight(made):
    return made[1]


def test_every_figure_of_the_margins_comes_out_again_from_plan_json(tight):
    page = Page(render(justification_document(tight), "Margins"))
    stored = json.loads(dumps(tight))
    told = page.come_out_again({"": stored})
    assert len(told) > 40
    assert list(page.loose(stored)) == []


def section_6(plan, beside=RelatedResults()):  # noqa: B008 - frozen
    drawn = justification(plan, beside)
    return drawn.partition("## 6.")[2].partition("## 7.")[0]


def test_what_is_left_of_each_limit_is_told_and_of_the_tightest_budget_on_page_1(tight):
    told = section_6(tight)
    page_1 = justification(tight).partition("## 2.")[0]
    assert "| Budget for running cost in 2027Q1, USD | " in page_1
    assert "| Power at hall, kW | 2027Q1 | 20.4 | 21 | 0.6 | 10.2 |" in told
    assert (
        "| Power of the fullest rack at hall, rack 1, kW | 2027Q1 | 20.4 | 21 | 0.6 | – |" in told
    )
    assert "| Rack units at hall | 2027Q1 | 12 | 20 | 8 | 6 |" in told
    assert "| Racks at hall | 2027Q1 | 1 | 2 | 1 | – |" in told
    assert "| Quota of a, GPUs | 2027Q2 | 24 | 24 | 0 | – |" in told
    assert "| Nodes that near gives at a time | 2027Q2 | 1 | 1 | 0 | – |" in told
    assert "| Nodes that hire gives at a time | 2027Q1 | 1 | 1 | 0 | – |" in told
    assert "Nodes that plus gives" not in told
    drawn = justification(tight)
    assert ", offer hire | hall | 2027Q1 | 70,080 | 25 |  |" in drawn
    assert ", offer far | barn | 2027Q2 | 300,000 | 31 |  |" in drawn
    assert ", offer near | hall | 2027Q2 | 300,000 | 45 | 13 |" in drawn
    assert ", offer plus | barn | 2027Q3 | 350,000 | 136 |  |" in drawn


@pytest.fixture(scope="module")
def moved(file):
    runner = runner_of(VariantPlanner(WorkerConfig(file)))
    return analyze_sensitivity(runner, precision=Fraction(1, 20))


def test_page_1_tells_the_turns_that_planning_anew_has_found(tight, moved):
    beside = RelatedResults(sensitivity=moved)
    turns = [turn.after.by for one in moved.swings if one.unit == "share" for turn in one.turns]
    near = min(map(abs, turns))
    page_1 = justification(tight, beside).partition("## 2.")[0]
    assert "planned anew, the plan turns: " in page_1
    assert f" {styled(Fraction(repr(near)), 'margin')} |" in page_1.replace("| -", "| +")
    (late,) = (one for one in moved.swings if one.name == "lead times")
    assert [turn.after.by for turn in late.turns if turn.after.by > 0] == [4]
    told = section_6(tight, beside)
    assert re.search(r"\| lead times \| 3 weeks \| 4 weeks \|.* no plan", told)
    assert "no plan exists with" in told


def test_a_node_stays_cheaper_to_buy_while_its_price_moves_by_less_than_told(tmp_path):
    """Told of what is bought beside a rent, and true of the inputs at the ends of that range."""
    path = tmp_path / "rented.yaml"
    budget = SCENARIO[SCENARIO.index("budget:") : SCENARIO.index("jobs:")]
    path.write_text(SCENARIO.replace(budget, ""), encoding="utf-8")
    question = Question(path)
    inputs = question.inputs()
    plan = make_plan(inputs, price_choices=False)
    (one,) = {(one.offer, one.rent) for one in plan.break_evens if one.offer == "far"}
    accounts = Accounts(plan, FigureReader(plan))
    turns = accounts.price_turns()
    for name, by in ((name, turns[name].value) for name in one):
        offer = inputs.scenario.offers[name]
        listed = inputs.catalog.prices.listed(offer.kind, offer.node_type)
        price = offer.stated_price or (listed.usd if listed else 0)
        asked = f"offers.{name}.{offer.price_key}={float(Fraction(price) * (1 + by)):.6f}"
        again = next(
            other
            for other in break_evens(
                question.inputs((), (Override.parse(asked),)), plan.acquisitions
            )
            if other.offer == "far"
        )
        assert abs(again.buy_cents - again.rent_cents) < 10
    told = section_6(plan)
    assert "| renting a node that is used in all hours is cheaper than buying it |" in told


def test_what_is_not_bought_has_no_margin(tmp_path):
    """Break-evens are told of offers that the plan leaves, too; these end no plan."""
    path = tmp_path / "left.yaml"
    text = SCENARIO.replace("maximum: 1}\n  plus", "maximum: 9}\n  plus")
    path.write_text(text.replace("barn, price_usd: 300000", "barn, price_usd: 299000"), "utf-8")
    plan = make_plan(Question(path).inputs(), price_choices=False)
    bought = {line.offer for line in plan.acquisitions if line.kind == "buy"}
    assert {one.offer for one in plan.break_evens} > bought & {"near", "far"}
    left = {one.offer for one in plan.break_evens} - bought
    table = section_6(plan).partition("Prices, the nearest first")[2].partition("Limits")[0]
    assert left
    assert not any(name in table for name in left)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (Fraction(50_999, 10**6), "+5.0 %"),
        (Fraction(-48_599, 10**5), "-48.5 %"),
        (Fraction(9, 10**4), "0.0 %"),
        (Fraction(0), "0.0 %"),
        (Fraction(1_000_999, 10**5), "+1,000.9 %"),
    ],
)
def test_a_margin_is_cut_off_and_never_rounded_up(share, text):
    assert styled(share, "margin") == text
    shown = number(Figure(share, "margin", ""))
    assert shown is not None
    assert abs(shown) <= abs(share)
    assert f"{abs(shown) * 100:,.1f} %" == text.lstrip("+-")
