"""Owned nodes that are sold or switched off, planned whole: the money by hand, and the check.

Four old servers of 8 GPUs are owned; two are needed but for the second quarter, in which one is. A
server draws 2 kW at $0.10, $438 in a quarter of 2,190 h, and its support costs $1,000 a quarter.
"""

import json
import re

import pytest
import yaml

import planner
from planner.errors import InfeasibleError
from planner.planning.make import make_plan
from planner.planning.store import dumps
from planner.whatif.alternatives import keeping_owned_nodes
from tests.plan.edits import noticed, refused
from tests.report.pages import justification, plan_page, quarterly
from tests.stated import load_inputs, own_nodes, question, table

CATALOG = own_nodes(
    old={
        "gpu_type": "a100-80gb-sxm",
        **{"rack_units": 6, "network_ports": 9, "cooling": "air"},
        **{"max_power_kw": 4, "mean_power_kw": 2},
    }
)

SCENARIO = """
format: 1
name: old servers
horizon: {first_quarter: 2027Q1, quarters: 4, as_of: 2026-11-01}
use: {catalog: [catalog.yaml]}
finance:
  {discount_rate_per_year: 0, energy_usd_per_kwh: 0.1, pue: 1, support_share_per_year: 0,
   useful_life_years: 5}
fleet:
  old:
    node_type: old
    count: 4
    support_usd_per_year: 4000
    may_switch_off: true
    support_while_off: saved
    sale:
      {price_usd: {2027Q1: 5000, 2027Q2: 4000, 2028Q1: 1000}, maximum: 1, quote: broker 4711}
jobs:
  always: {count: 1, fixed: {gpus: 8}, team: a}
  peaks: {count: {2027Q1: 1, 2027Q2: 0, 2027Q3: 1}, fixed: {gpus: 8}, team: b}
"""
ON = 43_800 + 100_000
"""Cents of a node that is on, in a quarter."""


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """The inputs of the scenario with changes at dotted paths; None takes a key away."""
    folder = tmp_path_factory.mktemp("old")
    (folder / "catalog.yaml").write_text(CATALOG)

    def read(changes=()):
        data = yaml.safe_load(SCENARIO)
        for path, value in dict(changes).items():
            *outer, last = path.split(".")
            here = data
            for key in outer:
                here = here.setdefault(key, {})
            if value is None:
                del here[last]
            else:
                here[last] = value
        (folder / "scenario.yaml").write_text(yaml.safe_dump(data))
        return load_inputs(folder / "scenario.yaml")

    return read


@pytest.fixture(scope="module")
def plan_of(asked):
    return lambda changes: make_plan(asked(changes))


@pytest.fixture(scope="module")
def inputs(asked):
    return asked()


@pytest.fixture(scope="module")
def plan(inputs):
    return make_plan(inputs)


def released(plan):
    return [(line.quarter, line.action, line.count) for line in plan.releases]


def test_what_nobody_needs_is_sold_as_far_as_somebody_buys_and_else_off(plan):
    assert released(plan) == [
        ("2027Q1", "sell", 1),
        ("2027Q1", "switch off", 1),
        ("2027Q2", "switch off", 2),
        ("2027Q3", "switch off", 1),
        ("2027Q4", "switch off", 1),
    ]


def test_a_sale_gives_up_what_it_would_bring_later_and_a_node_that_is_off_saves(plan):
    sold, *off = plan.releases
    assert (sold.unit_price_cents, sold.total_cents) == (500_000, 500_000)
    assert (sold.given_up_cents, sold.saved_cents) == (100_000, 4 * ON)
    assert sold.present_cents == 500_000 - 100_000 + 4 * ON
    assert [(one.saved_cents, one.total_cents) for one in off] == [
        (ON, 0),
        (2 * ON, 0),
        (ON, 0),
        (ON, 0),
    ]


def test_the_same_servers_are_off_and_those_of_the_highest_numbers_go(plan):
    gone = {node.id: (node.in_service, node.off, node.sold) for node in plan.nodes}
    every = plan.quarters
    assert gone == {
        "old/main/01": (every, (), None),
        "old/main/02": ((every[0], *every[2:]), (every[1],), None),
        "old/main/03": ((), every, None),
        "old/main/04": ((), (), "2027Q1"),
    }


def test_a_node_is_kept_on_where_nothing_is_saved_and_nobody_buys(plan_of):
    keys = ("may_switch_off", "support_while_off", "sale")
    plan = plan_of({f"fleet.old.{key}": None for key in keys})
    assert plan.releases == ()
    assert plan.proof.cost_cents == 16 * ON
    assert '"releases"' not in dumps(plan)
    assert '"off"' not in dumps(plan)


