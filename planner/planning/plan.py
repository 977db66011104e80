"""The answer: what to buy or rent when, what runs where, what it costs, and the proof.

`plan.json` is this model, complete: every report and `explain` is made from it alone.
Money is integer cents; quarters are labels such as `2027Q1`; per-quarter tuples follow `quarters`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from planner.inputs.base import Frozen
from planner.inputs.scenario.offer import OfferKind
from planner.inputs.settled import ChangeNote, Options
from planner.planning.parts import (
    Chargeback,
    CurrentPlacement,
    GpuPart,
    Node,
    NodeUse,
    Occupant,
    PoolUse,
    SecondOpinion,
    Shortage,
)
from planner.sizing.candidate import Sizing

__all__ = [
    "Acquisition",
    "Alternative",
    "BreakEven",
    "BudgetUse",
    "CostLine",
    "CostName",
    "GpuPart",
    "HourlyUse",
    "Node",
    "NodeFacts",
    "NodeUse",
    "Note",
    "Occupant",
    "OtherPlan",
    "PartitionSaving",
    "Plan",
    "PlannedJob",
    "PoolUse",
    "Proof",
    "Provenance",
    "RuleUse",
    "SettingUse",
    "SiteUse",
    "SpareCost",
    "SparePrice",
]

FORMAT = "1.0"
"""Minor: additive. Major: readers refuse."""


class Proof(Frozen):
    """What is proved of this plan, and how."""

    status: Literal["proved", "not proved"]
    cost_cents: int
    """Net present cost over the horizon: the minimized figure."""
    bound_cents: int
    """No plan for these inputs costs less."""
    gap: float
    """(cost - bound) / cost."""
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
    sites: tuple[str, ...] = ()
    """Sites at which it may run; empty: any."""
    sizing: str
    """Key of `Plan.sizings`."""
    units: tuple[int, ...]
    """Units placed in each quarter; fewer than asked for only as `Plan.shortage` says."""
    runs: int = 1
    """Of each unit in each of its quarters; more than one only of tuning jobs."""
    gpu_types: tuple[tuple[str, int], ...]
    """GPU type and the number of units that keep it, most first."""
    ways: tuple[tuple[str, int], ...]
    """Way of a candidate of its sizing, and the number of units that keep it, most first."""
    tag_cents: int
    """What this job adds to the bound over the horizon: the price tag from the duals."""
    alternatives: tuple[Alternative, ...]
    """Candidates whose GPU type is owned or offered, the chosen one with 0."""


CostName = Literal[
    "purchase",
    "residual value",
    "support",
    "energy",
    "rent",
    "reservation",
    "licence",
    "colocation",
    "moves",
    "type changes",
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
    spare_nodes: int
    """Kept empty in each pool of the site that runs a job."""


class SpareCost(Frozen):
    """What all spare nodes together add to the cost: the plan against the best one without any."""

    cents: int | None
    """Net present cost; None where one of the two plans is not proved."""


class SparePrice(Frozen):
    """What one spare node adds to the cost: the plan against the best one with one fewer there.

    Those of several places do not add up: without one of them, another plan may be the best.
    """

    place: str
    """A pool, or a site with all its pools that run a job."""
    kept: int
    """Spare nodes in each pool concerned."""
    cents: int | None
    """Net present cost of the last of them; None where one of the two plans is not proved."""


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
    as_of: str
    """ISO date: the earliest day of an order."""
    quarters: tuple[str, ...]
    changes: tuple[ChangeNote, ...] = ()
    """What overrides and `--set` changed in the scenario, in order."""
    proof: Proof
    acquisitions: tuple[Acquisition, ...]
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
    spare_prices: tuple[SparePrice, ...] = ()
    """Empty likewise."""
    partition_saving: PartitionSaving | None = None
    """None where no unit takes a part of a GPU."""
    utilization_cents: int | None = None
    """What it costs that runs make progress in a share of their hours alone, against the best plan
    where they do in all; None where nothing runs by the hour or that is not proved."""
    hourly: tuple[HourlyUse, ...] = ()
    """By offer; empty where no node comes and goes within a quarter."""
    costs: tuple[CostLine, ...]
    budgets: tuple[BudgetUse, ...] = ()
    break_evens: tuple[BreakEven, ...] = ()
    chargeback: Chargeback | None = None
    """None where the scenario names no team."""
    storage_mb: tuple[int, ...]
    """Storage for tuned assets that exist by the end of each quarter."""
    warnings: tuple[Note, ...]
    assumptions: tuple[Note, ...]
    rules: tuple[RuleUse, ...]
    settings: tuple[SettingUse, ...] = ()
    node_types: tuple[NodeFacts, ...] = ()
    """Of the nodes of this plan, by id."""
    provenance: Provenance
    question: str = ""
    """The whole scenario as YAML, in an order of its own."""

    def quarters_by_way(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """By job of which some unit changes its GPU type: way -> quarters in which units run so."""
        changing = {job.name for job in self.jobs if sum(n for _, n in job.ways) > max(job.units)}
        found: dict[str, dict[str, dict[str, None]]] = {}
        for quarter, uses in zip(self.quarters, self.placements, strict=True):
            for one in (occupant for use in uses for occupant in use.occupants):
                if one.job in changing:
                    found.setdefault(one.job, {}).setdefault(one.way, {})[quarter] = None
        return {job: {way: tuple(at) for way, at in ways.items()} for job, ways in found.items()}
