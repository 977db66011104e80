"""A number of GPUs that a job states is planned as it stands, or it is said why not."""

from typing import Any

import pytest

import planner
from tests.stated import question

TUNE = {"model": "llama-3.1-8b", "method": "full", "sequence": 2048, "batch": 48}
SERVE = {"model": "llama-3.3-70b", "context": 8192, "concurrency": 8}


def scenario(node_type: str = "xe9680-h100", **jobs: Any) -> dict[str, Any]:
    return question(2, as_of="2026-11-01") | {
        "offers": {
            "buy": {"node_type": node_type, "kind": "buy", "price_usd": 300_000, "quote": "a"}
        },
        "jobs": jobs,
    }


@pytest.mark.parametrize("gpus", [3, 6, 7, 8, 16])
def test_a_run_sharded_by_parameters_takes_any_number(gpus):
    found = planner.plan(scenario(tune={"tune": {**TUNE, "batch": 48 * 7, "gpus": gpus}}))
    held = {
        (use["node"], gpu)
        for use in found.to_dict()["placements"][0]
        for one in use["occupants"]
        for gpu in one["gpus"]
    }
    assert len(held) == gpus


def refused(**jobs: Any) -> str:
    with pytest.raises(planner.InfeasibleError) as refusal:
        planner.plan(scenario(**jobs))
    return str(refusal.value)


def test_a_run_that_its_gpus_do_not_hold_says_what_each_lacks():
    assert "at 1 GPU each still needs" in refused(tune={"tune": {**TUNE, "gpus": 1}})


def test_a_run_of_unknown_shape_takes_no_fewer_than_the_published_average():
    job = {"parameters_b": 9, "method": "full"}
    told = refused(tune={"tune": {**job, "gpus": 2}})
    assert "2 GPUs are stated, 4 are needed (exclusions/stated-too-few)" in told
    assert planner.plan(scenario(tune={"tune": {**job, "gpus": 5}}))


def test_several_nodes_are_taken_whole():
    told = refused(tune={"tune": {**TUNE, "gpus": 12}})
    assert "it needs 12 GPUs, which is not a whole number of nodes of 8" in told
    assert "state 8 or 16 GPUs" in told


@pytest.mark.parametrize(("gpus", "heads"), [(3, 64), (6, 64), (12, 64)])
def test_a_replica_whose_heads_do_not_divide_is_refused(gpus, heads):
    told = refused(chat={"serve": {**SERVE, "gpus_per_replica": gpus}})
    assert f"{heads} attention heads do not divide by {gpus} GPUs" in told


@pytest.mark.parametrize("load", [None, {"requests_per_second": 1, "input_tokens": 500}])
def test_a_replica_takes_what_it_states_with_a_load_and_without(load):
    serve = {"model": "llama-3.3-70b", "gpus_per_replica": 8}
    more: dict[str, Any] = {"context": 8192, "concurrency": 8}
    if load is not None:
        more = {"load": {**load, "output_tokens": 200}}
    rows = planner.size({"serve": {**serve, **more}}).rows()
    assert {row["gpus"] for row in rows if row["gpus"]} == {8}
