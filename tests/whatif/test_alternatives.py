"""Plans beside the cheapest, each the best in what it is said to be the best in."""

from fractions import Fraction
from itertools import combinations

import pytest

from planner.errors import CheckError, InfeasibleError, LimitError
from planner.inputs.override import Override
from planner.reporting.markdown import render
from planner.reporting.sections.options import alternatives_document
from planner.whatif.alternatives import find_alternatives
from planner.whatif.results import PlanSummary, require_plan
from planner.whatif.shortfall import units_short
from planner.whatif.variants import CachedRunner, Variant
from tests.stated import changed
from tests.whatif.conftest import planner_of, runner_of

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
def planner(tmp_path_factory):
    text = SCENARIO.replace("finance:", "policies: {growth_reserve: {}}\nfinance:")
    return planner_of(tmp_path_factory.mktemp("servers"), text)


@pytest.fixture(scope="module")
def found_with(planner):
    def found_with(within=Fraction(3, 100), asked=Variant()):  # noqa: B008 - frozen
        return find_alternatives(runner_of(planner, asked), within=within)

    return found_with


@pytest.fixture(scope="module")
def found(found_with):
    return found_with()


def other(found, name):
    (one,) = (one for one in found.others if one.name == name)
    return one


def test_each_plan_is_the_one_that_its_settings_make(planner, found):
    assert planner.figures(Variant()) == found.cheapest
    for one in found.others:
        if one.figures is not None:
            assert planner.figures(Variant((), one.settings)) == one.figures


def test_nothing_rented_or_bought_leaves_jobs_short(found):
    nothing, rented = other(found, "do nothing").figures, other(found, "rent only").figures
    assert nothing.acquired == ()
    assert set(nothing.short) == {"big", "large"}
    assert {one.offer for one in rented.acquired} == {"hire"}
    assert set(rented.short) == {"large"}


def test_the_fewest_node_types_are_those_of_trying_every_set_of_offers(planner, found, found_with):
    names = ("h100", "h200", "l40s", "hire")
    plans = []
    for size in range(len(names) + 1):
        for kept in combinations(names, size):
            gone = [name for name in names if name not in kept]
            settings = tuple(Override.of(("offers", name, "maximum"), 0) for name in gone)
            figures = planner.figures(Variant((), settings))
            if figures.cost_cents is not None:
                plans.append(figures)
    for within, result in ((Fraction(0), found_with(Fraction(0))), (Fraction(3, 100), found)):
        limit = result.cheapest.cost_cents * (1 + within)
        near = [one for one in plans if one.cost_cents <= limit]
        fewest = other(result, "fewest node types").figures
        assert fewest.node_types == min(one.node_types for one in near)
        assert fewest.cost_cents <= limit
    assert fewest.node_types < result.cheapest.node_types


def test_a_point_more_of_headroom_costs_more_than_is_tolerated(planner, found):
    one = other(found, "most headroom")
    share = int(one.best.value)
    types = "{h100-80gb-sxm: X, h200-141gb-sxm: X, l40s-48gb: X}"
    limit = found.cheapest.cost_cents * Fraction(103, 100)

    def cost(percent):
        asked = f"policies.growth_reserve={types.replace('X', f'{percent}%')}"
        return planner.figures(Variant((), (Override.parse(asked),))).cost_cents

    assert cost(share) <= limit
    dearer = cost(share + 1)
    assert dearer is None or dearer > limit


def test_no_plan_is_near_the_cheapest_because_it_drops_jobs(found, found_with):
    lenient = found_with(asked=Variant((), (Override.parse("policies.shortage=drop"),)))
    assert lenient.cheapest == found.cheapest
    for name in ("fewest node types", "single vendor", "most headroom"):
        assert other(lenient, name).figures == other(found, name).figures


