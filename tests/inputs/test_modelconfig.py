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
NEARLY = {"DeepSeek-V3": 671_026_419_200, "gpt-oss-20b": 20_914_757_184}
"""Published counts that also hold routing biases or attention sinks, a few thousand numbers."""
# Nvidia and Qwen publish the parameters of these in billions alone.
NEMOTRON_H_56B, QWEN3_NEXT = CONFIGS["Nemotron-H-56B"], CONFIGS["Qwen3-Next-80B-A3B"]


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


@pytest.mark.parametrize(
    ("config", "published_b"), [(NEMOTRON_H_56B, Decimal(56)), (QWEN3_NEXT, Decimal(80))]
)
def test_hybrids_have_about_the_size_in_their_name(config: Any, published_b: Decimal) -> None:
    assert abs(read(config).parameters_b / published_b - 1) < Decimal("0.01")


def test_dense_layers_are_found_in_every_spelling() -> None:
    qwen = CONFIGS["Qwen3-30B-A3B"]
    assert read(qwen | {"mlp_only_layers": [0, 1]}).dense_layers == 2
    assert read(qwen | {"decoder_sparse_step": 2}).dense_layers == 24
    deepseek = CONFIGS["DeepSeek-V3"]
    freq = {"moe_layer_freq": [0, 0] + [1] * 59, "first_k_dense_replace": None}
    assert read(deepseek | freq).dense_layers == 2
    assert read(CONFIGS["Jamba-v0.1"]).dense_layers == 16


def test_latent_attention_caches_the_latent_and_the_rotary_key() -> None:
    model = read(CONFIGS["DeepSeek-V3"])
    assert (model.attention, model.kv_latent_dim, model.head_dim) == ("mla", 512 + 64, 128 + 64)
    indexed = CONFIGS["DeepSeek-V3"] | {
        "model_type": "deepseek_v32",
        "index_n_heads": 64,
        "index_head_dim": 128,
    }
    assert read(indexed).kv_latent_dim == 512 + 64 + 128


@pytest.mark.parametrize(
    ("name", "window", "sliding"),
    [
        ("Mistral-7B-v0.1", 4096, 32),
        ("gemma-2-9b", 4096, 21),
        ("gemma-3-1b", 512, 22),
        ("gpt-oss-20b", 128, 12),
        ("Qwen2.5-7B", None, 0),
        ("Mixtral-8x7B-v0.1", None, 0),
        ("Llama-3.1-8B", None, 0),
    ],
)
def test_the_layers_that_slide_are_counted(name: str, window: int | None, sliding: int) -> None:
    model = read(CONFIGS[name])
    assert (model.sliding_window, model.sliding_layers) == (window, sliding)
    assert model.whole_context_layers == model.layers - sliding


def test_norms_of_heads_and_clamped_gates_are_known_by_the_type() -> None:
    normed = {"gemma-3-1b": True, "Qwen2.5-7B": False, "gpt-oss-20b": False}
    assert {name: read(CONFIGS[name]).normed_heads for name in normed} == normed
    clamped = {"gpt-oss-20b": True, "Mixtral-8x7B-v0.1": False}
    assert {name: read(CONFIGS[name]).clamped_gate for name in clamped} == clamped


def test_a_window_as_wide_as_the_context_is_none() -> None:
    config = CONFIGS["Phi-3-mini-4k"]
    assert read(config | {"sliding_window": 4096}).sliding_layers == 0
    assert read(config).sliding_layers == 32


def test_qwen_slides_its_later_layers_where_it_is_told_to() -> None:
    told = {"use_sliding_window": True, "sliding_window": 4096, "max_window_layers": 20}
    assert read(CONFIGS["Qwen2.5-7B"] | told).sliding_layers == 8


def test_a_short_convolution_keeps_its_last_inputs_alone() -> None:
    config = CONFIGS["LFM2-1.2B"]
    model = read(config)
    assert (model.attention, model.kv_layers, model.layers) == ("hybrid", 6, 16)
    assert model.state_mb_per_sequence == Decimal(10 * 2 * 2048 * 2).scaleb(-6)
    named = ["full_attention" if n in config["full_attn_idxs"] else "conv" for n in range(16)]
    assert shape(config | {"layer_types": named, "full_attn_idxs": None}) == shape(config)


def test_the_block_of_lfm2_is_two_thirds_as_wide_as_stated_unless_it_says_otherwise() -> None:
    config = CONFIGS["LFM2-1.2B"]
    assert read(config).intermediate == 8192
    assert read(config | {"block_ff_dim": 10240}).intermediate == 6912, "in whole 256"
    assert read(config | {"block_auto_adjust_ff_dim": False}).intermediate == 12288


def test_lfm2_says_in_a_key_of_its_own_that_its_embeddings_are_one_matrix() -> None:
    config = CONFIGS["LFM2-1.2B"]
    assert read(config).tied_embeddings
    assert not read(config | {"tie_embedding": False}).tied_embeddings


