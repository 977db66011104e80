"""The packing problem, in integers alone: GPUs, cores, MB, cents, W, U.

Nothing here knows what a model or a method is. A *job class* is units that are alike: the same
modes, active in the same quarters. A unit takes one mode and keeps it. A mode may ask
for several *pieces* of its shape, such as the replicas of one endpoint; each has its own place.
*Limits* say what the nodes of a plan may take and spend together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Literal, NamedTuple

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.inputs.text import usd


@dataclass(frozen=True, slots=True)
class SpendLimit:
    """A limit on money of some kind, in one quarter or over the horizon, not discounted."""

    name: str
    """In the user's words, such as `capex of 2027Q2`."""
    at_most_cents: int
    """What decisions may spend: the running cost of owned nodes is subtracted before."""
    cents: tuple[tuple[int, ...], ...]
    """supply × quarter of entry: what one node spends. Negative figures state a minimum to
    acquire."""
    fixed_cents: int = 0
    """What was subtracted."""
    moves: tuple[int, ...] = ()
    """For each job class, what one unit spends that leaves its pool; empty: nothing."""
    parts_of_request: int | None = None
    """What is counted instead of cents: so many parts of a request per second; None: cents."""

    def told(self, amount: int) -> str:
        """Format an amount: `$36,000`, `12.5 requests/s`, the latter rounded up to millionths."""
        if self.parts_of_request is None:
            return usd(amount, short=True)
        millionths = ceil(Fraction(amount * 10**6, self.parts_of_request))
        return f"{Decimal(millionths) / 10**6:,} requests/s"


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit in each quarter on what the nodes that are there take together."""

    name: str
    """In the user's words, such as `power at frankfurt`."""
    terms: tuple[tuple[int, int], ...]
    """(pool, what one node of it takes), owned nodes included."""
    at_most: tuple[int | None, ...]
    """By quarter; None: no limit. A limit of a scenario has one figure wherever it holds."""
    unit: str
    """The unit of the figures: `W`, `U`, `ports`."""
    drawn: bool = False
    """Whether a node takes of it only while it is on; else wherever it stands."""

    @property
    def figure(self) -> int:
        """Return the figure wherever it holds: the largest, if there are several."""
        return max((most for most in self.at_most if most is not None), default=0)


@dataclass(frozen=True, slots=True)
class RackSpace:
    """Racks, all alike, that hold the nodes of some pools, on or off; a node stands in one rack."""

    site: str
    count: int
    units: int
    """The height of one rack in rack units."""
    power_w: int | None
    """What one rack can feed; None: not limited."""
    nodes: tuple[tuple[int, int, int], ...]
    """(pool, rack units of one node, W of one node); W is 0 if power is not limited."""


@dataclass(frozen=True, slots=True)
class Reserve:
    """A share of the GPUs of a type in service, at all sites, that no unit holds in any quarter."""

    gpu_type: str
    free: Fraction
    """At least 0, below 1."""


@dataclass(frozen=True, slots=True)
class SharedSpares:
    """Pools of a site that share spare nodes: empty ones that stand in for those that fail.

    While a pool runs a unit, so many nodes are empty that can take all that a node of it holds.
    """

    name: str
    """In the user's words, such as `hopper at frankfurt`."""
    pools: tuple[int, ...]
    """Each of a node type of its own; parts of them that are held or lent belong to it."""
    nodes: int
    """Nodes that may fail at once; 0 if racks may."""
    racks: int
    """Racks that may fail: so many times what the fullest rack holds of these pools."""
    site: str
    """The site whose racks count; if none are stated, each node has a rack of its own."""


ALL_TRAFFIC = 10**6
"""The traffic of an endpoint is counted in millionths."""

NOWHERE = "~"
"""The prefix of a GPU type that does not exist: a unit that has one is not run."""
API = "API"
"""Stands in place of a node type."""


class RunWindow(NamedTuple):
    """The hours of its quarters, counted from 0, for which a piece holds what it takes."""

    hours: int
    """Consecutive hours."""
    earliest: int
    """The first hour in which it may start."""
    until: int
    """The hour by which it must have ended; at most `RUN_HOURS`."""

    @property
    def latest(self) -> int:
        """Return the last hour in which it may start."""
        return self.until - self.hours

    def least_within(self, first: int, end: int) -> int:
        """Return the hours that it takes of a span whenever it starts."""
        return min(
            max(0, min(start + self.hours, end) - max(start, first))
            for start in (self.earliest, self.latest)
        )


