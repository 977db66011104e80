"""A scenario with sites, planned whole: what the plan tells of them, and that the check watches.

Two servers of 8 GPUs are owned in the east, which has two racks and little power; the west has
power and liquid cooling. One rack holds two servers of 6 U and 10 kW. Servers cost less in the
east, liquid-cooled ones are dear.
"""

from __future__ import annotations

import re

import pytest

import planner
from planner.errors import CheckError, InfeasibleError, InputError
from planner.packing import work
from planner.planning import make
from planner.planning.make import make_plan
from planner.planning.plan import SpareCost
from planner.planning.store import dumps, loads
from planner.planning.verify import verify
from planner.reporting import markdown
from planner.reporting.documents import justification_document
from planner.reporting.sections.sites import sites_section
from planner.reporting.traced import TracedPlan
from tests.stated import edited, stated

CATALOG = """
sources:
  maker: {title: Data sheet}
nodes:
  cool:
    vendor: maker
    product: Cool
    gpu_type: h100-80gb-sxm
    gpus: {value: 8, source: maker}
    cpu_cores: {value: 64, source: maker}
    host_memory_gb: {value: 1024, source: maker}
    rack_units: {value: 6, source: maker}
    network_ports: {value: 9, source: maker}
    cooling: {value: air, source: maker}
    max_power_kw: {value: 10, source: maker}
    mean_power_kw: {value: 7, source: maker}
    scale_out_fabric: {value: 400 GbE, source: maker}
  wet:
    vendor: maker
    product: Wet
    gpu_type: h200-141gb-sxm
    gpus: {value: 8, source: maker}
    cpu_cores: {value: 64, source: maker}
    host_memory_gb: {value: 1024, source: maker}
    rack_units: {value: 4, source: maker}
    network_ports: {value: 5, source: maker}
    cooling: {value: direct liquid, source: maker}
    max_power_kw: {value: 14.3, source: maker}
    mean_power_kw: {value: 9, source: maker}
"""

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


@pytest.fixture
def read(tmp_path):
    """The inputs of the scenario with some of its text exchanged."""

    def inputs(*changes, catalog=()):
        (tmp_path / "own.yaml").write_text(edited(CATALOG, *catalog))
        return stated(tmp_path, edited(SCENARIO, *changes))

    return inputs


@pytest.fixture
def inputs(read):
    return read()


@pytest.fixture
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


def test_a_job_stays_where_its_label_says_and_others_make_room(plan):
    assert site_of(plan, "home") == ["east"] * 3
    assert site_of(plan, "home", 1) == ["east"] * 4
    assert site_of(plan, "away", 1) == ["west"] * 2


def test_power_that_comes_later_is_used_when_it_is_there(plan):
    east, west = plan.sites
    assert (east.site, west.site) == ("east", "west")
    west_allows = {"power_w": (100_000, 100_000), "rack_units": (20, 20)}
    assert east.taken["power_w"] == east.allowed["power_w"] == (30_000, 40_000)
    assert (west.taken["rack_units"], west.allowed) == ((12, 12), west_allows)
    assert east.racks_used == (2, 2)


def test_every_node_has_its_rack_and_none_moves(plan):
    racks = {node.id: node.racks for node in plan.nodes}
    assert all(len(set(numbers)) == 1 for name, numbers in racks.items() if "east" in name)
    held = [numbers[-1] for name, numbers in racks.items() if "east" in name]
    assert sorted(held) == [1, 1, 2, 2]
    assert all(numbers == () for name, numbers in racks.items() if "west" in name)


def test_a_plan_with_sites_is_saved_and_read_again(plan):
    assert loads(dumps(plan), "plan.json") == plan


def test_the_checks_of_the_sites_are_confirmed(plan):
    assert any(
        "no site gives more power, rack units or network ports than it has (2 sites" in line
        for line in plan.proof.checks
    )
    assert "each unit runs at a site that its job may use" in plan.proof.checks


def changed(model, **changes):
    return model.model_copy(update=changes)


def with_nodes(plan, where, **changes):
    nodes = tuple(changed(node, **changes) if where(node) else node for node in plan.nodes)
    return changed(plan, nodes=nodes)


def east(node):
    return node.site == "east"


def with_site(plan, name, **changes):
    sites = tuple(changed(use, **changes) if use.site == name else use for use in plan.sites)
    return changed(plan, sites=sites)


