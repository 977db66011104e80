"""The solution of a packing problem, in integers alone, and what is known of its worth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

RUNNING_COST, WHOLE_NODES = "running cost of owned nodes", "whole nodes"
"""Two terms of the bound: what nothing decides, and what it costs that nodes come whole."""
TOKENS = "units on APIs"
"""A term of the bound: what the tokens of units on APIs cost, which a plan counts in the price tags
of their jobs, and by how much the bound is lower since other units could be there."""


class Status(StrEnum):
    """What was proved."""

    PROVED = "proved"
    """Bound and cost differ by no more than the asked gap."""
    NOT_PROVED = "not proved"
    """A limit was hit; the plan is feasible and the bound says how far from the best it can be."""


@dataclass(frozen=True, slots=True)
class Racked:
    """What one rack holds: (pool, nodes), and how many racks are filled like this."""

    nodes: tuple[tuple[int, int], ...]
    count: int


@dataclass(frozen=True, slots=True, order=True)
class Member:
    """One piece in a bundle; of a run that is on several nodes, what it holds of this one."""

    demand: int
    choice: int
    start: int
    """Hour of the quarter in which it starts; 0 where it holds its GPUs all quarter."""
    gpu: int
    """First of its GPUs in the bundle, from 0."""
    slot: int
    """First memory slice of its partition; 0 where it has none."""


@dataclass(frozen=True, slots=True, order=True)
class Bundle:
    """GPUs of one node that several pieces share, one after the other or side by side."""

    gpus: int
    members: tuple[Member, ...]
    """Sorted."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How one node is divided."""

    parts: tuple[tuple[int, int, int], ...]
    """(demand, choice, pieces) that have whole GPUs to themselves all quarter."""
    count: int
    """How many times this layout is used."""
    span: int = 1
    """Whole nodes that one use takes; more than 1 only for a single piece that spans nodes."""
    bundles: tuple[Bundle, ...] = ()
    """GPUs that pieces share; empty where the layout spans nodes."""
    hours: tuple[int, int] | None = None
    """From when to when the node is had and paid, in hours of the quarter; None: all quarter."""


@dataclass(frozen=True, slots=True)
class PriceTag:
    """What a demand adds to the bound of the linear relaxation, by choice."""

    cents: float
    """Per unit; summed over all units, with `Solution.bound_terms`, it gives the bound."""
    extra_cents_by_choice: tuple[float | None, ...]
    """Reduced cost: how much the bound rises if one unit must take this choice; None: no pool."""


class Verdict(StrEnum):
    """What a second opinion makes of a claim."""

    CONFIRMED = "confirmed"
    UNDECIDED = "undecided"
    """Its time ended before it could say."""
    UNFOUNDED = "unfounded"
    """It disagrees, and what it says is wrong: its solution breaks a row, or ours breaks none."""
    REFUTED = "refuted"
    """It has a solution that the claim says cannot exist."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one solver says of a claim."""

    solver: str
    verdict: Verdict
    reached_cents: int | None = None
    """Its bound, or where it disagrees the cost of its solution; None: it finds no solution, or
    nothing at all (`undecided`)."""
    values: tuple[float, ...] = ()
    """Its solution, where it disagrees."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Integers, and what is known of their worth."""

    status: Status
    cost_cents: int
    bound_cents: int
    """No plan costs less."""
    acquired: tuple[tuple[int, ...], ...]
    """supply × quarter of entry: nodes; of those that come and go within it, hours or terms that
    are paid; of owned ones, those that are sold, or switched off in it."""
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
    racks: tuple[tuple[tuple[Racked, ...], ...], ...] = ()
    """quarter × rack space: the racks in use."""
    spare: tuple[tuple[int, ...], ...] = ()
    """quarter × pool: empty nodes that stand in for others; empty where no pools share any."""
    moved: tuple[int, ...] = ()
    """By demand: units that leave their pool of origin; empty where nothing runs."""
    opinions: tuple[Opinion, ...] = ()
    """What other solvers say of the bound, where they were asked."""

    def beside_apis(self, bound_cents: int, tokens_cents: int, asked_gap: float) -> Solution:
        """The same where units on APIs, whose tokens cost so much, could have been others.

        `bound_cents` is what no plan costs less than, whichever they are.
        """
        terms = dict(self.bound_terms)
        terms[RUNNING_COST] -= tokens_cents
        terms[TOKENS] = float(tokens_cents + bound_cents - self.bound_cents)
        changed = replace(self, bound_cents=bound_cents, bound_terms=tuple(terms.items()))
        proved = changed.gap <= asked_gap
        return replace(changed, status=Status.PROVED if proved else Status.NOT_PROVED)

    @property
    def gap(self) -> float:
        """(cost - bound) / cost, whatever the sign of the cost."""
        off = self.cost_cents - self.bound_cents
        return off / abs(self.cost_cents) if self.cost_cents else 0.0
