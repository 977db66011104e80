"""The engine of an endpoint: what memory its defaults leave, and what is known of its speed."""

import pytest

from planner.inputs.scenario.job import Job
from tests.sizing.conftest import on

H100, H200, B200, MI300X = "h100-80gb-sxm", "h200-141gb-sxm", "b200-180gb-sxm", "mi300x-192gb"
LOAD = {"requests_per_second": 4, "input_tokens": 1000, "output_tokens": 400}


@pytest.fixture(scope="module")
def size(shipped_sizer):
    def sized(**serve):
        return shipped_sizer.size(Job.model_validate({"serve": {"model": "llama-3.1-8b", **serve}}))

    return sized


def shape(sizing):
    return [
        (one.way, one.gpus, one.gpu_memory_mb, one.replicas, one.serving)
        for one in sizing.candidates
    ]


def test_vllm_is_what_is_planned_where_nothing_is_said(size):
    stated, left_open = size(load=LOAD, engine="vllm"), size(load=LOAD)

    assert shape(stated) == shape(left_open)
    assert any("engine" in said for said in left_open.assumptions)
    assert not any("engine" in said for said in stated.assumptions)


@pytest.mark.parametrize(
    ("gpu_type", "reserved_mib"), [(H100, 13952), (H200, 13952), (B200, 26240)]
)
def test_sglang_keeps_free_what_its_defaults_say(size, gpu_type, reserved_mib):
    """512 MiB, 1.5 for each token of a chunk, 2 for each request of the graphs, 128 for the GPU."""
    found = on(size(context=8192, concurrency=16, engine="sglang"), gpu_type)
    parts = {part.name: part.mb for part in found.memory.parts}

    expected = parts["weights"] + parts["KV cache"] + reserved_mib * 1.048576
    assert found.memory.needed_mb == pytest.approx(expected, abs=3)


def test_tensorrt_llm_gives_nine_tenths_of_what_is_free_to_the_cache(size):
    found = on(size(context=8192, concurrency=16, engine="tensorrt-llm"), H100)
    parts = {part.name: part.mb for part in found.memory.parts}

    assert found.memory.needed_mb == pytest.approx(
        found.memory.peak_mb + parts["KV cache"] / 9, abs=2
    )


def test_requests_take_whole_blocks_of_the_engines_cache(size):
    """Of 1,025 tokens: 65 blocks of 16, 1,025 pages, 33 blocks of 32."""
    cache = {
        engine: next(
            part.mb
            for part in on(size(context=1025, concurrency=100, engine=engine), H100).memory.parts
            if part.name == "KV cache"
        )
        for engine in ("vllm", "sglang", "tensorrt-llm")
    }
    tokens = {engine: mb * 10**6 / (100 * 4096 * 32) for engine, mb in cache.items()}
    assert {engine: round(each) for engine, each in tokens.items()} == {
        "vllm": 1040,
        "sglang": 1025,
        "tensorrt-llm": 1056,
    }


def test_engines_are_planned_at_one_speed_but_for_their_launches(size):
    """Those of a prompt hide behind its products, or behind a step; vLLM's take less on Hopper."""
    vllm, sglang, tensorrt_llm = (
        on(size(load=LOAD, concurrency=32, engine=engine, engine_version=version), H100).serving
        for engine, version in (("vllm", "0.14"), ("sglang", None), ("tensorrt-llm", None))
    )
    for other in (vllm, tensorrt_llm):
        more = other.planned_requests_per_second / sglang.planned_requests_per_second
        assert 1 < more < 1.25
        assert other.tpot_ms < sglang.tpot_ms


@pytest.mark.parametrize(
    ("engine", "version", "milliseconds"),
    [
        ("vllm", "0.14.0", 0),
        ("vllm", "0.13.1", 64 * 0.025),
        ("vllm", None, 64 * 0.025),
        ("vllm", "0.7.3", 2 + 64 * 0.075),
        ("sglang", "0.4.1", 0),
        ("sglang", "0.3.6", 64 * 0.025),
        ("sglang", None, 0),
        ("tensorrt-llm", "1.0", 0),
        ("tensorrt-llm", "0.21.0", 64 * 0.025),
    ],
)
def test_the_gpu_waits_for_the_host_of_older_engines(replica, engine, version, milliseconds):
    job = {"model": "llama-3.1-8b", "load": LOAD, "engine": engine, "engine_version": version}
    assert replica(job, 64)("host_overhead_s", 64) * 1000 == pytest.approx(milliseconds)


@pytest.mark.parametrize(
    ("gpus", "version", "milliseconds"),
    [(1, "0.11", 0), (4, "0.11", 0.024), (4, "1.0", 0), (4, None, 0)],
)
def test_sums_took_longer_with_older_tensorrt_llm(replica, gpus, version, milliseconds):
    job = {"model": "llama-3.1-8b", "load": LOAD, "engine": "tensorrt-llm"}
    at = replica(job | {"engine_version": version}, 8, H100, gpus)
    assert at("sums_overhead_s", 1) * 1000 == pytest.approx(milliseconds)