BROKEN = [
    (
        lambda p: with_nodes(p, lambda n: n.id.endswith("east/03"), racks=(1, 1)),
        "rack 1 of east: the nodes take 18 of 14 U of rack units",
    ),
    (
        lambda p: with_nodes(p, lambda n: n.id.endswith("east/03"), racks=(1, 1)),
        "rack 1 of east: the nodes take 30 of 20 kW of power",
    ),
    (
        lambda p: with_nodes(p, lambda n: n.id.endswith("east/01"), racks=(3, 3)),
        "stands in rack 3, east has 2",
    ),
    (
        lambda p: with_nodes(p, lambda n: n.id.endswith("east/01"), racks=()),
        "is not in a rack in every quarter in which it stands",
    ),
    (
        lambda p: with_nodes(p, lambda n: n.site == "west", racks=(1, 1)),
        "the list of its racks is (1, 1)",
    ),
    (
        lambda p: with_site(p, "east", taken={"power_w": (20_000, 40_000)}),
        "site east: taken power_w is (20000, 40000)",
    ),
    (lambda p: with_site(p, "east", racks_used=(1, 1)), "site east: racks_used is (1, 1)"),
    (lambda p: changed(p, sites=p.sites[:1]), "the list of sites"),
    (
        lambda p: changed(p, jobs=tuple(changed(job, sites=()) for job in p.jobs)),
        "job home: its sites is ()",
    ),
]


@pytest.mark.parametrize(("broken", "expected"), BROKEN)
def test_the_check_notices_when(inputs, plan, broken, expected):
    with pytest.raises(CheckError) as caught:
        verify(inputs, broken(plan))
    assert any(expected in violation for violation in caught.value.violations)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("2027Q1: 30", "2027Q1: 29.999"), "2027Q1: east: the nodes take 30 of 29.999 kW"),
        (("power_kw: 100", "power_kw: 19"), "2027Q2: west: the nodes take 20 of 19 kW of power"),
        (("rack_units: 20", "rack_units: 11"), "west: the nodes take 12 of 11 U of rack units"),
        (
            ("rack_units: 20", "rack_units: 20, network_ports: {2027Q1: 20, 2027Q2: 17}"),
            "2027Q2: west: the nodes take 18 of 17 ports of network ports",
        ),
        (("units: 14", "units: 11"), "rack 1 of east: the nodes take 12 of 11 U"),
        (("count: 2, units", "count: 1, units"), "stands in rack 2, east has 1"),
        (("count: 2}", "count: 2, sites: [east]}"), "is at west, it may run at east alone"),
        (("labels: [eu]}", "labels: [us]}"), "is at east, it may run at west alone"),
        (
            ("jobs:", "policies: {growth_reserve: {h100-80gb-sxm: 1%}}\njobs:"),
            "0 of 40 GPUs of h100-80gb-sxm are free",
        ),
        (("[eu]\n", "[eu]\n    spare_nodes: 1\n"), "cool at east must keep 1 spare, 0 of 3"),
    ],
)
def test_a_plan_for_other_sites_does_not_pass(read, plan, change, expected):
    """Each limit of a site, made stricter by a little than what the plan takes of it."""
    with pytest.raises(CheckError) as caught:
        verify(read(change), plan)
    assert any(expected in violation for violation in caught.value.violations)


def test_a_node_where_it_cannot_be_cooled_is_noticed(inputs, plan):
    dry = {
        **inputs.scenario.sites,
        "west": changed(inputs.scenario.sites["west"], cooling=("liquid",)),
    }
    with pytest.raises(CheckError, match="cool/west/01 cannot be cooled at west"):
        verify(changed(inputs, scenario=changed(inputs.scenario, sites=dry)), plan)


def test_a_spare_node_has_its_price(read):
    spare = ("labels: [us, cheap]", "labels: [us, cheap], spare_nodes: 1")
    asked, without = make_plan(read(spare)), make_plan(read())
    (price,) = asked.spare_prices
    assert (price.place, price.kept) == ("site west", 1)
    assert price.cents == asked.proof.cost_cents - without.proof.cost_cents > 0
    assert asked.spare_cost == SpareCost(cents=price.cents)
    assert (without.spare_cost, without.spare_prices) == (None, ())


