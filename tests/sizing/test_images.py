"""Models that read images: their towers by configuration, in memory, and before the first token."""

import json

import pytest

import planner
from planner.inputs.catalog.modelconfig import read_model_config
from tests.inputs.test_modelconfig import CONFIGS

GPU = "h100-80gb-sxm"
GEMMA, QWEN = (CONFIGS[name] for name in ("Gemma 3 27B", "Qwen2.5-VL 7B"))


def read(tmp_path, config):
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return read_model_config(tmp_path)[1]


def on_gpu(job):
    found = planner.size(job).to_dict()["candidates"]
    return next(one for one in found if one["gpu_type"] == GPU)


def test_a_tower_that_has_no_formula_is_told_and_one_that_contradicts_itself_refused(tmp_path):
    tower = GEMMA["vision_config"]
    unknown = read(tmp_path, {**GEMMA, "vision_config": {**tower, "model_type": "fuyu"}})
    assert unknown.tower_parameters_b is None
    assert "without what reads pictures" in unknown.note
    with pytest.raises(planner.InputError, match=r"vision_config\.patch_size: is missing"):
        read(tmp_path, {**GEMMA, "vision_config": {**tower, "patch_size": None}})


@pytest.mark.parametrize("size_b", [3, 7, 72])
def test_the_catalog_counts_a_tower_as_its_configuration_does(size_b, tmp_path):
    out = {3: 2048, 7: 3584, 72: 8192}[size_b]
    tower = {**QWEN["vision_config"], "out_hidden_size": out}
    counted = read(tmp_path, {**QWEN, "vision_config": tower}).tower_parameters_b
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
