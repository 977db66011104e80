"""The plan: what to buy or rent when, what runs where, what it costs, and the proof.

`plan.json` is this model, complete: every report and `explain` is made from it alone.
Money is integer cents; quarters are labels such as `2027Q1`; per-quarter tuples follow `quarters`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from planner.inputs.base import Frozen
from planner.inputs.override import AppliedChange
from planner.inputs.scenario.offer import OfferKind
from planner.inputs.scenario.quarter import RUN_HOURS
from planner.inputs.scenario.site import SpareGroup
from planner.inputs.settled import Options
from planner.inputs.text import count_of
from planner.sizing.candidate import Sizing

FORMAT = "2.0"
"""Minor: additive. Major: readers refuse."""

V = TypeVar("V")
IfStated = Annotated[V | None, Field(exclude_if=lambda value: value is None)]
"""What a scenario may state for readers; where it does not, the file has no such key."""

Origin = Literal["owned", "buy", "rent", "reserve", "hourly"]
"""The last one: had and paid for some hours or weeks of a quarter."""


class Node(Frozen):
    """One server of the plan."""

    id: str
    """`xe9680-h100/dc-east/03`; rented ones end in `r1`, reserved ones in `v1`, those that are had
    for hours or weeks of a quarter in `h1`, …"""
    node_type: str
    gpu_type: str
    gpus: int
    cpus: int
    memory_mb: int
    site: str
    origin: Origin
    entry: str
    """Name of the fleet entry or offer."""
    in_service: tuple[str, ...]
    """Quarters; none where an owned node is sold or switched off all the time."""
    hours: tuple[int, int] | None = None
    """From when to when of its one quarter it is had and paid, in hours from its start; None: it is
    in service for whole quarters."""
    steps: int = 1
    """Hours or terms that are paid of it where it comes and goes within the quarter."""
    racks: tuple[int, ...] = ()
    """Number of its rack, from 1, in each quarter in which it stands; empty where the site has
    none."""
    off: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """Quarters for which an owned node is switched off: it stands there, and is not in service."""
    sold: str | None = Field(default=None, exclude_if=operator.not_)
    """Quarter from whose start on an owned node is sold and gone; None: it is not."""

    @property
    def standing(self) -> tuple[str, ...]:
        """Quarters in which it is in service or switched off, in order."""
        return tuple(sorted((*self.in_service, *self.off)))

    @property
    def pool(self) -> tuple[str, str, str]:
        """Node type, site, and the offer where it comes and goes within a quarter."""
        return self.node_type, self.site, self.entry if self.hours else ""

    def gpu_hours(self, of_quarter: Fraction) -> Fraction:
        """GPU-hours that it offers in a quarter in service, where a quarter has so many hours."""
        hours = Fraction(self.hours[1] - self.hours[0]) if self.hours else of_quarter
        return self.gpus * hours


class GpuPart(Frozen):
    """What a piece takes of one GPU that others may share with it at the same time."""

    profile: str | None
    """Partition of this MIG profile; None: memory of a GPU that is not partitioned."""
    first: int | None
    """First memory slice of the partition, from 0; None without one."""
    taken: int
    """Memory slices of the partition, or MB of memory."""
    of: int
    """As many as the whole GPU has."""

    @property
    def share(self) -> Fraction:
        """Of the memory of the GPU."""
        return Fraction(self.taken, self.of)


class Occupant(Frozen):
    """A unit of a job on a node, or one of its replicas or runs."""

    job: str
    unit: int
    """From 1."""
    replica: int = 1
    """From 1 in each unit; more than one only where the replicas follow from a load, and where a
    unit of a tuning job runs several times in a quarter."""
    gpus: tuple[int, ...]
    """GPU numbers on this node, from 0."""
    cpus: int
    memory_mb: int
    """Host memory taken on this node, MB."""
    hours: tuple[int, int] | None = None
    """From when to when it holds all this, in hours from the start of the quarter; None: all
    quarter."""
    part: GpuPart | None = None
    """None: its GPUs are whole."""
    way: str = ""
    """Way of the candidate by which it runs, among those of the job."""

    @property
    def held_hours(self) -> tuple[int, int]:
        """The same, of those that hold it all quarter as well."""
        return self.hours or (0, RUN_HOURS)

    @property
    def gpus_at_once(self) -> Fraction:
        """GPUs that it holds while it does; a part of one counts by its share."""
        gpus = len(self.gpus)
        return gpus * self.part.share if self.part else Fraction(gpus)

    def gpu_hours(self, of_quarter: Fraction) -> Fraction:
        """GPU-hours that it holds, where a quarter has so many hours."""
        hours = Fraction(self.hours[1] - self.hours[0]) if self.hours else of_quarter
        return self.gpus_at_once * hours

    @property
    def piece(self) -> tuple[str, int, int]:
        """Job, unit and replica: what has one place, on one node or on whole ones."""
        return self.job, self.unit, self.replica


class NodeUse(Frozen):
    """Who holds one node in one quarter; only nodes that run something are listed."""

    node: str
    occupants: tuple[Occupant, ...]


class PoolUse(Frozen):
    """Capacity and use of one node type at one site, per quarter."""

    node_type: str
    site: str
    gpu_type: str
    offer: str = ""
    """Whose nodes these are where they come and go within a quarter: such nodes count by their
    GPU-hours alone, all else is 0."""
    nodes: tuple[int, ...]
    """In service."""
    nodes_used: tuple[int, ...]
    nodes_spare: tuple[int, ...]
    """Kept empty by policy."""
    gpus: tuple[int, ...]
    """In service."""
    gpus_used: tuple[int, ...]
    """Of which anything is held at any hour."""
    gpus_peak: tuple[float, ...]
    """Held at the hour at which most are; a part of a GPU counts by its share of the memory."""
    gpu_hours: tuple[float, ...]
    """In service."""
    gpu_hours_used: tuple[float, ...]
    """Held, likewise."""
    cpus: tuple[int, ...]
    cpus_used: tuple[int, ...]
    """At the hour at which most are, node by node; likewise host memory."""
    memory_mb: tuple[int, ...]
    memory_used_mb: tuple[int, ...]


class Move(Frozen):
    """One unit that does not stay where it runs today."""

    job: str
    unit: int
    """From 1."""
    origin: tuple[str, ...]
    """Nodes that it runs on today, or its pool, `xe9680-h100/frankfurt`, where no node is known."""
    nodes: tuple[str, ...]
    """Nodes that it runs on in the first quarter."""
    leaves_pool: bool
    """Only this has a price: within a pool, units change their node for nothing."""
    cost_cents: int
    reason: str


class CurrentPlacement(Frozen):
    """Units that run today: those that stay, are pinned, move or stop."""

    units: int
    stopped: int = 0
    """Of them: those of jobs that are dropped or delayed, or that are short themselves."""
    pinned: int
    """Of them: those that may not move."""
    moves: tuple[Move, ...]
    """By job and unit."""
    cost_cents: int
    """Of all moves."""


class SecondOpinion(Frozen):
    """What another solver says of the bound."""

    solver: str
    verdict: Literal["confirmed", "undecided", "unfounded"]
    """`undecided`: its time ended. `unfounded`: it disagrees, and its own answer is wrong."""
    bound_cents: int | None
    """What no plan costs less than, by its own account; None unless a cost is confirmed."""


class ShortJob(Frozen):
    """A job that is dropped or delayed, or short of some of its units."""

    name: str
    deployment: str | None
    """The job derived from it, for which the same holds."""
    priority: int
    """From 0 to 100; the highest is kept first."""
    outcome: Literal["dropped", "delayed", "short"]
    """`short` where it is on time; one that is delayed may be short of units, too."""
    delay_quarters: int
    """0 where it is not delayed."""
    asked: tuple[int, ...]
    """Units by quarter that the scenario asks for."""
    short: tuple[int, ...] = Field(default=(), exclude_if=operator.not_)
    """Units by quarter that are not placed though the job is kept; left out where none is."""
    cause: str
    """Why it cannot be kept as asked, beside all that is kept."""
    remedies: tuple[str, ...]
    """Each by itself would keep it as asked; empty where none was found."""

    def how(self, quarters: Sequence[str]) -> str:
        """`dropped`, `delayed by 2 quarters`, `short of 6 of 40 units (2027Q3 to 2027Q4)`."""
        told = ["dropped"] if self.outcome == "dropped" else []
        if self.delay_quarters:
            told.append(f"delayed by {count_of(self.delay_quarters, 'quarter')}")
        if self.outcome != "dropped" and any(self.short):
            told.append(f"short of {', '.join(self._spans(quarters))}")
        return " and ".join(told)

    def _spans(self, quarters: Sequence[str]) -> Iterator[str]:
        """`6 of 40 units (2027Q3 to 2027Q4)` for quarters in a row that lack the same."""
        due = ((0,) * self.delay_quarters + self.asked)[: len(self.asked)]
        figures = groupby(zip(self.short, due, quarters, strict=True), lambda one: one[:2])
        for (short, units), span in figures:
            first, *more = (quarter for _, _, quarter in span)
            if short:
                when = f"{first} to {more[-1]}" if more else first
                yield f"{short:,} of {count_of(units, 'unit')} ({when})"


class PriorityUse(Frozen):
    """What came of the jobs of one priority."""

    priority: int
    jobs: int
    """Of the scenario; deployments derived from them are not counted."""
    dropped: int
    delayed: int
    proved: bool
    """Whether none of these figures can be less with all that comes first kept."""
    short: int = Field(default=0, exclude_if=operator.not_)
    """Jobs that are kept on time, short of some units; left out where none is, as is the next."""
    units_short: int = Field(default=0, exclude_if=operator.not_)
    """Of all that are kept, each once for each quarter in which it is not placed."""


class ProvedStep(Frozen):
    """A step of the triage that was proved, and what other solvers say of it."""

    counted: str
    """`jobs of priority 50 that are dropped`; empty: the cost of what keeps as much."""
    least: int
    """No plan that keeps what came before has fewer; of the cost: none costs less, cents."""
    second_opinions: tuple[SecondOpinion, ...]


class Shortage(Frozen):
    """Who gives way where not everything fits."""

    priorities: tuple[PriorityUse, ...]
    """The highest first; every priority of a job that asks for something."""
    jobs: tuple[ShortJob, ...]
    """By priority, the highest first, then by name."""
    bound_cents: int
    """No plan that keeps as much costs less, whichever of the equals give way."""
    steps: tuple[ProvedStep, ...] = ()
    """Where other solvers were asked; that nobody gives way needs no confirmation."""

    def ahead_of(self, job: ShortJob) -> tuple[str, ...]:
        """Jobs that give way, too, and get room that is made before this one does.

        Fewer are dropped, or short of units, before fewer are delayed, the highest priority first.
        """
        place = _turn(job)
        return tuple(one.name for one in self.jobs if _turn(one) < place)

    def proves(self, cost_cents: int, asked_gap: float) -> bool:
        """Whether nobody gives way without need, and no other choice of them is cheaper.

        `asked_gap` is the share of the cost that counts as none.
        """
        every = all(use.proved for use in self.priorities)
        return every and cost_cents - self.bound_cents <= asked_gap * abs(cost_cents)


def _turn(job: ShortJob) -> tuple[bool, int, bool]:
    return job.outcome == "delayed", -job.priority, job.outcome == "short"


class QuotaUse(Frozen):
    """One quota of a team and what its jobs hold of it."""

    gpu_type: str | None
    """None: all types together."""
    limit_gpus: tuple[int | None, ...]
    """By quarter; None: no limit."""
    gpus: tuple[int | float, ...]
    """Counted in each quarter, at the hour at which most are held."""


class TeamUse(Frozen):
    """What the jobs of one team hold, and what they are charged."""

    team: str | None
    """None: jobs without a team."""
    gpus: tuple[int, ...]
    """Held in each quarter, at the hour at which most are."""
    gpu_hours: float
    """GPUs held × hours of the quarters."""
    delivered_gpu_hours: float
    """Of those: the runs of tuning jobs where their time is known, and all of other jobs."""
    open_gpu_hours: float
    """Of those: held by tuning jobs whose run time is not known."""
    charged_cents: tuple[int, ...]
    """Share of the net present cost, by quarter of use."""
    cost_cents: int
    """Their sum."""
    quotas: tuple[QuotaUse, ...]
    """All types together first, then by GPU type."""


class EndpointUse(Frozen):
    """What a serving job with a load takes in and gives out, and what its GPUs cost."""

    job: str
    million_tokens: tuple[float, ...]
    """Of prompts and answers in each quarter, at its mean traffic."""
    full_million_tokens: tuple[float, ...]
    """The same if all day as much arrived as its replicas are planned to take."""
    cost_cents: tuple[int, ...]
    """Net present cost of the GPUs that it holds in each quarter, idle ones not counted."""


class ApiUse(Frozen):
    """What an API answers of a job's requests."""

    job: str
    api: str
    illustrative: bool
    """Whether its prices name no contract."""
    million_tokens: tuple[float, ...]
    """Of prompts and answers in each quarter, at mean traffic."""
    cents: tuple[int, ...]
    """In each quarter, not discounted."""
    present_cents: int
    """Net present cost."""


