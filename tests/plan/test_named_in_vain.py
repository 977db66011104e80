"""What policies, quotas and licences name without a node of it is warned of, and does nothing."""

import json
from typing import Any

import pytest

import planner
from tests.stated import question

NAMED: dict[str, Any] = {
    "policies": {"spare_nodes": {"xe9680-h200": 1}, "growth_reserve": {"l40s-48gb": "20%"}},
    "finance": {"licence_usd_per_gpu_year": {"a100-80gb-sxm": 4500}},
    "teams": {"red": {"quota_gpus": {"h200-141gb-sxm": 4, "total": 8}}},
}


def scenario(more):
    return question(2) | {
        "offers": {"h100": {"node_type": "xe9680-h100", "kind": "buy"}},
        "jobs": {"chat": {"fixed": {"gpus": 2}, "team": "red"}},
        **more,
    }


def test_a_type_of_which_there_is_no_node_is_warned_of_and_changes_no_cost():
    named = planner.plan(scenario(NAMED))
    told = {
        one["origin"]
        for one in json.loads(named.to_json())["warnings"]
        if "no node of it is owned or offered: that changes nothing here" in one["text"]
    }
    assert told == {
        "policies.spare_nodes.xe9680-h200",
        "policies.growth_reserve.l40s-48gb",
        "finance.licence_usd_per_gpu_year.a100-80gb-sxm",
        "teams.red.quota_gpus.h200-141gb-sxm",
    }
    assert named.cost_usd == planner.plan(scenario({})).cost_usd
    assert planner.report(named, what_if="none")


def test_a_type_that_nobody_knows_is_refused_still():
    with pytest.raises(planner.InputError, match="unknown node type"):
        planner.plan(scenario({"policies": {"spare_nodes": {"xe9680-h2000": 1}}}))


LABELLED: dict[str, Any] = {
    "sites": {"main": {"labels": ["gdpr"]}},
    "policies": {"shortage": "drop"},
    "jobs": {"chat": {"fixed": {"gpus": 2}, "labels": ["gpdr"]}, "other": {"fixed": {"gpus": 2}}},
}


def test_a_job_whose_label_no_site_carries_is_dropped_where_jobs_may_be():
    plan = json.loads(planner.plan(scenario(LABELLED)).to_json())
    (short,) = plan["shortage"]["jobs"]
    assert (short["name"], short["outcome"]) == ("chat", "dropped")
    assert short["cause"] == "no site where it may run carries all of its labels: gpdr"
    assert short["remedies"] == ["let a site carry all of its labels: gpdr"]


@pytest.mark.parametrize("change", [{"policies": {}}, {"required": True}], ids=str)
def test_it_is_refused_where_it_may_not_be(change):
    job = {**LABELLED["jobs"]["chat"], "required": change.get("required", False)}
    jobs = {**LABELLED["jobs"], "chat": job}
    policies = {key: change[key] for key in change if key == "policies"}
    with pytest.raises(planner.InputError, match="no site carries the label 'gpdr'"):
        planner.plan(scenario({**LABELLED, "jobs": jobs, **policies}))


def test_deliveries_in_quarters_in_which_no_node_may_enter_service_are_warned_of():
    late = {"node_type": "xe9680-h200", "kind": "buy", "available": "2027Q1"}
    offers = scenario({})["offers"] | {"late": late | {"deliveries": {"2027Q2": 3}}}
    warnings = json.loads(planner.plan(scenario({"offers": offers})).to_json())["warnings"]
    (told,) = (one for one in warnings if one["origin"] == "offers.late.deliveries")
    assert told["text"] == "no quarter of it is one of `available`: no node may enter service"


NO_SPARE = "no spare node is kept"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, True),
        (
            {"fleet": {"old": {"node_type": "xe9680-a100", "count": 2, "may_switch_off": True}}},
            False,
        ),
        ({"policies": {"spare_nodes": {"xe9680-a100": 2}}}, False),
        ({"policies": {"growth_reserve": {"a100-80gb-sxm": "20%"}}}, False),
        ({"jobs": {"chat": {"fixed": {"gpus": 2}, "gpu_types": ["a100-80gb-sxm"]}}}, False),
    ],
)
def test_an_owned_pool_that_runs_nothing_is_told_where_other_nodes_are_paid_for(more, told):
    old = {"old": {"node_type": "xe9680-a100", "count": 2}}
    chat = {"chat": {"fixed": {"gpus": 2}, "gpu_types": ["h100-80gb-sxm"]}}
    made = planner.plan(scenario({"fleet": old, "jobs": chat} | more))
    idle = "nothing runs on xe9680-a100 @ main in any quarter, though GPUs or APIs are paid for"
    assert any(idle in one for one in made.warnings) == told
    assert (NO_SPARE in made.assumptions) == ("spare_nodes" not in more.get("policies", {}))


def test_endpoints_without_traffic_and_adapters_with_a_base_each_are_told():
    tune = {"model": "llama-3.1-8b", "method": "lora", "dataset_tokens": 1e8, "deploy": {}}
    serve = {"model": "llama-3.1-8b"}
    held = serve | {"context": 4096, "concurrency": 8}

    def told(count, **jobs):
        asked = {"tuned": {"tune": tune, "count": count}} | {
            name: {"serve": one} for name, one in jobs.items()
        }
        plan = json.loads(planner.plan(scenario({"jobs": asked})).to_json())
        no_traffic = "no traffic is stated: one replica"
        return (
            [one["origin"] for one in plan["assumptions"] if no_traffic in one["text"]],
            [
                one["origin"]
                for one in plan["warnings"]
                if "a base model of their own" in one["text"]
            ],
        )

    assert told(1, held=held) == (["job tuned-serving"], [])
    assert told(3, open=serve) == (["jobs open, tuned-serving"], ["jobs.tuned.tune.deploy"])
