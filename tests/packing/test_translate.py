"""From a scenario to integers: classes of units, pools, lead times, parts and runs."""

import pytest

from planner.inputs.load import inputs_from, load_catalog, load_rules
from planner.inputs.reading.reader import parse_document
from planner.packing import translate
from planner.packing.problem import ALWAYS, WHOLE, RunWindow
from planner.packing.translation import Translation
from planner.sizing.sizers import Sizers

SCENARIO = """\
format: 1
name: question
horizon: {{first_quarter: 2027Q1, quarters: 3, as_of: {as_of}}}
fleet: {{{fleet}}}
offers: {{{offers}}}
policies: {{{policies}}}
jobs: {{{jobs}}}
"""
BUY = "buy: {node_type: xe9680-h100, kind: buy, price_usd: 200000}"


def stated(
    jobs: str = "any: {fixed: {gpus: 1}}",
    *,
    offers: str = BUY,
    fleet: str = "",
    policies: str = "",
    as_of: str = "2027-01-01",
) -> Translation:
    text = SCENARIO.format(jobs=jobs, offers=offers, fleet=fleet, policies=policies, as_of=as_of)
    inputs = inputs_from(parse_document(text, "scenario.yaml"), load_catalog, load_rules)
    return translate(inputs, Sizers().portfolio(inputs))


def test_jobs_that_need_the_same_become_one_demand_whatever_their_names():
    translation = stated("x: {fixed: {gpus: 2}, count: 2}, y: {fixed: {gpus: 2}}")
    (demand,) = translation.problem.demands
    assert (demand.count, demand.quarters) == (3, (0, 1, 2))
    assert translation.members == ((("x", 1), ("x", 2), ("y", 1)),)


def test_nodes_of_one_type_at_one_site_are_one_pool():
    problem = stated(
        fleet="old: {node_type: xe9680-h100, count: 2}, older: {node_type: xe9680-h100, count: 3}",
        offers="cards: {node_type: r760xa-h100-pcie, kind: buy, price_usd: 60000}",
        policies="spare_nodes: {xe9680-h100: 1}",
    ).problem
    found = [(pool.name, pool.owned, pool.spare, pool.fabric) for pool in problem.pools]
    assert found == [("r760xa-h100-pcie@main", 0, 0, False), ("xe9680-h100@main", 5, 1, True)]
    assert [pool.node.gpus for pool in problem.pools] == [4, 8]
    assert problem.supplies[0].pool == 0


@pytest.mark.parametrize(
    ("weeks", "as_of", "first"),
    [
        (0, "2027-01-01", 0),
        (12, "2027-01-01", 1),
        (13, "2027-01-01", 2),
        (25, "2027-01-01", 2),
        (12, "2026-10-01", 0),
    ],
)
def test_a_node_enters_service_in_the_first_quarter_that_begins_after_its_lead_time(
    weeks, as_of, first
):
    """From 1 January 2027, 12 weeks end on 26 March and 13 on 2 April, when Q2 has begun."""
    offer = "node_type: xe9680-h100, kind: rent, price_usd_per_gpu_hour: 2"
    offers = f"r: {{{offer}, lead_time_weeks: {weeks}}}"
    (supply,) = stated(offers=offers, as_of=as_of).problem.supplies
    ready = [quarter for quarter, cents in enumerate(supply.unit_cost_cents) if cents is not None]
    assert ready == list(range(first, 3))


SERVED = "x: {serve: {model: llama-3.1-8b, bits: 4, context: 2048, concurrency: 1}}"


@pytest.mark.parametrize(("policy", "mixes"), [("same-node", True), ("own-node", False)])
def test_parts_become_shapes_of_one_gpu_whose_choices_have_names(policy, mixes):
    """The policy says whether partitioned GPUs stand beside whole ones."""
    problem = stated(SERVED, policies=f"mig: {policy}, shared_gpus: true").problem
    (demand,), (pool,) = problem.demands, problem.pools
    parts = {choice.way: choice.shape.part for choice in demand.choices}
    assert parts["h100-80gb-sxm"] == WHOLE
    assert parts["h100-80gb-sxm 1g.10gb"].profile == "1g.10gb"
    assert 0 < parts["h100-80gb-sxm shared"].memory_mb < pool.shared_mb == 85_520
    assert all(
        choice.shape.gpus == 1 and choice.shape.bundles == (choice.shape.part != WHOLE)
        for choice in demand.choices
    )
    profiles = {profile for one in pool.divisions for profile, _ in one.slots}
    assert profiles == {one.profile for one in parts.values() if one.profile}
    assert pool.mixes is mixes


def test_a_run_becomes_hours_and_a_window_and_as_many_pieces_as_it_runs():
    tune = "tune: {model: llama-3.1-8b, method: lora, sequence: 2048, batch: 4}"
    run = "run: {hours: 27, release: 4, deadline: 9}, runs_per_quarter: 6, quarters: 2027Q1"
    (demand,) = stated(f"x: {{{tune}, {run}}}").problem.demands
    assert demand.choices[0].shape.run == RunWindow(30, 504, 1512)
    assert demand.choices[0].copies == 6
    (demand,) = stated("x: {fixed: {gpus: 2}}").problem.demands
    assert demand.choices[0].shape.run == ALWAYS
    assert not demand.choices[0].shape.bundles
