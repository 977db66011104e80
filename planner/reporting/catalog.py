"""The catalog for a reader: lists of facts, and one entry with the source of each figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.inputs.base import Frozen, SourcedFigure
from planner.reporting.document import Block, Bullets, Column, Document, Heading, Paragraph, Table
from planner.reporting.format import code, figure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pydantic import BaseModel

    from planner.inputs.catalog.catalog import Catalog, GpuType, NodeType, PurchasePrice, RentPrice

__all__ = ["catalog_document", "entry_document", "entry_ids"]

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
    table = Table(
        (
            Column("GPU type"),
            Column("Memory, GB", "right"),
            Column("Driver, MiB", "right"),
            Column("GB/s", "right"),
            Column("bf16 TFLOPS", "right", wraps=True),
            Column("TDP, W", "right"),
            Column("MIG", "right"),
        ),
        tuple(_gpu_row(id_, gpu) for id_, gpu in sorted(catalog.gpus.items())),
    )
    return (Heading(f"GPU types ({len(catalog.gpus)})"), table)


def _gpu_row(id_: str, gpu: GpuType) -> tuple[str, ...]:
    return (
        id_,
        _value(gpu.memory_gb),
        _value(gpu.driver_memory_mib),
        _value(gpu.bandwidth_gb_per_s),
        _value(gpu.dense_tflops.bf16),
        _value(gpu.tdp_w),
        str(len(gpu.mig_profiles) or _NONE),
    )


def _nodes(catalog: Catalog) -> tuple[Block, ...]:
    table = Table(
        (
            Column("Node type"),
            Column("GPUs", wraps=True),
            Column("Cores", "right"),
            Column("Host, GB", "right"),
            Column("Mean kW", "right"),
            Column("Units", "right"),
            Column("Spans", "right"),
        ),
        tuple(_node_row(id_, node) for id_, node in sorted(catalog.nodes.items())),
    )
    return (Heading(f"Node types ({len(catalog.nodes)})"), table)


def _node_row(id_: str, node: NodeType) -> tuple[str, ...]:
    return (
        id_,
        f"{node.gpus.value} × {node.gpu_type}",
        _value(node.cpu_cores),
        _value(node.host_memory_gb),
        _value(node.mean_power_kw),
        _value(node.rack_units),
        "yes" if node.scale_out_fabric else "no",
    )


def _models(catalog: Catalog) -> tuple[Block, ...]:
    table = Table(
        (
            Column("Model"),
            Column("Billion", "right"),
            Column("Layers", "right"),
            Column("Hidden", "right"),
            Column("Heads / KV", "right"),
            Column("Context", "right"),
        ),
        tuple(
            (
                id_,
                f"{figure(model.parameters_b)}{_star(model.basis)}",
                figure(model.layers),
                figure(model.hidden),
                f"{model.heads} / {model.kv_heads}",
                figure(model.max_context),
            )
            for id_, model in sorted(catalog.models.items())
        ),
    )
    return (Heading(f"Models ({len(catalog.models)})"), table)


def _prices(catalog: Catalog) -> tuple[Block, ...]:
    book, header = catalog.prices, catalog.prices.header
    table = Table(
        (
            Column("Node type"),
            Column("Buy, USD", "right"),
            Column("Rent, USD per GPU-hour", "right"),
        ),
        tuple(
            (
                id_,
                _price(book.purchase, id_, "price_usd"),
                _price(book.rent, id_, "usd_per_gpu_hour"),
            )
            for id_ in sorted({*book.purchase, *book.rent})
        ),
    )
    return (
        Heading(f"Prices ({header.id}, {header.date.isoformat()})"),
        Paragraph(header.notice, tone="warning" if header.illustrative else "plain"),
        table,
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


def _facts(catalog: Catalog, entry: BaseModel) -> tuple[Block, ...]:
    """Each fact with its own source, or all with the one that the whole entry names."""
    facts = [fact for fact in _walk("", entry) if fact[0] not in _ABOUT_THE_WHOLE]
    whole = getattr(entry, "source", None)
    if whole is not None:
        return _facts_of_one_source(catalog, entry, facts, whole)
    notes = tuple(
        f"{_label(name)}: {origin.note}" for name, _, origin in facts if origin and origin.note
    )
    table = Table(
        (
            Column("Fact"),
            Column("Value", wraps=True),
            Column("Basis"),
            Column("Source", wraps=True),
        ),
        tuple(
            (
                _label(name),
                value,
                origin.basis if origin else "",
                catalog.source_text(origin.source) if origin else "",
            )
            for name, value, origin in facts
        ),
    )
    own = getattr(entry, "note", None)
    every_note = (*((own,) if own else ()), *notes)
    return (table, Bullets(every_note)) if every_note else (table,)


def _facts_of_one_source(
    catalog: Catalog, entry: BaseModel, facts: Sequence[_Fact], source: str
) -> tuple[Block, ...]:
    basis, note = getattr(entry, "basis", ""), getattr(entry, "note", None)
    table = Table(
        (Column("Fact"), Column("Value", wraps=True)),
        tuple((_label(name), value) for name, value, _ in facts),
    )
    origin = Paragraph(f"Source of all ({basis}): {catalog.source_text(source)}")
    return (table, origin, Paragraph(f"Note: {note}")) if note else (table, origin)


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
