"""Plans beside the cheapest, each the best in what it is said to be the best in."""

from fractions import Fraction
from itertools import combinations

import pytest

from planner.errors import CheckError, InfeasibleError, LimitError
from planner.plan.otherwise.near import near_plan
from planner.report.alternatives import alternatives_document
from planner.report.markdown import draw
from planner.sizing.sizers import Sizers
from planner.whatif.alternatives import alternatives, standard_alternatives
from planner.whatif.desk.crew import Processes
from planner.whatif.desk.desk import Desk, Station, Variant
from planner.whatif.desk.figures import Figures, figures_of, require_plan
from planner.whatif.desk.made import Made

SCENARIO = """\
format: 1
name: Three servers
horizon: {first_quarter: 2027Q1, quarters: 1}
fleet:
  own: {node_type: r760xa-l40s, count: 1}
offers:
  h100: {node_type: xe9680-h100, kind: buy, price_usd: 300000, quote: Q1, maximum: 9}
  h200: {node_type: xe9680-h200, kind: buy, price_usd: 305000, quote: Q2, maximum: 9}
  l40s: {node_type: xe7740-l40s, kind: buy, price_usd: 200000, quote: Q3, maximum: 9}
  hire: {node_type: xe9680-h100, kind: rent, price_usd_per_gpu_hour: 30, maximum: 1}
finance: {energy_usd_per_kwh: 0, support_share_per_year: 0}
jobs:
  big: {fixed: {gpus: 8}, gpu_types: [h100-80gb-sxm, h200-141gb-sxm]}
  large: {fixed: {gpus: 4}, gpu_types: [h200-141gb-sxm]}
  small: {fixed: {gpus: 1}, count: 3, priority: low}
overrides:
  rush: {jobs.large.count: 30}
  settled:
    replace: {policies: {growth_reserve: {h200-141gb-sxm: 5%}}}
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    file = tmp_path_factory.mktemp("servers") / "servers.yaml"
    file.write_text(SCENARIO.replace("finance:", "policies: {}\nfinance:"), encoding="utf-8")
    return Desk(Station(file))


@pytest.fixture(scope="module")
def found_with(desk):
    def found_with(within=Fraction(3, 100), asked=Variant()):  # noqa: B008 - frozen
        with Processes(desk, 1) as crew:
            return alternatives(Made(desk, crew, asked, lambda _: None), within=within)

    return found_with


@pytest.fixture(scope="module")
def found(found_with):
    return found_with()


def other(found, name):
    (one,) = (one for one in found.others if one.name == name)
    return one


def test_each_plan_is_the_one_that_its_settings_make(desk, found):
    assert desk.figures(Variant()) == found.cheapest
    for one in found.others:
        if one.figures is not None and one.name not in ("lowest power", "earliest"):
            assert desk.figures(Variant((), one.settings)) == one.figures


def test_nothing_rented_or_bought_leaves_jobs_short(found):
    nothing, rented = other(found, "do nothing").figures, other(found, "rent only").figures
    assert nothing.acquired == ()
    assert set(nothing.short) == {"big", "large"}
    assert {one.offer for one in rented.acquired} == {"hire"}
    assert set(rented.short) == {"large"}


def test_the_fewest_node_types_are_those_of_trying_every_set_of_offers(desk, found_with):
    names = ("h100", "h200", "l40s", "hire")
    plans = []
    for size in range(len(names) + 1):
        for kept in combinations(names, size):
            settings = tuple(f"offers.{name}.maximum=0" for name in names if name not in kept)
            figures = desk.figures(Variant((), settings))
            if figures.cost_cents is not None:
                plans.append(figures)
    for within in (Fraction(0), Fraction(3, 100)):
        result = found_with(within)
        limit = result.cheapest.cost_cents * (1 + within)
        near = [one for one in plans if one.cost_cents <= limit]
        fewest = other(result, "fewest node types").figures
        assert fewest.node_types == min(one.node_types for one in near)
        assert fewest.cost_cents <= limit
    assert fewest.node_types < result.cheapest.node_types


def test_a_point_more_of_headroom_costs_more_than_is_tolerated(desk, found):
    one = other(found, "most headroom")
    share = int(one.best.value)
    types = "{h100-80gb-sxm: X, h200-141gb-sxm: X, l40s-48gb: X}"
    limit = found.cheapest.cost_cents * Fraction(103, 100)

    def cost(percent):
        setting = f"policies.growth_reserve={types.replace('X', f'{percent}%')}"
        return desk.figures(Variant((), (setting,))).cost_cents

    assert cost(share) <= limit
    dearer = cost(share + 1)
    assert dearer is None or dearer > limit


def test_no_plan_is_near_the_cheapest_because_it_drops_jobs(found, found_with):
    lenient = found_with(asked=Variant((), ("policies.shortage=drop",)))
    assert lenient.cheapest == found.cheapest
    for name in ("fewest node types", "single vendor", "most headroom"):
        assert other(lenient, name).figures == other(found, name).figures


def test_what_was_not_proved_of_plans_that_would_be_better_is_left_open(desk):
    class Doubtful(Made):
        def all(self, wanted):
            settings = [*wanted]
            doubt = {"result": "not proved", "bound_cents": 0, "cost_cents": 10**12}
            return [
                figures.model_copy(update=doubt) if stated else figures
                for stated, figures in zip(settings, super().all(settings), strict=True)
            ]

    with Processes(desk, 1) as crew:
        found = alternatives(Doubtful(desk, crew, Variant(), lambda _: None))
    for name in ("fewest node types", "most headroom"):
        assert "it was not proved which plans" in str(other(found, name).left_out)


def test_a_single_vendor_that_keeps_all_jobs_comes_before_a_cheaper_one_that_does_not(tmp_path):
    (tmp_path / "vendors.yaml").write_text(
        "format: 1\nname: Vendors\nhorizon: {first_quarter: 2027Q1, quarters: 1}\n"
        "offers:\n"
        "  dear: {node_type: dgx-h100, kind: buy, price_usd: 900000, quote: Q, maximum: 2}\n"
        "  few: {node_type: xe9680-h100, kind: buy, price_usd: 300000, quote: Q, maximum: 1}\n"
        "policies: {shortage: drop}\n"
        "jobs: {one: {fixed: {gpus: 8}}, two: {fixed: {gpus: 8}}}\n",
        encoding="utf-8",
    )
    desk = Desk(Station(tmp_path / "vendors.yaml"))
    with Processes(desk, 1) as crew:
        found = alternatives(Made(desk, crew, Variant(), lambda _: None))
    vendor = other(found, "single vendor")
    assert vendor.objective.endswith("NVIDIA")
    assert vendor.figures.short == ()


def test_what_cannot_be_said_is_left_out_with_the_reason(found, found_with):
    assert "key running" in str(other(found, "no moves").left_out)
    settled = found_with(asked=Variant(("settled",)))
    assert "of its own" in str(other(settled, "most headroom").left_out)


@pytest.mark.parametrize(
    ("offers", "single_vendor"),
    [
        ("", "nothing is on offer"),
        ("offers: {h200: {node_type: xe9680-h200, kind: buy, price_usd: 1, quote: Q}}\n", None),
    ],
)
def test_of_gpus_that_no_job_needs_none_are_said_to_be_free(tmp_path, offers, single_vendor):
    (tmp_path / "owned.yaml").write_text(
        "format: 1\nname: Owned\nhorizon: {first_quarter: 2027Q1, quarters: 1}\n"
        f"fleet: {{own: {{node_type: r760xa-l40s, count: 1}}}}\n{offers}"
        "jobs: {small: {fixed: {gpus: 1}, gpu_types: [l40s-48gb]}}\n",
        encoding="utf-8",
    )
    desk = Desk(Station(tmp_path / "owned.yaml"))
    with Processes(desk, 1) as crew:
        found = alternatives(Made(desk, crew, Variant(), lambda _: None))
    headroom = "jobs hold next to no GPU of the types on offer"
    assert other(found, "most headroom").left_out == headroom
    assert other(found, "single vendor").left_out == single_vendor


def test_no_moves_pins_all_that_runs_today(desk, tmp_path):
    text = SCENARIO.replace("priority: low", "priority: low, pinned: true")
    text += "running:\n  - {job: small, pool: r760xa-l40s/main, count: 2}\n"
    (tmp_path / "running.yaml").write_text(text, encoding="utf-8")
    desk = Desk(Station(tmp_path / "running.yaml"))
    with Processes(desk, 1) as crew:
        found = alternatives(Made(desk, crew, Variant(), lambda _: None))
    one = other(found, "no moves")
    assert one.settings == ("jobs.small.pinned=true",)
    assert one.figures.cost_cents == found.cheapest.cost_cents
    nothing = other(found, "do nothing")
    assert "running=[]" in nothing.settings
    assert (nothing.figures.result, nothing.figures.short) == ("proved", ("big", "large"))


TRADES = """\
format: 1
name: Trades
horizon: {first_quarter: 2027Q1, quarters: 2}
fleet:
  own: {node_type: xe9680-h100, count: 1}
  small: {node_type: r760xa-l40s, count: 1}
