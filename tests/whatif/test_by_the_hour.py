"""Nodes by the hour in what-if: they are there for whoever needs them, and no server of ours."""

import pytest

from planner.inputs.override import Override
from planner.whatif.risk import read_futures
from planner.whatif.shortfall import commitments, short_quarters
from planner.whatif.variants import Variant
from tests.whatif.conftest import planner_of

SCENARIO = """\
format: 1
name: A run by the hour beside endpoints
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-11-23}
fleet: {hall: {node_type: xe9680-h100, count: 1}}
offers:
  buy: {node_type: xe9680-h100, kind: buy, lead_time_weeks: 12}
  cloud: {node_type: xe9680-h100, kind: hourly}
jobs:
  chat: {fixed: {gpus: 4}, count: {2027Q1: 1, 2027Q2: 3}}
  tuning: {fixed: {gpus: 8}, run: {hours: 20}}
"""


@pytest.fixture
def planner(tmp_path):
    return planner_of(tmp_path, SCENARIO)


def test_runs_that_go_to_the_cloud_do_not_make_a_quarter_fall_short(planner):
    inputs = planner.inputs(Variant())
    plan = planner.plan(inputs)
    assert {node.entry for node in plan.nodes if node.hours} == {"cloud"}
    bought = commitments(plan)
    assert [(one.entry, one.quarters) for one in bought] == [("buy", ("2027Q2",))]
    assert short_quarters(planner.request(inputs), bought) == ()
    assert short_quarters(planner.request(inputs), ()) == ("2027Q2",)
    without = planner.inputs(Variant((), (Override.parse("offers.cloud.maximum_gpus=0"),)))
    assert short_quarters(planner.request(without), bought) == ("2027Q1", "2027Q2")


def test_a_late_delivery_is_what_falls_short(planner, tmp_path):
    text = "format: 1\nscenario: scenario.yaml\n"
    text += "uncertain: {late: {plus: [0, 1, 9], of: [offers.*.lead_time_weeks]}}\n"
    (tmp_path / "futures.yaml").write_text(text, encoding="utf-8")
    futures = read_futures(tmp_path / "futures.yaml")
    bought = commitments(planner.plan(planner.inputs(Variant())))
    for one in futures.drawn(planner, 6):
        inputs = planner.inputs(one)
        in_time = next(offer for offer in inputs.offers if offer.name == "buy").lead_time_weeks < 19
        short = short_quarters(planner.request(inputs), bought)
        assert short == (() if in_time else ("2027Q2",))


def test_what_comes_a_quarter_late_falls_short_in_that_quarter_alone(tmp_path):
    text = SCENARIO.replace("quarters: 2", "quarters: 3")
    planner = planner_of(tmp_path, text)
    bought = commitments(planner.plan(planner.inputs(Variant())))
    assert [one.quarters for one in bought] == [("2027Q2", "2027Q3")]
    late = planner.inputs(Variant((), (Override.parse("offers.buy.lead_time_weeks=+10"),)))
    assert short_quarters(planner.request(late), bought) == ("2027Q2",)


def test_without_a_day_of_the_plan_hours_can_be_ordered_within_the_horizon(tmp_path):
    """Two weeks before the second quarter is a day of the first, on which orders begin."""
    text = """
format: 1
name: Hours
horizon: {first_quarter: 2027Q1, quarters: 2}
offers:
  cloud: {node_type: xe9680-h100, kind: hourly, price_usd_per_gpu_hour: 5, lead_time_weeks: 2}
jobs:
  tuning: {fixed: {gpus: 8}, run: {hours: 100}, quarters: 2027Q2}
"""
    planner = planner_of(tmp_path, text)
    assert short_quarters(planner.request(planner.inputs(Variant())), ()) == ()


def test_nodes_that_the_plan_sells_are_not_there_for_more_demand(tmp_path):
    text = """
format: 1
name: Sold
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-10-01}
fleet:
  own: {node_type: xe9680-h100, count: 4, sale: {price_usd: 200000}}
offers:
  rent: {node_type: xe9680-h100, kind: rent}
jobs:
  job: {fixed: {gpus: 8}, count: {2027Q1: 1, 2027Q2: 1}}
"""
    planner = planner_of(tmp_path, text)
    plan = planner.plan(planner.inputs(Variant()))
    assert any(node.sold for node in plan.nodes)
    more = planner.inputs(Variant((), (Override.of(("jobs", "job", "count", "2027Q2"), 2),)))
    assert short_quarters(planner.request(more), commitments(plan)) == ("2027Q2",)
    assert short_quarters(planner.request(more), ()) == ()