def test_all_spare_nodes_together_cost_what_the_plan_without_any_does_not(read):
    room = (("{2027Q1: 30, 2027Q2: 40}", "200"), ("count: 2, units", "count: 9, units"))
    both = (
        ("labels: [us, cheap]", "labels: [us, cheap], spare_nodes: 2"),
        ("labels: [eu]\n", "labels: [eu]\n    spare_nodes: 1\n"),
        ("gpus: 8}, count: 2}", "gpus: 8}, count: 2, labels: [cheap]}"),
    )
    asked, without = make_plan(read(*room, *both)), make_plan(read(*room, both[2]))
    saved = asked.proof.cost_cents - without.proof.cost_cents
    assert saved > 0
    assert asked.spare_cost == SpareCost(cents=saved)
    assert [(price.place, price.kept) for price in asked.spare_prices] == [
        ("site east", 1),
        ("site west", 2),
    ]
    each = [price.cents or 0 for price in asked.spare_prices]
    assert 0 < max(each) < saved


def test_the_price_of_a_spare_node_is_open_where_the_search_took_all_the_time(read, monkeypatch):
    monkeypatch.setattr(make, "spent", lambda: work.spent() - 60)
    asked = make_plan(read(("labels: [us, cheap]", "labels: [us, cheap], spare_nodes: 1")))
    assert [price.cents for price in asked.spare_prices] == [None]
    assert asked.spare_cost == SpareCost(cents=None)
    assert asked.proof.status == "proved"


def test_the_larger_of_site_and_policy_is_kept_spare(read):
    policy = ("jobs:", "policies: {spare_nodes: 1}\njobs:")
    site = ("labels: [us, cheap]", "labels: [us, cheap], spare_nodes: 2")
    room = (("{2027Q1: 30, 2027Q2: 40}", "200"), ("count: 2, units", "count: 9, units"))
    away = ("gpus: 8}, count: 2}", "gpus: 8}, count: 2, labels: [cheap]}")
    plan = make_plan(read(policy, site, *room, away))
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


def test_the_price_of_the_limits_is_a_term_of_the_bound(plan):
    names = [name for name, _ in plan.proof.bound_terms]
    assert "limits of the sites" in names
    assert sum(cents for _, cents in plan.proof.bound_terms) == plan.proof.bound_cents


@pytest.mark.parametrize(
    ("change", "place", "message", "hint"),
    [
        (("count: 2, site: east", "count: 2"), "fleet.first", "names no site", "one of east, west"),
        (
            ("labels: [eu]}", "labels: [eux]}"),
            "jobs.home.labels[0]",
            "no site carries the label",
            "'eu'",
        ),
        (
            ("labels: [eu]}", "labels: [eu, us]}"),
            "jobs.home.labels",
            "no site carries all of its labels",
            "",
        ),
        (
            ("cooling: [air, liquid]", "cooling: [air]"),
            "offers.dear.node_type",
            "'wet' needs liquid cooling, site 'west' has air alone",
            "add 'liquid'",
        ),
        (
            ("2027Q1: 30", "2027Q1: 19"),
            "sites.east.power_kw",
            "19 kW in 2027Q1 are less than the 20 kW",
            "",
        ),
        (
            ("2027Q1: 30, ", ""),
            "sites.east.power_kw",
            "says nothing of 2027Q1",
            "state one for 2027Q1",
        ),
        (("2027Q2: 40", "2027Q3: 40"), "sites.east.power_kw.2027Q3", "lies after the horizon", ""),
        (
            ("units: 14", "units: 5"),
            "fleet.first.node_type",
            "no rack of site 'east' holds a 'cool', it takes 6 U of 5",
            "",
        ),
        (("power_kw: 20", "power_kw: 9"), "offers.near.node_type", "it takes 10 kW of 9", ""),
        (
            ("cooling: [air]", "rack_units: 11"),
            "sites.east.rack_units",
            "11 U in 2027Q1 are less than the 12 U that the nodes owned there take",
            "",
        ),
        (
            ("rack_units: 20", "network_ports: {2027Q2: 20}"),
            "sites.west.network_ports",
            "says nothing of 2027Q1",
            "state one for 2027Q1",
        ),
        (
            ("cooling: [air]", "network_ports: 17"),
            "sites.east.network_ports",
            "17 ports in 2027Q1 are less than the 18 ports that the nodes owned there take by",
            "",
        ),
    ],
)
def test_what_cannot_stand_there_is_refused_with_its_place(read, change, place, message, hint):
    with pytest.raises(InputError) as caught:
        read(change)
    found = {finding.path: finding for finding in caught.value.findings}
    assert message in found[place].message
    assert hint in (found[place].hint or "")


