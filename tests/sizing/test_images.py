"""Models that read images: their towers by configuration, in memory, and before the first token."""

from __future__ import annotations

import json
from typing import Any

import pytest

import planner
from planner.inputs.catalog.modelconfig import read_model_config

GPU = "h100-80gb-sxm"
QWEN_2 = {
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": False,
}
QWEN_TOWER = {"depth": 32, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2}
GEMMA = {
    "model_type": "gemma3_text",
    "hidden_size": 5376,
    "intermediate_size": 21504,
    "num_hidden_layers": 62,
    "num_attention_heads": 32,
    "num_key_value_heads": 16,
    "head_dim": 128,
    "sliding_window": 1024,
}
SIGLIP = {"hidden_size": 1152, "intermediate_size": 4304}
CLIP = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "patch_size": 14}
PUBLISHED: dict[
    str, tuple[dict[str, Any], int, int]
] = {  # configuration, parameters of the published files, patches for each token
    "Qwen2-VL 7B": (
        {
            "model_type": "qwen2_vl",
            **QWEN_2,
            "vision_config": {**QWEN_TOWER, "embed_dim": 1280, "mlp_ratio": 4, "hidden_size": 3584},
        },
        8_291_375_616,
        4,
    ),
    "Qwen2.5-VL 7B": (
        {
            "model_type": "qwen2_5_vl",
            **QWEN_2,
            "vision_config": {
                **QWEN_TOWER,
                "hidden_size": 1280,
                "intermediate_size": 3420,
                "out_hidden_size": 3584,
            },
        },
        8_292_166_656,
        4,
    ),
    "Qwen3-VL 8B": (
        {
            "model_type": "qwen3_vl",
            "tie_word_embeddings": False,
            "text_config": {
                "model_type": "qwen3_vl_text",
                "hidden_size": 4096,
                "intermediate_size": 12288,
                "num_hidden_layers": 36,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "vocab_size": 151936,
                "max_position_embeddings": 262144,
            },
            "vision_config": {
                **QWEN_TOWER,
                **SIGLIP,
                "model_type": "qwen3_vl",
                "depth": 27,
                "patch_size": 16,
                "out_hidden_size": 4096,
                "num_position_embeddings": 2304,
                "deepstack_visual_indexes": [8, 16, 24],
            },
        },
        8_767_123_696,
        4,
    ),
    "Gemma 3 27B": (
        {
            "model_type": "gemma3",
            "mm_tokens_per_image": 256,
            "text_config": GEMMA,
            "vision_config": {
                **SIGLIP,
                "model_type": "siglip_vision_model",
                "num_hidden_layers": 27,
                "patch_size": 14,
                "image_size": 896,
            },
        },
        27_432_406_640,
        16,
    ),
    "Mistral Small 3.1": (
        {
            "model_type": "mistral3",
            "spatial_merge_size": 2,
            "text_config": {
                "model_type": "mistral",
                "hidden_size": 5120,
                "intermediate_size": 32768,
                "num_hidden_layers": 40,
                "num_attention_heads": 32,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "vocab_size": 131072,
                "max_position_embeddings": 131072,
            },
            "vision_config": {**CLIP, "model_type": "pixtral", "image_size": 1540},
        },
        24_011_361_280,
        4,
    ),
    "LLaVA 1.5 7B": (
        {
            "model_type": "llava",
            "text_config": {
                "model_type": "llama",
                "hidden_size": 4096,
                "intermediate_size": 11008,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "vocab_size": 32064,
                "max_position_embeddings": 4096,
            },
            "vision_config": {**CLIP, "model_type": "clip_vision_model", "image_size": 336},
        },
        7_063_427_072,
        1,
    ),
}


def read(tmp_path, config):
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return read_model_config(tmp_path)[1]


def on_gpu(job):
    found = planner.size(job).to_dict()["candidates"]
    return next(one for one in found if one["gpu_type"] == GPU)


@pytest.mark.parametrize("name", PUBLISHED)
def test_decoder_and_tower_together_are_the_published_parameters(name, tmp_path):
    config, published, patches = PUBLISHED[name]
    model = read(tmp_path, config)
    assert (model.parameters_b + model.tower_parameters_b) * 10**9 == published
    assert model.patches_per_image_token == patches
    assert model.note is None


def test_a_tower_that_has_no_formula_is_told_and_one_that_contradicts_itself_refused(tmp_path):
    config, _, _ = PUBLISHED["Gemma 3 27B"]
    tower = config["vision_config"]
    unknown = read(tmp_path, {**config, "vision_config": {**tower, "model_type": "fuyu"}})
    assert unknown.tower_parameters_b is None
    assert "without what reads pictures" in unknown.note
    with pytest.raises(planner.InputError, match=r"vision_config\.patch_size: is missing"):
        read(tmp_path, {**config, "vision_config": {**tower, "patch_size": None}})


@pytest.mark.parametrize("size_b", [3, 7, 72])
def test_the_catalog_counts_a_tower_as_its_configuration_does(size_b, tmp_path):
    out = {3: 2048, 7: 3584, 72: 8192}[size_b]
    config, _, _ = PUBLISHED["Qwen2.5-VL 7B"]
    tower = {**config["vision_config"], "out_hidden_size": out}
    counted = read(tmp_path, {**config, "vision_config": tower}).tower_parameters_b
    named = next(
        row for row in planner.catalog("models").rows() if row["id"] == f"qwen2.5-vl-{size_b}b"
    )
    shown = planner.catalog(entry=named["id"]).to_text()
    assert f"{float(counted):.6f}".rstrip("0") in shown


def test_a_tower_takes_memory_where_a_model_is_served_and_where_it_is_tuned():
    serve = {"bits": 16, "context": 4096, "concurrency": 8}
    tune = {"method": "lora", "sequence": 1024, "batch": 1}
    for kind, said in (("serve", serve), ("tune", tune)):
        text, both = (
            on_gpu({kind: {"model": model, **said}})["gpu_memory_mb"]
            for model in ("qwen2.5-7b", "qwen2.5-vl-7b")
        )
        assert both - text == pytest.approx(2 * 676.550144, rel=0.15)


def test_images_delay_the_first_token_by_the_work_of_their_tower_and_small_models_more():
    def first_token_ms(model, image_tokens):
        load = {"requests_per_second": 0.01, "input_tokens": 1500, "output_tokens": 100}
        load["image_tokens"] = image_tokens
        return on_gpu({"serve": {"model": model, "bits": 8, "load": load}})["serving"]["ttft_ms"]

    for model, gpus, tower_b in (
        ("qwen2.5-vl-7b", 1, 0.676550144),
        ("gemma-3-27b", 1, 0.423060336),
    ):
        patches = {"qwen2.5-vl-7b": 4, "gemma-3-27b": 16}[model]
        work_ms = 1024 * patches * 2 * tower_b / (0.68 * 989 * gpus)
        late_ms = first_token_ms(model, 1024) - first_token_ms(model, 0)
        assert late_ms == pytest.approx(work_ms, rel=0.3)


def test_more_tokens_of_images_than_of_the_prompt_are_refused():
    load = {"requests_per_second": 1, "input_tokens": 100, "image_tokens": 256, "output_tokens": 1}
    with pytest.raises(planner.InputError, match="are a part of `input_tokens`"):
        planner.size({"serve": {"model": "gemma-3-27b", "load": load}})
