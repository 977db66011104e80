"""The plan: what to buy or rent when, what runs where, what it costs, and the proof.

`plan.json` is this model and is complete: every report and `explain` is made from it alone.
Money is in integer cents; quarters are labels such as `2027Q1`; per-quarter tuples follow
`quarters`.
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

FORMAT = "3.0"
"""Minor: additive changes. Major: older readers refuse the file."""

V = TypeVar("V")
IfStated = Annotated[V | None, Field(exclude_if=lambda value: value is None)]
"""A value that a scenario may state for readers; the file has no such key if it does not."""

NodeOrigin = Literal["owned", "buy", "rent", "reserve", "hourly"]
"""`hourly`: had and paid for some hours or weeks of a quarter."""


class Node(Frozen):
    """One server of the plan."""

    id: str
    """`xe9680-h100/dc-east/03`; the number of rented nodes begins with `r`, of reserved ones
    with `v`, and of nodes for hours or weeks of a quarter with `h`."""
    node_type: str
    gpu_type: str
    gpus: int
    cpus: int
    memory_mb: int
    site: str
    origin: NodeOrigin
    entry: str
    """The name of the fleet entry or offer."""
    in_service: tuple[str, ...]
    """The quarters in service; none if an owned node is sold or switched off all the time."""
    hours: tuple[int, int] | None = None
    """Start and end of the time for which it is had and paid, in hours from the start of its one
    quarter; None: it is in service for whole quarters."""
    steps: int = 1
    """The hours or terms that are paid if it exists for a part of a quarter."""
    racks: tuple[int, ...] = ()
    """The number of its rack, from 1, in each quarter in which it stands; empty if the site has
    no racks."""
    off: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """The quarters for which an owned node is switched off: it stands there, out of service."""
    sold: str | None = Field(default=None, exclude_if=operator.not_)
    """The quarter from whose start an owned node is sold and gone; None: it is not sold."""
    gone: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """The quarters in which a sold node would be in service if it were kept."""

    @property
    def standing(self) -> tuple[str, ...]:
        """The quarters in which it is in service or switched off, in order."""
        return tuple(sorted((*self.in_service, *self.off)))

    @property
    def pool(self) -> tuple[str, str, str]:
        """The node type, the site, and for nodes for hours or weeks the offer."""
        return self.node_type, self.site, self.entry if self.hours else ""

    def gpu_hours(self, of_quarter: Fraction) -> Fraction:
        """Return the GPU-hours offered in a quarter in service, given the quarter's hours."""
        hours = Fraction(self.hours[1] - self.hours[0]) if self.hours else of_quarter
        return self.gpus * hours


class GpuPart(Frozen):
    """The part of a GPU that a piece takes, and that others may share at the same time."""

    profile: str | None
    """The MIG profile of its partition; None: a share of an unpartitioned GPU's memory."""
    first: int | None
    """The first memory slice of the partition, from 0; None without a partition."""
    taken: int
    """Memory slices of the partition, or MB of memory."""
    of: int
    """What the whole GPU has, in the same unit."""

    @property
    def share(self) -> Fraction:
        """The share of the GPU's memory."""
        return Fraction(self.taken, self.of)


