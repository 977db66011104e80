"""The question a user asks: jobs, fleet, offers, policies, horizon, and where jobs run today."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from planner.inputs.base import (
    Frozen,
    Name,
    NotNegative,
    PositiveCount,
    PositiveNumber,
    Share,
)
from planner.inputs.scenario.api import Api
from planner.inputs.scenario.finance import Budget, Finance
from planner.inputs.scenario.horizon import Horizon
from planner.inputs.scenario.job import ChangeCost, Job
from planner.inputs.scenario.offer import FleetEntry, Offer, PriceBreak
from planner.inputs.scenario.site import Racks, Site
from planner.inputs.scenario.spelling import CountByNodeType, Format
from planner.inputs.scenario.team import Team

__all__ = [
    "DELETE",
    "NO_SITE",
    "REPLACE",
    "Budget",
    "Finance",
    "FleetEntry",
    "Horizon",
    "Offer",
    "Policies",
    "PriceBreak",
    "Racks",
    "Running",
    "Scenario",
    "ScenarioFile",
    "Site",
    "Team",
    "UserFiles",
    "VariationName",
    "Variations",
]

NO_SITE = "\n"
"""Where a job may run that no site will do for: no site is named so, as names are printable."""


class Running(Frozen):
    """Units of one job that run on one node, on several whole nodes, or somewhere in a pool."""

    job: Name
    """The job that runs; its entries are its units 1, 2, … in the order listed."""
    node: Name | None = None
    """The owned node that holds them, by type, site and number as in a plan:
    `xe9680-h100/frankfurt/03`."""
    nodes: Annotated[tuple[Name, ...], Field(min_length=2)] | None = None
    """For one unit over several whole nodes: all of them."""
    pool: Name | None = None
    """Where the node does not matter, or is none of yours: type and site,
    `xe9680-h100/frankfurt`."""
    gpus: PositiveCount | None = None
    """GPUs that each unit holds there; the plan warns where the rules give another number. Not
    compared if left out."""
    count: PositiveCount = 1
    """Units there."""
    pinned: bool = False
    """Whether they must stay, as all of a job must that is `pinned`."""

    @model_validator(mode="after")
    def _one_place(self) -> Running:
        if sum(place is not None for place in (self.node, self.nodes, self.pool)) != 1:
            raise ValueError("give exactly one of `node`, `nodes` and `pool`")
        return self

    @model_validator(mode="after")
    def _one_unit_on_several(self) -> Running:
        if self.nodes is not None and self.count > 1:
            raise ValueError("`nodes` are those of one unit; write an entry for each unit")
        return self


REPLACE, DELETE = "replace", "delete"
"""The verbs of an override; every other key of it is a path whose value it sets."""


def _plain(name: str) -> str:
    if "," in name:
        raise ValueError("must not hold a comma, which stands between names on the command line")
    return name


VariationName = Annotated[Name, AfterValidator(_plain)]
"""Name of an override or of a scenario."""


class Variations(Frozen):
    """The keys by which scenario files build on each other; none of them is part of a question."""

    extends: Name | None = None
    """The scenario file that this one builds on, relative to this file."""
    apply: tuple[VariationName, ...] = ()
    """Overrides and scenarios that always hold here, in this order."""
    overrides: dict[VariationName, Annotated[dict[str, Any], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    """Named changes: dotted paths with their new values, and `replace:` and `delete:`."""
    scenarios: dict[VariationName, Annotated[tuple[VariationName, ...], Field(min_length=1)]] = (
        Field(default_factory=dict)
    )
    """Named lists of overrides, applied in the order in which they stand."""


class Policies(Frozen):
    """House rules of this scenario."""

    headroom: Annotated[Share, Field(ge=0, lt=1)] | None = None
    """Share of each GPU's memory kept free, on top of the margins in the formulas; rule
    `policies/headroom` if left out."""
    spare_nodes: CountByNodeType = 0
    """Nodes kept empty in each pool that runs a job: one figure for all, or by node type."""
    repair_days: PositiveNumber | None = None
    """Mean days until a failed node serves again. With it, the plan tells for each pool in what
    share of the time its spare nodes suffice, by rule `reliability/failures-per-gpu`, and how many
    would in 99 %."""
    growth_reserve: dict[str, Annotated[Share, Field(ge=0, lt=1)]] = Field(default_factory=dict)
    """Share of the GPUs in service that no job holds in any quarter, by GPU type over all sites;
    GPUs of spare nodes are free ones too, and a run counts by its hours."""
    allowed_gpu_types: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Only these GPU types may be used; all if left out."""
    excluded_gpu_types: tuple[str, ...] = ()
    """GPU types that may not be used."""
    waived_rules: dict[str, Name] = Field(default_factory=dict)
    """Exclusion rules that do not hold here: rule id and the reason, both printed in the plan."""
    run_utilization: Annotated[Share, Field(gt=0, le=1)] | None = None
    """Share of the hours for which runs hold their GPUs in which they make progress, the rest being
    queueing, failures and maintenance; rule `policies/run-utilization` if left out."""
    mig: Literal["never", "same-node", "own-node"] = "never"
    """Whether serving jobs may have MIG partitions of a GPU: `never`; `same-node`, on nodes that
    hold whole GPUs as well; `own-node`, on nodes of which every GPU is partitioned."""
    shared_gpus: bool = False
    """Whether serving jobs may share a GPU that is not partitioned, by memory."""
    may_change_gpu_type: Literal["none", "tuning", "all"] = "tuning"
    """Which jobs may change the GPU type of a unit from quarter to quarter, where they do not say
    so themselves."""
    gpu_type_change_cost_usd: ChangeCost | None = None
    """What it costs if a unit that may change its GPU type does; nothing if left out."""
    charge_idle: Literal["separate", "spread"] = "separate"
    """Who pays for GPUs that no job holds: `separate`, a line of its own; `spread`, the teams that
    use the pool."""
    quota_of_part: Literal["share", "whole"] = "share"
    """What a part of a GPU counts against a quota: its share of the memory, or a whole GPU."""
    shortage: Literal["refuse", "drop"] = "refuse"
    """What happens where not everything fits: `refuse`, there is no plan, and the reasons are told;
    `drop`, jobs are delayed and dropped by priority."""
    move_cost_usd: NotNegative | None = None
    """What it costs to move one running unit to another pool; nothing if left out, listed as an
    assumption."""


