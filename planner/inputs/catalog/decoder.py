"""Decoders and towers as configurations state them: their widths, caches and parameters."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from planner.inputs.catalog.configsection import EXPERT_KEYS, ConfigSection, TowerType

MOST_LAYERS = 10_000
_MOST_HEADS = _MOST_EXPERTS = 100_000
_LONGEST_KERNEL = _MOST_TIMES = 1000
_BLOCKS = {"mamba": "M", "attention": "*", "mlp": "-", "moe": "E"}
_STEPS = ("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_freq")
_SHARED = (
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "shared_intermediate_size",
)
_CONVOLUTION_BYTES = 2
"""The last inputs of the convolution are kept in the type of the weights, 16 bit."""


class Decoder(NamedTuple):
    """What a configuration says of a model, or of some of its layers."""

    figures: dict[str, object]
    """By the keys of the catalog."""
    parameters: int
    used: int = 0
    """Of these, those that one token passes."""


def read_decoder(section: ConfigSection, *, tied: bool) -> Decoder:
    """Read it; what is missing or wrong is noted in the section's findings.

    `tied` holds where the section does not say whether embeddings are tied.
    """
    kind = section.kind
    layers = _count_layers(section)
    hidden = section.count("hidden_size")
    context = section.count("max_position_embeddings", most=10**9)
    sorts = _sort_layers(section, layers)
    none = Decoder({}, 0)
    mixture = _mixture(section) if sorts.mixture else None
    vocab = section.count("vocab_size", most=10**8)
    tied = section.truth("tie_word_embeddings", default=tied)
    attention = _attention(section, sorts.attention, layers, hidden, context)
    intermediate = _intermediate(section, hidden, sorts.dense)
    recurrence = _recurrence(section, sorts, hidden) if sorts.recurrent else none
    figures: dict[str, object] = {
        "layers": layers,
        "hidden": hidden,
        "intermediate": intermediate,
        "vocab": vocab,
        "tied_embeddings": tied,
        "gated_mlp": kind.gated,
        "clamped_gate": kind.clamped,
        "normed_heads": kind.head_norm != "none",
        "max_context": context,
    }
    experts = none
    if mixture is not None:
        experts = _with_experts(section, mixture, sorts, hidden)
        figures["dense_layers"] = layers - sorts.mixture
    if sum(sorts) == layers:
        figures["blocks_per_layer"] = 1
    if kind.encoder or section.truth("use_bidirectional_attention"):
        figures["encoder"] = True
    figures |= experts.figures | attention.figures | recurrence.figures
    norms = layers * kind.norms + (1 if kind.norms else 0)
    rest = (1 if tied else 2) * vocab * hidden
    rest += context * hidden if kind.positions else 0
    rest += (section.optional("type_vocab_size", least=0) or 0) * hidden
    rest += vocab if kind.head_bias else 0
    rest += norms * hidden * (2 if kind.centred else 1)
    rest += attention.parameters + recurrence.parameters
    if intermediate is not None:
        rest += sorts.dense * _block(section, hidden, intermediate)
    return Decoder(figures, rest + experts.parameters, rest + experts.used)


class _Sorts(NamedTuple):
    """How many layers hold what; a layer may hold a mixer and a feed-forward block, or just one."""

    attention: int
    recurrent: int
    dense: int
    mixture: int


def _count_layers(section: ConfigSection) -> int:
    """How many there are; a list of them counts where the number is left out."""
    blocks = section.items("layers_block_type", str)
    if blocks and section.data.get("num_hidden_layers") is None:
        return min(len(blocks), MOST_LAYERS)
    return section.count("num_hidden_layers", most=MOST_LAYERS)


def _sort_layers(section: ConfigSection, layers: int) -> _Sorts:
    """Sort the layers by what they hold."""
    kind = section.kind
    pattern = _pattern(section, layers) if kind.recurrence == "mamba2" else None
    if pattern is not None:
        return _Sorts(*map(pattern.count, "*M-E"))
    attention = _attention_layers(section, layers) if kind.recurrence else layers
    mixture = _mixture_layers(section, layers) if kind.experts else 0
    return _Sorts(attention, layers - attention, layers - mixture, mixture)


def _pattern(section: ConfigSection, layers: int) -> str | None:
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


def _attention_layers(section: ConfigSection, layers: int) -> int:
    """Layers of a hybrid that attend; the others are recurrent."""
    sorts = section.items("layer_types", str, layers)
    attending = ("attention", "full_attention")
    if sorts is not None:
        recurrent = (
            ("conv",) if section.kind.recurrence == "conv" else ("mamba", "linear_attention")
        )
        odd = sorted(set(sorts).difference(attending, recurrent))
        if odd:
            section.fault("layer_types", f"{odd[0]!r} is a sort of layer without a formula here")
        return sum(sort in attending for sort in sorts)
    if section.kind.recurrence == "delta":
        return layers // section.count("full_attention_interval", most=MOST_LAYERS)
    if section.kind.recurrence == "mamba":
        return _every(section, layers, "attn_layer")
    if section.kind.recurrence == "conv" and section.says("full_attn_idxs"):
        return len({*(section.items("full_attn_idxs", int) or ())} & {*range(layers)})
    section.fault("layer_types", "is missing: nothing tells which layers attend")
    return layers


def _every(section: ConfigSection, layers: int, what: str) -> int:
    period = section.count(f"{what}_period", most=MOST_LAYERS)
    offset = section.count(f"{what}_offset", least=0, most=MOST_LAYERS)
    return len(range(offset, layers, period))


def _mixture_layers(section: ConfigSection, layers: int) -> int:
    """Layers with experts instead of a dense block."""
    if not any(section.says(key) for key in EXPERT_KEYS):
        return 0
    if section.says("expert_layer_period"):
        return _every(section, layers, "expert_layer")
    if isinstance(section.data.get("moe_layer_freq"), tuple):
        return sum(section.items("moe_layer_freq", int, layers) or ())
    dense = {*(section.items("mlp_only_layers", int) or ())}
    dense |= {*range(section.optional("first_k_dense_replace", least=0, most=layers) or 0)}
    step_key = next((key for key in _STEPS if section.says(key)), None)
    step = section.count(step_key, most=MOST_LAYERS) if step_key else 1
    # DeepSeek counts its step from the first layer, Qwen and Llama from the one before it.
    start = 0 if step_key == "moe_layer_freq" else step - 1
    return len([layer for layer in range(start, layers, step) if layer not in dense])


def _intermediate(section: ConfigSection, hidden: int, dense_layers: int) -> int | None:
    """Width of the dense block; GPT-2 and Falcon leave it out where it is four times as wide."""
    names = section.kind.names
    if not dense_layers:
        return section.optional("intermediate_size")
    if section.kind.recurrence == "mamba2" and section.says("shared_intermediate_size"):
        # Granite 4 without experts: the block is what would be the shared expert.
        return section.count("shared_intermediate_size")
    if "hidden_size" in names or "num_key_value_heads" in names:
        return section.optional("intermediate_size") or 4 * hidden
    if section.kind.two_thirds_wide and section.truth("block_auto_adjust_ff_dim", default=True):
        return _two_thirds(section)
    wide = section.optional("dense_intermediate_size")
    return section.count("intermediate_size") if wide is None else wide


def _two_thirds(section: ConfigSection) -> int:
    """Width of LFM2's block; a further factor is refused, no published model has one."""
    section.optional("block_ffn_dim_multiplier", most=1)
    unit = section.optional("block_multiple_of") or 256
    return unit * -(-(2 * section.count("intermediate_size") // 3) // unit)


def _block(section: ConfigSection, hidden: int, width: int, *, bias: bool | None = None) -> int:
    """Parameters of a feed-forward block."""
    matrices = 3 if section.kind.gated else 2
    biased = section.has(section.kind.mlp_bias) if bias is None else bias
    return matrices * hidden * width + ((matrices - 1) * width + hidden if biased else 0)


def _attention(
    section: ConfigSection, attention_layers: int, layers: int, hidden: int, context: int
) -> Decoder:
    heads = section.count("num_attention_heads", most=_MOST_HEADS)
    if section.kind.latent:
        kv_heads, head_dim, cached, weights = _latent(section, hidden, heads)
        figures: dict[str, object] = {"attention": "mla", "kv_latent_dim": cached}
    else:
        kv_heads, head_dim = _kv_heads(section, heads), _head_dim(section, hidden, heads)
        figures = {"attention": "gqa"}
        weights = _matrices(section, hidden, heads * head_dim, kv_heads * head_dim)
        if section.kind.head_norm != "none":
            normed = (heads + kv_heads) if section.kind.head_norm == "all" else 2
            weights += normed * head_dim
    figures |= {"heads": heads, "kv_heads": kv_heads, "head_dim": head_dim}
    window, sliding = _window(section, layers, context)
    if window is not None:
        figures |= {"sliding_window": window, "sliding_layers": sliding}
    return Decoder(figures, attention_layers * weights)


def _matrices(section: ConfigSection, hidden: int, queries: int, keys: int) -> int:
    """Parameters of one layer that keeps keys and values, without its norms."""
    kind = section.kind
    gate = queries if kind.output_gate else 0
    weights = hidden * (2 * queries + gate + 2 * keys)
    weights += queries + gate + 2 * keys if section.has(kind.qkv_bias) else 0
    return weights + (hidden if section.has(kind.out_bias) else 0)


def _kv_heads(section: ConfigSection, heads: int) -> int:
    old_falcon = "num_kv_heads" in section.kind.names.get("num_key_value_heads", ())
    if old_falcon and not section.truth("new_decoder_architecture"):
        return 1 if section.truth("multi_query", default=True) else heads
    if not old_falcon and section.truth("multi_query"):
        return 1
    kv_heads = section.optional("num_key_value_heads", most=_MOST_HEADS) or heads
    if heads % kv_heads and not section.findings:
        section.fault(
            "num_key_value_heads",
            f"{kv_heads} KV heads do not divide {heads} attention heads",
            "`num_attention_heads` must be a multiple of it",
        )
    return kv_heads


def _head_dim(section: ConfigSection, hidden: int, heads: int) -> int:
    head_dim = section.optional("head_dim", most=_MOST_HEADS)
    if head_dim is not None:
        return head_dim
    if hidden % heads and not section.findings:
        section.fault(
            section.kind.names.get("num_attention_heads", ("num_attention_heads",))[0],
            f"{heads} heads do not divide the hidden size {hidden}",
            "give `head_dim`, or mend one of the two",
        )
    return max(hidden // heads, 1)


def _latent(section: ConfigSection, hidden: int, heads: int) -> tuple[int, int, int, int]:
    """Multi-head latent attention: heads of keys, their width, elements kept, parameters."""
    index_heads = section.optional("index_n_heads") or 0
    query_rank = section.optional("q_lora_rank")
    kv_rank = section.count("kv_lora_rank")
    plain_dim, rotary_dim = section.count("qk_nope_head_dim"), section.count("qk_rope_head_dim")
    value_dim = section.count("v_head_dim")
    # the width of the key that picks the tokens to attend to; 0 where all are attended to
    index_dim = section.count("index_head_dim") if index_heads else 0
    head_dim = plain_dim + rotary_dim
    if query_rank is None:
        weights = hidden * heads * head_dim
    else:
        weights = query_rank * (hidden + heads * head_dim + 1)
    weights += hidden * (kv_rank + rotary_dim) + kv_rank
    weights += kv_rank * heads * (plain_dim + value_dim) + heads * value_dim * hidden
    weights += index_heads * (index_dim * (query_rank or hidden) + hidden)
    weights += index_dim * (hidden + 2)
    return heads, head_dim, kv_rank + rotary_dim + index_dim, weights


def _window(section: ConfigSection, layers: int, context: int) -> tuple[int | None, int]:
    """Tokens that sliding layers see and how many slide; a window as wide as the context is none.

    Code that slides all layers, such as Mistral's, does so wherever a window is given.
    """
    chunked = section.kind.slides == "chunks"
    key = "attention_chunk_size" if chunked else "sliding_window"
    window = section.optional(key, most=10**9)
    if window is None or window >= context or not section.truth("use_sliding_window", default=True):
        return None, 0
    sorts = section.items("layer_types", str, layers)
    if sorts is not None:
        sliding = sum(sort in ("sliding_attention", "chunked_attention") for sort in sorts)
    else:
        sliding = _sliding(section, layers)
    return (window, sliding) if sliding else (None, 0)


def _sliding(section: ConfigSection, layers: int) -> int:
    """How many layers slide where no list tells."""
    slides = section.kind.slides
    if slides == "all":
        return layers
    if slides == "even":
        return (layers + 1) // 2
    if slides == "pattern":
        every = section.optional("sliding_window_pattern") or section.count(
            "_sliding_window_pattern"
        )
        return layers - layers // every
    if slides == "but-first":
        every = section.optional("sliding_window_pattern") or 1
        return layers - -(-layers // every)
    if slides == "late" and section.truth("use_sliding_window"):
        first = section.count("max_window_layers", least=0, most=MOST_LAYERS)
        return max(layers - first, 0)
    if slides == "chunks":
        rotary = section.items("no_rope_layers", int, layers)
        return sum(rotary) if rotary else layers - layers // 4
    return 0


class _Mixture(NamedTuple):
    """What a layer with experts has."""

    experts: int
    per_token: int
    width: int
    shared_width: int
    latent: int | None
    """Width to which tokens are compressed before they enter the routed experts, if they are."""


def _mixture(section: ConfigSection) -> _Mixture:
    experts = section.count(*EXPERT_KEYS, most=_MOST_EXPERTS)
    per_token = section.count(
        "num_experts_per_tok", "experts_per_token", "num_experts_per_token", most=_MOST_EXPERTS
    )
    if per_token > experts and not section.findings:
        section.fault("num_experts_per_tok", f"{per_token} is more than all {experts} experts")
    width = section.optional("moe_intermediate_size")
    if width is None:
        width = section.count("expert_intermediate")
    shared_width = _shared_width(section, width)
    return _Mixture(experts, per_token, width, shared_width, section.optional("moe_latent_size"))


def _with_experts(section: ConfigSection, mixture: _Mixture, sorts: _Sorts, hidden: int) -> Decoder:
    """Router, routed and shared experts of all layers that have them."""
    routing = mixture.experts * (hidden + (1 if section.has(section.kind.mlp_bias) else 0))
    routing += 2 * hidden * (mixture.latent or 0)
    if mixture.shared_width:
        routing += _block(section, hidden, mixture.shared_width, bias=False)
        routing += hidden if section.kind.shared_gate else 0
    expert = _block(section, mixture.latent or hidden, mixture.width)
    figures: dict[str, object] = {
        "experts": mixture.experts,
        "experts_per_token": mixture.per_token,
        "expert_intermediate": mixture.width,
        "shared_expert_intermediate": mixture.shared_width,
    }
    every, used = (
        sorts.mixture * (routing + experts * expert)
        for experts in (mixture.experts, mixture.per_token)
    )
    return Decoder(figures, every, used)


def _shared_width(section: ConfigSection, width: int) -> int:
    """Width of all experts together that every token passes."""
    for key in _SHARED:
        if section.says(key):
            return section.count(key)
    shared = section.optional("n_shared_experts", "num_shared_experts", least=0, most=1000)
    return width * (section.kind.shared_experts if shared is None else shared)


def _recurrence(section: ConfigSection, sorts: _Sorts, hidden: int) -> Decoder:
    """Layers that keep a state, and the last inputs of their convolution."""
    precision = section.text_of("mamba_ssm_cache_dtype") or section.text_of("mamba_ssm_dtype")
    read = {"mamba": _mamba, "mamba2": _mamba2, "delta": _delta, "conv": _short_convolution}
    weights, state, window = read[section.kind.recurrence or ""](section, hidden)
    kept = state * (4 if precision == "float32" else 2) + window * _CONVOLUTION_BYTES
    figures: dict[str, object] = {
        "attention": "hybrid",
        "kv_layers": sorts.attention,
        "state_mb_per_sequence": Decimal(sorts.recurrent * kept).scaleb(-6),
    }
    return Decoder(figures, sorts.recurrent * weights)


def _mamba(section: ConfigSection, hidden: int) -> tuple[int, int, int]:
    """Parameters of a Mamba layer, elements of its state and of its convolution's inputs.

    With norms of step, input and output, as Jamba has them.
    """
    auto = section.data.get("mamba_dt_rank") == "auto"
    rank = (None if auto else section.optional("mamba_dt_rank")) or -(-hidden // 16)
    inner = hidden * section.count("mamba_expand", most=_MOST_TIMES)
    state = section.count("mamba_d_state")
    kernel = section.count("mamba_d_conv", most=_LONGEST_KERNEL)
    projections = 3 * hidden * inner + inner * (2 * rank + 2 * state)
    norms = rank + 2 * state
    weights = projections + inner * (kernel + 1) + norms + inner * (state + 2)
    return weights, inner * state, inner * (kernel - 1)


def _mamba2(section: ConfigSection, hidden: int) -> tuple[int, int, int]:
    """The same of a Mamba-2 layer."""
    heads = section.count("mamba_heads")
    if section.data.get("mamba_d_head") == "auto":
        times = section.count("mamba_expand", most=_MOST_TIMES)
        head_dim = hidden * times // section.count("mamba_heads")
    else:
        head_dim = section.count("mamba_head_dim")
    groups, state = section.count("mamba_groups"), section.count("mamba_state")
    kernel = section.count("mamba_kernel", most=_LONGEST_KERNEL)
    inner = heads * head_dim
    convolved = inner + 2 * groups * state
    projections = hidden * (inner + convolved + heads + inner)
    weights = projections + convolved * (kernel + 1) + 3 * heads + inner
    return weights, inner * state, convolved * (kernel - 1)


def _delta(section: ConfigSection, hidden: int) -> tuple[int, int, int]:
    """The same of a gated delta-rule layer, as Qwen3-Next has it."""
    key_heads = section.count("linear_num_key_heads")
    value_heads = section.count("linear_num_value_heads")
    key_dim = section.count("linear_key_head_dim")
    value_dim = section.count("linear_value_head_dim")
    kernel = section.count("linear_conv_kernel_dim", most=_LONGEST_KERNEL)
    values = value_heads * value_dim
    convolved = 2 * key_heads * key_dim + values
    projections = hidden * (convolved + 2 * values + 2 * value_heads)
    weights = projections + convolved * kernel + 2 * value_heads + value_dim
    return weights, value_heads * key_dim * value_dim, convolved * (kernel - 1)


def _short_convolution(section: ConfigSection, hidden: int) -> tuple[int, int, int]:
    """The same of a gated short convolution, as LFM2 has it: the last inputs are all its state."""
    kernel = section.count("conv_L_cache", most=_LONGEST_KERNEL)
    biases = 5 * hidden if section.truth("conv_bias") else 0
    return hidden * (4 * hidden + kernel) + biases, 0, hidden * (kernel - 1)


@dataclass(frozen=True, slots=True)
class Tower:
    """A tower with what joins it to the decoder."""

    parameters: int
    patches_per_image_token: int
    """Patches of a picture that become one token of the prompt."""


def read_tower(whole: ConfigSection, tower: ConfigSection, kind: TowerType, hidden: int) -> Tower:
    """Count a tower whose pictures become tokens of a decoder of this width.

    Mistakes are noted in the findings that both sections share.
    """

    def figure(name: str) -> int:
        return tower.count(kind.names.get(name, name))

    layers, width, patch = (
        figure(name) for name in ("num_hidden_layers", "hidden_size", "patch_size")
    )
    ratio = tower.optional("mlp_ratio")
    wide = width * ratio if ratio else figure("intermediate_size")
    norm = 2 * width if kind.centred else width
    matrices = 4 * width * width + (3 if kind.gated else 2) * width * wide
    bias = 4 * width + (2 if kind.gated else 1) * wide + width if kind.biased else 0
    layer = matrices + bias + 2 * norm + (2 * width if kind.scaled else 0)
    frames = tower.optional("temporal_patch_size") or 1
    pixels = 3 * frames * patch * patch * width + (width if kind.patch_bias else 0)
    grid = (tower.count("image_size") // patch) ** 2 if kind.positions == "grid" else 0
    if kind.positions == "stated":
        grid = tower.count("num_position_embeddings")
    once = 2 if kind.class_token else 0  # the token, and its position where these are learned
    joint, patches = _joint(whole, tower, kind, width, hidden, grid)
    total = layers * layer + pixels + (grid + once) * width + kind.norms * norm + joint
    return Tower(parameters=total, patches_per_image_token=patches)


def _joint(
    whole: ConfigSection, tower: ConfigSection, kind: TowerType, width: int, hidden: int, grid: int
) -> tuple[int, int]:
    """Parameters of what joins the tower to the decoder, and the patches that make one token."""
    if kind.joined == "projection":
        return width * hidden + width, max(1, grid // whole.count("mm_tokens_per_image"))
    if kind.joined == "mlp":
        return width * hidden + hidden * hidden + 2 * hidden, 1
    if kind.joined == "pixel-shuffle":
        merged = 4 * width
        return 2 * merged + merged * hidden + hidden * hidden + 2 * hidden, 4
    if kind.joined == "patch-merger":
        merged = whole.count("spatial_merge_size") ** 2
        return width + merged * width * width + width * hidden + hidden * hidden, merged
    merged = tower.count("spatial_merge_size") ** 2
    across, out = merged * width, tower.count(kind.names.get("out_hidden_size", "out_hidden_size"))
    norm = 2 if kind.centred else 1
    merger = across * across + across + across * out + out
    deep = len(tower.items("deepstack_visual_indexes", int) or ())
    return merger + norm * width + deep * (merger + norm * across), merged
