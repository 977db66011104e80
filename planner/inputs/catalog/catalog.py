"""Facts: GPU types, node types, models and prices, each figure with its source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field, model_validator

from planner.inputs.base import (
    AsFact,
    Basis,
    Count,
    Day,
    Frozen,
    HourPrice,
    NodePower,
    NodePrice,
    NotNegative,
    ParametersB,
    PositiveCount,
    PositiveNumber,
    SomeDifferent,
    SourcedFigure,
)
from planner.inputs.scenario.offer import OfferKind
from planner.inputs.text import count_of

# A wide bound that catches a slip of unit: MiB for GB.
GpuMemory = Annotated[PositiveNumber, Field(ge=1, le=4096)]
HostMemory = Annotated[PositiveNumber, Field(ge=1, le=100_000)]
GpuPower = Annotated[PositiveNumber, Field(ge=10, le=10_000)]
"""W of one GPU; the bounds catch kW."""
Throughput = Annotated[PositiveNumber, Field(ge=1, le=100_000)]
"""TFLOPS of one GPU; the bounds catch PFLOPS and GFLOPS."""
Transfer = Annotated[PositiveNumber, Field(ge=1, le=100_000)]
"""GB/s; the bounds catch TB/s and MB/s."""
_MARKETED = (Decimal("0.8"), Decimal("1.2"))
"""The memory that a driver reports, over its marketing figure: 1.07 for most GPUs."""
NodeGpus = Annotated[PositiveCount, Field(le=256)]
ModelBits = Annotated[PositiveCount, Field(le=32)]


class FactSource(Frozen):
    """Where figures were read."""

    title: str
    url: str | None = None
    """Address, or repository@commit:path; empty where the page has no stable link."""
    locator: str | None = None
    """Page, table or line."""
    retrieved: Day | None = None


class DenseTflops(Frozen):
    """Peak dense matrix throughput without sparsity, TFLOPS (TOPS for int8)."""

    bf16: SourcedFigure[Throughput] | None = None
    fp8: SourcedFigure[Throughput] | None = None
    int8: SourcedFigure[Throughput] | None = None


_MEMORY_SLICES = 8
"""Into so many the driver divides the memory of a GPU."""


class MigProfile(Frozen):
    """One partition size of a GPU, with its placements as the driver lists them."""

    compute_slices: Annotated[PositiveCount, Field(le=7)]
    memory_slices: Annotated[PositiveCount, Field(le=_MEMORY_SLICES)]
    placement_starts: SomeDifferent[Annotated[Count, Field(lt=_MEMORY_SLICES)]]
    """First memory slice of each legal placement."""
    reported_gib: Annotated[PositiveNumber, Field(le=4096)] | None = None
    """Memory that the driver reports for the instance; below the name."""
    multiprocessors: PositiveCount | None = None
    """Streaming multiprocessors that the driver reports for the instance."""

    @model_validator(mode="after")
    def _within_the_gpu(self) -> MigProfile:
        last = max(self.placement_starts) + self.memory_slices
        if last > _MEMORY_SLICES:
            raise ValueError(f"ends at memory slice {last}, and a GPU has {_MEMORY_SLICES}")
        return self


class Lifecycle(Frozen):
    """When a product was announced, and from when until when it can be ordered."""

    announced: SourcedFigure[Day] | None = None
    orderable: SourcedFigure[Day] | None = None
    """First day of an order; empty where no page says one."""
    end_of_sale: SourcedFigure[Day] | None = None
    """Last day of an order."""

    @model_validator(mode="after")
    def _in_order(self) -> Lifecycle:
        stated = (self.announced, self.orderable, self.end_of_sale)
        days = [one.value for one in stated if one is not None]
        if days != sorted(days):
            raise ValueError("is announced, then orderable, then at its end of sale: in this order")
        return self


class GpuType(Frozen):
    """An accelerator with its memory and form, never ambiguous."""

    vendor: Literal["nvidia", "amd", "intel"]
    family: str
    """Name that rules and vendors' support lists use: `h100`, `l40s`, `gaudi3`."""
    form_factor: str
    memory_gb: SourcedFigure[GpuMemory]
    """Marketing memory, GB of 10^9 bytes; what published rules of thumb count."""
    driver_memory_mib: SourcedFigure[PositiveCount] | None = None
    """Memory that the driver reports, MiB."""
    bandwidth_gb_per_s: SourcedFigure[Transfer] | None = None
    dense_tflops: DenseTflops = DenseTflops()
    tdp_w: SourcedFigure[GpuPower] | None = None
    interconnect: SourcedFigure[str] | None = None
    nvlink: bool = False
    """Whether the GPUs of a node share a switched fabric (NVLink, Infinity Fabric, Gaudi RoCE)."""
    compute_capability: SourcedFigure[str] | None = None
    kubernetes_resource: str
    mig_profiles: dict[str, MigProfile] = Field(default_factory=dict)
    """Partition sizes by profile name; empty where the GPU cannot be partitioned."""
    mig_source: str | None = None
    lifecycle: Lifecycle | None = None
    """Empty of a product that is sold today."""

    @model_validator(mode="after")
    def _memory_of_one_gpu(self) -> GpuType:
        gb, marketed = self.most_memory_gb, self.memory_gb.value
        if not _MARKETED[0] * marketed <= gb <= _MARKETED[1] * marketed:
            raise ValueError(
                f"its driver reports {gb:.4g} GB (`driver_memory_mib`), and `memory_gb` says "
                f"{marketed:f}: state both of the same GPU"
            )
        return self

    @model_validator(mode="after")
    def _parts_within_the_whole(self) -> GpuType:
        for name, profile in self.mig_profiles.items():
            part = (profile.reported_gib or 0) * 2**30 / 10**9
            if part > self.most_memory_gb:
                raise ValueError(
                    f"its profile {name} reports {part:.4g} GB, more than the whole GPU "
                    f"({self.most_memory_gb:.4g})"
                )
        return self

    @property
    def most_memory_gb(self) -> Decimal:
        """What the driver reports, GB of 10^9 bytes, or the most that any driver would."""
        if self.driver_memory_mib is None:
            return _MARKETED[1] * self.memory_gb.value
        return Decimal(self.driver_memory_mib.value * 2**20) / 10**9

    @property
    def memory_slices(self) -> int:
        """Into how many its memory is divided; 0 where the GPU cannot be partitioned."""
        ends = (
            start + profile.memory_slices
            for profile in self.mig_profiles.values()
            for start in profile.placement_starts
        )
        return max(ends, default=0)

    @property
    def compute_slices(self) -> int:
        """Into how many its compute is divided; 0 where the GPU cannot be partitioned."""
        return max((profile.compute_slices for profile in self.mig_profiles.values()), default=0)


