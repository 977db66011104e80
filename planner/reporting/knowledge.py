"""What the planner knows, for a reader: the catalog, the rule book, and what solvers answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from planner.inputs.base import Frozen, SourcedFigure
from planner.inputs.catalog.catalog import Catalog, PurchasePrice, RentPrice
from planner.inputs.rules.rule import Erratum, Example, Rule, RuleInput, RuleSource
from planner.packing.doctor import Examined
from planner.reporting.document import (
    Block,
    Bullets,
    Document,
    Heading,
    Paragraph,
    Table,
    Verbatim,
    table,
)
from planner.reporting.format import code, count_of, figure
from planner.sizing.selftest import ExampleResult

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
"""Name, value, and the figure behind it where it is one."""


def entry_ids(catalog: Catalog) -> tuple[str, ...]:
    """Every id that can be shown, sorted."""
    return tuple(sorted({*catalog.gpus, *catalog.nodes, *catalog.models}))


def catalog_document(catalog: Catalog, kinds: tuple[str, ...]) -> Document:
    """Lists of the chosen kinds, in their order."""
    draw: dict[str, Callable[[Catalog], tuple[Block, ...]]] = {
        "gpus": _gpus,
        "nodes": _nodes,
        "models": _models,
        "prices": _prices,
    }
    return (
        *(block for kind in kinds for block in draw[kind](catalog)),
        Paragraph(
            f"{code('planner catalog show ID')} gives each figure with its source. "
            "* is an estimate or an assumption.",
            tone="faint",
        ),
    )


def _value(fact: SourcedFigure[Any] | None) -> str:
    if fact is None:
        return _NONE
    return f"{figure(fact.value)}{_star(fact.basis)}"


def _star(basis: str) -> str:
    return "*" if basis in ("estimate", "assumption") else ""


def _gpus(catalog: Catalog) -> tuple[Block, ...]:
    rows = table(
        sorted(catalog.gpus.items()),
        ("GPU type", "name", lambda row: row[0]),
        ("Memory, GB", "number", lambda row: _value(row[1].memory_gb)),
        ("Driver, MiB", "number", lambda row: _value(row[1].driver_memory_mib)),
        ("GB/s", "number", lambda row: _value(row[1].bandwidth_gb_per_s)),
        ("bf16 TFLOPS", "number", lambda row: _value(row[1].dense_tflops.bf16)),
        ("TDP, W", "number", lambda row: _value(row[1].tdp_w)),
        ("MIG", "number", lambda row: str(len(row[1].mig_profiles) or _NONE)),
    )
    return (Heading(f"GPU types ({len(catalog.gpus)})"), rows)


def _nodes(catalog: Catalog) -> tuple[Block, ...]:
    rows = table(
        sorted(catalog.nodes.items()),
        ("Node type", "name", lambda row: row[0]),
        ("GPUs", "text", lambda row: f"{row[1].gpus.value} × {row[1].gpu_type}"),
        ("Cores", "number", lambda row: _value(row[1].cpu_cores)),
        ("Host, GB", "number", lambda row: _value(row[1].host_memory_gb)),
        ("Mean kW", "number", lambda row: _value(row[1].mean_power_kw)),
        ("Units", "number", lambda row: _value(row[1].rack_units)),
        ("Spans", "number", lambda row: "yes" if row[1].scale_out_fabric else "no"),
    )
    return (Heading(f"Node types ({len(catalog.nodes)})"), rows)


def _models(catalog: Catalog) -> tuple[Block, ...]:
    rows = table(
        sorted(catalog.models.items()),
        ("Model", "name", lambda row: row[0]),
        ("Billion", "number", lambda row: f"{figure(row[1].parameters_b)}{_star(row[1].basis)}"),
        ("Layers", "number", lambda row: figure(row[1].layers)),
        ("Hidden", "number", lambda row: figure(row[1].hidden)),
        ("Heads / KV", "number", lambda row: f"{row[1].heads} / {row[1].kv_heads}"),
        ("Context", "number", lambda row: figure(row[1].max_context)),
    )
    return (Heading(f"Models ({len(catalog.models)})"), rows)


def _prices(catalog: Catalog) -> tuple[Block, ...]:
    book, header = catalog.prices, catalog.prices.header
    rows = table(
        sorted({*book.purchase, *book.rent}),
        ("Node type", "name", lambda id_: id_),
        ("Buy, USD", "number", lambda id_: _price(book.purchase, id_, "price_usd")),
        (
            "Rent, USD per GPU-hour",
            "number",
            lambda id_: _price(book.rent, id_, "usd_per_gpu_hour"),
        ),
    )
    return (
        Heading(f"Prices ({header.id}, {header.date.isoformat()})"),
        Paragraph(header.notice, tone="warning" if header.illustrative else "plain"),
        rows,
    )


def _price(prices: Mapping[str, PurchasePrice | RentPrice], id_: str, name: str) -> str:
    price = prices.get(id_)
    return f"{figure(getattr(price, name))}{_star(price.basis)}" if price else _NONE


def entry_document(catalog: Catalog, id_: str) -> Document:
    """A GPU type, node type or model, whole, and a node type's prices; KeyError if unknown."""
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
    blocks: list[Block] = [Heading(id_, 1)]
    for kind, entry in found:
        blocks += [Heading(kind), *_facts(catalog, entry)]
    return tuple(blocks)