@pytest.mark.parametrize(
    ("model", "gpu_type", "engine", "version", "times"),
    [
        ("minimax-m2.5", MI300X, "sglang", "0.5.7", 3),
        ("minimax-m2.5", MI300X, "sglang", None, 1.25),
        ("llama-4-scout", MI300X, "sglang", "0.5.9", 1.25),  # one expert for a token
        ("minimax-m2.5", MI300X, "vllm", "0.17", 3),
        ("llama-3.1-8b", MI300X, "vllm", "0.17", 1.25),
        ("llama-3.1-8b", MI300X, "vllm", "0.6.1", 2),
        ("minimax-m2.5", "mi355x-288gb", "vllm", "0.17", 1),
        ("minimax-m2.5", H200, "sglang", "0.5.7", 1),
    ],
)
def test_launches_take_longer_on_mi300x_most_of_all_with_experts(
    replica, model, gpu_type, engine, version, times
):
    job = {"model": model, "bits": 8, "load": LOAD, "engine": engine, "engine_version": version}
    at = replica(job, 1, gpu_type, 8)
    assert at("vendor_launches") == times
    assert at("decode_step_s") > times * at("step_overhead_s")


@pytest.mark.parametrize(
    ("model", "bits", "version", "slower"),
    [
        ("minimax-m2.5", 8, "0.16", True),
        ("minimax-m2.5", 8, "0.19", False),
        ("minimax-m2.5", 8, None, False),
        ("qwen3-30b-a3b", 16, "0.16", False),
        ("llama-3.1-8b", 8, "0.16", False),
    ],
)
def test_experts_of_eight_bits_take_longer_on_older_vllm(replica, model, bits, version, slower):
    job = {"model": model, "bits": bits, "load": LOAD, "engine": "vllm"}
    then = replica(job | {"engine_version": version}, 64, H200, 8)("decode_step_s")
    later = replica(job | {"engine_version": "0.20"}, 64, H200, 8)("decode_step_s")
    host_s = 64 * 0.000025 if version is None else 0  # counts as one before 0.14
    assert (then - host_s > later * 1.1) is slower


def test_tensorrt_llm_runs_on_nvidia_alone(size):
    sizing = size(load=LOAD, engine="tensorrt-llm")

    refused = {one.gpu_type: one.rule for one in sizing.rejections}
    assert refused[MI300X] == "serving/tensorrt-llm-on-nvidia"
    assert H100 not in refused


def test_memory_of_an_engine_that_was_not_started_is_not_called_measured(size):
    def rests(**serve):
        evidence = on(size(load=LOAD, **serve), H100).evidence
        return next(one.rests for one in evidence if one.figure == "memory")

    assert rests() == "measured"
    assert rests(engine="sglang") == "extrapolated"


def test_engine_and_version_stand_in_the_summary(size):
    assert " on SGLang 0.5.6," in size(load=LOAD, engine="sglang", engine_version="0.5.6").summary
    assert " on " not in size(load=LOAD).summary


def test_a_prompt_keeps_answers_waiting_for_its_launches_where_these_are_not_hidden(replica):
    load = {"requests_per_second": 4, "input_tokens": 1000, "output_tokens": 300}

    def stall(engine, flight=1):
        job = {"model": "llama-3.1-70b", "engine": engine, "load": load}
        figure = replica(job, 256, gpus=4)
        return figure("prefill_stall_s", flight) - figure("prefill_s", flight)

    assert stall("vllm") == stall("sglang") == pytest.approx(80 * 0.0006, rel=0.01)
    assert stall("tensorrt-llm") == 0
    assert stall("vllm", flight=256) < 0.75 * stall("vllm")


def test_a_short_prompt_runs_in_the_captured_graphs_of_vllm_since_0_8(replica):
    def launch(tokens, cached=0, engine="vllm", version=None):
        load = {"requests_per_second": 4, "input_tokens": tokens, "output_tokens": 300}
        job = {"model": "llama-3.1-8b", "load": load | {"cached_input": cached}}
        job |= {"engine": engine, "engine_version": version}
        return replica(job, 64)("prefill_launch_s", 1)

    assert launch(512) == launch(512, version="0.8.5") == launch(1000, cached=0.5) == 0
    assert launch(513) == launch(512, version="0.7.3") > 0
    assert launch(512, engine="sglang") > 0


@pytest.mark.parametrize(
    ("engine", "version", "steps"),
    [("vllm", "0.14.0", 1), ("vllm", "0.13.1", 0), ("vllm", None, 0), ("sglang", "0.5.9", 0)],
)
def test_a_first_token_waits_for_the_step_that_newer_vllm_has_prepared(
    replica, engine, version, steps
):
    job = {"model": "llama-3.1-8b", "load": LOAD, "engine": engine, "engine_version": version}
    at = replica(job | {"latency": {"ttft_ms": 1000, "percentile": 50}}, 4)
    later = at("ttft_ms") - 1000 * (at("prefill_s") + at("prefill_pass_s"))
    waiting = later / (1000 * at("decode_step_s"))
    assert waiting == pytest.approx(1.5 + steps, abs=0.4)


@pytest.mark.parametrize(
    ("model", "version", "milliseconds"),
    [
        ("qwen2.5-0.5b", "0.20", 5),
        ("qwen2.5-0.5b", "0.7.3", 0),
        ("llama-3.1-70b", "0.20", 0),
    ],
)
def test_the_server_of_vllm_shows_where_the_products_of_a_prompt_are_short(
    replica, model, version, milliseconds
):
    load = {"requests_per_second": 1, "input_tokens": 100, "output_tokens": 100}
    job = {"model": model, "load": load, "engine": "vllm", "engine_version": version}
    at = replica(job, 4, gpus=4 if model == "llama-3.1-70b" else 1)
    assert at("server_s") * 1000 == pytest.approx(milliseconds, abs=0.5)
