"""Peak memory of tuning runs: what is published, and what each setting changes.

Measured runs are those of benchmarks/accuracy.
"""

import pytest
from hypothesis import given, strategies

from planner.inputs.load import load_catalog
from planner.inputs.scenario.job import Job
from tests.properties.questions import drawing


@pytest.fixture(scope="module")
def sizer(whole_sizer):
    return whole_sizer


@pytest.fixture(scope="module")
def memory(sizer):
    def peak(gpus, **tune):
        return sizer.memory(Job.model_validate({"tune": {"precision": "bf16"} | tune}), gpus)

    return peak


def test_the_peak_is_the_largest_phase_and_the_context_beside_it(memory):
    told = memory(1, model="llama-3-8b", method="lora", batch=4, sequence=4096)
    phases = {part.name: part.mb for part in told.phases}
    assert len(phases) == 5
    assert told.allocator_peak_mb == max(phases.values()) == phases["forward"]
    assert told.peak_mb == pytest.approx(told.allocator_peak_mb + told.context_mb, abs=2)
    assert told.low_mb < told.peak_mb < told.high_mb
    assert told.needed_mb == pytest.approx(told.peak_mb * 1.08, abs=2)
    assert told.reserved_mb < told.nvidia_smi_mb


BASE = {"model": "llama-3.1-8b", "method": "lora", "batch": 8, "sequence": 2048}
FULL = {"model": "llama-3.1-8b", "method": "full", "batch": 4, "sequence": 512}
LAYERS_DECIDE = BASE | {"loss_kernel": "fused-linear"}
TWICE = {"batch": 8, "gradient_accumulation": 2}
MORE = [
    ({"batch": 16}, BASE, 1),
    ({"sequence": 4096}, BASE, 1),
    ({"adapter_rank": 256}, BASE, 1),
    ({"attention_kernel": "eager", "gradient_checkpointing": "off"}, BASE, 1),
    ({"gradient_checkpointing": "off"}, BASE, 1),
    ({"precision": "bf16-mixed"}, BASE, 1),
    ({"precision": "fp32"}, BASE, 1),
    ({"method": "full"}, BASE, 1),
    ({"precision": "bf16-mixed"}, FULL, 4),
    ({"sharding": "ddp"}, FULL, 4),
    ({"sharding": "zero-2"}, FULL | {"precision": "bf16-mixed"}, 4),
    ({"double_quantization": False}, BASE | {"method": "qlora"}, 1),
    ({"base_bits": 8}, BASE | {"method": "qlora"}, 1),
    ({"loss_kernel": "plain-fp32-logits"}, BASE, 1),
    ({"adapter_units": "shared"}, BASE | {"gradient_accumulation": 2}, 4),
    ({"batch": 8, "gradient_accumulation": 2}, FULL, 4),
    ({"embeddings_trained": True}, BASE, 1),
    ({"embeddings_trained": True}, BASE | {"method": "qlora"}, 4),
    ({"sync_each_batch": False}, FULL | TWICE | {"sharding": "fsdp2"}, 4),
    ({"loss_kernel": "chunked"}, BASE | {"loss_kernel": "fused-linear"}, 1),
    ({"loss_kernel": "compiled"}, BASE | {"loss_kernel": "chunked"}, 1),
    ({"loading": "whole"}, BASE, 8),
    *(
        ({"adapter_dora": True}, LAYERS_DECIDE | {"adapter_targets": targets, **kept}, 1)
        for targets in ("qv", "attention", "mlp", "all-linear")
        for kept in ({}, {"gradient_checkpointing": "off"})
    ),
]
LESS = [
    ({"loss_kernel": "chunked"}, BASE | {"loss_kernel": "fused"}, 1),
    ({"loss_kernel": "compiled"}, BASE | {"loss_kernel": "fused"}, 1),
    ({"loss_kernel": "plain-16bit"}, BASE, 1),
    ({"gradient_checkpointing": "offloaded"}, BASE, 1),
    ({"gradient_checkpointing": "offloaded"}, FULL | {"optimizer_in_backward": True}, 1),
    ({"loss_kernel": "fused"}, BASE, 1),
    ({"loss_kernel": "fused-linear"}, BASE, 1),
    ({"loss_kernel": "no-logits"}, BASE, 1),
    ({"layer_kernels": "fused"}, BASE | {"gradient_checkpointing": "off"}, 1),
    ({"method": "qlora"}, BASE, 1),
    ({"gradient_accumulation": 4}, BASE, 1),
    ({"gradient_checkpointing": "selective"}, BASE | {"gradient_checkpointing": "off"}, 1),
    ({"optimizer": "adamw-fused"}, FULL, 1),
    ({"optimizer": "adamw-8bit"}, FULL, 1),
    ({"optimizer": "paged-adamw-8bit"}, FULL, 1),
    ({"optimizer": "adafactor"}, FULL, 1),
    ({"optimizer_in_backward": True}, FULL, 1),
    ({"optimizer_in_backward": True}, FULL | {"optimizer": "paged-adamw-8bit"}, 4),
    ({"optimizer": "sgd"}, FULL, 1),
    ({"offload": "optimizer"}, FULL, 1),
    ({"offload": "all"}, FULL | {"offload": "optimizer"}, 1),
    ({"sharding": "zero-1"}, FULL | {"sharding": "ddp", "precision": "bf16-mixed"}, 4),
    ({"sharding": "zero-2"}, FULL | {"sharding": "zero-1"}, 4),
    ({"sharding": "zero-3"}, FULL | {"sharding": "zero-2"}, 4),
    ({"adapter_targets": "qv", "adapter_rank": 256}, BASE | {"adapter_rank": 256}, 1),
    ({"adapter_precision": "bf16"}, BASE | {"adapter_rank": 256}, 1),
    ({"adapter_targets": "mlp"}, BASE | {"adapter_rank": 256}, 1),
    ({"adapter_targets": "mlp"}, BASE | {"gradient_checkpointing": "off"}, 1),
    ({"adapter_targets": "mlp", "adapter_dropout": False}, BASE | {"adapter_rank": 256}, 1),
    ({"adapter_targets": "qv"}, BASE | {"adapter_rank": 256, "adapter_targets": "mlp"}, 1),
    ({"adapter_dropout": False}, BASE | {"gradient_checkpointing": "off"}, 1),
    ({"micro_batch": 2, "gradient_accumulation": 4}, BASE, 1),
    ({"sharding": "fsdp2"}, BASE | {"batch": 32, "loss_kernel": "fused-linear"}, 4),
    ({"sharding": "fsdp2"}, BASE | {"precision": "bf16-mixed"}, 4),
    ({"sharding": "fsdp2"}, FULL | TWICE, 4),
    ({"sync_each_batch": True}, FULL | TWICE, 4),
]


