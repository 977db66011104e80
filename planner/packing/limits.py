"""What the nodes of a plan may take and spend together, in integers alone: W, U, cents."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from planner.inputs.text.words import usd


@dataclass(frozen=True, slots=True)
class SpendLimit:
    """At most so much money of some kind, of one quarter or of all, not discounted."""

    name: str
    """In the user's words: `capex of 2027Q2`."""
    at_most_cents: int
    """What decisions may spend: the running cost of owned nodes is taken off before."""
    cents: tuple[tuple[int, ...], ...]
    """supply × quarter of entry: what one node spends; negative, and so the most, where so much is
    to be acquired at the least."""
    fixed_cents: int = 0
    """What was taken off."""
    moves: tuple[int, ...] = ()
    """By demand: what one unit spends that leaves its pool; empty: nothing."""
    unit: Literal["USD", "requests/s"] = "USD"
    """Of what is counted: cents, or thousandths of a request per second."""

    def told(self, amount: int) -> str:
        """An amount in words: `$36,000`, `12.5 requests/s`."""
        return usd(amount, short=True) if self.unit == "USD" else f"{amount / 1000:,g} requests/s"


@dataclass(frozen=True, slots=True)
class Limit:
    """At most so much, in each quarter, of what the nodes that are there take together."""

    name: str
    """In the user's words: `power at frankfurt`."""
    terms: tuple[tuple[int, int], ...]
    """(pool, what one node of it takes), owned nodes included."""
    at_most: tuple[int | None, ...]
    """By quarter; None: no limit."""
    unit: str
    """Of the figures: `W`, `U`, `ports`."""
    drawn: bool = False
    """Whether a node takes of it only while it is on; else wherever it stands."""


@dataclass(frozen=True, slots=True)
class RackSpace:
    """Racks, all alike, that hold the nodes of some pools, on or off; a node stands in one rack."""

    site: str
    count: int
    units: int
    """Height of one rack, rack units."""
    power_w: int | None
    """What one rack can feed; None: not limited."""
    nodes: tuple[tuple[int, int, int], ...]
    """(pool, rack units of one node, W of one node); W is 0 where power is not limited."""


@dataclass(frozen=True, slots=True)
class Reserve:
    """A share of the GPUs of a type in service, at all sites, that no unit holds in any quarter."""

    gpu_type: str
    free: Fraction
    """At least 0, below 1."""


@dataclass(frozen=True, slots=True)
class SharedSpares:
    """Pools of a site that share their spare nodes: empty ones that stand in for those that fail.

    While a pool runs a unit, so many nodes are empty that can take all that a node of it holds.
    """

    name: str
    """In the user's words: `hopper at frankfurt`."""
    pools: tuple[int, ...]
    """Each of a node type of its own; parts of them that are held or lent belong to it."""
    nodes: int
    """Nodes that may fail at once; 0 where racks may."""
    racks: int
    """Racks that may: so many times what the fullest rack holds of these pools."""
    site: str
    """Where they stand: its racks are meant; where none are stated, each node has its own."""
