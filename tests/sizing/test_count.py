"""The smallest GPU count on which the peak fits, and what is said of the counts below it."""

import pytest

from planner.inputs.scenario.job import Job
from tests.sizing.conftest import on

LORA = {"model": "llama-3.1-70b", "method": "lora", "batch": 8, "sequence": 4096}


@pytest.fixture(scope="module")
def sizing(whole_sizer):
    return lambda **job: whole_sizer.size(Job.model_validate(job))


def test_the_count_is_the_smallest_whose_peak_fits(sizing, whole_sizer):
    job = Job.model_validate({"tune": LORA})
    for one in sizing(tune=LORA).candidates:
        offered_mb = one.gpu_capacity_mb / one.gpus
        assert one.memory == whole_sizer.memory(job, one.gpus)
        assert one.memory.needed_mb <= offered_mb
        if one.gpus > 1:
            half = whole_sizer.memory(job, one.gpus // 2)
            assert half is not None
            assert half.needed_mb is not None
            assert half.needed_mb > offered_mb, one.gpu_type


def test_the_count_below_stands_in_the_trace_with_what_was_missing_there(sizing):
    one = on(sizing(tune=LORA), "h100-80gb-sxm")
    free = [step.result.value for step in one.trace if step.result.name == "free_gb_per_gpu"]
    assert one.gpus == 4
    assert [gb >= 0 for gb in free] == [False, True]


def test_fewer_gpus_than_a_published_point_are_warned_of(sizing):
    published = sizing(tune=LORA | {"batch": 32, "sequence": 1024, "gradient_accumulation": 8})
    one = on(published, "h100-80gb-sxm")
    assert one.gpus < 8
    (warning,) = (text for text in published.warnings if "h100-80gb-sxm" in text)
    assert f"planned with {one.gpus} by the peak" in warning
    assert "says 8 GPUs" in warning
    assert "floors/below-published-point" in warning


def test_a_deadline_takes_more_gpus_than_memory_needs(sizing):
    job = LORA | {"dataset_tokens": 200_000_000}
    enough = on(sizing(tune=job), "h100-80gb-sxm")
    hurried = on(sizing(tune=job | {"deadline_hours": enough.hours * 0.7}), "h100-80gb-sxm")
    assert hurried.gpus == 2 * enough.gpus
    assert hurried.hours <= enough.hours * 0.7
    assert hurried.decided_by == "deadline"
    assert hurried.memory.peak_mb < enough.memory.peak_mb


def test_a_job_too_large_for_a_gpu_type_says_how_much_each_gpu_would_need(sizing):
    job = {"model": "llama-3.1-8b", "method": "lora", "batch": 1, "sequence": 131072}
    refused = sizing(tune=job | {"gradient_checkpointing": "off"})
    (why,) = (one for one in refused.rejections if one.gpu_type == "l40s-48gb")
    assert why.rule == "capacity/fits"
    assert "at 64 GPUs each still needs" in why.message


def test_what_the_job_leaves_open_is_listed_and_what_it_states_is_not(sizing):
    silent = sizing(tune=LORA)
    stated = sizing(tune=LORA | {"gradient_checkpointing": "on", "loss_kernel": "plain"})
    assert "gradient checkpointing: on (the job leaves it open)" in silent.assumptions
    assert not any("gradient checkpointing" in text for text in stated.assumptions)
    assert silent.candidates[0].gpus == stated.candidates[0].gpus


def test_an_fp8_run_needs_a_gpu_with_fp8(sizing):
    fp8 = sizing(tune=LORA | {"precision": "fp8"})
    refused = {one.gpu_type for one in fp8.rejections if one.rule == "exclusions/no-fp8-on-a100"}
    assert "a100-80gb-sxm" in refused
    assert on(fp8, "h100-80gb-sxm").memory == on(sizing(tune=LORA), "h100-80gb-sxm").memory


def test_what_a_job_needs_is_rounded_up_to_the_mb(sizing):
    """((10.00001 × 2) + (2 × 0.125)) × 1.5 = 30.37503 GB, on the GPU and in the host."""
    adapters = {"count": 2, "size_gb": 0.125}
    one = on(sizing(serve={"parameters_b": 10.00001, "adapters": adapters}), "h100-80gb-sxm")
    assert (one.gpu_memory_mb, one.memory_mb) == (30_376, 30_376)


def test_a_run_takes_whole_hours(sizing):
    """Of the hours of a quarter nine tenths are used: 100 become 111.1, which take 112."""
    one = on(sizing(fixed={"gpus": 8}, run={"hours": 100}), "h100-80gb-sxm")
    assert one.planned_hours == 112
