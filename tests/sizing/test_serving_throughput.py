"""Requests per second of a replica and replicas for a load, against measured runs of vLLM.

Measured latency: aiconfigurator, silicon_sample.csv at 095f58a51c, aggregated vLLM runs at FP8.
"""

from typing import NamedTuple

import pytest

from planner.inputs.measured import ServingMeasurement
from planner.sizing.calibrate import replica_of
from tests.stated import changed


class Run(NamedTuple):
    """One measured run: first token after `first_ms`, one more every `each_ms`."""

    gpu_type: str
    gpus: int
    concurrency: int
    first_ms: float
    each_ms: float

    @property
    def closed(self):
        """The run as a row of a table of measured runs."""
        return ServingMeasurement(
            line=1,
            model="llama-3.1-70b",
            bits=8,
            gpu_type=self.gpu_type,
            gpus=self.gpus,
            input_tokens=1024,
            output_tokens=1024,
            concurrency=self.concurrency,
        )

    @property
    def per_second(self):
        return self.concurrency / (self.first_ms + 1023 * self.each_ms) * 1000


H200 = "h200-141gb-sxm"
RUNS = (
    Run("h200-141gb-sxm", 1, 4, 202.76, 21.466),
    Run("h200-141gb-sxm", 1, 8, 255.47, 22.557),
    Run("h100-80gb-sxm", 2, 8, 150.25, 18.221),
    Run("h200-141gb-sxm", 2, 16, 189.85, 15.654),
    Run("h200-141gb-sxm", 2, 64, 417.03, 22.707),
    Run("h100-80gb-sxm", 4, 16, 121.41, 13.192),
    Run("h100-80gb-sxm", 4, 64, 256.36, 19.515),
    Run("h200-141gb-sxm", 4, 32, 179.07, 14.384),
    Run("h100-80gb-sxm", 8, 64, 184.83, 15.455),
    Run("h200-141gb-sxm", 8, 8, 86.33, 8.519),
)
"""Llama 3.1 70 B at 8 bit, 1,024 tokens in and 1,024 out."""


@pytest.fixture(scope="module")
def four(replica):
    """`four(held, **serve)`: a replica of Llama 3.1 70 B on four H200, or what is stated."""

    def at(held, gpu_type=H200, gpus=4, **stated):
        tokens = {name: stated.pop(name, 1024) for name in ("input_tokens", "output_tokens")}
        serve = {"model": "llama-3.1-70b", "bits": 8, "load": {"requests_per_second": 1, **tokens}}
        return replica({**serve, **stated}, held, gpu_type, gpus)

    return at


def rate(figure):
    return figure("requests_per_second_per_replica")


@pytest.fixture(scope="module")
def clients(shipped_sizer):
    """`clients(run, engine)`: figures of a measured run, whose clients wait for their answers."""

    def of(run, engine="vLLM"):
        closed = changed(run.closed, engine=engine)
        return lambda name: float(replica_of(closed, shipped_sizer).number(name) or 0)

    return of


def test_each_measured_run_is_within_an_eighth_and_its_first_token_within_twice(clients):
    errors = []
    for run in RUNS:
        figure = clients(run)
        errors.append(abs(rate(figure) / run.per_second - 1))
        assert figure("tpot_ms") == pytest.approx(run.each_ms, rel=0.12)
        assert run.first_ms * 0.5 < figure("ttft_ms") < run.first_ms * 2.1
    assert max(errors) < 0.125
    assert sorted(errors)[len(errors) // 2] < 0.06


def test_the_gpu_waits_for_the_host_in_vllm_before_version_0_8(clients):
    """Two milliseconds a step, and 0.05 ms for each of 64 requests more than from 0.8 on."""

    def step(engine):
        return clients(RUNS[4], engine)("decode_step_s")

    now = step("vLLM 0.8.0")
    assert step("vLLM 0.6.3.post1") == pytest.approx(now + 0.0052)
    assert step("vLLM 0.10") == step("vLLM") == step("a fork 0.6") == now


def test_requests_in_flight_are_rate_times_latency(four):
    at = four(32)
    latency = 1024 * at("decode_step_s") + 32 * at("prefill_stall_s")
    assert rate(at) * latency == pytest.approx(32)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ({"held": 8}, {"held": 64}),
        ({"output_tokens": 2048}, {}),
        ({"input_tokens": 4096}, {}),
        ({"bits": 16, "held": 4}, {"held": 4}),
        ({"gpu_type": "h100-80gb-sxm"}, {}),
    ],
    ids=["at-once", "answers", "prompts", "width", "bandwidth"],
)
def test_what_serves_more(four, less, more):
    few, many = (rate(four(**{"held": 32, **stated})) for stated in (less, more))
    assert few < many < 8 * few


def test_one_request_reads_few_experts_and_many_read_nearly_all(four):
    one, many = (
        four(held, gpus=1, model="qwen3-30b-a3b", bits=16)("weights_read_gb") for held in (1, 512)
    )
    assert one == pytest.approx(6.0, rel=0.05)
    assert many == pytest.approx(60.4, rel=0.01)