class Occupant(Frozen):
    """A unit of a job on a node, or one of its replicas or runs."""

    job: str
    unit: int
    """From 1."""
    replica: int = 1
    """From 1 in each unit; more than one only if the replicas follow from a load, or if a unit
    of a tuning job runs several times in a quarter."""
    gpus: tuple[int, ...]
    """The GPU numbers on this node, from 0."""
    cpus: int
    memory_mb: int
    """The host memory taken on this node, in MB."""
    hours: tuple[int, int] | None = None
    """Start and end of the time for which it holds all this, in hours from the start of the
    quarter; None: all quarter."""
    part: GpuPart | None = None
    """None: its GPUs are whole."""
    way: str = ""
    """The way of the job's candidate by which it runs."""

    @property
    def held_hours(self) -> tuple[int, int]:
        """Start and end of the time for which it holds its GPUs.

        The whole quarter if not stated.
        """
        return self.hours or (0, RUN_HOURS)

    @property
    def gpus_at_once(self) -> Fraction:
        """The GPUs that it holds at a time; a part of one counts by its share."""
        gpus = len(self.gpus)
        return gpus * self.part.share if self.part else Fraction(gpus)

    def gpu_hours(self, of_quarter: Fraction) -> Fraction:
        """Return the GPU-hours that it holds, given the quarter's hours."""
        hours = Fraction(self.hours[1] - self.hours[0]) if self.hours else of_quarter
        return self.gpus_at_once * hours

    @property
    def piece(self) -> tuple[str, int, int]:
        """The job, unit and replica: a piece has one place, on one node or on whole ones."""
        return self.job, self.unit, self.replica


class NodeUse(Frozen):
    """Who holds one node in one quarter. Only nodes that run something are listed."""

    node: str
    occupants: tuple[Occupant, ...]


class PoolUse(Frozen):
    """The capacity and use of one node type at one site, by quarter."""

    node_type: str
    site: str
    gpu_type: str
    offer: str = ""
    """The offer of nodes for hours or weeks of a quarter. These count by their GPU-hours alone;
    their other figures are 0."""
    nodes: tuple[int, ...]
    """In service."""
    nodes_used: tuple[int, ...]
    nodes_spare: tuple[int, ...]
    """Kept empty by policy."""
    gpus: tuple[int, ...]
    """In service."""
    gpus_used: tuple[int, ...]
    """GPUs of which anything is held at any hour."""
    gpus_peak: tuple[float, ...]
    """GPUs held at the fullest hour; a part of a GPU counts by its share of the memory."""
    gpu_hours: tuple[float, ...]
    """In service."""
    gpu_hours_used: tuple[float, ...]
    """Held; parts count by their share."""
    cpus: tuple[int, ...]
    cpus_used: tuple[int, ...]
    """At the fullest hour of each node; likewise the host memory."""
    memory_mb: tuple[int, ...]
    memory_used_mb: tuple[int, ...]


class Move(Frozen):
    """A unit that does not stay where it runs today."""

    job: str
    unit: int
    """From 1."""
    origin: tuple[str, ...]
    """The nodes that it runs on today, or its pool, such as `xe9680-h100/frankfurt`, if the node
    is not known."""
    nodes: tuple[str, ...]
    """The nodes that it runs on in the first quarter."""
    leaves_pool: bool
    """Only this has a price: within a pool, a unit changes its node for nothing."""
    cost_cents: int
    reason: str


class CurrentPlacement(Frozen):
    """What becomes of the units that run today: they stay, are pinned, move or stop."""

    units: int
    stopped: int = 0
    """Units that stop because their job is dropped or delayed, or because they are short."""
    pinned: int
    """Units that may not move."""
    moves: tuple[Move, ...]
    """By job and unit."""
    cost_cents: int
    """The cost of all moves."""


class SecondOpinion(Frozen):
    """What another solver says of the bound."""

    solver: str
    verdict: Literal["confirmed", "undecided", "unfounded"]
    """`undecided`: its time ended. `unfounded`: it disagrees, and its own answer is wrong."""
    bound_cents: int | None
    """The least cost by its own account; None unless a cost is confirmed."""


