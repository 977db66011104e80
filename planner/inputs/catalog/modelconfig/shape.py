"""The shape of a decoder as its configuration states it: layers of each sort, widths, caches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.inputs.catalog.modelconfig.types import EXPERT_KEYS

if TYPE_CHECKING:
    from planner.inputs.catalog.modelconfig.section import Section
    from planner.inputs.catalog.modelconfig.types import ModelType

__all__ = ["Attention", "Latent", "Mixture", "ModelShape", "read_shape"]

MOST_LAYERS = 10_000

WIDEST = 10_000_000


class Reader:
    """Asks the configuration for figures by their usual names."""

    def __init__(self, section: Section, kind: ModelType) -> None:
        self.section = section
        self.kind = kind

    def must(self, name: str, most: int = WIDEST) -> int:
        """Give a figure that must be there or have a default."""
        found = self.may(name, most)
        return self.section.count(*self._keys(name), most=most) if found is None else found

    def may(self, name: str, most: int = WIDEST) -> int | None:
        """Give a figure, what its absence stands for, or None."""
        found = self.section.optional(*self._keys(name), most=most)
        if found is None and all(self.section.data.get(key) is None for key in self._keys(name)):
            return self.kind.defaults.get(name)
        return found

    def _keys(self, name: str) -> tuple[str, ...]:
        return self.kind.names.get(name, (name,))


_STEPS = ("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_freq")


@dataclass(frozen=True, slots=True)
class Sorts:
    """How many layers hold what; a layer may hold a mixer and a feed-forward block, or just one."""

    attention: int
    recurrent: int
    dense: int
    mixture: int


def count_layers(reader: Reader) -> int:
    """How many there are; a list of them counts where the number is left out."""
    blocks = reader.section.items("layers_block_type", str)
    if blocks and reader.section.data.get("num_hidden_layers") is None:
        return min(len(blocks), MOST_LAYERS)
    return reader.must("num_hidden_layers", MOST_LAYERS)


def sort_layers(reader: Reader, layers: int) -> Sorts:
    """Sort the layers by what they hold."""
    section, kind = reader.section, reader.kind
    pattern = _pattern(section, layers) if kind.recurrence == "mamba2" else None
    if pattern is not None:
        return Sorts(
            attention=pattern.count("*"),
            recurrent=pattern.count("M"),
            dense=pattern.count("-"),
            mixture=pattern.count("E"),
        )
    attention = _attention_layers(reader, layers) if kind.recurrence else layers
    mixture = _mixture_layers(section, layers) if kind.experts else 0
    return Sorts(attention, layers - attention, layers - mixture, mixture)


_BLOCKS = {"mamba": "M", "attention": "*", "mlp": "-", "moe": "E"}


def _pattern(section: Section, layers: int) -> str | None:
    """Nemotron-H gives each layer a letter: Mamba, attention, feed-forward or experts."""
    pattern = section.text_of("hybrid_override_pattern")
    if pattern is None:
        blocks = section.items("layers_block_type", str, layers)
        if blocks is None or "num_local_experts" in section.data:
            return None
        pattern = "".join(_BLOCKS.get(block, "?") for block in blocks)
    if set(pattern) - set("M*-E"):
        section.fault("hybrid_override_pattern", "holds other layers than M, *, - and E")
    elif len(pattern) != layers:
        section.fault("hybrid_override_pattern", f"has {len(pattern)} layers of {layers}")
    return pattern


def _attention_layers(reader: Reader, layers: int) -> int:
    """Layers of a hybrid that attend; the others are recurrent."""
    section = reader.section
    sorts = section.items("layer_types", str, layers)
    if sorts is not None:
        known = ("attention", "full_attention", "mamba", "linear_attention")
        odd = sorted(set(sorts).difference(known))
        if odd:
            section.fault("layer_types", f"{odd[0]!r} is a sort of layer without a formula here")
        return sum(sort in known[:2] for sort in sorts)
    if reader.kind.recurrence == "delta":
        return layers // section.count("full_attention_interval", most=MOST_LAYERS)
    if reader.kind.recurrence == "mamba":
        return _every(section, layers, "attn_layer")
    section.fault("layer_types", "is missing: nothing tells which layers attend")
    return layers


def _every(section: Section, layers: int, what: str) -> int:
    period = section.count(f"{what}_period", most=MOST_LAYERS)
    offset = section.count(f"{what}_offset", least=0, most=MOST_LAYERS)
    return len(range(offset, layers, period))


def _mixture_layers(section: Section, layers: int) -> int:
    """Layers with experts instead of a dense block."""
    if not any(section.says(key) for key in EXPERT_KEYS):
        return 0
    if section.says("expert_layer_period"):
        return _every(section, layers, "expert_layer")
    if isinstance(section.data.get("moe_layer_freq"), list):
        return sum(section.items("moe_layer_freq", int, layers) or ())
    dense = {*(section.items("mlp_only_layers", int) or ())}
    dense |= {*range(section.optional("first_k_dense_replace", least=0, most=layers) or 0)}
    step_key = next((key for key in _STEPS if section.says(key)), None)
    step = section.count(step_key, most=MOST_LAYERS) if step_key else 1
    # DeepSeek counts its step from the first layer, Qwen and Llama from the one before it.
    start = 0 if step_key == "moe_layer_freq" else step - 1
    return len([layer for layer in range(start, layers, step) if layer not in dense])


CONVOLUTION_BYTES = 2

"""The last inputs of the convolution are kept in the type of the weights, 16 bit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba:
    """A Mamba layer, with norms of step, input and output as Jamba has them."""

    hidden: int
    state_bytes: int
    """Bytes of one element of the state."""
    inner: int
    rank: int
    state: int
    kernel: int

    def weights(self) -> int:
        """Parameters of one layer."""
        projections = 3 * self.hidden * self.inner + self.inner * (2 * self.rank + 2 * self.state)
        convolution = self.inner * (self.kernel + 1)
        norms = self.rank + 2 * self.state
        return projections + convolution + norms + self.inner * (self.state + 2)

    def bytes_per_sequence(self) -> int:
        """What one layer keeps of one sequence."""
        window = self.inner * (self.kernel - 1) * CONVOLUTION_BYTES
        return self.inner * self.state * self.state_bytes + window


