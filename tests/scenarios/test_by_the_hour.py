"""Nodes by the hour and by the week, from the scenario file to the checked plan and its report."""

from typing import Any

import pytest

import planner
from planner.errors import InfeasibleError, InputError
from planner.inputs.settled import Inputs
from planner.planning.make import make_plan
from planner.planning.plan import Plan
from planner.reporting.sections.purchases import ask_sentence
from tests.plan.edits import noticed, put, refused
from tests.report.pages import told as words_of
from tests.stated import asked, question, table

BUY = {"node_type": "xe9680-h100", "kind": "buy", "price_usd": 300_000, "quote": "a"}
RENT = {"node_type": "xe9680-h100", "kind": "rent", "price_usd_per_gpu_hour": 4, "quote": "b"}
HOURLY = {**RENT, "kind": "hourly", "site": "cloud", "price_usd_per_gpu_hour": 5}
HOUR_USD = 5 * 8
RUN = {"tune": {"model": "llama-3.1-8b", "method": "lora"}, "gpu_types": ["h100-80gb-sxm"]}


def read(offers: dict[str, Any], jobs: dict[str, Any], **changes: Any) -> Inputs:
    scenario = question(1, as_of="2026-10-01") | {
        "finance": {"discount_rate_per_year": 0},
        "policies": {"run_utilization": "100%"},
        "offers": offers,
        "jobs": jobs,
        **changes,
    }
    return asked(scenario)


def planned(*arguments: Any, **changes: Any) -> Any:
    return make_plan(read(*arguments, **changes))


def run(hours: int, **changes: Any) -> dict[str, Any]:
    """A run of this method takes two GPUs."""
    return {**RUN, "run": {"hours": hours, **changes.pop("window", {})}, **changes}


def taken(plan: Plan) -> list[tuple[str, str, int]]:
    return [(line.offer, line.kind, line.count) for line in plan.acquisitions]


def usd(plan: Plan) -> float:
    return plan.proof.cost_cents / 100


def test_one_run_pays_for_its_node_while_it_runs():
    plan = planned({"buy": BUY, "rent": RENT, "cloud": HOURLY}, {"one": run(10)})
    assert taken(plan) == [("cloud", "hourly", 10)]
    assert usd(plan) == 10 * HOUR_USD
    assert plan.proof.status == "proved"
    (node,) = plan.nodes
    assert node.hours == (0, 10)
    (use,) = plan.placements[0]
    assert use.occupants[0].hours == (0, 10)


def test_the_ask_adds_up_the_hours_of_all_quarters():
    half_a_year = {"first_quarter": "2027Q1", "quarters": 2, "as_of": "2026-10-01"}
    plan = planned({"cloud": HOURLY}, {"one": run(10)}, horizon=half_a_year)
    assert [line.count for line in plan.acquisitions] == [10, 10]
    assert "Rent by the hour 20 node-hours of" in words_of(plan)


def test_the_plan_says_at_which_price_it_turns():
    plan = planned({"rent": RENT, "cloud": HOURLY}, {"one": run(876)})
    (use,) = plan.hourly
    assert (use.jobs, use.gpu_hours, use.without) == (("one",), 876 * 8, "proved")
    assert use.turns_at == pytest.approx(2.0)
    assert "from $10.00 per GPU-hour on, a plan without it is cheaper, as proved" in words_of(plan)
    alone = planned({"cloud": HOURLY}, {"one": run(876)})
    assert alone.hourly[0].without == "no other plan"
    assert "there is no plan without it" in words_of(alone)


def test_weeks_are_paid_whole_and_told_as_such():
    weekly = {**RENT, "term_weeks": 2, "site": "cloud"}
    plan = planned({"weekly": weekly}, {"a": run(100), "b": run(300)})
    assert taken(plan) == [("weekly", "rent", 1)]
    assert usd(plan) == 4 * 8 * 336
    assert "Rent 1 × 2 weeks of PowerEdge XE9680" in ask_sentence(plan)
    assert "rent for 2 weeks" in words_of(plan)