class ShortJob(Frozen):
    """A job that gives way: it is dropped, delayed, or short of some of its units."""

    name: str
    deployment: str | None
    """The job derived from it, which gives way with it."""
    priority: int
    """From 0 to 100; the highest is kept first."""
    outcome: Literal["dropped", "delayed", "short"]
    """`short`: on time, but short of units. A delayed job may be short of units, too."""
    delay_quarters: int
    """0 if it is not delayed."""
    asked: tuple[int, ...]
    """The units that the scenario asks for, by quarter."""
    short: tuple[int, ...] = Field(default=(), exclude_if=operator.not_)
    """The units that are not placed though the job is kept, by quarter; left out if there are
    none."""
    cause: str
    """Why it cannot be kept as asked beside all that is kept."""
    remedies: tuple[str, ...]
    """Each alone would keep the job as asked; empty if none was found."""

    def how(self, quarters: Sequence[str]) -> str:
        """Say how it gives way.

        `dropped`, `delayed by 2 quarters`, `short of 6 of 40 units (2027Q3 to 2027Q4)`.
        """
        told = ["dropped"] if self.outcome == "dropped" else []
        if self.delay_quarters:
            told.append(f"delayed by {count_of(self.delay_quarters, 'quarter')}")
        if self.outcome != "dropped" and any(self.short):
            told.append(f"short of {', '.join(self._spans(quarters))}")
        return " and ".join(told)

    def _spans(self, quarters: Sequence[str]) -> Iterator[str]:
        """Yield `6 of 40 units (2027Q3 to 2027Q4)` for successive quarters that lack the same."""
        due = ((0,) * self.delay_quarters + self.asked)[: len(self.asked)]
        figures = groupby(zip(self.short, due, quarters, strict=True), lambda one: one[:2])
        for (short, units), span in figures:
            first, *more = (quarter for _, _, quarter in span)
            if short:
                when = f"{first} to {more[-1]}" if more else first
                yield f"{short:,} of {count_of(units, 'unit')} ({when})"


class PriorityUse(Frozen):
    """What became of the jobs of one priority."""

    priority: int
    jobs: int
    """Jobs of the scenario, without the deployments derived from them."""
    dropped: int
    delayed: int
    proved: bool
    """Whether none of these figures can be less while all that comes first is kept."""
    short: int = Field(default=0, exclude_if=operator.not_)
    """Jobs kept on time but short of units; left out if there are none, like the next."""
    units_short: int = Field(default=0, exclude_if=operator.not_)
    """Units of kept jobs that are not placed, counted once for each quarter."""


class Shortage(Frozen):
    """Which jobs give way because not everything fits."""

    priorities: tuple[PriorityUse, ...]
    """Every priority of a job that asks for something, the highest first."""
    jobs: tuple[ShortJob, ...]
    """By priority, the highest first, then by name."""
    bound_cents: int
    """No plan that keeps as much costs less, whichever of equal jobs give way."""

    def ahead_of(self, job: ShortJob) -> tuple[str, ...]:
        """Return the jobs that also give way, and that would get new room before this one.

        Fewer dropped jobs or short units come before fewer delays, and high priorities before
        low ones.
        """

        def turn(job: ShortJob) -> tuple[bool, int, bool]:
            return job.outcome == "delayed", -job.priority, job.outcome == "short"

        return tuple(one.name for one in self.jobs if turn(one) < turn(job))

    def proves(self, cost_cents: int, asked_gap: float) -> bool:
        """Return whether nobody gives way without need, and no other choice is cheaper.

        `asked_gap` is the share of the cost that counts as no difference.
        """
        every = all(use.proved for use in self.priorities)
        return every and cost_cents - self.bound_cents <= asked_gap * abs(cost_cents)


class QuotaUse(Frozen):
    """One quota of a team, and what its jobs hold of it."""

    gpu_type: str | None
    """None: all types together."""
    limit_gpus: tuple[int | None, ...]
    """By quarter; None: no limit."""
    gpus: tuple[int | float, ...]
    """Held at the fullest hour of each quarter."""


class TeamUse(Frozen):
    """What the jobs of one team hold, and what the team is charged."""

    team: str | None
    """None: jobs without a team."""
    gpus: tuple[int, ...]
    """Held at the fullest hour of each quarter."""
    gpu_hours: float
    """GPUs held × hours of the quarters."""
    delivered_gpu_hours: float
    """Of these, the runs of tuning jobs of known length, and all of other jobs."""
    open_gpu_hours: float
    """Of these, what tuning jobs of unknown run time hold."""
    charged_cents: tuple[int, ...]
    """The share of the net present cost, by quarter of use."""
    cost_cents: int
    """The sum of the charges."""
    quotas: tuple[QuotaUse, ...]
    """The quota of all types first, then by GPU type."""


