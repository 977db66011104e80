"""Serving jobs by traffic and latency: what is chosen, as a simulated replica confirms it."""

import heapq
import random
import re
from decimal import Decimal
from itertools import pairwise
from math import ceil, exp, sqrt
from statistics import mean

import pytest

from planner.inputs.load import load_rules
from planner.inputs.scenario.horizon import Horizon
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies
from planner.sizing import Sizer
from planner.sizing.count import Tries
from planner.sizing.endpoint import Replica
from planner.sizing.engine import Known
from planner.sizing.subject import gpu_facts
from tests.sizing.conftest import figure_of

H100, L40S = "h100-80gb-sxm", "l40s-48gb"
MODEL = "llama-3.1-70b"
LOAD = {"requests_per_second": 8, "input_tokens": 1000, "output_tokens": 400}
SLOW_ABOVE_32 = """
sources:
  house: {title: Our own tests, read: "2026-11-01"}
rules:
  serving/tpot:
    title: Tokens come as before up to 32 requests
    kind: formula
    basis: estimate
    applies: {kind: serve, in_flight: {max: 32}}
    inputs: {decode_step_s: s}
    result: {name: tpot_ms, unit: ms}
    formula: decode_step_s * 1000
    sources: [{source: house, locator: a test}]
    examples: [{name: a step, given: {decode_step_s: 0.02, in_flight: 8}, expect: 20}]
  serving/tpot-of-many:
    title: And a hundred times as slowly with more
    kind: formula
    basis: estimate
    applies: {kind: serve, in_flight: {above: 32}}
    inputs: {decode_step_s: s}
    result: {name: tpot_ms, unit: ms}
    formula: decode_step_s * 100000
    sources: [{source: house, locator: a test}]
    examples: [{name: a step, given: {decode_step_s: 0.02, in_flight: 64}, expect: 2000}]
"""


def serve(latency=None, **changes):
    load = {**LOAD, **changes.pop("load", {})}
    job = {"model": MODEL, "load": load, **changes}
    return job if latency is None else {**job, "latency": latency}


def of(sizing, gpu_type):
    return [one for one in sizing.candidates if one.gpu_type == gpu_type]


@pytest.fixture(scope="module")
def size(shipped_sizer):
    return lambda **job: shipped_sizer.size(Job.model_validate(job))


@pytest.fixture(scope="module")
def on_h100(size):
    """Candidates of a serving job on H100."""
    return lambda stated: size(serve=stated, gpu_types=(H100,)).candidates


def simulated(figure, job, rate, held, requests, seed=1, spread=0.0):
    """Waits of a replica that takes prompts into its steps, as they come: seconds.

    Requests come at random (Poisson). Each step decodes one token of every request in flight and
    takes in all prompts that have come and have a place, whose kernels are launched once. The
    logarithm of a prompt's tokens has the standard deviation `spread`.
    """
    rng, output = random.Random(seed), job["load"]["output_tokens"]
    steps = [figure("decode_step_s", max(1, flight)) for flight in range(held + 1)]
    prefill = figure("prefill_s", 1)
    passes = [figure("prefill_pass_s", max(1, flight)) for flight in range(held + 1)]
    arrivals, prefills, clock = [], [], 0.0
    for _ in range(requests):
        clock += rng.expovariate(rate)
        arrivals.append(clock)
        prefills.append(
            prefill * rng.lognormvariate(-(spread**2) / 2, spread) if spread else prefill
        )
    now, count, waiting = 0.0, 0, 0
    ending: list[tuple[int, float]] = []
    first: list[float] = []
    each: list[float] = []
    flights: list[int] = []
    while len(each) < requests:
        if not ending and waiting < requests and arrivals[waiting] > now:
            now = arrivals[waiting]
        taken: list[float] = []
        taking_in = 0.0
        while waiting < requests and arrivals[waiting] <= now and len(ending) + len(taken) < held:
            taken.append(arrivals[waiting])
            taking_in += prefills[waiting]
            waiting += 1
        flights.append(len(ending) + len(taken))
        now += steps[flights[-1]] + taking_in + (passes[flights[-1]] if taken else 0)
        count += 1
        while ending and ending[0][0] <= count:
            _, began = heapq.heappop(ending)
            each.append((now - began) / (output - 1))
        for arrived in taken:
            first.append(now - arrived)
            heapq.heappush(ending, (count + output - 1, now))
    return {"ttft": sorted(first), "tpot": sorted(each), "in_flight": flights}


