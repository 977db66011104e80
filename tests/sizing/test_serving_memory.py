"""Memory of a serving replica, against start-ups of vLLM 0.19.0 that were measured on H100.

Figures in GiB and tokens: https://github.com/jgchn/llm-d-planner/tree/30ec05f7/accuracy/results
"""

from decimal import Decimal
from typing import NamedTuple

import pytest

from planner.inputs.catalog.catalog import Model
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies
from planner.sizing import Sizer
from tests.stated import changed

GIB_PER_MB = 10**6 / 2**30
BLOCK = 16


def shape(parameters_b, layers, hidden, intermediate, heads, kv_heads, head_dim, vocab, **more):
    return Model.model_validate(
        {
            "name": "bench/model",
            "parameters_b": Decimal(parameters_b),
            "layers": layers,
            "hidden": hidden,
            "intermediate": intermediate,
            "heads": heads,
            "kv_heads": kv_heads,
            "head_dim": head_dim,
            "vocab": vocab,
            "max_context": 131072,
            "source": "bench",
            **more,
        }
    )


MODELS = {
    "codellama-7b": shape("6.738546688", 32, 4096, 11008, 32, 32, 128, 32016, max_context=16384),
    "llama-8b": shape("8.030261248", 32, 4096, 14336, 32, 8, 128, 128256),
    "llama-70b": shape("70.553706496", 80, 8192, 28672, 64, 8, 128, 128256),
    "qwen2.5-7b": shape("7.615616512", 28, 3584, 18944, 28, 4, 128, 152064),
    "qwen2.5-72b": shape("72.706203648", 80, 8192, 29568, 64, 8, 128, 152064),
    "phi-4": shape("14.6595072", 40, 5120, 17920, 40, 10, 128, 100352, max_context=16384),
    "gemma-2-27b": shape(
        "27.226704384",
        *(46, 4608, 36864, 32, 16, 128, 256000),
        tied_embeddings=True,
        max_context=8192,
        sliding_window=4096,
        sliding_layers=23,
    ),
    "gemma-3-27b": shape(
        "27.008319744",
        *(62, 5376, 21504, 32, 16, 128, 262144),
        tied_embeddings=True,
        sliding_window=1024,
        sliding_layers=52,
    ),
    "gpt-oss-20b": shape(
        "20.90792736",
        *(24, 2880, 2880, 64, 8, 64, 201088),
        active_parameters_b=Decimal("4.18641696"),
        experts=32,
        experts_per_token=4,
        expert_intermediate=2880,
        sliding_window=128,
        sliding_layers=12,
        native_bits=4,
    ),
    "deepseek-v2-lite": shape(
        "15.706484224",
        *(27, 2048, 10944, 16, 16, 128, 102400),
        attention="mla",
        kv_latent_dim=576,
        active_parameters_b=Decimal("2.661155840"),
        experts=64,
        experts_per_token=6,
        expert_intermediate=1408,
        shared_expert_intermediate=2816,
        dense_layers=1,
    ),
    "recurrent": shape("8", 40, 4096, 12800, 32, 8, 128, 49155, attention="hybrid", kv_layers=4),
    "recurrent-with-state": shape(
        "8",
        *(40, 4096, 12800, 32, 8, 128, 49155),
        attention="hybrid",
        kv_layers=4,
        state_mb_per_sequence=Decimal(50),
    ),
    "odd-heads": shape("1", 24, 896, 4864, 14, 2, 64, 151936),
}


class StartUp(NamedTuple):
    """What one start-up logged, GiB per GPU; None where the log has no figure."""

    model: str
    gpus: int
    weights: float | None
    activation: float | None
    kv_cache: float | None
    kv_tokens: int
    bits: int = 16
    kv_bits: int = 16


