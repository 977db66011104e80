"""One offer for several sites: one maximum, one ladder of prices, nodes at each site."""

from copy import deepcopy
from typing import Any

import pytest

from planner.errors import InfeasibleError
from planner.inputs.settled import Inputs
from planner.planning.make import make_plan
from planner.planning.plan import Plan
from planner.reporting.sections.purchases import orders_for_several_sites
from tests.plan.edits import noticed, refused
from tests.scenarios.test_procurement import BUY, RENT
from tests.scenarios.test_procurement import read as procurement

BOTH = ["madrid", "berlin"]
BREAKS = [{"from_nodes": 2, "price_usd": 250_000}]
JOBS = {
    "here": {"fixed": {"gpus": 8}, "sites": ["berlin"]},
    "there": {"fixed": {"gpus": 8}, "sites": ["madrid"]},
}


def read(offers: dict[str, Any], **changes: Any) -> Inputs:
    """Inputs of two whole-node jobs, one for each of two sites."""
    return procurement(offers, **{"jobs": JOBS, **changes})


def planned(offers: dict[str, Any], **changes: Any) -> Plan:
    return make_plan(read(offers, **changes))


def taken(plan: Plan) -> list[tuple[str, str, int, int]]:
    return [
        (line.kind, line.site, line.count, line.unit_price_cents // 100)
        for line in plan.acquisitions
    ]


def test_nodes_for_two_sites_are_one_order_with_the_price_of_its_size():
    alone = {**BUY, "price_breaks": BREAKS}
    apart = {f"buy-{site}": {**deepcopy(alone), "site": site} for site in BOTH}
    assert {price for *_, price in taken(planned(apart))} == {300_000}

    plan = planned({"buy": {**alone, "site": BOTH}})

    assert taken(plan) == [("buy", "berlin", 1, 250_000), ("buy", "madrid", 1, 250_000)]
    assert orders_for_several_sites(plan.acquisitions) == (
        "buy for 2027Q1: one order of 2 nodes, 1 for berlin and 1 for madrid",
    )


def test_sites_share_the_maximum_of_a_purchase():
    """By two offers both sites get a node; by one for both, one of them rents."""
    rents = {f"rent-{site}": {**RENT, "site": site} for site in BOTH}
    apart = {f"buy-{site}": {**BUY, "site": site, "maximum": 1} for site in BOTH}
    assert {kind for kind, *_ in taken(planned({**apart, **rents}))} == {"buy"}

    plan = planned({"buy": {**BUY, "site": BOTH, "maximum": 1}, **rents})

    assert sorted(kind for kind, *_ in taken(plan)) == ["buy", *["rent"] * 4]


def test_sites_share_the_maximum_of_a_rent_in_each_quarter_and_not_in_sum():
    jobs = {
        "here": {**JOBS["here"], "quarters": "2027Q1"},
        "there": {**JOBS["there"], "quarters": "2027Q2"},
    }
    offer = {**RENT, "site": BOTH, "maximum": 1}
    assert [site for _, site, *_ in taken(planned({"rent": offer}, jobs=jobs))] == BOTH[::-1]
    with pytest.raises(InfeasibleError) as caught:
        planned({"rent": offer})
    assert "raise the maximum of offer rent by 1 node, to 2 nodes" in caught.value.remedies
    assert any("at all of its sites together" in reason for reason in caught.value.reasons)


def test_the_order_of_the_sites_changes_nothing_and_one_in_a_list_is_that_one():
    def with_sites(site: Any) -> Plan:
        plan: Plan = planned({"buy": {**BUY, "site": site, "price_breaks": BREAKS}})
        return plan

    assert with_sites(BOTH).acquisitions == with_sites(BOTH[::-1]).acquisitions
    jobs = {"here": JOBS["here"]}
    listed, named = (
        planned({"buy": {**BUY, "site": site}}, jobs=jobs) for site in (["berlin"], "berlin")
    )
    assert (listed.acquisitions, listed.nodes) == (named.acquisitions, named.nodes)


@noticed("one order for two sites")
def test_the_independent_check_watches_sites_and_the_price_of_the_whole_order(told, edit):
    inputs = read({"buy": {**BUY, "site": BOTH, "price_breaks": BREAKS}})
    assert told in refused(inputs, edit(make_plan(inputs)))