class UserFiles(Frozen):
    """The user's own files, relative to the scenario, inside its folder; later ones win by id."""

    catalog: tuple[str, ...] = ()
    """Catalog and price files, relative to the scenario and inside its folder; later ones win."""
    rules: tuple[str, ...] = ()
    """Rule files, likewise."""


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
    sites: dict[Name, Site] = Field(default_factory=dict)
    """Where nodes stand and what limits them there, by a name of your own; without any, a site is a
    name alone, and with some, every site that is named is one of them."""
    fleet: dict[Name, FleetEntry] = Field(default_factory=dict)
    """Nodes owned, by a name of your own."""
    offers: dict[Name, Offer] = Field(default_factory=dict)
    """What may be bought, rented, reserved or had by the hour, by a name of your own."""
    apis: dict[Name, Api] = Field(default_factory=dict)
    """APIs that serve a model for a price by the token, by a name of your own, to jobs that say
    `api: allowed`."""
    policies: Policies = Policies()
    """House rules."""
    finance: Finance = Finance()
    """Parameters of the cost; by policy rules, listed as assumptions, where they are left out."""
    budget: Budget = Budget()
    """What may be paid, by quarter and in total; not limited where it is left out."""
    teams: dict[Name, Team] = Field(default_factory=dict)
    """Who asks for jobs, with quotas; without any, a job's team is a name alone."""
    jobs: dict[Name, Job]
    """What is to run, by a name of your own; `{}` where nothing is, and the plan buys nothing."""
    running: tuple[Running, ...] = ()
    """What runs today, and where; left out, a plan starts on empty nodes."""

    @model_validator(mode="after")
    def _at_the_only_site(self) -> Scenario:
        stand: tuple[dict[str, Any], ...] = (self.fleet, self.offers)
        for entries in stand if len(self.sites) == 1 else ():
            for name, entry in entries.items():
                if "site" not in entry.model_fields_set:
                    entries[name] = entry.model_copy(update={"site": next(iter(self.sites))})
        return self

    def move_cents(self, job: str) -> int:
        """What it costs to move one unit of a job to another pool, whole cents, half to even."""
        stated = self.jobs[job].move_cost_usd
        usd = self.policies.move_cost_usd if stated is None else stated
        return round((usd or Decimal(0)) * 100)

    def gpu_type_change_usd(self, job: str) -> Decimal:
        """What it costs if a unit of a job that may change its GPU type does."""
        stated = self.jobs[job].gpu_type_change_cost_usd
        usd = self.policies.gpu_type_change_cost_usd if stated is None else stated
        return usd or Decimal(0)

    def keeps_gpu_type(self, job: Job, kind: str) -> bool:
        """Whether its units each stay on one GPU type; `kind` is its own, or `serve` once tuned."""
        if job.may_change_gpu_type is not None:
            return not job.may_change_gpu_type
        may = self.policies.may_change_gpu_type
        return not (may == "all" or (may == "tuning" and kind == "tune"))

    @property
    def node_types_in_play(self) -> tuple[str, ...]:
        """Node types that are owned or offered, sorted."""
        return tuple(sorted({entry.node_type for entry in self._entries}))

    @property
    def sites_in_play(self) -> tuple[str, ...]:
        """Sites where nodes are owned or offered, sorted."""
        return tuple(sorted({site for entry in self._entries for site in entry.sites}))

    @property
    def _entries(self) -> tuple[FleetEntry | Offer, ...]:
        return (*self.fleet.values(), *self.offers.values())

    def sites_of(self, job: Job) -> tuple[str, ...]:
        """Sites at which a job may run, sorted; empty where it may run at any.

        Where no site will do, the one that none is: `NO_SITE`.
        """
        if job.sites is None and not job.labels:
            return ()
        known = self.sites or dict.fromkeys(self.sites_in_play, Site())
        found = sorted(
            name
            for name, site in known.items()
            if name in (job.sites or known) and set(job.labels) <= set(site.labels)
        )
        return tuple(found) or (NO_SITE,)

    def apis_of(self, name: str) -> tuple[str, ...]:
        """APIs that may answer the requests of a job, sorted; empty where none may."""
        job = self.jobs.get(name)
        serve = job.serve if job is not None and job.api == "allowed" else None
        if serve is None or serve.load is None:
            return ()
        return tuple(sorted(key for key, api in self.apis.items() if api.model == serve.model))

    def may_give_way(self, job: Job) -> bool:
        """Whether a job is dropped where it cannot run."""
        return self.policies.shortage == "drop" and not job.required


class ScenarioFile(Variations, Scenario):
    """All keys that a scenario file may have: those of the question and of its variations."""