class ApiComparison(Frozen):
    """A job on GPUs beside an API that serves its model, over the horizon."""

    job: str
    api: str
    allowed: bool
    """Whether the job may be on APIs."""
    gpus_cents: int
    """Net present cost of the GPUs that it holds, idle ones not counted."""
    api_cents: int
    """What its tokens would cost there, likewise."""


class Chargeback(Frozen):
    """The net present cost shared among the teams by the GPUs that they hold; adds up exactly."""

    idle: Literal["separate", "spread"]
    """Whether what nobody holds stands by itself or is charged to the teams that use the pool."""
    teams: tuple[TeamUse, ...]
    """By name; jobs without a team last."""
    idle_gpu_hours: float
    """In service and held by no job, spare nodes included."""
    idle_cents: tuple[int, ...]
    """Cost of what nobody holds and nobody is charged, by quarter."""


class Proof(Frozen):
    """What is proved of this plan, and how."""

    status: Literal["proved", "not proved"]
    cost_cents: int
    """Net present cost over the horizon: the minimized figure."""
    bound_cents: int
    """No plan for these inputs costs less."""
    gap: float
    """(cost - bound) / cost, whatever the sign of the cost."""
    asked_gap: float
    method: str
    checks: tuple[str, ...]
    """What the independent check confirmed, a sentence each."""
    bound_terms: tuple[tuple[str, int], ...]
    """The bound, term by term, cents, adding up exactly: `job price tags` first, then the rest."""
    second_opinions: tuple[SecondOpinion, ...] = ()
    """Of other solvers, where they were asked (`planner plan --crosscheck`)."""


