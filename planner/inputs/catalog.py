"""Facts: GPU types, node types, models and prices, each figure with its source."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.inputs.base import (
    Basis,
    Count,
    Day,
    Figure,
    Frozen,
    Number,
    ParametersB,
    PositiveCount,
    PositiveNumber,
)

__all__ = [
    "Catalog",
    "CatalogFile",
    "GpuType",
    "MigProfile",
    "Model",
    "NodeType",
    "PriceBook",
    "PriceBookHeader",
    "PurchasePrice",
    "RentPrice",
    "Source",
]


# Wide bounds that catch a slip of unit: MiB for GB, watts for kilowatts.
GpuMemory = Annotated[PositiveNumber, Field(ge=1, le=4096)]
Power = Annotated[PositiveNumber, Field(le=500)]
NodeGpus = Annotated[PositiveCount, Field(le=256)]


class Source(Frozen):
    """Where figures were read."""

    title: str
    url: str | None = None
    """Address, or repository@commit:path; empty where the page has no stable link."""
    locator: str | None = None
    """Page, table or line."""
    retrieved: Day | None = None


class DenseTflops(Frozen):
    """Peak dense matrix throughput without sparsity, TFLOPS (TOPS for int8)."""

    bf16: Figure[PositiveNumber] | None = None
    fp8: Figure[PositiveNumber] | None = None
    int8: Figure[PositiveNumber] | None = None


class MigProfile(Frozen):
    """One partition size of a GPU, with its placements as the driver lists them."""

    compute_slices: PositiveCount
    memory_slices: PositiveCount
    placement_starts: tuple[Count, ...]
    """First memory slice of each legal placement."""
    reported_gib: Number | None = None
    """Memory that the driver reports for the instance; below the name."""


class GpuType(Frozen):
    """An accelerator with its memory and form, never ambiguous."""

    vendor: Literal["nvidia", "amd", "intel"]
    family: str
    """Name that rules and vendors' support lists use: `h100`, `l40s`, `gaudi3`."""
    form_factor: str
    memory_gb: Figure[GpuMemory]
    """Marketing memory, GB of 10^9 bytes; what published rules of thumb count."""
    driver_memory_mib: Figure[PositiveCount] | None = None
    """Memory that the driver reports, MiB."""
    bandwidth_gb_per_s: Figure[PositiveNumber] | None = None
    dense_tflops: DenseTflops = DenseTflops()
    tdp_w: Figure[PositiveNumber] | None = None
    interconnect: Figure[str] | None = None
    nvlink: bool = False
    """Whether the GPUs of a node share a switched fabric (NVLink, Infinity Fabric, Gaudi RoCE)."""
    compute_capability: Figure[str] | None = None
    kubernetes_resource: str
    mig_profiles: dict[str, MigProfile] = Field(default_factory=dict)
    """Partition sizes by profile name; empty where the GPU cannot be partitioned."""
    mig_source: str | None = None


class NodeType(Frozen):
    """A server as it would be bought: its GPUs, host and facility needs."""

    vendor: str
    product: str
    gpu_type: str
    gpus: Figure[NodeGpus]
    cpu_cores: Figure[PositiveCount]
    """Physical cores of all sockets in the stated configuration."""
    host_memory_gb: Figure[PositiveNumber]
    """As sold, GB."""
    rack_units: Figure[PositiveCount] | None = None
    cooling: Figure[str] | None = None
    max_power_kw: Figure[Power] | None = None
    """Nameplate, for the rack."""
    mean_power_kw: Figure[Power] | None = None
    """Mean draw under load at the AC side, for energy."""
    scale_out_fabric: Figure[str] | None = None
    """Network that lets a job span nodes; empty where the configuration has none."""
    note: str | None = None


class Model(Frozen):
    """The shape of an open model."""

    name: str
    """As published, such as `meta-llama/Llama-3.1-70B`."""
    parameters_b: ParametersB
    """Total parameters, billions (10^9)."""
    active_parameters_b: ParametersB | None = None
    """Parameters used per token, billions; only for mixtures of experts."""
    layers: PositiveCount
    hidden: PositiveCount
    intermediate: PositiveCount | None = None
    heads: PositiveCount
    kv_heads: PositiveCount
    head_dim: PositiveCount
    vocab: PositiveCount
    tied_embeddings: bool | None = None
    gated_mlp: bool = True
    experts: PositiveCount | None = None
    experts_per_token: PositiveCount | None = None
    expert_intermediate: PositiveCount | None = None
    max_context: PositiveCount
    attention: Literal["gqa", "mla", "hybrid"] = "gqa"
    sliding_window: PositiveCount | None = None
    source: str
    basis: Basis = "published"
    note: str | None = None


class PurchasePrice(Frozen):
    """What one node of a type costs to buy."""

    price_usd: PositiveNumber
    date: Day
    source: str
    basis: Basis
    note: str | None = None


class RentPrice(Frozen):
    """What one GPU of a node type costs to rent by the hour, rented by the whole node."""

    usd_per_gpu_hour: PositiveNumber
    date: Day
    source: str
    basis: Basis
    note: str | None = None


class PriceBookHeader(Frozen):
    """What a price book is and how far to trust it."""

    id: str
    date: Day
    illustrative: bool
    """True: no quote stands behind these prices, and every output says so."""
    currency: Literal["USD"] = "USD"
    notice: str
    """The sentence that every output prints."""


class PriceBook(Frozen):
    """Prices by node type."""

    header: PriceBookHeader
    purchase: dict[str, PurchasePrice] = Field(default_factory=dict)
    rent: dict[str, RentPrice] = Field(default_factory=dict)


class CatalogFile(Frozen):
    """One YAML file of the catalog; later files extend or replace entries by id."""

    sources: dict[str, Source] = Field(default_factory=dict)
    gpus: dict[str, GpuType] = Field(default_factory=dict)
    nodes: dict[str, NodeType] = Field(default_factory=dict)
    models: dict[str, Model] = Field(default_factory=dict)
    price_book: PriceBookHeader | None = None
    purchase: dict[str, PurchasePrice] = Field(default_factory=dict)
    rent: dict[str, RentPrice] = Field(default_factory=dict)


class Catalog(Frozen):
    """All facts, merged from the shipped files and the user's own."""

    sources: dict[str, Source]
    gpus: dict[str, GpuType]
    nodes: dict[str, NodeType]
    models: dict[str, Model]
    prices: PriceBook

    def source_text(self, key: str) -> str:
        """`title (address)` of a source key, or the key itself where it is an address."""
        source = self.sources.get(key)
        if source is None:
            return key
        return f"{source.title} ({source.url})" if source.url else source.title
