"""The catalog, merged from files and checked as a whole."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from planner.errors import Finding, InputError
from planner.inputs.catalog.catalog import Catalog, CatalogFile, PriceBook
from planner.inputs.reading.diagnostics import Attempts, validate
from planner.inputs.reading.locate import Located, open_documents
from planner.inputs.text.words import described, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.inputs.catalog.catalog import GpuType, NodeType, PriceBookHeader
    from planner.inputs.reading.document import Document, Path
    from planner.inputs.reading.file import InputFile

    _Origin = dict[tuple[str, str], Document]
    """By section and id: the file that has the last word."""

__all__ = ["merged_catalog"]

_SECTIONS = ("sources", "gpus", "nodes", "models", "purchase", "rent")
_EXTENDED = ("gpus", "nodes")
"""Sections whose entries may take over the figures of another."""


class _Part(NamedTuple):
    group: str
    document: Document
    content: CatalogFile
    configurations: tuple[InputFile, ...]
    """Files that its models are read from."""


def merged_catalog(files: Sequence[Located]) -> tuple[Catalog, tuple[InputFile, ...]]:
    """Read and merge catalog files; an entry of a later file replaces one of the same id.

    One that `extends` an entry of an earlier file takes over all figures that it does not state.
    A file or folder with a `price_book` of its own starts the prices anew: a figure from an
    illustrative book never comes to stand under the name of another.
    Raises InputError with the mistakes of all files.
    """
    documents, records = open_documents(files, "catalog")
    parts = _validated(files, documents)
    catalog, origin = _merged(parts)
    findings = [*_loose_ends(catalog, origin), *_unknown_sources(catalog, documents)]
    if findings:
        raise InputError(*findings)
    configurations = [record for part in parts for record in part.configurations]
    return catalog, (*records, *configurations)


def _validated(files: Sequence[Located], documents: Sequence[Document]) -> list[_Part]:
    parts: list[_Part] = []
    findings: list[Finding] = []
    books: dict[str, Document] = {}
    earlier: dict[str, dict[str, Any]] = {section: {} for section in _EXTENDED}
    for file, written in zip(files, documents, strict=True):
        try:
            document = _extended(written, earlier)
            part = _Part(file.group, document, *_content(file, document))
        except InputError as error:
            findings += error.findings
            continue
        if part.content.price_book and books.setdefault(file.group, document) is not document:
            message = f"{books[file.group].shown_as} has a price book as well"
            findings.append(document.finding(("price_book",), message, "keep one of them"))
        parts.append(part)
    if findings:
        raise InputError(*findings)
    return parts


def _extended(document: Document, earlier: dict[str, dict[str, Any]]) -> Document:
    """The document with what its entries take over; its own entries join the earlier ones."""
    data, findings = dict(document.data), []
    for section in _EXTENDED:
        entries = data.get(section)
        if not isinstance(entries, dict):
            continue
        known, data[section] = earlier[section], dict(entries)
        for key, entry in entries.items():
            if not isinstance(entry, dict) or "extends" not in entry:
                continue
            base = entry["extends"]
            if isinstance(base, str) and base in known:
                stated = {name: value for name, value in entry.items() if name != "extends"}
                data[section][key] = known[base] | stated
            else:
                message = f"no earlier file has {described(base)} under `{section}`"
                hint = did_you_mean(base, known) if isinstance(base, str) else None
                findings.append(document.finding((section, key, "extends"), message, hint))
        told = {key: entry for key, entry in data[section].items() if isinstance(entry, dict)}
        earlier[section] = known | told
    if findings:
        raise InputError(*findings)
    return replace(document, data=data)


def _content(file: Located, document: Document) -> tuple[CatalogFile, tuple[InputFile, ...]]:
    """What one file says, with the models that it leaves to a configuration, and those files."""
    models = document.data.get("models")
    entries = models.items() if isinstance(models, dict) else ()
    left = {key for key, entry in entries if isinstance(entry, dict) and "config" in entry}
    if not left:
        return validate(document, CatalogFile), ()
    from planner.inputs.catalog.modelconfig.catalogued import catalogued_models  # noqa: PLC0415 - rare

    stated = {key: entry for key, entry in entries if key not in left}
    attempts = Attempts()
    content = attempts.take(
        lambda: validate(replace(document, data=document.data | {"models": stated}), CatalogFile)
    )
    read = attempts.take(lambda: catalogued_models(document, file, frozenset(left)))
    if content is None or read is None:
        raise InputError(*attempts.findings)
    return content.model_copy(update={"models": content.models | read[0]}), read[1]


def _merged(parts: Sequence[_Part]) -> tuple[Catalog, _Origin]:
    merged: dict[str, dict[str, Any]] = {section: {} for section in _SECTIONS}
    origin: _Origin = {}
    header: PriceBookHeader | None = None
    for _, group in groupby(parts, key=lambda part: part.group):
        together = list(group)
        if books := [part.content.price_book for part in together if part.content.price_book]:
            header = books[0]
            merged["purchase"], merged["rent"] = {}, {}
        for part in together:
            for section in _SECTIONS:
                entries = getattr(part.content, section)
                merged[section].update(entries)
                origin.update({(section, key): part.document for key in entries})
    if header is None:
        raise InputError(Finding("no catalog file has a `price_book`"))
    facts = {section: merged[section] for section in ("sources", "gpus", "nodes", "models")}
    prices = PriceBook(header=header, purchase=merged["purchase"], rent=merged["rent"])
    return Catalog(**facts, prices=prices), origin


def _loose_ends(catalog: Catalog, origin: _Origin) -> Iterator[Finding]:
    """Nodes of unknown GPUs or of more than they can feed, and prices of unknown nodes."""
    for key, node in catalog.nodes.items():
        if node.gpu_type not in catalog.gpus:
            yield origin["nodes", key].finding(
                ("nodes", key, "gpu_type"),
                f"unknown GPU type {node.gpu_type!r}",
                did_you_mean(node.gpu_type, catalog.gpus, 3),
            )
        elif fault := _overdrawn(node, catalog.gpus[node.gpu_type]):
            path = ("nodes", key, "max_power_kw")
            yield origin["nodes", key].finding(path, fault, "state the nameplate of the whole node")
    for section, prices in (("purchase", catalog.prices.purchase), ("rent", catalog.prices.rent)):
        for key in prices:
            if key not in catalog.nodes:
                yield origin[section, key].finding(
                    (section, key),
                    f"unknown node type {key!r}",
                    did_you_mean(key, catalog.nodes, 3),
                    at_key=True,
                )


def _overdrawn(node: NodeType, gpu: GpuType) -> str | None:
    """The GPUs of a node at their limit, where that is more than its nameplate."""
    if node.max_power_kw is None or gpu.tdp_w is None:
        return None
    drawn = node.gpus.value * gpu.tdp_w.value / Decimal(1000)
    if drawn <= node.max_power_kw.value:
        return None
    return (
        f"{node.max_power_kw.value} kW are less than its {node.gpus.value} GPUs draw at their "
        f"limit, {drawn.normalize():f} kW"
    )


def _unknown_sources(catalog: Catalog, documents: Sequence[Document]) -> Iterator[Finding]:
    """A figure whose source nobody can look up is a bare figure."""
    for document in documents:
        for path, source in _cited(document.data, ()):
            if source not in catalog.sources and "/" not in source:
                yield document.finding(
                    path,
                    f"{source!r} is neither a key of `sources` nor an address",
                    did_you_mean(source, catalog.sources),
                )


def _cited(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key in ("source", "mig_source") and isinstance(inner, str):
            yield (*path, key), inner
        else:
            yield from _cited(inner, (*path, key))
