"""What each `model_type` of a Hugging Face configuration means: a closed list.

A configuration does not say whether a block has two matrices or three, what a missing key stands
for, or which layers slide: the model's own code does. Read from the configuration and model classes
of github:huggingface/transformers, `src/transformers/models/<model_type>`, and where a publisher
ships its own classes, from those. A type that is not listed has no formula and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "EXPERT_KEYS",
    "FOREIGN_KEYS",
    "MODEL_TYPES",
    "REFUSED_TYPES",
    "ModelType",
    "structure_keys",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelType:
    """How to read the configuration of one kind of decoder."""

    gated: bool = True
    """Three feed-forward matrices, not two."""
    tied: bool = False
    """What it means that `tie_word_embeddings` is missing."""
    norms: int = 2
    """Normalizing vectors per layer."""
    centred: bool = False
    """Whether norms shift as well as scale (two vectors each)."""
    head_norm: Literal["none", "head", "all"] = "none"
    """Norms of queries and keys: none, one head wide, or as wide as all heads."""
    qkv_bias: bool | str = "attention_bias"
    """Whether the matrices have a bias, or the key that says so."""
    out_bias: bool | str = "attention_bias"
    mlp_bias: bool | str = "mlp_bias"
    head_bias: bool = False
    positions: bool = False
    """Whether positions are learned, one vector each."""
    slides: Literal["never", "all", "even", "pattern", "late", "chunks"] = "never"
    """Which layers see only a window, where `layer_types` does not tell."""
    experts: bool = False
    shared_experts: int = 0
    """Experts that every token passes, where the configuration does not tell."""
    shared_gate: bool = False
    latent: bool = False
    """Multi-head latent attention."""
    recurrence: Literal["mamba", "mamba2", "delta"] | None = None
    output_gate: bool = False
    """Whether attention has a second query matrix that gates its output."""
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Keys of the configuration, where they are not the usual ones."""
    defaults: Mapping[str, int] = field(default_factory=dict)
    """What a missing key stands for, by the usual name."""


_LLAMA = ModelType()
_QWEN2 = ModelType(qkv_bias=True, out_bias=False, slides="late")
_QWEN3 = ModelType(head_norm="head", slides="late")
_GEMMA = ModelType(tied=True)
_GEMMA3 = ModelType(
    tied=True,
    norms=4,
    head_norm="head",
    slides="pattern",
    defaults={
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "vocab_size": 262208,
        "max_position_embeddings": 131072,
        "sliding_window_pattern": 6,
    },
)
_MIXTRAL = ModelType(experts=True)
_DEEPSEEK = ModelType(experts=True, latent=True)
_GPT2 = ModelType(
    gated=False,
    tied=True,
    centred=True,
    qkv_bias=True,
    out_bias=True,
    mlp_bias=True,
    positions=True,
    names={
        "hidden_size": ("n_embd", "hidden_size"),
        "num_hidden_layers": ("n_layer", "num_hidden_layers"),
        "num_attention_heads": ("n_head", "num_attention_heads"),
        "intermediate_size": ("n_inner", "intermediate_size"),
        "max_position_embeddings": ("n_positions", "max_position_embeddings"),
    },
)
_QWEN_MOE = replace(_QWEN2, experts=True, shared_gate=True)
_QWEN3_MOE = replace(_QWEN3, experts=True)
_DELTA = ModelType(head_norm="head", recurrence="delta", output_gate=True)
_DELTA_MOE = replace(_DELTA, experts=True, shared_gate=True)
_NEMOTRON_H = ModelType(
    gated=False,
    norms=1,
    experts=True,
    recurrence="mamba2",
    names={
        "head_dim": ("head_dim", "attention_head_dim"),
        "mamba_heads": ("mamba_num_heads",),
        "mamba_head_dim": ("mamba_head_dim",),
        "mamba_groups": ("n_groups",),
        "mamba_state": ("ssm_state_size",),
        "mamba_kernel": ("conv_kernel",),
    },
)

