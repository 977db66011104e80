"""The packing problem and its solution, in integers alone: GPUs, cores, MB, cents.

Nothing here knows what a model or a method is. A *demand* is a class of units that are alike: the
same choices, active in the same quarters. A unit takes one choice and keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

__all__ = [
    "Choice",
    "Demand",
    "Layout",
    "Pool",
    "PriceTag",
    "Problem",
    "Shape",
    "Solution",
    "Status",
    "Supply",
]


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """What one unit takes, or one node offers."""

    gpus: int
    cpus: int
    memory_mb: int
    spans: bool = True
    """Whether a unit may take several whole nodes where a fabric joins them."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one type at one site; a unit runs within one pool."""

    node_type: str
    site: str
    gpu_type: str
    node: Shape
    """What one node offers."""
    owned: int
    """Nodes in service in every quarter at no purchase."""
    spare: int
    """Nodes kept empty in each quarter in which the pool runs a unit."""
    fabric: bool
    """Whether a unit may span whole nodes."""

    @property
    def name(self) -> str:
        """`node type @ site`."""
        return f"{self.node_type}@{self.site}"

    def nodes_taken(self, shape: Shape) -> int | None:
        """Whole nodes that a unit takes: 0 if it may share one, None if it cannot run here."""
        nodes, rest = divmod(shape.gpus, self.node.gpus)
        if nodes == 0:
            fits = shape.cpus <= self.node.cpus and shape.memory_mb <= self.node.memory_mb
            return 0 if fits else None
        if rest or (nodes > 1 and not (self.fabric and shape.spans)):
            return None
        fits = (
            shape.cpus <= nodes * self.node.cpus and shape.memory_mb <= nodes * self.node.memory_mb
        )
        return nodes if fits else None


@dataclass(frozen=True, slots=True)
class Supply:
    """An offer as the program sees it."""

    name: str
    kind: Literal["buy", "rent"]
    pool: int
    maximum: int | None
    """Buy: nodes over the horizon. Rent: nodes in any one quarter."""
    unit_cost_cents: tuple[int | None, ...]
    """Net cost of one node by the quarter it enters service; None before the lead time allows.

    Buy: purchase less residual value plus running cost to the end of the horizon, all discounted.
    Rent: rent of that quarter, discounted.
    """


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to run a unit."""

    gpu_type: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Demand:
    """Units that are alike."""

    choices: tuple[Choice, ...]
    quarters: tuple[int, ...]
    """Quarters, from 0, in which each unit is active."""
    count: int


@dataclass(frozen=True, slots=True)
class Problem:
    """A whole portfolio over the horizon."""

    quarters: int
    pools: tuple[Pool, ...]
    supplies: tuple[Supply, ...]
    demands: tuple[Demand, ...]
    fixed_cost_cents: int
    """Running cost of the owned fleet, which no decision changes."""


class Status(StrEnum):
    """What was proved."""

    PROVED = "proved"
    """Bound and cost differ by no more than the asked gap."""
    NOT_PROVED = "not proved"
    """A limit was hit; the plan is feasible and the bound says how far from the best it can be."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How one node is divided: (demand, choice, units)."""

    parts: tuple[tuple[int, int, int], ...]
    count: int
    """How many times this layout is used."""
    span: int = 1
    """Whole nodes that one use takes; more than 1 only for a single unit that spans nodes."""


@dataclass(frozen=True, slots=True)
class PriceTag:
    """What a demand adds to the bound of the linear relaxation, by choice."""

    cents: float
    """Per unit; summed over all units, with `Solution.bound_terms`, it gives the bound."""
    extra_cents_by_choice: tuple[float | None, ...]
    """Reduced cost: how much the bound rises if one unit must take this choice; None: no pool."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Integers, and what is known of their worth."""

    status: Status
    cost_cents: int
    bound_cents: int
    """No plan costs less."""
    bought: tuple[tuple[int, ...], ...]
    """supply × quarter; zero for rent."""
    rented: tuple[tuple[int, ...], ...]
    """supply × quarter; zero for buy."""
    assigned: tuple[tuple[int, ...], ...]
    """demand × choice: units that keep this choice."""
    layouts: tuple[tuple[tuple[Layout, ...], ...], ...]
    """quarter × pool: layouts of the nodes in use."""
    tags: tuple[PriceTag, ...]
    """By demand."""
    bound_terms: tuple[tuple[str, float], ...]
    """What else is in the bound: owned nodes, limited offers, fixed cost, whole nodes; cents."""
    method: str
    """How it was solved, in one sentence, without times."""

    @property
    def gap(self) -> float:
        """(cost - bound) / cost."""
        return (self.cost_cents - self.bound_cents) / self.cost_cents if self.cost_cents else 0.0