def at_percentile(figures, percentile):
    return figures[ceil(len(figures) * percentile / 100) - 1]


@pytest.mark.parametrize("flight", [8, 24, 64])
@pytest.mark.parametrize(
    ("model", "gpu_type", "gpus", "tokens"),
    [
        ("llama-3.1-70b", H100, 4, (1000, 400)),
        ("llama-3.1-8b", L40S, 1, (500, 300)),
        ("mixtral-8x7b", H100, 2, (2000, 200)),
    ],
)
def test_a_simulated_replica_takes_and_waits_as_the_rules_say(
    replica, model, gpu_type, gpus, tokens, flight
):
    """At the rate that the rules give for so many in flight, so many are in flight."""
    job = serve(model=model, load=dict(zip(("input_tokens", "output_tokens"), tokens, strict=True)))
    figure = replica(job, 256, gpu_type, gpus)
    rate = figure("requests_per_second_per_replica", flight)
    seen = simulated(figure, job, rate, 256, 3000)
    high = figure("in_flight_high", flight)

    assert mean(seen["in_flight"]) == pytest.approx(flight, rel=0.2, abs=1)
    assert at_percentile(seen["tpot"], 50) * 1000 == pytest.approx(
        figure("tpot_ms", flight), rel=0.1
    )
    assert at_percentile(seen["tpot"], 95) * 1000 <= figure("tpot_ms", high) * 1.2
    assert at_percentile(seen["ttft"], 95) * 1000 == pytest.approx(
        figure("ttft_ms", flight), rel=0.25
    )


@pytest.mark.parametrize("flight", [8, 24, 64])
@pytest.mark.parametrize("spread", [0.6, 1.0])
def test_first_tokens_of_long_prompts_come_as_late_as_in_a_simulated_replica(
    replica, spread, flight
):
    mean_tokens, deviations = 1000, 1.645
    tokens = round(mean_tokens * exp(deviations * spread - spread**2 / 2))
    job = serve(
        {"ttft_ms": 10_000},
        load={
            "input_tokens": mean_tokens,
            "input_percentiles": {"p95": tokens},
            "input_cv": Decimal(str(round(sqrt(exp(spread**2) - 1), 3))),
        },
    )
    figure = replica(job, 256, gpus=4)
    rate = figure("requests_per_second_per_replica", flight)
    seen = simulated(figure, job, rate, 256, 4000, spread=spread)

    assert figure("ttft_ms", flight) == pytest.approx(
        at_percentile(seen["ttft"], 95) * 1000, rel=0.2
    )


@pytest.mark.parametrize("model", [MODEL, "mixtral-8x7b", "deepseek-v3"])
def test_a_search_in_floating_point_sees_what_the_rules_say(shipped_sizer, shipped, model):
    job = Job.model_validate({"serve": serve({"ttft_ms": 800}, model=model)})
    known = shipped_sizer.reasoning(job).within({"concurrency": Known(64, "requests", "tried")})
    replica = Replica(Tries(known).on(gpu_facts(H100, shipped), 8))
    for count in (1, 7, 64):
        exact = replica.latency_at(count, exactly=True)
        assert None not in exact.values()
        assert replica.latency_at(count) == pytest.approx(exact, rel=1e-12)


def test_rules_that_switch_with_the_requests_in_flight_are_asked_one_by_one(
    shipped, settings, tmp_path
):
    """A rule of the house that holds above 32 requests slows what is chosen, as it should."""
    own = tmp_path / "slow.yaml"
    own.write_text(SLOW_ABOVE_32, "utf-8")
    sizer = Sizer(shipped, load_rules([own])[0], settings(), Policies(), gpu_types=[H100, L40S])
    sizing = sizer.size(Job.model_validate({"serve": serve({"tpot_ms": 60})}))
    assert sizing.candidates
    assert all(one.serving and one.serving.in_flight <= 32 for one in sizing.candidates)
    assert all(figure_of(one, "in_flight_high") <= 33 for one in sizing.candidates)