START_UPS = (
    StartUp("codellama-7b", 1, 12.56, None, None, 126256),
    StartUp("llama-8b", 1, 14.99, 1.89, 58.11, 952032, kv_bits=8),
    StartUp("llama-8b", 1, None, 1.89, 64.61, 529248, bits=8),
    StartUp("qwen2.5-72b", 2, 67.82, 2.29, 3.04, 19920),
    StartUp("gemma-2-27b", 1, 50.72, 3.66, 20.59, 58672),
    StartUp("gpt-oss-20b", 1, 13.64, 2.87, 58.47, 1277184),
    StartUp("deepseek-v2-lite", 1, 29.43, 1.93, None, 1505552),
)
"""Beside those of benchmarks/accuracy; `kv_tokens` is as logged, which counts sliding layers as if
they were whole."""

REQUESTED_GIB = 0.95 * 79.19
"""What the engine asked for in all of them."""


@pytest.fixture(scope="module")
def sized(catalog, rules, settings):
    """`sized(model, gpus, **serve)` gives the memory of a replica on so many GPUs."""
    sizer = Sizer(changed(catalog, models=MODELS), rules, settings(), Policies())

    def find(model, gpus=1, **serve):
        stated = {"model": model, "context": 4096, "concurrency": 8} | serve
        return sizer.memory(Job.model_validate({"serve": stated}), gpus)

    return find


@pytest.fixture(scope="module")
def parts(sized):
    """The same by part, GiB."""
    return lambda *args, **serve: {
        part.name: part.mb * GIB_PER_MB for part in sized(*args, **serve).parts
    }


def started(parts, start_up):
    """The parts, with a cache of all tokens that were logged: so many times a thousand blocks."""
    requests = 1000
    found = parts(
        start_up.model,
        start_up.gpus,
        bits=start_up.bits,
        kv_bits=start_up.kv_bits,
        context=BLOCK,
        concurrency=requests,
    )
    return found | {"KV cache": found["KV cache"] * start_up.kv_tokens / (requests * BLOCK)}


@pytest.mark.parametrize("start_up", [one for one in START_UPS if one.weights])
def test_weights_are_within_one_percent_of_what_was_loaded(parts, start_up):
    assert started(parts, start_up)["weights"] == pytest.approx(start_up.weights, rel=0.01)


@pytest.mark.parametrize("start_up", [one for one in START_UPS if one.activation])
def test_activations_are_within_a_fifth_of_a_gib_of_the_profiled_peak(parts, start_up):
    expected = pytest.approx(start_up.activation, abs=0.2)
    assert started(parts, start_up)["activations"] == expected


@pytest.mark.parametrize("start_up", [one for one in START_UPS if one.kv_cache])
def test_the_cache_of_all_tokens_that_fitted_is_within_two_percent(parts, start_up):
    assert started(parts, start_up)["KV cache"] == pytest.approx(start_up.kv_cache, rel=0.02)


@pytest.mark.parametrize("start_up", START_UPS)
def test_tokens_that_fit_beside_all_else_are_within_three_percent(parts, sized, start_up):
    found = started(parts, start_up)
    context = sized(start_up.model, start_up.gpus).context_mb * GIB_PER_MB
    room = REQUESTED_GIB - found["weights"] - found["activations"] - context
    tokens = start_up.kv_tokens * room / found["KV cache"]
    assert tokens == pytest.approx(start_up.kv_tokens, rel=0.03)


