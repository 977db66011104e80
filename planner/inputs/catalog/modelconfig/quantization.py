"""How wide the weights are that a configuration's quantization block describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.text.words import described

if TYPE_CHECKING:
    from planner.inputs.catalog.modelconfig.section import Section

__all__ = ["native_bits"]

_WIDTHS = {
    "fp8": 8,
    "fbgemm_fp8": 8,
    "finegrained_fp8": 8,
    "eetq": 8,
    "mxfp4": 4,
    "nvfp4": 4,
}
"""Methods and algorithms whose name is a width."""
_STATES_BITS = ("gptq", "awq", "auto-round", "auto_round", "autoround", "hqq", "aqlm", "higgs")
_QUANTIZATION = "quantization_config"


def native_bits(whole: Section, decoder: Section) -> int | None:
    """Width of most weights in bit; None where they are not quantized.

    A block that tells no width, or two, is noted in the findings.
    """
    section = whole.within(_QUANTIZATION) or decoder.within(_QUANTIZATION)
    if section is None:
        return None
    method = (section.text_of("quant_method") or "").lower()
    algorithm = (section.text_of("quant_algo") or "").lower()
    if method == "bitsandbytes":
        return _bitsandbytes(section)
    if method == "compressed-tensors" or section.says("config_groups"):
        return _groups(section)
    if method in _STATES_BITS or (not method and section.says("bits")):
        return section.count("bits", "nbits", "w_bit", least=2, most=16)
    for name in (algorithm, method):
        if name in _WIDTHS:
            return _WIDTHS[name]
    key = "quant_algo" if algorithm else "quant_method"
    section.fault(
        key,
        f"{described(section.data.get(key))} tells no width of the weights",
        "leave the block out and state the width as `base_bits` or `bits` of the job",
    )
    return None


def _bitsandbytes(section: Section) -> int | None:
    four, eight = section.truth("load_in_4bit"), section.truth("load_in_8bit")
    if four and eight:
        section.fault("load_in_8bit", "contradicts `load_in_4bit`, only one can be true")
    elif not four and not eight:
        section.fault("load_in_4bit", "or `load_in_8bit` must be true in a block of bitsandbytes")
    return 4 if four else 8


def _groups(section: Section) -> int | None:
    """Give the width of the groups; of several the widest, so that nothing is planned too small."""
    groups = section.within("config_groups")
    widths = []
    for name in groups.data if groups else ():
        group = groups.within(name) if groups else None
        weights = group.within("weights") if group else None
        if weights:
            widths.append(weights.count("num_bits", least=2, most=16))
    if not widths:
        section.fault("config_groups", "tells no width of the weights")
    return max(widths, default=None)
