"""Node types that share spare nodes, planned whole: what fails finds an empty node for all it held.

Hoppers of two types in six racks, of which one holds four. Work and chat may run on either, where
the newer type costs more; huge needs the newer one, and old may run on the older one alone.
"""

import pytest

from planner.errors import InfeasibleError
from planner.planning.make import make_plan
from planner.planning.store import dumps, loads
from tests.plan.edits import put, refused
from tests.report.pages import plan_page
from tests.stated import changed, edited, stated

H100, H200 = "xe9680-h100", "xe9680-h200"
SCENARIO = f"""
format: 1
name: shared
horizon: {{first_quarter: 2027Q1, quarters: 2, as_of: 2026-11-01}}
sites:
  main:
    racks: {{count: 6, units: 24}}
    spare_nodes: {{hopper: {{node_types: [{H100}, {H200}], nodes: 1}}}}
policies: {{repair_days: 5}}
offers:
  older: {{node_type: {H100}, kind: buy, site: main, price_usd: 300000, quote: q}}
  newer: {{node_type: {H200}, kind: buy, site: main, price_usd: 360000, quote: q}}
jobs:
  work: {{fixed: {{gpus: 8, cpus: 64}}, count: {{2027Q1: 3, 2027Q2: 5}}}}
  huge: {{fixed: {{gpus: 4, cpus: 16}}, count: 2, gpu_types: [h200-141gb-sxm]}}
"""
OLD = "  old: {fixed: {gpus: 2}, gpu_types: [h100-80gb-sxm]}\n"
RACKS = ("nodes: 1", "racks: 1")
OFF = "may_switch_off: true"


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """The inputs of the scenario with some of its text exchanged, and with more jobs."""
    folder = tmp_path_factory.mktemp("spares")
    return lambda *changes, more="": stated(folder, edited(SCENARIO, *changes) + more)


@pytest.fixture(scope="module")
def plan(read):
    return make_plan(read())


@pytest.fixture(scope="module")
def by_rack(read):
    inputs = read(RACKS)
    return inputs, make_plan(inputs)


def spare(plan):
    return {pool.node_type: pool.nodes_spare for pool in plan.pools}


def test_one_node_of_the_newer_type_stands_in_for_both_and_each_by_itself_costs_more(read, plan):
    """Where each type in use keeps one, everything runs on the dearer type."""
    assert spare(plan) == {H100: (0, 0), H200: (1, 1)}
    assert plan.spare_cost is not None
    assert plan.spare_cost.cents
    each = make_plan(read((f"{{hopper: {{node_types: [{H100}, {H200}], nodes: 1}}}}", "1")))
    assert spare(each) == {H200: (1, 1)}
    assert each.proof.cost_cents > plan.proof.cost_cents


def test_a_job_that_has_no_place_there_keeps_a_node_of_its_own_type_empty(read):
    """It may not run on the newer type, or takes more than its share of 104 cores for 112."""
    too_much = read(("cpus: 64", "cpus: 108, memory_gb: 100"))
    for inputs in (read(more=OLD), too_much):
        assert spare(make_plan(inputs)) == {H100: (1, 1), H200: (1, 1)}


def test_nodes_stay_in_their_rack_while_the_fleet_grows(read):
    plan = make_plan(read(RACKS, ("2027Q2: 5", "2027Q2: 9")))
    assert all(len(set(node.racks)) == 1 for node in plan.nodes)


def test_what_is_kept_is_told_where_people_look_and_survives_the_file(by_rack):
    _, plan = by_rack
    assert loads(dumps(plan), "plan.json") == plan
    told = plan_page(plan)
    assert (
        "hopper: spare nodes for the loss of 1 rack, shared by xe9680-h100 and xe9680-h200" in told
    )
    assert "spare nodes stay empty, and 1 group of node types can share theirs" in told
    (note,) = (one.text for one in plan.warnings if one.origin == "policies.repair_days")
    assert note.startswith("hopper: of 6 nodes at work, 0.11 are out")
    assert "with 1 spare, all are replaced in 99.4 %" in note


