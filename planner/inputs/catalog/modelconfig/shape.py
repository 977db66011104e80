"""The shape of a decoder as its configuration states it: layers of each sort, widths, caches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.inputs.catalog.modelconfig.figures import MOST_LAYERS, WIDEST, Reader
from planner.inputs.catalog.modelconfig.layers import count_layers, sort_layers
from planner.inputs.catalog.modelconfig.recurrence import LinearAttention, Mamba, Mamba2
from planner.inputs.catalog.modelconfig.types import EXPERT_KEYS

if TYPE_CHECKING:
    from planner.inputs.catalog.modelconfig.recurrence import Recurrence
    from planner.inputs.catalog.modelconfig.section import Section
    from planner.inputs.catalog.modelconfig.types import ModelType

__all__ = ["Attention", "Latent", "Mixture", "Shape", "read_shape"]


@dataclass(frozen=True, slots=True)
class Latent:
    """Multi-head latent attention: what is compressed, and to which width."""

    query_rank: int | None
    kv_rank: int
    plain_dim: int
    rotary_dim: int
    value_dim: int
    index_heads: int
    index_dim: int
    """Width of the key that picks the tokens to attend to; 0 where all are attended to."""

    @property
    def cached(self) -> int:
        """Elements that are kept per token and layer."""
        return self.kv_rank + self.rotary_dim + self.index_dim


@dataclass(frozen=True, slots=True)
class Attention:
    """Heads, and how many layers have them."""

    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    latent: Latent | None
    window: int | None
    sliding_layers: int


@dataclass(frozen=True, slots=True)
class Mixture:
    """Routed experts, and how many layers have them."""

    layers: int
    experts: int
    per_token: int
    width: int
    shared_width: int
    """Width of all experts together that every token passes."""
    latent: int | None
    """Width to which tokens are compressed before they enter the routed experts, if they are."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Everything that weights and caches are counted from."""

    layers: int
    hidden: int
    vocab: int
    context: int
    tied: bool
    attention: Attention
    intermediate: int | None
    dense_layers: int
    """Layers with a dense feed-forward block."""
    mixture: Mixture | None
    recurrence: Recurrence | None
    recurrent_layers: int


def read_shape(section: Section, kind: ModelType, *, tied: bool) -> Shape:
    """Read the shape; what is missing or wrong is noted in the section's findings.

    `tied` holds where the section does not say whether embeddings are tied.
    """
    reader = Reader(section, kind)
    layers = count_layers(reader)
    hidden = reader.must("hidden_size")
    context = reader.must("max_position_embeddings", 10**9)
    sorts = sort_layers(reader, layers)
    mixture = _mixture(reader, sorts.mixture) if sorts.mixture else None
    return Shape(
        layers=layers,
        hidden=hidden,
        vocab=reader.must("vocab_size", 10**8),
        context=context,
        tied=section.truth("tie_word_embeddings", default=tied),
        attention=_attention(reader, sorts.attention, layers, hidden, context),
        intermediate=_intermediate(reader, hidden, sorts.dense),
        dense_layers=sorts.dense,
        mixture=mixture,
        recurrence=_recurrence(reader, hidden) if sorts.recurrent else None,
        recurrent_layers=sorts.recurrent,
    )


def _intermediate(reader: Reader, hidden: int, dense_layers: int) -> int | None:
    """Width of the dense block; GPT-2 and Falcon leave it out where it is four times as wide."""
    section = reader.section
    if not dense_layers:
        return reader.may("intermediate_size")
    if reader.kind.recurrence == "mamba2" and section.says("shared_intermediate_size"):
        # Granite 4 without experts: the block is what would be the shared expert.
        return section.count("shared_intermediate_size", most=WIDEST)
    if "hidden_size" in reader.kind.names or "num_key_value_heads" in reader.kind.names:
        return reader.may("intermediate_size") or 4 * hidden
    wide = section.optional("dense_intermediate_size", most=WIDEST)
    return reader.must("intermediate_size") if wide is None else wide


def _attention(
    reader: Reader, attention_layers: int, layers: int, hidden: int, context: int
) -> Attention:
    heads = reader.must("num_attention_heads", 100_000)
    latent = _latent(reader) if reader.kind.latent else None
    if latent is not None:
        kv_heads, head_dim = heads, latent.plain_dim + latent.rotary_dim
    else:
        kv_heads, head_dim = _kv_heads(reader, heads), _head_dim(reader, hidden, heads)
    window, sliding = _window(reader, layers, context)
    return Attention(attention_layers, heads, kv_heads, head_dim, latent, window, sliding)


def _kv_heads(reader: Reader, heads: int) -> int:
    section = reader.section
    old_falcon = "num_kv_heads" in reader.kind.names.get("num_key_value_heads", ())
    if old_falcon and not section.truth("new_decoder_architecture"):
        return 1 if section.truth("multi_query", default=True) else heads
    if not old_falcon and section.truth("multi_query"):
        return 1
    kv_heads = reader.may("num_key_value_heads", 100_000) or heads
    if heads % kv_heads and not section.findings:
        section.fault(
            "num_key_value_heads",
            f"{kv_heads} KV heads do not divide {heads} attention heads",
            "`num_attention_heads` must be a multiple of it",
        )
    return kv_heads


