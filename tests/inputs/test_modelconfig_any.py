"""Whatever stands in a configuration, it is read or refused in words."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import InputError
from planner.inputs.catalog.catalog import Model
from planner.inputs.catalog.decoder import model_types
from planner.inputs.catalog.modelconfig import parsed_model_config
from planner.inputs.reading.reader import parse_document
from tests.properties.questions import drawing

KEYS = (
    *("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads"),
    *("num_key_value_heads", "num_kv_heads", "head_dim", "vocab_size", "max_position_embeddings"),
    *("n_layer", "n_embd", "n_head", "n_inner", "n_positions", "multi_query", "sliding_window"),
    *("sliding_window_pattern", "layer_types", "layers_block_type", "hybrid_override_pattern"),
    *("num_local_experts", "num_experts", "n_routed_experts", "num_experts_per_tok"),
    *("moe_intermediate_size", "n_shared_experts", "shared_expert_intermediate_size"),
    *("first_k_dense_replace", "moe_layer_freq", "mlp_only_layers", "decoder_sparse_step"),
    *("interleave_moe_layer_step", "expert_layer_period", "expert_layer_offset"),
    *("attn_layer_period", "attn_layer_offset", "full_attention_interval", "no_rope_layers"),
    *("kv_lora_rank", "q_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"),
    *("index_n_heads", "index_head_dim", "attention_chunk_size", "use_sliding_window"),
    *("max_window_layers", "tie_word_embeddings", "mamba_d_state", "mamba_n_heads"),
    *("mamba_d_head", "mamba_n_groups", "mamba_d_conv", "mamba_expand", "mamba_dt_rank"),
    *("mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size", "conv_kernel"),
    *("linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim"),
    *("linear_value_head_dim", "linear_conv_kernel_dim", "moe_latent_size", "attention_bias"),
    *("quantization_config", "text_config", "mamba_ssm_dtype", "new_decoder_architecture"),
)
TYPES = model_types()
SMALL = st.integers(1, 64)
ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.lists(st.one_of(st.integers(-2, 5), st.sampled_from(["mamba", "attention"])), max_size=5),
    st.dictionaries(st.sampled_from(["quant_method", "bits", "model_type"]), st.text(max_size=6)),
)


def read(config: dict[str, Any]) -> Model | InputError:
    try:
        return parsed_model_config(parse_document(json.dumps(config), "config.json"), "any")[1]
    except InputError as error:
        return error


@drawing(120)
@given(
    st.sampled_from(sorted(TYPES.read)),
    st.fixed_dictionaries(dict.fromkeys(KEYS[:8], SMALL)),
    st.dictionaries(st.sampled_from(KEYS), st.one_of(SMALL, ODD), max_size=12),
)
def test_any_figures_under_known_keys_give_a_model_or_findings(
    model_type: str, usual: dict[str, Any], odd: dict[str, Any]
) -> None:
    outcome = read({"model_type": model_type, **usual, **odd})
    if isinstance(outcome, InputError):
        told = [finding.headline() for finding in outcome.findings]
        assert len(told) == len(set(told)) > 0
    else:
        assert outcome.parameters_b > 0
        assert outcome.whole_context_layers + outcome.sliding_layers <= outcome.layers


@drawing(40)
@given(st.binary(max_size=60))
def test_any_bytes_give_a_model_or_findings(content: bytes) -> None:
    with pytest.raises(InputError):
        parsed_model_config(parse_document(content, "config.json"), "any")


def test_no_type_is_both_read_and_refused() -> None:
    refused = [name for names in TYPES.refused.values() for name in names]
    assert not TYPES.read.keys() & set(refused)
    assert len(refused) == len(set(refused))