def test_page_one_asks_for_node_hours_and_counts_no_such_node_as_in_service(tmp_path):
    wide = {"tune": {"model": "llama-3.1-70b", "method": "full", "sequence": 4096, "batch": 64}}
    plan = planner.plan(
        question()
        | {
            "fleet": {"own": {"node_type": "xe9680-h100", "count": 1}},
            "offers": {
                "cloud": {"node_type": "xe9680-h200", "kind": "hourly", "minimum_hours": 12}
            },
            "jobs": {"wide": wide | {"gpu_types": ["h200-141gb-sxm"], "run": {"hours": 6}}},
        }
    )
    plan.write(tmp_path)
    page = planner.report(tmp_path / "plan.json").files()["justification.md"]
    assert "Rent by the hour 24 node-hours of PowerEdge XE9680" in page
    assert "| 24 node-hours |" in page  # of the bill, in a column of nodes
    assert "| main | 1 | 0 | 0 | 0 | 1 |" in page


def test_a_warning_that_all_runs_on_one_node_type_knows_of_runs_by_the_hour():
    fleet = {"rack": {"node_type": "xe9680-h100", "count": 1}}
    jobs = {"endpoint": {"fixed": {"gpus": 2}, "gpu_types": ["h100-80gb-sxm"]}}
    alone = planned({"cloud": HOURLY}, jobs, fleet=fleet)
    assert "everything runs on one node type, xe9680-h100, and no spare" in words_of(alone)
    jobs["tune"] = run(10) | {"gpu_types": ["h200-141gb-sxm"]}
    beside = planned({"cloud": {**HOURLY, "node_type": "xe9680-h200"}}, jobs, fleet=fleet)
    assert "everything but runs by the hour runs on one node type, xe9680-h100" in words_of(beside)


def test_a_minimum_and_a_most_of_gpus_hold():
    offer = {**HOURLY, "minimum_hours": 24, "maximum_gpus": 8}
    assert taken(planned({"cloud": offer}, {"a": run(10)})) == [("cloud", "hourly", 24)]
    jobs = {f"run-{n}": run(100, window={"deadline": 1}) for n in range(5)}
    with pytest.raises(InfeasibleError):
        planned({"cloud": offer}, jobs)
    assert planned({"cloud": {**offer, "maximum_gpus": 16}}, jobs)


@pytest.mark.parametrize(
    ("runs", "beside", "more"),
    [
        (4, {}, ()),
        (4, {"buy": BUY, "rent": RENT}, ()),
        (12, {}, ("hour", "hourly", 1000)),
        (12, {"rent": RENT}, ("hour", "hourly", 1000)),
        (12, {"buy": BUY, "rent": RENT}, ("buy", "buy", 1)),
    ],
)
def test_nodes_by_the_hour_stand_beside_others_of_their_type_and_site(runs, beside, more):
    """The owned node holds eight of these runs, four at a time; the rest takes a thousand hours."""
    here = {key: value for key, value in HOURLY.items() if key != "site"}
    fleet = {"rack": {"node_type": "xe9680-h100", "count": 1}}
    offers = {"hour": here, **beside}
    plan = planned(offers, {"tune": run(1000, count=runs)}, fleet=fleet)
    assert plan.proof.status == "proved"
    assert taken(plan) == ([more] if more else [])
    assert [node.origin for node in plan.nodes] == ["owned", *more[1:2]]


def test_what_serves_takes_no_node_by_the_hour():
    with pytest.raises(InfeasibleError):
        planned({"cloud": HOURLY}, {"work": {"fixed": {"gpus": 2}}})


def test_nodes_by_the_hour_take_nothing_of_a_site():
    sites = {"cloud": {"power_kw": 0.1, "racks": {"count": 1, "units": 2}}}
    plan = planned({"cloud": HOURLY}, {"one": run(10)}, sites=sites)
    assert plan.sites[0].nodes == (0,)
    assert not plan.nodes[0].racks