@pytest.mark.parametrize(("change", "job", "gpus"), MORE, ids=lambda value: str(value)[:50])
def test_what_asks_for_more_takes_more(memory, change, job, gpus):
    assert memory(gpus, **(job | change)).peak_mb > memory(gpus, **job).peak_mb


@pytest.mark.parametrize(("change", "job", "gpus"), LESS, ids=lambda value: str(value)[:50])
def test_what_saves_memory_takes_less(memory, change, job, gpus):
    assert memory(gpus, **(job | change)).peak_mb < memory(gpus, **job).peak_mb


def test_fsdp2_keeps_no_second_copy_and_no_whole_gradients(memory):
    lora = BASE | {"batch": 64, "loss_kernel": "fused-linear"}
    first, second = (memory(4, **lora, sharding=one) for one in ("fsdp", "fsdp2"))
    copied_mb = 16 * 2048 * 2 * 4096 * (32 - 2) / 1e6
    next_layer_mb = 2 * 218.112128
    assert first.allocator_peak_mb - second.allocator_peak_mb == pytest.approx(
        copied_mb - next_layer_mb, abs=2
    )
    told = [memory(4, **(FULL | TWICE | {"sharding": "fsdp2"} | more)) for more in WAYS_TO_SUM]
    forward_mb = [next(part.mb for part in one.phases if part.name == "forward") for one in told]
    whole_mb = 2 * 8030.261248
    assert forward_mb[0] == forward_mb[1]
    assert forward_mb[2] - forward_mb[0] == pytest.approx(whole_mb * 3 / 4, abs=2)


def test_gpus_that_share_every_sequence_hold_weights_gradients_and_states_once(memory):
    """Qwen3 32B over eight GPUs in 16 bit: 8 of 65.5 GB each, as torchtitan measured 32.8 GB."""
    job = {"model": "qwen3-32b", "method": "full", "batch": 1, "sequence": 2048}
    told = memory(8, **job, sharding="ddp", optimizer="adamw-fused", parallelism={"tensor": 8})
    assert told.allocator_peak_mb == pytest.approx(32_800, rel=0.005)


