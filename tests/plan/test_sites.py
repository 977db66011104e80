"""A scenario with sites, planned whole: what the plan tells of them, and that the check watches.

Two servers of 8 GPUs are owned in the east, which has two racks and little power; the west has
power and liquid cooling. One rack holds two servers of 6 U and 10 kW. Servers cost less in the
east, liquid-cooled ones are dear.
"""

import re
from typing import Any

import pytest

import planner
from planner.errors import InfeasibleError, InputError
from planner.packing import work
from planner.planning import make
from planner.planning.make import make_plan
from planner.planning.plan import SpareCost
from planner.reporting import markdown
from planner.reporting.documents import justification_document
from planner.reporting.sections.capacity import sites_section
from planner.reporting.traced import TracedPlan
from tests.plan.edits import noticed, refused
from tests.report.pages import justification
from tests.stated import changed, edited, own_nodes, question, stated, table

CATALOG: dict[str, dict[str, Any]] = {
    "cool": {
        "gpu_type": "h100-80gb-sxm",
        **{"rack_units": 6, "network_ports": 9, "cooling": "air"},
        **{"max_power_kw": 10, "mean_power_kw": 7, "scale_out_fabric": "400 GbE"},
    },
    "wet": {
        "gpu_type": "h200-141gb-sxm",
        **{"rack_units": 4, "network_ports": 5, "cooling": "direct liquid"},
        **{"max_power_kw": 14.3, "mean_power_kw": 9},
    },
}

SCENARIO = """
format: 1
name: two sites
horizon: {first_quarter: 2027Q1, quarters: 2, as_of: 2026-11-01}
use: {catalog: [own.yaml]}
sites:
  east:
    power_kw: {2027Q1: 30, 2027Q2: 40}
    racks: {count: 2, units: 14, power_kw: 20}
    cooling: [air]
    labels: [eu]
  west: {power_kw: 100, rack_units: 20, cooling: [air, liquid], labels: [us, cheap]}
fleet:
  first: {node_type: cool, count: 2, site: east}
offers:
  near: {node_type: cool, kind: buy, site: east, price_usd: 200000, quote: q}
  far: {node_type: cool, kind: buy, site: west, price_usd: 250000, quote: q}
  dear: {node_type: wet, kind: buy, site: west, price_usd: 400000, quote: q}
jobs:
  home: {fixed: {gpus: 8}, count: {2027Q1: 3, 2027Q2: 4}, labels: [eu]}
  away: {fixed: {gpus: 8}, count: 2}
"""


OWN = "near: {node_type: cool, kind: buy, site: east, price_usd: 200000, quote: q"
AWAY = ("gpus: 8}, count: 2}", "gpus: 8}, count: 2, labels: [cheap]}")
ROOM = (("{2027Q1: 30, 2027Q2: 40}", "200"), ("count: 2, units", "count: 9, units"))


def of_own(more):
    """What an offer states of its nodes."""
    return OWN, f"{OWN}, {more}"


def spare_in_the_west(nodes):
    return "labels: [us, cheap]", f"labels: [us, cheap], spare_nodes: {nodes}"


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """The inputs of the scenario with some of its text exchanged."""
    folder = tmp_path_factory.mktemp("sites")

    def inputs(*changes, catalog=CATALOG):
        (folder / "own.yaml").write_text(own_nodes(**catalog))
        return stated(folder, edited(SCENARIO, *changes))

    return inputs


@pytest.fixture(scope="module")
def inputs(read):
    return read()


@pytest.fixture(scope="module")
def plan(inputs):
    return make_plan(inputs)


def site_of(plan, job, quarter=0):
    """Sites where units of a job sit in a quarter, one for each unit."""
    where = {node.id: node.site for node in plan.nodes}
    return sorted(
        where[use.node]
        for use in plan.placements[quarter]
        for occupant in use.occupants
        if occupant.job == job
    )


def test_a_job_stays_where_its_label_says_others_make_room_and_later_power_is_used(plan):
    assert [site_of(plan, "home", quarter) for quarter in (0, 1)] == [["east"] * 3, ["east"] * 4]
    assert site_of(plan, "away", 1) == ["west"] * 2
    east, west = plan.sites
    assert (east.site, west.site) == ("east", "west")
    assert east.taken["power_w"] == east.allowed["power_w"] == (30_000, 40_000)
    assert west.taken["rack_units"] == (12, 12)
    assert west.allowed == {"power_w": (100_000, 100_000), "rack_units": (20, 20)}
    terms = dict(plan.proof.bound_terms)
    assert "limits of the sites" in terms
    assert sum(terms.values()) == plan.proof.bound_cents
    assert "each unit runs at a site that its job may use" in plan.proof.checks
    assert any(told.endswith("than it has (2 sites limited)") for told in plan.proof.checks)


