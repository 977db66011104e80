"""One figure at a time, and where the recommendation turns."""

from fractions import Fraction
from math import inf
from xml.etree import ElementTree

import pytest

import planner as public
from planner.inputs.override import Override
from planner.reporting.markdown import render
from planner.reporting.pictures import drawn as svg_of
from planner.reporting.sections.sensitivity import sensitivity_document, tornado
from planner.whatif.sensitivity import analyze_sensitivity, uncertain_figures
from planner.whatif.variants import Variant
from tests.stated import changed
from tests.whatif.conftest import planner_of, runner_of

SCENARIO = """\
format: 1
name: Turns <&>
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-12-01}
offers:
  h100: {node_type: xe9680-h100, kind: buy, price_usd: 300000, quote: Q1, maximum: 9}
  h200.v2: {node_type: xe9680-h200, kind: buy, price_usd: 331000, quote: Q2, maximum: 9,
            price_breaks: [{from_nodes: 5, price_usd: 320000}]}
  bridge: {node_type: xe9680-h100, kind: rent, price_usd_per_gpu_hour: 40, lead_time_weeks: 3}
finance: {energy_usd_per_kwh: 0, support_share_per_year: 0}
jobs:
  search: {fixed: {gpus: 8}, growth_per_quarter: 100%}
"""


@pytest.fixture(scope="module")
def planner(tmp_path_factory):
    return planner_of(tmp_path_factory.mktemp("turns"), SCENARIO)


@pytest.fixture(scope="module")
def found(planner):
    return analyze_sensitivity(runner_of(planner))


@pytest.fixture(scope="module")
def picture(found):
    (drawn,) = tornado(found)
    return svg_of(drawn)


def swing(found, name):
    (one,) = (one for one in found.swings if one.name == name)
    return one


def test_a_turn_encloses_the_price_at_which_both_servers_cost_the_same(planner, found):
    (turn,) = swing(found, "price of h100").turns
    assert turn.before.figures.acquired == found.base.acquired
    assert {one.offer for one in turn.after.figures.acquired} == {"h200.v2"}
    alike = 331 / 300 - 1  # nothing but their prices tells them apart
    assert turn.before.by < alike < turn.after.by
    assert turn.after.by - turn.before.by <= 0.01
    unpaid = swing(found, "price of bridge")
    assert unpaid.low.figures == unpaid.high.figures == found.base
    assert unpaid.turns == ()
    spreads = [one.spread_cents for one in found.swings]
    assert spreads == sorted(spreads, reverse=True)


def test_each_plan_is_the_one_that_its_settings_make(planner, found):
    for one in found.swings:
        for moved in (one.low, one.high, *(end for t in one.turns for end in (t.before, t.after))):
            assert planner.figures(Variant((), moved.settings)) == moved.figures
            assert moved.figures.result in ("proved", "infeasible")


TIGHT = """\
format: 1
name: Tight
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-12-01}
offers:
  bridge: {node_type: xe9680-h100, kind: rent, price_usd_per_gpu_hour: 4, lead_time_weeks: 3}
budget: {opex_usd: {total: 160000}}
finance: {discount_rate_per_year: 8%}
jobs:
  search: {fixed: {gpus: 8}}
"""


@pytest.fixture(scope="module")
def tight(tmp_path_factory):
    """Two figures leave no plan: dearer rents by 14 %, and delivery a little later."""
    planner = planner_of(tmp_path_factory.mktemp("tight"), TIGHT)
    return analyze_sensitivity(runner_of(planner))


def test_no_plan_is_the_widest_swing_of_all(tight):
    assert [one.name for one in tight.swings[:3]] == [
        "lead times",
        "price of bridge",
        "discount rate",
    ]
    (turn,) = tight.swings[0].turns
    assert (turn.before.by, turn.after.by) == (1, 2), "from one week to the next"
    assert turn.before.figures.acquired == tight.base.acquired
    (late,), (dear,) = (one.without_plan for one in tight.swings[:2])
    assert (late.by, dear.by) == (2, pytest.approx(0.14375))
    assert late.figures.cost_cents is dear.figures.cost_cents is None
    assert tight.swings[1].low.figures.cost_cents is not None


def test_the_headline_says_what_leaves_no_plan_before_what_moves_the_cost(tight):
    drawn = render(sensitivity_document(tight))
    told = "; no plan exists with lead times 2 weeks later or price of bridge +14.4 % ($4.575); "
    assert f"proved{told}of the others, it moves most with discount rate, by $" in drawn
    assert "| price of bridge | $4 per GPU-hour | -27,765 | no plan | no plan |" in drawn
    assert "| price of bridge | 13.8 % | 14.4 % | $4.575 | no plan: opex in" in drawn