ALWAYS = RunWindow(RUN_HOURS, 0, RUN_HOURS)


class Part(NamedTuple):
    """What a piece takes of one GPU that it shares with others."""

    profile: str
    """The MIG profile of its partition; empty: so much memory of an unpartitioned GPU."""
    memory_mb: int
    """0 if a partition says it."""


WHOLE = Part("", 0)
"""No part of a GPU: whole ones."""


class Shape(NamedTuple):
    """What one piece takes, or one node offers."""

    gpus: int
    """Whole GPUs; 1 if it takes a part of one."""
    cpus: int
    memory_mb: int
    spans: bool = True
    """Whether a piece may take several whole nodes that a fabric joins."""
    sites: tuple[str, ...] = ()
    """The sites at which a unit may run, sorted; empty: any."""
    run: RunWindow = ALWAYS
    part: Part = WHOLE
    stays: str = ""
    """The pool or the held nodes that a unit may not leave; empty: it may run anywhere."""
    owner: str = ""
    """The owner whose quota counts the hours of its run, if one does; stated by the search."""
    stand_ins: tuple[tuple[int, int], ...] = ()
    """(pool, another that shares its spare nodes) where the second can take in what a node of
    the first holds of it; stated by the search."""

    @property
    def is_run(self) -> bool:
        """Return whether it holds what it takes for some hours only."""
        return self.run != ALWAYS

    @property
    def whole_gpus(self) -> int:
        """Return the GPUs that it leaves to nobody else."""
        return self.gpus if self.part == WHOLE else 0

    @property
    def while_running(self) -> Shape:
        """Return what a node holds of it at any hour: a run without its time and owner."""
        if not self.is_run:
            return self
        return Shape(self.gpus, self.cpus, self.memory_mb, part=self.part)

    @property
    def bundles(self) -> bool:
        """Return whether others may have its GPUs as well: at other hours, or in parts."""
        return self.is_run or self.part != WHOLE


