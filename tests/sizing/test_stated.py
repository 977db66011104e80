"""Whatever a tuning job states or leaves open, no two rules give the same figure."""

from itertools import product

import pytest

import planner
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies
from planner.sizing import Sizer

OPEN = {
    "batch": 64,
    "sequence": 2048,
    "micro_batch": 1,
    "gradient_accumulation": 2,
    "dataset_tokens": 10_000_000,
}
STATED = [
    dict(zip(OPEN, chosen, strict=True)) for chosen in product((False, True), repeat=len(OPEN))
]


@pytest.mark.parametrize("method", ["full", "lora", "qlora", "p-tuning"])
@pytest.mark.parametrize(
    "model", [{"model": "llama-3.1-8b"}, {"parameters_b": 8}], ids=["known", "bare"]
)
def test_every_choice_of_what_is_stated_is_sized(catalog, rules, settings, method, model):
    sizer = Sizer(catalog, rules, settings(), Policies(), ("h100-80gb-sxm",))
    for stated in STATED:
        keys = {key: OPEN[key] for key, is_stated in stated.items() if is_stated}
        sizing = sizer.size(Job.model_validate({"tune": {**model, "method": method, **keys}}))
        assert sizing.candidates, (keys, sizing.rejections)


def test_a_micro_batch_and_a_sequence_are_enough_for_the_peak():
    job = {"model": "llama-3.1-8b", "method": "lora", "sequence": 2048, "micro_batch": 1}

    def counts(**tune):
        return [(one["gpu_type"], one["gpus"]) for one in planner.size({"tune": tune}).rows()]

    assert counts(**job) == counts(**job, batch=1)
    assert ("l40s-48gb", 1) in counts(**job)  # the published baseline of an open size is two


@pytest.mark.parametrize(
    "tune",
    [
        {"method": "full", "sequence": 8192, "batch": 64},
        {"method": "lora", "sequence": 4096, "batch": 24},
        {"method": "qlora", "sequence": 16_384, "batch": 12},
    ],
    ids=lambda tune: tune["method"],
)
def test_passes_left_open_are_the_fewest_with_which_the_fewest_gpus_do(tune):
    job = {"model": "llama-3.1-8b", **tune}

    def found(**stated):
        rows = planner.size({"tune": {**job, **stated}}).rows()
        return {row["gpu_type"]: (row["gpus"], row["gradient_accumulation"]) for row in rows}

    divisors = [count for count in range(1, job["batch"] + 1) if job["batch"] % count == 0]
    stated = {count: found(gradient_accumulation=count) for count in divisors}
    assert all(passes is None for one in stated.values() for _, passes in one.values())
    chosen = found()
    for gpu_type, (gpus, passes) in chosen.items():
        tried = [(stated[n][gpu_type][0], n) for n in divisors if gpu_type in stated[n]]
        assert (gpus, passes or 1) == min(tried), gpu_type
    assert any(passes for _, passes in chosen.values())


def test_stated_passes_and_a_stated_micro_batch_are_kept():
    job = {"model": "llama-3.1-8b", "method": "full", "sequence": 8192, "batch": 64}
    for stated in ({"gradient_accumulation": 1}, {"micro_batch": 2}):
        for row in planner.size({"tune": {**job, **stated}}).rows():
            assert row["gradient_accumulation"] is None
    told = planner.size({"tune": job}).to_text()
    assert "gradient accumulation steps: 8 (the job leaves it open)" in told