def test_a_node_type_without_ports_is_refused_where_a_site_limits_them(read):
    bare = [("    network_ports: {value: 5, source: maker}\n", "")]
    with pytest.raises(InputError) as caught:
        read(("rack_units: 20", "network_ports: 20"), catalog=bare)
    found = {finding.path: finding for finding in caught.value.findings}["offers.dear.node_type"]
    assert found.message.startswith("'wet' has no network_ports in the catalog, it is needed for ")
    assert "`network_ports: …` (ports of one node, ports)" in (found.hint or "")


@pytest.mark.parametrize(
    ("key", "told", "short", "raised"),
    [
        ("power_kw", "power at west is 15 kW, at least 20 kW are needed", 15, 20),
        ("rack_units", "rack units at west is 8 U, at least 12 U are needed", 8, 12),
        ("network_ports", "network ports at west is 17 ports, at least 18 ports are", 17, 18),
    ],
)
def test_a_site_that_is_too_small_says_of_what_and_by_how_much(read, key, told, short, raised):
    """What the remedy says, done to the letter, gives a plan."""

    def asked(amount):
        west = f"{key}: {amount}, cooling: [air], labels"
        return read(
            ("power_kw: 100, rack_units: 20, cooling: [air, liquid], labels", west),
            ("  dear: {node_type: wet, kind: buy, site: west, price_usd: 400000, quote: q}\n", ""),
            ("gpus: 8}, count: 2}", "gpus: 8}, count: 2, labels: [cheap]}"),
        )

    with pytest.raises(InfeasibleError) as caught:
        make_plan(asked(short))
    assert told in caught.value.cause
    (remedy,) = (one for one in caught.value.remedies if one.startswith("raise"))
    needed = re.fullmatch(r"raise [a-z ]+ at west by [0-9.]+ \w+, to ([0-9.]+) \w+", remedy)
    assert needed is not None
    assert int(needed[1]) == raised
    plan = make_plan(asked(raised))
    assert site_of(plan, "away", 1) == ["west"] * 2


def test_ports_that_come_later_are_used_when_they_are_there(read):
    """Two nodes of 9 ports are owned; the third and the fourth wait for theirs, and so the job."""
    ports = ("    labels: [eu]\n", "    labels: [eu]\n    network_ports: {}\n")
    later = (ports[0], ports[1].format("{2027Q1: 18, 2027Q2: 36}"))
    home = ("count: {2027Q1: 3, 2027Q2: 4}", "count: {}")
    with pytest.raises(InfeasibleError, match="network ports at east"):
        make_plan(read(later))
    plan = make_plan(read(later, (home[0], home[1].format("{2027Q1: 2, 2027Q2: 4}"))))
    east_use = plan.sites[0]
    assert east_use.taken["network_ports"] == east_use.allowed["network_ports"] == (18, 36)


def test_an_entry_may_state_its_ports(read):
    inputs = read((OWN, f"{OWN}, network_ports: 5"))
    facts = next(one for one in make_plan(inputs).node_types if one.node_type == "cool")
    assert facts.takes["network_ports"] == 5
    assert "network_ports (stated): offers.near of the scenario" in facts.sources


def test_documents_tell_of_ports_where_a_site_limits_them_alone(plan, read):
    limited = make_plan(read(("rack_units: 20", "rack_units: 20, network_ports: 24")))
    for one, told in ((plan, False), (limited, True)):
        for page in (sites_section(TracedPlan(one), 0, full=False), justification_document(one)):
            text = markdown.render(page)
            assert ("| ports |" in text or "ports after" in text) is told
    assert "| 18 | 24 |" in markdown.render(sites_section(TracedPlan(limited), 0, full=False))
    assert "| Network ports at west | 2027Q1 | 18 | 24 | 6 | 9 |" in markdown.render(
        justification_document(limited)
    )


