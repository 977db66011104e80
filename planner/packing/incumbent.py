"""What a search ends with: the best packing and bound so far, or the proof that none exists."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.packing.constraints import holds
from planner.packing.constraints.moves import with_stays
from planner.packing.formulation.runs import Rentals, Schedule, schedule_runs
from planner.packing.master import CENTS_PER_UNIT, MasterProgram, PoolInQuarter
from planner.packing.node_packing.cutting import CuttingStock
from planner.packing.node_packing.greedy import Packed, evenly
from planner.packing.problem import Shape


class Infeasible(Exception):  # noqa: N818 - an outcome, not a failure
    """Proved: the master program has no solution, so the packing has none either."""

    def __init__(self, master: MasterProgram, relaxed: frozenset[int] | None = None) -> None:
        super().__init__()
        self.master = master
        """The program without a solution, with every cut that was found."""
        self.relaxed = frozenset(range(len(master.program.variables)))
        """Variables that may even be fractional in the proof; all unless stated."""
        if relaxed is not None:
            self.relaxed = relaxed


@dataclass(slots=True)
class Incumbent:
    """The best packing so far, and the best bound."""

    master: MasterProgram
    values: tuple[float, ...] = ()
    """Whole numbers, by variable; empty until a packing is found."""
    cost_cents: int | None = None
    bound_cents: int = 0
    packings: dict[PoolInQuarter, Packed] = field(default_factory=dict)
    """By (pool, quarter), without units that span nodes and without runs."""
    schedule: Schedule = field(default_factory=dict)
    """The runs of that plan."""
    rentals: Rentals = field(default_factory=dict)
    """Nodes that exist for a part of a quarter, with their runs."""
    short: list[PoolInQuarter] = field(default_factory=list)
    """Pools, by quarter, whose runs found no room, or no cheap one, in the last plan that was
    offered."""
    shapes: dict[int, tuple[Shape, ...]] = field(default_factory=dict)
    """For each pool, what the patterns' indices mean."""
    stocks: dict[int, CuttingStock] = field(default_factory=dict)
    """For each pool, where the patterns come from."""
    rounds: int = 0
    cuts: int = 0
    relaxed: frozenset[int] = frozenset()
    """Variables that were fractional when the bound was computed."""

    def __post_init__(self) -> None:
        """Start with a bound below all costs."""
        self.bound_cents = self.master.problem.least_cents

    def raise_bound(self, bound: float, relaxed: frozenset[int]) -> None:
        """Keep a bound of the objective, computed with these variables fractional."""
        if bound > float("-inf"):
            cents = self.cents(bound)
            if cents > self.bound_cents:
                self.bound_cents, self.relaxed = cents, relaxed

    def cents(self, objective: float) -> int:
        """Return what a value of the objective costs."""
        return round(objective * CENTS_PER_UNIT) + self.master.problem.fixed_cost_cents

    def closed(self, gap: float) -> bool:
        """Return whether cost and bound are within the relative gap."""
        return self.cost_cents is not None and self.cost_cents - self.bound_cents <= gap * abs(
            self.cost_cents
        )

    def keep(self, solved: tuple[float, ...], packings: dict[PoolInQuarter, Packed]) -> bool:
        """Keep a plan if it is the cheapest so far.

        Returns False if it is not, because it breaks a limit or because more nodes may cost
        less.
        """
        master = self.master
        opened = {key: packed.opened() for key, packed in packings.items()}
        values = with_stays(master, master.with_opened(solved, opened))
        self.short = []
        if not holds(master, values, {}):
            return False
        made, self.short = schedule_runs(master, values, packings, self.shapes)
        if self.short and self.cost_cents is None:
            packings = self._evenly(values, packings)
            made, self.short = schedule_runs(master, values, packings, self.shapes)
        values = with_stays(master, made.values)
        if self.short or not (master.places_all(values) and holds(master, values, made.schedule)):
            return False
        problem = master.problem
        cost = problem.fixed_cost_cents + master.total(values, *problem.prices)
        if self.cost_cents is None or cost < self.cost_cents:
            self.values, self.cost_cents, self.packings = values, cost, packings
            self.schedule, self.rentals = made.schedule, made.rentals
        self.bound_cents = min(self.bound_cents, self.cost_cents)
        self.short = made.crowded
        return not made.crowded

    def _evenly(
        self, values: tuple[float, ...], packings: dict[PoolInQuarter, Packed]
    ) -> dict[PoolInQuarter, Packed]:
        """Spread what stays over all nodes of each pool that lacks room for runs."""
        changed = dict(packings)
        for pool, quarter in self.short:
            packed, node = packings[pool, quarter], self.master.problem.pools[pool].node
            if packed.bundles:
                continue
            nodes = round(self.master.shared_nodes(pool, quarter, values))
            even = evenly(node, self.shapes[pool], packed.patterns, nodes)
            if even is not None:
                changed[pool, quarter] = Packed(tuple(even))
        return changed