def test_a_single_vendor_that_keeps_all_jobs_comes_before_a_cheaper_one_that_does_not(tmp_path):
    planner = planner_of(
        tmp_path,
        "format: 1\nname: Vendors\nhorizon: {first_quarter: 2027Q1, quarters: 1}\n"
        "offers:\n"
        "  dear: {node_type: dgx-h100, kind: buy, price_usd: 900000, quote: Q, maximum: 2}\n"
        "  few: {node_type: xe9680-h100, kind: buy, price_usd: 300000, quote: Q, maximum: 1}\n"
        "policies: {shortage: drop}\n"
        "jobs: {one: {fixed: {gpus: 8}}, two: {fixed: {gpus: 8}}}\n",
    )
    vendor = other(find_alternatives(runner_of(planner)), "single vendor")
    assert vendor.objective.endswith("NVIDIA")
    assert vendor.figures.short == ()


def test_what_cannot_be_said_is_left_out_with_the_reason(found_with):
    settled = found_with(asked=Variant(("settled",)))
    assert "of its own" in str(other(settled, "most headroom").left_out)


@pytest.mark.parametrize(
    ("offers", "headroom", "single_vendor"),
    [
        ("", "nothing is on offer", "nothing is on offer"),
        (
            "offers: {h200: {node_type: xe9680-h200, kind: buy, price_usd: 1, quote: Q}}\n",
            "jobs hold next to no GPU of the types on offer",
            None,
        ),
    ],
)
def test_of_gpus_that_no_job_needs_none_are_said_to_be_free(
    tmp_path, offers, headroom, single_vendor
):
    planner = planner_of(
        tmp_path,
        "format: 1\nname: Owned\nhorizon: {first_quarter: 2027Q1, quarters: 1}\n"
        f"fleet: {{own: {{node_type: r760xa-l40s, count: 1}}}}\n{offers}"
        "jobs: {small: {fixed: {gpus: 1}, gpu_types: [l40s-48gb]}}\n",
    )
    found = find_alternatives(runner_of(planner))
    assert other(found, "most headroom").left_out == headroom
    assert other(found, "single vendor").left_out == single_vendor


def test_doing_nothing_lets_go_what_is_pinned_today(tmp_path):
    text = SCENARIO.replace("priority: low", "priority: low, pinned: true")
    text += "running:\n  - {job: small, pool: r760xa-l40s/main, count: 2}\n"
    found = find_alternatives(runner_of(planner_of(tmp_path, text)))
    nothing = other(found, "do nothing")
    assert "running=[]" in map(str, nothing.settings)
    assert (nothing.figures.result, nothing.figures.short) == ("proved", ("big", "large"))


IDLE = """\
format: 1
name: Nothing acquired
horizon: {first_quarter: 2027Q1, quarters: 4}
fleet:
  own: {node_type: xe9680-h100, count: 1}
  old: {node_type: xe9680-h100, count: 1, retires: 2027Q4}
offers:
  more: {node_type: xe9680-h100, kind: buy, price_usd: 300000, quote: Q1}
jobs:
  endpoint: {fixed: {gpus: 3}, count: {2027Q1: 1, 2027Q2: 3, 2027Q3: 7, 2027Q4: 3}}
  nightly: {fixed: {gpus: 4}, priority: low}
  survey: {fixed: {gpus: 8}, quarters: 2027Q2, required: true}
  wide: {fixed: {gpus: 8}, quarters: 2027Q4, gpu_types: [l40s-48gb], priority: low}
  tuned:
    tune: {parameters_b: 70, method: lora, sequence: 1024, batch: 32, deploy: {replicas: 2}}
    quarters: [2027Q1, 2027Q2]
    priority: low
"""


def short_by_unit(tmp_path, *changes):
    text = IDLE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    planner = planner_of(tmp_path, text)
    found = units_short(planner.request(planner.inputs(Variant())))
    return None if found is None else {one.job: one.short for one in found}


def test_doing_nothing_is_told_by_job_quarter_and_unit(tmp_path):
    """By hand: two nodes of 8 GPUs, in the last quarter one. `endpoint` comes before what is low.

    A node holds two units of 3 GPUs, and so none of 4 beside them; `survey` takes a whole one.
    """
    assert short_by_unit(tmp_path, ("  wide", "  # wide")) == {
        "endpoint": (0, 1, 3, 1),
        "nightly": (0, 1, 1, 1),
        "tuned": (0, 1, 0, 0),
        "tuned-serving": (0, 2, 2, 2),
    }