WIDE = {"fixed": {"gpus": 16}, "gpu_types": ["h100-80gb-sxm"]}


def test_a_run_takes_several_nodes_by_the_hour_together():
    plan = planned({"cloud": HOURLY, "buy": BUY}, {"wide": {**WIDE, "run": {"hours": 10}}})
    assert taken(plan) == [("cloud", "hourly", 20)]
    assert [node.hours for node in plan.nodes] == [(0, 10), (0, 10)]
    assert [len(use.occupants[0].gpus) for use in plan.placements[0]] == [8, 8]
    assert plan.proof.status == "proved"
    assert "cloud: 160 GPU-hours for 1 job, wide, at $5.00; from" in words_of(plan)


def test_each_of_several_nodes_is_paid_for_the_minimum_and_counts_in_the_most():
    offer = {**HOURLY, "minimum_hours": 24, "maximum_gpus": 16}
    jobs = {name: {**WIDE, "run": {"hours": 10}} for name in ("one", "two")}
    assert taken(planned({"cloud": offer}, jobs)) == [("cloud", "hourly", 48)]
    with pytest.raises(InfeasibleError):
        planned({"cloud": {**offer, "maximum_gpus": 8}}, jobs)


def test_the_check_notices_a_run_whose_nodes_are_not_there_together():
    inputs = read({"cloud": HOURLY}, {"wide": {**WIDE, "run": {"hours": 10}}})
    later = put(make_plan(inputs), "nodes > 1 > hours", (5, 15))
    assert "in hours in which that is not there" in refused(inputs, later)


SEVERAL = {**HOURLY, "site": ["cloud", "home"]}


def test_an_offer_by_the_hour_may_stand_at_several_sites():
    sites = {"cloud": {}, "home": {"labels": ["eu"], "power_kw": 0.1}}
    jobs = {"bound": run(10, labels=["eu"]), "free": run(10)}
    plan = planned({"cloud": SEVERAL}, jobs, sites=sites)
    assert [(line.site, line.count) for line in plan.acquisitions] == [("home", 10)]
    beside = planned({"cloud": SEVERAL}, jobs | {"other": run(10, sites=["cloud"])}, sites=sites)
    assert [(line.site, line.count) for line in beside.acquisitions] == [
        ("cloud", 10),
        ("home", 10),
    ]
    assert "at home, at $5.00" in words_of(beside)


def test_the_most_of_an_offer_counts_all_of_its_sites():
    """Two runs at two sites that must be at the same hours take two nodes, and else one."""
    sites: dict[str, dict[str, str]] = {"cloud": {}, "home": {}}
    windows = {"deadline": 1}
    jobs = {site: run(100, sites=[site], window=windows) for site in sites}
    assert len(planned({"cloud": {**SEVERAL, "maximum_gpus": 16}}, jobs, sites=sites).nodes) == 2
    offer = {"cloud": {**SEVERAL, "maximum_gpus": 8}}
    with pytest.raises(InfeasibleError):
        planned(offer, jobs, sites=sites)
    plan = planned(
        offer, {site: run(80, sites=[site], window=windows) for site in sites}, sites=sites
    )
    assert sorted(node.hours for node in plan.nodes) == [(0, 80), (80, 160)]


def test_teams_pay_for_their_hours():
    jobs = {"a": run(30, team="one"), "b": run(10, team="two")}
    spread = {"run_utilization": "100%", "charge_idle": "spread"}
    plan = planned({"cloud": HOURLY}, jobs, policies=spread)
    charged = {use.team: use.cost_cents for use in plan.chargeback.teams}
    assert sum(charged.values()) == plan.proof.cost_cents
    assert charged["one"] == 3 * charged["two"]


