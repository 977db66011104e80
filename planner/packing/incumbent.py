"""What a search ends with: the best packing and bound so far, or the proof that there is none.

Its first plan has units as a solution counts them, rounded, by first-fit, and nodes for what that
takes. It may be dear, but nearly always exists, and is there before anything that may take long.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor

from planner.packing.build import with_at_least
from planner.packing.constraints import holds
from planner.packing.constraints.moves import with_stays
from planner.packing.constraints.quotas import whole_units
from planner.packing.cutting import (
    CuttingStock,
    Packed,
    evenly,
    fullest_first_fit,
    nodes_in,
)
from planner.packing.master import CENTS_PER_UNIT, MasterProgram, PoolInQuarter
from planner.packing.problem import WHOLE, Shape
from planner.packing.runs import Rentals, Schedule, Scheduled, schedule_runs
from planner.packing.shared_gpus import first_fit_with_parts
from planner.packing.solver import solve_integer


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
    stocks: dict[int, CuttingStock] = field(default_factory=dict)
    """By pool: where the patterns come from, and what their indices mean."""
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
        made, self.short = schedule_runs(master, values, packings, self.stocks)
        even = (
            self._evenly(values, packings) if self.short and self.cost_cents is None else packings
        )
        if even != packings:
            packings = even
            made, self.short = schedule_runs(master, values, packings, self.stocks)
        if self.short or not self.keep_scheduled(packings, made):
            return False
        self.short = made.crowded
        return not made.crowded

    def keep_scheduled(self, packings: dict[PoolInQuarter, Packed], made: Scheduled) -> bool:
        """Keep a plan whose runs have their places, if it is the cheapest so far.

        Returns False if it breaks a limit.
        """
        master = self.master
        values = with_stays(master, made.values)
        splits = (master.program.rows[number] for number in master.split_rows)
        if any(sum(round(values[i]) * factor for i, factor in row.terms) for row in splits):
            return False
        if not holds(master, values, made.schedule):
            return False
        problem = master.problem
        cost = problem.fixed_cost_cents + master.total(values, *problem.prices)
        if self.cost_cents is None or cost < self.cost_cents:
            self.values, self.cost_cents, self.packings = values, cost, packings
            self.schedule, self.rentals = made.schedule, made.rentals
        self.bound_cents = min(self.bound_cents, self.cost_cents)
        return True

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
            even = evenly(node, self.stocks[pool].shapes, packed.patterns, nodes)
            if even is not None:
                changed[pool, quarter] = Packed(tuple(even))
        return changed


_GAP, _NODES = 0.01, 200
"""How precisely the nodes are counted: to 1 %, or this many nodes of the solver's tree."""
_ROOM = 1.1
"""The GPU-hours that nodes for runs offer, as a multiple of what these take."""


def begin(found: Incumbent, values: Sequence[float], time_limit_s: float) -> bool:
    """Keep a plan near a fractional solution; return False if first-fit takes too much for one."""
    master = found.master
    held = whole_near(master, values)
    packings: dict[PoolInQuarter, Packed] = {}
    nodes: dict[PoolInQuarter, int] = {}
    for key, usages in master.usages.items():
        if master.problem.pools[key[0]].hire:  # the runs decide what is paid
            packings[key] = Packed(())
            continue
        pieces: Counter[Shape] = Counter()
        spanning, gpu_hours, nodes_at_once = 0, 0.0, 0
        for usage in usages:
            number = round(sum(held[index] * factor for index, factor in usage.terms))
            if usage.asked.is_run:
                gpu_hours += number * usage.shape.gpus * usage.share
                nodes_at_once = max(nodes_at_once, usage.times * (number > 0))
                continue
            pieces[usage.shape] += number if not usage.span else 0
            spanning += number * usage.span
        for_runs = ceil(gpu_hours * _ROOM / master.problem.pools[key[0]].node.gpus)
        spanning += max(for_runs, nodes_at_once)
        packings[key] = _packed(master, found.stocks[key[0]], key, pieces)
        nodes[key] = nodes_in(packings[key].patterns) + spanning
    opened = {key: packings[key].opened() for key in master.opened}
    program = with_at_least(master, nodes, opened=opened)
    answer = solve_integer(
        program.fixed(held),
        time_limit_s=time_limit_s,
        relative_gap=_GAP,
        node_limit=_NODES,
    )
    if not answer.values:
        return False
    return found.keep(tuple(float(round(value)) for value in answer.values), packings)


def whole_near(master: MasterProgram, values: Sequence[float]) -> dict[int, float]:
    """Round the variables that count units and where their pieces are to whole numbers."""
    held = dict.fromkeys(master.mode.values(), 0.0)
    pieces: Counter[tuple[str, int, Shape]] = Counter()
    for number, position in whole_units(master, values):
        held[master.mode[number, position]] += 1.0
    for (number, position, quarter), index in master.short.items():
        mode = master.problem.classes[number].modes[position]
        there = held[master.mode[number, position]] * mode.copies_in(quarter)
        held[index] = float(min(round(values[index]), there // mode.copies_short))
    for number, position in master.mode:
        job_class = master.problem.classes[number]
        mode = job_class.modes[position]
        for quarter in job_class.quarters:
            pieces[mode.gpu_type, quarter, mode.shape] += round(
                sum(held[index] * n for index, n in master.pieces_in(number, position, quarter))
            )
    splits: dict[tuple[str, int, Shape], list[int]] = defaultdict(list)
    for (pool, quarter), usages in master.usages.items():
        gpu_type = master.problem.pools[pool].gpu_type
        for usage in usages:
            index = usage.terms[0][0]
            if index in master.splits:
                splits[gpu_type, quarter, usage.asked].append(index)
    for kind, indices in splits.items():
        held |= _shared_out(pieces[kind], {index: values[index] for index in indices})
    return held


def _shared_out(pieces: int, wanted: Mapping[int, float]) -> dict[int, float]:
    """Split pieces into whole numbers in the proportion wanted; largest remainders are rounded up.

    All are on the first if none is wanted anywhere.
    """
    if not sum(wanted.values()):
        wanted = dict.fromkeys(wanted, 0.0) | {min(wanted): 1.0}
    scale = pieces / sum(wanted.values())
    exact = {index: value * scale for index, value in wanted.items()}
    whole = {index: floor(value) for index, value in exact.items()}
    order = sorted(exact, key=lambda index: (whole[index] - exact[index], index))
    for index in order[: pieces - sum(whole.values())]:
        whole[index] += 1
    return {index: float(number) for index, number in whole.items()}


def _packed(
    master: MasterProgram, stock: CuttingStock, key: PoolInQuarter, pieces: Mapping[Shape, int]
) -> Packed:
    """Pack these pieces by first-fit."""
    pool = master.problem.pools[key[0]]
    asked = [pieces.get(shape, 0) for shape in stock.shapes]
    parts = {shape: number for shape, number in pieces.items() if number and shape.part != WHOLE}
    if parts:
        return first_fit_with_parts(pool, (stock.shapes, asked), parts)
    return Packed(tuple(fullest_first_fit(pool.node, stock.shapes, asked)))
