"""The question a user asks: the sections of a scenario, and where its jobs run today."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from decimal import ROUND_FLOOR, Decimal
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from planner.inputs.base import (
    ONE_OR_BY_KEY,
    Count,
    Different,
    Format,
    Frozen,
    Name,
    NotNegative,
    Number,
    OneOrMoreNames,
    PositiveCount,
    PositiveNumber,
    Share,
    SomeDifferent,
    SpareByNodeType,
    exactly_one,
)
from planner.inputs.scenario.horizon import ByQuarter, Horizon, QuarterKey, in_force, quarter_key
from planner.inputs.scenario.job import Job
from planner.inputs.scenario.offer import Api, FleetEntry, Offer
from planner.inputs.scenario.site import Site

TOTAL = "total"
"""The key that caps the whole horizon, beside its quarters."""


def _quarter_or_total(key: str) -> str:
    if key == TOTAL:
        return key
    try:
        return quarter_key(key)
    except ValueError as error:
        raise ValueError(f"{error}, or `{TOTAL}` for the whole horizon") from None


FigureByGpuType = Annotated[
    Annotated[NotNegative, Tag("one figure")] | Annotated[dict[str, NotNegative], Tag("by key")],
    ONE_OR_BY_KEY,
]
"""One figure for all GPU types, or figures by GPU type; one that is left out has none."""

FigureByQuarter = Annotated[
    Annotated[NotNegative, Tag("one figure")]
    | Annotated[
        dict[Annotated[str, AfterValidator(_quarter_or_total)], NotNegative],
        Field(min_length=1),
        Tag("by key"),
    ],
    ONE_OR_BY_KEY,
]
"""One figure for the whole horizon, or by quarter; `total` beside quarters is the whole again."""


class Finance(Frozen):
    """Parameters of the cost; one left out takes a policy rule's value, as an assumption."""

    discount_rate_per_year: Annotated[Share, Field(ge=0, le=10)] | None = None
    """Rate at which later money counts less; rule `policies/discount-rate` if left out."""
    useful_life_years: PositiveNumber | None = None
    """Straight-line life, which sets the residual value; rule `policies/useful-life` if left
    out."""
    support_share_per_year: Annotated[Share, Field(ge=0, le=1)] | None = None
    """Yearly support of bought nodes as a share of the price; rule `policies/support` if left
    out."""
    energy_usd_per_kwh: NotNegative | None = None
    """Price of electricity; rule `policies/energy-price` if left out."""
    pue: Annotated[Number, Field(ge=1, le=5)] | None = None
    """Power usage effectiveness: facility power over computer power; rule `policies/pue` if left
    out."""
    licence_usd_per_gpu_year: FigureByGpuType | None = None
    """Software licence of one GPU in service; one figure, or by GPU type; none if left out."""
    colocation_usd_per_kw_month: NotNegative | None = None
    """Charge for one kW of nameplate power of owned and bought nodes; none if left out."""
    network_usd_per_port: NotNegative | None = None
    """Transceivers, cable and share of the switches for one port of a bought node, without residual
    value; none if left out."""
    residual_at_most: Annotated[Share, Field(ge=0, le=1)] | None = None
    """Largest share of its price that a bought node is worth at the end of the horizon; what its
    useful life leaves if left out."""
    optimism_bias: Annotated[Share, Field(ge=0, le=10)] | None = None
    """Share by which purchases tend to become dearer (UK Green Book), for an adjusted figure beside
    the plan's; none if left out."""
    commitments: Literal["shown", "charged"] = "shown"
    """Reservations after the horizon: `shown` beside the cost, or `charged`."""

    def licence_usd(self, gpu_type: str) -> Decimal:
        """What the licence of one GPU costs for one year; 0 where none is stated."""
        stated = self.licence_usd_per_gpu_year
        if isinstance(stated, dict):
            return stated.get(gpu_type, Decimal(0))
        return Decimal(0) if stated is None else stated


Spend = Literal["capex", "opex", "spending"]
"""Purchases; everything else that is paid; both."""


class SpendCap(NamedTuple):
    """One budget: at most so much of one kind of money, of one quarter or of the horizon."""

    spend: Spend
    quarter: str | None
    """None: the whole horizon."""
    cents: int

    @property
    def name(self) -> str:
        """`capex of 2027Q2`, `spending in total`."""
        return f"{self.spend} of {self.quarter}" if self.quarter else f"{self.spend} in total"


class Budget(Frozen):
    """What may be paid, not discounted; what is left out is not limited."""

    capex_usd: FigureByQuarter | None = None
    """Purchases: one figure for the horizon, or by quarter, with `total` for the whole."""
    opex_usd: FigureByQuarter | None = None
    """All that is paid but purchases (rents, support, energy …), for owned nodes too; likewise."""
    total_usd: FigureByQuarter | None = None
    """Both together, likewise."""

    def caps(self) -> Iterator[SpendCap]:
        """Every budget by itself: capex, opex, both; by quarter, then the whole horizon."""
        stated: dict[Spend, Decimal | dict[str, Decimal] | None] = {
            "capex": self.capex_usd,
            "opex": self.opex_usd,
            "spending": self.total_usd,
        }
        for spend, figures in stated.items():
            by_key = figures if isinstance(figures, dict) else {TOTAL: figures}
            for key in sorted(by_key, key=lambda key: (key == TOTAL, key)):
                usd = by_key[key]
                if usd is not None:  # whole cents, never more than stated
                    cents = int((usd * 100).to_integral_value(ROUND_FLOOR))
                    yield SpendCap(spend, None if key == TOTAL else key, cents)


