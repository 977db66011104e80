"""Parameters of a decoder, counted from its shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.inputs.catalog.modelconfig.section import Section
    from planner.inputs.catalog.modelconfig.shape import Attention, Latent, Mixture, ModelShape
    from planner.inputs.catalog.modelconfig.types import ModelType

__all__ = ["count_parameters"]


def count_parameters(shape: ModelShape, kind: ModelType, section: Section) -> tuple[int, int]:
    """All parameters, and those that one token passes; the section tells which biases there are."""
    rest = _embeddings(shape, kind) + _norms(shape, kind)
    rest += shape.attention.layers * _attention(shape, kind, section)
    if shape.recurrence is not None:
        rest += shape.recurrent_layers * shape.recurrence.weights()
    if shape.intermediate is not None:
        bias = _has(section, kind.mlp_bias)
        rest += shape.dense_layers * _block(shape.hidden, shape.intermediate, kind, bias=bias)
    mixture = shape.mixture
    if mixture is None:
        return rest, rest
    routing = _routing(shape.hidden, mixture, kind, section)
    entry = mixture.latent or shape.hidden
    expert = _block(entry, mixture.width, kind, bias=_has(section, kind.mlp_bias))
    every, used = (
        rest + mixture.layers * (routing + experts * expert)
        for experts in (mixture.experts, mixture.per_token)
    )
    return every, used


def _has(section: Section, bias: bool | str) -> bool:
    return section.truth(bias) if isinstance(bias, str) else bias


def _embeddings(shape: ModelShape, kind: ModelType) -> int:
    matrices = 1 if shape.tied else 2
    positions = shape.context * shape.hidden if kind.positions else 0
    return (
        matrices * shape.vocab * shape.hidden + positions + (shape.vocab if kind.head_bias else 0)
    )


def _norms(shape: ModelShape, kind: ModelType) -> int:
    """Norms of all layers and the last one."""
    vectors = shape.layers * kind.norms + (1 if kind.norms else 0)
    return vectors * shape.hidden * (2 if kind.centred else 1)


def _attention(shape: ModelShape, kind: ModelType, section: Section) -> int:
    attention = shape.attention
    if attention.latent is not None:
        return _latent(shape.hidden, attention.heads, attention.latent)
    queries = attention.heads * attention.head_dim
    keys = attention.kv_heads * attention.head_dim
    gate = queries if kind.output_gate else 0
    weights = shape.hidden * (2 * queries + gate + 2 * keys)
    if _has(section, kind.qkv_bias):
        weights += queries + gate + 2 * keys
    if _has(section, kind.out_bias):
        weights += shape.hidden
    return weights + _head_norms(attention, kind)


def _head_norms(attention: Attention, kind: ModelType) -> int:
    if kind.head_norm == "head":
        return 2 * attention.head_dim
    if kind.head_norm == "all":
        return (attention.heads + attention.kv_heads) * attention.head_dim
    return 0


def _latent(hidden: int, heads: int, latent: Latent) -> int:
    head = latent.plain_dim + latent.rotary_dim
    if latent.query_rank is None:
        queries = hidden * heads * head
    else:
        queries = latent.query_rank * (hidden + heads * head + 1)
    keys = hidden * (latent.kv_rank + latent.rotary_dim) + latent.kv_rank
    expanded = latent.kv_rank * heads * (latent.plain_dim + latent.value_dim)
    index = latent.index_heads * (latent.index_dim * (latent.query_rank or hidden) + hidden)
    index += latent.index_dim * (hidden + 2)
    return queries + keys + expanded + heads * latent.value_dim * hidden + index


def _block(hidden: int, width: int, kind: ModelType, *, bias: bool) -> int:
    matrices = 3 if kind.gated else 2
    return matrices * hidden * width + ((matrices - 1) * width + hidden if bias else 0)


def _routing(hidden: int, mixture: Mixture, kind: ModelType, section: Section) -> int:
    """Router and shared experts of one layer."""
    router = mixture.experts * hidden + (mixture.experts if _has(section, kind.mlp_bias) else 0)
    shared = _block(hidden, mixture.shared_width, kind, bias=False) if mixture.shared_width else 0
    gate = hidden if kind.shared_gate and mixture.shared_width else 0
    return router + shared + gate + 2 * hidden * (mixture.latent or 0)