class Acquisition(Frozen):
    """One line of what to buy or rent, entering service in one quarter."""

    offer: str
    kind: OfferKind
    node_type: str
    product: str
    gpu_type: str
    gpus_per_node: int
    site: str
    quarter: str
    """Buy: in service from this quarter. Rent: for this quarter. Reserve: for a term from it."""
    count: int
    """Nodes; by the hour or by the week: hours or terms of nodes, all of them together."""
    unit_price_cents: int
    """Buy: one node. Rent and reserve: one node for a quarter. By the hour or by the week: one node
    for `step_hours`. Not discounted."""
    total_cents: int
    """What all of them cost, within the horizon."""
    price_text: str
    price_origin: str
    price_date: str | None
    illustrative: bool
    lead_time_weeks: int
    order_by: str
    """ISO date."""
    term_quarters: int | None = None
    """Reserve: quarters that each node is held."""
    step_hours: int | None = None
    """By the hour or by the week: hours that are paid as one; None: nodes are had for quarters."""
    committed_cents: int = 0
    """Reserve: what is still to be paid after the horizon; no part of any cost line."""
    sites: tuple[str, ...] = ()
    """All sites that share the offer; empty: it is for this one alone."""
    maximum: int | None = None
    """Nodes of the offer at any one time, at all sites; None: no limit."""
    end_of_sale: str | None = None
    """ISO date: last day of an order; None: there is none."""