def _facts(catalog: Catalog, entry: BaseModel) -> Iterator[Block]:
    """Each fact with its own source, or all with the one that the whole entry names."""
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
    """Name, value and, where it is one, the figure behind it."""
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
    """All rules, a line each; those with errata are marked."""
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


def rule_document(rule: Rule) -> Document:
    """One rule: what it says, when, who says so, worked cases, errata, and where it is wrong."""
    trust = "" if rule.basis == "published" else f", basis: {rule.basis}"
    blocks: list[Block] = [
        Heading(rule.title, 1),
        Paragraph(f"{rule.id} ({rule.kind}{trust})", tone="faint"),
        Verbatim(_statement(rule)),
    ]
    if rule.message:
        blocks.append(Paragraph(f"Says: {' '.join(rule.message.split())}"))
    blocks += _applies(rule)
    if rule.inputs:
        blocks += [Heading("Inputs"), _inputs(rule)]
    blocks += _errata(rule.errata)
    blocks += [Heading("Sources"), Bullets(tuple(map(_source, rule.sources)))]
    if rule.examples:
        blocks += [Heading("Examples"), Bullets(tuple(_example(rule, e) for e in rule.examples))]
    if rule.known_wrong_when:
        blocks += [Heading("Known wrong when"), Bullets(rule.known_wrong_when)]
    return tuple(blocks)


def _statement(rule: Rule) -> tuple[str, ...]:
    if rule.gives is None:
        return (f"if {rule.formula}",) if rule.formula else ("holds whenever it applies",)
    unit = f"   [{rule.gives_unit}]" if rule.gives_unit else ""
    return (f"{rule.gives} = {rule.stated}{unit}",)


def _applies(rule: Rule) -> list[Block]:
    if not rule.applies:
        return [Paragraph("Applies always.")]
    words = tuple(f"{name} is {when.describe()}" for name, when in rule.applies.items())
    fallback = ", and no other rule speaks" if rule.fallback else ""
    return [Heading("Applies when"), Bullets((*words[:-1], f"{words[-1]}{fallback}"))]


def _inputs(rule: Rule) -> Table:
    return table(
        rule.inputs.items(),
        ("Name", "name", lambda row: row[0]),
        ("Unit", "text", lambda row: row[1].unit),
        ("If unknown", "text", lambda row: _stand_in(row[1])),
        ("Meaning", "text", lambda row: row[1].meaning or ""),
    )


def _stand_in(given: RuleInput) -> str:
    if given.default is not None:
        return f"{figure(given.default)}, listed as an assumption"
    return f"{figure(given.otherwise)}" if given.otherwise is not None else "needed"


def _errata(errata: tuple[Erratum, ...]) -> list[Block]:
    blocks: list[Block] = []
    for erratum in errata:
        blocks += [
            Heading("ERRATUM of the source"),
            Paragraph(f"It says: {erratum.says}", tone="warning"),
            Paragraph(f"The arithmetic: {erratum.arithmetic}"),
            Paragraph(f"Decision: {erratum.decision}", tone="strong"),
        ]
    return blocks


def _source(source: RuleSource) -> str:
    quote = f": “{source.quote}”" if source.quote else ""
    return f"{source.text}, read {source.read.isoformat()}{quote}"


def _example(rule: Rule, example: Example) -> str:
    given = ", ".join(f"{name} = {figure(value)}" for name, value in example.given.items())
    expected = f"{figure(example.expect)} {rule.gives_unit if rule.gives else ''}".rstrip()
    within = f" (± {figure(example.tolerance)})" if example.tolerance else ""
    return f"{example.name}: {f'with {given}, ' if given else ''}{expected}{within}"


def examples_document(results: Sequence[ExampleResult]) -> Document:
    """What failed, then one sentence that counts."""
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
    """One row for each solver and case, then what follows from it."""
    deciding = [one for one in examined if one.decides]
    second = [one for one in examined if not one.decides]
    lies = [one for one in deciding if one.wrong]
    verdict = (
        "Do not plan with this installation: " + _advice(deciding[0].solver)
        if lies
        else f"{deciding[0].solver} gives the right answer to each; plans may rest on it."
    )
    return (
        Heading("Solvers of this installation", 1),
        Paragraph(verdict, tone="warning" if lies else "strong"),
        Heading("The solver that plans rest on"),
        _programs(deciding),
        Heading(f"Asked for a second opinion alone ({code('planner plan --crosscheck')})"),
        _programs(second),
        Paragraph(
            "What it says against a proof is believed only where its own solution keeps every row "
            "of the program, counted in fractions.",
            tone="faint",
        ),
        Heading("Where each was reported"),
        Bullets(tuple(_reported(one) for one in deciding)),
    )


def _advice(solver: str) -> str:
    return f"{solver} is known to lie; install the versions that pyproject.toml asks for."


def _programs(examined: Sequence[Examined]) -> Block:
    return table(
        examined,
        ("Program", "text", lambda one: one.case.name),
        ("Truth", "number", lambda one: f"{one.case.optimum:,.6g}"),
        ("Says", "text", lambda one: one.said),
        ("Right", "name", _right),
    )


def _right(one: Examined) -> str:
    orders = len(one.case.programs)
    if orders == 1:
        return "no" if one.wrong else "yes"
    told = count_of(orders, "order")
    return f"no, wrong in {one.wrong} of {told}" if one.wrong else f"yes, in {told}"


def _reported(one: Examined) -> str:
    return f"{one.case.name}: {one.case.what} ({one.case.source})"