def test_an_end_without_a_plan_is_drawn_to_the_edge(tight):
    (drawn,) = tornado(tight)
    assert drawn.rows[1][2] == (inf, "no plan, up")
    svg = ElementTree.fromstring(svg_of(drawn))
    bars = {str(title.text): bar for bar in svg.iter("rect") for title in bar}
    none, dearer = bars["price of bridge: no plan, up"], bars["discount rate: +$257, down"]
    assert float(none.attrib["width"]) > float(dearer.attrib["width"])
    assert none.attrib["fill"] != dearer.attrib["fill"]
    assert "An end without a plan reaches to the edge." in drawn.says


def test_a_plan_that_was_not_found_in_time_is_not_said_not_to_exist(tight):
    late, *others = tight.swings
    late_ends = changed(late.high.figures, result="no plan in time")
    turn = changed(late.turns[0], after=changed(late.high, figures=late_ends))
    unknown = changed(late, turns=(turn,), high=turn.after)
    drawn = render(sensitivity_document(changed(tight, swings=(unknown, *others))))
    assert "; no plan was found at some values of lead times; " in drawn
    assert "no plan exists with price of bridge" in drawn


def test_growth_is_moved_for_all_jobs_that_grow_and_price_breaks_with_their_price(planner):
    by_name = {figure.name: figure for figure in uncertain_figures(planner.inputs(Variant()))}

    def moved(name, by):
        return tuple(map(str, by_name[name].settings(by)))

    assert moved("growth of demand", Fraction(1, 5)) == ("jobs.search.growth_per_quarter=1.2",)
    assert moved("price of h200.v2", Fraction(-1, 10)) == (
        "offers.'h200.v2'.price_usd=297900",
        "offers.'h200.v2'.price_breaks=[{from_nodes: 5, price_usd: 288000}]",
    )
    assert "price of energy" not in by_name


def test_growth_of_traffic_is_moved_with_that_of_units(tmp_path):
    text = """
format: 1
name: Growth
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-12-01}
offers: {rent: {node_type: xe9680-h100, kind: rent}}
jobs:
  chat:
    serve: {model: llama-3.1-8b,
            load: {requests_per_second: 1, growth_per_quarter: 50%, input_tokens: 500,
                   output_tokens: 100}}
  search: {fixed: {gpus: 1}, growth_per_quarter: 100%}
"""
    inputs = planner_of(tmp_path, text).inputs(Variant())
    (growth,) = (one for one in uncertain_figures(inputs) if one.name == "growth of demand")
    assert growth.stated == "2 jobs that grow"
    assert set(map(str, growth.settings(Fraction(1, 5)))) == {
        "jobs.chat.serve.load.growth_per_quarter=0.6",
        "jobs.search.growth_per_quarter=1.2",
    }


def test_lead_times_are_moved_as_far_as_there_are_any(planner):
    longest = Variant((), (Override.of(("offers", "bridge", "lead_time_weeks"), 519),))
    (late,) = (one for one in uncertain_figures(planner.inputs(longest)) if one.unit == "weeks")
    assert "offers.bridge.lead_time_weeks=520" in set(map(str, late.settings(Fraction(4))))
    planner.inputs(Variant((), (*longest.settings, *late.settings(Fraction(4)))))


def test_what_nodes_sell_for_is_moved_in_every_quarter():
    sale = {"price_usd": {"2027Q1": 60_000, "2027Q3": 40_000}}
    found = public.sensitivity(
        {
            "format": 1,
            "name": "Sale",
            "horizon": {"first_quarter": "2027Q1", "quarters": 4},
            "fleet": {"old": {"node_type": "xe9680-a100", "count": 3, "sale": sale}},
            "jobs": {"chat": {"fixed": {"gpus": 4}}},
        }
    )
    sold = next(one for one in found.rows() if one["figure"] == "prices of nodes that are sold")
    spread = sold["low_cost_usd"] - sold["high_cost_usd"]
    # Two nodes leave at once; what they would have brought after four quarters is given up.
    assert spread == pytest.approx(2 * 0.4 * (60_000 - 40_000 / 1.08), abs=0.02)


def test_the_picture_is_one_tree_and_no_name_opens_markup(picture):
    svg = ElementTree.fromstring(picture)
    assert "price of h200.v2" in [element.text for element in svg.iter("text")]


def test_the_table_says_what_is_acquired_on_either_side(found, golden):
    golden("sensitivity.md", render(sensitivity_document(found)))


def test_a_cost_that_is_that_of_other_jobs_says_so(found):
    assert "other jobs give way" not in render(sensitivity_document(found))
    (first, *others), short = found.swings, {"cost_cents": 1, "short": ("search", "b")}
    short["dropped"] = ("search",)
    high = changed(first.high, figures=changed(first.high.figures, **short))
    swings = (changed(first, high=high), *others)
    told = render(sensitivity_document(changed(found, swings=swings)))
    assert "other jobs give way than as the scenario stands (none)" in told
    assert f"- {first.name}, +20.0 %, dropped: search; delayed: b\n" in told
