"""Figures by their place in plan.json, and sums over them."""

import json

import pytest

from planner.planning.accounts import Capacity
from planner.planning.store import dumps
from planner.planning.traced_figures import FigureReader
from tests.report.sums import again
from tests.stated import changed


@pytest.fixture
def read(plan):
    return FigureReader(plan)


def test_a_key_of_digits_alone_is_a_key_and_no_number(plan):
    (key, sizing), *_ = plan.sizings.items()
    renamed = changed(plan, sizings={"646229189477": sizing})
    gpus = FigureReader(renamed).at("sizings[646229189477].candidates[0].gpus")
    assert gpus.value == FigureReader(plan).at(f"sizings[{key}].candidates[0].gpus").value


def test_a_place_that_is_none_is_refused(read):
    with pytest.raises(ValueError, match="costs"):
        read.at("costs[0]cents!")


def test_gpus_kept_as_spare_are_not_usable(plan):
    pools = tuple(
        changed(pool, nodes_spare=(1, 1, 1)) if pool.node_type == "xe9680-h100" else pool
        for pool in plan.pools
    )
    kept = changed(plan, pools=pools)
    capacity = Capacity(kept, FigureReader(kept))
    assert capacity.in_service(1).value == 36
    assert capacity.usable(1).value == 28
    assert capacity.owned(1).value == 24
    assert capacity.exhausted() is None


def test_power_of_a_rack_is_that_of_the_nodes_that_stand_in_it(plan):
    racks = {"xe9680-h100/dc-east/01": 1, "xe9680-h100/dc-east/02": 1, "xe9680-h200/dc-east/01": 2}
    nodes = tuple(
        changed(node, racks=(racks.get(node.id, 2),) * len(node.in_service)) for node in plan.nodes
    )
    stood = changed(plan, nodes=nodes)
    found = Capacity(stood, FigureReader(stood)).racks("dc-east", 2)
    assert found is not None
    assert {rack: traced.value for rack, traced in found.items()} == {1: 20_400, 2: 20_400}
    stored = json.loads(dumps(stood))
    assert all(again(stored, traced.sum) == traced.value for traced in found.values())
    moved = (nodes[0], changed(nodes[1], racks=(1, 1, 2)), *nodes[2:])
    restless = changed(stood, nodes=moved)
    assert Capacity(restless, FigureReader(restless)).racks("dc-east", 2) is None


def test_power_is_open_where_the_catalog_does_not_say(plan):
    first, *others = plan.node_types
    unknown = changed(first, takes={"rack_units": 2})
    silent = changed(plan, node_types=(unknown, *others))
    read = FigureReader(silent)
    capacity = Capacity(silent, read)
    assert capacity.taken("cloud", 0, "power_w") is None
    assert capacity.without_nameplate("cloud") == ("r760xa-l40s",)
    assert capacity.taken("cloud", 0, "rack_units") == read.at("pools[0].nodes[0]") * read.at(
        "node_types[node_type=r760xa-l40s].takes[rack_units]"
    )