def _head_dim(reader: Reader, hidden: int, heads: int) -> int:
    head_dim = reader.may("head_dim", 100_000)
    if head_dim is not None:
        return head_dim
    if hidden % heads and not reader.section.findings:
        reader.section.fault(
            reader.kind.names.get("num_attention_heads", ("num_attention_heads",))[0],
            f"{heads} heads do not divide the hidden size {hidden}",
            "give `head_dim`, or mend one of the two",
        )
    return max(hidden // heads, 1)


def _latent(reader: Reader) -> Latent:
    index_heads = reader.may("index_n_heads")
    return Latent(
        query_rank=reader.may("q_lora_rank"),
        kv_rank=reader.must("kv_lora_rank"),
        plain_dim=reader.must("qk_nope_head_dim"),
        rotary_dim=reader.must("qk_rope_head_dim"),
        value_dim=reader.must("v_head_dim"),
        index_heads=index_heads or 0,
        index_dim=reader.must("index_head_dim") if index_heads else 0,
    )


def _window(reader: Reader, layers: int, context: int) -> tuple[int | None, int]:
    """Tokens that sliding layers see and how many slide; a window as wide as the context is none.

    Code that slides all layers, such as Mistral's, does so wherever a window is given.
    """
    section, kind = reader.section, reader.kind
    chunked = kind.slides == "chunks"
    window = reader.may("attention_chunk_size" if chunked else "sliding_window", 10**9)
    if window is None or window >= context or not section.truth("use_sliding_window", default=True):
        return None, 0
    sorts = section.items("layer_types", str, layers)
    if sorts is not None:
        sliding = sum(sort in ("sliding_attention", "chunked_attention") for sort in sorts)
    else:
        sliding = _sliding(reader, layers)
    return (window, sliding) if sliding else (None, 0)


def _sliding(reader: Reader, layers: int) -> int:
    """How many layers slide where no list tells."""
    section, slides = reader.section, reader.kind.slides
    if slides == "all":
        return layers
    if slides == "even":
        return (layers + 1) // 2
    if slides == "pattern":
        every = reader.may("sliding_window_pattern") or reader.must("_sliding_window_pattern")
        return layers - layers // every
    if slides == "late" and section.truth("use_sliding_window"):
        first = section.count("max_window_layers", least=0, most=MOST_LAYERS)
        return max(layers - first, 0)
    if slides == "chunks":
        rotary = section.items("no_rope_layers", int, layers)
        return sum(rotary) if rotary else layers - layers // 4
    return 0


_SHARED = (
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "shared_intermediate_size",
)


def _mixture(reader: Reader, layers: int) -> Mixture:
    section = reader.section
    experts = section.count(*EXPERT_KEYS, most=100_000)
    per_token = section.count(
        "num_experts_per_tok", "experts_per_token", "num_experts_per_token", most=100_000
    )
    if per_token > experts and not section.findings:
        section.fault("num_experts_per_tok", f"{per_token} is more than all {experts} experts")
    width = section.optional("moe_intermediate_size", most=WIDEST)
    if width is None:
        keys = reader.kind.names.get("expert_intermediate", ("intermediate_size",))
        width = section.count(*keys, most=WIDEST)
    shared = _shared_width(reader, width)
    return Mixture(layers, experts, per_token, width, shared, reader.may("moe_latent_size"))


def _shared_width(reader: Reader, width: int) -> int:
    section = reader.section
    for key in _SHARED:
        if section.says(key):
            return section.count(key, most=WIDEST)
    shared = section.optional("n_shared_experts", "num_shared_experts", least=0, most=1000)
    return width * (reader.kind.shared_experts if shared is None else shared)


def _recurrence(reader: Reader, hidden: int) -> Recurrence:
    section, kind = reader.section, reader.kind
    precision = section.text_of("mamba_ssm_cache_dtype") or section.text_of("mamba_ssm_dtype")
    state_bytes = 4 if precision == "float32" else 2
    if kind.recurrence == "delta":
        return LinearAttention(
            hidden=hidden,
            state_bytes=state_bytes,
            key_heads=reader.must("linear_num_key_heads"),
            value_heads=reader.must("linear_num_value_heads"),
            key_dim=reader.must("linear_key_head_dim"),
            value_dim=reader.must("linear_value_head_dim"),
            kernel=reader.must("linear_conv_kernel_dim", 1000),
        )
    if kind.recurrence == "mamba":
        rank = None if section.data.get("mamba_dt_rank") == "auto" else reader.may("mamba_dt_rank")
        return Mamba(
            hidden=hidden,
            state_bytes=state_bytes,
            inner=hidden * reader.must("mamba_expand", 1000),
            rank=rank or -(-hidden // 16),
            state=reader.must("mamba_d_state"),
            kernel=reader.must("mamba_d_conv", 1000),
        )
    return Mamba2(
        hidden=hidden,
        state_bytes=state_bytes,
        heads=reader.must("mamba_heads"),
        head_dim=_mamba_head_dim(reader, hidden),
        groups=reader.must("mamba_groups"),
        state=reader.must("mamba_state"),
        kernel=reader.must("mamba_kernel", 1000),
    )


def _mamba_head_dim(reader: Reader, hidden: int) -> int:
    if reader.section.data.get("mamba_d_head") != "auto":
        return reader.must("mamba_head_dim")
    return hidden * reader.must("mamba_expand", 1000) // reader.must("mamba_heads")