def test_a_sale_at_what_it_would_bring_later_waits_for_nothing_and_saves_what_it_costs(plan_of):
    """At one price throughout, a sale now is worth what the node would have cost."""
    off = {"fleet.old.may_switch_off": None, "fleet.old.support_while_off": None}
    plan = plan_of({**off, "fleet.old.sale": {"price_usd": 5000}})
    sold = [line for line in plan.releases if line.action == "sell"]
    assert [(line.quarter, line.count) for line in sold] == [("2027Q1", 2)]
    assert sold[0].present_cents == 2 * 4 * ON
    assert sold[0].quote is None


def test_a_residual_value_is_what_the_useful_life_leaves(plan_of):
    """Bought in 2024Q1: 12 of 20 quarters are used in 2027Q1, 16 after the horizon."""
    sale = {"paid_usd": 100000, "bought": "2024Q1", "maximum": 1}
    plan = plan_of({"fleet.old.sale": sale})
    assert plan.releases[0].unit_price_cents == 4_000_000
    assert plan.releases[0].given_up_cents == 2_000_000
    assert plan.releases[0].price_text == "what 5 years leave of $100,000 paid in 2024Q1"


def test_a_node_that_retires_may_be_sold_then(plan_of):
    changes = {
        "fleet.old.retires": "2027Q4",
        "jobs.always.count": {"2027Q1": 4, "2027Q4": 0},
        "jobs.peaks": None,
    }
    plan = plan_of(changes)
    assert released(plan) == [("2027Q4", "sell", 1)]
    assert plan.releases[0].saved_cents == 0
    (told,) = (one.text for one in plan.warnings if "retire" in one.text)
    assert told.startswith("3 owned nodes of old")  # the fourth is gone


def test_money_of_a_sale_widens_no_budget_and_what_is_saved_does(plan_of):
    """The fewest that can be paid are 7 quarters of a node that is on."""
    paid = 7 * ON // 100
    assert plan_of({"budget": {"opex_usd": paid}}).budgets[0].spent_cents == 7 * ON
    with pytest.raises(InfeasibleError) as caught:
        plan_of({"budget": {"opex_usd": paid - 1}})
    assert "opex" in str(caught.value)


def test_a_node_to_which_a_unit_is_pinned_is_kept(plan_of):
    running = [{"job": "always", "node": "old/main/04", "pinned": True}]
    plan = plan_of({"running": running})
    kept = next(node for node in plan.nodes if node.id == "old/main/04")
    assert (kept.off, kept.sold) == ((), None)
    assert sum(node.sold is not None for node in plan.nodes) == 1


def test_servers_on_which_something_runs_today_go_last(plan_of):
    running = [
        {"job": "always", "node": "old/main/04"},
        {"job": "peaks", "node": "old/main/03"},
    ]
    plan = plan_of({"running": running})
    assert {node.id for node in plan.nodes if node.sold} == {"old/main/02"}
    assert plan.current.moves == ()


def test_a_node_that_is_off_keeps_its_place_and_takes_no_power(plan_of):
    site = {"power_kw": 20, "rack_units": 30, "racks": {"count": 2, "units": 14}}
    plan = plan_of({"sites.main": site})
    (use,) = plan.sites
    assert use.taken["power_w"] == (8000, 4000, 8000, 8000)
    assert use.taken["rack_units"] == (18,) * 4
    assert use.racks_used == (2,) * 4
    racks = {node.id: node.racks for node in plan.nodes}
    assert [len(racks[f"old/main/0{number}"]) for number in (1, 2, 3, 4)] == [4, 4, 4, 0]


def test_more_may_be_received_than_is_paid(plan_of):
    plan = plan_of({"fleet.old.sale": {"price_usd": {"2027Q1": 50000, "2028Q1": 1}}})
    assert plan.proof.cost_cents < 0
    assert plan.proof.status == "proved"
    assert "more received than paid" in plan_page(plan)


def test_the_documents_tell_what_leaves_and_what_that_brings(plan):
    page = plan_page(plan)
    assert "**Sell 1 × Old (8× a100-80gb-sxm) in 2027Q1 ($5,000) and switch off up to 2 ×" in page
    assert "buy and rent nothing: the rest of the fleet runs every job" in page
    assert "sold in 2027Q1: old/main/04 (old), as stated (broker 4711)" in page
    assert "off in 2027Q2: old/main/02, old/main/03 (old)" in page
    lines = [line.split() for line in page.splitlines()]
    assert ["old/main/04", "sold"] in lines
    assert ["old/main/03", "off", "off", "off"] in lines
    assert "illustrative prices" not in page
    drawn = justification(plan)
    assert "### What leaves, when, and what it brings" in drawn
    assert "What is sold or switched off, 3 nodes, counts as owned." in drawn
    assert "- Received for owned nodes that are sold, counted against no budget" in drawn
    assert "Owned nodes let go" in quarterly(plan)


