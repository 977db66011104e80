"""Network ports of a site, from the scenario to the plan, its check and its reports."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from planner.errors import CheckError, InfeasibleError, InputError
from planner.inputs.load import load_inputs
from planner.plan.checks.suite import check
from planner.plan.make import make_plan
from planner.report.markdown import draw
from planner.report.plan import FULL, plan_document
from planner.sizing.sizers import Sizers

if TYPE_CHECKING:
    from pathlib import Path

    from planner.inputs.settled import Inputs

BUY = {"node_type": "xe9680-h100", "kind": "buy", "price_usd": 300_000, "network_ports": 10}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def inputs(ports: int | None, count: int = 3, **changes: Any) -> Inputs:
        scenario = {
            "format": 1,
            "name": "ports",
            "horizon": {"first_quarter": "2027Q1", "quarters": 1, "as_of": "2026-10-01"},
            "sites": {"main": {} if ports is None else {"network_ports": ports}},
            "offers": {"buy": {**BUY, "site": "main"}},
            "jobs": {"work": {"fixed": {"gpus": 8}, "count": count}},
            **changes,
        }
        path = tmp_path / "scenario.yaml"
        path.write_text(yaml.safe_dump(json.loads(json.dumps(scenario))), encoding="utf-8")
        return load_inputs(path)

    return inputs


def test_nodes_take_no_more_ports_than_the_site_has(read):
    plan = make_plan(read(30))
    assert sum(line.count for line in plan.acquisitions) == 3
    assert plan.sites[0].network_ports == (30,)
    assert plan.sites[0].network_ports_limit == 30
    text = draw(plan_document(plan, FULL))
    assert "Network ports" in text
    assert "30 / 30" in text
    assert "rack units or network ports" in text


def test_a_site_without_the_limit_says_nothing_of_it(read):
    assert "Network ports" not in draw(plan_document(make_plan(read(None)), FULL))


def test_what_the_message_asks_for_is_enough(read):
    with pytest.raises(InfeasibleError) as told:
        make_plan(read(29))
    assert "network ports at main" in told.value.headline
    (remedy,) = [one for one in told.value.remedies if "network ports" in one]
    raised = re.search(r"by (\d+) ports?, to (\d+) ports", remedy)
    assert raised
    assert raised.groups() == ("1", "30")
    assert make_plan(read(int(raised[2]))).proof.status == "proved"


def test_ports_decide_between_node_types(read):
    """Two nodes with fewer ports each cost more, and are all that fits."""
    other = {**BUY, "node_type": "xe9680-h200", "price_usd": 400_000, "network_ports": 4}
    plan = make_plan(
        read(14, 2, offers={"a": {**BUY, "site": "main"}, "b": {**other, "site": "main"}})
    )
    assert {line.offer: line.count for line in plan.acquisitions} == {"a": 1, "b": 1}


def test_an_unknown_number_of_ports_is_asked_for(read):
    silent = {key: value for key, value in BUY.items() if key != "network_ports"}
    with pytest.raises(InputError) as told:
        read(30, offers={"buy": {**silent, "site": "main"}})
    assert "network_ports" in str(told.value)


def test_owned_nodes_beyond_the_ports_are_told(read):
    owned = {"node_type": "xe9680-h100", "count": 3, "network_ports": 10, "site": "main"}
    with pytest.raises(InputError) as told:
        read(29, fleet={"old": owned})
    assert "29 ports are fewer than the 30 ports of the nodes owned there" in str(told.value)


def test_the_check_counts_the_ports_again(read):
    plan, fewer = make_plan(read(30)), read(29)
    with pytest.raises(CheckError) as told:
        check(fewer, Sizers().portfolio(fewer), plan)
    assert "the nodes take 30 of 29 ports of network ports" in " ".join(told.value.violations)
