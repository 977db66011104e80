"""Models of a catalog file whose figures stand in a configuration beside it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from planner.errors import InputError
from planner.inputs.base import Frozen, Name
from planner.inputs.catalog.modelconfig.config import parse_model_config
from planner.inputs.reading.diagnostics import validate
from planner.inputs.reading.file import InputFile
from planner.inputs.reading.locate import fault_of_path
from planner.inputs.reading.reader import read_bytes

if TYPE_CHECKING:
    from planner.errors import Finding
    from planner.inputs.catalog.catalog import Model
    from planner.inputs.reading.document import Document
    from planner.inputs.reading.locate import Located

__all__ = ["catalogued_models"]


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
    document: Document, file: Located, ids: frozenset[str]
) -> tuple[dict[str, Model], tuple[InputFile, ...]]:
    """Read the configurations that these entries of `models` name: models by id, files read.

    Raises InputError with the mistakes of all entries and of all configurations.
    """
    entries = {key: document.data["models"][key] for key in sorted(ids)}
    part = validate(replace(document, data={"models": entries}), _Entries)
    models: dict[str, Model] = {}
    files: dict[str, InputFile] = {}
    findings: list[Finding] = []
    for key, entry in part.models.items():
        fault = fault_of_path(file.path.parent, entry.config, "the catalog file", "config.json")
        if fault is not None:
            findings.append(document.finding(("models", key, "config"), *fault))
            continue
        try:
            models[key], record = _described(key, entry, file)
            files[record.path] = record
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(*dict.fromkeys(findings))
    return models, tuple(files[name] for name in sorted(files))


def _described(key: str, entry: _Entry, file: Located) -> tuple[Model, InputFile]:
    """Read one configuration; what the entry says of the model goes before what is found there."""
    shown_as = str(Path(file.shown_as).parent / entry.config)
    content = read_bytes(file.path.parent / entry.config, shown_as).replace(b"\r\n", b"\n")
    _, model = parse_model_config(content, key, shown_as)
    record = InputFile(
        role="catalog",
        path=(PurePosixPath(Path(file.name).parent.as_posix()) / entry.config).as_posix(),
        sha256=hashlib.sha256(content).hexdigest(),
        location=file.path.parent / entry.config,
    )
    said = {
        "name": entry.name or key,
        "source": entry.source or f"{entry.config} (sha256 {record.sha256[:12]})",
        "note": "; ".join(note for note in (entry.note, model.note) if note) or None,
    }
    return model.model_copy(update=said), record
