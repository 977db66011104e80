"""Every figure that the sources publish comes out of the public interface."""

from decimal import Decimal

import pytest

from planner.inputs.rules.facts import SETTINGS
from planner.inputs.scenario.job import Job

ADAPTERS = {"count": 2, "size_gb": Decimal("0.125")}


@pytest.mark.parametrize(("rank", "memory_mb", "storage_mb"), [(16, 19_502, 28), (64, 20_189, 110)])
def test_lora_is_inference_of_the_base_and_training_of_the_adapter(
    candidate, rank, memory_mb, storage_mb
):
    job = {"model": "llama-3.1-8b", "method": "lora", "batch": 1, "sequence": 512}
    job |= {"adapter_rank": rank, "adapter_targets": "attention"}
    tuned = candidate("h100-80gb-sxm", tune=job)
    assert (tuned.gpu_memory_mb, tuned.storage_mb) == (memory_mb, storage_mb)
    assert (tuned.gpus, tuned.decided_by) == (1, "memory")
    assert "baselines/lora" in {step.rule for step in tuned.trace}


def test_qlora_loads_its_base_at_4_bit_unless_told_otherwise(candidate):
    job = {"model": "llama-3.1-70b", "method": "qlora", "batch": 1, "sequence": 512}
    at_four = candidate("h100-80gb-sxm", tune=job)
    at_eight = candidate("h100-80gb-sxm", tune=job | {"base_bits": 8})
    assert at_eight.gpu_memory_mb - at_four.gpu_memory_mb == pytest.approx(42_332, abs=2)


def test_a_model_known_by_its_size_alone_gets_an_adapter_by_share(candidate):
    tuned = candidate("h100-80gb-sxm", tune={"parameters_b": 8, "method": "lora"})
    assert "tuning/adapter-share" in {step.rule for step in tuned.trace}


def test_latent_attention_is_not_measured_by_the_lora_shape_rule(candidate):
    tuned = candidate("h100-80gb-sxm", tune={"model": "latent", "method": "lora"})
    rules = {step.rule for step in tuned.trace}
    assert "tuning/adapter-share" in rules
    assert "tuning/lora-parameters" not in rules


@pytest.mark.parametrize(
    ("method", "gpus"), [("full", 4), ("lora", 2), ("qlora", 1), ("p-tuning", 2)]
)
def test_the_published_baseline_decides_where_the_job_says_little(candidate, method, gpus):
    tuned = candidate("a100-80gb-sxm", tune={"parameters_b": 3, "method": method})
    assert tuned.gpus == gpus
    assert tuned.decided_by == ("memory" if method == "qlora" else "baseline")


def test_a_trace_reads_like_the_sum_a_person_would_write(candidate):
    served = candidate("h100-80gb-sxm", serve={"parameters_b": 10, "adapters": ADAPTERS})
    first = served.trace[0]
    assert first.worked == "((10 × 2) + (2 × 0.125)) × 1.5"
    assert (first.result.value, first.result.unit) == (30.375, "GB")
    assert first.inputs[0].origin == "job"
    assert "ibm.com" in first.sources[0]


def test_every_step_comes_after_the_steps_it_needs(candidate):
    tuned = candidate(
        "l40s-48gb", tune={"model": "llama-3.1-70b", "method": "lora", "dataset_tokens": 10**9}
    )
    known: set[str] = set()
    for step in tuned.trace:
        needed = {q.name for q in step.inputs if q.origin.startswith("rule ")} - SETTINGS.keys()
        assert needed <= known, step.rule
        known.add(step.result.name)


def test_the_smaller_of_marketed_and_reported_memory_counts(candidate):
    served = candidate("h100-80gb-sxm", serve={"parameters_b": 10})
    assert served.gpu_capacity_mb == 80_000


def test_no_float_dust_adds_a_gpu(sizer):
    job = Job.model_validate({"fixed": {"gpu_memory_gb": Decimal("100.8")}})
    sizing = sizer(headroom="0.3").size(job)
    found = {one.gpu_type: one.gpus for one in sizing.candidates}
    assert found["l40s-48gb"] == 4, "3 × 48 × 0.7 is exactly 100.8, and 3 becomes 4 by the counts"
    needed = next(
        step
        for one in sizing.candidates
        if one.gpu_type == "l40s-48gb"
        for step in one.trace
        if step.rule == "capacity/gpus-for-memory"
    )
    assert needed.result.value == 3


def test_a_fixed_job_keeps_its_figures(candidate):
    fixed = candidate("h100-80gb-sxm", fixed={"gpus": 3, "cpus": 20, "memory_gb": Decimal("64.5")})
    assert (fixed.gpus, fixed.cpus, fixed.memory_mb, fixed.decided_by) == (3, 20, 64_500, "stated")


def test_a_sizing_says_in_one_line_what_it_is_about(size):
    tuned = size(tune={"model": "llama-3.1-8b", "method": "lora", "sequence": 4096, "batch": 8})
    assert tuned.summary == "LoRA tuning of llama-3.1-8b, sequence 4,096, batch 8"
    served = size(serve={"parameters_b": 10, "bits": 8, "adapters": ADAPTERS})
    assert served.summary == "serving of 10 B parameters at 8 bit with 2 adapters of 0.125 GB"