def test_targets_are_kept_even_where_a_replica_takes_less_than_expected(size):
    """At the most that it may take, which is 1 / 0.7 of what is planned, the targets still hold."""
    targets = {"ttft_ms": 600, "tpot_ms": 35, "e2e_ms": 14000}
    sizing = size(serve=serve(targets))
    assert of(sizing, H100)
    for one in sizing.candidates:
        assert figure_of(one, "ttft_ms") <= targets["ttft_ms"]
        for name, most in targets.items():
            assert getattr(one.serving, name) <= most
        assert one.serving.in_flight <= one.serving.concurrency


def test_requests_that_vary_hold_more_than_their_mean_when_few_are_held(on_h100):
    """As many as are held at once hold, in 95 of 100 moments, what the cache has room for."""

    def held(cv, **changes):
        load = {"input_tokens": 2000, "output_tokens": 400, "input_cv": cv}
        (one,) = on_h100(serve(load=load, gpus_per_replica=2, bits=8, **changes))
        return one

    alike, varying = held(0), held(Decimal("1.2"))
    count = varying.serving.concurrency
    assert count < alike.serving.concurrency
    parts = {part.name: part.mb for part in varying.memory.parts}
    tokens = parts["KV cache"] * 10**6 / (count * 80 * 2048)

    rng, spread = random.Random(1), 0.944  # log-normal prompts of that variation
    mean_of_all = sorted(
        mean(2000 * rng.lognormvariate(-(spread**2) / 2, spread) + 400 for _ in range(count))
        for _ in range(500)
    )
    assert tokens == pytest.approx(at_percentile(mean_of_all, 95), rel=0.1)
    stated = [held(cv, context=8192).serving.concurrency for cv in (0, Decimal("1.2"))]
    assert stated[0] == stated[1]


def test_a_little_more_patience_buys_a_little_more_traffic_even_where_few_requests_meet(size):
    """A mean in flight is no whole number: between 2 and 3 requests lies a third of the traffic."""

    def planned(ttft_ms):
        job = serve({"ttft_ms": ttft_ms}, bits=8, gpus_per_replica=4, load={"input_tokens": 3000})
        (found,) = size(serve=job, gpu_types=(L40S,)).candidates
        return found.serving.planned_requests_per_second

    rates = [planned(ttft_ms) for ttft_ms in range(2000, 4001, 40)]
    assert rates == sorted(rates)
    assert rates[-1] > 2 * rates[0]
    assert all(later < 1.08 * sooner for sooner, later in pairwise(rates))


def test_what_no_gpu_type_reaches_is_told_with_what_it_takes_alone(size):
    sizing = size(serve=serve({"tpot_ms": 2}))
    assert not sizing.candidates
    message = {one.gpu_type: one for one in sizing.rejections}[H100]
    assert message.rule == "job.latency"
    assert "a request that is alone takes" in message.message
    assert "for each further token where 2 ms are asked for" in message.message


def test_a_target_on_a_gpu_type_of_unknown_speed_is_refused_with_what_is_missing(
    shipped, rules, settings
):
    sizer = Sizer(shipped, rules, settings(), Policies(), gpu_types=["rubin-288gb"])
    (refused,) = sizer.size(Job.model_validate({"serve": serve({"ttft_ms": 800})})).rejections
    assert "ttft_ms cannot be told: nothing is known of gpu_bf16_tflops" in refused.message


def test_more_gpus_for_each_replica_are_offered_where_they_hold_more_requests(on_h100):
    one, *more = on_h100(serve())
    assert one.way == H100
    assert one.serving.percentile == 95
    assert 0 < one.serving.tpot_ms < one.serving.ttft_ms < one.serving.e2e_ms
    assert more
    for other in more:
        assert other.gpus > one.gpus
        assert other.way == f"{H100} × {other.gpus}"
        assert other.gpus * other.replicas < one.gpus * one.replicas or (
            other.cpus * other.replicas < one.cpus * one.replicas
            or other.memory_mb * other.replicas < one.memory_mb * one.replicas
        )


def test_no_stated_concurrency_does_better_than_the_one_that_is_chosen(on_h100):
    chosen = min(one.gpus * one.replicas for one in on_h100(serve()))
    stated = [
        min(one.gpus * one.replicas for one in found)
        for held in (1, 4, 16, 32, 64, 100, 150, 200, 256)
        if (found := on_h100(serve(concurrency=held)))
    ]
    assert chosen <= min(stated)
    assert max(stated) > 3 * chosen


