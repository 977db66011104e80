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
from planner.inputs.scenario.finance import Budget, Finance
from planner.inputs.scenario.horizon import Horizon
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.offer import Api, FleetEntry, Offer
from planner.inputs.scenario.site import Site
from planner.inputs.scenario.spelling import CountByNodeType, Format, OneOrMoreNames
from planner.inputs.scenario.team import Team

NO_SITE = "\n"
"""Where a job may run that no site will do for: no site is named so, as names are printable."""


class Running(Frozen):
    """Units of one job that run on one node, on several whole nodes, or somewhere in a pool."""

    job: Name
    """The job that runs; its entries are its units 1, 2, … in the order listed."""
    node: OneOrMoreNames | None = None
    """The owned node that holds them, named as in a plan: `xe9680-h100/frankfurt/03`; all whole
    nodes of one unit that spans several."""
    pool: Name | None = None
    """Node type and site, `xe9680-h100/frankfurt`, where the node does not matter or is not
    yours."""
    gpus: PositiveCount | None = None
    """GPUs that each unit holds there; the plan warns where the rules give another number."""
    count: PositiveCount = 1
    """Units there."""
    pinned: bool = False
    """Whether they must stay there."""

    @model_validator(mode="after")
    def _one_place(self) -> Running:
        if (self.node is None) == (self.pool is None):
            raise ValueError("give either `node` or `pool`")
        return self

    @model_validator(mode="after")
    def _one_unit_on_several(self) -> Running:
        if len(self.nodes) > 1 and self.count > 1:
            raise ValueError("several nodes are those of one unit; write an entry for each unit")
        return self

    @property
    def nodes(self) -> tuple[str, ...]:
        """Every node that it names; none where it names a pool."""
        return (self.node,) if isinstance(self.node, str) else self.node or ()


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
    """Overrides and scenarios that always hold in this file, in order."""
    overrides: dict[VariationName, Annotated[dict[str, Any], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    """Named changes: dotted paths with new values, `replace:` and `delete:`."""
    scenarios: dict[VariationName, Annotated[tuple[VariationName, ...], Field(min_length=1)]] = (
        Field(default_factory=dict)
    )
    """Named lists of overrides, applied in order."""


class Policies(Frozen):
    """House rules of this scenario."""

    headroom: Annotated[Share, Field(ge=0, lt=1)] | None = None
    """Share of each GPU's memory kept free beyond the margins of the formulas; rule
    `policies/headroom` if left out."""
    spare_nodes: CountByNodeType = 0
    """Nodes kept empty in each pool that runs a job: one figure, or by node type."""
    repair_days: Annotated[PositiveNumber, Field(le=365)] | None = None
    """Mean days until a failed node serves again; the plan then says how often the spare nodes
    suffice, by rule `reliability/failures-per-gpu`."""
    growth_reserve: dict[str, Annotated[Share, Field(ge=0, lt=1)]] = Field(default_factory=dict)
    """Share of the GPUs in service that stays free in every quarter, by GPU type over all sites;
    GPUs of spare nodes count as free, and a run holds its GPUs for its share of the hours."""
    allowed_gpu_types: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """The only GPU types that may be used; all if left out."""
    excluded_gpu_types: tuple[str, ...] = ()
    """GPU types that may not be used."""
    waived_rules: dict[str, Name] = Field(default_factory=dict)
    """Exclusion rules that do not hold here: rule id and reason, both printed in the plan."""
    run_utilization: Annotated[Share, Field(gt=0, le=1)] | None = None
    """Share of its hours in which a run makes progress; the rest is queueing, failures and
    maintenance. Rule `policies/run-utilization` if left out."""
    mig: Literal["never", "same-node", "own-node"] = "never"
    """Whether serving jobs may use MIG partitions: `never`; `same-node`, beside whole GPUs;
    `own-node`, on nodes where every GPU is partitioned."""
    shared_gpus: bool = False
    """Whether serving jobs may share the memory of a GPU that is not partitioned."""
    may_change_gpu_type: Literal["none", "tuning", "all"] = "tuning"
    """Which jobs may change a unit's GPU type between quarters, unless they say so themselves."""
    charge_idle: Literal["separate", "spread"] = "separate"
    """Who pays for idle GPUs: `separate`, a line of its own; `spread`, the teams that use the
    pool."""
    quota_of_part: Literal["share", "whole"] = "share"
    """What a part of a GPU counts against a quota: its share of the memory, or a whole GPU."""
    shortage: Literal["refuse", "drop"] = "refuse"
    """Where not everything fits: `refuse`, there is no plan; `drop`, jobs are delayed and dropped
    by priority."""
    move_cost_usd: NotNegative | None = None
    """Cost of moving one running unit to another pool; nothing if left out."""


class UserFiles(Frozen):
    """The user's own files, relative to the scenario, inside its folder; later ones win by id."""

    catalog: tuple[str, ...] = ()
    """Catalog and price files, relative to the scenario and inside its folder; later ones win."""
    rules: tuple[str, ...] = ()
    """Rule files, likewise."""
    measured: tuple[str, ...] = ()
    """Tables (CSV) of your own measured runs, likewise; they move what is expected of jobs."""


class ResolvedScenario(Frozen):
    """A whole question: what a scenario's files, their overrides and settings come to."""

    format: Format
    """Version of this file format."""
    name: Name
    """Title of the plan."""
    description: str | None = None
    """For readers; nothing is computed from it."""
    owner: str | None = None
    """Who asks for all this, and answers for it; for the documents, as are the next three."""
    objective: str | None = None
    """What it is to achieve."""
    benefit: str | None = None
    """What that is worth, and how it is measured."""
    if_not_met: str | None = None
    """What happens if the need is not met."""
    horizon: Horizon
    """The quarters that are planned."""
    use: UserFiles = UserFiles()
    """Your own catalog and rule files."""
    sites: dict[Name, Site] = Field(default_factory=dict)
    """Where nodes stand, and the limits there, by name; if any is listed, every site that is named
    must be."""
    fleet: dict[Name, FleetEntry] = Field(default_factory=dict)
    """Nodes that you own, by a name of your own."""
    offers: dict[Name, Offer] = Field(default_factory=dict)
    """What you may buy, rent, reserve or take by the hour, by a name of your own."""
    apis: dict[Name, Api] = Field(default_factory=dict)
    """APIs that serve a model for a price by the token, by a name of your own, to jobs with `api:
    allowed`."""
    policies: Policies = Policies()
    """House rules."""
    finance: Finance = Finance()
    """Parameters of the cost; what is left out follows a policy rule and is listed as an
    assumption."""
    budget: Budget = Budget()
    """What may be paid, by quarter and in total; no limit if left out."""
    teams: dict[Name, Team] = Field(default_factory=dict)
    """Who asks for jobs, with quotas; if any is listed, every team that is named must be."""
    jobs: dict[Name, Job]
    """What must run, by a name of your own; may be `{}`."""
    running: tuple[Running, ...] = ()
    """What runs today, and where; if left out, a plan starts on empty nodes."""

    @model_validator(mode="after")
    def _at_the_only_site(self) -> ResolvedScenario:
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

    def keeps_gpu_type(self, job: Job, kind: str) -> bool:
        """Whether its units each stay on one GPU type; `kind` is its own, or `serve` once tuned."""
        if job.serve is not None and job.serve.mixed:
            return False
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


class ScenarioFile(Variations, ResolvedScenario):
    """All keys that a scenario file may have: those of the question and of its variations."""