def test_sliding_layers_fill_groups_of_as_many_layers_as_keep_the_whole_context(parts):
    held = parts("gemma-3-27b", context=BLOCK, concurrency=36560 // BLOCK)
    assert held["KV cache"] == pytest.approx(REQUESTED_GIB - 51.45 - 3.95 - 0.26, rel=0.02)


def test_context_multiplies_the_cache_and_nothing_else(parts):
    short, long = parts("llama-8b", context=4096), parts("llama-8b", context=65536)
    assert long["KV cache"] == pytest.approx(16 * short["KV cache"], rel=0.001)
    assert (long["weights"], long["activations"]) == (short["weights"], short["activations"])


def test_a_longer_context_grows_only_the_layers_that_see_all_of_it(parts):
    at_window = parts("gemma-3-27b", context=1024)["KV cache"]
    beyond = parts("gemma-3-27b", context=2048)["KV cache"]
    whole_layers, held_layers = 10, 70
    assert beyond / at_window == pytest.approx(1 + whole_layers / held_layers, rel=0.005)


def test_fewer_weight_bits_leave_the_cache_and_the_embeddings(parts):
    wide, narrow = parts("llama-8b", bits=16), parts("llama-8b", bits=4)
    assert narrow["KV cache"] == wide["KV cache"]
    assert narrow["weights"] > wide["weights"] / 4 + 1


def test_gpus_beyond_the_kv_heads_save_no_cache(parts):
    four, eight = parts("qwen2.5-7b", 4), parts("qwen2.5-7b", 8)
    assert eight["KV cache"] == four["KV cache"]
    assert eight["weights"] < four["weights"]


def test_a_latent_cache_is_the_same_on_every_gpu(parts):
    assert parts("deepseek-v2-lite", 2)["KV cache"] == parts("deepseek-v2-lite")["KV cache"]


def test_sixteen_gpus_form_two_stages_that_each_keep_half_the_layers(parts):
    eight, sixteen = parts("llama-70b", 8), parts("llama-70b", 16)
    assert sixteen["KV cache"] == pytest.approx(eight["KV cache"] / 2, rel=0.01)
    assert sixteen["weights"] == pytest.approx(eight["weights"] / 2, rel=0.01)


def test_recurrent_state_counts_for_every_sequence(parts):
    few = parts("recurrent-with-state", concurrency=10, context=BLOCK)["KV cache"]
    many = parts("recurrent-with-state", concurrency=100, context=BLOCK)["KV cache"]
    assert many == pytest.approx(10 * few, rel=0.01)
    assert many > 100 * 50 * GIB_PER_MB


def test_a_hybrid_of_unknown_state_has_no_peak(sized):
    assert sized("recurrent") is None


def test_more_requests_than_the_engine_samples_for_by_default_take_more_to_sample(parts):
    usual, many = parts("llama-8b", concurrency=1024), parts("llama-8b", concurrency=2048)
    assert many["activations"] > 1.8 * usual["activations"]


def test_adapters_add_to_the_peak(sized):
    bare = sized("llama-8b").peak_mb
    adapted = sized("llama-8b", adapters={"count": 10, "size_gb": Decimal("0.2")}).peak_mb
    assert adapted - bare == pytest.approx(2000, abs=2)


def test_the_expected_peak_lies_within_its_band_and_below_what_is_needed(sized):
    memory = sized("llama-8b")
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


@pytest.fixture(scope="module")
def placed(catalog, rules, settings):
    """`placed(model, gpu_type, **serve)` gives the candidate there, or the rejections."""
    sizer = Sizer(changed(catalog, models=MODELS), rules, settings(), Policies())

    def find(model, gpu_type, **serve):
        sizing = sizer.size(Job.model_validate({"serve": {"model": model} | serve}))
        candidates = {one.gpu_type: one for one in sizing.candidates}
        refused = [one for one in sizing.rejections if one.gpu_type == gpu_type]
        return candidates.get(gpu_type), refused

    return find


def test_a_count_that_does_not_divide_the_heads_gives_way_or_is_refused(placed):
    found, _ = placed("odd-heads", "l4-24gb", context=131072, concurrency=16)
    assert found is not None
    assert found.gpus == 2
    found, refused = placed("odd-heads", "l4-24gb", context=131072, concurrency=64)
    assert found is None
    assert [one.rule for one in refused] == ["serving/heads-divide"]


def test_ten_kv_heads_are_not_shared_by_four_gpus(placed):
    found, refused = placed("phi-4", "l40s-48gb", context=16384, concurrency=24)
    assert found is None
    assert [one.rule for one in refused] == ["serving/kv-heads-divide"]
