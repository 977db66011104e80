"""Every shipped scenario loads, sizes, and is planned with proof; the big one stays interesting."""

from pathlib import Path

import pytest

from planner.inputs.checks.consistency import cooled_by
from planner.inputs.load import load_catalog
from planner.inputs.scenario.site import SITE_LIMITS
from planner.planning.make import make_plan
from tests.stated import asked, changed

SHIPPED = sorted(path.stem for path in (Path(__file__).parents[2] / "scenarios").glob("*.yaml"))
MODELINE = "# yaml-language-server: $schema=../docs/schema/scenario.schema.json"


def test_the_promised_scenarios_ship():
    assert SHIPPED == ["data-centre", "quarterly", "quickstart", "serving", "sources", "template"]


@pytest.mark.parametrize("name", SHIPPED)
def test_an_editor_finds_the_schema_of_each_scenario(root, name):
    first = (root / "scenarios" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first == MODELINE
    assert (root / "scenarios" / first.partition("$schema=")[2]).resolve().is_file()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_job_of_a_shipped_scenario_can_run_somewhere(sized, name):
    for job in sized(name).values():
        assert job.sizing.candidates, job.name
        assert any(job.units), job.name


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_scenario_is_planned_proved_confirmed_and_called_illustrative(planned, name):
    plan = planned(name)
    proof = plan.proof
    assert proof.status == "proved"
    assert proof.gap <= proof.asked_gap
    assert proof.bound_cents <= proof.cost_cents
    assert proof.checks
    assert [one.verdict for one in proof.second_opinions] == ["confirmed", "confirmed"]
    assert plan.acquisitions
    assert all(line.illustrative for line in plan.acquisitions)
    assert any("illustrative" in note.text for note in plan.warnings)


NODE_TYPES = sorted(load_catalog()[0].nodes)
LIMITED = """
format: 1
name: a hall with limits
horizon: {{first_quarter: 2027Q1, quarters: 1}}
sites: {{main: {{power_kw: 40, rack_units: 40, racks: {{count: 1, units: 42, power_kw: 40}},
         network_ports: 40,
         cooling: [{cooling}]}}}}
fleet: {{own: {{node_type: {node_type}, count: 1}}}}
finance: {{colocation_usd_per_kw_month: 150}}
jobs: {{notebook: {{fixed: {{gpus: 1}}}}}}
"""


@pytest.mark.parametrize("node_type", NODE_TYPES)
def test_every_node_type_of_the_catalog_can_stand_where_all_is_limited(node_type):
    way = min(cooled_by(load_catalog()[0].nodes[node_type]) or ())
    plan = make_plan(asked(LIMITED.format(node_type=node_type, cooling=way)))

    (facts,) = plan.node_types
    for limit in SITE_LIMITS:
        assert plan.sites[0].taken[limit.need] == (facts.takes[limit.need],)
    told = f"{node_type}: max_power_kw = "
    estimates = [note.text for note in plan.assumptions if note.text.startswith(told)]
    listed = load_catalog()[0].nodes[node_type].max_power_kw
    assert bool(estimates) == bool(listed and listed.basis in ("estimate", "assumption"))


def test_shipped_scenarios_cost_what_they_did(planned):
    for name, usd in (("quarterly", 700_995), ("data-centre", 1_021_071)):
        proof = planned(name).proof
        assert proof.cost_cents / 100 == pytest.approx(usd, rel=proof.asked_gap)


def test_what_a_data_centre_respects_binds_in_its_scenario(planned):
    """Two sites, orders in time, a spare node, partitions, teams."""
    plan = planned("data-centre")
    assert {site.site for site in plan.sites} == {"dublin", "frankfurt"}
    assert max(line.lead_time_weeks for line in plan.acquisitions) == 20
    assert all(line.quarter > "2027Q1" for line in plan.acquisitions if line.kind == "buy")
    held = [one for uses in plan.placements for use in uses for one in use.occupants]
    assert any(one.part is not None and one.part.profile for one in held)
    busy = [pool for pool in plan.pools if any(pool.nodes_used)]
    assert all(max(pool.nodes_spare) == 1 for pool in busy)
    assert plan.chargeback is not None
    assert {team.team for team in plan.chargeback.teams} == {
        "customer-care",
        "platform",
        "research",
    }


@pytest.mark.parametrize("limit", ["power of one hall", "budgets"])
def test_a_limit_of_the_data_centre_makes_its_plan_dearer(inputs, planned, limit):
    given = inputs("data-centre")
    scenario = given.scenario
    frankfurt = changed(scenario.sites["frankfurt"], power_kw=None)
    lifted = {
        "power of one hall": {"sites": {**scenario.sites, "frankfurt": frankfurt}},
        "budgets": {"budget": type(scenario.budget)()},
    }
    free = changed(given, scenario=scenario.model_copy(update=lifted[limit]))
    without = make_plan(free, price_choices=False)
    assert without.proof.status == "proved"
    assert without.proof.cost_cents < planned("data-centre").proof.cost_cents
