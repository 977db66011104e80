"""The question a user asks: jobs, fleet, offers, policies, horizon."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.inputs.base import (
    Count,
    Day,
    Frozen,
    Name,
    Number,
    ParametersB,
    PositiveCount,
    PositiveNumber,
    Share,
)
from planner.inputs.quarter import Quarter
from planner.inputs.spelling import (
    LARGEST_FLEET,
    Bits,
    CountByNodeType,
    CountByQuarter,
    Format,
    Quarters,
)

__all__ = [
    "Adapters",
    "Deploy",
    "Finance",
    "Fixed",
    "FleetEntry",
    "Horizon",
    "Job",
    "Method",
    "Offer",
    "Policies",
    "Scenario",
    "Serve",
    "Tune",
    "UserFiles",
]

Method = Literal["full", "lora", "qlora", "p-tuning"]


class Horizon(Frozen):
    """Which quarters are planned, and the day the plan is made."""

    first_quarter: Quarter
    """The first quarter planned, such as `2027Q1`."""
    quarters: Annotated[PositiveCount, Field(le=40)]
    """How many quarters are planned."""
    as_of: Day | None = None
    """Earliest day an order can be placed; the first day of the first quarter if left out."""


class FleetEntry(Frozen):
    """Nodes that are owned already."""

    node_type: str
    """Node type id of the catalog."""
    count: Annotated[PositiveCount, Field(le=LARGEST_FLEET)]
    """Nodes owned, in service over the whole horizon."""
    site: Name = "main"
    """Where they stand; nodes of one type and site form a pool."""


class Offer(Frozen):
    """Nodes that may be bought or rented; a price left out comes from the price book."""

    node_type: str
    """Node type id of the catalog."""
    kind: Literal["buy", "rent"]
    """To buy for good, or to rent whole for a quarter."""
    site: Name = "main"
    """Where they will stand."""
    price_usd: PositiveNumber | None = None
    """Buy only: price of one node."""
    price_usd_per_gpu_hour: PositiveNumber | None = None
    """Rent only: price of one GPU for one hour; a node is rented whole for a whole quarter."""
    price_date: Day | None = None
    """Day of the price stated here."""
    quote: Name | None = None
    """Quote or contract reference; without one a price counts as illustrative."""
    lead_time_weeks: Annotated[Count, Field(le=520)] = 0
    """Order to in service."""
    maximum: Annotated[Count, Field(le=LARGEST_FLEET)] | None = None
    """Buy: nodes over the whole horizon. Rent: nodes at any one time."""

    @model_validator(mode="after")
    def _price_matches_kind(self) -> Offer:
        if self.kind == "buy" and self.price_usd_per_gpu_hour is not None:
            raise ValueError(
                "an offer to buy takes `price_usd` (per node), not `price_usd_per_gpu_hour`"
            )
        if self.kind == "rent" and self.price_usd is not None:
            raise ValueError("an offer to rent takes `price_usd_per_gpu_hour`, not `price_usd`")
        return self


class Policies(Frozen):
    """House rules of this scenario."""

    headroom: Annotated[Share, Field(ge=0, lt=1)] | None = None
    """Share of each GPU's memory kept free, on top of the margins in the formulas."""
    spare_nodes: CountByNodeType = 0
    """Nodes kept empty in each pool that runs a job: one figure for all, or by node type."""
    allowed_gpu_types: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Only these GPU types may be used; all if left out."""
    excluded_gpu_types: tuple[str, ...] = ()
    """GPU types that may not be used."""
    waived_rules: dict[str, Name] = Field(default_factory=dict)
    """Exclusion rules that do not hold here: rule id and the reason, both printed in the plan."""


class Finance(Frozen):
    """Parameters of the cost; one left out takes a policy rule's value, as an assumption."""

    discount_rate_per_year: Annotated[Share, Field(ge=0, le=1)] | None = None
    """Rate at which later money counts less."""
    useful_life_years: PositiveNumber | None = None
    """Straight-line life; what is left of it at the end of the horizon is the residual value."""
    support_share_per_year: Annotated[Share, Field(ge=0, le=1)] | None = None
    """Yearly support as a share of the purchase price."""
    energy_usd_per_kwh: Annotated[Number, Field(ge=0)] | None = None
    """Price of electricity, USD per kWh."""
    pue: Annotated[Number, Field(ge=1, le=5)] | None = None
    """Power usage effectiveness: facility power over computer power."""