@noticed("two sites")
def test_the_check_notices_when(inputs, plan, told, edit):
    assert told in refused(inputs, edit(plan))


@table(__file__)
def test_a_plan_for_other_sites_does_not_pass(read, plan, change, expected):
    """Each limit of a site, made stricter by a little than what the plan takes of it."""
    assert expected in refused(read(change), plan)


def test_a_node_where_it_cannot_be_cooled_is_noticed(inputs, plan):
    sites = inputs.scenario.sites
    dry = {**sites, "west": changed(sites["west"], cooling=("liquid",))}
    hot = changed(inputs, scenario=changed(inputs.scenario, sites=dry))
    assert "cool/west/01 cannot be cooled at west" in refused(hot, plan)


def test_a_spare_node_has_its_price_where_time_is_left_to_ask(read, plan, monkeypatch):
    asked = make_plan(read(spare_in_the_west(1)))
    cents = asked.proof.cost_cents - plan.proof.cost_cents
    assert asked.spare_cost == SpareCost(cents=cents)
    assert cents > 0
    assert plan.spare_cost is None
    monkeypatch.setattr(make, "spent", lambda: work.spent() - 60)
    asked = make_plan(read(spare_in_the_west(1)))
    assert asked.spare_cost == SpareCost(cents=None)
    assert asked.proof.status == "proved"


def test_the_larger_of_site_and_policy_is_kept_spare(read):
    policy = ("jobs:", "policies: {spare_nodes: 1}\njobs:")
    plan = make_plan(read(policy, spare_in_the_west(2), *ROOM, AWAY))
    assert {pool.site: pool.nodes_spare for pool in plan.pools} == {"east": (1, 1), "west": (2, 2)}


def test_what_is_kept_for_growth_is_told(read):
    growth = ("jobs:", "policies: {growth_reserve: {h200-141gb-sxm: 40%}}\njobs:")
    wet = ("gpus: 8}, count: 2}", "gpus: 8}, count: 2, gpu_types: [h200-141gb-sxm]}")
    plan = make_plan(read(growth, wet))
    assert plan.growth_reserve == (("h200-141gb-sxm", 0.4),)
    wet_pool = next(pool for pool in plan.pools if pool.node_type == "wet")
    assert (wet_pool.nodes, wet_pool.nodes_used) == ((4, 4), (2, 2))


def test_a_job_whose_sites_have_nothing_for_it_is_named(read):
    inputs = read(
        ("  far: {node_type: cool", "  far: {node_type: wet"),
        ("labels: [eu]}", "sites: [west], gpu_types: [h100-80gb-sxm]}"),
    )
    with pytest.raises(InfeasibleError) as caught:
        make_plan(inputs)
    assert "fits nothing that is owned or offered at west" in caught.value.reasons[0]


def test_a_deployment_stays_where_its_tuning_job_may_run(read):
    tuned = "tune: {model: llama-3.1-8b, method: lora, batch: 1, sequence: 512, deploy: {}}"
    inputs = read(("away: {fixed: {gpus: 8}, count: 2}", f"away: {{{tuned}, sites: [west]}}"))
    plan = make_plan(inputs)
    assert site_of(plan, "away-serving", 1) == ["west"]
    assert {job.name: job.sites for job in plan.jobs}["away-serving"] == ("west",)


DEAR = "dear: {node_type: wet, kind: buy, site: west, price_usd: 400000, quote: q"


@table(__file__)
def test_what_cannot_stand_there_is_refused_with_its_place(read, change, place, message, hint):
    with pytest.raises(InputError) as caught:
        read(change)
    found = {finding.path: finding for finding in caught.value.findings}
    assert message in found[place].message
    assert hint in (found[place].hint or "")


@table(__file__)
def test_a_site_that_is_too_small_says_of_what_and_by_how_much(read, key, told, short, raised):
    """What the remedy says, done to the letter, gives a plan."""

    def asked(amount):
        west = f"{key}: {amount}, cooling: [air], labels"
        whole = "power_kw: 100, rack_units: 20, cooling: [air, liquid], labels"
        return read((whole, west), (f"  {DEAR}}}\n", ""), AWAY)

    with pytest.raises(InfeasibleError) as caught:
        make_plan(asked(short))
    assert told in caught.value.cause
    (remedy,) = (one for one in caught.value.remedies if one.startswith("raise"))
    needed = re.fullmatch(r"raise [a-z ]+ at west by [0-9.]+ \w+, to ([0-9.]+) \w+", remedy)
    assert needed is not None
    assert int(needed[1]) == raised
    assert site_of(make_plan(asked(raised)), "away", 1) == ["west"] * 2


