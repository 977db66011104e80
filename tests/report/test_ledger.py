"""Figures by their place in plan.json, and sums over them."""

import json

import pytest

from planner.planning.ledger.accounts import Accounts, Capacity
from planner.planning.ledger.traced import NOTHING, FigureReader, total, where
from planner.planning.store import dumps
from tests.report.sums import again


@pytest.fixture
def read(plan):
    return FigureReader(plan)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("acquisitions[1].total_cents", 357_000_00),
        ("costs[1].cents[2]", -321_300_00),
        ("settings[name=hours_per_quarter].value", 2190),
        ("proof.bound_terms[2][1]", 0),
    ],
)
def test_a_place_holds_what_stands_there(read, place, value):
    assert read.at(place).value == value
    assert read.at(place).sum == place


def test_a_key_of_digits_alone_is_a_key_and_no_number(plan):
    (key, sizing), *_ = plan.sizings.items()
    renamed = plan.model_copy(update={"sizings": {"646229189477": sizing}})
    gpus = FigureReader(renamed).at("sizings[646229189477].candidates[0].gpus")
    assert gpus.value == FigureReader(plan).at(f"sizings[{key}].candidates[0].gpus").value


def test_a_filter_takes_entries_that_are_or_hold_what_it_says(read):
    assert read.sum("nodes[origin=owned].gpus").value == 24
    assert read.count("nodes[in_service=2027Q1]").value == 4
    assert read.count("nodes[origin=owned, in_service=2027Q2, site=dc-east]").value == 3
    assert read.count("nodes[origin=reserve]").value == 0


def test_names_that_would_break_a_filter_are_quoted(read):
    name = "support|assistant <b>`x`"
    place = f"placements[0][*].occupants{where(job=name)}.gpus[*]"
    assert place == 'placements[0][*].occupants[job="support|assistant <b>`x`"].gpus[*]'
    assert read.count(place).value == 3
    assert where(job='a]"b, c=d') == '[job="a]\\"b, c=d"]'


def test_a_place_that_is_none_is_refused(read):
    with pytest.raises(ValueError, match="costs"):
        read.at("costs[0]cents!")


def test_sums_set_brackets_where_they_are_needed(read):
    two, three = read.at("jobs[3].units[0]"), read.at("jobs[3].units[1]")
    assert ((two + three) * two).sum == ("(jobs[3].units[0] + jobs[3].units[1]) * jobs[3].units[0]")
    assert (two - (three - two)).value == two.value - three.value + two.value
    assert (two - (three - two)).sum.count("(") == 1
    assert (two / (three * two)).sum.endswith("(jobs[3].units[1] * jobs[3].units[0])")
    assert total([]) is NOTHING
    assert total([NOTHING, two]).sum == two.sum


def test_every_sum_of_the_books_comes_out_again_from_plan_json(plan, read):
    stored = json.loads(dumps(plan))
    accounts, capacity = Accounts(plan, read), Capacity(plan, read)
    sums = [accounts.paid(), accounts.capex((1,)), accounts.opex((0, 1)), accounts.per_gpu_hour]
    for quarter in range(3):
        sums += [
            capacity.short(quarter),
            capacity.usable(quarter),
            capacity.held("claims-tune", quarter),
            capacity.before("dc-east", quarter, "power_w"),
            capacity.after("dc-east", quarter, "rack_units"),
        ]
    for traced in sums:
        assert traced is not None
        assert again(stored, traced.sum) == traced.value, traced.sum


def test_the_books_say_what_was_bought_paid_and_left(plan, read):
    accounts = Accounts(plan, read)
    assert [year.label for year in accounts.years] == ["2027"]
    assert accounts.capex((0, 1, 2)).value == 357_000_00
    assert accounts.paid().value == sum(
        line.total_cents for line in plan.costs if line.name != "residual value"
    )
    assert accounts.acquired("rent").value == 3 * 19_858_92


def test_gpus_kept_as_spare_are_not_usable(plan):
    pools = tuple(
        pool.model_copy(update={"nodes_spare": (1, 1, 1)})
        if pool.node_type == "xe9680-h100"
        else pool
        for pool in plan.pools
    )
    kept = plan.model_copy(update={"pools": pools})
    capacity = Capacity(kept, FigureReader(kept))
    assert capacity.in_service(1).value == 36
    assert capacity.usable(1).value == 28
    assert capacity.owned(1).value == 24
    assert capacity.exhausted() is None


def test_power_of_a_rack_is_that_of_the_nodes_that_stand_in_it(plan):
    racks = {"xe9680-h100/dc-east/01": 1, "xe9680-h100/dc-east/02": 1, "xe9680-h200/dc-east/01": 2}
    nodes = tuple(
        node.model_copy(update={"racks": (racks.get(node.id, 2),) * len(node.in_service)})
        for node in plan.nodes
    )
    stood = plan.model_copy(update={"nodes": nodes})
    found = Capacity(stood, FigureReader(stood)).racks("dc-east", 2)
    assert found is not None
    assert {rack: traced.value for rack, traced in found.items()} == {1: 20_400, 2: 20_400}
    stored = json.loads(dumps(stood))
    assert all(again(stored, traced.sum) == traced.value for traced in found.values())
    moved = (nodes[0], nodes[1].model_copy(update={"racks": (1, 1, 2)}), *nodes[2:])
    restless = stood.model_copy(update={"nodes": moved})
    assert Capacity(restless, FigureReader(restless)).racks("dc-east", 2) is None


def test_power_is_open_where_the_catalog_does_not_say(plan):
    first, *others = plan.node_types
    unknown = first.model_copy(update={"takes": {"rack_units": 2}})
    silent = plan.model_copy(update={"node_types": (unknown, *others)})
    read = FigureReader(silent)
    capacity = Capacity(silent, read)
    assert capacity.after("cloud", 0, "power_w") is None
    assert capacity.without_nameplate("cloud") == ("r760xa-l40s",)
    assert capacity.after("cloud", 0, "rack_units") == read.at("pools[0].nodes[0]") * read.at(
        "node_types[node_type=r760xa-l40s].takes[rack_units]"
    )


def test_power_before_is_of_owned_nodes_and_after_of_all(plan, read):
    capacity = Capacity(plan, read)
    before, after = (taken("dc-east", 1, "power_w") for taken in (capacity.before, capacity.after))
    assert before is not None
    assert after is not None
    assert before.value == 3 * 10200
    assert after.value == 4 * 10200