class EndpointUse(Frozen):
    """The tokens of a serving job with a load, and the cost of its GPUs."""

    job: str
    million_tokens: tuple[float, ...]
    """Prompt and answer tokens of each quarter, at mean traffic."""
    full_million_tokens: tuple[float, ...]
    """The same if as much arrived all day as its replicas are planned to take."""
    cost_cents: tuple[int, ...]
    """The net present cost of the GPUs that it holds in each quarter, without idle ones."""


class ApiUse(Frozen):
    """What an API answers of a job's requests."""

    job: str
    api: str
    illustrative: bool
    """Whether its prices name no contract."""
    million_tokens: tuple[float, ...]
    """Prompt and answer tokens of each quarter, at mean traffic."""
    cents: tuple[int, ...]
    """By quarter, not discounted."""
    present_cents: int
    """The net present cost."""


class ApiComparison(Frozen):
    """A job on GPUs compared with an API that serves its model, over the horizon."""

    job: str
    api: str
    allowed: bool
    """Whether the job may use APIs."""
    gpus_cents: int
    """The net present cost of the GPUs that it holds, without idle ones."""
    api_cents: int
    """The net present cost of its tokens at the API."""


class Chargeback(Frozen):
    """The net present cost, shared among the teams by the GPUs that they hold.

    It adds up exactly.
    """

    idle: Literal["separate", "spread"]
    """Whether idle cost stands by itself or is charged to the teams that use the pool."""
    teams: tuple[TeamUse, ...]
    """By name; jobs without a team last."""
    idle_gpu_hours: float
    """In service and held by no job, spare nodes included."""
    idle_cents: tuple[int, ...]
    """The cost that nobody is charged, by quarter."""


class Proof(Frozen):
    """What is proved of this plan, and how."""

    status: Literal["proved", "not proved"]
    cost_cents: int
    """The net present cost over the horizon, which is minimized."""
    bound_cents: int
    """No plan for these inputs costs less."""
    gap: float
    """(cost - bound) / cost, whatever the sign of the cost."""
    asked_gap: float
    method: str
    checks: tuple[str, ...]
    """What the independent check confirmed, one sentence each."""
    bound_terms: tuple[tuple[str, int], ...]
    """The terms of the bound in cents, which add up exactly: `job price tags` first, then the
    rest."""
    second_opinions: tuple[SecondOpinion, ...] = ()
    """Opinions of other solvers, if they were asked (`planner plan --crosscheck`)."""


class Acquisition(Frozen):
    """One line of what to buy or rent, which enters service in one quarter."""

    offer: str
    kind: OfferKind
    node_type: str
    product: str
    gpu_type: str
    gpus_per_node: int
    site: str
    quarter: str
    """Buy: in service from this quarter on. Rent: for this quarter. Reserve: for a term from it."""
    count: int
    """Nodes; by the hour or week: the hours or terms of all nodes together."""
    unit_price_cents: int
    """Buy: one node. Rent and reserve: one node for a quarter. By the hour or week: one node for
    `step_hours`. Not discounted."""
    total_cents: int
    """What all of them cost within the horizon."""
    price_text: str
    price_origin: str
    price_date: str | None
    illustrative: bool
    lead_time_weeks: int
    order_by: str
    """The last day to order, as an ISO date."""
    term_quarters: int | None = None
    """Reserve: the quarters for which each node is held."""
    step_hours: int | None = None
    """By the hour or week: the hours that are paid as one; None: nodes are had for quarters."""
    committed_cents: int = 0
    """Reserve: what remains to be paid after the horizon; it is in no cost line."""
    sites: tuple[str, ...] = ()
    """All sites that share the offer; empty: it is for this one alone."""
    maximum: int | None = None
    """The most nodes of the offer at any time, at all sites; None: no limit."""
    end_of_sale: str | None = None
    """The last day of an order, as an ISO date; None: there is none."""


