"""The solution of a packing problem in integers, and what is known of its quality."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

RUNNING_COST, WHOLE_NODES = "running cost of owned nodes", "whole nodes"
"""Two terms of the bound: the cost that nothing decides, and the cost of nodes being whole."""
TOKENS = "units on APIs"
"""A term of the bound for the tokens of units on APIs: a plan counts their cost in the price
tags of their jobs, and the bound is lower because other units could be there."""


class Status(StrEnum):
    """What was proved."""

    PROVED = "proved"
    """Bound and cost differ by no more than the asked gap."""
    NOT_PROVED = "not proved"
    """A limit was hit; the plan is feasible, and the bound says how far from the best it can be."""


@dataclass(frozen=True, slots=True)
class Racked:
    """What one rack holds, as (pool, nodes), and how many racks are filled like this."""

    nodes: tuple[tuple[int, int], ...]
    count: int


@dataclass(frozen=True, slots=True, order=True)
class Member:
    """One piece in a bundle; of a run on several nodes, what it holds of this one."""

    job_class: int
    mode: int
    start: int
    """The hour of the quarter in which it starts; 0 if it holds its GPUs all quarter."""
    gpu: int
    """The first of its GPUs in the bundle, from 0."""
    slot: int
    """The first memory slice of its partition; 0 if it has none."""


@dataclass(frozen=True, slots=True, order=True)
class Bundle:
    """GPUs of one node that several pieces share, one after another or side by side."""

    gpus: int
    members: tuple[Member, ...]
    """Sorted."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How one node is divided."""

    parts: tuple[tuple[int, int, int], ...]
    """(job class, mode, pieces) that have whole GPUs to themselves all quarter."""
    count: int
    """How many times this layout is used."""
    span: int = 1
    """Whole nodes that one use takes; more than 1 only for a single piece that spans nodes."""
    bundles: tuple[Bundle, ...] = ()
    """GPUs that pieces share; empty if the layout spans nodes."""
    hours: tuple[int, int] | None = None
    """Start and end of the time for which the node is had and paid, in hours of the quarter;
    None: all quarter."""


@dataclass(frozen=True, slots=True)
class PriceTag:
    """What a job class adds to the bound of the linear relaxation, by mode."""

    cents: float
    """Per unit; summed over all units, with `Solution.bound_terms`, it gives the bound."""
    extra_cents_by_mode: tuple[float | None, ...]
    """Reduced cost: how much the bound rises if one unit must take this mode; None: no pool."""


class Verdict(StrEnum):
    """What a second opinion makes of a claim."""

    CONFIRMED = "confirmed"
    UNDECIDED = "undecided"
    """Its time ended before it could say."""
    UNFOUNDED = "unfounded"
    """It disagrees and is wrong: its solution breaks a row, or ours breaks none."""
    REFUTED = "refuted"
    """It has a solution that the claim says cannot exist."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one solver says of a claim."""

    solver: str
    verdict: Verdict
    reached_cents: int | None = None
    """Its bound, or if it disagrees the cost of its solution; None: it finds no solution, or
    nothing at all (`undecided`)."""
    values: tuple[float, ...] = ()
    """Its solution, if it disagrees."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The decisions in integers, and what is known of their quality."""

    status: Status
    cost_cents: int
    bound_cents: int
    """No plan costs less."""
    acquired: tuple[tuple[int, ...], ...]
    """supply × quarter of entry: nodes; of those that come and go within it, hours or terms that
    are paid; of owned ones, those that are sold, or switched off in it."""
    assigned: tuple[tuple[int, ...], ...]
    """job class × mode: units that keep this mode."""
    layouts: tuple[tuple[tuple[Layout, ...], ...], ...]
    """quarter × pool: layouts of the nodes in use."""
    tags: tuple[PriceTag, ...]
    """One for each job class."""
    bound_terms: tuple[tuple[str, float], ...]
    """The bound's other terms in cents: owned nodes, limited offers, fixed cost, whole nodes."""
    method: str
    """How it was solved, in one sentence, without times."""
    racks: tuple[tuple[tuple[Racked, ...], ...], ...] = ()
    """quarter × rack space: the racks in use."""
    spare: tuple[tuple[int, ...], ...] = ()
    """quarter × pool: empty nodes that stand in for others; empty if no pools share any."""
    moved: tuple[int, ...] = ()
    """For each job class, the units that leave their pool of origin; empty if none runs today."""
    opinions: tuple[Opinion, ...] = ()
    """What other solvers say of the bound, if they were asked."""

    def beside_apis(self, bound_cents: int, tokens_cents: int, asked_gap: float) -> Solution:
        """Return the solution with the token cost of units on APIs, which could have been others.

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
