"""The answer: what to buy or rent when, what runs where, what it costs, and the proof.

`plan.json` is this model, complete: every report and `explain` is made from it alone.
Money is integer cents; quarters are labels such as `2027Q1`; per-quarter tuples follow `quarters`.
"""

from __future__ import annotations

from typing import Literal

from planner.inputs.base import Frozen
from planner.sizing.candidate import Sizing

__all__ = [
    "Acquisition",
    "Alternative",
    "CostLine",
    "Node",
    "NodeUse",
    "Note",
    "Occupant",
    "Plan",
    "PlannedJob",
    "PoolUse",
    "Proof",
    "Provenance",
    "RuleUse",
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


class Acquisition(Frozen):
    """One line of what to buy or rent, entering service in one quarter."""

    offer: str
    kind: Literal["buy", "rent"]
    node_type: str
    product: str
    gpu_type: str
    gpus_per_node: int
    site: str
    quarter: str
    """Buy: in service from this quarter. Rent: for this quarter."""
    count: int
    unit_price_cents: int
    """Buy: one node. Rent: one node for the quarter. Not discounted."""
    total_cents: int
    price_text: str
    price_origin: str
    price_date: str | None
    illustrative: bool
    lead_time_weeks: int
    order_by: str
    """ISO date."""


class Node(Frozen):
    """One server of the plan."""

    id: str
    """`xe9680-h100/dc-east/03`; rented ones end in `r1`, `r2`, …"""
    node_type: str
    gpu_type: str
    gpus: int
    cpus: int
    memory_mb: int
    site: str
    origin: Literal["owned", "buy", "rent"]
    entry: str
    """Name of the fleet entry or offer."""
    in_service: tuple[str, ...]
    """Quarters."""


class Occupant(Frozen):
    """A unit of a job on a node."""

    job: str
    unit: int
    """From 1."""
    gpus: tuple[int, ...]
    """GPU numbers on this node, from 0."""
    cpus: int
    memory_mb: int
    """Host memory taken on this node, MB."""


class NodeUse(Frozen):
    """Who holds one node in one quarter; only nodes that run something are listed."""

    node: str
    occupants: tuple[Occupant, ...]


class Alternative(Frozen):
    """What one unit would add to the bound if it had to run on this GPU type."""

    gpu_type: str
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
    sizing: str
    """Key of `Plan.sizings`."""
    units: tuple[int, ...]
    """Units placed in each quarter."""
    gpu_types: tuple[tuple[str, int], ...]
    """GPU type and the number of units that keep it, most first."""
    tag_cents: int
    """What this job adds to the bound over the horizon: the price tag from the duals."""
    alternatives: tuple[Alternative, ...]
    """Candidate GPU types that are owned or offered, the chosen one with 0."""


class PoolUse(Frozen):
    """Capacity and use of one node type at one site, per quarter."""

    node_type: str
    site: str
    gpu_type: str
    nodes: tuple[int, ...]
    """In service."""
    nodes_used: tuple[int, ...]
    nodes_spare: tuple[int, ...]
    """Kept empty by policy."""
    gpus: tuple[int, ...]
    """In service."""
    gpus_used: tuple[int, ...]
    gpus_stranded: tuple[int, ...]
    """Free GPUs on nodes in use that no unit could take for want of cores or host memory."""
    cpus: tuple[int, ...]
    cpus_used: tuple[int, ...]
    memory_mb: tuple[int, ...]
    memory_used_mb: tuple[int, ...]


class CostLine(Frozen):
    """One kind of cost by quarter, not discounted, and its present value."""

    name: Literal["purchase", "residual value", "support", "energy", "rent"]
    cents: tuple[int, ...]
    total_cents: int
    present_cents: int
    explanation: str
    """The sum in words, with its parameters."""


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


class Provenance(Frozen):
    """What this plan was made from and by."""

    planner_version: str
    solver: str
    """`HiGHS 1.15.1 through PuLP 3.3.2`."""
    files: tuple[tuple[str, str, str], ...]
    """Role, path, sha256."""


class Plan(Frozen):
    """A verified plan."""

    format: str
    scenario: str
    description: str | None
    as_of: str
    """ISO date: the earliest day of an order."""
    quarters: tuple[str, ...]
    proof: Proof
    acquisitions: tuple[Acquisition, ...]
    nodes: tuple[Node, ...]
    placements: tuple[tuple[NodeUse, ...], ...]
    """By quarter."""
    moves: tuple[int, ...]
    """Units that change node when this quarter begins; 0 for the first."""
    jobs: tuple[PlannedJob, ...]
    sizings: dict[str, Sizing]
    pools: tuple[PoolUse, ...]
    costs: tuple[CostLine, ...]
    storage_mb: tuple[int, ...]
    """Storage for tuned assets that exist by the end of each quarter."""
    warnings: tuple[Note, ...]
    assumptions: tuple[Note, ...]
    rules: tuple[RuleUse, ...]
    provenance: Provenance