def test_what_is_stated_is_kept(on_h100):
    for one in on_h100(serve({"tpot_ms": 40}, concurrency=24)):
        assert one.serving.concurrency == 24
    for one in on_h100(serve(gpus_per_replica=8)):
        assert one.gpus == 8
    assert on_h100(serve(gpus_per_replica=8))


def test_replicas_follow_traffic_from_quarter_to_quarter(shipped_sizer):
    horizon = Horizon.model_validate({"first_quarter": "2027Q1", "quarters": 4})
    load = {"requests_per_second": {"2027Q2": 4, "2027Q4": 30}}
    job = Job.model_validate({"serve": serve(load=load)})
    sizing = shipped_sizer.size(job, peaks=job.peaks(horizon))
    assert job.units(horizon) == (0, 1, 1, 1)
    for one in sizing.candidates:
        planned = one.serving.planned_requests_per_second
        expected = tuple(ceil(peak / planned) for peak in (0, 4, 4, 30))
        assert one.replicas == expected[3]
        if len(set(expected)) > 1:
            assert one.replicas_by_quarter == expected


@pytest.mark.parametrize(
    "load",
    [
        {"tokens_per_day": 8 * 1400 * 86_400},
        {"users": 2880, "requests_per_user_hour": 10},
        {"requests_per_second": 2, "peak_to_mean": 4},
    ],
)
def test_traffic_may_be_told_as_people_know_it(size, load):
    stated = {"requests_per_second": None, **load}
    assert size(serve=serve(load=stated)).candidates == size(serve=serve()).candidates


def test_bursts_and_longer_prompts_take_more_and_a_prefix_cache_less(on_h100):
    def gpus(**load):
        found = on_h100(serve({"ttft_ms": 500}, load=load))
        return min(one.gpus * one.replicas for one in found)

    plain = gpus(requests_per_second=60)
    assert gpus(requests_per_second=60, arrivals_cv=3) >= plain
    assert gpus(requests_per_second=60, input_tokens=3000) > plain
    assert gpus(requests_per_second=60, cached_input="80%") < plain


def test_a_summary_tells_the_most_that_ever_arrives(shipped_sizer):
    horizon = Horizon.model_validate({"first_quarter": "2027Q1", "quarters": 3})
    load = {"requests_per_second": 10, "growth_per_quarter": "20%"}
    job = Job.model_validate({"serve": serve(load=load)})
    told = shipped_sizer.size(job, peaks=job.peaks(horizon)).summary
    assert told.endswith(", up to 14.4 requests a second")
    assert shipped_sizer.size(job).summary.endswith(", 10 requests a second")


def test_attention_over_a_long_prompt_grows_with_its_square(replica):
    def prefill(tokens, **load):
        job = serve(load={"input_tokens": tokens, **load})
        return replica(job, 8, gpus=4)("prefill_s", 1)

    linear = prefill(2000) - prefill(1000)
    assert prefill(64_000) > 63 * linear * 1.4
    # half of the pairs of 64,000 tokens are new beside two prompts of 32,000; 80 layers of 64 heads
    # of 128, and 2 × 2 FLOP for half of the pairs, on four H100
    flop = 2 * 80 * 64 * 128 * 64_000**2 / 2
    added = prefill(64_000) - 2 * prefill(32_000)
    assert added == pytest.approx(flop / (4 * 0.68 * 989e12), rel=0.01)
    half = prefill(64_000, cached_input=0.5)
    assert half > prefill(64_000) / 2  # what is left attends to what is cached


def test_a_token_passes_the_stages_of_a_replica_one_after_the_other(replica):
    job = serve(model="llama-3.1-405b", bits=8)
    one_node, two_nodes = (replica(job, 1, gpus=gpus)("decode_step_s") for gpus in (8, 16))
    assert two_nodes == pytest.approx(one_node, rel=0.01)


def test_what_is_too_slow_by_less_than_a_millisecond_reads_as_more_than_what_is_asked(size):
    def refused(tpot_ms):
        sized = size(serve=serve({"tpot_ms": tpot_ms}, model="llama-3.1-405b", bits=8))
        return next(one for one in sized.rejections if one.gpu_type == "mi300x-192gb")

    asked_ms = refused(1).missed[0].kept_ms - 1
    takes, asked = re.findall(r"([\d.]+) ms", refused(asked_ms).message)
    assert float(takes) > float(asked) == asked_ms