def _air_or_liquid(cooling: str) -> str:
    if "air" not in cooling and "liquid" not in cooling:
        raise ValueError(f"{cooling!r} says neither air nor liquid")
    return cooling


class NodeType(Frozen):
    """A server as it would be bought: its GPUs, host and facility needs."""

    vendor: str
    product: str
    gpu_type: str
    gpus: SourcedFigure[NodeGpus]
    cpu_cores: SourcedFigure[PositiveCount]
    """Physical cores of all sockets in the stated configuration."""
    host_memory_gb: SourcedFigure[HostMemory]
    """As sold, GB."""
    rack_units: SourcedFigure[PositiveCount] | None = None
    network_ports: SourcedFigure[PositiveCount] | None = None
    """Ports that it takes of switches for data; those for management are not counted."""
    cooling: SourcedFigure[Annotated[str, AfterValidator(_air_or_liquid)]] | None = None
    max_power_kw: SourcedFigure[NodePower] | None = None
    """Nameplate, for the rack."""
    mean_power_kw: SourcedFigure[NodePower] | None = None
    """Mean draw under load at the AC side, for energy."""
    scale_out_fabric: SourcedFigure[str] | None = None
    """Network that lets a job span nodes; empty where the configuration has none."""
    fabric_gb_per_s: SourcedFigure[Transfer] | None = None
    """What all links of a node to that network move one way, GB/s: 50 for 400 Gb/s."""
    note: str | None = None

    def overdrawn(self, gpu: GpuType) -> str | None:
        """What its GPUs draw at their limit, in words, where that is more than its nameplate."""
        if self.max_power_kw is None or gpu.tdp_w is None:
            return None
        drawn = self.gpus.value * gpu.tdp_w.value / 1000
        if drawn <= self.max_power_kw.value:
            return None
        return (
            f"{self.max_power_kw.value:f} kW are less than its {self.gpus.value} GPUs draw at "
            f"their limit, {drawn.normalize():f} kW"
        )

    @model_validator(mode="after")
    def _rate_of_a_fabric(self) -> NodeType:
        if self.fabric_gb_per_s is not None and self.scale_out_fabric is None:
            raise ValueError("`fabric_gb_per_s` is the rate of `scale_out_fabric`, which is empty")
        return self

    @model_validator(mode="after")
    def _draws_what_it_may(self) -> NodeType:
        mean, most = self.mean_power_kw, self.max_power_kw
        if mean is not None and most is not None and mean.value > most.value:
            raise ValueError(
                f"draws {mean.value:f} kW on average, more than the {most.value:f} kW of its "
                "nameplate"
            )
        return self


