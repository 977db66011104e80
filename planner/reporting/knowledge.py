"""Shows what the planner knows: the catalog, the rule book, and what solvers answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from pydantic import BaseModel

from planner.inputs.base import Frozen, SourcedFigure
from planner.inputs.catalog.catalog import Catalog
from planner.inputs.rules.rule import Example, Rule, RuleInput
from planner.packing.doctor import Examined
from planner.reporting.document import (
    Block,
    Bullets,
    ColumnKind,
    Document,
    Getter,
    Heading,
    Paragraph,
    Verbatim,
    columns_for,
    table,
)
from planner.reporting.format import code, count_of, figure
from planner.sizing.engine import ExampleResult

_UNITS = (
    ("_gb_per_s", "GB/s"),
    ("_usd", "USD"),
    ("usd_per_gpu_hour", "USD per GPU-hour"),
    ("_gb", "GB"),
    ("_mib", "MiB"),
    ("_gib", "GiB"),
    ("_kw", "kW"),
    ("_w", "W"),
    ("_b", "billion"),
)
_NONE = "–"
_ABOUT_THE_WHOLE = ("source", "basis", "note")

_Fact = tuple[str, str, SourcedFigure[Any] | None]
"""The name, the value, and the figure behind it if it is one."""


def entry_ids(catalog: Catalog) -> tuple[str, ...]:
    """Return every id that can be shown, sorted."""
    return tuple(sorted({*catalog.gpus, *catalog.nodes, *catalog.models}))


def catalog_document(catalog: Catalog, kinds: tuple[str, ...]) -> Document:
    """List the chosen kinds, in their order."""
    draw = {"gpus": _gpus, "nodes": _nodes, "models": _models, "prices": _prices}
    return (
        *(block for kind in kinds for block in draw[kind](catalog)),
        Paragraph(
            f"{code('planner catalog show ID')} gives each figure with its source. "
            "* is an estimate or an assumption.",
            tone="faint",
        ),
    )


def _starred(value: object, basis: str) -> str:
    return f"{figure(value)}{'*' if basis in ('estimate', 'assumption') else ''}"


def _figures(**columns: str) -> tuple[tuple[str, ColumnKind, Getter[tuple[str, Any]]], ...]:
    """Return columns of an entry's figures, by where each stands in it."""

    def cell(row: tuple[str, Any], place: str) -> str:
        fact = attrgetter(place)(row[1])
        return _NONE if fact is None else _starred(fact.value, fact.basis)

    return columns_for(((title, place) for place, title in columns.items()), cell)


def _gpus(catalog: Catalog) -> tuple[Block, ...]:
    rows = table(
        sorted(catalog.gpus.items()),
        ("GPU type", "name", lambda row: row[0]),
        *_figures(
            memory_gb="Memory, GB",
            driver_memory_mib="Driver, MiB",
            bandwidth_gb_per_s="GB/s",
            **{"dense_tflops.bf16": "bf16 TFLOPS"},
            tdp_w="TDP, W",
        ),
        ("MIG", "number", lambda row: str(len(row[1].mig_profiles) or _NONE)),
    )
    return (Heading(f"GPU types ({len(catalog.gpus)})"), rows)


def _nodes(catalog: Catalog) -> tuple[Block, ...]:
    rows = table(
        sorted(catalog.nodes.items()),
        ("Node type", "name", lambda row: row[0]),
        ("GPUs", "text", lambda row: f"{row[1].gpus.value} × {row[1].gpu_type}"),
        *_figures(
            cpu_cores="Cores",
            host_memory_gb="Host, GB",
            mean_power_kw="Mean kW",
            rack_units="Units",
        ),
        ("Spans", "number", lambda row: "yes" if row[1].scale_out_fabric else "no"),
    )
    return (Heading(f"Node types ({len(catalog.nodes)})"), rows)


def _models(catalog: Catalog) -> tuple[Block, ...]:
    plain = (("Layers", "layers"), ("Hidden", "hidden"))
    rows = table(
        sorted(catalog.models.items()),
        ("Model", "name", lambda row: row[0]),
        ("Billion", "number", lambda row: _starred(row[1].parameters_b, row[1].basis)),
        *columns_for(plain, lambda row, name: figure(getattr(row[1], name))),
        ("Heads / KV", "number", lambda row: f"{row[1].heads} / {row[1].kv_heads}"),
        ("Context", "number", lambda row: figure(row[1].max_context)),
    )
    return (Heading(f"Models ({len(catalog.models)})"), rows)