def test_a_price_that_nobody_quotes_is_called_illustrative(plan_of):
    plan = plan_of({"fleet.old.sale.quote": None})
    assert "at illustrative prices" in plan_page(plan)
    assert "Prices of `old` are illustrative" in justification(plan)


def test_doing_nothing_keeps_every_node(inputs):
    settings = {".".join(map(str, one.path)): one.value for one in keeping_owned_nodes(inputs)}
    assert settings == {
        "fleet.old.sale.maximum": 0,
        "fleet.old.may_switch_off": False,
        "fleet.old.support_while_off": "charged",
    }


@noticed("old servers")
def test_the_check_notices_when(inputs, plan, told, edit):
    assert told in refused(inputs, edit(plan))


@table(__file__)
def test_the_check_lets_nothing_go_that_must_stay(asked, plan, changes, expected):
    assert expected in refused(asked(changes), plan)


def test_where_every_owned_node_is_sold_the_documents_have_no_empty_table(tmp_path):
    made = planner.plan(
        question(2)
        | {
            "fleet": {
                "old": {"node_type": "xe9680-a100", "count": 1, "sale": {"price_usd": 200_000}}
            },
            "finance": {"useful_life_years": 2},
            "offers": {"l40s": {"node_type": "r760xa-l40s", "kind": "rent"}},
            "jobs": {"work": {"fixed": {"gpu_memory_gb": 20}, "gpu_types": ["l40s-48gb"]}},
        }
    )
    assert made.to_markdown().count("sell 1 ×") == 1
    planner.report(made).write(tmp_path)
    text = (tmp_path / "justification.md").read_text(encoding="utf-8")
    assert "No owned node is kept on." in text
    assert not re.search(r"\| ---[^\n]*\n\n", text)


def test_what_is_let_go_counts_as_owned_and_its_leaving_is_told(plan, plan_of):
    """Four servers of 8 GPUs and 4 kW each would be there in every quarter, were none let go."""
    drawn = justification(plan)
    assert "The GPUs that are owned suffice by their number in every quarter" in drawn
    assert "| 2027Q2 | 8 | 32 | -24 | -52,560 | 8 | 8 | 0 |" in drawn
    assert "| main | 2027Q1 | 16 | 8 | 24 | 18 |" in drawn
    assert "|  | 2027Q2 | 16 | 4 | 24 | 18 |" in drawn
    assert "| 2027-01-01 | main | Sell: 1 × old | old | 4 | 6 | 9 |" in drawn
    assert "Retire: " not in drawn
    retired = justification(
        plan_of(
            {
                "fleet.old.retires": "2027Q3",
                "fleet.old.sale": None,
                "jobs.peaks.count": {"2027Q1": 1, "2027Q2": 0},
                "jobs.always.quarters": "2027Q1",
            }
        )
    )
    assert "| 2027-07-01 | main | Retire: 4 × old | old | 16 | 24 | 36 |" in retired


def for_sale(job, **own):
    """The job of a plan in which one H100 server may be sold and H200 servers rented, as JSON."""
    fleet = {"node_type": "xe9680-h100", "count": 1, "sale": {"price_usd": 1}, **own}
    offer = {"node_type": "xe9680-h200", "kind": "rent", "lead_time_weeks": 1}
    policies = {"move_cost_usd": 10, **job.pop("policies", {})}
    scenario = {"fleet": {"own": fleet}, "offers": {"r": offer}, "policies": policies, **job}
    return json.loads(planner.plan(question(2, as_of="2026-10-01") | scenario).to_json())


def test_a_node_that_may_be_sold_is_no_further_node_to_be_had():
    plan = for_sale({"jobs": {"two": {"fixed": {"gpus": 16}}}})
    reasons = {one["gpu_type"]: one["reason"] for one in plan["jobs"][0]["alternatives"]}
    told = "it needs 2 whole nodes of xe9680-h100@main, of which 1 can be had"
    assert reasons["h100-80gb-sxm"] == told


@pytest.mark.parametrize(
    ("own", "policies", "told"),
    [
        (
            {"retires": "2027Q2"},
            {},
            "no h100-80gb-sxm can be in service in 2027Q2, and its units keep one GPU type over "
            "all quarters",
        ),
        ({}, {"spare_nodes": 1}, "every node of xe9680-h100/main is kept spare in 2027Q1"),
    ],
    ids=["retires", "spare"],
)
def test_why_a_unit_moves_is_told_as_if_no_node_were_for_sale(own, policies, told):
    job = {"jobs": {"one": {"fixed": {"gpus": 8}}}, "policies": policies}
    running = [{"job": "one", "pool": "xe9680-h100/main"}]
    (move,) = for_sale({**job, "running": running}, **own)["current"]["moves"]
    assert move["reason"] == told