def test_a_hybrid_keeps_keys_and_values_in_few_layers_and_a_state_in_the_others() -> None:
    granite = read(CONFIGS["granite-4.0-h-tiny"])
    assert (granite.attention, granite.kv_layers, granite.layers) == ("hybrid", 4, 40)
    state = 36 * 2 * (48 * 64 * 128 + 3 * (48 * 64 + 2 * 128))
    assert granite.state_mb_per_sequence == Decimal(state).scaleb(-6)
    assert read(NEMOTRON_H_56B).kv_layers == 10
    assert read(QWEN3_NEXT).kv_layers == 12
    assert read(CONFIGS["Jamba-v0.1"]).kv_layers == 4


def test_layers_may_be_told_one_by_one_in_words() -> None:
    words = {"M": "mamba", "*": "attention", "-": "mlp"}
    pattern = NEMOTRON_H_56B["hybrid_override_pattern"]
    listed = NEMOTRON_H_56B | {
        "hybrid_override_pattern": None,
        "layers_block_type": [words[letter] for letter in pattern],
    }
    assert shape(listed) == shape(NEMOTRON_H_56B)
    assert shape(listed | {"num_hidden_layers": None}) == shape(NEMOTRON_H_56B)


def test_a_hybrid_without_experts_has_the_block_of_its_shared_expert() -> None:
    granite = CONFIGS["granite-4.0-h-tiny"]
    assert shape(granite | {"mamba_d_head": "auto"}) == shape(granite)
    dense_one = granite | {"num_local_experts": 0, "num_experts_per_tok": 0}
    model = read(dense_one | {"shared_intermediate_size": 8192})
    assert (model.experts, model.intermediate) == (None, 8192)


def test_llama_4_attends_to_the_whole_context_in_every_fourth_layer_or_where_it_says_so() -> None:
    scout = CONFIGS["Llama-4-Scout"]
    assert read(scout).sliding_layers == 36
    every_second = scout | {"no_rope_layers": [1, 0] * 24}
    assert read(every_second).sliding_layers == 24
    assert read(scout).parameters_b.to_integral_value() == 108


def test_a_state_kept_in_32_bit_takes_twice_the_room() -> None:
    config = NEMOTRON_H_56B | {"mamba_ssm_cache_dtype": "float32"}
    half, whole = read(NEMOTRON_H_56B), read(config)
    assert half.state_mb_per_sequence is not None
    assert whole.state_mb_per_sequence is not None
    assert Decimal("1.9") < whole.state_mb_per_sequence / half.state_mb_per_sequence < 2


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


def test_embeddings_are_tied_as_the_file_says_or_as_the_class_does() -> None:
    gemma = CONFIGS["gemma-2-9b"]
    assert read(gemma).tied_embeddings is True
    assert read(gemma | {"tie_word_embeddings": False}).tied_embeddings is False
    outer = {"model_type": "qwen3_vl", "tie_word_embeddings": True}
    text = CONFIGS["Qwen3-8B"] | {"model_type": "qwen3_vl_text", "tie_word_embeddings": None}
    assert read(outer | {"text_config": text}).tied_embeddings is True


@pytest.mark.parametrize(
    ("block", "bits"),
    [
        ({"quant_method": "gptq", "bits": 4}, 4),
        ({"quant_method": "awq", "bits": 8}, 8),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8),
        ({"quant_method": "fp8"}, 8),
        ({"quant_method": "fbgemm_fp8"}, 8),
        ({"quant_method": "mxfp4"}, 4),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4),
        ({"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}, 8),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "group_0": {"weights": {"num_bits": 4}},
                    "group_1": {"weights": {"num_bits": 8}},
                },
            },
            8,
        ),
    ],
)
def test_the_width_of_quantized_weights_is_read(block: Any, bits: int) -> None:
    config = CONFIGS["Llama-3.1-8B"]
    assert read(config).native_bits is None
    quantized = read(config | {"quantization_config": block})
    assert quantized.native_bits == bits
    assert quantized.parameters_b == read(config).parameters_b


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


@pytest.mark.parametrize(
    ("scaling", "tokens"),
    [
        ({"type": "yarn", "factor": 4.0}, 524288),
        ({"factor": 8.0, "original_max_position_embeddings": 8192}, None),
        ({"factor": 8.0, "original_max_position_embeddings": 32768}, 262144),
        ({"factor": 1e12}, 10**9),
        ({"factor": "8"}, None),
        ("yarn", None),
        (None, None),
    ],
)
def test_a_declared_rope_scaling_stretches_the_context(scaling: Any, tokens: int | None) -> None:
    config = CONFIGS["Llama-3.1-8B"]
    model = read(config | {"rope_scaling": scaling})
    assert (model.max_context, model.scaled_context) == (131072, tokens)


def test_figures_that_nobody_reads_and_remote_code_change_nothing() -> None:
    config = CONFIGS["Llama-3.1-8B"]
    extra = {
        "auto_map": {"AutoConfig": "evil.Config"},
        "rope_scaling": {"rope_type": "default", "limit": float("inf")},
        "id2label": {str(n): f"LABEL_{n}" for n in range(1000)},
    }
    plain, loaded = read(config), read(config | extra)
    assert changed(loaded, source=plain.source) == plain