class NodeRelease(Frozen):
    """Owned nodes that are released together: sold, or switched off for one quarter."""

    action: Literal["sell", "switch off"]
    entry: str
    """The name of the fleet entry."""
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
    """What they no longer cost within the horizon, not discounted: energy, support and
    everything else that is paid for present nodes. For nodes switched off: energy, and support
    if the contract says so."""
    given_up_cents: int = 0
    """Sell: what they would have brought right after the horizon."""
    present_cents: int
    """How much all this lowers the net present cost, compared with keeping these nodes."""
    price_text: str = ""
    """Sell: how the price is stated."""
    quote: str | None = None
    """The buyer's offer; None: the price is illustrative."""


class Alternative(Frozen):
    """What one unit would add to the bound if it had to run in this way."""

    gpu_type: str
    way: str
    """The way of a candidate: the GPU type, with the part or the count if it has several."""
    extra_cents: int | None
    """None: no node of this GPU type holds a unit, or there are not enough of them."""
    reason: str


class PlannedJob(Frozen):
    """A job with its demand, where it runs and what it costs."""

    name: str
    kind: Literal["tune", "serve", "fixed"]
    derived_from: str | None
    derived_by: str | None
    team: str | None
    owner: IfStated[str] = None
    """Who answers for it. This and the next fields are as stated, and None for a derived job."""
    benefit: IfStated[str] = None
    if_not_met: IfStated[str] = None
    sites: tuple[str, ...] = ()
    """The sites at which it may run; empty: any."""
    sizing: str
    """The key of its sizing in `Plan.sizings`."""
    units: tuple[int, ...]
    """The units placed in each quarter: those asked for, less what `Plan.shortage` lists and
    what runs on APIs."""
    on_apis: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """For each API, the units whose requests it answers in each quarter."""
    runs: int = 1
    """The runs of each unit in each of its quarters; more than one only for tuning jobs."""
    gpu_types: tuple[tuple[str, int], ...]
    """The GPU types, each with the number of units that keep it, most first."""
    ways: tuple[tuple[str, int], ...]
    """The ways of candidates, each with the number of units that keep it, most first."""
    replicas: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """If GPU types share its traffic: the units of each of the `ways` in each quarter."""
    tag_cents: int
    """What this job adds to the bound over the horizon: its price tag from the duals."""
    alternatives: tuple[Alternative, ...]
    """The candidates whose GPU type is owned or offered; the chosen one adds 0."""


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
    """What a site of the scenario allows, and what stands there by quarter."""

    site: str
    cooling: tuple[str, ...]
    """Empty if the scenario does not say."""
    labels: tuple[str, ...]
    nodes: tuple[int, ...]
    """In service."""
    taken: dict[str, tuple[int, ...] | None]
    """What all nodes in service take of each need, such as `power_w`; None if the catalog lacks
    a figure."""
    allowed: dict[str, tuple[int | None, ...]]
    """What this site allows of each need that it limits."""
    racks: int | None
    """None: the scenario states no racks."""
    racks_used: tuple[int, ...]
    units_per_rack: int | None
    power_per_rack_w: int | None
    spare_nodes: int | dict[str, SpareGroup]
    """Kept empty in each pool in use of the site, or by groups of node types that share them."""


class SpareCost(Frozen):
    """What all spare nodes together cost: the plan against the best one without any."""

    cents: int | None
    """The net present cost; None if one of the two plans is not proved."""


OtherPlan = Literal["proved", "not proved", "no other plan"]