ALL_GPU_TYPES = "total"
"""The key that stands for all GPU types together, beside some of them."""

_BEGINS_AS_A_QUARTER = re.compile(r"[0-9]{4}-?[qQ]")


def kind_of_quota(value: object) -> str:
    """`one figure`, `by quarter` or `by GPU type`: how a quota is stated."""
    if not isinstance(value, dict):
        return "one figure"
    keys = [key for key in value if isinstance(key, str)]
    quarters = not keys or any(_BEGINS_AS_A_QUARTER.match(key) for key in keys)
    return "by quarter" if quarters else "by GPU type"


Gpus = Annotated[Count, Field(le=10**7)]
GpusByType = Annotated[
    Annotated[Gpus, Tag("one figure")]
    | Annotated[dict[QuarterKey, Gpus], Field(min_length=1), Tag("by quarter")]
    | Annotated[dict[str, ByQuarter[Gpus, Gpus]], Tag("by GPU type")],
    Discriminator(kind_of_quota),
]
"""One figure, or figures by quarter, each of which holds until the next, or such figures by GPU
type, with `total` for all of them together."""


class Team(Frozen):
    """A team whose jobs are planned and charged together."""

    quota_gpus: GpusByType | None = None
    """GPUs that all its jobs may hold at once (by GPU type, `total` is for all); no limit if left
    out."""
    note: str | None = None
    """For readers; nothing is computed from it."""

    def quotas(self, horizon: Horizon) -> Iterator[tuple[str | None, tuple[int | None, ...]]]:
        """Each quota by itself: its GPU type (None: all) and the GPUs by quarter (None: no limit).

        All types together first, then by name.
        """
        stated: Any = self.quota_gpus
        if kind_of_quota(stated) != "by GPU type":
            stated = {} if stated is None else {ALL_GPU_TYPES: stated}
        for key in sorted(stated, key=lambda key: (key != ALL_GPU_TYPES, key)):
            at_most = tuple(in_force(stated[key], one) for one in horizon.all_quarters)
            yield None if key == ALL_GPU_TYPES else key, at_most


NO_SITE = "\n"
"""Where a job may run that no site will do for: no site is named so, as names are printable."""


class Running(Frozen):
    """Units of one job that run on one node, on several whole nodes, or somewhere in a pool."""

    job: Name
    """The job that runs; its entries are its units 1, 2, … in the order listed."""
    node: OneOrMoreNames | None = None
    """The owned node that holds them, named as in a plan, `xe9680-h100/frankfurt/03`; or all whole
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

    _one_place = exactly_one("node", "pool", told="give either `node` or `pool`")

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
    spare_nodes: SpareByNodeType = 0
    """Nodes kept empty in each pool that runs a job: one figure, or by node type."""
    repair_days: Annotated[PositiveNumber, Field(le=365)] | None = None
    """Mean days until a failed node serves again, by which the plan says how often the spare nodes
    suffice."""
    growth_reserve: dict[str, Annotated[Share, Field(ge=0, lt=1)]] = Field(default_factory=dict)
    """Share of the GPUs in service that stays free in every quarter, by GPU type over all sites;
    spare nodes count as free, and a run by its share of the hours."""
    allowed_gpu_types: SomeDifferent[str] | None = None
    """The only GPU types that may be used; all if left out."""
    excluded_gpu_types: Different[str] = ()
    """GPU types that may not be used."""
    waived_rules: dict[str, Name] = Field(default_factory=dict)
    """Exclusion rules that do not hold here: rule id and reason, both printed in the plan."""
    run_utilization: Annotated[Share, Field(gt=0, le=1)] | None = None
    """Share of its hours in which a run makes progress (the rest is queueing, failures and
    maintenance); rule `policies/run-utilization` if left out."""
    mig: Literal["never", "same-node", "own-node"] = "never"
    """Whether serving jobs may use MIG partitions: beside whole GPUs (`same-node`), or on nodes
    where every GPU is partitioned (`own-node`)."""
    shared_gpus: bool = False
    """Whether serving jobs may share the memory of a GPU that is not partitioned."""
    may_change_gpu_type: Literal["none", "tuning", "all"] = "tuning"
    """Which jobs may change a unit's GPU type between quarters, unless they say so."""
    charge_idle: Literal["separate", "spread"] = "separate"
    """Who pays for idle GPUs: `separate`, a line of its own; `spread`, the teams that use the
    pool."""
    quota_of_part: Literal["share", "whole"] = "share"
    """How a part of a GPU counts against a quota: by its share of the memory, or whole."""
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
    """CSV tables of your own measured runs, likewise, which correct the estimates."""


