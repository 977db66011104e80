"""A Hugging Face configuration, read: its section, what its type means, and the decoder and tower.

What each `model_type` means stands in catalog/model-types.yaml; the widths, caches and parameters
follow from the keys of the configuration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from typing import Any, Literal, NamedTuple

from pydantic import Field

from planner.errors import Finding
from planner.inputs.base import Frozen
from planner.inputs.reading.diagnostics import validate
from planner.inputs.reading.document import Path, YamlDocument, dotted
from planner.inputs.reading.locate import MODEL_TYPES, shipped
from planner.inputs.reading.reader import read_document
from planner.inputs.text import described

_MOST_LAYERS = 10_000
_MOST_HEADS = _MOST_EXPERTS = 100_000
_LONGEST_KERNEL = _MOST_TIMES = 1000
_WIDEST = 10_000_000


class ModelType(Frozen):
    """How to read the configuration of one kind of decoder or encoder."""

    encoder: bool = False
    """Whether every token sees all others."""
    gated: bool = True
    """Three feed-forward matrices, not two."""
    clamped: bool = False
    """Whether experts clamp gate and up before they are multiplied."""
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
    slides: Literal["never", "all", "even", "pattern", "but-first", "late", "chunks"] = "never"
    """Which layers see only a window, where `layer_types` does not tell."""
    experts: bool = False
    shared_experts: int = 0
    """Experts that every token passes, where the configuration does not tell."""
    shared_gate: bool = False
    latent: bool = False
    """Multi-head latent attention."""
    recurrence: Literal["mamba", "mamba2", "delta", "conv"] | None = None
    two_thirds_wide: bool = False
    """Whether the dense block has two thirds of the stated width, rounded up, as LFM2's has."""
    output_gate: bool = False
    """Whether attention has a second query matrix that gates its output."""
    names: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Keys of the configuration, where they are not the usual ones."""
    defaults: dict[str, int] = Field(default_factory=dict)
    """What a missing key stands for, by the usual name."""


class TowerType(Frozen):
    """How to count one kind of tower, a transformer over the patches of a picture."""

    gated: bool = False
    """Three feed-forward matrices, not two."""
    biased: bool = True
    """Whether the matrices of a layer have a bias."""
    centred: bool = True
    """Whether norms shift as well as scale (two vectors each)."""
    scaled: bool = False
    """Whether what attention and feed-forward block add is scaled, by a vector each."""
    patch_bias: bool = True
    positions: Literal["rotary", "grid", "stated"] = "rotary"
    """Positions that are learned: none, one for each patch of `image_size`, or as stated."""
    class_token: bool = False
    norms: int = 0
    """Normalizing vectors beside those of the layers."""
    joined: Literal["projection", "mlp", "patch-merger", "pixel-shuffle", "merger"]
    """What joins it to the decoder."""
    names: dict[str, str] = Field(default_factory=dict)
    """Keys of the configuration, where they are not the usual ones."""


class ModelTypes(Frozen):
    """The table of types."""

    read: dict[str, ModelType]
    """Decoders and encoders that have a formula."""
    towers: dict[str, TowerType]
    """Towers that have one."""
    refused: dict[str, tuple[str, ...]]
    """Why some types have none, and which."""
    foreign: dict[str, tuple[str, ...]]
    """What keys say that make a model another than its type says, wherever they mean something."""

    def why_not(self, name: str | None) -> str | None:
        """Return why a type has no formula; None for those that have one, and for unknown ones."""
        return next((why for why, names in self.refused.items() if name in names), None)


@cache
def model_types() -> ModelTypes:
    """Read the table, once."""
    name = f"catalog/{MODEL_TYPES}"
    return validate(read_document(shipped("catalog") / MODEL_TYPES, shown_as=name), ModelTypes)


_EXPERT_KEYS = ("num_local_experts", "num_experts", "n_routed_experts")
_MAMBA_KEYS = (
    *("hybrid_override_pattern", "mamba_d_state", "mamba_n_heads", "mamba_num_heads"),
    *("ssm_state_size", "state_size"),
)
_DELTA_KEYS = ("full_attention_interval", "linear_num_value_heads", "linear_value_head_dim")


def structure_keys(kind: ModelType) -> dict[str, str]:
    """Return keys that have no meaning in this kind of model, and what they stand for."""
    without = {
        "a mixture of experts": () if kind.experts else _EXPERT_KEYS,
        "latent attention": () if kind.latent else ("kv_lora_rank",),
        "Mamba layers": () if kind.recurrence in ("mamba", "mamba2") else _MAMBA_KEYS,
        "short convolutions": () if kind.recurrence == "conv" else ("conv_L_cache",),
        "linear attention": () if kind.recurrence == "delta" else _DELTA_KEYS,
    }
    return {key: meaning for meaning, keys in without.items() for key in keys}


_CALLED = {"expert_intermediate": ("intermediate_size",)}
"""Figures that most configurations call by another's name."""
_AS_LLAMA = ModelType()


