"""The question a user asks: jobs, fleet, offers, policies, horizon."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.inputs.base import (
    Count,
    Day,
    Frozen,
    Name,
    Number,
    PositiveCount,
    PositiveNumber,
    Share,
)
from planner.inputs.job import Job
from planner.inputs.quarter import Quarter
from planner.inputs.spelling import LARGEST_FLEET, CountByNodeType, Format

__all__ = [
    "Finance",
    "FleetEntry",
    "Horizon",
    "Offer",
    "Policies",
    "Scenario",
    "UserFiles",
]


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
