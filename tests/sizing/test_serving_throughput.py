"""Requests per second of a replica and replicas for a load, against measured runs of vLLM.

Measured latency: aiconfigurator, silicon_sample.csv at 095f58a51c, aggregated vLLM runs at FP8.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import pytest

from planner.inputs.catalog.catalog import Model
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies
from planner.sizing import Sizer
from planner.sizing.engine import Known
from planner.sizing.subject import GPU_FACTS, gpu_facts


class Run(NamedTuple):
    """One measured run: first token after `first_ms`, one more every `each_ms`."""

    gpu_type: str
    gpus: int
    concurrency: int
    first_ms: float
    each_ms: float

    @property
    def per_second(self):
        return self.concurrency / (self.first_ms + 1023 * self.each_ms) * 1000


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
def wide_catalog(catalog):
    """The catalog of the other tests, a mixture, and a GPU type whose bandwidth nobody states."""
    mixture = {
        "name": "bench/mixture",
        "parameters_b": Decimal("30.5"),
        "active_parameters_b": Decimal("3.35"),
        "layers": 48,
        "hidden": 2048,
        "heads": 32,
        "kv_heads": 4,
        "head_dim": 128,
        "vocab": 151936,
        "max_context": 131072,
        "experts": 128,
        "experts_per_token": 8,
        "expert_intermediate": 768,
        "source": "bench",
    }
    more = {"experts-128": Model.model_validate(mixture)}
    gpu = catalog.gpus["l40s-48gb"].model_copy(update={"bandwidth_gb_per_s": None})
    return catalog.model_copy(
        update={
            "models": {**catalog.models, **more},
            "gpus": {**catalog.gpus, "of-unknown-bandwidth": gpu},
        }
    )


@pytest.fixture(scope="module")
def throughput(wide_catalog, rules, settings):
    """`throughput(gpu_type, gpus, **serve)` gives the situation there, ready to be asked."""
    sizer = Sizer(wide_catalog, rules, settings(), Policies())

    def find(gpu_type, gpus, name="requests_per_second_per_replica", per_second=1, **stated):
        load = {
            "requests_per_second": Decimal(per_second),
            "input_tokens": stated.pop("input_tokens", 1024),
            "output_tokens": stated.pop("output_tokens", 1024),
        }
        serve = {
            "model": "llama-3.1-70b",
            "bits": 8,
            "context": 8192,
            "concurrency": 32,
            "load": load,
        }
        job = Job.model_validate({"serve": serve | stated})
        there = {
            "gpus_tried": Known(Fraction(gpus), "GPUs", "tried"),
            **gpu_facts(gpu_type, wide_catalog),
        }
        at = sizer.reasoning(job).within(there, GPU_FACTS | {"gpus_tried"})
        found = at.number(name)
        return None if found is None else float(found)

    return find


@pytest.mark.parametrize("run", RUNS)
def test_requests_per_second_are_within_a_third_of_each_measured_run(throughput, run):
    found = throughput(run.gpu_type, run.gpus, concurrency=run.concurrency)
    assert found == pytest.approx(run.per_second, rel=0.33)


def test_half_of_the_measured_runs_are_within_a_fifth(throughput):
    errors = sorted(
        abs(throughput(run.gpu_type, run.gpus, concurrency=run.concurrency) / run.per_second - 1)
        for run in RUNS
    )
    assert errors[len(errors) // 2] < 0.2


def test_requests_in_flight_are_rate_times_latency(throughput):
    at = {"concurrency": 32}
    rate = throughput("h200-141gb-sxm", 4, **at)
    step = throughput("h200-141gb-sxm", 4, "decode_step_s", **at)
    prefill = throughput("h200-141gb-sxm", 4, "prefill_s", **at)
    assert rate * (1024 * step + 32 * prefill) == pytest.approx(32)


def test_more_at_once_serve_more_but_not_in_proportion(throughput):
    few = throughput("h200-141gb-sxm", 4, concurrency=8)
    many = throughput("h200-141gb-sxm", 4, concurrency=64)
    assert few < many < 8 * few


def test_longer_answers_and_longer_requests_both_cost(throughput):
    usual = throughput("h200-141gb-sxm", 4)
    assert throughput("h200-141gb-sxm", 4, output_tokens=2048) < usual
    assert throughput("h200-141gb-sxm", 4, input_tokens=4096) < usual


def test_fewer_weight_bits_and_more_bandwidth_serve_more(throughput):
    wide = throughput("h100-80gb-sxm", 4, bits=16, concurrency=4)
    narrow = throughput("h100-80gb-sxm", 4, bits=8, concurrency=4)
    faster = throughput("h200-141gb-sxm", 4, bits=8, concurrency=4)
    assert wide < narrow < faster


def test_one_request_reads_few_experts_and_many_read_nearly_all(throughput):
    of = {"model": "experts-128", "bits": 16}
    one = throughput("h200-141gb-sxm", 1, "weights_read_gb", concurrency=1, **of)
    many = throughput("h200-141gb-sxm", 1, "weights_read_gb", concurrency=512, **of)
    assert one == pytest.approx(6.7, rel=0.05)
    assert many == pytest.approx(61, rel=0.01)


def test_replicas_hold_the_load_at_the_planned_share(throughput):
    each = throughput("h200-141gb-sxm", 4)
    share = throughput("h200-141gb-sxm", 4, "planned_load_share")
    for per_second in (1, 7, 40):
        replicas = throughput("h200-141gb-sxm", 4, "replicas_for_load", per_second)
        assert (replicas - 1) * each * share < per_second <= replicas * each * share


def test_a_gpu_type_of_unknown_bandwidth_has_no_throughput(throughput):
    assert throughput("of-unknown-bandwidth", 4) is None
