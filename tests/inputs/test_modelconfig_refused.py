"""What is wrong in a model's configuration is told by key, figure and what is allowed."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.errors import InputError
from planner.inputs.catalog.catalog import Model
from planner.inputs.catalog.modelconfig import parsed_model_config, read_model_config
from planner.inputs.reading.reader import parse_document

LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}
MIXTRAL = LLAMA | {"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}
HYBRID = LLAMA | {
    "model_type": "granitemoehybrid",
    "num_local_experts": 0,
    "mamba_n_heads": 128,
    "mamba_d_head": 64,
    "mamba_n_groups": 1,
    "mamba_d_state": 128,
    "mamba_d_conv": 4,
    "layer_types": ["mamba", "attention"] * 16,
}


def model_of(content: Any) -> Model:
    """Read bytes, or what they hold."""
    raw = content if isinstance(content, bytes) else json.dumps(content, indent=1).encode()
    return parsed_model_config(parse_document(raw, "config.json"), "m")[1]


def refused(content: Any) -> InputError:
    """Read what must be refused."""
    with pytest.raises(InputError) as caught:
        model_of(content)
    return caught.value


NEMOTRON = LLAMA | {
    "model_type": "nemotron_h",
    "mamba_num_heads": 64,
    "mamba_head_dim": 64,
    "n_groups": 8,
    "ssm_state_size": 128,
    "conv_kernel": 4,
}


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in LLAMA.items() if name != key}


MODELS = {"llama": LLAMA, "mixtral": MIXTRAL, "hybrid": HYBRID, "nemotron": NEMOTRON}
REFUSED = yaml.safe_load(
    Path(__file__).with_name("modelconfig_refused.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["told"])
def test_what_is_no_model_that_is_known_is_told_by_key_with_what_is_allowed(
    case: dict[str, Any],
) -> None:
    (finding,) = refused(MODELS[case.get("of", "llama")] | case["changes"]).findings
    assert f"{finding.path}: {finding.message}" == case["told"]
    assert finding.hint == case.get("hint")


def test_a_finding_names_file_line_and_nested_key() -> None:
    config = {"model_type": "mistral3", "text_config": LLAMA | {"num_attention_heads": "32"}}
    (finding,) = refused(config).findings
    assert finding.path == "text_config.num_attention_heads"
    assert finding.headline() == (
        "config.json:8:26: text_config.num_attention_heads: '32' is not a whole number"
    )
    assert finding.hint == "write it without quotes: 32"
    assert finding.source_line == '  "num_attention_heads": "32",'


def test_all_that_is_missing_or_wrong_is_told_at_once() -> None:
    error = refused({"model_type": "llama", "hidden_size": "big", "vocab_size": 0})
    paths = {finding.path for finding in error.findings}
    assert paths == {
        "hidden_size",
        "intermediate_size",
        "max_position_embeddings",
        "num_attention_heads",
        "num_hidden_layers",
        "vocab_size",
    }


def test_the_outer_type_counts_also_where_the_text_part_looks_plain() -> None:
    assert "attend to pictures" in str(refused({"model_type": "mllama", "text_config": LLAMA}))


def test_a_configuration_without_a_type_is_not_guessed() -> None:
    assert "model_type: is missing" in str(refused(without("model_type")))
    assert "diffusion" in str(refused({"_class_name": "StableDiffusionPipeline"}))


@pytest.mark.parametrize("value", [None, 0, False, []])
def test_a_foreign_key_that_says_nothing_is_let_pass(value: Any) -> None:
    config = LLAMA | {"num_local_experts": value, "block_configs": value}
    assert model_of(config).experts is None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the file has no content"),
        (b"[1, 2]", "a mapping (`key: value` lines) is expected"),
        (b'{"model_type": "llama",', "a value is missing here"),
        (b'{"hidden_size": 1, "hidden_size": 2}', "the key 'hidden_size' stands twice"),
        (b'{"hidden_size": ' + b"9" * 5000 + b"}", "a number of 5,000 characters"),
        (b'{"a": ' * 100_000, "nested too deep"),
        (b"\xff\xfe{\x00}\x00", "is written in UTF-16"),
        (b"\x80\x04\x95", "byte 0x80 is not UTF-8"),
    ],
)
def test_what_is_no_configuration_is_refused_as_a_whole(content: bytes, told: str) -> None:
    assert told in str(refused(content))


def test_parameters_beyond_any_model_are_refused() -> None:
    huge = LLAMA | {"hidden_size": 10**7, "num_hidden_layers": 10**4, "intermediate_size": 10**7}
    assert "billion parameters" in str(refused(huge | {"head_dim": 128}))


def test_a_missing_file_and_a_folder_without_one_are_told(tmp_path: Path) -> None:
    for path in (tmp_path / "no.json", tmp_path):
        with pytest.raises(InputError) as caught:
            read_model_config(path)
        assert "no such file" in str(caught.value)
