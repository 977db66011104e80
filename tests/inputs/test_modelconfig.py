"""Configurations of real models give the shape and the parameters that their publishers state.

The files themselves were not read for this.
"""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.inputs.catalog.catalog import Model
from planner.inputs.catalog.modelconfig import parsed_model_config, read_model_config
from planner.inputs.reading.reader import parse_document
from tests.stated import changed

PUBLISHED = yaml.safe_load(Path(__file__).with_name("configs.yaml").read_text(encoding="utf-8"))
CONFIGS = {name: stated["config"] for name, stated in PUBLISHED.items()}
COUNTED = [name for name, stated in PUBLISHED.items() if "parameters" in stated]
READ = yaml.safe_load(Path(__file__).with_name("configs_read.yaml").read_text(encoding="utf-8"))
NEARLY = {"DeepSeek-V3": 671_026_419_200, "gpt-oss-20b": 20_914_757_184}
"""Published counts that also hold routing biases or attention sinks, a few thousand numbers."""


def read(config: Any) -> Model:
    return parsed_model_config(parse_document(json.dumps(config), "config.json"), "some-model")[1]


def shape(config: Any) -> dict[str, Any]:
    """The model, but for the hash of the file that it was read from."""
    return read(config).model_dump(exclude={"source"})


@pytest.mark.parametrize("name", COUNTED)
def test_the_parameters_of_a_real_configuration_are_counted_to_the_last_one(name: str) -> None:
    """Those of decoder or encoder, and of the tower that reads pictures."""
    stated = PUBLISHED[name]
    model = read(stated["config"])
    counted = model.parameters_b + (model.tower_parameters_b or 0)
    assert counted == Decimal(stated["parameters"]).scaleb(-9)
    assert model.patches_per_image_token == stated.get("patches")
    assert model.encoder is stated.get("encoder", False)
    assert model.note == stated.get("note")


@pytest.mark.parametrize("name", NEARLY)
def test_what_is_not_counted_is_less_than_a_part_in_a_million(name: str) -> None:
    counted = read(CONFIGS[name]).parameters_b * 10**9
    assert 0 < NEARLY[name] - counted < NEARLY[name] / 10**6


@pytest.mark.parametrize(
    ("name", "billion"),
    [("Nemotron-H-56B", 56), ("Qwen3-Next-80B-A3B", 80), ("Llama-4-Scout", 108)],
)
def test_what_is_published_in_billions_is_counted_so(name: str, billion: int) -> None:
    assert abs(read(CONFIGS[name]).parameters_b / billion - 1) < Decimal("0.01")


@pytest.mark.parametrize(
    ("name", "active_b"),
    [
        ("Mixtral-8x7B-v0.1", "12.88"),
        ("Qwen3-30B-A3B", "3.35"),
        ("Qwen1.5-MoE-A2.7B", "2.69"),
        ("DeepSeek-V3", "37.55"),
        ("granite-3.1-3b-a800m", "0.88"),
        ("Jamba-v0.1", "12.11"),
        ("LFM2-8B-A1B", "1.56"),
    ],
)
def test_a_mixture_uses_fewer_parameters_per_token(name: str, active_b: str) -> None:
    active = read(CONFIGS[name]).active_parameters_b
    assert active is not None
    assert round(active, 2) == Decimal(active_b)


@pytest.mark.parametrize("case", READ)
def test_a_configuration_is_read_as(case: str) -> None:
    stated = READ[case]
    config = CONFIGS[stated["of"]]
    other = config | stated.get("with", {})
    if "alike" in stated:
        assert shape(other) == shape(config)
        return
    model, gives = read(other), stated["gives"]
    found = {key: getattr(model, key) for key in gives}
    assert found == {
        key: Decimal(str(value)) if isinstance(value, float) else value
        for key, value in gives.items()
    }


def test_layers_may_be_told_one_by_one_in_words() -> None:
    words = {"M": "mamba", "*": "attention", "-": "mlp"}
    nemotron = CONFIGS["Nemotron-H-56B"]
    pattern = nemotron["hybrid_override_pattern"]
    listed = nemotron | {
        "hybrid_override_pattern": None,
        "layers_block_type": [words[letter] for letter in pattern],
    }
    assert shape(listed) == shape(nemotron)
    assert shape(listed | {"num_hidden_layers": None}) == shape(nemotron)


def test_the_text_part_of_a_model_that_sees_is_read_with_what_its_class_leaves_out() -> None:
    config = {
        "model_type": "gemma3",
        "text_config": {
            "model_type": "gemma3_text",
            "num_hidden_layers": 34,
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "sliding_window": 1024,
        },
        "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
    }
    model = read(config)
    assert (model.heads, model.kv_heads, model.head_dim, model.vocab) == (8, 4, 256, 262208)
    assert (model.sliding_layers, model.tied_embeddings) == (29, True)
    assert model.parameters_b == Decimal("3.880263168")
    assert "without what reads pictures" in str(model.note)


def test_embeddings_of_a_text_part_are_tied_as_the_outer_configuration_says() -> None:
    outer = {"model_type": "qwen3_vl", "tie_word_embeddings": True}
    text = CONFIGS["Qwen3-8B"] | {"model_type": "qwen3_vl_text", "tie_word_embeddings": None}
    assert read(outer | {"text_config": text}).tied_embeddings is True


def test_a_model_is_called_by_its_folder_and_names_the_file_it_was_read_from(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "Our Model"
    folder.mkdir()
    content = json.dumps(CONFIGS["Llama-3.1-8B"])
    (folder / "config.json").write_text(content, "utf-8")
    for path in (folder, folder / "config.json"):
        name, model = read_model_config(path)
        assert name == "our-model"
        assert model.basis == "derived"
        assert "sha256" in model.source
        assert str(tmp_path) not in model.model_dump_json()


def test_figures_that_nobody_reads_and_remote_code_change_nothing() -> None:
    config = CONFIGS["Llama-3.1-8B"]
    extra = {
        "auto_map": {"AutoConfig": "evil.Config"},
        "rope_scaling": {"rope_type": "default", "limit": float("inf")},
        "id2label": {str(n): f"LABEL_{n}" for n in range(1000)},
    }
    plain, loaded = read(config), read(config | extra)
    assert changed(loaded, source=plain.source) == plain
