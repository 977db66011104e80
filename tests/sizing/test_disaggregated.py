"""Prefill and decode on engines of their own: what a replica takes, as a simulated one does."""

import heapq
import random
from math import ceil

import pytest

from planner.inputs.scenario.job import Job

H100 = "h100-80gb-sxm"
LOAD = {"requests_per_second": 20, "input_tokens": 3000, "output_tokens": 300}


def serving(disaggregated=None, **changes):
    load = {**LOAD, **changes.pop("load", {})}
    serve = {"model": "llama-3.1-8b", "load": load, **changes}
    return {**serve, "disaggregated": disaggregated}


def engines(prefill, decode):
    return {"prefill_engines": prefill, "decode_engines": decode}


@pytest.fixture(scope="module")
def size(shipped_sizer):
    def on(gpu_type, *stated, **changes):
        job = {"serve": serving(*stated, **changes), "gpu_types": (gpu_type,)}
        return shipped_sizer.size(Job.model_validate(job)).candidates

    return on


def waits(figure, rate, prefill_engines, requests=6000):
    """Seconds to the first token: prompts go to the engine that is free first, in their order."""
    rng, clock = random.Random(1), 0.0
    free = [0.0] * prefill_engines
    found = []
    for _ in range(requests):
        clock += rng.expovariate(rate)
        begins = max(clock, heapq.heappop(free))
        heapq.heappush(free, begins + figure("prefill_s"))
        found.append(begins + figure("prefill_s") - clock)
    return sorted(found)


@pytest.mark.parametrize("in_flight", [8, 24])
def test_first_tokens_come_no_later_than_in_a_simulated_replica_of_one_prefill_engine(
    replica, in_flight
):
    figure = replica(serving(engines(1, 1)), in_flight)
    rate = figure("requests_per_second_per_replica")
    seen = waits(figure, rate, 1)
    after = figure("kv_transfer_s") + 2 * figure("decode_step_s")
    late = seen[ceil(0.95 * len(seen)) - 1] + after

    assert 0.9 * late <= figure("ttft_ms") / 1000 <= 2 * late


def test_tokens_come_as_fast_as_steps_since_no_prompt_is_taken_in_between(replica):
    apart, together = replica(serving(engines(1, 1)), 16), replica(serving(), 16)

    assert apart("tpot_ms") == pytest.approx(apart("decode_step_s") * 1000)
    assert together("tpot_ms") > 1.3 * apart("tpot_ms")
    assert apart("decode_step_s") == pytest.approx(together("decode_step_s"))


def test_the_slower_phase_decides_how_many_requests_are_answered(replica):
    def rate(prefill, decode):
        return replica(serving(engines(prefill, decode)), 64)("requests_per_second_per_replica")

    assert rate(1, 8) == pytest.approx(rate(1, 7))  # prompts are the limit
    assert rate(2, 8) == pytest.approx(2 * rate(1, 8))
    assert rate(50, 2) == pytest.approx(2 * rate(50, 1))  # answers are


def test_the_cache_moves_over_the_links_before_the_first_token(replica):
    """3,000 tokens of 131,072 bytes over the 50 GB/s that an H100 has of its node's fabric."""
    figure = replica(serving(engines(1, 1)), 8)

    assert figure("kv_transfer_s") == pytest.approx(3000 * 131_072 / 50e9)


def test_a_replica_has_the_gpus_of_all_of_its_engines(size):
    (one,) = size(H100, engines(1, 2), gpus_per_replica=1)
    (alone,) = size(H100, gpus_per_replica=1, concurrency=one.serving.concurrency)

    assert (one.gpus, one.prefill_gpus) == (3, 1)
    assert one.cpus == 3 * alone.cpus
    assert one.memory_mb == 3 * alone.memory_mb
    assert one.gpu_memory_mb == 3 * alone.gpu_memory_mb


def test_no_stated_division_within_a_node_does_better_than_the_one_that_is_chosen(size):
    latency = {"ttft_ms": 800, "tpot_ms": 12}
    chosen = min(one.gpus * one.replicas for one in size(H100, {}, latency=latency))
    stated = [
        one.gpus * one.replicas
        for prefill in range(1, 8)
        for decode in range(1, 9 - prefill)
        for one in size(H100, engines(prefill, decode), latency=latency)
        if one.gpus <= 8
    ]

    assert chosen <= min(stated) * 1.2
    assert max(stated) > chosen


@pytest.mark.parametrize(("kind", "key"), [("serve", "disaggregated"), ("tune", "deploy")])
def test_a_mapping_that_needs_no_key_may_be_switched_on_by_true(kind, key):
    needs = ("load", LOAD) if kind == "serve" else ("method", "lora")

    def job(stated):
        return Job.model_validate({kind: dict([("model", "m"), needs, (key, stated)])})

    assert job(True) == job({}) != job(None)
    assert job(False) == job(None)


def test_a_model_that_fills_a_node_has_no_room_for_two_engines(shipped_sizer):
    job = {"serve": serving({}, model="llama-3.1-405b", bits=8)}
    sizing = shipped_sizer.size(Job.model_validate(job))

    refused = {one.gpu_type: one for one in sizing.rejections}[H100]
    assert refused.rule == "job.disaggregated"
    assert "which no node of it holds" in refused.message