Replicas = Annotated[PositiveCount, Field(le=10_000)]


class Adapters(Frozen):
    """LoRA or QLoRA adapters (or tuned prompts) served beside one base model."""

    count: PositiveCount
    """Adapters served at once."""
    size_gb: PositiveNumber
    """Size of one adapter, GB."""


class Deploy(Frozen):
    """Serve the tuned model from the quarter after it is tuned."""

    replicas: Replicas = 1
    """Copies that serve side by side."""
    bits: Bits | None = None
    """Weight width of a deployed full fine-tune; LoRA keeps 16, QLoRA keeps its base's."""
    adapter_gb: PositiveNumber | None = None
    """Size of the tuned adapter, GB; by the adapter-size rule if left out."""


class Tune(Frozen):
    """A tuning job."""

    model: str | None = None
    """Model id of the catalog; or give `parameters_b`."""
    parameters_b: ParametersB | None = None
    """Parameters in billions, for a model that the catalog does not know."""
    method: Method
    """How the model is tuned."""
    precision: Literal["bf16", "fp16", "fp32"] = "bf16"
    """Data type that is trained."""
    base_bits: Bits | None = None
    """Weight width of the frozen base: 16 for LoRA and p-tuning, 8 or 4 for QLoRA."""
    optimizer: Literal["adamw", "sgd"] = "adamw"
    """Optimizer of the tuning run."""
    batch: PositiveCount | None = None
    """Sequences per optimizer step, over all GPUs."""
    sequence: PositiveCount | None = None
    """Maximum sequence length, tokens."""
    dataset_tokens: PositiveNumber | None = None
    """Size of the data set, tokens; without it the run time stays open."""
    epochs: PositiveNumber = Field(default=1, validate_default=True)
    """Passes over the data set."""
    deadline_hours: PositiveNumber | None = None
    """Hours that one run may take; a quarter if left out."""
    adapter_rank: PositiveCount | None = None
    """Rank of the LoRA matrices; by the adapter rule if left out."""
    gpu_partition: str | None = None
    """MIG profile to run on; there is a rule about that."""
    deploy: Deploy | None = None
    """Derive the job that serves the tuned model."""

    @model_validator(mode="after")
    def _one_model(self) -> Tune:
        _require_one_model(self.model, self.parameters_b)
        return self


class Serve(Frozen):
    """A serving job: one model behind one endpoint, in replicas."""

    model: str | None = None
    """Model id of the catalog; or give `parameters_b`."""
    parameters_b: ParametersB | None = None
    """Parameters in billions, for a model that the catalog does not know."""
    bits: Bits = 16
    """Weight width: 16, 8 or 4."""
    adapters: Adapters | None = None
    """Adapters beside the base model; none if left out."""
    replicas: Replicas = 1
    """Copies that serve side by side."""

    @model_validator(mode="after")
    def _one_model(self) -> Serve:
        _require_one_model(self.model, self.parameters_b)
        return self


class Fixed(Frozen):
    """A job that states its own needs."""

    gpus: PositiveCount | None = None
    """GPUs, or give `gpu_memory_gb`."""
    gpu_memory_gb: PositiveNumber | None = None
    """Memory over all its GPUs, GB."""
    cpus: Count = 0
    """Host CPU cores."""
    memory_gb: Annotated[Number, Field(ge=0)] = Field(default=0, validate_default=True)
    """Host memory, GB."""

    @model_validator(mode="after")
    def _some_need(self) -> Fixed:
        if (self.gpus is None) == (self.gpu_memory_gb is None):
            raise ValueError("give either `gpus` or `gpu_memory_gb`")
        return self


