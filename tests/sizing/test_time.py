"""Run time from tokens and the rate of each GPU, and what a deadline does."""

import pytest

from planner.inputs.scenario.job import Job
from planner.inputs.scenario.scenario import Policies
from planner.sizing import Sizer
from planner.sizing.sizer import LENGTH_UNKNOWN
from tests.stated import changed

JOB = {"parameters_b": 8, "method": "lora", "batch": 2, "sequence": 512}


@pytest.fixture
def size(whole_sizer):
    """`size(tune={...})` gives the sizing of a job by the catalog that ships."""
    return lambda **job: whole_sizer.size(Job.model_validate(job))


def rate(tuned):
    """Tokens per second of one GPU, as the trace shows it."""
    step = next(step for step in tuned.trace if step.rule == "time/tokens-per-second")
    return float(step.result.value)


@pytest.mark.parametrize("epochs", [1, 3])
def test_hours_follow_from_tokens_and_the_rate_of_each_gpu(candidate, epochs):
    tuned = candidate("a100-80gb-sxm", tune=JOB | {"dataset_tokens": 10**8, "epochs": epochs})
    assert tuned.gpus == 1
    assert tuned.hours == pytest.approx(epochs * 10**8 * 1.05 / rate(tuned) / 3600)
    assert candidate("a100-80gb-sxm", tune=JOB).hours is None


@pytest.mark.parametrize(
    ("setting", "slower", "faster"),
    [
        ("gradient_checkpointing", "on", "off"),
        ("gradient_checkpointing", "on", "selective"),
        ("loss_kernel", "plain", "fused"),
        ("loss_kernel", "plain", "no-logits"),
        ("precision", "fp32", "bf16"),
        ("layer_kernels", "plain", "fused"),
        ("attention_kernel", "sdpa", "cudnn"),
        ("attention_kernel", "eager", "sdpa"),
        ("method", "full", "lora"),
        ("method", "qlora", "lora"),
    ],
)
def test_settings_change_the_rate(candidate, setting, slower, faster):
    job = {"model": "llama-3.1-8b", "method": "lora", "batch": 1, "sequence": 2048}
    slow, fast = (
        rate(candidate("h200-141gb-sxm", tune=job | {"dataset_tokens": 10**8, setting: value}))
        for value in (slower, faster)
    )
    assert slow < fast


def rate_on(sizer, gpus, **tune):
    job = Job.model_validate({"tune": {"model": "qwen3-32b", "method": "full", "batch": 8} | tune})
    return float(sizer.situation(job, "h100-80gb-sxm", gpus).number("tokens_per_s_per_gpu"))


def test_sums_of_tensor_parallelism_are_hidden_with_megatron_alone(whole_sizer):
    split = {"sequence": 4096, "parallelism": {"tensor": 4}, "layer_kernels": "fused"}
    rates = [rate_on(whole_sizer, 8, **split, sharding=by) for by in ("megatron", "fsdp2")]
    assert rates[0] > 1.05 * rates[1]


def test_the_host_keeps_dtensor_waiting_where_nothing_is_compiled(whole_sizer):
    """64 layers of Qwen3 32B over eight H100 took 1.35 to 2.03 s for 2,048 tokens."""
    split = {"batch": 1, "sequence": 2048, "parallelism": {"tensor": 8}, "sharding": "ddp"}
    seconds = [
        2048 / 8 / rate_on(whole_sizer, 8, **split, layer_kernels=kernels)
        for kernels in ("plain", "fused")
    ]
    assert 1.35 < seconds[0] < 2.03
    assert seconds[1] < 0.5


def test_a_pipeline_waits_for_the_stage_that_computes_the_logits_too(whole_sizer):
    """Llama 3 8B on eight A100 ran at 3,699, 3,307 and 2,690 tokens/s in 2, 4 and 8 stages."""
    job = {"model": "llama-3.1-8b", "sharding": "megatron", "batch": 512, "sequence": 8192}

    def tokens_per_s(stages, **tune):
        split = {"parallelism": {"pipeline": stages}, "gradient_accumulation": 64 * stages}
        return rate_on(whole_sizer, 8, **job | split | {"loss_kernel": "fused"} | tune)

    assert 1.07 < tokens_per_s(2) / tokens_per_s(4) < 1.15
    assert 1.25 < tokens_per_s(2) / tokens_per_s(8) < 1.4
    few_words = {"model": "llama-2-7b", "sequence": 4096}
    assert 1.05 < tokens_per_s(2, **few_words) / tokens_per_s(8, **few_words) < 1.15


def test_scales_that_are_not_quantized_are_unpacked_with_the_weights(whole_sizer):
    job = {"model": "llama-3.1-8b", "method": "qlora", "batch": 4, "sequence": 256}
    once, twice = (
        rate_on(whole_sizer, 1, **job, double_quantization=kind) for kind in (False, True)
    )
    assert once > 1.1 * twice


