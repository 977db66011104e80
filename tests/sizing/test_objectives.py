"""Preference and reward tuning by their parts: pairs, frozen and trained models, rollouts."""

from functools import partial

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


@pytest.fixture(scope="module")
def on_eight(sized):
    """`on_eight(objective="ppo")`: as `sized`, on twice the GPUs, which hold four models."""
    return partial(sized, gpus=8)


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


def test_ppo_holds_two_models_that_are_trained_and_two_that_are_not(on_eight):
    ppo = on_eight(objective="ppo", precision="bf16")
    alone = on_eight(precision="bf16")
    shard_mb = WEIGHTS_MB / 8
    # Of the second trained model: weights and two states; of reference and reward model: weights.
    assert phase(ppo, "save") - phase(alone, "save") == pytest.approx(
        (3 + 2) * shard_mb + embeddings_mb(), abs=3
    )


def embeddings_mb():
    """Embeddings and head of Qwen2.5-7B in 16 bit, which the value model gathers, too."""
    return 2 * 2 * 152064 * 3584 / 1e6


def test_a_reward_model_of_nothing_leaves_the_gpus(on_eight):
    with_one = on_eight(objective="ppo")
    by_program = on_eight(objective="ppo", reward_parameters_b=0)
    assert phase(with_one, "load") - phase(by_program, "load") == pytest.approx(
        WEIGHTS_MB / 8, abs=2
    )
    assert by_program["hours"] < with_one["hours"]


def test_a_value_model_is_as_large_as_the_reward_model_that_it_starts_from(on_eight):
    of_reward, stated = (
        on_eight(objective="ppo", reward_parameters_b=1.5, **more)
        for more in ({}, {"value_parameters_b": 1.5})
    )
    assert of_reward["memory"]["peak_mb"] == stated["memory"]["peak_mb"]
    assert of_reward["memory"]["peak_mb"] < on_eight(objective="ppo")["memory"]["peak_mb"]


def test_ppo_computes_two_models_and_four_scores(on_eight):
    alone, ppo, without = (
        step_of(one, "gflop_per_token")
        for one in (
            on_eight(),
            on_eight(objective="ppo"),
            on_eight(objective="ppo", reference_model=False),
        )
    )
    # For each of two models: 8 a parameter with recomputation, and two passes of scoring.
    assert ppo / alone == pytest.approx((8 + 2 * 2) / 8)
    assert without / alone == pytest.approx((8 + 1.5 * 2) / 8)
    assert on_eight(objective="ppo")["hours"] > 2 * on_eight()["hours"]


def step_of(candidate, name):
    return next(
        step["result"]["value"] for step in candidate["trace"] if step["result"]["name"] == name
    )