offers:
  h100: {node_type: xe9680-h100, kind: buy, price_usd: 300000, quote: Q1, maximum: 3}
  l40s: {node_type: xe7740-l40s, kind: buy, price_usd: 301000, quote: Q2, maximum: 3}
finance: {energy_usd_per_kwh: 0, support_share_per_year: 0}
jobs:
  apps: {fixed: {gpus: 1}, count: {2027Q1: 12, 2027Q2: 18}}
  chat: {fixed: {gpus: 2}, count: {2027Q1: 3}}
  big: {fixed: {gpus: 6}, gpu_types: [h100-80gb-sxm]}
running:
  - {job: chat, pool: xe9680-h100/main, count: 3}
"""


@pytest.fixture(scope="module")
def trades(tmp_path_factory):
    file = tmp_path_factory.mktemp("trades") / "trades.yaml"
    file.write_text(TRADES, encoding="utf-8")
    return Desk(Station(file))


def traded(desk, within, *settings):
    with Processes(desk, 1) as crew:
        return alternatives(Made(desk, crew, Variant((), settings), lambda _: None), within=within)


def nearest(desk, goal, within, *settings):
    """The plan for a goal beside the cheapest, both in figures."""
    asked = Variant((), settings)
    cheapest = desk.figures(asked)
    most = int(cheapest.cost_cents * (1 + within))
    near = desk.near(desk.inputs(asked), goal, most)
    figures = figures_of(near.plan)
    assert figures.result == "proved"
    assert near.plan.proof.cost_cents <= most
    assert near.bound == near.value
    return near, figures, cheapest


@pytest.mark.parametrize(("within", "kind"), [(0, "h100"), (Fraction(2, 5), "l40s")])
def test_power_is_saved_as_far_as_the_tolerance_pays_for_it(trades, within, kind):
    near, figures, _ = nearest(trades, "power", within)
    assert {line.offer for line in figures.acquired} == {kind}
    nodes = trades.inputs(Variant()).catalog.nodes
    drawn = sum(
        len(node.in_service) * nodes[node.node_type].mean_power_kw.value * 1000
        for node in near.plan.nodes
    )
    assert near.value == drawn
    assert figures.drawn_w == drawn / 2


def test_the_earliest_plan_buys_at_once_what_the_cheapest_buys_when_it_is_needed(trades):
    later = ("jobs.big.quarters=2027Q2", "jobs.apps.count.2027Q1=6")
    near, figures, cheapest = nearest(trades, "quarters waited", 0, *later)
    assert {line.quarter for line in cheapest.acquired} == {"2027Q2"}
    assert figures.acquired == cheapest.acquired
    assert near.value == sum(line.count for line in cheapest.acquired)
    near, figures, _ = nearest(trades, "quarters waited", Fraction(3), *later)
    assert {line.quarter for line in figures.acquired} == {"2027Q1"}
    assert near.value == 0


def test_what_draws_an_unknown_power_is_named(trades):
    inputs = trades.inputs(Variant())
    silent = inputs.catalog.nodes["xe7740-l40s"].model_copy(update={"mean_power_kw": None})
    nodes = {**inputs.catalog.nodes, "xe7740-l40s": silent}
    catalog = inputs.catalog.model_copy(update={"nodes": nodes})
    with pytest.raises(ValueError, match="xe7740-l40s"):
        near_plan(
            inputs.model_copy(update={"catalog": catalog}),
            "power",
            0,
            asked_gap=0.0,
            time_limit_s=9.0,
            sizers=Sizers(),
        )


def test_where_not_all_can_stay_as_few_as_can_be_move(trades):
    full = ("offers.h100.maximum=0",)
    found = traded(trades, Fraction(1, 20), *full)
    assert other(found, "no moves").figures.result == "infeasible"
    one = other(found, "fewest moves")
    assert (one.best.value, one.best.bound) == (2, 2)
    assert "2 units, and no plan within the tolerance has fewer" in draw(
        alternatives_document(found)
    )


def test_without_a_plan_there_is_nothing_to_stand_beside(found_with):
    with pytest.raises(InfeasibleError, match="no plan to stand beside"):
        found_with(asked=Variant(("rush",)))


@pytest.mark.parametrize(
    ("result", "code", "error"),
    [
        ("infeasible", 3, InfeasibleError),
        ("no plan in time", 4, LimitError),
        ("failed its check", 5, CheckError),
    ],
)
def test_a_plan_that_is_missing_ends_as_planning_it_would(result, code, error):
    figures = Figures(result=result, reason="so it is")
    assert figures.exit_code == code == error.exit_code
    with pytest.raises(error, match="here: so it is"):
        require_plan(figures, "here")
    require_plan(Figures(result="not proved", cost_cents=1), "here")


def test_the_table_shows_them_side_by_side(found, golden):
    golden("alternatives.md", draw(alternatives_document(found)))


class Scripted:
    """A crew that answers what it is told to, by the settings asked for."""

    def __init__(self, answer):
        self.answer = answer

    def plan(self, variants, done):
        for key, variant in variants.items():
            done(key, self.answer(variant))


def found_by(desk, answer):
    found = alternatives(Made(desk, Scripted(answer), Variant(), lambda _: None))
    return {one.name: one.left_out for one in found.others}


def test_where_time_ends_before_a_plan_it_is_open_and_not_ruled_out(desk):
    def answer(variant):
        kept = Figures(result="proved", cost_cents=100, bound_cents=100, short=("small",))
        return Figures(result="no plan in time", reason="late") if variant.settings else kept

    left_out = found_by(desk, answer)
    assert left_out["single vendor"] is None, "one vendor makes all that is on offer"
    for name in ("fewest node types", "most headroom"):
        assert "time" in (left_out[name] or "")
    for name in ("lowest power", "earliest"):
        assert left_out[name] == "not all jobs are kept, and who is kept is decided before all else"


def test_what_runs_where_it_may_not_stay_is_no_plan_without_moves(tmp_path):
    text = SCENARIO.replace("count: 3, priority", "count: 3, sites: [east], priority")
    text = text.replace("fleet:", "fleet:\n  new: {node_type: r760xa-l40s, site: east, count: 1}")
    text += "running:\n  - {job: small, pool: r760xa-l40s/main}\n"
    (tmp_path / "leaving.yaml").write_text(text, encoding="utf-8")
    desk = Desk(Station(tmp_path / "leaving.yaml"))
    kept = Figures(result="proved", cost_cents=100, bound_cents=100, short=("small",))
    left_out = found_by(desk, lambda _: kept)
    assert left_out["no moves"] == "'small' is pinned at 'main', but may run only at east"
    assert left_out["single vendor"] is None


def test_where_too_many_sets_would_have_to_be_tried_it_is_said(desk, monkeypatch):
    monkeypatch.setattr("planner.whatif.alternatives._MOST_TRIES", 2)

    def answer(variant):
        dear = Figures(result="infeasible", reason="too few")
        kept = Figures(result="proved", cost_cents=100, bound_cents=100, short=("small",))
        return dear if variant.settings else kept

    assert found_by(desk, answer)["fewest node types"] == (
        "more than 2 sets of node types would have to be tried"
    )


def test_an_option_that_the_plan_is_already_is_not_planned_again(tmp_path):
    file = tmp_path / "shared.yaml"
    file.write_text(
        SCENARIO.replace("finance:", "policies: {mig: same-node}\nfinance:"), encoding="utf-8"
    )
    plan = Figures(result="proved", cost_cents=7, bound_cents=7)
    planned = []

    def answer(variant):
        planned.append(variant)
        return Figures(result="infeasible", reason="too few")

    desk = Desk(Station(file))
    made = Made(desk, Scripted(answer), Variant(), lambda _: None)
    made.know(plan)
    found = standard_alternatives(made)
    assert other(found, "reclaim first").figures == plan
    assert len(planned) == 2