def test_the_check_notices_spare_nodes_that_are_too_few_or_not_there(read, plan, by_rack):
    for change, expected in (
        (("nodes: 1", "nodes: 2"), f"1 can stand in for {H100}, 2 are needed"),
        ((f"[{H100}, {H200}]", f"[{H100}]"), f"0 can stand in for {H100}, 1 are needed"),
        (("nodes: 1", "racks: 2"), "are needed"),
    ):
        assert expected in refused(read(change), plan)
    inputs, spread = by_rack
    packed = tuple(
        changed(node, racks=tuple(1 + number // 4 for _ in node.racks))
        for number, node in enumerate(spread.nodes)
    )
    assert "can stand in for" in refused(inputs, changed(spread, nodes=packed))
    assert "are told" in refused(read(), put(plan, "pools > 0 > nodes_spare", (2, 2)))


def test_the_check_counts_the_rack_of_the_quarter_also_after_one_switched_off(read):
    """While two were off they stood in one rack; what counts is where they stand in service."""
    inputs = read(
        RACKS,
        ("offers:", f"fleet: {{own: {{node_type: {H100}, count: 4, site: main, {OFF}}}}}\noffers:"),
        ("2027Q1: 3, 2027Q2: 5", "2027Q1: 1, 2027Q2: 3"),
        ("  huge: {fixed: {gpus: 4, cpus: 16}, count: 2, gpu_types: [h200-141gb-sxm]}\n", ""),
    )
    plan = make_plan(inputs)
    off = [node for node in plan.nodes if node.off]
    assert [node.off for node in off] == [("2027Q1",)] * 2
    beside = changed(
        plan,
        nodes=tuple(
            changed(node, racks=(off[0].racks[0], node.racks[1])) if node in off else node
            for node in plan.nodes
        ),
    )
    assert refused(inputs, beside) == "site main: racks_used is (4, 4), the inputs give (3, 4)"


def test_where_racks_are_too_few_each_remedy_gives_a_plan(read):
    few = (RACKS, ("count: 6", "count: 2"))
    with pytest.raises(InfeasibleError) as caught:
        make_plan(read(*few, ("2027Q2: 5", "2027Q2: 4")))
    assert "keeps the spare nodes of hopper at main (for the loss of 1 rack)" in str(caught.value)
    assert caught.value.remedies == (
        "keep spare nodes of hopper at main for the loss of no rack in place of 1",
        "raise the number of racks at main by 1, to 3",
    )
    assert make_plan(read(RACKS, ("count: 6", "count: 3"), ("2027Q2: 5", "2027Q2: 4")))


def test_where_offers_end_fewer_spare_nodes_are_the_remedy(read):
    ends = [
        (f"{name}, kind: buy", f"{name}, maximum: {most}, kind: buy")
        for name, most in ((H100, 3), (H200, 4))
    ]
    with pytest.raises(InfeasibleError) as caught:
        make_plan(read(*ends, ("nodes: 1", "nodes: 3")))
    assert "keep 1 spare node of hopper at main in place of 3" in caught.value.remedies
    assert make_plan(read(*ends))


def test_more_spare_nodes_than_work_and_a_type_that_is_never_there_are_warned_of(read):
    plan = make_plan(
        read(("nodes: 1", "nodes: 9"), (f"[{H100}, {H200}]", f"[{H100}, {H200}, xe9680-a100]"))
    )
    notes = {one.origin.partition("hopper")[2]: one.text for one in plan.warnings}
    told = "9 nodes of hopper must stay empty as spare beside 6 at work"
    assert told in {one.text for one in plan.warnings}
    named = "xe9680-a100 is named, and no node of it is owned or offered there"
    assert named in notes[".xe9680-a100"]
