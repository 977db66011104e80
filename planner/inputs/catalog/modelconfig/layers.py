"""Which layers of a decoder hold what, as its configuration tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.inputs.catalog.modelconfig.figures import MOST_LAYERS
from planner.inputs.catalog.modelconfig.types import EXPERT_KEYS

if TYPE_CHECKING:
    from planner.inputs.catalog.modelconfig.figures import Reader
    from planner.inputs.catalog.modelconfig.section import Section

__all__ = ["Sorts", "count_layers", "sort_layers"]

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