class HourlyUse(Frozen):
    """What the plan uses of an offer by the hour or week, and what decides about it."""

    offer: str
    gpu_hours: int
    """Paid over the horizon."""
    jobs: tuple[str, ...]
    """The jobs whose runs are there."""
    present_cents: int
    """The net present cost."""
    without: OtherPlan
    """Whether the best plan without the offer is proved, open, or does not exist."""
    turns_at: float | None
    """The multiple of its price above which a plan without it is cheaper; None unless proved,
    and where all of it costs less than a cent."""


class NearMiss(Frozen):
    """A small change of the demand, or a policy, with which the best plan costs less; proved."""

    policy: str = ""
    """The policy as the scenario would state it; empty if the demand of a job changes."""
    job: str = ""
    units: int = 0
    """Units fewer in every quarter; 0 if the traffic or the latency changes."""
    share: float = 0
    """The change as a share: of its units, of the traffic in every quarter, or of the time that
    users wait."""
    latency_ms: tuple[tuple[str, float], ...] = ()
    """The targets after the change, by key; empty if units or traffic change."""
    gpus: int = 0
    """GPUs fewer in the pool's fullest quarter; 0 if the latency changes."""
    node_type: str = ""
    site: str = ""
    saved_cents: int
    """The net present cost."""


class CostLine(Frozen):
    """One kind of cost by quarter, not discounted, and its present value."""

    name: CostName
    cents: tuple[int, ...]
    total_cents: int
    present_cents: int
    explanation: str
    """The formula in words, with its parameters."""


class BudgetUse(Frozen):
    """One budget, and what the plan spends of it, not discounted."""

    spend: Literal["capex", "opex", "spending"]
    """Purchases; everything else that is paid; or both."""
    quarter: str | None
    """None: over the whole horizon."""
    limit_cents: int
    spent_cents: int

    @property
    def left_cents(self) -> int:
        """What may still be spent."""
        return self.limit_cents - self.spent_cents


class BreakEven(Frozen):
    """A purchase compared with renting the same nodes by the hour, to the end of the horizon."""

    offer: str
    rent: str
    """The cheapest offer to rent this node type."""
    node_type: str
    quarter: str
    """The quarter of entry into service."""
    nodes: int
    """The nodes of the order, which decide its price."""
    buy_cents: int
    """The net present cost of one bought node."""
    rent_cents: int
    """The net present cost of one node rented for every hour of these quarters."""
    buy_price_cents: int = 0
    """The part of `buy_cents` that moves with the price: purchase, support and residual value."""
    rent_price_cents: int = 0
    """The part of `rent_cents` that moves with the price: the rent."""
    hours: int
    """The hours of use a quarter, rounded up, from which buying is cheaper."""
    quarter_hours: int
    """All hours of a quarter; if `hours` is more, renting is cheaper at any use."""


class Note(Frozen):
    """A warning or an assumption."""

    text: str
    origin: str
    """The rule id, file, job or setting that it comes from."""


class RuleUse(Frozen):
    """A rule that was applied, with its source."""

    id: str
    title: str
    kind: str
    sources: tuple[str, ...]
    errata: tuple[str, ...]
    used: int
    """The jobs that it sized or rejected."""


class SettingUse(Frozen):
    """A parameter of cost or policy, and who set it."""

    name: str
    value: float
    unit: str
    origin: str
    """`scenario` or `rule <id>`."""
    assumed: bool
    """Whether the scenario is silent, so that a policy rule decided."""


class NodeFacts(Frozen):
    """What the catalog, or the scenario itself, says of a node type for a facility."""

    node_type: str
    vendor: str
    product: str
    gpu_type: str
    gpus: int
    takes: dict[str, int]
    """What a node takes of each need that a site can limit, such as `power_w` by the nameplate,
    and `mean_power_w`, the mean draw under load in W; unknown needs are left out."""
    cooling: str | None
    """None if the catalog does not say."""
    sources: tuple[str, ...]
    """One for each figure."""
    kubernetes_resource: str = ""
    """The name of one of its GPUs in a cluster, such as `nvidia.com/gpu`."""