def test_fsdp_reduces_a_flat_copy_of_a_layers_gradients(memory):
    """Mixtral 8x7B on 32 GPUs: 33.4 GB were measured, a layer of it is 2.9 GB."""
    job = {"model": "mixtral-8x7b", "method": "full", "precision": "bf16-mixed", "batch": 32}
    job |= {"sequence": 1024, "loss_kernel": "plain-kept-logits", "sharding": "fsdp"}
    assert memory(32, **job).allocator_peak_mb == pytest.approx(33_389, rel=0.01)


def test_a_model_that_is_loaded_whole_has_a_floor_that_no_number_of_gpus_lowers(memory):
    many = BASE | {"batch": 256, "sequence": 512, "loading": "whole"}
    floors = {gpus: memory(gpus, **many).allocator_peak_mb for gpus in (64, 128)}
    assert floors[64] == floors[128] > 16_000
    assert memory(128, **(many | {"loading": "sharded"})).allocator_peak_mb < floors[128] / 2


def test_a_step_of_zero_3_takes_what_a_group_of_parameters_does(memory):
    """Its estimators (18 bytes for each parameter) know no groups, and are exact at 3 billion."""
    job = {
        "model": "llama-3.1-70b",
        "method": "full",
        "precision": "bf16-mixed",
        "batch": 64,
        "sequence": 512,
        "loss_kernel": "fused-linear",
        "sharding": "zero-3",
    }
    step_mb = {
        gpus: next(part.mb for part in memory(gpus, **job).phases if part.name == "step")
        for gpus in (8, 16, 32, 128)
    }
    per_gpu = {gpus: 70.553706496 / gpus for gpus in step_mb}
    for gpus, billion in per_gpu.items():
        group = min(1, billion)
        assert step_mb[gpus] == pytest.approx(1000 * (16 * billion + 6 * group), rel=0.001)


def test_weights_on_every_gpu_stay_there_and_those_of_one_gpu_come_layer_by_layer(sizer, memory):
    whole = FULL | {"sharding": "zero-2", "offload": "all", "batch": 8}
    assert not sizer.size(Job.model_validate({"tune": whole})).candidates
    alone = memory(1, **FULL | {"offload": "all", "batch": 1})
    held_mb = 2 * (1050.673152 + (8030.261248 - 1050.673152) / 32)
    assert next(part.mb for part in alone.phases if part.name == "load") == pytest.approx(
        held_mb, abs=2
    )


def test_megatron_holds_six_bytes_of_what_it_splits_and_a_share_of_twelve(memory):
    """Its theoretical_memory_usage.py: 6 + 12 / data_parallel_size bytes per parameter."""
    job = {"model": "qwen2.5-14b", "method": "full", "precision": "bf16-mixed", "batch": 16}
    job |= {"sequence": 512, "sharding": "megatron"}
    for gpus, ways, parts, groups in (
        (8, {"tensor": 4}, 4, 2),
        (16, {"tensor": 4}, 4, 4),
        (8, {"tensor": 4, "pipeline": 2}, 8, 1),
        (16, {"tensor": 4, "context": 2}, 4, 4),
    ):
        told = memory(gpus, **job, parallelism=ways)
        held_mb = 14770.033664 / parts * (6 + 12 / groups)
        step_mb = next(part.mb for part in told.phases if part.name == "step")
        assert step_mb == pytest.approx(held_mb, rel=0.001)


def test_experts_are_shared_out_and_what_is_around_them_is_not(memory):
    """Qwen3-30B-A3B: 128 experts of 3 x 2,048 x 768 in each of 48 layers."""
    job = {"model": "qwen3-30b-a3b", "method": "full", "precision": "bf16-mixed", "batch": 8}
    job |= {"sequence": 512, "sharding": "megatron"}
    experts = 48 * 128 * 3 * 2048 * 768 / 1e6
    rest = 30532.110336 - experts
    told = memory(8, **job, parallelism={"expert": 8})
    step_mb = next(part.mb for part in told.phases if part.name == "step")
    assert step_mb == pytest.approx(6 * (rest + experts / 8) + 12 * (rest + experts) / 8, rel=0.001)


def test_stages_hold_the_inputs_of_all_micro_batches_that_are_under_way(memory):
    """Megatron's theoretical_memory_usage.py: as much as all layers on one GPU, and no more."""
    job = FULL | {"sharding": "megatron", "gradient_checkpointing": "off", "micro_batch": 1}

    def per_token(batch=32, **ways):
        short, long = (
            memory(8, **job | {"batch": batch, "sequence": sequence, "parallelism": ways}).phases
            for sequence in (4096, 8192)
        )
        mb = {part.name: part.mb for part in short}
        return next(part.mb - mb["forward"] for part in long if part.name == "forward")

    held = per_token(pipeline=4)
    assert per_token(pipeline=8) == pytest.approx(held)
    assert per_token(pipeline=4, virtual_pipeline=4) == pytest.approx((1 + 3 / 16) * held, rel=1e-4)
    assert per_token(pipeline=8, batch=4) == pytest.approx(held / 2, rel=1e-4)


