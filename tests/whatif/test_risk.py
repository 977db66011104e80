"""Many futures: how they are drawn, what they cost, and whether what is bought now would do."""

from decimal import Decimal
from fractions import Fraction
from functools import partial
from statistics import fmean

import pytest

from planner.errors import InputError
from planner.inputs.override import Override
from planner.planning.assemble import Request
from planner.reporting.markdown import render
from planner.reporting.sections.variants import risk_document
from planner.sizing.sizers import Sizers
from planner.whatif.risk import Chance, assess_risk, read_futures
from planner.whatif.shortfall import commitments, short_quarters
from planner.whatif.sweep import VariantRuns
from planner.whatif.variants import ProcessExecutor, Variant, VariantPlanner, WorkerConfig
from tests.stated import changed

SCENARIO = """\
format: 1
name: Futures
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-12-01}
fleet:
  own: {node_type: xe9680-h100, count: 1}
offers:
  h100: {node_type: xe9680-h100, kind: buy, lead_time_weeks: 4, maximum: 9}
jobs:
  search: {fixed: {gpus: 1}, count: {2027Q1: 6, 2027Q2: 12}}
  talk: {fixed: {gpus: 2}, growth_per_quarter: 50%}
overrides:
  calm: {jobs.search.count.2027Q2: 6}
"""
FUTURES = """\
format: 1
scenario: small.yaml
seed: 7
uncertain:
  price: {times: [0.8, 1, 1.5], of: [offers.h100.price_usd]}
  demand: {times: [0.5, 1, 2], of: [jobs.search.count, jobs.talk.growth_per_quarter]}
"""


@pytest.fixture
def read(tmp_path):
    """`read(text)`: such a file beside the scenario, and a planner of its variants."""

    def read(text=FUTURES):
        (tmp_path / "small.yaml").write_text(SCENARIO, encoding="utf-8")
        (tmp_path / "futures.yaml").write_text(text, encoding="utf-8")
        futures = read_futures(tmp_path / "futures.yaml")
        return futures, VariantPlanner(WorkerConfig(futures.scenario))

    return read


def values(variant):
    return {one.path_text: one.value_text for one in variant.settings}


def test_the_same_file_gives_the_same_futures_and_another_seed_others(read):
    futures, planner = read()
    drawn = futures.drawn(planner, 5)
    assert futures.drawn(planner, 8)[:5] == drawn
    assert len(set(drawn)) == 5
    other, planner = read(FUTURES.replace("seed: 7", "seed: 8"))
    assert not set(other.drawn(planner, 5)) & set(drawn)


def test_a_further_uncertainty_leaves_the_draws_of_the_others_alone(read):
    futures, planner = read()
    more, _ = read(FUTURES + "  delivery: {plus: [0, 1, 9], of: [offers.h100.lead_time_weeks]}\n")
    for one, other in zip(futures.drawn(planner, 9), more.drawn(planner, 9), strict=True):
        assert values(one).items() <= values(other).items()
        assert 4 <= int(values(other)["offers.h100.lead_time_weeks"]) <= 13


def test_draws_are_triangular_within_their_ends(read):
    futures, planner = read()
    prices = [Decimal(values(one)["offers.h100.price_usd"]) for one in futures.drawn(planner, 2000)]
    listed = planner.inputs(Variant()).offers[0].unit_price_usd
    shares = [float(price / listed) for price in prices]
    assert 0.8 <= min(shares) < 0.83
    assert 1.45 < max(shares) <= 1.5
    assert fmean(shares) == pytest.approx((0.8 + 1 + 1.5) / 3, abs=0.01)
    below = sum(share <= 1 for share in shares) / len(shares)
    assert below == pytest.approx((1 - 0.8) / (1.5 - 0.8), abs=0.04)


def test_counts_stay_whole_and_values_that_move_together_do(read):
    futures, planner = read()
    for one in futures.drawn(planner, 20):
        found = values(one)
        first, second = (int(found[f"jobs.search.count.2027Q{number}"]) for number in (1, 2))
        factor = Fraction(found["jobs.talk.growth_per_quarter"]) / Fraction(1, 2)
        assert abs(6 * factor - first) <= Fraction(501, 1000)
        assert abs(12 * factor - second) <= Fraction(501, 1000)


def test_price_breaks_move_with_the_price_that_they_take_off(read, tmp_path):
    breaks = "price_usd: 300000, price_breaks: [{from_nodes: 2, price_usd: 240000}]"
    futures, _ = read()
    stated = SCENARIO.replace("maximum: 9", f"maximum: 9, {breaks}")
    (tmp_path / "small.yaml").write_text(stated, encoding="utf-8")
    planner = VariantPlanner(WorkerConfig(futures.scenario))
    for one in futures.drawn(planner, 5):
        (offer,) = planner.inputs(one).offers
        (level,) = offer.levels
        assert level.unit_price_usd == pytest.approx(offer.unit_price_usd * Decimal("0.8"))


def held(planner, *settings):
    plan = planner.plan(planner.inputs(Variant()))
    inputs = planner.inputs(Variant((), tuple(map(Override.parse, settings))))
    return short_quarters(Request(inputs, Sizers(), 1e-4, 60.0), commitments(plan))


