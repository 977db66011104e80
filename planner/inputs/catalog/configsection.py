"""What each `model_type` of a Hugging Face configuration means, from catalog/model-types.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from typing import Any, Literal

from pydantic import Field

from planner.errors import Finding
from planner.inputs.base import Frozen
from planner.inputs.reading.diagnostics import validate
from planner.inputs.reading.document import Path, YamlDocument, dotted
from planner.inputs.reading.locate import MODEL_TYPES, shipped
from planner.inputs.reading.reader import read_document
from planner.inputs.text import described


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
        """Why a type has no formula; None of those that have one, and of unknown ones."""
        return next((why for why, names in self.refused.items() if name in names), None)


@cache
def model_types() -> ModelTypes:
    """Read the table, once."""
    name = f"catalog/{MODEL_TYPES}"
    return validate(read_document(shipped("catalog") / MODEL_TYPES, shown_as=name), ModelTypes)


EXPERT_KEYS = ("num_local_experts", "num_experts", "n_routed_experts")
_LATENT_KEYS = ("kv_lora_rank",)
_MAMBA_KEYS = (
    *("hybrid_override_pattern", "mamba_d_state", "mamba_n_heads", "mamba_num_heads"),
    *("ssm_state_size", "state_size"),
)
_CONVOLUTION_KEYS = ("conv_L_cache",)
_DELTA_KEYS = ("full_attention_interval", "linear_num_value_heads", "linear_value_head_dim")


def structure_keys(kind: ModelType) -> dict[str, str]:
    """Keys that have no meaning in this kind of model, and what they stand for."""
    without = {
        "a mixture of experts": () if kind.experts else EXPERT_KEYS,
        "latent attention": () if kind.latent else _LATENT_KEYS,
        "Mamba layers": () if kind.recurrence in ("mamba", "mamba2") else _MAMBA_KEYS,
        "short convolutions": () if kind.recurrence == "conv" else _CONVOLUTION_KEYS,
        "linear attention": () if kind.recurrence == "delta" else _DELTA_KEYS,
    }
    return {key: meaning for meaning, keys in without.items() for key in keys}


WIDEST = 10_000_000
_CALLED = {"expert_intermediate": ("intermediate_size",)}
"""Figures that most configurations call by the name of another."""
_AS_LLAMA = ModelType()


@dataclass(frozen=True, slots=True, eq=False)
class ConfigSection:
    """One object of the file; what is wrong in it is gathered in `findings`, shared by all."""

    document: YamlDocument
    """The file; JSON reads as YAML."""
    data: Mapping[str, Any]
    findings: list[Finding]
    kind: ModelType = _AS_LLAMA
    path: Path = ()

    def within(self, name: str) -> ConfigSection | None:
        """Give the object of this name; None where there is none."""
        value = self.data.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.fault(name, f"{described(value)} is not an object")
            return None
        return replace(self, data=value, path=(*self.path, name))

    def fault(self, name: str, message: str, hint: str | None = None) -> None:
        """Note a mistake at a key; what follows from it at the same key says nothing new."""
        path = (*self.path, name)
        if all(finding.path != dotted(path) for finding in self.findings):
            self.findings.append(self.document.finding(path, message, hint))

    def says(self, name: str) -> bool:
        """Whether the key is there and means something: neither null nor false, 0 or empty."""
        return bool(self.data.get(name))

    def count(self, *names: str, least: int = 1, most: int = WIDEST) -> int:
        """Give a whole number that must be there; where it is missing or wrong, note it."""
        found = self.optional(*names, least=least, most=most)
        if found is None:
            keys = self._keys(names)
            if all(self.data.get(key) is None for key in keys):
                self.fault(keys[0], "is missing")
            return least
        return found

    def optional(self, *names: str, least: int = 1, most: int = WIDEST) -> int | None:
        """Give a whole number under the first name that has one, or what its absence stands for."""
        present = [key for key in self._keys(names) if self.data.get(key) is not None]
        figures = {key: self._whole(key, least, most) for key in present}
        if len({figure for figure in figures.values() if figure is not None}) > 1:
            first, second = present[:2]
            message = f"{figures[first]} contradicts `{second}`, which is {figures[second]}"
            self.fault(first, message)
        return figures[present[0]] if present else self.kind.defaults.get(names[0])

    def _keys(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """What configurations of this type call a figure that is asked for by its usual name."""
        if len(names) > 1:
            return names
        return self.kind.names.get(names[0], _CALLED.get(names[0], names))

    def has(self, bias: bool | str) -> bool:
        """Whether there is a bias, which a key may say."""
        return self.truth(bias) if isinstance(bias, str) else bias

    def truth(self, name: str, *, default: bool = False) -> bool:
        """Give a true or false."""
        value = self.data.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.fault(name, f"{described(value)} is not true or false")
            return default
        return value

    def text_of(self, name: str) -> str | None:
        """Give a text; None where there is none."""
        value = self.data.get(name)
        if value is not None and not isinstance(value, str):
            self.fault(name, f"{described(value)} is not text")
            return None
        return value

    def items(self, name: str, kind: type, length: int | None = None) -> list[Any] | None:
        """Give a list whose items are all of one kind; None where there is none."""
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
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            hint = f"write it without quotes: {value}" if _is_figure(value) else None
            self.fault(name, f"{described(value)} is not a whole number", hint)
        elif value < least:
            self.fault(name, f"{described(value)} is too small, the least is {least}")
        elif value > most:
            self.fault(name, f"{described(value)} is too large, the most is {most:,}")
        elif value != int(value):
            self.fault(name, f"{described(value)} is not a whole number")
        else:
            return int(value)
        return None


def _is_figure(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"[0-9]{1,12}", value))
