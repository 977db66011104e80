"""Whatever a tuning job states or leaves open, no two rules give the same figure."""

from __future__ import annotations

from itertools import product

import pytest

import planner

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
def test_every_choice_of_what_is_stated_is_sized(size, method, model):
    for stated in STATED:
        keys = {key: OPEN[key] for key, is_stated in stated.items() if is_stated}
        sizing = size(tune={**model, "method": method, **keys})
        assert sizing.candidates, (keys, sizing.rejections)


def test_a_micro_batch_and_a_sequence_are_enough_for_the_peak():
    job = {"model": "llama-3.1-8b", "method": "lora", "sequence": 2048, "micro_batch": 1}

    def counts(**tune):
        return [(one["gpu_type"], one["gpus"]) for one in planner.size({"tune": tune}).rows()]

    assert counts(**job) == counts(**job, batch=1)
    assert ("l40s-48gb", 1) in counts(**job)  # the published baseline of an open size is two
