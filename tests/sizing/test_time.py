"""Run time from tokens, compute per token and utilization, and what a deadline does."""

from __future__ import annotations

import pytest

from planner.inputs.scenario import Job, Policies
from planner.sizing import Sizer

JOB = {"parameters_b": 8, "method": "lora", "batch": 2, "sequence": 512}


def test_hours_follow_from_tokens_compute_and_utilization(candidate):
    tuned = candidate("a100-80gb-sxm", tune=JOB | {"dataset_tokens": 10**9})
    assert tuned.gpus == 1
    assert tuned.hours == pytest.approx(10**9 * 48 / (312e3 * 0.55) / 3600)


def test_a_job_without_a_dataset_has_no_hours(candidate):
    assert candidate("a100-80gb-sxm", tune=JOB).hours is None


def test_a_full_fine_tune_computes_eight_per_parameter_and_lora_six(candidate):
    job = {"parameters_b": 3, "dataset_tokens": 10**9}
    full = candidate("h200-141gb-sxm", tune=job | {"method": "full"})
    lora = candidate("h200-141gb-sxm", tune=job | {"method": "lora"})
    assert full.hours * full.gpus / (lora.hours * lora.gpus) == pytest.approx(8 / 6)


def test_a_mixture_of_experts_computes_with_its_active_parameters(candidate):
    job = {"method": "qlora", "dataset_tokens": 10**9, "batch": 1, "sequence": 512}
    mixture = candidate("a100-80gb-sxm", tune=job | {"model": "mixture"})
    dense = candidate("a100-80gb-sxm", tune=job | {"parameters_b": 12.9})
    assert mixture.hours == pytest.approx(dense.hours)
    assert mixture.gpu_memory_mb > dense.gpu_memory_mb


def test_a_deadline_raises_the_count_to_the_next_allowed_one(candidate):
    job = JOB | {"dataset_tokens": 10**9}
    alone = candidate("a100-80gb-sxm", tune=job)
    raised = candidate("a100-80gb-sxm", tune=job | {"deadline_hours": 30})
    assert alone.hours > 30
    assert (raised.gpus, raised.decided_by) == (4, "deadline")
    assert raised.hours <= 30
    assert raised.gpu_memory_mb == alone.gpu_memory_mb


def test_a_deadline_that_no_count_meets_is_a_rejection_with_hours_and_limit(size):
    sizing = size(tune=JOB | {"dataset_tokens": 10**12, "deadline_hours": 100})
    refused = {one.gpu_type: one for one in sizing.rejections}
    assert refused["a100-80gb-sxm"].rule == "exclusions/deadline"
    assert "on 64 × a100-80gb-sxm" in refused["a100-80gb-sxm"].message
    assert "100 h allowed" in refused["a100-80gb-sxm"].message


def test_without_a_deadline_a_run_may_take_a_quarter(candidate):
    tuned = candidate("a100-80gb-sxm", tune=JOB | {"dataset_tokens": 50 * 10**9})
    assert tuned.decided_by == "deadline"
    assert tuned.hours <= 2190


def test_a_job_that_spans_nodes_loses_time(candidate):
    job = {"parameters_b": 70, "method": "full", "dataset_tokens": 10**8}
    tuned = candidate("h100-80gb-sxm", tune=job)
    loss = next(step for step in tuned.trace if step.rule == "time/multi-node-loss")
    assert tuned.gpus == 16
    assert loss.result.value == pytest.approx(1.44, abs=0.005)


def test_a_gpu_without_bf16_figure_gives_no_hours_and_a_warning(catalog, rules, settings):
    bare = catalog.gpus["h100-80gb-sxm"].model_copy(
        update={"dense_tflops": catalog.gpus["l4-24gb"].dense_tflops}
    )
    poorer = catalog.model_copy(update={"gpus": catalog.gpus | {"h100-80gb-sxm": bare}})
    job = Job.model_validate({"tune": JOB | {"dataset_tokens": 10**9, "deadline_hours": 1}})
    sizing = Sizer(poorer, rules, settings(), Policies()).size(job)
    found = {one.gpu_type: one.hours for one in sizing.candidates}
    assert found["h100-80gb-sxm"] is None
    assert any("h100-80gb-sxm" in warning for warning in sizing.warnings)


def test_a_large_batch_warns_that_activations_are_not_counted(size):
    sizing = size(tune=JOB | {"sequence": 4096, "batch": 8})
    assert "tuning/activations-not-counted" in sizing.warnings[0]
    assert "sequence 4,096 and batch 8" in sizing.warnings[0]


@pytest.mark.parametrize(
    "job",
    [
        JOB,
        JOB | {"batch": 128, "sequence": 8192},
        {"parameters_b": 8, "method": "lora"},
        JOB | {"method": "full", "sequence": 4096, "batch": 8},
    ],
    ids=["published point", "large published point", "size open", "full"],
)
def test_published_points_and_open_sizes_do_not_warn(size, job):
    assert size(tune=job).warnings == ()


def test_assumptions_are_listed_with_their_rule(size):
    sizing = size(tune={"model": "llama-3.1-8b", "method": "qlora", "dataset_tokens": 10**9})
    text = "\n".join(sizing.assumptions)
    assert "LoRA rank 16 (tuning/lora-parameters)" in text
    assert "(tuning/base-4bit-qlora)" in text
    assert "(time/utilization-elsewhere)" in text
    assert "(tuning/cpus)" in text


def test_what_the_job_states_is_not_assumed(size):
    sizing = size(
        tune={"model": "llama-3.1-8b", "method": "qlora", "base_bits": 8, "adapter_rank": 8}
    )
    text = "\n".join(sizing.assumptions)
    assert "LoRA rank" not in text
    assert "base-4bit" not in text
