"""What is wrong in a model's configuration is told by key, figure and what is allowed."""

import json
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (LLAMA | {"hidden_size": "4096"}, "hidden_size: '4096' is not a whole number"),
        (LLAMA | {"hidden_size": True}, "hidden_size: true is not a whole number"),
        (LLAMA | {"hidden_size": 4096.5}, "hidden_size: 4096.5 is not a whole number"),
        (LLAMA | {"hidden_size": [4096]}, "hidden_size: a list is not a whole number"),
        (LLAMA | {"vocab_size": -1}, "vocab_size: -1 is too small, the least is 1"),
        (LLAMA | {"num_hidden_layers": 0}, "num_hidden_layers: 0 is too small, the least is 1"),
        (LLAMA | {"num_hidden_layers": 10**6}, "num_hidden_layers: 1000000 is too large"),
        (LLAMA | {"vocab_size": float("inf")}, "vocab_size: 'Infinity' is not a whole number"),
        (LLAMA | {"num_key_value_heads": 5}, "5 KV heads do not divide 32 attention heads"),
        (LLAMA | {"num_key_value_heads": 64}, "64 KV heads do not divide 32 attention heads"),
        (LLAMA | {"num_key_value_heads": 0}, "num_key_value_heads: 0 is too small"),
        (
            LLAMA | {"num_attention_heads": 33, "num_key_value_heads": 33},
            "33 heads do not divide the hidden size 4096",
        ),
        (LLAMA | {"tie_word_embeddings": "yes"}, "tie_word_embeddings: 'yes' is not true or false"),
        (LLAMA | {"quantization_config": []}, "quantization_config: a list is not an object"),
        (MIXTRAL | {"num_local_experts": ""}, "num_local_experts: '' is not a whole number"),
        (MIXTRAL | {"moe_layer_freq": {}}, "moe_layer_freq: a mapping is not a whole number"),
        (MIXTRAL | {"num_experts_per_tok": 9}, "9 is more than all 8 experts"),
        (MIXTRAL | {"num_experts": 16}, "num_local_experts: 8 contradicts `num_experts`"),
        (
            MIXTRAL | {"mlp_only_layers": ["1"]},
            "mlp_only_layers: is not a list of whole numbers",
        ),
        (HYBRID | {"layer_types": ["mamba"] * 31}, "layer_types: has 31 entries for 32 layers"),
        (HYBRID | {"layer_types": ["conv"] * 32}, "'conv' is a sort of layer without a formula"),
        (HYBRID | {"layer_types": None}, "nothing tells which layers attend"),
        (NEMOTRON | {"hybrid_override_pattern": "M-*" * 10}, "has 30 layers of 32"),
        (
            NEMOTRON | {"hybrid_override_pattern": "M?" * 16},
            "holds other layers than M, *, - and E",
        ),
    ],
)
def test_a_wrong_figure_is_told_by_key_and_what_is_allowed(config: Any, told: str) -> None:
    error = refused(config)
    assert told in str(error)
    assert len(error.findings) == 1


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


@pytest.mark.parametrize(
    ("model_type", "told"),
    [
        ("t5", "has an encoder and a decoder"),
        ("whisper", "has an encoder and a decoder"),
        ("distilbert", "is an encoder of a kind of its own"),
        ("mamba2", "keeps no keys and values"),
        ("siglip", "sees pictures and writes no text"),
        ("mllama", "attend to pictures"),
        ("gemma4_text", "keeps the past in a way of its own"),
        ("nemotron-nas", "has layers that differ from one another"),
        ("something_new", "'something_new' has no formula here"),
        ("Llama", "did you mean 'llama'?"),
    ],
)
def test_a_type_without_a_formula_is_refused_and_never_read_as_a_dense_decoder(
    model_type: str, told: str
) -> None:
    error = refused(LLAMA | {"model_type": model_type})
    (finding,) = error.findings
    assert finding.path == "model_type"
    assert told in f"{finding.message} {finding.hint}"


def test_the_outer_type_counts_also_where_the_text_part_looks_plain() -> None:
    assert "attend to pictures" in str(refused({"model_type": "mllama", "text_config": LLAMA}))


def test_a_configuration_without_a_type_is_not_guessed() -> None:
    assert "model_type: is missing" in str(refused(without("model_type")))
    assert "diffusion" in str(refused({"_class_name": "StableDiffusionPipeline"}))


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("num_local_experts", 8, "a mixture of experts, which llama is without"),
        ("kv_lora_rank", 512, "latent attention, which llama is without"),
        ("mamba_d_state", 128, "Mamba layers, which llama is without"),
        ("linear_num_value_heads", 32, "linear attention, which llama is without"),
        ("conv_L_cache", 3, "short convolutions, which llama is without"),
        ("is_encoder_decoder", True, "has an encoder and a decoder"),
        ("cross_attention_layers", [3, 8], "attend to pictures"),
        ("block_configs", [{}], "differ from one another"),
        ("num_kv_shared_layers", 10, "keeps the past in a way of its own"),
    ],
)
def test_a_key_that_makes_a_model_another_one_is_refused(key: str, value: Any, told: str) -> None:
    error = refused(LLAMA | {key: value})
    assert [finding.path for finding in error.findings] == [key]
    assert told in str(error)


@pytest.mark.parametrize("value", [None, 0, False, []])
def test_a_foreign_key_that_says_nothing_is_let_pass(value: Any) -> None:
    config = LLAMA | {"num_local_experts": value, "block_configs": value}
    assert model_of(config).experts is None


@pytest.mark.parametrize(
    ("block", "told"),
    [
        (
            {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": True},
            "contradicts",
        ),
        ({"quant_method": "bitsandbytes"}, "must be true"),
        ({"quant_method": "gptq", "bits": "4"}, "quantization_config.bits: '4' is not"),
        ({"quant_method": "gptq"}, "quantization_config.bits: is missing"),
        ({"quant_method": "gptq", "bits": 64}, "64 is too large, the most is 16"),
        ({"quant_method": "something"}, "'something' tells no width of the weights"),
        ({"quant_method": "modelopt", "quant_algo": "MIXED"}, "'MIXED' tells no width"),
        ({"quant_method": "compressed-tensors"}, "config_groups: tells no width"),
    ],
)
def test_a_quantization_that_tells_no_width_or_two_is_refused(block: Any, told: str) -> None:
    error = refused(LLAMA | {"quantization_config": block})
    assert told in str(error)
    assert len(error.findings) == 1


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


def test_a_byte_order_mark_is_let_pass() -> None:
    assert model_of(b"\xef\xbb\xbf" + json.dumps(LLAMA).encode()).layers == 32


def test_a_figure_of_many_digits_in_the_exponent_is_refused_at_once() -> None:
    raw = json.dumps(LLAMA).replace("4096", "1e999999").encode()
    assert "'1e999999' is not a whole number" in str(refused(raw))


def test_parameters_beyond_any_model_are_refused() -> None:
    huge = LLAMA | {"hidden_size": 10**7, "num_hidden_layers": 10**4, "intermediate_size": 10**7}
    assert "billion parameters" in str(refused(huge | {"head_dim": 128}))


def test_a_missing_file_and_a_folder_without_one_are_told(tmp_path: Path) -> None:
    for path in (tmp_path / "no.json", tmp_path):
        with pytest.raises(InputError) as caught:
            read_model_config(path)
        assert "no such file" in str(caught.value)