class Provenance(Frozen):
    """What this plan was made from, and by what."""

    planner_version: str
    solver: str
    """Such as `HiGHS 1.15.1 through PuLP 3.3.2`."""
    files: tuple[tuple[str, str, str], ...]
    """The role, path and sha256 of each file."""
    options: Options = Options()
    time_limit_s: float = 60.0
    """The seconds of work after which the search was to end."""
    guard_ended: bool = False
    """Whether the clock ended it before that, so that another run may find another plan."""
    crosscheck: bool = False
    """Whether other solvers were asked for the bound."""

    def path_of(self, role: str) -> Path | None:
        """Return the file of a role, such as `scenario`, as it was named; None if there is none."""
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
    """The share by which purchases tend to turn out dearer; it is in no cost of the plan."""
    as_of: str
    """The earliest day of an order, as an ISO date."""
    quarters: tuple[str, ...]
    changes: tuple[AppliedChange, ...] = ()
    """What overrides and `--set` changed in the scenario, in order."""
    proof: Proof
    acquisitions: tuple[Acquisition, ...]
    releases: tuple[NodeRelease, ...] = Field(default=(), exclude_if=operator.not_)
    """Owned nodes that are released, by quarter, sold before switched off."""
    nodes: tuple[Node, ...]
    placements: tuple[tuple[NodeUse, ...], ...]
    """One entry for each quarter."""
    moves: tuple[int, ...]
    """The replicas that change node when each quarter begins; 0 for the first."""
    current: CurrentPlacement | None = None
    """What becomes of the units that run today; None if the scenario lists none."""
    jobs: tuple[PlannedJob, ...]
    """As kept: a job that is dropped has no unit in any quarter."""
    shortage: Shortage | None = None
    """None if every job is kept as asked."""
    sizings: dict[str, Sizing]
    pools: tuple[PoolUse, ...]
    sites: tuple[SiteUse, ...] = ()
    """Empty if the scenario lists none."""
    growth_reserve: tuple[tuple[str, float], ...] = ()
    """The GPU types, each with the share of its GPUs in service that is kept free."""
    spare_cost: SpareCost | None = None
    """None if no spare nodes are asked for."""
    utilization_cents: int | None = None
    """What it costs that runs make progress in only a share of their hours, against the best
    plan in which they do in all; None if nothing runs by the hour or if that is not proved."""
    hourly: tuple[HourlyUse, ...] = ()
    """By offer; empty if no node is had for hours or weeks."""
    near_misses: tuple[NearMiss, ...] = ()
    costs: tuple[CostLine, ...]
    budgets: tuple[BudgetUse, ...] = ()
    break_evens: tuple[BreakEven, ...] = ()
    chargeback: Chargeback | None = None
    """None if the scenario names no team."""
    endpoints: tuple[EndpointUse, ...] = ()
    """Serving jobs with a load that are on GPUs, in the order of `jobs`."""
    apis: tuple[ApiUse, ...] = ()
    """Jobs on APIs, in the order of `jobs`."""
    api_comparisons: tuple[ApiComparison, ...] = ()
    """Jobs on GPUs whose model an API of the scenario serves, in the order of `jobs`."""
    api_saving_cents: int | None = None
    """What all APIs together save, against the best plan without them; None if no unit is on
    one, or if a plan is not proved."""
    storage_mb: tuple[int, ...]
    """The storage for tuned assets at the end of each quarter."""
    warnings: tuple[Note, ...]
    assumptions: tuple[Note, ...]
    rules: tuple[RuleUse, ...]
    settings: tuple[SettingUse, ...]
    node_types: tuple[NodeFacts, ...]
    """The node types of this plan, by id."""
    provenance: Provenance
    question: str
    """The whole scenario as YAML, in a canonical order."""

    def quarters_by_way(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """For each job with a unit that changes its GPU type: way -> quarters in that way."""
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