class NodeRelease(Frozen):
    """Owned nodes that are let go together: sold, or switched off for one quarter."""

    action: Literal["sell", "switch off"]
    entry: str
    """Name of the fleet entry."""
    node_type: str
    product: str
    gpu_type: str
    gpus_per_node: int
    site: str
    quarter: str
    """Sell: gone from its start on."""
    count: int
    unit_price_cents: int = 0
    """Sell: what one node brings, not discounted."""
    total_cents: int = 0
    """What all of them bring."""
    saved_cents: int
    """What they do not cost within the horizon: energy, support and all else that is paid for nodes
    that are there; of those switched off, energy, and support where the contract says so. Not
    discounted."""
    given_up_cents: int = 0
    """Sell: what they would have brought right after the horizon."""
    present_cents: int
    """By how much all that lowers the net present cost, against keeping these nodes."""
    price_text: str = ""
    """Sell: how the price is stated."""
    quote: str | None = None
    """Offer of the buyer; None: the price is illustrative."""


class Alternative(Frozen):
    """What one unit would add to the bound if it had to run in this way."""

    gpu_type: str
    way: str
    """Of a candidate: the GPU type, and the part or the count where there are several of it."""
    extra_cents: int | None
    """None: no node of this GPU type holds a unit, or not enough of them can be had."""
    reason: str