def test_sequences_of_a_pass_tell_how_many_passes_a_batch_takes(memory):
    job = FULL | {"sharding": "megatron", "batch": 32}
    stated = memory(8, **job, micro_batch=1, gradient_accumulation=8, parallelism={"tensor": 2})
    assert memory(8, **job, micro_batch=1, parallelism={"tensor": 2}) == stated


def test_a_run_is_a_whole_number_of_the_groups_that_share_a_sequence(sizer):
    tune = FULL | {"sharding": "megatron", "precision": "bf16"}
    for ways, gpus in (({"tensor": 4}, 4), ({"tensor": 2, "pipeline": 6}, 24)):
        job = {"tune": tune | {"parallelism": ways}, "gpu_types": ("h200-141gb-sxm",)}
        sizing = sizer.size(Job.model_validate(job))
        assert {one.gpus for one in sizing.candidates} == {gpus}


WAYS_TO_SUM: tuple[dict[str, object], ...] = (
    {},
    {"sync_each_batch": True},
    {"sync_each_batch": False},
)


def test_a_run_of_fsdp2_that_sums_passes_up_is_told_what_accelerate_does(sizer):
    def told(**more):
        tune = FULL | TWICE | {"sharding": "fsdp2"} | more
        job = Job.model_validate({"tune": tune, "gpu_types": ("a100-80gb-sxm",)})
        return any("gradients-summed-told" in warning for warning in sizer.size(job).warnings)

    assert told()
    assert not told(sync_each_batch=True)


def test_more_gpus_than_sequences_are_told_and_a_refusal_names_the_passes_that_come_nearest(sizer):
    def sized(**tune):
        return sizer.size(
            Job.model_validate({"tune": FULL | tune, "gpu_types": ("h100-80gb-sxm",)})
        )

    assert any("micro-batch-told" in told for told in sized(batch=1).warnings)
    assert not any("micro-batch-told" in told for told in sized(batch=64).warnings)
    assert any("micro-batch-told" in told for told in sized(batch=63).warnings)
    refused = sized(model="llama-3.1-405b", batch=64).rejections
    message = next(one.message for one in refused if one.rule == "capacity/fits")
    gb = float(message.split("still needs ")[1].split(" GB")[0])
    assert gb < 2 * 20 * 405.853388800 / 64  # in 64 passes, whole gradients alone take 812 GB


PAGED = FULL | {"optimizer": "paged-adamw-8bit", "batch": 8, "dataset_tokens": 1e8}


def test_paged_states_are_in_the_peak_and_not_in_the_need(memory):
    paged = memory(1, **PAGED)
    kept = memory(1, **PAGED | {"optimizer": "adamw-8bit"})
    embeddings = 128.256 * 4.096  # in 32 bit, as the Trainer of transformers has it
    states_mb = 2.1 * 8030.261248 + (8 - 2.1) * embeddings
    assert paged.parts[0].mb == pytest.approx(states_mb, abs=1)
    assert paged.peak_mb == kept.peak_mb
    assert paged.nvidia_smi_mb == pytest.approx(kept.nvidia_smi_mb, abs=1)
    assert paged.needed_mb == pytest.approx(1.08 * (kept.peak_mb - states_mb), abs=2)
    assert paged.allocator_peak_mb == pytest.approx(kept.allocator_peak_mb - states_mb, abs=2)


def test_states_that_have_no_room_are_paged_in_every_step(sizer):
    def sized(optimizer):
        tune = PAGED | {"batch": 4, "sharding": "none", "precision": "bf16", "optimizer": optimizer}
        gpu_types = ("l40s-48gb", "h100-80gb-sxm")
        sizing = sizer.size(Job.model_validate({"tune": tune, "gpu_types": gpu_types}))
        return {one.gpu_type: one for one in sizing.candidates}, sizing.warnings

    paged, told = sized("paged-adamw-8bit")
    kept, _ = sized("adamw-8bit")
    assert "l40s-48gb" not in kept
    assert paged["l40s-48gb"].memory.peak_mb == pytest.approx(46068 * 1.048576, abs=1)
    assert next(one for one in told if "time/paging-told" in one).startswith("on l40s-48gb: ")
    steps = 1e8 * 1.05 / (4 * 512)
    travelled_h = steps * 2 * 2.1 * 8.030261248 / 32 / 3600
    in_place_h = next(
        step.result.value
        for step in paged["l40s-48gb"].trace
        if step.result.name == "compute_us_per_token"
    )
    assert paged["l40s-48gb"].hours > travelled_h + in_place_h * 1.05e8 / 1e6 / 3600
    assert paged["h100-80gb-sxm"].hours == kept["h100-80gb-sxm"].hours


