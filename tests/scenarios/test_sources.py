"""The figures of the five source pages, one by one, through the scenario that ships for them."""

from math import ceil
from typing import Any

import pytest

from tests.stated import table

A100, H100 = "a100-80gb-sxm", "h100-80gb-sxm"


@pytest.fixture
def candidate(sized):
    """`candidate("serve-70b-16bit")`: that job on the GPU of 80 GB that the pages count in."""

    def find(job, gpu_type=A100):
        sizing = sized("sources")[job].sizing
        return next(item for item in sizing.candidates if item.gpu_type == gpu_type)

    return find


def figure(candidate: Any, name: str) -> Any:
    """A result of the sum by which a candidate was sized."""
    return next(step.result.value for step in candidate.trace if step.result.name == name)


@table(__file__)
def test_ten_billion_parameters_with_two_adapters(candidate, job, memory_mb, quoted_gb):
    """((10 × 2, 1 or 0.5) + 2 × 0.125) + 50 %; host memory = GPU memory, CPUs = GPUs + 1."""
    unit = candidate(job)
    assert unit.gpu_memory_mb == memory_mb
    assert ceil(unit.gpu_memory_mb / 1000) == quoted_gb
    assert (unit.gpus, unit.cpus, unit.memory_mb) == (1, 2, memory_mb)


@table(__file__)
def test_llama_70b_is_served_by_the_arithmetic_of_its_page(
    candidate, job, memory_mb, by_memory, gpus
):
    unit = candidate(job)
    assert unit.gpu_memory_mb == memory_mb
    assert figure(unit, "gpus_for_memory") == by_memory
    assert unit.gpus == gpus


@table(__file__)
def test_the_sums_of_the_model_requirements_page(candidate, job, name, gb):
    assert figure(candidate(job), name) == pytest.approx(gb, abs=1e-9)


def test_the_437_gb_of_the_page_need_six_gpus_and_take_eight(candidate):
    unit = candidate("full-13b-fp32")
    assert ceil(unit.gpu_memory_mb / 1000) == 437
    assert figure(unit, "gpus_for_memory") == 6
    assert unit.gpus == 8


@table(__file__)
def test_a_job_of_which_little_is_known_takes_the_average_of_table_1(candidate, job, gpus):
    assert candidate(job).gpus == gpus


@table(__file__)
def test_the_published_points_are_met_exactly(candidate, job, gpus):
    assert candidate(job).gpus == gpus


def test_sft_of_70b_takes_two_whole_servers_and_peft_half_of_one(candidate):
    gpus = [candidate(f"factors-70b-{method}", H100).gpus for method in ("sft", "p-tuning", "lora")]
    assert gpus == [16, 4, 4]


def test_the_plan_of_the_sources_gives_each_job_the_gpus_that_it_was_sized_for(planned, candidate):
    plan = planned("sources")
    held = {
        (item.job, gpu_type): 0
        for use in plan.placements[0]
        for item in use.occupants
        for gpu_type in (A100, H100)
    }
    types = {node.id: node.gpu_type for node in plan.nodes}
    for use in plan.placements[0]:
        for item in use.occupants:
            held[item.job, types[use.node]] += len(item.gpus)
    for (job, gpu_type), gpus in held.items():
        assert gpus in (0, candidate(job, gpu_type).gpus if gpus else 0)
    assert sum(held.values()) == 75