class HourlyTerms(NamedTuple):
    """How nodes for hours or weeks are paid, for the runs on them."""

    step_hours: int
    """Hours that are paid as one."""
    minimum_hours: int
    """The least that a node is paid for, each time it is had."""

    def steps(self, hours: int) -> int:
        """Return what is paid for a node that is had once for so many hours."""
        return -(-max(hours, self.minimum_hours) // self.step_hours)

    def paid(self, first: int, last: int) -> tuple[int, int]:
        """Return from when to when a node is had and paid that runs use between two hours.

        From the first run on, or so much earlier that what is paid ends within the quarter.
        """
        hours = self.steps(last - first) * self.step_hours
        start = min(first, max(0, RUN_HOURS - hours))
        return start, start + hours


@dataclass(frozen=True, slots=True)
class Division:
    """One way to partition a GPU completely."""

    slots: tuple[tuple[str, int], ...]
    """(profile, first memory slice), by slice."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one type at one site; a piece runs within one pool."""

    node_type: str
    site: str
    gpu_type: str
    node: Shape
    """What one node offers."""
    owned: int
    """Nodes in service without a purchase, until they retire."""
    spare: int
    """Nodes kept empty in each quarter in which the pool runs a unit."""
    fabric: bool
    """Whether a piece may span whole nodes."""
    retired: tuple[int, ...] = ()
    """Owned nodes no longer in service, by quarter; empty: none ever retires."""
    divisions: tuple[Division, ...] = ()
    """How a GPU may be partitioned; empty: not at all."""
    shared_mb: int = 0
    """Memory of one GPU that pieces may share without partitions; 0: they may not."""
    mixes: bool = True
    """Whether a node may hold partitioned GPUs beside others."""
    held: str = ""
    """The name of the nodes, if it is only those that some unit may not leave."""
    lender: int | None = None
    """The pool whose nodes are lent to this one for partitioned GPUs alone; stated by the
    search."""
    hire: HourlyTerms | None = None
    """How its nodes are paid if they are had for hours or weeks; only runs use them."""
    offer: str = ""
    """The offer of such nodes."""

    @property
    def name(self) -> str:
        """Return `node type @ site`, or the name of its nodes."""
        return self.held or f"{self.node_type}@{self.site}" + (self.offer and f" by {self.offer}")

    @property
    def is_api(self) -> bool:
        """Return whether it stands for an API."""
        return self.node_type == API

    @property
    def home(self) -> str:
        """Return the pool of which it is all or a part: `node type/site`."""
        return f"{self.node_type}/{self.site}" + (self.offer and f"/{self.offer}")

    def owned_in(self, quarter: int) -> int:
        """Return the owned nodes in service in a quarter."""
        return self.owned - (self.retired[quarter] if self.retired else 0)

    def gives(self, part: Part) -> bool:
        """Return whether a GPU here can be divided so that this is a part of it."""
        if not part.profile:
            return part.memory_mb <= self.shared_mb
        return any(
            part.profile == profile for division in self.divisions for profile, _ in division.slots
        )

    def nodes_taken(self, shape: Shape) -> int | None:
        """Return the whole nodes that a piece takes: 0 if it may share one, None if it cannot run.

        A run of some hours shares its node even if it takes all of the GPUs.
        """
        if shape.sites and self.site not in shape.sites:
            return None
        if shape.stays and shape.stays not in (self.home, self.held):
            return None
        if self.lender is not None and not shape.part.profile:
            return None
        if self.hire is not None and not (shape.is_run and shape.part == WHOLE):
            return None
        if shape.part != WHOLE:
            return 0 if self.gives(shape.part) and self._hosts(shape, 1) else None
        nodes, rest = divmod(shape.gpus, self.node.gpus)
        if nodes == 0 or (nodes == 1 and not rest and shape.bundles):
            return 0 if self._hosts(shape, 1) else None
        if rest or (nodes > 1 and not (self.fabric and shape.spans)):
            return None
        return nodes if self._hosts(shape, nodes) else None

    def on_node(self, shape: Shape) -> Shape:
        """Return what a piece that can run here takes of each of its nodes while it runs."""
        if shape.is_run and self.nodes_taken(shape):
            return self.node
        return shape.while_running

    def _hosts(self, shape: Shape, nodes: int) -> bool:
        """Return whether so many nodes have the cores and the memory that a piece takes."""
        return (
            shape.cpus <= nodes * self.node.cpus and shape.memory_mb <= nodes * self.node.memory_mb
        )


@dataclass(frozen=True, slots=True)
class PriceTier:
    """A price that holds for all nodes of an order of some size; an order is of one quarter."""

    fewest: int
    most: int | None
    """None: as many as the offer gives."""


SupplyKind = Literal["buy", "rent", "reserve", "hourly", "sell", "switch off"]
"""How an offer is had, or how owned nodes are released: for good, or for a quarter."""


@dataclass(frozen=True, slots=True)
class Supply:
    """An offer as the program sees it, at one site and one price level.

    Or owned nodes that are released: the same with fewer nodes, and a cost below zero.
    """

    name: str
    """The name of the offer, or of the fleet entry of released nodes."""
    kind: SupplyKind
    pool: int
    maximum: int | None
    """For all supplies of one offer together. Buy and sell: nodes over the horizon. Rent,
    reserve and switch off: nodes in any one quarter. By the hour or week: nodes at any one hour."""
    unit_cost_cents: tuple[int | None, ...]
    """Net cost of one node by the quarter it enters service; None if it cannot enter then.

    Buy: purchase less residual value plus running cost to the end of the horizon, all
    discounted. Rent: cost of that quarter, discounted. Reserve: of the quarters held within the
    horizon. By the hour or week: of what is paid as one, such as an hour of a node. Sell and
    switch off: what a node costs then beyond being kept.
    """
    term: int | None = None
    """Reserve: the quarters for which a node is held."""
    lot: PriceTier | None = None
    """If the price depends on the size of the order: nodes at all sites together, all of them at
    one level."""
    offer: int | None = None
    """The offer that it shares with other supplies; None: it is one by itself."""
    deliveries: tuple[int, ...] | None = None
    """Nodes that may enter service in each quarter, of all supplies of one offer together; None:
    any number."""
    until: int | None = None
    """Sell: the quarter in which the nodes retire anyway; None: they do not."""

    @property
    def releases(self) -> bool:
        """Return whether it takes owned nodes out of service, rather than bring nodes in."""
        return self.kind in ("sell", "switch off")

    def lasts(self) -> int | None:
        """Return the quarters that a node stays in service; None: to the end of the horizon."""
        return {"buy": None, "sell": None, "reserve": self.term}.get(self.kind, 1)

    def served(self, entry: int) -> range:
        """Return the quarters in which a node that enters serves, or a released one does not."""
        horizon, lasts = len(self.unit_cost_cents), self.lasts()
        if self.until is not None:
            horizon = min(horizon, self.until)
        return range(entry, horizon if lasts is None else min(entry + lasts, horizon))

    def entries(self, quarter: int) -> range:
        """Return the quarters of entry whose nodes are in service in this one."""
        lasts = self.lasts()
        return range(0 if lasts is None else max(0, quarter - lasts + 1), quarter + 1)


@dataclass(frozen=True, slots=True, order=True)
class Mode:
    """One way to run a unit."""

    gpu_type: str
    shape: Shape
    copies: int = 1
    """Pieces of this shape that a unit takes, each on any pool of the GPU type."""
    way: str = ""
    """The way of the job's candidate that this is."""
    by_quarter: tuple[int, ...] = ()
    """Pieces in each quarter, at least one while the unit is active, if they differ, as with
    traffic; `copies` is then the most."""
    share: Fraction = Fraction(1)
    """What each of its GPUs counts against a quota: less than one if it takes a part of it."""

    def copies_in(self, quarter: int) -> int:
        """Return the pieces that a unit takes in a quarter."""
        return self.by_quarter[quarter] if self.by_quarter else self.copies

    @property
    def copies_short(self) -> int:
        """Return the pieces that do not run if a unit is short: all its runs, or one replica."""
        return self.copies if self.shape.is_run else 1


@dataclass(frozen=True, slots=True)
class JobClass:
    """Units that are alike."""

    modes: tuple[Mode, ...]
    quarters: tuple[int, ...]
    """The quarters, from 0, in which each unit is active."""
    count: int
    owner: str = ""
    """The owner of the units, if it has a quota."""
    origin: str = ""
    """`Pool.home` in which each unit runs before the first quarter; empty: in none."""
    move_cents: int = 0
    """What it costs if a unit is in another pool in the first quarter."""
    stage: bool = False
    """Whether these are one quarter of units that may take another mode in each. Among stages
    with the same modes and owner, the units of the next quarter are those of this one that go
    on."""
    nowhere: int | None = None
    """The pool that is nowhere: each of its nodes is one unit that is short in a quarter, and
    that keeps its mode in all others; None: all units run in all of their quarters."""

    endpoint: str = ""
    """The endpoint whose traffic these units share: together they take all of it; empty: none."""
    takes: tuple[int, ...] = ()
    """For each mode, what a unit takes of that traffic in millionths, rounded up, at most all."""
    at_most: bool = False
    """Whether `count` is a maximum, and as many run as take that traffic; else all do."""

    def may_change_in(self, quarter: int) -> bool:
        """Return whether each unit may take another mode in a quarter, whatever others do."""
        alone = not self.endpoint and all(mode.copies == 1 for mode in self.modes)
        return alone and self.quarters == (quarter,) and self.nowhere is None

    def open_to(self, position: int) -> tuple[tuple[int, Mode], ...]:
        """Return modes, with their positions, to which one piece with this mode may change.

        Only its own if a mode takes several pieces, or a share of traffic: they change
        together or not at all.
        """
        every = tuple(enumerate(self.modes))
        alone = not self.endpoint and all(mode.copies == 1 for mode in self.modes)
        return every if alone else (every[position],)


@dataclass(frozen=True, slots=True)
class Quota:
    """The most GPUs that the units of one owner may hold together at any hour."""

    name: str
    """In the user's words, such as `quota of customer-care`."""
    owner: str
    gpu_type: str | None
    """None: of all types together."""
    at_most: tuple[int | None, ...]
    """By quarter; None: no quota. A quota of a scenario has one figure wherever it holds."""

    @property
    def figure(self) -> int:
        """Return the figure wherever it holds: the largest, if there are several."""
        return max((most for most in self.at_most if most is not None), default=0)

    def taken(self, mode: Mode, quarter: int | None = None) -> Fraction:
        """Return the GPUs that a unit with this mode counts if all of its pieces run at once.

        In the quarter given; without one, in that in which it takes most.
        """
        return self.taken_by_piece(mode) * (
            mode.copies if quarter is None else mode.copies_in(quarter)
        )

    def taken_by_piece(self, mode: Mode) -> Fraction:
        """Return the GPUs that each piece of a unit with this mode counts."""
        of_all = self.gpu_type is None and not mode.gpu_type.startswith(NOWHERE)
        counts = of_all or self.gpu_type == mode.gpu_type
        return mode.shape.gpus * mode.share if counts else Fraction(0)


@dataclass(frozen=True, slots=True)
class Problem:
    """A whole portfolio over the horizon."""

    quarters: int
    pools: tuple[Pool, ...]
    supplies: tuple[Supply, ...]
    classes: tuple[JobClass, ...]
    fixed_cost_cents: int
    """The running cost of the owned fleet, which no decision changes."""
    limits: tuple[Limit, ...] = ()
    """Limits on nodes in service."""
    racks: tuple[RackSpace, ...] = ()
    """At most one for each site."""
    reserves: tuple[Reserve, ...] = ()
    """At most one for each GPU type."""
    budgets: tuple[SpendLimit, ...] = ()
    quotas: tuple[Quota, ...] = ()
    spare_groups: tuple[SharedSpares, ...] = ()
    """A pool is in one of them at most."""

    @property
    def prices(self) -> tuple[tuple[tuple[int | None, ...], ...], tuple[int, ...]]:
        """Return the cents of a node, by supply and quarter of entry, and of moves by job class."""
        nodes = tuple(supply.unit_cost_cents for supply in self.supplies)
        return nodes, tuple(job_class.move_cents for job_class in self.classes)

    @property
    def least_cents(self) -> int:
        """Return a lower bound on any plan's cost: less than 0 only by what releases may bring."""
        let_go = sum(
            min(0, cents or 0) * (supply.maximum or 0)
            for supply in self.supplies
            if supply.releases
            for cents in supply.unit_cost_cents
        )
        return min(0, self.fixed_cost_cents + let_go)

    def costs_at_most(self, cents: int) -> SpendLimit:
        """Return the limit that the net present cost is no more than this."""
        nodes, moves = self.prices
        fixed = self.fixed_cost_cents
        each = tuple(tuple(cost or 0 for cost in costs) for costs in nodes)
        return SpendLimit("net present cost", cents - fixed, each, fixed, moves)

    def repriced(self, cents: Callable[[int, int], int]) -> Problem:
        """Return the problem with these prices by supply and quarter of entry, if nodes can enter.

        No move and no change of GPU type costs anything.
        """
        supplies = tuple(
            replace(
                supply,
                unit_cost_cents=tuple(
                    None if before is None else cents(number, quarter)
                    for quarter, before in enumerate(supply.unit_cost_cents)
                ),
            )
            for number, supply in enumerate(self.supplies)
        )
        classes = tuple(replace(job_class, move_cents=0) for job_class in self.classes)
        return replace(self, supplies=supplies, classes=classes)

    def sharing(self, group: SharedSpares) -> frozenset[int]:
        """Return a group's pools, with the parts of them that are held or lent."""
        mine = {self.pools[pool].home for pool in group.pools}
        return frozenset(number for number, pool in enumerate(self.pools) if pool.home in mine)

    def can_have(self, gpu_type: str, quarter: int) -> bool:
        """Return whether any node with such GPUs is owned in a quarter, or may be acquired."""
        mine = [at for at, pool in enumerate(self.pools) if pool.gpu_type == gpu_type]
        return any(self.pools[at].owned_in(quarter) for at in mine) or any(
            supply.unit_cost_cents[entry] is not None
            for supply in self.supplies
            if supply.pool in mine and not supply.releases
            for entry in supply.entries(quarter)
        )

    def open_to(self, job_class: int, position: int) -> tuple[tuple[int, Mode], ...]:
        """Return modes to which one piece may change without taking more of any quota."""
        asked = self.classes[job_class]
        mine = [quota for quota in self.quotas if quota.owner == asked.owner]
        now = asked.modes[position]
        return tuple(
            (other, mode)
            for other, mode in asked.open_to(position)
            if all(quota.taken(mode) <= quota.taken(now) for quota in mine)
        )