class Model(Frozen):
    """The shape of a decoder or encoder: enough to count weights, KV cache and work per token."""

    name: str
    """As published, such as `meta-llama/Llama-3.1-70B`."""
    parameters_b: Annotated[ParametersB, AsFact("10^9 parameters")]
    """All parameters of the model (billions, 10^9)."""
    active_parameters_b: Annotated[ParametersB | None, AsFact("10^9 parameters")] = None
    """Parameters used per token, fewer than all in a mixture of experts (billions)."""
    layers: Annotated[PositiveCount, AsFact("layers")]
    """All layers, whatever they hold: attention, recurrence or a feed-forward block alone."""
    hidden: Annotated[PositiveCount, AsFact("elements")]
    """Width of the residual stream (elements)."""
    intermediate: Annotated[PositiveCount | None, AsFact("elements")] = None
    """Width of the dense feed-forward block (elements); of the leading dense layers of a
    mixture."""
    heads: Annotated[PositiveCount, AsFact("heads")]
    """Attention heads."""
    kv_heads: Annotated[PositiveCount, AsFact("heads")]
    """Key and value heads."""
    head_dim: Annotated[PositiveCount, AsFact("elements")]
    """Width of one query and key head (elements)."""
    vocab: Annotated[PositiveCount, AsFact("tokens")]
    """Vocabulary size."""
    tied_embeddings: Annotated[bool | None, AsFact()] = None
    """Whether input and output embeddings are one matrix, if the source says so."""
    gated_mlp: Annotated[bool, AsFact()] = True
    """Whether the feed-forward block has three matrices and not two (SwiGLU, GeGLU)."""
    clamped_gate: Annotated[bool, AsFact()] = False
    """Whether experts add biases, and clamp gate and up before they are multiplied (gpt-oss)."""
    normed_heads: Annotated[bool, AsFact()] = False
    """Whether queries and keys pass norms of their own (Qwen3, Gemma 3, OLMo 2)."""
    experts: Annotated[PositiveCount | None, AsFact("experts")] = None
    """Routed experts of a mixture, unknown of a dense model."""
    experts_per_token: Annotated[PositiveCount | None, AsFact("experts")] = None
    """Routed experts that one token passes."""
    expert_intermediate: Annotated[PositiveCount | None, AsFact("elements")] = None
    """Width of one routed expert (elements)."""
    shared_expert_intermediate: Annotated[Count, AsFact("elements")] = 0
    """Width of all experts together that every token passes (elements)."""
    dense_layers: Annotated[Count, AsFact("layers")] = 0
    """Layers of a mixture that have no experts."""
    blocks_per_layer: Annotated[PositiveCount, Field(le=2), AsFact("blocks")] = 2
    """Blocks of a layer: attention or recurrence and a feed-forward block, or one of them alone
    (Nemotron-H)."""
    max_context: Annotated[PositiveCount, AsFact("tokens")]
    """Longest sequence that the model is built for."""
    scaled_context: PositiveCount | None = None
    """Tokens to which a declared rope scaling stretches `max_context`; used with a warning."""
    encoder: Annotated[bool, AsFact()] = False
    """Whether every token sees all others, nothing is kept and no text is written (BERT)."""
    attention: Annotated[Literal["gqa", "mla", "hybrid"], AsFact()] = "gqa"
    """How the past is kept: `gqa` keys and values per head (one to all heads), `mla` one latent
    vector per token, `hybrid` only some layers keep keys and values and the others a state."""
    sliding_window: Annotated[PositiveCount | None, AsFact("tokens")] = None
    """Tokens that a sliding layer sees, if any slides."""
    sliding_layers: Annotated[Count, AsFact("layers")] = 0
    """Layers that keep only the window, 0 if none."""
    kv_layers: Annotated[Count | None, AsFact("layers")] = None
    """Layers that keep keys and values of the whole context; all that do not slide if left out."""
    kv_latent_dim: Annotated[PositiveCount | None, AsFact("elements")] = None
    """Elements that MLA caches per token and layer: latent vector and rotary key."""
    state_mb_per_sequence: Annotated[NotNegative | None, AsFact("MB")] = None
    """State of all recurrent layers per sequence, 0 where there are none (MB of 10^6 bytes); only
    for hybrids."""
    native_bits: Annotated[ModelBits | None, AsFact("bit")] = None
    """Width of most weights as published, where it is not 16."""
    tower_parameters_b: Annotated[ParametersB | None, AsFact("10^9 parameters")] = None
    """Parameters of a tower that reads images, with what joins it to the decoder (billions); they
    stand beside `parameters_b`."""
    patches_per_image_token: Annotated[PositiveCount | None, AsFact("ratio")] = None
    """Patches of an image that the tower computes for each token that the decoder is given."""
    source: str
    basis: Basis = "published"
    note: str | None = None

    @model_validator(mode="after")
    def _heads_shared_evenly(self) -> Model:
        if self.heads % self.kv_heads:
            raise ValueError(
                f"{self.heads} heads cannot share {self.kv_heads} KV heads evenly: "
                "`heads` must be a multiple of `kv_heads`"
            )
        return self

    @model_validator(mode="after")
    def _no_more_active_than_all(self) -> Model:
        active = self.active_parameters_b
        if active is not None and active > self.parameters_b:
            raise ValueError(
                f"`active_parameters_b` {active:f} is more than all {self.parameters_b:f}"
            )
        return self

    @model_validator(mode="after")
    def _experts_or_none(self) -> Model:
        if faults := "; ".join(_expert_faults(self)):
            raise ValueError(faults)
        return self

    @model_validator(mode="after")
    def _keeps_what_its_layers_can(self) -> Model:
        if faults := "; ".join(_cache_faults(self)):
            raise ValueError(faults)
        return self

    @property
    def longest_context(self) -> int:
        """Tokens that the model takes, stretched where that is declared."""
        return self.scaled_context or self.max_context

    @property
    def whole_context_layers(self) -> int:
        """Layers that keep keys and values of the whole context."""
        return self.layers - self.sliding_layers if self.kv_layers is None else self.kv_layers


