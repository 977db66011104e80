"""Serving jobs whose tokens are drafted and verified, as measured and simulated replicas do."""

import random
from decimal import Decimal
from statistics import mean

import pytest

from planner.inputs.scenario.job import Job

LOAD = {"requests_per_second": 20, "input_tokens": 500, "output_tokens": 300}
EAGLE, EAGLE_3 = Decimal("0.5"), Decimal("0.85")
MEASURED = [
    (EAGLE, {2: (2.1, 4.37), 3: (2.29, 4.29), 4: (2.39, 4.48), 5: (2.43, 4.71), 7: (2.47, 5.2)}),
    (
        EAGLE_3,
        {2: (2.36, 4.32), 3: (2.79, 4.09), 4: (3.08, 4.05), 5: (3.32, 4.13), 7: (3.54, 4.29)},
    ),
]
"""By the size of a draft and the tokens that it proposes: acceptance length, and TPOT in ms."""


def serving(model="llama-3.1-8b", speculative=None, **changes):
    serve = {"model": model, "load": LOAD, **changes}
    return {**serve, "speculative": speculative}


def drafting(tokens=3, per_step=Decimal("2.79"), gb=EAGLE_3):
    return {"draft_tokens": tokens, "tokens_per_step": per_step, "draft_gb": gb}


@pytest.fixture(scope="module")
def size(shipped_sizer):
    on_h100 = ("h100-80gb-sxm",)
    return lambda serve: shipped_sizer.size(
        Job.model_validate({"serve": serve, "gpu_types": on_h100})
    )


def best(sizing):
    return min(sizing.candidates, key=lambda one: one.replicas * one.gpus)


@pytest.mark.parametrize(("gb", "rows"), MEASURED)
def test_tokens_come_as_fast_as_measured_with_drafts_of_any_length(replica, gb, rows):
    alone = replica(serving(load={**LOAD, "input_tokens": 80}), 1)("tpot_ms")
    assert alone == pytest.approx(7.07, rel=0.1)
    for tokens, (per_step, measured) in rows.items():
        job = serving(
            load={**LOAD, "input_tokens": 80},
            speculative=drafting(tokens, Decimal(str(per_step)), gb),
        )
        assert replica(job, 1)("tpot_ms") == pytest.approx(measured, rel=0.12)


def test_an_acceptance_says_the_same_as_the_tokens_that_a_step_gives(replica):
    shared = {"draft_tokens": 4, "draft_gb": EAGLE_3}
    as_share = serving(speculative={**shared, "acceptance": Decimal("0.5")})
    as_tokens = serving(speculative={**shared, "tokens_per_step": 3})

    assert replica(as_share, 8)("tpot_ms") == replica(as_tokens, 8)("tpot_ms")


def test_drafts_gain_less_the_more_requests_are_verified(replica):
    """Verifying computes four tokens for each request, which many requests have no room for."""

    def gain(in_flight):
        drafted = replica(serving(speculative=drafting()), in_flight)
        return replica(serving(), in_flight)("tpot_ms") / drafted("tpot_ms")

    gains = [gain(in_flight) for in_flight in (1, 16, 64, 256)]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > 1.6
    assert gains[-1] < 1.3


def test_a_draft_hits_more_experts_of_a_mixture(replica):
    mixture = "qwen3-30b-a3b"

    def gain(model):
        drafted = replica(serving(model, drafting()), 4)
        return replica(serving(model), 4)("decode_step_s") / drafted("decode_step_s")

    assert gain(mixture) < gain("llama-3.1-8b")
    read = [replica(serving(mixture, one), 4)("weights_read_gb") for one in (None, drafting())]
    assert read[1] > 2 * read[0]


def test_a_draft_takes_memory_and_its_cache_with_it(size):
    plain = size(serving(context=8192, concurrency=32, load=None)).candidates[0]
    model = {"draft_tokens": 3, "acceptance": Decimal("0.6"), "draft_model": "llama-3.2-1b"}
    drafted = size(serving(context=8192, concurrency=32, load=None, speculative=model)).candidates[
        0
    ]
    parts = {part.name: part.mb for part in drafted.memory.parts}

    cache = 32 * 8192 * 16 * 2 * 8 * 64 * 2 / 10**6
    assert parts["draft"] == pytest.approx(2 * 1236 + cache, abs=2)
    assert drafted.gpu_memory_mb == pytest.approx(plain.gpu_memory_mb + parts["draft"], rel=0.15)


def test_fewer_replicas_keep_a_target_with_drafts(size):
    latency = {"tpot_ms": 8, "percentile": 95}
    alone = best(size(serving(latency=latency)))
    drafted = best(size(serving(latency=latency, speculative=drafting())))

    assert drafted.replicas * drafted.gpus < alone.replicas * alone.gpus
    assert drafted.serving.tpot_ms <= 8


def test_a_rate_with_drafts_is_not_called_measured(size):
    drafted = best(size(serving(speculative=drafting())))

    rests = {one.figure: one.rests for one in drafted.evidence}
    assert rests["rate"] in ("extrapolated", "estimated")


def test_a_simulated_replica_gives_answers_as_fast_as_the_rules_say(replica):
    """Each step of every request gives a share of accepted tokens, drawn anew."""
    rng, in_flight = random.Random(1), 16
    job = serving(
        speculative={"draft_tokens": 3, "acceptance": Decimal("0.6"), "draft_gb": EAGLE_3}
    )
    figure = replica(job, in_flight)
    steps = []
    for _ in range(400):
        given, count = 0, 0
        while given < LOAD["output_tokens"]:
            given += 1 + sum(rng.random() < 0.6 for _ in range(3))
            count += 1
        steps.append(count)
    took = mean(steps) * figure("decode_step_s") + in_flight * figure("prefill_stall_s")

    assert in_flight / took == pytest.approx(figure("requests_per_second_per_replica"), rel=0.03)
