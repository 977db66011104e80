"""How far figures may move before a plan meets a limit, held against plans made beyond it."""

import json
import re
from fractions import Fraction

import pytest

from planner.errors import InfeasibleError
from planner.inputs.load import Question
from planner.inputs.override import Override
from planner.planning.accounts import Accounts
from planner.planning.make import make_plan
from planner.planning.plan import BudgetUse
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
from tests.report.sums import again
from tests.stated import changed
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


def found(plan):
    accounts = Accounts(plan, FigureReader(plan))
    return {
        (price.kind, price.node_type): accounts.met_by_rise(price) for price in accounts.prices()
    }


def test_each_price_is_held_against_each_budget_that_it_counts_in(tight):
    met = found(tight)
    assert {line.offer for line in tight.acquisitions} == {"near", "far", "plus", "hire"}
    h100, h200 = met["buy", "xe9680-h100"], met["buy", "xe9680-h200"]
    assert h100.by.value == Fraction(30_000, 600_000)
    assert tight.budgets[h100.budget].quarter == "2027Q2"
    assert h200.by.value == Fraction(50_000, 350_000)
    every = met["buy", None]
    assert every.by.value == h100.by.value, "all together meet what the nearest of them meets"
    rent = 8 * 4 * 2190
    spent = next(one for one in tight.budgets if (one.spend, one.quarter) == ("opex", "2027Q1"))
    assert met["rent", "xe9680-h100"].by.value == Fraction(
        spent.limit_cents - spent.spent_cents, rent * 100
    )
    assert {kind for kind, _ in met} == {
        *("buy", "rent", "support", "energy", "licence", "colocation"),
    }


def repriced(question, plan, kind, node_type, times):
    """Settings that move the prices of the offers that a row names."""
    offers = question.inputs().scenario.offers
    for name in sorted({line.offer for line in plan.acquisitions}):
        offer = offers[name]
        if offer.kind == kind and node_type in (None, offer.node_type):
            price = Fraction(offer.stated_price) * times
            yield Override.parse(f"offers.{name}.{offer.price_key}={float(price):.7f}")
    for key, cost in (
        ("support_share_per_year", "support"),
        ("energy_usd_per_kwh", "energy"),
        ("licence_usd_per_gpu_year", "licence"),
        ("colocation_usd_per_kw_month", "colocation"),
    ):
        if kind == cost:
            value = Fraction(getattr(question.inputs().scenario.finance, key)) * times
            yield Override.parse(f"finance.{key}={float(value):.9f}")


def test_no_margin_is_larger_than_the_smallest_cliff(made):
    """A little before each of them there is a plan, and a little beyond it this plan is none.

    Whatever the scenario allows, it allows by one way alone, so that beyond there is no plan.
    """
    question, plan = made
    tried = 0
    for (kind, node_type), meets in found(plan).items():
        assert meets is not None
        assert meets.budget is not None
        for by, holds in ((-1, True), (1, False)):
            times = 1 + meets.by.value + Fraction(by, 10**5)
            settings = tuple(repriced(question, plan, kind, node_type, times))
            assert settings
            inputs = question.inputs((), settings)
            if holds:
                again = make_plan(inputs, price_choices=False)
                assert [(line.offer, line.quarter, line.count) for line in again.acquisitions] == [
                    (line.offer, line.quarter, line.count) for line in plan.acquisitions
                ]
            else:
                with pytest.raises(InfeasibleError):
                    make_plan(inputs, price_choices=False)
            tried += 1
    assert tried == 2 * len(found(plan)) >= 16


def test_every_figure_of_the_margins_comes_out_again_from_plan_json(tight):
    page = Page(render(justification_document(tight), "Margins"))
    stored = json.loads(dumps(tight))
    told = page.come_out_again({"": stored})
    assert len(told) > 40
    assert list(page.loose(stored)) == []


def section_6(plan, beside=RelatedResults()):  # noqa: B008 - frozen
    drawn = justification(plan, beside)
    return drawn.partition("## 6.")[2].partition("## 7.")[0]


def test_a_price_that_breaks_a_budget_says_which(tight):
    told = section_6(tight)
    row = "| Price of xe9680-h100, bought (far and near) | +5.0 % |"
    row += " exceeds the budget for capital in 2027Q2 | 30,000 |"
    assert f"{row}\n" in told
    assert "| All prices of what is bought, together | +5.0 % | exceeds the budget for cap" in told
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
    assert "may be dearer by" not in told


@pytest.fixture(scope="module")
def moved(file):
    runner = runner_of(VariantPlanner(WorkerConfig(file)))
    return analyze_sensitivity(runner, precision=Fraction(1, 20))