MODEL_TYPES: Final[dict[str, ModelType]] = {
    # Dense, three matrices
    "llama": _LLAMA,
    "mistral": ModelType(slides="all"),
    "ministral": ModelType(slides="all"),
    "ministral3": ModelType(slides="all"),
    "qwen2": _QWEN2,
    "qwen2_vl": _QWEN2,
    "qwen2_vl_text": _QWEN2,
    "qwen2_5_vl": _QWEN2,
    "qwen2_5_vl_text": _QWEN2,
    "qwen3": _QWEN3,
    "qwen3_vl_text": replace(_QWEN3, slides="never"),
    "granite": _LLAMA,
    "gemma": _GEMMA,
    "gemma2": replace(_GEMMA, norms=4, slides="even"),
    "gemma3_text": _GEMMA3,
    "phi3": ModelType(qkv_bias=False, out_bias=False, slides="all"),
    "olmo": ModelType(norms=0),
    "olmo2": ModelType(head_norm="all"),
    "olmo3": ModelType(head_norm="all", slides="pattern", defaults={"sliding_window_pattern": 4}),
    "smollm3": _LLAMA,
    "stablelm": ModelType(centred=True, qkv_bias="use_qkv_bias", out_bias=False),
    "internlm2": ModelType(qkv_bias="bias", out_bias="bias"),
    "mimo": replace(_QWEN2, slides="never"),
    "seed_oss": ModelType(qkv_bias="attention_bias", out_bias="attention_out_bias"),
    "cohere": ModelType(tied=True, norms=1),
    "cohere2": ModelType(
        tied=True, norms=1, slides="pattern", defaults={"sliding_window_pattern": 4}
    ),
    # Dense, two matrices
    "gpt2": _GPT2,
    "gpt_bigcode": _GPT2,
    "gpt_neox": ModelType(gated=False, centred=True, qkv_bias=True, out_bias=True, mlp_bias=True),
    "falcon": ModelType(
        gated=False,
        tied=True,
        norms=1,
        centred=True,
        qkv_bias="bias",
        out_bias="bias",
        mlp_bias="bias",
        names={
            "num_hidden_layers": ("num_hidden_layers", "n_layer"),
            "num_attention_heads": ("num_attention_heads", "n_head"),
            "num_key_value_heads": ("num_kv_heads",),
            "intermediate_size": ("ffn_hidden_size",),
        },
        defaults={"max_position_embeddings": 2048},
    ),
    "starcoder2": ModelType(
        gated=False,
        tied=True,
        centred=True,
        qkv_bias="use_bias",
        out_bias="use_bias",
        mlp_bias="use_bias",
        slides="all",
    ),
    "phi": ModelType(
        gated=False,
        norms=1,
        centred=True,
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        head_bias=True,
    ),
    "nemotron": ModelType(gated=False, centred=True),
    "apertus": ModelType(gated=False, head_norm="head"),
    # Mixtures of experts
    "mixtral": replace(_MIXTRAL, slides="all"),
    "qwen2_moe": _QWEN_MOE,
    "qwen3_moe": _QWEN3_MOE,
    "qwen3_vl_moe_text": replace(_QWEN3_MOE, slides="never"),
    "granitemoe": _MIXTRAL,
    "granitemoeshared": _MIXTRAL,
    "phimoe": ModelType(experts=True, centred=True, slides="all"),
    "olmoe": ModelType(experts=True, head_norm="all"),
    "minimax_m2": ModelType(experts=True, head_norm="all"),
    "glm4_moe": ModelType(experts=True, out_bias=False),
    "gpt_oss": ModelType(
        experts=True, mlp_bias=True, slides="even", defaults={"sliding_window": 128}
    ),
    "llama4_text": ModelType(
        experts=True,
        shared_experts=1,
        slides="chunks",
        names={
            "intermediate_size": ("intermediate_size_mlp",),
            "expert_intermediate": ("intermediate_size",),
        },
    ),
    "deepseek": replace(_DEEPSEEK, latent=False),
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK,
    "deepseek_v32": _DEEPSEEK,
    "kimi_k2": _DEEPSEEK,
    "glm_moe_dsa": _DEEPSEEK,
    # Hybrids of attention and recurrence
    "granitemoehybrid": ModelType(
        experts=True,
        recurrence="mamba2",
        names={
            "mamba_heads": ("mamba_n_heads",),
            "mamba_head_dim": ("mamba_d_head",),
            "mamba_groups": ("mamba_n_groups",),
            "mamba_state": ("mamba_d_state",),
            "mamba_kernel": ("mamba_d_conv",),
        },
    ),
    "nemotron_h": _NEMOTRON_H,
    "jamba": ModelType(experts=True, recurrence="mamba"),
    "qwen3_next": _DELTA_MOE,
    "qwen3_5_text": _DELTA,
    "qwen3_5_moe_text": _DELTA_MOE,
}
"""Decoders that have a formula, by `model_type`."""