class ResolvedScenario(Frozen):
    """A whole question: what a scenario's files, their overrides and settings come to."""

    format: Format
    """Version of this file format."""
    name: Name
    """Title of the plan."""
    description: str | None = None
    """For readers; nothing is computed from it."""
    owner: str | None = None
    """Who asks for it and answers for it; for the documents, as are the next three."""
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
    """Where nodes stand, and the limits there. If one is listed, all must be."""
    fleet: dict[Name, FleetEntry] = Field(default_factory=dict)
    """Nodes that you own."""
    offers: dict[Name, Offer] = Field(default_factory=dict)
    """What you may buy, rent, reserve or take by the hour."""
    apis: dict[Name, Api] = Field(default_factory=dict)
    """APIs that serve a model for a price by the token, to jobs with `api: allowed`."""
    policies: Policies = Policies()
    """House rules."""
    finance: Finance = Finance()
    """Parameters of the cost."""
    budget: Budget = Budget()
    """What may be paid, by quarter and in total; no limit if left out."""
    teams: dict[Name, Team] = Field(default_factory=dict)
    """Who asks for jobs, with quotas. If one is listed, all must be."""
    jobs: dict[Name, Job]
    """What must run; may be `{}`."""
    running: tuple[Running, ...] = ()
    """What runs today, and where; empty nodes if left out."""

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
    def labels(self) -> tuple[str, ...]:
        """All labels that sites carry, sorted."""
        return tuple(sorted({label for site in self.sites.values() for label in site.labels}))

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


class NodePlace(NamedTuple):
    """A pool, or nodes of it."""

    node_type: str
    site: str
    numbers: tuple[int, ...] = ()
    """Of the owned nodes, from 1, sorted; empty: any node of the pool, owned or not."""

    @property
    def pool(self) -> str:
        """`xe9680-h100/frankfurt`."""
        return f"{self.node_type}/{self.site}"


def fleet_by_pool(
    scenario: ResolvedScenario,
) -> dict[tuple[str, str], list[tuple[str, FleetEntry]]]:
    """By node type and site: the entry behind each owned node, by number from 1.

    Nodes that serve longest have the lowest numbers, then they go by the name of their entry.
    """
    end = scenario.horizon.first_quarter + scenario.horizon.quarters
    found: dict[tuple[str, str], list[tuple[str, FleetEntry]]] = {}
    ranked = sorted(
        scenario.fleet.items(), key=lambda item: (end - min(item[1].retires or end, end), item[0])
    )
    for name, entry in ranked:
        found.setdefault((entry.node_type, entry.site), []).extend([(name, entry)] * entry.count)
    return found


def node_places(scenario: ResolvedScenario) -> dict[str, NodePlace]:
    """Owned nodes by name, numbers without leading zeros: look them up by `plain`."""
    return {
        f"{node_type}/{site}/{number}": NodePlace(node_type, site, (number,))
        for (node_type, site), nodes in fleet_by_pool(scenario).items()
        for number in range(1, len(nodes) + 1)
    }


def plain(node: str) -> str:
    """The name of a node without the zeros that lead its number."""
    pool, slash, number = node.rpartition("/")
    return f"{pool}{slash}{number.lstrip('0')}"


def pool_places(scenario: ResolvedScenario) -> dict[str, NodePlace]:
    """Pools that are owned or offered, by name."""
    owned = {NodePlace(entry.node_type, entry.site) for entry in scenario.fleet.values()}
    offered = {
        NodePlace(offer.node_type, site)
        for offer in scenario.offers.values()
        for site in offer.sites
    }
    return {place.pool: place for place in sorted(owned | offered)}


class RunningUnit(NamedTuple):
    """One unit that runs today."""

    job: str
    place: NodePlace
    pinned: bool


def running_units(scenario: ResolvedScenario) -> dict[tuple[str, int], RunningUnit]:
    """Job and unit number, from 1 -> where it runs; entries must have been checked."""
    nodes, pools = node_places(scenario), pool_places(scenario)
    done: Counter[str] = Counter()
    found = {}
    for entry in scenario.running:
        place = place_of(entry, nodes, pools)
        pinned = entry.pinned or scenario.jobs[entry.job].pinned
        for _ in range(entry.count):
            done[entry.job] += 1
            found[entry.job, done[entry.job]] = RunningUnit(entry.job, place, pinned)
    return found


def place_of(entry: Running, nodes: dict[str, NodePlace], pools: dict[str, NodePlace]) -> NodePlace:
    """Where an entry runs; a pool that is neither owned nor offered any more is one, too."""
    if entry.pool is not None:
        node_type, _, site = entry.pool.partition("/")
        return pools.get(entry.pool, NodePlace(node_type, site))
    places = [nodes[plain(name)] for name in entry.nodes]
    numbers = sorted(place.numbers[0] for place in places)
    return places[0]._replace(numbers=tuple(numbers))