def _expert_faults(model: Model) -> Iterator[str]:
    per_token, width = model.experts_per_token, model.expert_intermediate
    if model.experts is None:
        if per_token or width or model.shared_expert_intermediate or model.dense_layers:
            yield (
                "without `experts` there is no `experts_per_token`, `expert_intermediate`, "
                "`shared_expert_intermediate` or `dense_layers`"
            )
        return
    if per_token is None or width is None:
        yield "`experts` needs `experts_per_token` and `expert_intermediate`"
    elif per_token > model.experts:
        yield f"`experts_per_token` {per_token} is more than all {model.experts} experts"
    if model.dense_layers >= model.layers:
        yield f"`dense_layers` {model.dense_layers} leaves none of {model.layers} layers to experts"


def _cache_faults(model: Model) -> Iterator[str]:
    if model.scaled_context is not None and model.scaled_context < model.max_context:
        yield (
            f"`scaled_context` {model.scaled_context:,} is less than the `max_context` "
            f"{model.max_context:,} that it stretches"
        )
    if model.sliding_window is not None and model.sliding_window >= model.max_context:
        yield (
            f"`sliding_window` {model.sliding_window:,} is as wide as the context "
            f"({model.max_context:,}): leave it out"
        )
    if (model.sliding_window is None) != (model.sliding_layers == 0):
        yield "`sliding_window` and `sliding_layers` need each other"
    if model.sliding_layers + (model.kv_layers or 0) > model.layers:
        yield (
            f"{model.sliding_layers} `sliding_layers` and {model.kv_layers or 0} `kv_layers` "
            f"are more than all {model.layers} layers"
        )
    if model.attention == "hybrid" and model.kv_layers is None:
        yield "attention `hybrid` needs `kv_layers`"
    if model.attention == "mla" and model.kv_latent_dim is None:
        yield "attention `mla` needs `kv_latent_dim`"
    if model.attention == "gqa" and model.kv_latent_dim is not None:
        yield "`kv_latent_dim` belongs to attention `mla` or `hybrid`"
    if model.attention != "hybrid" and model.state_mb_per_sequence is not None:
        yield "`state_mb_per_sequence` belongs to attention `hybrid`"


