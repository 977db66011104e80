"""The catalog, merged from files and checked as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

from planner.errors import Finding, InputError
from planner.inputs.base import NotKnown
from planner.inputs.catalog.catalog import (
    Catalog,
    CatalogFile,
    Model,
    PriceBook,
    PriceBookHeader,
    shape_faults,
)
from planner.inputs.catalog.modelconfig import catalogued_models
from planner.inputs.reading.diagnostics import Attempts, nothing_of, validate
from planner.inputs.reading.document import Path, Refused, YamlDocument
from planner.inputs.reading.locate import InputFile, Located, open_documents
from planner.inputs.text import described, did_you_mean, difference, folded

_Origin = dict[tuple[str, str], YamlDocument]
"""By section and id, the file that has the last word."""

_SECTIONS = ("sources", "gpus", "nodes", "models", "neighbours", "purchase", "rent")
_EXTENDED = ("gpus", "nodes")
"""Sections whose entries may take over the figures of another."""


class _Part(NamedTuple):
    group: str
    document: YamlDocument
    content: CatalogFile
    configurations: tuple[InputFile, ...]
    """Files from which its models are read."""


def merged_catalog(files: Sequence[Located]) -> tuple[Catalog, tuple[InputFile, ...]]:
    """Read and merge catalog files; an entry of a later file replaces one of the same id.

    One that `extends` an entry of an earlier file takes over all figures that it does not state.
    A file or folder with a `price_book` of its own starts the prices anew: a figure from an
    illustrative book never comes to stand under the name of another.
    Raises InputError with the mistakes of all files.
    """
    attempts = Attempts()
    opened = open_documents(files, "catalog", attempts)
    parts = _validated(opened, attempts)
    found = None
    with suppress(NotKnown):
        catalog, origin = _merged(parts)
        documents = [document for _, document, _ in opened]
        attempts.findings += [*_loose_ends(catalog, origin), *_unknown_sources(catalog, documents)]
        records = [record for _, _, record in opened]
        records += [record for part in parts for record in part.configurations]
        found = catalog, tuple(records)
    if attempts.findings or found is None:
        raise InputError(*attempts.findings, known=found if len(parts) == len(files) else None)
    return found


def _validated(
    opened: Sequence[tuple[Located, YamlDocument, InputFile]], attempts: Attempts
) -> list[_Part]:
    parts: list[_Part] = []
    books: dict[str, YamlDocument] = {}
    earlier: dict[str, dict[str, Any]] = {section: {} for section in _EXTENDED}
    attempts.findings += _alike(opened)
    for file, written, _ in opened:
        document = _extended(written, earlier, attempts.findings)
        content = _content(file, document, attempts)
        if content is None:
            continue
        part = _Part(file.group, document, *content)
        parts.append(part)
        book = document.data.get("price_book")
        if book and books.setdefault(file.group, document) is not document:
            message = f"{books[file.group].shown_as} has a price book as well"
            finding = document.finding(("price_book",), message, "keep one of them")
            attempts.findings.append(finding)
    return parts


def _alike(opened: Sequence[tuple[Located, YamlDocument, InputFile]]) -> Iterator[Finding]:
    """Find ids that look like those of an earlier file: they do not replace them."""
    met: dict[tuple[str, str], tuple[str, YamlDocument]] = {}
    for _, document, _ in opened:
        for section in ("gpus", "nodes", "models"):
            for key in document.section(section):
                first, earlier = met.setdefault((section, folded(key)), (key, document))
                if first != key:
                    what = difference(key, first)
                    message = f"{key!r} differs from {first!r} in {what} ({earlier.shown_as})"
                    hint = "write the same id to replace that entry, or give this one another"
                    yield document.finding((section, key), message, hint, at_key=True)


def _extended(
    document: YamlDocument, earlier: dict[str, dict[str, Any]], findings: list[Finding]
) -> YamlDocument:
    """Return the document with what its entries take over.

    Its own entries join the earlier ones.
    """
    data = dict(document.data)
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
                data[section][key] = Refused()
        told = {key: entry for key, entry in data[section].items() if isinstance(entry, dict)}
        earlier[section] = known | told
    return replace(document, data=data)


def _content(
    file: Located, document: YamlDocument, attempts: Attempts
) -> tuple[CatalogFile, tuple[InputFile, ...]] | None:
    """What is known of one file, with the models that it leaves to a configuration, and of those.

    None where the file is none of a catalog.
    """
    entries = document.section("models").items()
    left = {key for key, entry in entries if isinstance(entry, dict) and "config" in entry}
    stated = {"models": {key: entry for key, entry in entries if key not in left}} if left else {}
    written = replace(document, data=document.data | stated)
    content = attempts.known(lambda: validate(written, CatalogFile))
    if content is None:
        return None
    if not left:
        return content, ()
    read = attempts.take(lambda: catalogued_models(document, file, frozenset(left)))
    described, records = read or (dict.fromkeys(left, nothing_of(Model)), ())
    models = content.__dict__.get("models", {}) | described
    return content.model_copy(update={"models": models}), records


def _merged(parts: Sequence[_Part]) -> tuple[Catalog, _Origin]:
    merged: dict[str, Any] = {section: {} for section in _SECTIONS}
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
    # What was read is sound, or known to be wrong: to validate it again would tell nothing new.
    purchase, rent = merged.pop("purchase"), merged.pop("rent")
    prices = PriceBook.model_construct(header=header, purchase=purchase, rent=rent)
    return Catalog.model_construct(**merged, prices=prices), origin


def _loose_ends(catalog: Catalog, origin: _Origin) -> Iterator[Finding]:
    """Find nodes with unknown GPUs or too little power for them, odd shapes, and stray prices."""
    for key, node in catalog.nodes.items():
        with suppress(NotKnown):
            document, path = origin["nodes", key], ("nodes", key)
            gpu = catalog.gpus.get(node.gpu_type)
            if gpu is None:
                message = f"unknown GPU type {node.gpu_type!r}"
                hint = did_you_mean(node.gpu_type, catalog.gpus, 3)
                hint = (
                    hint or "`planner catalog list gpus` lists them, a file of your own may add one"
                )
                yield document.finding((*path, "gpu_type"), message, hint)
            elif fault := node.overdrawn(gpu):
                hint = "state the nameplate of the whole node"
                yield document.finding((*path, "max_power_kw"), fault, hint)
    for key, model in catalog.models.items():
        document = origin["models", key]
        stated = document.data["models"][key]
        with suppress(NotKnown):
            if isinstance(stated, dict) and "config" not in stated:
                for name, fault in shape_faults(model):
                    hint = "count the weights of the checkpoint"
                    yield document.finding(("models", key, name), fault, hint)
    for section, prices in (("purchase", catalog.prices.purchase), ("rent", catalog.prices.rent)):
        for key in prices:
            if key not in catalog.nodes:
                yield origin[section, key].finding(
                    (section, key),
                    f"unknown node type {key!r}",
                    did_you_mean(key, catalog.nodes, 3),
                    at_key=True,
                )


def _unknown_sources(catalog: Catalog, documents: Sequence[YamlDocument]) -> Iterator[Finding]:
    """Find figures whose source nobody can look up."""
    for document in documents:
        for path, source in _cited(document.data, ()):
            if source not in catalog.sources and "/" not in source:
                yield document.finding(
                    path,
                    f"{source!r} is neither a key of `sources` nor an address",
                    did_you_mean(source, catalog.sources)
                    or f"list it in this file: `sources: {{{source!r}: {{title: …}}}}`",
                )


def _cited(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key in ("source", "mig_source") and isinstance(inner, str):
            yield (*path, key), inner
        else:
            yield from _cited(inner, (*path, key))