@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2:
    """A Mamba-2 layer."""

    hidden: int
    state_bytes: int
    heads: int
    head_dim: int
    groups: int
    state: int
    kernel: int

    @property
    def _convolved(self) -> int:
        return self.heads * self.head_dim + 2 * self.groups * self.state

    def weights(self) -> int:
        """Parameters of one layer."""
        inner = self.heads * self.head_dim
        projections = self.hidden * (inner + self._convolved + self.heads + inner)
        return projections + self._convolved * (self.kernel + 1) + 3 * self.heads + inner

    def bytes_per_sequence(self) -> int:
        """What one layer keeps of one sequence."""
        window = self._convolved * (self.kernel - 1) * CONVOLUTION_BYTES
        return self.heads * self.head_dim * self.state * self.state_bytes + window


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearAttention:
    """A gated delta-rule layer, as Qwen3-Next has it."""

    hidden: int
    state_bytes: int
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int

    @property
    def _convolved(self) -> int:
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim

    def weights(self) -> int:
        """Parameters of one layer."""
        values = self.value_heads * self.value_dim
        projections = self.hidden * (self._convolved + 2 * values + 2 * self.value_heads)
        return projections + self._convolved * self.kernel + 2 * self.value_heads + self.value_dim

    def bytes_per_sequence(self) -> int:
        """What one layer keeps of one sequence."""
        window = self._convolved * (self.kernel - 1) * CONVOLUTION_BYTES
        matrices = self.value_heads * self.key_dim * self.value_dim
        return matrices * self.state_bytes + window


Recurrence = Mamba | Mamba2 | LinearAttention


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
class ModelShape:
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


def read_shape(section: Section, kind: ModelType, *, tied: bool) -> ModelShape:
    """Read the shape; what is missing or wrong is noted in the section's findings.

    `tied` holds where the section does not say whether embeddings are tied.
    """
    reader = Reader(section, kind)
    layers = count_layers(reader)
    hidden = reader.must("hidden_size")
    context = reader.must("max_position_embeddings", 10**9)
    sorts = sort_layers(reader, layers)
    mixture = _mixture(reader, sorts.mixture) if sorts.mixture else None
    return ModelShape(
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