class _Listed(Frozen):
    """A price of the book, and where it stands."""

    date: Day
    source: str
    basis: Basis
    note: str | None = None


class PurchasePrice(_Listed):
    """What one node of a type costs to buy."""

    price_usd: NodePrice

    @property
    def usd(self) -> Decimal:
        """USD for one node."""
        return self.price_usd


class RentPrice(_Listed):
    """What one GPU of a node type costs to rent by the hour, rented by the whole node."""

    usd_per_gpu_hour: HourPrice

    @property
    def usd(self) -> Decimal:
        """USD for one GPU and one hour."""
        return self.usd_per_gpu_hour


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

    def listed(self, kind: OfferKind | None, node_type: str) -> PurchasePrice | RentPrice | None:
        """Return what it costs to buy or rent a node type; None if that is not listed.

        No price book lists reservations.
        """
        if kind == "buy":
            return self.purchase.get(node_type)
        return self.rent.get(node_type) if kind in ("rent", "hourly") else None

    def usd_of(self, offer: object, key: object) -> Decimal | None:
        """Return the listed price for a key that an offer, as a file states it, leaves open."""
        if not isinstance(offer, dict) or not isinstance(offer.get("node_type"), str):
            return None
        bought = offer.get("kind") == "buy"
        if key != ("price_usd" if bought else "price_usd_per_gpu_hour"):
            return None
        listed = self.listed(offer.get("kind"), offer["node_type"])
        return listed.usd if listed else None


class Neighbours(Frozen):
    """Measured runs that are alike, and how far the rules were from them."""

    figure: Literal["memory", "hours", "rate"]
    """What was measured: peak memory, throughput of training, requests answered per second."""
    method: Literal["full", "lora", "qlora", "p-tuning", "serve"]
    parameters_b: PositiveNumber
    """Of the model, in billions."""
    mixture: bool
    """Whether the model is a mixture of experts."""
    several_gpus: bool
    gpu_vendor: str
    gpu_family: str | None = None
    """Family of the GPUs; None of peak memory, which depends on their maker alone."""
    least: PositiveNumber
    most: PositiveNumber
    """Tokens that a GPU held in a pass, or requests that a replica had at once."""
    runs: PositiveCount
    error: NotNegative
    """Mean of what the rules said over what was measured, less one, without its sign."""


class CatalogFile(Frozen):
    """One YAML file of the catalog; later files extend or replace entries by id."""

    sources: dict[str, FactSource] = Field(default_factory=dict)
    gpus: dict[str, GpuType] = Field(default_factory=dict)
    nodes: dict[str, NodeType] = Field(default_factory=dict)
    models: dict[str, Model] = Field(default_factory=dict)
    neighbours: dict[str, Neighbours] = Field(default_factory=dict)
    price_book: PriceBookHeader | None = None
    purchase: dict[str, PurchasePrice] = Field(default_factory=dict)
    rent: dict[str, RentPrice] = Field(default_factory=dict)


class Catalog(Frozen):
    """All facts, merged from the shipped files and the user's own."""

    sources: dict[str, FactSource]
    gpus: dict[str, GpuType]
    nodes: dict[str, NodeType]
    models: dict[str, Model]
    prices: PriceBook
    neighbours: dict[str, Neighbours] = Field(default_factory=dict)
    """Measured runs in groups, by which a figure says what it rests on."""

    def source_text(self, key: str) -> str:
        """Return `title (address)` of a source key, or the key itself if it is an address."""
        source = self.sources.get(key)
        if source is None:
            return key
        return f"{source.title} ({source.url})" if source.url else source.title

    def model_called(self, name: str) -> str | None:
        """Return the id of the model with this name elsewhere, whatever its instruction tuning.

        `meta-llama/Llama-3.1-8B-Instruct` and `Llama 3.1 8B` are `llama-3.1-8b`.
        """
        asked = _bare(name)
        for id_, model in self.models.items():
            if asked in (_bare(id_), _bare(model.name)):
                return id_
        return None


