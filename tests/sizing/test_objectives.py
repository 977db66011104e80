"""Preference and reward tuning by their parts: pairs, a reference model, a rollout engine."""

from __future__ import annotations

import pytest

import planner

TUNE = {"model": "qwen2.5-7b", "method": "full", "batch": 16, "sequence": 4096}
A_STEP = {"gradient_accumulation": 1, "gpus": 4, "dataset_tokens": 10_000_000}
WEIGHTS_MB = 2 * 7615.616512


@pytest.fixture(scope="module")
def sized():
    """`sized(objective="dpo")`: the candidate on H100, as a dict."""

    def one(**more):
        result = planner.size({"tune": TUNE | A_STEP | more, "gpu_types": ["h200-141gb-sxm"]})
        return result.to_dict()["candidates"][0]

    return one


def phase(candidate, name):
    return next(part["mb"] for part in candidate["memory"]["phases"] if part["name"] == name)


def test_a_pair_takes_as_much_as_two_sequences_and_a_reference_as_its_shard(sized):
    pairs = sized(objective="dpo", batch=8)
    alike = sized(batch=16)
    shard_mb = WEIGHTS_MB / 4
    assert phase(pairs, "forward") - phase(alike, "forward") == pytest.approx(shard_mb, abs=2)
    assert phase(pairs, "load") - phase(alike, "load") == pytest.approx(shard_mb, abs=2)


def test_precomputed_references_leave_the_gpu_and_the_clock(sized):
    without = sized(objective="dpo", reference_model=False)
    with_one = sized(objective="dpo")
    assert with_one["memory"]["peak_mb"] > without["memory"]["peak_mb"]
    passes = {
        step["result"]["value"]
        for one in (with_one, without)
        for step in one["trace"]
        if step["result"]["name"] == "gflop_per_token"
    }
    # 8 a parameter with recomputation, and 2 more of a pass through the reference.
    assert max(passes) / min(passes) == pytest.approx(10 / 8)


def test_adapters_are_switched_off_in_place_of_a_reference_model(sized):
    lora = {"method": "lora", "batch": 8}
    assert (
        sized(objective="dpo", **lora)["memory"]["peak_mb"]
        == sized(objective="dpo", reference_model=False, **lora)["memory"]["peak_mb"]
    )


def test_a_rollout_engine_takes_its_share_of_each_gpu(sized):
    alone = sized()["gpu_capacity_mb"]
    assert sized(objective="grpo")["gpu_capacity_mb"] == pytest.approx(0.7 * alone, rel=1e-6)
    assert sized(objective="grpo", rollout_share=0)["gpu_capacity_mb"] == alone


def test_answers_that_the_model_gives_itself_add_to_its_hours(sized):
    elsewhere = sized(objective="grpo")["hours"]
    short, long = (
        sized(objective="grpo", rollout_tokens=tokens)["hours"] for tokens in (512, 1024)
    )
    assert elsewhere < short < long
    assert long - elsewhere == pytest.approx(2 * (short - elsewhere))


def test_an_engine_that_cannot_hold_the_model_moves_the_run_to_more_gpus():
    tune = TUNE | {"model": "qwen2.5-14b", "method": "lora", "objective": "grpo"}
    result = planner.size({"tune": tune, "gpu_types": ["h100-80gb-sxm"]})
    assert result.to_dict()["candidates"][0]["gpus"] == 2


def test_where_nothing_is_stated_the_published_average_says_what_it_leaves_out():
    result = planner.size({"tune": {"model": "qwen2.5-7b", "method": "full", "objective": "dpo"}})
    assert any("neither pairs nor a reference model" in one for one in result.to_dict()["warnings"])