def _prices(catalog: Catalog) -> tuple[Block, ...]:
    book, header = catalog.prices, catalog.prices.header

    def price(id_: str, kind: str) -> str:
        known = getattr(book, kind).get(id_)
        name = "price_usd" if kind == "purchase" else "usd_per_gpu_hour"
        return _starred(getattr(known, name), known.basis) if known else _NONE

    rows = table(
        sorted({*book.purchase, *book.rent}),
        ("Node type", "name", lambda id_: id_),
        *columns_for((("Buy, USD", "purchase"), ("Rent, USD per GPU-hour", "rent")), price),
    )
    return (
        Heading(f"Prices ({header.id}, {header.date.isoformat()})"),
        Paragraph(header.notice, tone="warning" if header.illustrative else "plain"),
        rows,
    )


def entry_document(catalog: Catalog, id_: str) -> Document:
    """Show a GPU type, node type or model, and a node type's prices; KeyError if unknown."""
    kinds: tuple[tuple[str, Mapping[str, BaseModel]], ...] = (
        ("GPU type", catalog.gpus),
        ("Node type", catalog.nodes),
        ("Model", catalog.models),
        ("Purchase price", catalog.prices.purchase),
        ("Rent price", catalog.prices.rent),
    )
    found = [(kind, entries[id_]) for kind, entries in kinds if id_ in entries]
    if not found:
        raise KeyError(id_)
    return (
        Heading(id_, 1),
        *(one for kind, entry in found for one in (Heading(kind), *_facts(catalog, entry))),
    )


def _facts(catalog: Catalog, entry: BaseModel) -> Iterator[Block]:
    """Yield each fact with its own source, or all with the one that the whole entry names."""
    facts = [fact for fact in _walk("", entry) if fact[0] not in _ABOUT_THE_WHOLE]
    whole, own = getattr(entry, "source", None), getattr(entry, "note", None)
    yield table(
        facts,
        ("Fact", "name", lambda fact: _label(fact[0])),
        ("Value", "text", lambda fact: fact[1]),
        ("Basis", "name", lambda fact: fact[2].basis if fact[2] else ""),
        ("Source", "text", lambda fact: catalog.source_text(fact[2].source) if fact[2] else ""),
        without=() if whole is None else ("Basis", "Source"),
    )
    if whole is not None:
        basis = getattr(entry, "basis", "")
        yield Paragraph(f"Source of all ({basis}): {catalog.source_text(whole)}")
    notes = [f"{_label(name)}: {one.note}" for name, _, one in facts if one and one.note]
    if every := (*((own,) if own else ()), *notes):
        yield Bullets(every)


def _walk(prefix: str, entry: BaseModel) -> Iterator[_Fact]:
    """Yield the name, the value and, if it is one, the figure behind it."""
    for field in type(entry).model_fields:
        value = getattr(entry, field)
        name = f"{prefix}{field}"
        if isinstance(value, SourcedFigure):
            yield name, figure(value.value), value
        elif field == "mig_profiles":
            for profile, size in value.items():
                shape = f"{size.compute_slices} compute, {size.memory_slices} memory slices"
                yield f"MIG {profile}", shape, None
        elif isinstance(value, Frozen):
            yield from _walk(f"{name} ", value)
        elif value is not None:
            yield name, figure(value), None


def _label(name: str) -> str:
    for suffix, unit in _UNITS:
        if name.endswith(suffix):
            stem = name.removesuffix(suffix).replace("_", " ").strip() or "rent"
            return f"{stem}, {unit}"
    return name.replace("_", " ")


def rules_document(rules: Iterable[Rule]) -> Document:
    """List all rules, a line each; those with errata are marked."""
    return (
        table(
            rules,
            ("Rule", "name", lambda rule: rule.id),
            ("Kind", "name", lambda rule: rule.kind),
            ("Title", "text", lambda rule: f"{rule.title}{' [erratum]' if rule.errata else ''}"),
        ),
        Paragraph(
            f"{code('planner rules show ID')} prints one whole, with its sources.", tone="faint"
        ),
    )


