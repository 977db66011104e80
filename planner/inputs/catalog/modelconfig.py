"""A Hugging Face `config.json` as a model: shape and parameters, without running anything.

Only decoders whose memory has a formula are read. Everything else is refused by name: an encoder, a
type that is not listed, or a key that makes a listed type another model than its name says.
"""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Annotated, cast

from pydantic import Field

from planner.errors import Finding, InputError, refuse
from planner.inputs.base import LARGEST_COUNT, Frozen, Name
from planner.inputs.catalog.catalog import Model
from planner.inputs.catalog.decoder import (
    ConfigSection,
    ModelType,
    Tower,
    model_types,
    read_decoder,
    read_tower,
    structure_keys,
)
from planner.inputs.reading.diagnostics import validate, validate_values
from planner.inputs.reading.document import YamlDocument
from planner.inputs.reading.locate import InputFile, Located, fault_of_path
from planner.inputs.reading.reader import read_document
from planner.inputs.text import described, did_you_mean

LARGEST_MODEL = 100_000 * 10**9

_INSTEAD = "give `parameters_b`, or a fixed job with the memory that was measured"

_NESTED = ("text_config", "llm_config", "language_config")


def read_model_config(path: Path) -> tuple[str, Model]:
    """Read a model's configuration, or the one in a folder, as an id and a model.

    The id is the folder's name. Raises InputError with all mistakes of the file at once.
    """
    if path.is_dir():
        path = path / "config.json"
    named = path.resolve().parent.name if path.name == "config.json" else path.stem
    return parsed_model_config(read_document(path), named)


def parsed_model_config(document: YamlDocument, named: str) -> tuple[str, Model]:
    """Turn a configuration into an id, made of `named`, and a model.

    Raises InputError with all mistakes at once.
    """
    whole = ConfigSection(document, document.data, [])
    # the part that describes the decoder: the whole file, or the text part of several
    parts = (whole.within(name) for name in _NESTED)
    section = next((part for part in parts if part is not None), whole)
    kind = _kind(section, whole)
    section = replace(section, kind=kind)
    tied = whole.truth("tie_embedding", default=kind.tied)
    tied = whole.truth("tie_word_embeddings", default=tied)
    decoder = read_decoder(section, tied=tied)
    pictures, tower = whole.within("vision_config"), None
    if pictures is not None:
        name = pictures.text_of("model_type") or str(whole.data["model_type"])
        sort = model_types().towers.get(name)
        width = cast("int", decoder.figures["hidden"])
        tower = None if sort is None else read_tower(whole, pictures, sort, width)
    bits = _native_bits(whole, section)
    if decoder.parameters > LARGEST_MODEL:
        billions = decoder.parameters // 10**9
        section.fault("hidden_size", f"makes a model of {billions:,} billion parameters")
    if section.findings:
        raise InputError(*sorted(section.findings, key=lambda finding: finding.line or 0))
    model_id = re.sub(r"[^A-Za-z0-9._-]+", "-", named).strip("-.")[:100].lower() or "model"
    mixture = "experts" in decoder.figures
    figures = {
        "name": model_id,
        "parameters_b": Decimal(decoder.parameters).scaleb(-9),
        "active_parameters_b": Decimal(decoder.used).scaleb(-9) if mixture else None,
        "native_bits": bits,
        "tower_parameters_b": Decimal(tower.parameters).scaleb(-9) if tower else None,
        "patches_per_image_token": tower.patches_per_image_token if tower else None,
        "source": f"its config.json (sha256 {document.sha256[:12]})",
        "basis": "derived",
        "note": _left_out(whole, section, tower),
        "scaled_context": _scaled_context(section, cast("int", decoder.figures["max_context"])),
    }
    return model_id, validate_values(
        figures | decoder.figures, Model, lambda path: f"{document.shown_as}: {path}"
    )


def _left_out(whole: ConfigSection, section: ConfigSection, tower: Tower | None) -> str | None:
    """Say which weights of the published files the parameters do not hold."""
    parts = []
    if whole.says("audio_config") and tower is not None:
        parts.append("what reads sound")
    elif tower is None and (section.path or whole.says("vision_config")):
        parts.append("what reads pictures or sound")
    if section.says("num_nextn_predict_layers") or section.says("mtp_num_hidden_layers"):
        parts.append("the layers that predict further tokens")
    alone = "" if tower else "decoder alone, "
    return f"{alone}without {' and '.join(parts)}" if parts else None


def _scaled_context(section: ConfigSection, context: int) -> int | None:
    """Tokens that a declared rope scaling stretches the context to, as vLLM counts them."""
    scaling = section.data.get("rope_scaling")
    if not isinstance(scaling, dict):
        return None
    factor, native = scaling.get("factor"), scaling.get("original_max_position_embeddings", context)
    if not all(type(figure) in (int, Decimal) for figure in (factor, native)):
        return None
    stretched = int(min(factor * native, LARGEST_COUNT))
    return stretched if stretched > context else None


