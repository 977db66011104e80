"""Published points are never undercut by a job at least as large, and bind no smaller one."""

import pytest

BINDING = [
    ({"parameters_b": 70, "method": "lora", "sequence": 1024, "batch": 32}, 8),
    ({"parameters_b": 8, "method": "qlora", "sequence": 8192, "batch": 128}, 8),
    ({"parameters_b": 8, "method": "lora", "sequence": 64000, "batch": 1}, 2),
]


@pytest.mark.parametrize(("job", "gpus"), BINDING)
def test_a_larger_job_is_held_to_the_point(candidate, job, gpus):
    for larger in (
        job | {"parameters_b": job["parameters_b"] + 1},
        job | {"sequence": job["sequence"] * 2},
        job | {"batch": job["batch"] * 2},
    ):
        assert candidate("a100-80gb-sxm", tune=larger).gpus >= gpus


@pytest.mark.parametrize(("job", "gpus"), BINDING)
def test_a_job_just_below_the_point_is_not_held_to_it(candidate, job, gpus):
    for smaller in (
        job | {"sequence": job["sequence"] - 1},
        job | {"parameters_b": job["parameters_b"] * 0.97},
    ):
        tuned = candidate("a100-80gb-sxm", tune=smaller)
        assert tuned.gpus < gpus
        assert tuned.decided_by != "floor"


@pytest.mark.parametrize(
    ("change", "gpus", "binds"),
    [
        ({"parameters_b": 68.977}, 8, True),  # Llama 2 counts as 70 B though it has less
        ({"batch": 31}, 4, False),
        ({"method": "qlora"}, 1, False),
    ],
)
def test_the_point_of_lora_at_70_b_binds_jobs_as_large_alone(candidate, change, gpus, binds):
    job = {"parameters_b": 70, "method": "lora", "sequence": 1024, "batch": 32}
    tuned = candidate("a100-80gb-sxm", tune=job | change)
    assert (tuned.gpus, tuned.decided_by == "floor") == (gpus, binds)


def test_a_full_fine_tune_is_held_to_the_point_of_lora(candidate):
    job = {"parameters_b": 8, "method": "full", "sequence": 64000, "batch": 1, "optimizer": "sgd"}
    tuned = candidate("a100-80gb-sxm", tune=job)
    assert "floors/8b-lora-sequence-64000-batch-1" in {step.rule for step in tuned.trace}


def test_of_several_points_the_largest_counts_and_all_are_shown(candidate):
    job = {"parameters_b": 70, "method": "lora", "sequence": 64000, "batch": 128}
    tuned = candidate("a100-80gb-sxm", tune=job)
    floors = {step.rule for step in tuned.trace if step.rule.startswith("floors/")}
    assert tuned.gpus == 8
    assert {
        "floors/70b-lora-sequence-1024-batch-32",
        "floors/8b-sequence-8192-batch-128",
        "floors/8b-lora-sequence-64000-batch-1",
        "floors/8b-sequence-512-batch-2",
    } <= floors


def test_a_point_does_not_bind_a_job_that_leaves_its_size_open(candidate):
    tuned = candidate("a100-80gb-sxm", tune={"parameters_b": 70, "method": "lora", "batch": 32})
    assert not any(step.rule.startswith("floors/") for step in tuned.trace)


@pytest.mark.parametrize(
    ("gpu", "job"),
    [
        ("a100-80gb-sxm", {"serve": {"parameters_b": 0.11}}),
        ("a100-80gb-sxm", {"tune": {"parameters_b": 0.11, "method": "lora"}}),
        ("a100-80gb-sxm", {"tune": {"parameters_b": 70, "method": "full"}}),
        ("l40s-48gb", {"serve": {"parameters_b": 70}}),
    ],
)
def test_no_job_takes_less_host_memory_than_a_process_for_each_of_its_gpus(candidate, gpu, job):
    sized = candidate(gpu, **job)
    assert sized.memory_mb == max(sized.gpu_memory_mb, 6000 * sized.gpus)