def test_documents_tell_of_ports_where_a_site_limits_them_alone(plan, read):
    limited = make_plan(read(("rack_units: 20", "rack_units: 20, network_ports: 24")))
    for one, told in ((plan, False), (limited, True)):
        for page in (sites_section(TracedPlan(one)), justification_document(one)):
            text = markdown.render(page)
            assert ("| ports |" in text or "ports after" in text) is told
    assert "| 18 | 24 |" in markdown.render(sites_section(TracedPlan(limited)))
    assert "| Network ports at west | 2027Q1 | 18 | 24 | 6 | 9 |" in justification(limited)


def test_without_sites_any_name_will_do(read):
    start, end = SCENARIO.index("sites:\n"), SCENARIO.index("fleet:")
    plan = make_plan(read((SCENARIO[start:end], ""), (", labels: [eu]}", ", sites: [west]}")))
    assert plan.sites == ()
    assert site_of(plan, "home") == ["west"] * 3


def test_what_an_offer_states_of_its_nodes_holds_and_others_of_the_type_take_it_over(read):
    plan = make_plan(read(of_own("max_power_kw: 9.5, rack_units: 7, network_ports: 5")))
    east, _ = plan.sites
    assert (east.taken["power_w"], east.taken["rack_units"]) == ((28_500, 38_000), (21, 28))
    facts = next(one for one in plan.node_types if one.node_type == "cool")
    needs = ("power_w", "rack_units", "network_ports")
    assert [facts.takes[need] for need in needs] == [9500, 7, 5]
    assert facts.cooling == "air"
    assert {
        f"{key} (stated): offers.near of the scenario" for key in ("max_power_kw", "network_ports")
    } <= {*facts.sources}
    told = "fleet.first, offers.far: max_power_kw = 9.5 as offers.near states it, since all cool"
    assert f"{told} are alike" in {note.text for note in plan.assumptions}


def test_the_check_holds_a_plan_to_what_the_scenario_states_of_its_nodes(read):
    told = refused(read(), make_plan(read(of_own("max_power_kw: 9.5, mean_power_kw: 7.5"))))
    for words in ("site east: taken power_w", "energy"):
        assert words in told


def test_nodes_cooled_otherwise_than_the_catalog_says_stand_where_that_is_cooled(read):
    dry = ("cooling: [air, liquid], labels: [us, cheap]", "cooling: [air], labels: [us, cheap]")
    with pytest.raises(InputError, match="needs liquid cooling"):
        read(dry)
    assert read(dry, (DEAR, f"{DEAR}, cooling: air")).offers


def test_what_names_no_site_stands_at_the_only_one():
    asked = """
format: 1
name: One hall
horizon: {first_quarter: 2027Q1, quarters: 2}
sites: {hall: {power_kw: 100}}
fleet: {old: {node_type: xe9680-a100, count: 1SITE}}
offers: {more: {node_type: xe9680-h100, kind: buy, price_usd: 300000SITE}}
jobs: {big: {fixed: {gpus: 8}, count: 2}}
"""
    open_site, stated = (
        planner.plan(asked.replace("SITE", site)).to_dict() for site in ("", ", site: hall")
    )
    assert open_site["nodes"] == stated["nodes"]
    assert {node["site"] for node in open_site["nodes"]} == {"hall"}
    assert open_site["proof"]["cost_cents"] == stated["proof"]["cost_cents"]


def full_site(limit, may_leave):
    """Three nodes of 10.2 kW and 6 U where there is room for two, and a job for one of them."""
    return {
        **question(2),
        "sites": {"a": limit},
        "fleet": {"rack": {"node_type": "xe9680-h100", "count": 3, "site": "a", **may_leave}},
        "jobs": {"chat": {"fixed": {"gpus": 8}}},
    }


@pytest.mark.parametrize(
    ("limit", "may_leave"),
    [
        ({"power_kw": 25}, {"may_switch_off": True}),
        ({"power_kw": 25}, {"sale": {"price_usd": 100_000}}),
        ({"rack_units": 12}, {"sale": {"price_usd": 100_000, "maximum": 1}}),
    ],
)
def test_nodes_that_may_be_switched_off_or_sold_need_no_room(limit, may_leave):
    assert planner.plan(full_site(limit, may_leave)).proved


@pytest.mark.parametrize(
    ("limit", "may_leave"),
    [
        ({"rack_units": 12}, {"may_switch_off": True}),
        ({"power_kw": 25}, {"sale": {"price_usd": 100_000, "quarters": "2027Q2"}}),
        ({"power_kw": 15}, {"sale": {"price_usd": 100_000, "maximum": 1}}),
    ],
)
def test_nodes_that_stay_need_room(limit, may_leave):
    with pytest.raises(InputError, match="the nodes owned there take"):
        planner.load(full_site(limit, may_leave))