def _kind(section: ConfigSection, whole: ConfigSection) -> ModelType:
    """Find out what kind of model it is; raises InputError where it has no formula.

    Keys that would make the model another one than its type says are noted.
    """
    types = model_types()
    name = section.text_of("model_type")
    why_not = types.why_not(str(whole.data.get("model_type"))) or types.why_not(name)
    if name is None and whole.says("_class_name"):
        whole.fault("_class_name", "is a diffusion pipeline and has no formula here", _INSTEAD)
    elif name is None and not section.findings:
        section.fault("model_type", "is missing, so nothing tells what the figures mean", _INSTEAD)
    elif why_not:
        told = f"{described(name)} {why_not} and has no formula here"
        section.fault("model_type", told, _INSTEAD)
    elif name is not None and name not in types.read:
        near = did_you_mean(name, types.read)
        section.fault("model_type", f"{described(name)} has no formula here", near or _INSTEAD)
    refuse(section.findings)
    kind = types.read[str(name)]
    faults = {
        key: f"says that the model {reason} and has no formula here"
        for reason, keys in types.foreign.items()
        for key in keys
    }
    for key, meaning in structure_keys(kind).items():
        faults.setdefault(key, f"is a key of {meaning}, which {name} is without")
    for key in filter(section.says, faults):
        section.fault(key, faults[key], _INSTEAD)
    return kind


_WIDTHS = {
    **dict.fromkeys(("fp8", "fbgemm_fp8", "finegrained_fp8", "eetq"), 8),
    **dict.fromkeys(("mxfp4", "nvfp4"), 4),
}
"""Methods and algorithms whose name is a width."""

_STATES_BITS = ("gptq", "awq", "auto-round", "auto_round", "autoround", "hqq", "aqlm", "higgs")
_QUANTIZATION = "quantization_config"


def _native_bits(whole: ConfigSection, decoder: ConfigSection) -> int | None:
    """Width of most weights in bit; None where they are not quantized.

    A block that tells no width, or two, is noted in the findings.
    """
    section = whole.within(_QUANTIZATION) or decoder.within(_QUANTIZATION)
    if section is None:
        return None
    method = (section.text_of("quant_method") or "").lower()
    algorithm = (section.text_of("quant_algo") or "").lower()
    if method == "bitsandbytes":
        four, eight = section.truth("load_in_4bit"), section.truth("load_in_8bit")
        if four and eight:
            section.fault("load_in_8bit", "contradicts `load_in_4bit`, only one can be true")
        elif not four and not eight:
            message = "or `load_in_8bit` must be true in a block of bitsandbytes"
            section.fault("load_in_4bit", message)
        return 4 if four else 8
    if method == "compressed-tensors" or section.says("config_groups"):
        # of several groups the widest, so that nothing is planned too small
        groups = section.within("config_groups")
        every = [groups.within(name) for name in groups.data] if groups else []
        weights = [group.within("weights") for group in every if group]
        widths = [one.count("num_bits", least=2, most=16) for one in weights if one]
        if not widths:
            section.fault("config_groups", "tells no width of the weights")
        return max(widths, default=None)
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


class _Entry(Frozen):
    """A model of the catalog, described by the file that describes it to everyone else."""

    config: Annotated[str, Field(min_length=1)]
    """Path of a `config.json`, relative to the catalog file and inside its folder."""
    name: Name | None = None
    """As published; the id if left out."""
    source: str | None = None
    """Key of `sources`, or an address; the configuration itself if left out."""
    note: str | None = None


class _Entries(Frozen):
    """The part of a catalog file that names configurations."""

    models: dict[str, _Entry]


def catalogued_models(
    document: YamlDocument, file: Located, ids: frozenset[str]
) -> tuple[dict[str, Model], tuple[InputFile, ...]]:
    """Read the configurations that these entries of `models` name: models by id, files read.

    What an entry says of its model goes before what is found there. Raises InputError with the
    mistakes of all entries and of all configurations.
    """
    entries = {key: document.data["models"][key] for key in sorted(ids)}
    part = validate(replace(document, data={"models": entries}), _Entries)
    models: dict[str, Model] = {}
    files: dict[str, InputFile] = {}
    findings: list[Finding] = []
    for key, entry in part.models.items():
        location = file.path.parent / entry.config
        fault = fault_of_path(file.path.parent, entry.config, "the catalog file", "config.json")
        if fault is not None:
            findings.append(document.finding(("models", key, "config"), *fault))
            continue
        try:
            read = read_document(location, shown_as=str(Path(file.shown_as).parent / entry.config))
            _, model = parsed_model_config(read, key)
        except InputError as error:
            findings += error.findings
            continue
        path = (PurePosixPath(Path(file.name).parent.as_posix()) / entry.config).as_posix()
        files[path] = InputFile(role="catalog", path=path, sha256=read.sha256, location=location)
        said = {
            "name": entry.name or key,
            "source": entry.source or f"{entry.config} (sha256 {read.sha256[:12]})",
            "note": "; ".join(note for note in (entry.note, model.note) if note) or None,
        }
        models[key] = model.model_copy(update=said)
    if findings:
        raise InputError(*dict.fromkeys(findings))
    return models, tuple(files[name] for name in sorted(files))