def test_an_adapter_has_states_too_small_to_page(memory):
    job = BASE | {"optimizer": "paged-adamw-8bit"}
    assert memory(1, **job) == memory(1, **job | {"optimizer": "adamw-8bit"})


def test_samples_of_varied_length_grow_the_cache_and_not_the_need(memory):
    packed, varied = (memory(1, **BASE, packing=packing) for packing in (True, False))
    assert varied.reserved_mb > 1.2 * packed.reserved_mb
    assert varied.needed_mb == packed.needed_mb


@pytest.mark.parametrize(
    ("method", "alike"), [("full", "bf16-mixed"), ("lora", "bf16"), ("qlora", "bf16")]
)
def test_products_in_8_bit_leave_weights_as_they_are(memory, method, alike):
    job = BASE | {"method": method}
    assert memory(4, **job, precision="fp8") == memory(4, **job, precision=alike)


SHARDED = strategies.sampled_from(["fsdp", "zero-3", "zero-2", "zero-1", "megatron"])
METHODS = strategies.sampled_from(["full", "lora", "qlora", "p-tuning"])
MODELS = strategies.sampled_from(["llama-3.1-8b", "mixtral-8x7b", "phi-2", "qwen3-30b-a3b"])


@drawing(15)
@given(
    method=METHODS,
    model=MODELS,
    batch=strategies.integers(1, 64),
    sequence=strategies.integers(1, 2048),
    rank=strategies.integers(1, 128),
    gpus=strategies.sampled_from([1, 2, 8]),
)
def test_more_of_batch_sequence_or_rank_never_takes_less(
    memory, method, model, batch, sequence, rank, gpus
):
    def peak(**more):
        job = {"batch": batch, "sequence": sequence, "adapter_rank": rank, **more}
        return memory(gpus, model=model, method=method, **job).peak_mb

    least = peak()
    assert peak(batch=batch + 1) >= least
    assert peak(sequence=sequence + 1) >= least
    assert peak(adapter_rank=rank + 1) >= least


@drawing(15)
@given(
    method=METHODS,
    model=MODELS,
    sharding=SHARDED,
    batch=strategies.integers(1, 64),
    gpus=strategies.sampled_from([2, 4, 8, 16]),
)
def test_twice_the_gpus_never_take_more_of_each(memory, method, model, sharding, batch, gpus):
    def peak(count):
        job = {"model": model, "method": method, "batch": batch, "sequence": 1024}
        return memory(count, sharding=sharding, **job).peak_mb

    assert peak(2 * gpus) <= peak(gpus)


@pytest.mark.parametrize("missing", ["batch", "sequence"])
def test_without_batch_or_sequence_there_is_no_peak(memory, missing):
    assert memory(1, **{key: value for key, value in BASE.items() if key != missing}) is None


def test_a_model_of_unknown_shape_has_no_peak(memory):
    assert memory(1, parameters_b=8, method="lora", batch=8, sequence=2048) is None


def test_a_hybrid_is_not_counted_as_a_dense_decoder(sizer, memory):
    catalog, _ = load_catalog()
    hybrids = [name for name, model in catalog.models.items() if model.attention == "hybrid"]
    assert hybrids
    for name in hybrids:
        assert memory(1, model=name, method="lora", batch=8, sequence=2048) is None


def test_what_is_run_where_nothing_is_stated(sizer):
    def peak(**tune):
        job = Job.model_validate({"tune": BASE | tune})
        return sizer.memory(job, 1).peak_mb

    for method, usual in (("full", "bf16-mixed"), ("qlora", "bf16-mixed"), ("lora", "bf16")):
        assert peak(method=method) == peak(method=method, precision=usual)


@pytest.mark.parametrize("model", ["llama-3.1-8b", "mixtral-8x7b"])
def test_adapters_of_attention_and_of_the_block_are_those_of_all_matrices(sizer, model):
    def trained(targets):
        tune = BASE | {"model": model, "adapter_targets": targets}
        return sizer.reasoning(Job.model_validate({"tune": tune})).number("adapter_parameters_b")

    assert trained("attention") + trained("mlp") == trained("all-linear")