def test_without_sites_any_name_will_do(read):
    start, end = SCENARIO.index("sites:\n"), SCENARIO.index("fleet:")
    inputs = read((SCENARIO[start:end], ""), (", labels: [eu]}", ", sites: [west]}"))
    plan = make_plan(inputs)
    assert plan.sites == ()
    assert site_of(plan, "home") == ["west"] * 3


OWN = "near: {node_type: cool, kind: buy, site: east, price_usd: 200000, quote: q"


def test_what_an_offer_states_of_its_nodes_holds_at_the_site_and_in_its_racks(read):
    inputs = read((OWN, f"{OWN}, max_power_kw: 9.5, rack_units: 7"))
    plan = make_plan(inputs)

    east, _ = plan.sites
    assert (east.taken["power_w"], east.taken["rack_units"]) == ((28_500, 38_000), (21, 28))
    facts = next(one for one in plan.node_types if one.node_type == "cool")
    assert (facts.takes["power_w"], facts.takes["rack_units"]) == (9500, 7)
    assert facts.cooling == "air"
    assert "max_power_kw (stated): offers.near of the scenario" in facts.sources


@pytest.mark.parametrize(
    ("stated", "racks", "told"),
    [
        ("max_power_kw: 10.1", "21", "at least 0.4 kW more are needed"),
        ("max_power_kw: 10.1", "20", "the number of racks at east is 2"),
        ("rack_units: 8", "20", "the number of racks at east is 2"),
    ],
)
def test_a_site_too_small_for_what_an_offer_states_has_no_plan(read, stated, racks, told):
    fed = ("units: 14, power_kw: 20}", f"units: 14, power_kw: {racks}}}")
    with pytest.raises(InfeasibleError) as refused:
        make_plan(read(fed, (OWN, f"{OWN}, {stated}")))
    assert told in str(refused.value)


def test_nodes_that_an_entry_is_silent_about_are_taken_alike_and_the_plan_says_so(read):
    notes = make_plan(read((OWN, f"{OWN}, max_power_kw: 9.5"))).assumptions

    assert (
        "fleet.first, offers.far: max_power_kw = 9.5 as offers.near states it, since all cool "
        "are alike"
    ) in {note.text for note in notes}


def test_energy_and_colocation_are_paid_by_what_the_fleet_entry_states(read):
    billed = ("jobs:\n", "finance: {colocation_usd_per_kw_month: 100}\njobs:\n")
    owned = ("count: 2, site: east}", "count: 2, site: east, mean_power_kw: 8, max_power_kw: 9}")
    before, after = (make_plan(read(*changes)) for changes in ((billed,), (billed, owned)))
    nodes = sum(node.node_type == "cool" and "2027Q1" in node.in_service for node in before.nodes)

    def paid(plan, name):
        return next(line.cents[0] for line in plan.costs if line.name == name)

    assert nodes == 5
    assert paid(after, "energy") * 7 == paid(before, "energy") * 8
    assert paid(before, "colocation") - paid(after, "colocation") == nodes * 1 * 100 * 3 * 100


def test_the_check_holds_a_plan_to_what_the_scenario_states_of_its_nodes(read):
    stated = make_plan(read((OWN, f"{OWN}, max_power_kw: 9.5, mean_power_kw: 7.5")))

    with pytest.raises(CheckError) as refused:
        verify(read(), stated)
    told = "\n".join(refused.value.violations)
    assert "site east: taken power_w" in told
    assert "cool: takes mean_power_w" in told
    assert "energy" in told


def test_a_nameplate_below_what_the_gpus_draw_is_refused_where_it_is_stated(read):
    with pytest.raises(InputError) as refused:
        read((OWN, f"{OWN}, max_power_kw: 5.5"))
    (finding,) = refused.value.findings
    assert finding.path == "offers.near.max_power_kw"
    assert "5.5 kW are less than its 8 GPUs draw at their limit, 5.6 kW" in finding.message


def test_nodes_cooled_otherwise_than_the_catalog_says_stand_where_that_is_cooled(read):
    dry = ("cooling: [air, liquid], labels: [us, cheap]", "cooling: [air], labels: [us, cheap]")
    wet = "dear: {node_type: wet, kind: buy, site: west, price_usd: 400000, quote: q"
    with pytest.raises(InputError, match="needs liquid cooling"):
        read(dry)
    assert read(dry, (wet, f"{wet}, cooling: air")).offers


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