def rule_document(rule: Rule) -> Iterator[Block]:
    """Show one rule: formula, conditions, sources, worked cases, errata, and its limits."""
    trust = "" if rule.basis == "published" else f", basis: {rule.basis}"
    unit = f"   [{rule.gives_unit}]" if rule.gives_unit else ""
    statement = f"if {rule.formula}" if rule.formula else "holds whenever it applies"
    yield Heading(rule.title, 1)
    yield Paragraph(f"{rule.id} ({rule.kind}{trust})", tone="faint")
    yield Verbatim((f"{rule.gives} = {rule.stated}{unit}" if rule.gives else statement,))
    if rule.message:
        yield Paragraph(f"Says: {' '.join(rule.message.split())}")
    if rule.applies:
        words = [f"{name} is {when.describe()}" for name, when in rule.applies.items()]
        words[-1] += ", and no other rule speaks" if rule.fallback else ""
        yield from (Heading("Applies when"), Bullets(tuple(words)))
    else:
        yield Paragraph("Applies always.")
    if rule.inputs:
        yield Heading("Inputs")
        yield table(
            rule.inputs.items(),
            ("Name", "name", lambda row: row[0]),
            ("Unit", "text", lambda row: row[1].unit),
            ("If unknown", "text", lambda row: _stand_in(row[1])),
            ("Meaning", "text", lambda row: row[1].meaning or ""),
        )
    for erratum in rule.errata:
        yield Heading("ERRATUM of the source")
        yield Paragraph(f"It says: {erratum.says}", tone="warning")
        yield Paragraph(f"The arithmetic: {erratum.arithmetic}")
        yield Paragraph(f"Decision: {erratum.decision}", tone="strong")
    lists = {
        "Sources": [
            f"{one.text}, read {one.read.isoformat()}{f': “{one.quote}”' if one.quote else ''}"
            for one in rule.sources
        ],
        "Examples": [_example(rule, one) for one in rule.examples],
        "Known wrong when": rule.known_wrong_when,
    }
    for title, items in lists.items():
        if items:
            yield from (Heading(title), Bullets(tuple(items)))


def _stand_in(given: RuleInput) -> str:
    if given.default is not None:
        return f"{figure(given.default)}, listed as an assumption"
    return f"{figure(given.otherwise)}" if given.otherwise is not None else "needed"


def _example(rule: Rule, example: Example) -> str:
    given = ", ".join(f"{name} = {figure(value)}" for name, value in example.given.items())
    expected = f"{figure(example.expect)} {rule.gives_unit if rule.gives else ''}".rstrip()
    within = f" (± {figure(example.tolerance)})" if example.tolerance else ""
    return f"{example.name}: {f'with {given}, ' if given else ''}{expected}{within}"


def examples_document(results: Sequence[ExampleResult]) -> Document:
    """Show what failed, then a sentence that counts."""
    failed = [result for result in results if not result.passed]
    rules = len({result.rule for result in results})
    if not failed:
        return (
            Paragraph(
                f"{count_of(len(results), 'example')} of {count_of(rules, 'rule')}: all as stated"
            ),
        )
    lines = tuple(f"{result.rule}: {result.name}: {result.message}" for result in failed)
    return (
        Bullets(lines, tone="warning"),
        Paragraph(f"{len(failed):,} of {count_of(len(results), 'example')} failed"),
    )


def doctor_document(examined: Sequence[Examined]) -> Document:
    """Show one row for each solver and case, then the conclusion."""
    deciding = [one for one in examined if one.decides]
    cases = [one.case for one in deciding]
    solver, lies = deciding[0].solver, any(one.wrong for one in deciding)
    verdict = f"{solver} gives the right answer to each; plans may rest on it."
    if lies:
        verdict = f"Do not plan with this installation: {solver} is known to lie; install the "
        verdict += "versions that pyproject.toml asks for."

    def right(one: Examined) -> str:
        orders = len(one.case.programs)
        if orders == 1:
            return "no" if one.wrong else "yes"
        told = count_of(orders, "order")
        return f"no, wrong in {one.wrong} of {told}" if one.wrong else f"yes, in {told}"

    return (
        Heading("Solvers of this installation", 1),
        Paragraph(verdict, tone="warning" if lies else "strong"),
        table(
            examined,
            ("Asked for", "name", lambda one: "plans" if one.decides else "second opinions"),
            ("Program", "text", lambda one: one.case.name),
            ("Truth", "number", lambda one: f"{one.case.optimum:,.6g}"),
            ("Says", "text", lambda one: one.said),
            ("Right", "name", right),
        ),
        Paragraph(
            f"A second opinion alone is asked by {code('planner plan --crosscheck')}; what it says "
            "against a proof is believed only where its own solution keeps every row of the "
            "program, counted in fractions.",
            tone="faint",
        ),
        Heading("Where each was reported"),
        Bullets(tuple(f"{case.name}: {case.what} ({case.source})" for case in cases)),
    )
