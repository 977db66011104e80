"""What each `model_type` of a Hugging Face configuration means, from catalog/model-types.yaml."""

from __future__ import annotations

from functools import cache
from typing import Final, Literal

from pydantic import Field

from planner.inputs.base import Frozen
from planner.inputs.reading.diagnostics import validate
from planner.inputs.reading.locate import MODEL_TYPES, shipped
from planner.inputs.reading.reader import read_document

__all__ = ["EXPERT_KEYS", "FOREIGN_KEYS", "ModelType", "model_types", "structure_keys"]


class ModelType(Frozen):
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
    names: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Keys of the configuration, where they are not the usual ones."""
    defaults: dict[str, int] = Field(default_factory=dict)
    """What a missing key stands for, by the usual name."""


class ModelTypes(Frozen):
    """The table of types."""

    read: dict[str, ModelType]
    """Decoders that have a formula."""
    refused: dict[str, tuple[str, ...]]
    """Why some types have none, and which."""

    def why_not(self, name: str | None) -> str | None:
        """Why a type has no formula; None of those that have one, and of unknown ones."""
        return next((why for why, names in self.refused.items() if name in names), None)


@cache
def model_types() -> ModelTypes:
    """Read the table, once."""
    name = f"catalog/{MODEL_TYPES}"
    return validate(read_document(shipped("catalog") / MODEL_TYPES, shown_as=name), ModelTypes)


_TWO_HALVES = "has an encoder and a decoder"
_OTHER_CACHE = "keeps the past in a way of its own"
_UNEVEN = "has layers that differ from one another"

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
