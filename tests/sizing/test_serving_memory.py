"""Memory of a serving replica: what each figure of its job adds, and where it cannot be served.

Start-ups of vLLM that were measured are those of benchmarks/accuracy.
"""

from decimal import Decimal

import pytest

import planner
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies
from planner.sizing import Sizer
from tests.stated import changed

GIB_PER_MB = 10**6 / 2**30
BLOCK = 16


@pytest.fixture(scope="module")
def sized(shipped_sizer):
    """`sized(model, gpus, **serve)` gives the memory of a replica on so many GPUs."""

    def find(model, gpus=1, **serve):
        stated = {"model": model, "context": 4096, "concurrency": 8} | serve
        return shipped_sizer.memory(Job.model_validate({"serve": stated}), gpus)

    return find


@pytest.fixture(scope="module")
def parts(sized):
    """The same by part, GiB."""
    return lambda *args, **serve: {
        part.name: part.mb * GIB_PER_MB for part in sized(*args, **serve).parts
    }


def test_context_multiplies_the_cache_and_nothing_else(parts):
    short, long = parts("llama-3.1-8b", context=4096), parts("llama-3.1-8b", context=65536)
    assert long["KV cache"] == pytest.approx(16 * short["KV cache"], rel=0.001)
    assert (long["weights"], long["activations"]) == (short["weights"], short["activations"])


def test_a_longer_context_grows_only_the_layers_that_see_all_of_it(parts):
    at_window = parts("gemma-3-27b", context=1024)["KV cache"]
    beyond = parts("gemma-3-27b", context=2048)["KV cache"]
    whole_layers, held_layers = 10, 70
    assert beyond / at_window == pytest.approx(1 + whole_layers / held_layers, rel=0.005)


def test_fewer_weight_bits_leave_the_cache_and_the_embeddings(parts):
    wide, narrow = parts("llama-3.1-8b", bits=16), parts("llama-3.1-8b", bits=4)
    assert narrow["KV cache"] == wide["KV cache"]
    assert narrow["weights"] > wide["weights"] / 4 + 1


def test_gpus_beyond_the_kv_heads_save_no_cache(parts):
    four, eight = parts("qwen2.5-7b", 4), parts("qwen2.5-7b", 8)
    assert eight["KV cache"] == four["KV cache"]
    assert eight["weights"] < four["weights"]


def test_a_latent_cache_is_the_same_on_every_gpu(parts):
    assert parts("deepseek-v2-lite", 2)["KV cache"] == parts("deepseek-v2-lite")["KV cache"]


def test_sixteen_gpus_form_two_stages_that_each_keep_half_the_layers(parts):
    eight, sixteen = parts("llama-3.1-70b", 8), parts("llama-3.1-70b", 16)
    assert sixteen["KV cache"] == pytest.approx(eight["KV cache"] / 2, rel=0.01)
    assert sixteen["weights"] == pytest.approx(eight["weights"] / 2, rel=0.01)


def test_recurrent_state_counts_for_every_sequence(parts):
    few = parts("granite-4.0-h-small", concurrency=10, context=BLOCK)["KV cache"]
    many = parts("granite-4.0-h-small", concurrency=100, context=BLOCK)["KV cache"]
    assert many == pytest.approx(10 * few, rel=0.01)
    assert many > 100 * 77 * GIB_PER_MB


def test_a_hybrid_of_unknown_state_has_no_peak(shipped, rules, settings):
    known = shipped.models["granite-4.0-h-small"]
    untold = {"untold": changed(known, state_mb_per_sequence=None)}
    sizer = Sizer(changed(shipped, models=untold), rules, settings(), Policies())
    serve = {"model": "untold", "context": 4096, "concurrency": 8}
    assert sizer.memory(Job.model_validate({"serve": serve}), 1) is None


def test_more_requests_than_the_engine_samples_for_by_default_take_more_to_sample(parts):
    usual, many = parts("llama-3.1-8b", concurrency=1024), parts("llama-3.1-8b", concurrency=2048)
    assert many["activations"] > 1.8 * usual["activations"]


def test_adapters_add_to_the_peak(sized):
    bare = sized("llama-3.1-8b").peak_mb
    adapted = sized("llama-3.1-8b", adapters={"count": 10, "size_gb": Decimal("0.2")}).peak_mb
    assert adapted - bare == pytest.approx(2000, abs=2)


def test_the_expected_peak_lies_within_its_band_and_below_what_is_needed(sized):
    memory = sized("llama-3.1-8b")
    assert memory.low_mb < memory.peak_mb < memory.high_mb < memory.needed_mb


def test_a_job_that_states_no_context_is_sized_by_the_published_formula(candidate):
    plain = candidate("h100-80gb-sxm", serve={"model": "llama-3.1-8b"})
    assert plain.memory is None
    assert plain.gpu_memory_mb == 19273


def test_context_that_is_not_counted_for_want_of_a_shape_is_warned_of(size):
    stated = {"parameters_b": 8, "context": 8192, "concurrency": 16}
    bare = size(serve=stated)
    assert all(one.memory is None for one in bare.candidates)
    assert "(serving/context-not-counted)" in bare.warnings[0]
    assert size(serve=stated | {"family": "llama"}).warnings == ()


def test_a_family_gives_a_bare_parameter_count_the_shape_that_sizes_its_cache(candidate):
    stated = {"parameters_b": Decimal("8.03"), "family": "llama"}
    at = {"context": 8192, "concurrency": 16}
    inferred = candidate("h100-80gb-sxm", serve=stated | at)
    known = candidate("h100-80gb-sxm", serve={"model": "llama-3.1-8b"} | at)
    assert inferred.memory.needed_mb == pytest.approx(known.memory.needed_mb, rel=0.05)


def test_concurrency_decides_how_many_gpus_a_replica_takes(candidate):
    few = candidate(
        "h100-80gb-sxm", serve={"model": "llama-3.1-8b", "context": 8192, "concurrency": 16}
    )
    many = candidate(
        "h100-80gb-sxm", serve={"model": "llama-3.1-8b", "context": 8192, "concurrency": 128}
    )
    assert (few.gpus, few.decided_by) == (1, "memory")
    assert many.gpus > 1


def test_a_request_longer_than_the_model_is_built_for_is_refused(rejections):
    serve = {"model": "llama-3.1-8b", "context": 131073, "concurrency": 1}
    assert rejections("h200-141gb-sxm", serve=serve) == ["serving/context-within-model"]


@pytest.mark.parametrize(
    ("model", "gpu_type", "load", "found"),
    [
        ("qwen2.5-0.5b", "l4-24gb", (32768, 64), 2),
        ("qwen2.5-0.5b", "l4-24gb", (32768, 256), "serving/heads-divide"),
        ("phi-4", "l40s-48gb", (16384, 24), "serving/kv-heads-divide"),
    ],
)
def test_a_count_that_does_not_divide_the_heads_gives_way_or_is_refused(
    model, gpu_type, load, found
):
    """Of 14 heads on two GPUs and no more; ten KV heads are not shared by four."""
    context, concurrency = load
    serve = {"model": model, "context": context, "concurrency": concurrency}
    sized = planner.size({"serve": serve, "gpu_types": [gpu_type]}).to_dict()
    told = [one["gpus"] for one in sized["candidates"]]
    assert told + [one["rule"] for one in sized["rejections"]] == [found]