@dataclass(frozen=True, slots=True, eq=False)
class ConfigSection:
    """One object of the file; what is wrong in it is gathered in `findings`, shared by all."""

    document: YamlDocument
    """The file; JSON is read as YAML."""
    data: Mapping[str, Any]
    findings: list[Finding]
    kind: ModelType = _AS_LLAMA
    path: Path = ()

    def within(self, name: str) -> ConfigSection | None:
        """Return the object of this name, or None."""
        value = self.data.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.fault(name, f"{described(value)} is not an object")
            return None
        return replace(self, data=value, path=(*self.path, name))

    def fault(self, name: str, message: str, hint: str | None = None) -> None:
        """Record a mistake at a key, but no second one at the same key."""
        path = (*self.path, name)
        if all(finding.path != dotted(path) for finding in self.findings):
            self.findings.append(self.document.finding(path, message, hint))

    def says(self, name: str) -> bool:
        """Return whether the key is there and means something: not null, false, 0 or empty."""
        return bool(self.data.get(name))

    def count(self, *names: str, least: int = 1, most: int = _WIDEST) -> int:
        """Return a whole number that must be there; record it if it is missing or wrong."""
        found = self.optional(*names, least=least, most=most)
        if found is None:
            keys = self._keys(names)
            if all(self.data.get(key) is None for key in keys):
                self.fault(keys[0], "is missing")
            return least
        return found

    def optional(self, *names: str, least: int = 1, most: int = _WIDEST) -> int | None:
        """Return a whole number under the first name that has one, or the default."""
        present = [key for key in self._keys(names) if self.data.get(key) is not None]
        figures = {key: self._whole(key, least, most) for key in present}
        if len({figure for figure in figures.values() if figure is not None}) > 1:
            first, second = present[:2]
            message = f"{figures[first]} contradicts `{second}`, which is {figures[second]}"
            self.fault(first, message)
        return figures[present[0]] if present else self.kind.defaults.get(names[0])

    def _keys(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return what configurations of this type call a figure with a usual name."""
        if len(names) > 1:
            return names
        return self.kind.names.get(names[0], _CALLED.get(names[0], names))

    def has(self, bias: bool | str) -> bool:
        """Return whether there is a bias, which a key may say."""
        return self.truth(bias) if isinstance(bias, str) else bias

    def truth(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean."""
        value = self.data.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.fault(name, f"{described(value)} is not true or false")
            return default
        return value

    def text_of(self, name: str) -> str | None:
        """Return a text, or None."""
        value = self.data.get(name)
        if value is not None and not isinstance(value, str):
            self.fault(name, f"{described(value)} is not text")
            return None
        return value

    def items(self, name: str, kind: type, length: int | None = None) -> list[Any] | None:
        """Return a list whose items are all of one kind, or None."""
        value = self.data.get(name)
        if value is None:
            return None
        right = isinstance(value, tuple) and all(type(item) is kind for item in value)
        if not right:
            self.fault(name, f"is not a list of {'texts' if kind is str else 'whole numbers'}")
            return None
        # Where something is wrong already, the length to compare with may be, too.
        if length is not None and len(value) != length and not self.findings:
            self.fault(name, f"has {len(value)} entries for {length} layers")
            return None
        return list(value)

    def _whole(self, name: str, least: int, most: int) -> int | None:
        value = self.data[name]
        told, hint = described(value), None
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or value % 1:
            if isinstance(value, str) and re.fullmatch(r"[0-9]{1,12}", value):
                hint = f"write it without quotes: {value}"
            self.fault(name, f"{told} is not a whole number", hint)
        elif value < least:
            self.fault(name, f"{told} is too small, the least is {least}")
        elif value > most:
            self.fault(name, f"{told} is too large, the most is {most:,}")
        else:
            return int(value)
        return None


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
    """What a configuration says of a model."""

    figures: dict[str, object]
    """By the keys of the catalog."""
    parameters: int
    used: int
    """Of these, those that one token passes."""


def read_decoder(section: ConfigSection, *, tied: bool) -> Decoder:
    """Read a decoder; what is missing or wrong is recorded in the section's findings.

    `tied` applies if the section does not say whether embeddings are tied.
    """
    kind = section.kind
    blocks = section.items("layers_block_type", str)
    if blocks and section.data.get("num_hidden_layers") is None:
        layers = min(len(blocks), _MOST_LAYERS)
    else:
        layers = section.count("num_hidden_layers", most=_MOST_LAYERS)
    hidden = section.count("hidden_size")
    context = section.count("max_position_embeddings", most=10**9)
    sorts = _sort_layers(section, layers)
    vocab = section.count("vocab_size", most=10**8)
    tied = section.truth("tie_word_embeddings", default=tied)
    intermediate = _intermediate(section, hidden, sorts.dense)
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
    if sum(sorts) == layers:
        figures["blocks_per_layer"] = 1
    if kind.encoder or section.truth("use_bidirectional_attention"):
        figures["encoder"] = True
    every = used = 0
    if sorts.mixture:
        figures["dense_layers"] = layers - sorts.mixture
        every, used = (sorts.mixture * one for one in _mixture(section, figures, hidden))
    rest = sorts.attention * _attention(section, figures, layers, hidden, context)
    if sorts.recurrent:
        rest += sorts.recurrent * _recurrence(section, figures, sorts, hidden)
    if intermediate is not None:
        rest += sorts.dense * _block(section, hidden, intermediate)
    rest += (1 if tied else 2) * vocab * hidden
    rest += context * hidden if kind.positions else 0
    rest += (section.optional("type_vocab_size", least=0) or 0) * hidden
    rest += vocab if kind.head_bias else 0
    norms = layers * kind.norms + (1 if kind.norms else 0)
    rest += norms * hidden * (2 if kind.centred else 1)
    return Decoder(figures, rest + every, rest + used)


class _Sorts(NamedTuple):
    """How many layers hold what; a layer may hold a mixer and a feed-forward block, or just one."""

    attention: int
    recurrent: int
    dense: int
    mixture: int


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
    """Read Nemotron-H's pattern: a letter for each layer.

    Mamba, attention, feed-forward or experts.
    """
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
    """Return the layers of a hybrid that attend; the others are recurrent."""
    recurrence = section.kind.recurrence
    sorts = section.items("layer_types", str, layers)
    if sorts is not None:
        attending = ("attention", "full_attention")
        recurrent = ("conv",) if recurrence == "conv" else ("mamba", "linear_attention")
        odd = sorted(set(sorts).difference(attending, recurrent))
        if odd:
            section.fault("layer_types", f"{odd[0]!r} is a sort of layer without a formula here")
        return sum(sort in attending for sort in sorts)
    if recurrence == "delta":
        return layers // section.count("full_attention_interval", most=_MOST_LAYERS)
    if recurrence == "mamba":
        return _every(section, layers, "attn_layer")
    if recurrence == "conv" and section.says("full_attn_idxs"):
        return len({*(section.items("full_attn_idxs", int) or ())} & {*range(layers)})
    section.fault("layer_types", "is missing: nothing tells which layers attend")
    return layers


def _every(section: ConfigSection, layers: int, what: str) -> int:
    period = section.count(f"{what}_period", most=_MOST_LAYERS)
    offset = section.count(f"{what}_offset", least=0, most=_MOST_LAYERS)
    return len(range(offset, layers, period))


def _mixture_layers(section: ConfigSection, layers: int) -> int:
    """Return the layers with experts instead of a dense block."""
    if not section.optional(*_EXPERT_KEYS, least=0, most=_MOST_EXPERTS):
        return 0
    if section.says("expert_layer_period"):
        return _every(section, layers, "expert_layer")
    if isinstance(section.data.get("moe_layer_freq"), tuple):
        return sum(section.items("moe_layer_freq", int, layers) or ())
    dense = {*(section.items("mlp_only_layers", int) or ())}
    dense |= {*range(section.optional("first_k_dense_replace", least=0, most=layers) or 0)}
    steps = {key: section.optional(key, least=0, most=_MOST_LAYERS) for key in _STEPS}
    step_key, step = next(((key, step) for key, step in steps.items() if step), (None, 1))
    # DeepSeek counts its step from the first layer, Qwen and Llama from the one before it.
    start = 0 if step_key == "moe_layer_freq" else step - 1
    return len([layer for layer in range(start, layers, step) if layer not in dense])


def _intermediate(section: ConfigSection, hidden: int, dense_layers: int) -> int | None:
    """Return the width of the dense block.

    GPT-2 and Falcon omit it if it is four times as wide.
    """
    kind = section.kind
    if not dense_layers:
        return section.optional("intermediate_size")
    if kind.recurrence == "mamba2" and section.says("shared_intermediate_size"):
        # Granite 4 without experts: the block is what would be the shared expert.
        return section.count("shared_intermediate_size")
    if "hidden_size" in kind.names or "num_key_value_heads" in kind.names:
        return section.optional("intermediate_size") or 4 * hidden
    if kind.two_thirds_wide and section.truth("block_auto_adjust_ff_dim", default=True):
        # LFM2; a further factor is refused, no published model has one
        section.optional("block_ffn_dim_multiplier", most=1)
        unit = section.optional("block_multiple_of") or 256
        return unit * -(-(2 * section.count("intermediate_size") // 3) // unit)
    wide = section.optional("dense_intermediate_size")
    return section.count("intermediate_size") if wide is None else wide


def _block(section: ConfigSection, hidden: int, width: int, *, bias: bool | None = None) -> int:
    """Return the parameters of a feed-forward block."""
    matrices = 3 if section.kind.gated else 2
    biased = section.has(section.kind.mlp_bias) if bias is None else bias
    return matrices * hidden * width + ((matrices - 1) * width + hidden if biased else 0)


def _attention(
    section: ConfigSection, figures: dict[str, object], layers: int, hidden: int, context: int
) -> int:
    """Return the parameters of one attending layer; its heads and cache join the figures."""
    kind = section.kind
    heads = section.count("num_attention_heads", most=_MOST_HEADS)
    if kind.latent:
        kv_heads = heads
        head_dim, figures["kv_latent_dim"], weights = _latent(section, hidden, heads)
    else:
        kv_heads, head_dim = _kv_heads(section, heads), _head_dim(section, hidden, heads)
        queries, keys = heads * head_dim, kv_heads * head_dim
        inputs = queries + (queries if kind.output_gate else 0) + 2 * keys
        weights = hidden * (inputs + queries)
        weights += inputs if section.has(kind.qkv_bias) else 0
        weights += hidden if section.has(kind.out_bias) else 0
        normed = {"none": 0, "head": 2, "all": heads + kv_heads}
        weights += normed[kind.head_norm] * head_dim
    # a hybrid, whose recurrent layers are read later, says so then
    figures |= {"attention": "mla" if kind.latent else "gqa"}
    figures |= {"heads": heads, "kv_heads": kv_heads, "head_dim": head_dim}
    window, sliding = _window(section, layers, context)
    if window is not None:
        figures |= {"sliding_window": window, "sliding_layers": sliding}
    return weights


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


def _latent(section: ConfigSection, hidden: int, heads: int) -> tuple[int, int, int]:
    """Multi-head latent attention: width of a key, elements kept per token, parameters."""
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
    return head_dim, kv_rank + rotary_dim + index_dim, weights


def _window(section: ConfigSection, layers: int, context: int) -> tuple[int | None, int]:
    """Return the tokens that sliding layers see, and how many slide.

    A window as wide as the context is none. Code that slides all layers, such as Mistral's, does
    so whenever a window is given.
    """
    slides = section.kind.slides
    key = "attention_chunk_size" if slides == "chunks" else "sliding_window"
    window = section.optional(key, most=10**9)
    if window is None or window >= context or not section.truth("use_sliding_window", default=True):
        return None, 0
    sorts = section.items("layer_types", str, layers)
    sliding = 0
    if sorts is not None:
        sliding = sum(sort in ("sliding_attention", "chunked_attention") for sort in sorts)
    elif slides == "all":
        sliding = layers
    elif slides == "even":
        sliding = (layers + 1) // 2
    elif slides == "pattern":
        every = section.optional("sliding_window_pattern")
        sliding = layers - layers // (every or section.count("_sliding_window_pattern"))
    elif slides == "but-first":
        sliding = layers - -(-layers // (section.optional("sliding_window_pattern") or 1))
    elif slides == "late" and section.truth("use_sliding_window"):
        first = section.count("max_window_layers", least=0, most=_MOST_LAYERS)
        sliding = max(layers - first, 0)
    elif slides == "chunks":
        rotary = section.items("no_rope_layers", int, layers)
        sliding = sum(rotary) if rotary else layers - layers // 4
    return (window, sliding) if sliding else (None, 0)


def _mixture(section: ConfigSection, figures: dict[str, object], hidden: int) -> tuple[int, int]:
    """Return router, routed and shared experts of a layer: all, and what one token uses."""
    experts = section.count(*_EXPERT_KEYS, most=_MOST_EXPERTS)
    per_token = section.count(
        "num_experts_per_tok", "experts_per_token", "num_experts_per_token", most=_MOST_EXPERTS
    )
    if per_token > experts and not section.findings:
        section.fault("num_experts_per_tok", f"{per_token} is more than all {experts} experts")
    width = section.optional("moe_intermediate_size")
    if width is None:
        width = section.count("expert_intermediate")
    shared_key = next((key for key in _SHARED if section.says(key)), None)
    if shared_key is not None:
        shared_width = section.count(shared_key)
    else:
        shared = section.optional("n_shared_experts", "num_shared_experts", least=0, most=1000)
        shared_width = width * (section.kind.shared_experts if shared is None else shared)
    # to which tokens are compressed before they enter the routed experts, if they are
    latent = section.optional("moe_latent_size")
    routing = experts * (hidden + (1 if section.has(section.kind.mlp_bias) else 0))
    routing += 2 * hidden * (latent or 0)
    if shared_width:
        routing += _block(section, hidden, shared_width, bias=False)
        routing += hidden if section.kind.shared_gate else 0
    expert = _block(section, latent or hidden, width)
    figures |= {
        "experts": experts,
        "experts_per_token": per_token,
        "expert_intermediate": width,
        "shared_expert_intermediate": shared_width,
    }
    return routing + experts * expert, routing + per_token * expert


def _recurrence(
    section: ConfigSection, figures: dict[str, object], sorts: _Sorts, hidden: int
) -> int:
    """Parameters of a layer that keeps a state, and the last inputs of its convolution."""
    precision = section.text_of("mamba_ssm_cache_dtype") or section.text_of("mamba_ssm_dtype")
    read = {"mamba": _mamba, "mamba2": _mamba2, "delta": _delta, "conv": _short_convolution}
    weights, state, window = read[section.kind.recurrence or ""](section, hidden)
    kept = state * (4 if precision == "float32" else 2) + window * _CONVOLUTION_BYTES
    figures |= {
        "attention": "hybrid",
        "kv_layers": sorts.attention,
        "state_mb_per_sequence": Decimal(sorts.recurrent * kept).scaleb(-6),
    }
    return weights


def _mamba(section: ConfigSection, hidden: int) -> tuple[int, int, int]:
    """Return parameters, state elements and convolution inputs of a Mamba layer.

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
    """Return the same of a Mamba-2 layer."""
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
    """Return the same of a gated delta-rule layer, as Qwen3-Next has it."""
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
    """Return the same of a gated short convolution, as LFM2 has: the last inputs are its state."""
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
    """Read a tower whose pictures become tokens of a decoder of this width.

    Mistakes are recorded in the findings that both sections share.
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
    """Return the parameters that join the tower to the decoder, and the patches of one token."""
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
