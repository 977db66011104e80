"""Encoders, and texts without answers: against measured batches, and what does not go with them."""

import pytest

import planner
from planner.errors import InputError
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies
from planner.sizing import Sizer
from tests.sizing.conftest import figure_of

A100 = "a100-80gb-sxm"


def embedding(model, tokens=512, **load):
    load = {"requests_per_second": 100, "input_tokens": tokens, "output_tokens": 0, **load}
    return {"model": model, "load": load}


@pytest.fixture(scope="module")
def on_a100(shipped, rules, settings):
    """The smallest candidate of a job on an A100."""
    sizer = Sizer(shipped, rules, settings(), Policies(), gpu_types=(A100,))
    return lambda **job: sizer.size(Job.model_validate(job)).candidates[0]


def test_an_encoder_keeps_and_samples_nothing(on_a100):
    candidate = on_a100(serve=embedding("bge-m3"))
    assert figure_of(candidate, "kv_gb_per_gpu") == figure_of(candidate, "sampling_gb") == 0
    assert candidate.serving.tpot_ms is None
    assert candidate.serving.e2e_ms == candidate.serving.ttft_ms > 0
    assert {one.rests for one in candidate.evidence} == {"estimated"}


def test_a_decoder_that_embeds_takes_no_time_for_answers(on_a100):
    embeds = on_a100(serve=embedding("qwen3-4b"))
    writes = on_a100(serve=embedding("qwen3-4b", output_tokens=200))
    assert figure_of(embeds, "kv_gb_per_gpu") > 0
    rates = [figure_of(one, "requests_per_second_per_replica") for one in (embeds, writes)]
    assert rates[0] > 1.5 * rates[1]


def test_an_encoder_is_tuned_without_logits(on_a100):
    def peak_mb(**more):
        tune = {"model": "bert-large", "method": "full", "sequence": 512, "batch": 32, **more}
        return on_a100(tune=tune).memory.peak_mb

    assert peak_mb() == peak_mb(loss_kernel="no-logits") < peak_mb(loss_kernel="plain")


def test_what_goes_with_answers_alone_is_refused():
    for stated, says in (
        ({"load": {**embedding("bge-m3")["load"], "output_tokens": 1}}, "writes no text"),
        ({"latency": {"tpot_ms": 40}}, "there is none"),
        ({"disaggregated": True}, "there are none"),
        ({"kv_bits": 8}, "keeps no cache"),
        ({"load": {**embedding("bge-m3")["load"], "cached_input": 0.5}}, "keeps no cache"),
        ({"speculative": {"draft_tokens": 2, "acceptance": 0.5, "draft_gb": 0}}, "there are none"),
    ):
        with pytest.raises(InputError, match=says):
            planner.size({"serve": {**embedding("bge-m3"), **stated}})
    with pytest.raises(InputError, match="writes none"):
        planner.size({"tune": {"model": "bge-m3", "method": "full", "objective": "dpo"}})
    draft = {"draft_tokens": 2, "acceptance": 0.5, "draft_model": "bge-m3"}
    with pytest.raises(InputError, match="proposes no tokens"):
        planner.size({"serve": {**embedding("qwen3-4b"), "speculative": draft}})
    with pytest.raises(InputError, match="are of answers"):
        planner.size({"serve": embedding("qwen3-4b", output_percentiles={"p95": 9})})