_TWO_HALVES = "has an encoder and a decoder"
_ENCODER = "is an encoder and writes no text"
_RECURRENT = "keeps no keys and values, only a state"
_VISION = "sees pictures and writes no text"
_OTHER_CACHE = "keeps the past in a way of its own"
_UNEVEN = "has layers that differ from one another"

REFUSED_TYPES: Final[dict[str, str]] = {
    **dict.fromkeys(
        (
            *("bart", "blenderbot", "led", "longt5", "m2m_100", "marian", "mbart", "mt5", "nllb"),
            *("pegasus", "pix2struct", "seamless_m4t", "speech_to_text", "switch_transformers"),
            *("t5", "t5gemma", "trocr", "umt5", "vision-encoder-decoder", "whisper"),
        ),
        _TWO_HALVES,
    ),
    **dict.fromkeys(
        (
            *("albert", "bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra"),
            *("hubert", "modernbert", "mpnet", "nomic_bert", "roberta", "wav2vec2", "xlm-roberta"),
        ),
        _ENCODER,
    ),
    **dict.fromkeys(
        ("falcon_mamba", "mamba", "mamba2", "recurrent_gemma", "rwkv", "xlstm"), _RECURRENT
    ),
    **dict.fromkeys(
        ("clip", "convnext", "detr", "dinov2", "resnet", "sam", "siglip", "swin", "vit"), _VISION
    ),
    **dict.fromkeys(
        (
            *("deepseek_v4", "falcon_h1", "gemma3n", "gemma3n_text", "gemma4", "gemma4_text"),
            *("kimi_linear", "lfm2", "mimo_v2_flash", "minimax", "minimax_m3", "plamo2"),
            *("step3p7", "zamba", "zamba2"),
        ),
        _OTHER_CACHE,
    ),
    **dict.fromkeys(("deci", "nemotron-nas", "openelm"), _UNEVEN),
    "mllama": "has layers that attend to pictures",
}
"""Types that are known, and why they have no formula."""

FOREIGN_KEYS: Final[dict[str, str]] = {
    "is_encoder_decoder": _TWO_HALVES,
    "add_cross_attention": _TWO_HALVES,
    "encoder_layers": _TWO_HALVES,
    "num_encoder_layers": _TWO_HALVES,
    "cross_attention_layers": "has layers that attend to pictures",
    "block_configs": _UNEVEN,
    "compress_ratios": _OTHER_CACHE,
    "global_head_dim": _OTHER_CACHE,
    "hidden_size_per_layer_input": _OTHER_CACHE,
    "linear_attn_config": _OTHER_CACHE,
    "num_global_key_value_heads": _OTHER_CACHE,
    "num_kv_shared_layers": _OTHER_CACHE,
    "sparse_attention_config": _OTHER_CACHE,
    "swa_num_key_value_heads": _OTHER_CACHE,
}
"""Keys that make a model another one than its type says, wherever they mean something."""

EXPERT_KEYS = ("num_local_experts", "num_experts", "n_routed_experts")
_LATENT_KEYS = ("kv_lora_rank",)
_MAMBA_KEYS = (
    *("hybrid_override_pattern", "mamba_d_state", "mamba_n_heads", "mamba_num_heads"),
    *("ssm_state_size", "state_size"),
)
_DELTA_KEYS = ("full_attention_interval", "linear_num_value_heads", "linear_value_head_dim")


def structure_keys(kind: ModelType) -> dict[str, str]:
    """Keys that have no meaning in this kind of model, and what they stand for."""
    without = {
        "a mixture of experts": () if kind.experts else EXPERT_KEYS,
        "latent attention": () if kind.latent else _LATENT_KEYS,
        "Mamba layers": () if kind.recurrence in ("mamba", "mamba2") else _MAMBA_KEYS,
        "linear attention": () if kind.recurrence == "delta" else _DELTA_KEYS,
    }
    return {key: meaning for meaning, keys in without.items() for key in keys}
