"""Which rack a node stands in: for good where that can be, else with as few changes as can be."""

from typing import Any

import pytest

import planner
from tests.stated import own_nodes, question

CATALOG = own_nodes(
    tall={"gpu_type": "h100-80gb-sxm", "rack_units": 8, "max_power_kw": 9, "mean_power_kw": 5},
    low={"gpu_type": "l40s-48gb", "rack_units": 4, "max_power_kw": 6, "mean_power_kw": 3},
)
"""Two racks of 10 U hold one tall server or two low ones each."""


@pytest.fixture
def racks(tmp_path):
    """By node, its rack in each quarter in which it stands."""

    def stand(
        fleet: dict[str, Any],
        low: dict[str, int],
        offers: dict[str, Any] | None = None,
        power_kw: int = 50,
    ) -> dict[str, tuple[int, ...]]:
        path = tmp_path / "own.yaml"
        path.write_text(CATALOG, encoding="utf-8")
        one = {"fixed": {"gpus": 8}}
        until = f"2027Q1..{fleet['tall'].pop('used_until')}" if "tall" in fleet else ""
        rent = {"kind": "rent", "price_usd_per_gpu_hour": 2, "quote": "q", "node_type": "low"}
        asked = question(3, as_of="2026-11-01") | {
            "sites": {"main": {"racks": {"count": 2, "units": 10, "power_kw": power_kw}}},
            "fleet": {
                name: {"node_type": name, "count": 1, **more} for name, more in fleet.items()
            },
            "offers": {"rent": rent, **(offers or {})},
            "jobs": {
                "low": {**one, "gpu_types": ["l40s-48gb"], "count": low},
                **({"tall": {**one, "quarters": until}} if until else {}),
            },
        }
        return {node.id: node.racks for node in planner.plan(asked, catalog=path)._plan.nodes}

    return stand


def test_a_node_stands_in_one_rack_for_good_where_there_is_room_all_its_time(racks):
    """The tall one serves first alone, then beside two; two more come when it has left."""
    found = racks(
        {"tall": {"retires": "2027Q3", "used_until": "2027Q2"}},
        {"2027Q1": 0, "2027Q2": 2, "2027Q3": 4},
    )
    assert len(found) == 5
    assert {len(set(stood)) for stood in found.values()} == {1}
    assert found["low/main/r01"] == found["low/main/r02"]
    assert found["tall/main/01"][0] != found["low/main/r01"][0]


def test_where_no_rack_does_for_good_as_many_nodes_as_can_be_stay(racks):
    """The first two low ones, owned and rented, are then listed apart, as one is bought."""
    buy = {"node_type": "low", "kind": "buy", "price_usd": 1000, "quote": "q", "maximum": 1}
    found = racks(
        {"low": {}, "tall": {"retires": "2027Q2", "used_until": "2027Q1"}},
        {"2027Q1": 2, "2027Q2": 4},
        {"buy": {**buy, "lead_time_weeks": 20}},
    )
    assert found == {
        "tall/main/01": (1,),
        "low/main/01": (2, 2, 2),
        "low/main/02": (1, 1),
        "low/main/r01": (2, 2, 2),
        "low/main/r02": (1, 1),
    }


def test_what_a_rack_can_feed_counts_like_its_height(racks):
    """Both low ones would fit one rack, which feeds only one of them; they come one by one."""
    found = racks({"low": {}}, {"2027Q1": 1, "2027Q2": 2}, power_kw=10)
    assert len(set(found["low/main/01"])) == 1
    assert found["low/main/r01"][0] != found["low/main/01"][0]