def test_gradients_of_biases_of_experts_are_summed_row_by_row_unless_kernels_are_fused(whole_sizer):
    """gpt-oss-20b alone has such biases, a full fine-tune alone trains them."""

    def fused_speed(**job):
        job = {"batch": 16, "sequence": 16384, "sharding": "fsdp2"} | job
        plain, fused = (
            rate_on(whole_sizer, 8, **job, expert_kernels=kernels) for kernels in ("plain", "fused")
        )
        return fused / plain

    assert 1.5 < fused_speed(model="gpt-oss-20b") < 3
    assert fused_speed(model="gpt-oss-20b", method="lora") == 1
    assert fused_speed(model="gpt-oss-20b", sharding="megatron") == 1
    assert fused_speed(model="qwen3-30b-a3b") == 1


def test_a_short_pass_of_a_mixture_waits_for_the_launches_of_its_routing(whole_sizer):
    """Each of 48 layers takes 2.5 ms for each of four passes forward, or as long as that."""
    job = {"model": "qwen3-30b-a3b", "layer_kernels": "fused", "sharding": "none", "batch": 1}
    seconds = [
        tokens / rate_on(whole_sizer, 1, **job, sequence=tokens, method="lora")
        for tokens in (256, 512)
    ]
    assert seconds[0] == pytest.approx(seconds[1])
    assert 48 * 4 * 0.0025 < seconds[0] < 48 * 4 * 0.0035


def test_a_mixture_of_experts_computes_with_its_active_parameters(candidate):
    job = {"method": "lora", "dataset_tokens": 10**9}
    mixture = candidate("h200-141gb-sxm", tune=job | {"model": "mixtral-8x7b"})
    step = next(step for step in mixture.trace if step.rule == "time/flops-adapter")
    assert float(step.result.value) == pytest.approx(6 * (12.879925 - 0.131072), rel=1e-4)


def test_a_deadline_that_no_count_meets_is_a_rejection_with_hours_and_limit(size):
    sizing = size(tune=JOB | {"dataset_tokens": 10**12, "deadline_hours": 100})
    refused = {one.gpu_type: one for one in sizing.rejections}
    assert refused["a100-80gb-sxm"].rule == "exclusions/deadline"
    assert "on 64 × a100-80gb-sxm" in refused["a100-80gb-sxm"].message
    assert "100 h allowed" in refused["a100-80gb-sxm"].message


def test_without_a_deadline_a_run_may_take_a_quarter(size):
    sized = size(tune=JOB | {"dataset_tokens": 50 * 10**9}).candidates
    tuned = next(one for one in sized if one.gpu_type == "a100-80gb-sxm")
    assert tuned.decided_by == "deadline"
    assert tuned.hours <= 2190


def test_a_batch_below_the_gpus_is_told(size):
    job = JOB | {"dataset_tokens": 10**9, "gpus": 4}
    assert "time/batch-below-gpus" in "\n".join(size(tune=job).warnings)
    assert "time/batch-below-gpus" not in "\n".join(size(tune=job | {"batch": 4}).warnings)


def test_a_gpu_without_bf16_figure_gives_no_hours_and_a_warning(catalog, rules, settings):
    bare = changed(catalog.gpus["h100-80gb-sxm"], dense_tflops=catalog.gpus["l4-24gb"].dense_tflops)
    poorer = changed(catalog, gpus=catalog.gpus | {"h100-80gb-sxm": bare})
    job = Job.model_validate({"tune": JOB | {"dataset_tokens": 10**9, "deadline_hours": 1}})
    sizing = Sizer(poorer, rules, settings(), Policies()).size(job)
    found = {one.gpu_type: one.hours for one in sizing.candidates}
    assert found["h100-80gb-sxm"] is None
    assert any("h100-80gb-sxm" in warning for warning in sizing.warnings)


def test_a_large_batch_warns_that_activations_are_not_counted(size):
    sizing = size(tune=JOB | {"sequence": 4096, "batch": 8})
    assert "tuning/activations-not-counted" in sizing.warnings[0]
    assert "sequence 4,096 and batch 8" in sizing.warnings[0]


@pytest.mark.parametrize(
    "job",
    [
        JOB,
        JOB | {"batch": 128, "sequence": 8192},
        {"parameters_b": 8, "method": "lora"},
        JOB | {"method": "full", "sequence": 4096, "batch": 8},
    ],
    ids=["published point", "large published point", "size open", "full"],
)
def test_published_points_and_open_sizes_do_not_warn(size, job):
    assert size(tune=job).warnings == (LENGTH_UNKNOWN,)
    assert size(tune=job | {"dataset_tokens": 10**7}).warnings == ()


def test_assumptions_are_listed_with_their_rule(size):
    sizing = size(tune={"model": "llama-3.1-8b", "method": "qlora", "dataset_tokens": 10**9})
    text = "\n".join(sizing.assumptions)
    assert "LoRA rank 16 (tuning/lora-parameters" in text
    assert "(tuning/base-4bit-qlora)" in text
    assert "(time/evaluation)" in text
    assert "(tuning/cpus)" in text


def test_embeddings_that_the_catalog_does_not_tell_apart_are_assumed_to_be_two_matrices(size):
    job = {"method": "lora", "batch": 8, "sequence": 2048}
    silent, stated = (
        "\n".join(size(tune=job | {"model": model}).assumptions)
        for model in ("llama-2-7b", "llama-3.1-8b")
    )
    assert "(memory/shape/embeddings-unknown)" in silent
    assert "memory/shape/embeddings" not in stated