def test_a_deployment_is_short_where_no_run_could_tune_its_model(tmp_path):
    room = (
        ("count: {2027Q1: 1, 2027Q2: 3, 2027Q3: 7, 2027Q4: 3}", "quarters: 2027Q1, count: COUNT"),
        ("quarters: 2027Q2, required: true", "quarters: 2027Q1"),
        ("[2027Q1, 2027Q2]", "2027Q1"),
        ("  nightly", "  # nightly"),
        ("  wide", "  # wide"),
    )
    few, many = (short_by_unit(tmp_path, *room, ("COUNT", count)) for count in ("1", "2"))
    assert few == {"tuned": (1, 0, 0, 0), "tuned-serving": (0, 2, 2, 2)}
    assert many == few, "the nodes are free from the second quarter on"
    alone = short_by_unit(tmp_path, *room, ("COUNT", "1"), ("  survey", "  # survey"))
    assert alone == {}


def test_what_no_owned_node_can_run_is_short_and_so_is_all_without_any(tmp_path):
    short = short_by_unit(tmp_path)
    assert short is not None
    assert short["wide"] == (0, 0, 0, 1)
    nothing = short_by_unit(
        tmp_path,
        ("  own: {node_type: xe9680-h100, count: 1}\n", ""),
        ("retires: 2027Q4", "retires: 2027Q2"),
    )
    assert nothing is not None
    assert nothing["endpoint"] == (0, 3, 7, 3)
    assert nothing["survey"] == (0, 1, 0, 0)


def test_units_that_are_short_are_open_where_the_time_ends(tmp_path, monkeypatch):
    def late(*_, **__):
        raise LimitError("late")

    monkeypatch.setattr("planner.whatif.shortfall.triage", late)
    assert short_by_unit(tmp_path) is None


def test_doing_nothing_beside_the_plan_says_who_is_dropped_and_who_is_short_when(tmp_path):
    text = IDLE.replace("  survey:", "  # survey:").replace("  wide:", "  # wide:")
    text = text.replace("{gpus: 3}, c", "{gpus: 3}, may_slip_quarters: 1, c")
    planner = planner_of(tmp_path, text)
    found = find_alternatives(runner_of(planner), within=None)
    one = other(found, "do nothing")
    assert one.units_short == units_short(planner.request(planner.inputs(Variant())))
    assert other(found, "rent only").units_short is None
    assert found.quarters == ("2027Q1", "2027Q2", "2027Q3", "2027Q4")
    drawn = render(alternatives_document(found))
    assert "Dropped: endpoint" in drawn
    assert ", 7, 3 | 0 | 0 | 3 | 1 |" in drawn


def tied(found, **changes):
    """The fewest node types, as a plan that acquires otherwise."""
    bought = changed(found.cheapest.acquired[0], offer="elsewhere", site="east")
    one = other(found, "fewest node types")
    figures = changed(found.cheapest, acquired=(bought,), **changes)
    return changed(found, others=(changed(one, figures=figures),))


def test_a_plan_that_costs_the_same_says_so_and_what_it_acquires(found):
    drawn = render(alternatives_document(tied(found)))
    (row,) = [line for line in drawn.splitlines() if line.startswith("| fewest node types |")]
    assert "| equal | 1 elsewhere |" in row
    assert "; it costs the same as the cheapest to the cent, and acquires 1 elsewhere" in drawn
    dearer = render(alternatives_document(tied(found, cost_cents=found.cheapest.cost_cents + 1)))
    assert "costs the same" not in dearer
    assert "| +0.0 % | 1 elsewhere |" in dearer


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
    figures = PlanSummary(result=result, reason="so it is")
    assert figures.exit_code == code == error.exit_code
    with pytest.raises(error, match="here: so it is"):
        require_plan(figures, "here")
    require_plan(PlanSummary(result="not proved", cost_cents=1), "here")


def test_the_table_shows_them_side_by_side(found, golden):
    golden("alternatives.md", render(alternatives_document(found)))


class Scripted:
    """A crew that answers what it is told to, by the settings asked for."""

    def __init__(self, answer):
        self.answer = answer

    def plan(self, variants, done):
        for key, variant in variants.items():
            done(key, self.answer(variant))