@pytest.mark.parametrize(
    ("settings", "short"),
    [
        # One node of 8 GPUs is owned, one more comes for the second quarter: 12 and 2 x 2 of 16.
        ("", ()),
        ("jobs.search.count.2027Q2=13", ("2027Q2",)),
        ("jobs.search.count.2027Q1=7", ("2027Q1",)),
        ("jobs.search.count.2027Q1=0 jobs.search.count.2027Q2=1", ()),
        ("fleet.own.retires=2027Q2", ("2027Q2",)),
        ("budget.total_usd=1", ()),
        ("offers.h100.lead_time_weeks=17", ()),  # ordered on the day of the plan
        ("offers.h100.lead_time_weeks=18", ("2027Q2",)),
        ("offers.h100.lead_time_weeks=90", ("2027Q2",)),
        ("jobs.talk.gpu_types=[h200-141gb-sxm]", ("2027Q1", "2027Q2")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_quarter_is_short_that_the_nodes_there_in_time_do_not_hold(read, settings, short):
    _, planner = read()
    assert held(planner, *settings.split()) == short


def test_figures_are_those_of_the_futures_one_by_one(read, tmp_path, golden):
    futures, planner = read()
    (tmp_path / "out").mkdir()

    def asked(jobs):
        runs = VariantRuns(partial(ProcessExecutor, jobs=jobs), lambda *_: None)
        out = tmp_path / "out"
        return assess_risk(planner, futures, 6, out, runs=runs)

    found = asked(jobs=1)
    drawn = futures.drawn(planner, 6)
    each = [planner.figures(variant) for variant in drawn]
    assert found.costs_cents == tuple(sorted(one.cost_cents for one in each))
    assert found.cost_cents[2] == sorted(one.cost_cents for one in each)[2]
    short = [held(planner, *map(str, variant.settings)) for variant in drawn]
    for chance in found.chances:
        assert chance.short == sum(chance.quarter in one for one in short)
        assert chance.of == 6
    assert sum(chance.short for chance in found.chances) > 0
    golden("risk.md", render(risk_document(found)))
    some = changed(found, futures=8, without_plan=2)
    assert "of the 6 futures with a plan, nine in ten cost" in render(risk_document(some))
    assert asked(jobs=2) == found


def test_confidence_narrows_with_more_futures():
    for short, futures, expected in ((0, 10, (0.0, 0.2775)), (500, 1000, (0.469, 0.531))):
        found = Chance(quarter="2027Q1", short=short, of=futures).range
        assert list(found) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("wrong", "right", "place", "message"),
    [
        ("[0.8, 1, 1.5]", "[1, 0.8, 1.5]", "5:", "three points"),
        ("[0.8, 1, 1.5]", "[1, 1]", "5:", ""),
        ("[0.8, 1, 1.5]", "[-20%, 1, 1.5]", "5:", "write the factor, 0.8"),
        ("times: [0.8, 1, 1.5]", "plus: [1, 2, 3], times: [1, 2, 3]", "5:", "either"),
        ("offers.h100.price_usd]", "offers.h10.price_usd]", "5:38", "states no number"),
        ("offers.h100.price_usd]", "jobs.talk]", "5:38", "states no number"),
        ("offers.h100.price_usd]", "offers.h100.node_type]", "5:38", "states no number"),
        ("offers.h100.price_usd]", "offers.h100.price_us]", "5:38", "mean 'price_usd'"),
        ("offers.h100.price_usd]", "finance.pue]", "5:38", "state the value there"),
        ("[0.8, 1, 1.5]", "[0.8, 1, 1.5, 2]", "5:", "has 4 entries, at most 3"),
        ("[0.8, 1, 1.5]", "[-1, 1, 1.5]", "5:37", ""),
        ("jobs.search.count, ", "offers.h100.price_usd, ", "6:37", "by 'price' already"),
        ("seed: 7", "apply: [calmer]", "3:9", "no scenario or override 'calmer'"),
        ("scenario: small.yaml", "scenario: smal.yaml", "", "no such file"),
        ("uncertain:", "uncertainty:", "4:1", "unknown key"),
    ],
)
def test_mistakes_are_told_with_their_place(read, wrong, right, place, message):
    def drawn():
        futures, planner = read(FUTURES.replace(wrong, right))
        return futures.drawn(planner, 1)

    with pytest.raises(InputError) as refusal:
        drawn()
    finding = refusal.value.findings[0]
    headline = finding.headline()
    assert message in f"{headline} {finding.hint}"
    assert not place or f"futures.yaml:{place}" in headline


def test_a_star_moves_every_offer_and_what_is_asked_holds_in_every_future(tmp_path):
    scenario = SCENARIO.replace(
        "jobs:", "  rent: {node_type: xe9680-h100, kind: rent, lead_time_weeks: 2}\njobs:"
    )
    (tmp_path / "small.yaml").write_text(scenario, encoding="utf-8")
    text = FUTURES.partition("uncertain:")[0]
    text += "uncertain: {late: {plus: [0, 1, 6], of: [offers.*.lead_time_weeks]}}\n"
    (tmp_path / "futures.yaml").write_text(text, encoding="utf-8")
    futures = read_futures(
        tmp_path / "futures.yaml", asked=Variant((), (Override.parse("finance.pue=2"),))
    )
    planner = VariantPlanner(WorkerConfig(futures.scenario))
    for one in futures.drawn(planner, 4):
        inputs = planner.inputs(one)
        late, less = (offer.lead_time_weeks for offer in inputs.offers)
        assert {late - 4, less - 2} == {late - 4}
        assert inputs.scenario.finance.pue == 2