def test_page_1_leaves_out_values_that_would_have_to_more_than_double(tight, moved):
    drawn = justification(tight, RelatedResults(sensitivity=moved))
    page_1 = drawn.partition("## 2.")[0]
    assert "What would flip the decision" in page_1
    assert "| Price of energy | +101.1 % |" in drawn
    assert "+101.1 %" not in page_1


def test_a_limit_that_comes_before_a_turn_is_the_margin_and_turns_stand_below(tight, moved):
    told = section_6(tight, RelatedResults(sensitivity=moved))
    (row,) = re.findall(r"\| Price of xe9680-h200, bought \(plus\) \|(.*)\|\n", told)
    assert row == " +14.2 % | exceeds the budget for capital in 2027Q3 | 50,000 "
    energy = "| Price of energy | +101.1 % | exceeds the budget for running cost in all | 38,790 |"
    assert f"{energy}\n" in told
    every = "| All prices of what is bought, together | +5.0 % | "
    every += "exceeds the budget for capital in 2027Q2 | 30,000"
    assert f"{every} |\n" in told
    (late,) = (one for one in moved.swings if one.name == "lead times")
    assert [turn.after.by for turn in late.turns if turn.after.by > 0] == [4]
    assert re.search(r"\| lead times \| 3 weeks \| 4 weeks \|.* no plan", told)
    assert "no plan exists with" in told


def test_a_turn_that_comes_before_a_limit_is_the_margin(tight, moved):
    place, swing = next(
        (place, one) for place, one in enumerate(moved.swings) if one.name == "price of plus"
    )
    (turn,) = swing.turns
    figures = turn.before.figures
    sooner = changed(turn, after=changed(turn.after, by=0.0312, figures=figures))  # fmt: skip
    swings = list(moved.swings)
    swings[place] = changed(swing, turns=(sooner,))
    turning = changed(moved, swings=tuple(swings))
    beside = RelatedResults(sensitivity=turning)
    told = section_6(tight, beside)
    row = "| Price of xe9680-h200, bought (plus) | +3.1 % | planned anew, the plan turns: anoth"
    assert row in told
    page = Page(render(justification_document(tight, beside), "Turn"))
    figure, *others = [one for one in page.figures if one.text == "+3.1 %"]
    assert {one.sum for one in others} <= {figure.sum}
    stored = json.loads(turning.model_dump_json())
    assert again(stored, figure.sum.removeprefix("sensitivity.json: ")) == Fraction("0.0312")


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
    prices = {(price.kind, price.node_type): price for price in accounts.prices()}
    up = accounts.met_by_rise(prices["buy", "xe9680-h100"])
    down = accounts.met_by_fall(prices["rent", "xe9680-h100"])
    assert up is not None
    assert down is not None
    for name, by in zip(one, (up.by.value, down.by.value), strict=True):
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
    assert "| renting a node that is used in all hours is cheaper than buying it | – |" in told


def test_what_is_not_bought_has_no_margin(tmp_path):
    """Break-evens are told of offers that the plan leaves, too; these end no plan."""
    path = tmp_path / "left.yaml"
    text = SCENARIO.replace("maximum: 1}\n  plus", "maximum: 9}\n  plus")
    path.write_text(text.replace("barn, price_usd: 300000", "barn, price_usd: 299000"), "utf-8")
    plan = make_plan(Question(path).inputs(), price_choices=False)
    bought = {line.offer for line in plan.acquisitions if line.kind == "buy"}
    assert {one.offer for one in plan.break_evens} > bought & {"near", "far"}
    left = {one.offer for one in plan.break_evens} - bought
    table = section_6(plan).partition("Prices, the nearest limit first")[2].partition("Limits")[0]
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


def test_reservations_are_held_against_the_quarters_in_which_they_are_paid(plan):
    line = changed(
        plan.acquisitions[1], kind="reserve", term_quarters=4, unit_price_cents=1_000_00, count=2
    )
    budget = {"spend": "opex", "limit_cents": 100_000_00, "spent_cents": 96_000_00}
    uses = [{"quarter": quarter, **budget} for quarter in ("2027Q1", "2027Q2", None)]
    reserved = changed(
        plan, acquisitions=(line,), budgets=tuple(BudgetUse.model_validate(use) for use in uses)
    )
    met = found(reserved)["reserve", "xe9680-h200"]
    assert met.by.value == 1, "over the horizon, two quarters of two nodes"
    assert reserved.budgets[met.budget].quarter is None
    assert again(json.loads(dumps(reserved)), met.by.sum) == 1
