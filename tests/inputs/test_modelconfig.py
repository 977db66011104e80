"""Configurations of real models give the shape and the parameters that their publishers state.

Each configuration is written out with the keys that decide, as in the model's `config.json` on
Hugging Face. Parameters are the counts commonly given for the model's weight files, which were not
read for this.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from planner.inputs.catalog.modelconfig import parsed_model_config, read_model_config
from planner.inputs.reading.reader import parse_document

if TYPE_CHECKING:
    from pathlib import Path

    from planner.inputs.catalog.catalog import Model


def dense(model_type: str, layers: int, hidden: int, wide: int, heads: int, **more: Any) -> Any:
    return {
        "model_type": model_type,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "intermediate_size": wide,
        "num_attention_heads": heads,
        **more,
    }


def vocabulary(vocab: int, context: int, *, tied: bool | None = None) -> Any:
    sizes = {"vocab_size": vocab, "max_position_embeddings": context}
    return sizes if tied is None else {**sizes, "tie_word_embeddings": tied}


GRANITE_4_MAMBA = {
    "mamba_d_head": 64,
    "mamba_d_state": 128,
    "mamba_n_groups": 1,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "layer_types": ["attention" if n in (5, 15, 25, 35) else "mamba" for n in range(40)],
}

CONFIGS: dict[str, tuple[Any, int]] = {
    "Llama-3.1-8B": (
        dense("llama", 32, 4096, 14336, 32, num_key_value_heads=8)
        | vocabulary(128256, 131072, tied=False),
        8_030_261_248,
    ),
    "Llama-3.1-405B": (
        dense("llama", 126, 16384, 53248, 128, num_key_value_heads=8)
        | vocabulary(128256, 131072, tied=False),
        405_853_388_800,
    ),
    "Mistral-7B-v0.1": (
        dense("mistral", 32, 4096, 14336, 32, num_key_value_heads=8, sliding_window=4096)
        | vocabulary(32000, 32768, tied=False),
        7_241_732_096,
    ),
    "Mixtral-8x7B-v0.1": (
        dense("mixtral", 32, 4096, 14336, 32, num_key_value_heads=8, sliding_window=None)
        | {"num_local_experts": 8, "num_experts_per_tok": 2}
        | vocabulary(32000, 32768, tied=False),
        46_702_792_704,
    ),
    "Qwen2.5-7B": (
        dense("qwen2", 28, 3584, 18944, 28, num_key_value_heads=4)
        | {"use_sliding_window": False, "sliding_window": 131072, "max_window_layers": 28}
        | vocabulary(152064, 131072, tied=False),
        7_615_616_512,
    ),
    "Qwen3-8B": (
        dense("qwen3", 36, 4096, 12288, 32, num_key_value_heads=8, head_dim=128)
        | {"attention_bias": False, "use_sliding_window": False, "max_window_layers": 36}
        | vocabulary(151936, 40960, tied=False),
        8_190_735_360,
    ),
    "Qwen3-30B-A3B": (
        dense("qwen3_moe", 48, 2048, 6144, 32, num_key_value_heads=4, head_dim=128)
        | {"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768}
        | {"decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": True}
        | vocabulary(151936, 40960, tied=False),
        30_532_122_624,
    ),
    "Qwen1.5-MoE-A2.7B": (
        dense("qwen2_moe", 24, 2048, 5632, 16, num_key_value_heads=16)
        | {"num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408}
        | {"shared_expert_intermediate_size": 5632, "decoder_sparse_step": 1}
        | vocabulary(151936, 8192, tied=False),
        14_315_784_192,
    ),
    "gemma-2-9b": (
        dense("gemma2", 42, 3584, 14336, 16, num_key_value_heads=8, head_dim=256)
        | {"sliding_window": 4096}
        | vocabulary(256000, 8192),
        9_241_705_984,
    ),
    "gemma-3-1b": (
        dense("gemma3_text", 26, 1152, 6912, 4, num_key_value_heads=1, head_dim=256)
        | {"sliding_window": 512, "sliding_window_pattern": 6}
        | vocabulary(262144, 32768),
        999_885_952,
    ),
    "phi-2": (
        dense("phi", 32, 2560, 10240, 32, num_key_value_heads=32)
        | vocabulary(51200, 2048, tied=False),
        2_779_683_840,
    ),
    "Phi-3-mini-4k": (
        dense("phi3", 32, 3072, 8192, 32, num_key_value_heads=32, sliding_window=2047)
        | vocabulary(32064, 4096, tied=False),
        3_821_079_552,
    ),
    "granite-3.1-8b": (
        dense("granite", 40, 4096, 12800, 32, num_key_value_heads=8)
        | vocabulary(49155, 131072, tied=True),
        8_170_848_256,
    ),
    "granite-3.1-3b-a800m": (
        dense("granitemoe", 32, 1536, 512, 24, num_key_value_heads=8)
        | {"num_local_experts": 40, "num_experts_per_tok": 8}
        | vocabulary(49155, 131072, tied=True),
        3_298_793_472,
    ),
    "granite-4.0-h-tiny": (
        dense("granitemoehybrid", 40, 1536, 512, 12, num_key_value_heads=4)
        | {"num_local_experts": 64, "num_experts_per_tok": 6, "shared_intermediate_size": 1024}
        | {"mamba_n_heads": 48}
        | GRANITE_4_MAMBA
        | vocabulary(100352, 131072, tied=True),
        6_939_037_248,
    ),
    "DeepSeek-V2-Lite": (
        dense("deepseek_v2", 27, 2048, 10944, 16, num_key_value_heads=16)
        | {"n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6}
        | {"moe_intermediate_size": 1408, "first_k_dense_replace": 1, "moe_layer_freq": 1}
        | {"kv_lora_rank": 512, "q_lora_rank": None, "qk_rope_head_dim": 64}
        | {"qk_nope_head_dim": 128, "v_head_dim": 128}
        | vocabulary(102400, 163840, tied=False),
        15_706_484_224,
    ),
    "DeepSeek-V3": (
        dense("deepseek_v3", 61, 7168, 18432, 128, num_key_value_heads=128)
        | {"n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8}
        | {"moe_intermediate_size": 2048, "first_k_dense_replace": 3, "moe_layer_freq": 1}
        | {"kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64}
        | {"qk_nope_head_dim": 128, "v_head_dim": 128, "num_nextn_predict_layers": 1}
        | {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
        | vocabulary(129280, 163840, tied=False),
        671_026_404_352,
    ),
    "gpt-oss-20b": (
        dense("gpt_oss", 24, 2880, 2880, 64, num_key_value_heads=8, head_dim=64)
        | {"num_local_experts": 32, "num_experts_per_tok": 4, "attention_bias": True}
        | {"sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 12}
        | {"quantization_config": {"quant_method": "mxfp4"}}
        | vocabulary(201088, 131072, tied=False),
        20_914_755_648,
    ),
    "falcon-7b": (
        {"model_type": "falcon", "num_hidden_layers": 32, "hidden_size": 4544}
        | {"num_attention_heads": 71, "multi_query": True, "new_decoder_architecture": False}
        | {"bias": False, "vocab_size": 65024},
        6_921_720_704,
    ),
    "starcoder2-7b": (
        dense("starcoder2", 32, 4608, 18432, 36, num_key_value_heads=4)
        | {"use_bias": True, "sliding_window": 4096}
        | vocabulary(49152, 16384),
        7_173_923_840,
    ),
    "starcoder": (
        {"model_type": "gpt_bigcode", "n_layer": 40, "n_embd": 6144, "n_head": 48}
        | {"n_inner": 24576, "n_positions": 8192, "multi_query": True, "vocab_size": 49152},
        15_517_456_384,
    ),
    "pythia-6.9b": (
        dense("gpt_neox", 32, 4096, 16384, 32) | vocabulary(50432, 2048, tied=False),
        6_857_302_016,
    ),
    "gpt2": (
        {"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12}
        | {"n_positions": 1024, "vocab_size": 50257},
        124_439_808,
    ),
    "Jamba-v0.1": (
        dense("jamba", 32, 4096, 14336, 32, num_key_value_heads=8)
        | {"num_experts": 16, "num_experts_per_tok": 2}
        | {"expert_layer_period": 2, "expert_layer_offset": 1}
        | {"attn_layer_period": 8, "attn_layer_offset": 4}
        | {"mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 256}
        | vocabulary(65536, 262144, tied=False),
        51_570_323_328,
    ),
    "LFM2-1.2B": (
        {"model_type": "lfm2", "num_hidden_layers": 16, "hidden_size": 2048}
        | {"block_ff_dim": 12288, "block_auto_adjust_ff_dim": True, "block_multiple_of": 256}
        | {"block_ffn_dim_multiplier": 1.0, "conv_L_cache": 3, "conv_bias": False}
        | {"num_attention_heads": 32, "num_key_value_heads": 8}
        | {"full_attn_idxs": [2, 5, 8, 10, 12, 14]}
        | vocabulary(65536, 128000),
        1_170_340_608,
    ),
    "LFM2-8B-A1B": (
        dense("lfm2_moe", 24, 2048, 7168, 32, num_key_value_heads=8, conv_L_cache=3)
        | {"num_experts": 32, "num_experts_per_tok": 4, "moe_intermediate_size": 1792}
        | {"num_dense_layers": 2, "use_expert_bias": True}
        | {
            "layer_types": [
                "full_attention" if n in (2, 6, 10, 14, 18, 21) else "conv" for n in range(24)
            ]
        }
        | vocabulary(65536, 128000),
        8_339_929_856,
    ),
    "c4ai-command-r-v01": (
        dense("cohere", 40, 8192, 22528, 64, num_key_value_heads=64) | vocabulary(256000, 131072),
        34_980_831_232,
    ),
}

NEARLY = {"DeepSeek-V3": 671_026_419_200, "gpt-oss-20b": 20_914_757_184}
"""Published counts that also hold routing biases or attention sinks, a few thousand numbers."""

# Nvidia publishes these in billions alone.
NEMOTRON_H_56B = (
    dense("nemotron_h", 118, 8192, 32768, 64, num_key_value_heads=8, attention_head_dim=128)
    | {"mamba_num_heads": 256, "mamba_head_dim": 64, "n_groups": 8, "ssm_state_size": 256}
    | {"conv_kernel": 4, "time_step_limit": [0.0, float("inf")]}
    | {"hybrid_override_pattern": "M-M-M-M*-" + "M-M-M-M-M*-" * 9 + "M-M-M-M-M-"}
    | vocabulary(131072, 8192, tied=False)
)
QWEN3_NEXT = (
    dense("qwen3_next", 48, 2048, 5120, 16, num_key_value_heads=2, head_dim=256)
    | {"num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512}
    | {"shared_expert_intermediate_size": 512, "full_attention_interval": 4}
    | {"linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_conv_kernel_dim": 4}
    | {"linear_key_head_dim": 128, "linear_value_head_dim": 128}
    | vocabulary(151936, 262144)
)


def read(config: Any) -> Model:
    return parsed_model_config(parse_document(json.dumps(config), "config.json"), "some-model")[1]


def shape(config: Any) -> dict[str, Any]:
    """The model, but for the hash of the file that it was read from."""
    return read(config).model_dump(exclude={"source"})


@pytest.mark.parametrize("name", CONFIGS)
def test_the_parameters_of_a_real_configuration_are_counted_to_the_last_one(name: str) -> None:
    config, parameters = CONFIGS[name]
    assert read(config).parameters_b == Decimal(parameters).scaleb(-9)


@pytest.mark.parametrize("name", NEARLY)
def test_what_is_not_counted_is_less_than_a_part_in_a_million(name: str) -> None:
    counted = read(CONFIGS[name][0]).parameters_b * 10**9
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
    active = read(CONFIGS[name][0]).active_parameters_b
    assert active is not None
    assert round(active, 2) == Decimal(active_b)


@pytest.mark.parametrize(
    ("config", "published_b"), [(NEMOTRON_H_56B, Decimal(56)), (QWEN3_NEXT, Decimal(80))]
)
def test_hybrids_have_about_the_size_in_their_name(config: Any, published_b: Decimal) -> None:
    assert abs(read(config).parameters_b / published_b - 1) < Decimal("0.01")


def test_dense_layers_are_found_in_every_spelling() -> None:
    qwen = CONFIGS["Qwen3-30B-A3B"][0]
    assert read(qwen | {"mlp_only_layers": [0, 1]}).dense_layers == 2
    assert read(qwen | {"decoder_sparse_step": 2}).dense_layers == 24
    deepseek = CONFIGS["DeepSeek-V3"][0]
    freq = {"moe_layer_freq": [0, 0] + [1] * 59, "first_k_dense_replace": None}
    assert read(deepseek | freq).dense_layers == 2
    assert read(CONFIGS["Jamba-v0.1"][0]).dense_layers == 16


def test_latent_attention_caches_the_latent_and_the_rotary_key() -> None:
    model = read(CONFIGS["DeepSeek-V3"][0])
    assert (model.attention, model.kv_latent_dim, model.head_dim) == ("mla", 512 + 64, 128 + 64)
    indexed = CONFIGS["DeepSeek-V3"][0] | {
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
    model = read(CONFIGS[name][0])
    assert (model.sliding_window, model.sliding_layers) == (window, sliding)
    assert model.whole_context_layers == model.layers - sliding


def test_norms_of_heads_and_clamped_gates_are_known_by_the_type() -> None:
    normed = {"gemma-3-1b": True, "Qwen2.5-7B": False, "gpt-oss-20b": False}
    assert {name: read(CONFIGS[name][0]).normed_heads for name in normed} == normed
    clamped = {"gpt-oss-20b": True, "Mixtral-8x7B-v0.1": False}
    assert {name: read(CONFIGS[name][0]).clamped_gate for name in clamped} == clamped


def test_a_window_as_wide_as_the_context_is_none() -> None:
    config = CONFIGS["Phi-3-mini-4k"][0]
    assert read(config | {"sliding_window": 4096}).sliding_layers == 0
    assert read(config).sliding_layers == 32


def test_qwen_slides_its_later_layers_where_it_is_told_to() -> None:
    told = {"use_sliding_window": True, "sliding_window": 4096, "max_window_layers": 20}
    assert read(CONFIGS["Qwen2.5-7B"][0] | told).sliding_layers == 8


def test_a_short_convolution_keeps_its_last_inputs_alone() -> None:
    config = CONFIGS["LFM2-1.2B"][0]
    model = read(config)
    assert (model.attention, model.kv_layers, model.layers) == ("hybrid", 6, 16)
    assert model.state_mb_per_sequence == Decimal(10 * 2 * 2048 * 2).scaleb(-6)
    named = ["full_attention" if n in config["full_attn_idxs"] else "conv" for n in range(16)]
    assert shape(config | {"layer_types": named, "full_attn_idxs": None}) == shape(config)


def test_the_block_of_lfm2_is_two_thirds_as_wide_as_stated_unless_it_says_otherwise() -> None:
    config = CONFIGS["LFM2-1.2B"][0]
    assert read(config).intermediate == 8192
    assert read(config | {"block_ff_dim": 10240}).intermediate == 6912, "in whole 256"
    assert read(config | {"block_auto_adjust_ff_dim": False}).intermediate == 12288


def test_lfm2_says_in_a_key_of_its_own_that_its_embeddings_are_one_matrix() -> None:
    config = CONFIGS["LFM2-1.2B"][0]
    assert read(config).tied_embeddings
    assert not read(config | {"tie_embedding": False}).tied_embeddings


def test_a_hybrid_keeps_keys_and_values_in_few_layers_and_a_state_in_the_others() -> None:
    granite = read(CONFIGS["granite-4.0-h-tiny"][0])
    assert (granite.attention, granite.kv_layers, granite.layers) == ("hybrid", 4, 40)
    state = 36 * 2 * (48 * 64 * 128 + 3 * (48 * 64 + 2 * 128))
    assert granite.state_mb_per_sequence == Decimal(state).scaleb(-6)
    assert read(NEMOTRON_H_56B).kv_layers == 10
    assert read(QWEN3_NEXT).kv_layers == 12
    assert read(CONFIGS["Jamba-v0.1"][0]).kv_layers == 4


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
    granite = CONFIGS["granite-4.0-h-tiny"][0]
    assert shape(granite | {"mamba_d_head": "auto"}) == shape(granite)
    dense_one = granite | {"num_local_experts": 0, "num_experts_per_tok": 0}
    model = read(dense_one | {"shared_intermediate_size": 8192})
    assert (model.experts, model.intermediate) == (None, 8192)


def test_llama_4_attends_to_the_whole_context_in_every_fourth_layer_or_where_it_says_so() -> None:
    scout = (
        dense("llama4_text", 48, 5120, 8192, 40, num_key_value_heads=8, head_dim=128)
        | {"intermediate_size_mlp": 16384, "num_local_experts": 16, "num_experts_per_tok": 1}
        | {"interleave_moe_layer_step": 1, "attention_chunk_size": 8192}
        | vocabulary(202048, 10_485_760, tied=False)
    )
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
    gemma = CONFIGS["gemma-2-9b"][0]
    assert read(gemma).tied_embeddings is True
    assert read(gemma | {"tie_word_embeddings": False}).tied_embeddings is False
    outer = {"model_type": "qwen3_vl", "tie_word_embeddings": True}
    text = CONFIGS["Qwen3-8B"][0] | {"model_type": "qwen3_vl_text", "tie_word_embeddings": None}
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
    config = CONFIGS["Llama-3.1-8B"][0]
    assert read(config).native_bits is None
    quantized = read(config | {"quantization_config": block})
    assert quantized.native_bits == bits
    assert quantized.parameters_b == read(config).parameters_b


def test_a_model_is_called_by_its_folder_and_names_the_file_it_was_read_from(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "Our Model"
    folder.mkdir()
    content = json.dumps(CONFIGS["Llama-3.1-8B"][0])
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
    config = CONFIGS["Llama-3.1-8B"][0]
    model = read(config | {"rope_scaling": scaling})
    assert (model.max_context, model.scaled_context) == (131072, tokens)


def test_figures_that_nobody_reads_and_remote_code_change_nothing() -> None:
    config = CONFIGS["Llama-3.1-8B"][0]
    extra = {
        "auto_map": {"AutoConfig": "evil.Config"},
        "rope_scaling": {"rope_type": "default", "limit": float("inf")},
        "id2label": {str(n): f"LABEL_{n}" for n in range(1000)},
    }
    plain, loaded = read(config), read(config | extra)
    assert loaded.model_copy(update={"source": plain.source}) == plain