class PlannedJob(Frozen):
    """A job with its demand, where it runs and what it costs."""

    name: str
    kind: Literal["tune", "serve", "fixed"]
    derived_from: str | None
    derived_by: str | None
    team: str | None
    owner: IfStated[str] = None
    """Who answers for it; here and below as stated, None too of a derived job."""
    benefit: IfStated[str] = None
    if_not_met: IfStated[str] = None
    sites: tuple[str, ...] = ()
    """Sites at which it may run; empty: any."""
    sizing: str
    """Key of `Plan.sizings`."""
    units: tuple[int, ...]
    """Units placed in each quarter; fewer than asked for only as `Plan.shortage` says, and by those
    on APIs."""
    on_apis: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """By API: units in each quarter whose requests it answers."""
    runs: int = 1
    """Of each unit in each of its quarters; more than one only of tuning jobs."""
    gpu_types: tuple[tuple[str, int], ...]
    """GPU type and the number of units that keep it, most first."""
    ways: tuple[tuple[str, int], ...]
    """Way of a candidate of its sizing, and the number of units that keep it, most first."""
    replicas: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Where GPU types share its traffic: by way in the order of `ways`, units in each quarter."""
    tag_cents: int
    """What this job adds to the bound over the horizon: the price tag from the duals."""
    alternatives: tuple[Alternative, ...]
    """Candidates whose GPU type is owned or offered, the chosen one with 0."""


CostName = Literal[
    "purchase",
    "network",
    "residual value",
    "sale",
    "residual value given up",
    "support",
    "energy",
    "rent",
    "reservation",
    "commitments",
    "licence",
    "colocation",
    "moves",
    "tokens",
]


class SiteUse(Frozen):
    """A site of the scenario: what it allows, and what stands there by quarter."""

    site: str
    cooling: tuple[str, ...]
    """Empty where the scenario does not say."""
    labels: tuple[str, ...]
    nodes: tuple[int, ...]
    """In service."""
    taken: dict[str, tuple[int, ...] | None]
    """Of what a site can limit, such as `power_w`, by all nodes in service; None where the catalog
    lacks the figure of one of them."""
    allowed: dict[str, tuple[int | None, ...]]
    """Of what this site limits."""
    racks: int | None
    """None: the scenario states no racks."""
    racks_used: tuple[int, ...]
    units_per_rack: int | None
    power_per_rack_w: int | None
    spare_nodes: int | dict[str, SpareGroup]
    """Kept empty in each pool of the site that runs a job, or groups of node types that share
    them."""


class SpareCost(Frozen):
    """What all spare nodes together add to the cost: the plan against the best one without any."""

    cents: int | None
    """Net present cost; None where one of the two plans is not proved."""


OtherPlan = Literal["proved", "not proved", "no other plan"]


class HourlyUse(Frozen):
    """What the plan has of an offer by the hour or by the week, and what it turns on."""

    offer: str
    gpu_hours: int
    """Paid over the horizon."""
    jobs: tuple[str, ...]
    """Whose runs are there."""
    present_cents: int
    """Net present cost."""
    without: OtherPlan
    """Whether the best plan without the offer is proved, or there is none."""
    turns_at: float | None
    """Multiple of its price from which that one is cheaper than this; None unless proved."""


class PartitionSaving(Frozen):
    """What partitions and shares of GPUs save: the plan against the best one on whole GPUs."""

    outcome: OtherPlan
    """Whether both plans are proved, or there is no plan on whole GPUs at all."""
    cents: int | None
    """Net present cost; None unless proved."""


class NearMiss(Frozen):
    """A small change of what is asked for with which the best plan costs far less; proved."""

    job: str
    units: int
    """Fewer of it in every quarter; 0 where the traffic or the latency changes."""
    share: float
    """The same of all of its units; or by how much less traffic arrives in every quarter, or by how
    much longer users may wait."""
    latency_ms: tuple[tuple[str, float], ...] = ()
    """Targets after the change, by key; empty where units or traffic change."""
    gpus: int = 0
    """That it holds less in the fullest quarter of the pool; 0 where the latency changes."""
    node_type: str = ""
    site: str = ""
    saved_cents: int
    """Net present cost."""


class CostLine(Frozen):
    """One kind of cost by quarter, not discounted, and its present value."""

    name: CostName
    cents: tuple[int, ...]
    total_cents: int
    present_cents: int
    explanation: str
    """The sum in words, with its parameters."""


class BudgetUse(Frozen):
    """One budget and what the plan spends of it, not discounted."""

    spend: Literal["capex", "opex", "spending"]
    """Purchases; all else that is paid; both."""
    quarter: str | None
    """None: over the whole horizon."""
    limit_cents: int
    spent_cents: int


class BreakEven(Frozen):
    """A purchase beside renting the same nodes by the hour, to the end of the horizon."""

    offer: str
    rent: str
    """The cheapest offer to rent this node type."""
    node_type: str
    quarter: str
    """Of entry into service."""
    nodes: int
    """Of the order, by which its price goes."""
    buy_cents: int
    """Net present cost of one bought node."""
    rent_cents: int
    """The same of one node rented for every hour of these quarters."""
    buy_price_cents: int = 0
    """Of `buy_cents`, what moves with the price: purchase, support and residual value."""
    rent_price_cents: int = 0
    """Of `rent_cents`, likewise: the rent."""
    hours: int
    """Hours of use a quarter, rounded up, from which buying is cheaper."""
    quarter_hours: int
    """All hours of a quarter; where `hours` is more, renting is cheaper at any use."""


class Note(Frozen):
    """A warning or an assumption."""

    text: str
    origin: str
    """Rule id, file, job or setting that it comes from."""


class RuleUse(Frozen):
    """A rule that spoke, with its source."""

    id: str
    title: str
    kind: str
    sources: tuple[str, ...]
    errata: tuple[str, ...]
    used: int
    """Jobs that it sized or rejected."""


class SettingUse(Frozen):
    """A parameter of cost or policy, and who set it."""

    name: str
    value: float
    unit: str
    origin: str
    """`scenario` or `rule <id>`."""
    assumed: bool
    """Whether the scenario is silent and a policy rule spoke."""


class NodeFacts(Frozen):
    """What the catalog, or the scenario itself, says of one node type for a facility."""

    node_type: str
    vendor: str
    product: str
    gpu_type: str
    gpus: int
    takes: dict[str, int]
    """Of what a site can limit, such as `power_w` by the nameplate, and `mean_power_w`, the mean
    draw under load, W; without those that the catalog does not say."""
    cooling: str | None
    """None where the catalog does not say."""
    sources: tuple[str, ...]
    """One for each figure."""
    estimated: tuple[str, ...] = ()
    """Figures that nobody published: keys of the catalog, such as `max_power_kw`."""
    kubernetes_resource: str = ""
    """What a cluster calls one of its GPUs: `nvidia.com/gpu`."""


class Provenance(Frozen):
    """What this plan was made from and by."""

    planner_version: str
    solver: str
    """`HiGHS 1.15.1 through PuLP 3.3.2`."""
    files: tuple[tuple[str, str, str], ...]
    """Role, path, sha256."""
    options: Options = Options()
    time_limit_s: float = 60.0
    """Seconds of work after which the search was to end."""
    guard_ended: bool = False
    """Whether the clock ended it before that: another run may find another plan."""
    crosscheck: bool = False
    """Whether other solvers were asked for the bound."""

    def path_of(self, role: str) -> Path | None:
        """The file of a role, such as `scenario`, as it was named; None where there is none."""
        return next((Path(path) for of, path, _ in self.files if of == role), None)


class Plan(Frozen):
    """A verified plan."""

    format: str
    scenario: str
    description: str | None
    owner: IfStated[str] = None
    objective: IfStated[str] = None
    benefit: IfStated[str] = None
    if_not_met: IfStated[str] = None
    optimism_bias: IfStated[float] = None
    """Share by which purchases tend to turn out dearer; in no cost of the plan."""
    as_of: str
    """ISO date: the earliest day of an order."""
    quarters: tuple[str, ...]
    changes: tuple[AppliedChange, ...] = ()
    """What overrides and `--set` changed in the scenario, in order."""
    proof: Proof
    acquisitions: tuple[Acquisition, ...]
    releases: tuple[NodeRelease, ...] = Field(default=(), exclude_if=operator.not_)
    """Owned nodes that are let go, by quarter; sold before switched off."""
    nodes: tuple[Node, ...]
    placements: tuple[tuple[NodeUse, ...], ...]
    """By quarter."""
    moves: tuple[int, ...]
    """Units that change node when this quarter begins, replica by replica; 0 for the first."""
    current: CurrentPlacement | None = None
    """What becomes of the units that run today; None where the scenario lists none."""
    jobs: tuple[PlannedJob, ...]
    """As kept: a job that is dropped has no unit in any quarter."""
    shortage: Shortage | None = None
    """None where every job is kept as asked."""
    sizings: dict[str, Sizing]
    pools: tuple[PoolUse, ...]
    sites: tuple[SiteUse, ...] = ()
    """Empty where the scenario lists none."""
    growth_reserve: tuple[tuple[str, float], ...] = ()
    """GPU type and the share of its GPUs in service that is kept free."""
    spare_cost: SpareCost | None = None
    """None where no spare nodes are asked for."""
    partition_saving: PartitionSaving | None = None
    """None where no unit takes a part of a GPU."""
    utilization_cents: int | None = None
    """What it costs that runs make progress in a share of their hours alone, against the best plan
    where they do in all; None where nothing runs by the hour or that is not proved."""
    hourly: tuple[HourlyUse, ...] = ()
    """By offer; empty where no node comes and goes within a quarter."""
    near_misses: tuple[NearMiss, ...] = ()
    costs: tuple[CostLine, ...]
    budgets: tuple[BudgetUse, ...] = ()
    break_evens: tuple[BreakEven, ...] = ()
    chargeback: Chargeback | None = None
    """None where the scenario names no team."""
    endpoints: tuple[EndpointUse, ...] = ()
    """Serving jobs with a load, in the order of `jobs`, as far as they are on GPUs."""
    apis: tuple[ApiUse, ...] = ()
    """Jobs on APIs, in the order of `jobs`."""
    api_comparisons: tuple[ApiComparison, ...] = ()
    """Jobs on GPUs whose model some API of the scenario serves, in the order of `jobs`."""
    api_saving_cents: int | None = None
    """What all APIs together save, against the best plan without them; None where no unit is on
    one, or not both plans are proved."""
    storage_mb: tuple[int, ...]
    """Storage for tuned assets that exist by the end of each quarter."""
    warnings: tuple[Note, ...]
    assumptions: tuple[Note, ...]
    rules: tuple[RuleUse, ...]
    settings: tuple[SettingUse, ...]
    node_types: tuple[NodeFacts, ...]
    """Of the nodes of this plan, by id."""
    provenance: Provenance
    question: str
    """The whole scenario as YAML, in an order of its own."""

    def quarters_by_way(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """By job of which some unit changes its GPU type: way -> quarters in which units run so."""
        asked = {job.name: job.asked for job in (self.shortage.jobs if self.shortage else ())}
        changing = {
            job.name
            for job in self.jobs
            if sum(n for _, n in job.ways) > max(asked.get(job.name, job.units))
        }
        found: dict[str, dict[str, dict[str, None]]] = {}
        for quarter, uses in zip(self.quarters, self.placements, strict=True):
            for one in (occupant for use in uses for occupant in use.occupants):
                if one.job in changing:
                    found.setdefault(one.job, {}).setdefault(one.way, {})[quarter] = None
        return {job: {way: tuple(at) for way, at in ways.items()} for job, ways in found.items()}