_TUNED = {"base", "chat", "hf", "instruct", "it", "meta"}
"""Words of a model's name that change nothing of its shape."""


@lru_cache(maxsize=4096)
def _bare(name: str) -> str:
    """Return a model's name without its owner, in one case and with one separator."""
    words = re.split(r"[-_\s]+", name.rpartition("/")[2].casefold())
    return "-".join(word for word in words if word not in _TUNED)


_RECURRENCE = 8
"""The most that the matrices of one recurrent layer hold, in squares of the model's width."""
_SLACK = Decimal("1.25")
"""What is counted beside the decoder, or rounded in a name, is less than a quarter of a model."""


class Counted(NamedTuple):
    """Between how many billions (10^9) the weights of a shape are; equal where it tells all."""

    least_b: Decimal
    most_b: Decimal

    def __str__(self) -> str:
        """Format `70.6`, `11.2 to 37.5`, `at least 4.3`."""
        if not self.most_b.is_finite():
            return f"at least {self.least_b:,.4g}"
        return " to ".join(dict.fromkeys((f"{self.least_b:,.4g}", f"{self.most_b:,.4g}")))


def shape_faults(model: Model) -> Iterator[tuple[str, str]]:
    """Yield parameters that cannot be those of the shape beside them: the key, and both figures."""
    for key, experts in (
        ("parameters_b", model.experts),
        ("active_parameters_b", model.experts_per_token),
    ):
        stated: Decimal | None = getattr(model, key)
        if stated is not None and (experts is not None or key == "parameters_b"):
            counted = counted_parameters(model, experts)
            if not counted.least_b / _SLACK <= stated <= counted.most_b * _SLACK:
                shape = f"{count_of(model.layers, 'layer')}, {model.hidden:,} wide"
                told = f"{stated:f} billion do not fit the shape ({shape}), which has {counted}"
                yield key, told


def counted_parameters(model: Model, experts: int | None) -> Counted:
    """Count the parameters of a shape: embeddings, attention, feed-forward, and active experts.

    If the shape leaves something open, such as whether the embeddings are one matrix or what
    stands in a recurrent layer, the result is a range.
    """
    hidden, attending = model.hidden, model.layers
    blocks = fewest = _blocks(model, experts)
    least, most = _attention(model)
    if model.attention == "hybrid":
        fewest, attending = 0, model.kv_layers or 0
        most += _RECURRENCE * hidden * hidden
    embeddings = model.vocab * hidden
    matrices = {True: (1, 1), False: (2, 2), None: (1, 2)}[model.tied_embeddings]
    lower = embeddings * matrices[0] + fewest + attending * least
    upper = embeddings * matrices[1] + blocks + model.layers * most
    is_known = model.intermediate is not None or model.experts is not None
    return Counted(
        Decimal(lower).scaleb(-9), Decimal(upper).scaleb(-9) if is_known else Decimal("Infinity")
    )


def _blocks(model: Model, experts: int | None) -> int:
    """Return the feed-forward blocks of all layers."""
    matrices = (3 if model.gated_mlp else 2) * model.hidden
    dense = matrices * (model.intermediate or 0)
    if experts is None:
        return model.layers * dense
    routing = model.hidden * (model.experts or 0)
    width = experts * (model.expert_intermediate or 0) + model.shared_expert_intermediate
    mixture = matrices * width + routing
    return (model.layers - model.dense_layers) * mixture + model.dense_layers * dense


def _attention(model: Model) -> tuple[int, int]:
    """Return the attention parameters of a layer; for latent attention, the ranks are not known."""
    queries = model.hidden * model.head_dim * model.heads
    if model.kv_latent_dim is None:
        whole = 2 * (queries + model.hidden * model.head_dim * model.kv_heads)
        return whole, whole
    latent = model.kv_latent_dim * model.hidden
    widened = 2 * model.kv_latent_dim * model.heads * model.head_dim
    return latent + queries // 2, latent + 2 * queries + widened