def test_a_quota_counts_what_is_had_by_the_hour():
    jobs = {name: run(10, team="one") for name in ("a", "b")}
    plan = planned({"cloud": HOURLY}, jobs, teams={"one": {"quota_gpus": 2}})
    assert taken(plan) == [("cloud", "hourly", 20)]


@noticed("one run by the hour")
def test_the_check_notices_hours_that_are_not_paid(told, edit):
    inputs = read({"cloud": HOURLY}, {"one": run(10)})
    assert told in refused(inputs, edit(make_plan(inputs)))


def test_the_check_counts_nodes_at_once():
    offer = {**HOURLY, "maximum_gpus": 16}
    jobs = {f"run-{n}": run(100, window={"deadline": 1}) for n in range(5)}
    plan = make_plan(read({"cloud": offer}, jobs))
    fewer = read({"cloud": {**offer, "maximum_gpus": 8}}, jobs)
    assert "at most 1 nodes, the plan takes 2" in refused(fewer, plan)


@table(__file__)
def test_keys_that_contradict_the_kind_are_told(offer, message):
    with pytest.raises(InputError) as told:
        read({"cloud": offer}, {"one": run(10)})
    assert message in str(told.value)


def test_the_plan_says_what_the_utilization_of_runs_costs():
    """Ninety hours of progress take 100 at nine tenths: ten of them cost $400."""
    nine_tenths = {"run_utilization": "90%"}
    plan = planned({"cloud": HOURLY}, {"one": run(90)}, policies=nine_tenths)
    assert plan.utilization_cents == 10 * HOUR_USD * 100
    assert "90.0 % of the hours" in words_of(plan)
    assert "would cost $400.00 less, as proved" in words_of(plan)
    bought = planned({"buy": BUY}, {"one": run(90)}, policies=nine_tenths)
    assert bought.utilization_cents == 0
    assert "would cost as much, as proved" in words_of(bought)
    assert planned({"cloud": HOURLY}, {"one": run(90)}).utilization_cents is None


@pytest.mark.parametrize(
    "terms",
    [
        {**RENT, "term_weeks": 4, "site": "cloud"},
        {**HOURLY, "minimum_hours": 672},
    ],
)
def test_what_is_paid_ends_with_the_quarter_so_that_the_next_one_has_all_that_there_is(terms):
    late, early = run(300, window={"release": 12}), run(300, window={"deadline": 2})
    jobs = {"late": late | {"quarters": "2027Q1"}, "early": early | {"quarters": "2027Q2"}}
    horizon = question(2, as_of="2026-10-01")["horizon"]
    plan = planned({"cloud": {**terms, "maximum": 1}}, jobs, horizon=horizon)
    assert [(node.in_service, node.hours) for node in plan.nodes] == [
        (("2027Q1",), (1488, 2160)),
        (("2027Q2",), (0, 672)),
    ]


def test_terms_that_are_longer_than_the_quarter_begin_with_it():
    terms = {**RENT, "term_weeks": 13, "site": "cloud"}
    (node,) = planned({"cloud": terms}, {"one": run(300, window={"release": 9})}).nodes
    assert node.hours == (0, 13 * 168)


def test_hours_worth_less_than_a_cent_today_turn_at_no_price():
    """A cent an hour, two years later at 100 % a year, is a quarter of a cent: nothing."""
    text = """
format: 1
name: cheap
horizon: {first_quarter: 2027Q1, quarters: 12, as_of: 2026-10-01}
finance: {discount_rate_per_year: 1}
offers:
  hour: {node_type: xe9680-h100, kind: hourly, price_usd_per_gpu_hour: 0.00125}
  rent: {node_type: xe9680-h100, kind: rent}
jobs:
  job: {fixed: {gpus: 8}, run: {hours: 10}, quarters: 2029Q4}
"""
    (use,) = make_plan(asked(text)).hourly
    assert (use.present_cents, use.without, use.turns_at) == (0, "proved", None)