def found_by(planner, answer):
    found = find_alternatives(CachedRunner(planner, Scripted(answer), Variant(), lambda _: None))
    return {one.name: one.left_out for one in found.others}


KEPT = PlanSummary(result="proved", cost_cents=100, bound_cents=100, short=("small",))


@pytest.mark.parametrize(
    "late",
    [
        PlanSummary(result="no plan in time", reason="late"),
        PlanSummary(result="not proved", cost_cents=10**12, bound_cents=0),
    ],
    ids=lambda late: late.result,
)
def test_what_time_leaves_open_is_not_ruled_out(planner, late):
    left_out = found_by(planner, lambda variant: late if variant.settings else KEPT)
    assert left_out["single vendor"] is None, "one vendor makes all that is on offer"
    for name in ("fewest node types", "most headroom"):
        assert "it was not proved which plans" in (left_out[name] or "")


def test_where_too_many_sets_would_have_to_be_tried_it_is_said(planner, monkeypatch):
    monkeypatch.setattr("planner.whatif.alternatives._MOST_TRIES", 2)
    none = PlanSummary(result="infeasible", reason="too few")
    left_out = found_by(planner, lambda variant: none if variant.settings else KEPT)
    told = "more than 2 sets of node types would have to be tried"
    assert left_out["fewest node types"] == told


def test_an_option_that_the_plan_is_already_is_not_planned_again(tmp_path):
    text = SCENARIO.replace("finance:", "policies: {mig: same-node}\nfinance:")
    plan = PlanSummary(result="proved", cost_cents=7, bound_cents=7)
    planned = []

    def answer(variant):
        planned.append(variant)
        return PlanSummary(result="infeasible", reason="too few")

    planner = planner_of(tmp_path, text)
    made = CachedRunner(planner, Scripted(answer), Variant(), lambda _: None)
    made.know(plan)
    found = find_alternatives(made, within=None)
    assert other(found, "reclaim first").figures == plan
    assert len(planned) == 2


BUSIER = """\
format: 1
name: Traffic that grows
horizon: {first_quarter: 2027Q1, quarters: 2}
fleet: {own: {node_type: xe7740-l40s, count: 1}}
jobs:
  endpoint:
    serve:
      model: llama-3.1-8b
      load: {requests_per_second: {2027Q1: 1, 2027Q2: 400}, input_tokens: 1000, output_tokens: 200}
"""


def test_doing_nothing_counts_the_replicas_of_each_quarter(tmp_path):
    planner = planner_of(tmp_path, BUSIER)
    found = units_short(planner.request(planner.inputs(Variant())))
    assert found is not None
    assert [(one.job, one.short) for one in found] == [("endpoint", (0, 1))]


def test_an_owned_type_that_may_be_sold_is_not_said_to_be_needed(tmp_path):
    text = """
format: 1
name: Two owned types
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-10-01}
fleet:
  kept: {node_type: xe9680-h100, count: 1}
  sold: {node_type: xe9680-h200, count: 1,
         sale: {price_usd: {2027Q1: 1000, 2027Q3: 8450}, quarters: 2027Q1}}
jobs:
  job: {fixed: {gpus: 8}}
"""
    best = other(find_alternatives(runner_of(planner_of(tmp_path, text))), "fewest node types").best
    assert (best.value, best.bound) == (2, 1)


def test_a_plan_that_earns_more_than_it_costs_is_within_its_own_tolerance(tmp_path):
    """Sales bring more than all else costs: 3 % of that may be given up, and no more."""
    text = """
format: 1
name: Sold
horizon: {first_quarter: 2027Q1, quarters: 1, as_of: 2026-10-01}
fleet:
  own: {node_type: xe9680-h100, count: 2, sale: {price_usd: {2027Q1: 200000, 2027Q2: 1000}}}
jobs:
  small: {fixed: {gpus: 4}}
"""
    found = find_alternatives(runner_of(planner_of(tmp_path, text)))
    assert (found.cheapest.cost_cents or 0) < 0
    fewest = other(found, "fewest node types")
    assert fewest.figures.cost_cents == found.cheapest.cost_cents