def _require_one_model(model: str | None, parameters_b: object) -> None:
    if (model is None) == (parameters_b is None):
        raise ValueError("give either `model` (an id of the catalog) or `parameters_b`")


class Job(Frozen):
    """One thing to place, or many alike."""

    tune: Tune | None = None
    """Tune a model."""
    serve: Serve | None = None
    """Serve a model."""
    fixed: Fixed | None = None
    """Anything else that states its own needs."""
    quarters: Quarters = None
    """When it is active: `all`, `2027Q1`, `2027Q1..2027Q3`, or a list of these."""
    count: CountByQuarter = 1
    """How many alike: one figure, or by quarter (a quarter left out has none)."""
    growth_per_quarter: Annotated[Share, Field(gt=-1, le=10)] | None = None
    """Growth of `count` from quarter to quarter, rounded up."""
    gpu_types: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """GPU types it may use; all that the rules allow if left out."""
    team: Name | None = None
    """Who asks for it; shown in reports."""
    note: str | None = None
    """For readers; nothing is computed from it."""

    @model_validator(mode="after")
    def _one_kind(self) -> Job:
        if sum(part is not None for part in (self.tune, self.serve, self.fixed)) != 1:
            raise ValueError("a job has exactly one of `tune:`, `serve:` and `fixed:`")
        if isinstance(self.count, dict) and (self.growth_per_quarter is not None or self.quarters):
            raise ValueError(
                "`count` by quarter already says when and how many; "
                "leave out `quarters` and `growth_per_quarter`"
            )
        return self

    @property
    def kind(self) -> Literal["tune", "serve", "fixed"]:
        """Which of the three it is."""
        return "tune" if self.tune else "serve" if self.serve else "fixed"

    def counts(self, horizon: Horizon) -> tuple[int, ...]:
        """How many alike in each quarter of the horizon; growth is exact and rounds up."""
        every = tuple(horizon.first_quarter + step for step in range(horizon.quarters))
        if isinstance(self.count, dict):
            by_quarter = {Quarter.parse(key): value for key, value in self.count.items()}
            return tuple(by_quarter.get(quarter, 0) for quarter in every)
        active = set(every if self.quarters is None else self.quarters)
        growth = 1 + Fraction(self.growth_per_quarter or 0)
        if growth == 1:
            return tuple(self.count if quarter in active else 0 for quarter in every)
        first = min(active & set(every), default=every[0])
        return tuple(
            ceil(self.count * growth ** (quarter - first)) if quarter in active else 0
            for quarter in every
        )


class UserFiles(Frozen):
    """The user's own files, relative to the scenario, inside its folder; later ones win by id."""

    catalog: tuple[str, ...] = ()
    """Catalog and price files."""
    rules: tuple[str, ...] = ()
    """Rule files, one rule each."""


class Scenario(Frozen):
    """A whole question."""

    format: Format
    """Version of this file format."""
    name: Name
    """Title of the plan."""
    description: str | None = None
    """For readers; nothing is computed from it."""
    horizon: Horizon
    """Which quarters are planned."""
    use: UserFiles = UserFiles()
    """Files of your own that extend or replace shipped ones."""
    fleet: dict[Name, FleetEntry] = Field(default_factory=dict)
    """Nodes owned, by a name of your own."""
    offers: dict[Name, Offer] = Field(default_factory=dict)
    """What may be bought or rented, by a name of your own."""
    policies: Policies = Policies()
    """House rules."""
    finance: Finance = Finance()
    """Parameters of the cost."""
    jobs: Annotated[dict[Name, Job], Field(min_length=1)]
    """What is to run, by a name of your own."""
