"""What the master program counts: the meaning of its variables and rows.

`build` states the program.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.cutting import Cut
from planner.packing.problem import WHOLE, Mode, Pool, Problem, RunWindow, Shape
from planner.packing.solver import Program

CENTS_PER_UNIT = 100_000
"""The objective is stated in thousands of dollars, so that its coefficients stay near 1."""

PoolInQuarter = tuple[int, int]

Terms = dict[int, float]
"""Coefficients by variable."""


@dataclass(frozen=True, slots=True)
class Usage:
    """A sum of variables that counts pieces of one shape on one pool in one quarter.

    A run on several nodes is counted on each of them. In rows, a run counts by its share of the
    quarter: whatever holds at every hour holds on the average of all hours.
    """

    pool: int
    quarter: int
    shape: Shape
    """What a piece takes of each of its nodes while it runs."""
    terms: tuple[tuple[int, float], ...]
    span: int
    """Whole nodes that a piece takes all quarter; 0: it shares one."""
    asked: Shape
    """The shape as the modes state it."""
    times: int = 1
    """On how many nodes a piece is counted."""

    @property
    def share(self) -> float:
        """The share of the quarter for which a piece holds what it takes."""
        return self.asked.run.hours / RUN_HOURS

    def units(self, values: Mapping[int, float] | tuple[float, ...]) -> float:
        """Return the pieces in a solution, those on several nodes once for each node."""
        return sum(values[index] * factor for index, factor in self.terms)

    def pieces(self, values: Mapping[int, float] | tuple[float, ...]) -> float:
        """Return the pieces in a solution, as they are asked for."""
        return self.units(values) / self.times

    def weigh(self, load: Terms, weight: float, share: float | None = None) -> None:
        """Add its pieces, weighted by their share of the quarter, to the terms of a row.

        A `share` that is given counts instead.
        """
        weight *= self.share if share is None else share
        for index, factor in self.terms:
            load[index] += factor * weight


@dataclass
class MasterProgram:
    """The program with the meaning of its variables."""

    problem: Problem
    program: Program = field(default_factory=Program)
    mode: dict[tuple[int, int], int] = field(default_factory=dict)
    """(job class, mode) -> variable: units that take the mode."""
    short: dict[tuple[int, int, int], int] = field(default_factory=dict)
    """(job class, mode, quarter) -> variable: units that take the mode and are short then."""
    acquire: dict[tuple[int, int], int] = field(default_factory=dict)
    """(supply, quarter) -> variable: nodes bought or rented."""
    usages: dict[PoolInQuarter, list[Usage]] = field(default_factory=dict)
    """(pool, quarter) -> usages, by shape."""
    in_service: dict[PoolInQuarter, Terms] = field(default_factory=dict)
    """(pool, quarter) -> acquired nodes in service, less released owned ones; the pool's owned
    nodes are added to them."""
    usable: dict[PoolInQuarter, int] = field(default_factory=dict)
    """(pool, quarter) -> variable: nodes that may run units, if spare nodes are asked for."""
    fullest_racks: dict[tuple[int, int], int] = field(default_factory=dict)
    """(group of shared spares, quarter) -> variable: nodes of it that one rack may hold."""
    splits: set[int] = field(default_factory=set)
    """Variables that split pieces of a GPU type over its pools."""
    lent: dict[PoolInQuarter, int] = field(default_factory=dict)
    """(pool, quarter) -> variable: nodes that it lends for partitioned GPUs alone."""
    opened: dict[PoolInQuarter, Usage] = field(default_factory=dict)
    """(pool, quarter) -> opened GPUs, which are used in parts, counted like pieces of `OPENED`."""
    shared: dict[PoolInQuarter, int] = field(default_factory=dict)
    """(pool, quarter) -> variable: opened GPUs that pieces share by memory."""
    class_rows: list[int] = field(default_factory=list)
    traffic_rows: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Rows `traffic` -> the job classes whose units share it."""
    cover_rows: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Rows `cover`, which tighten these -> the same job classes."""
    elastic: dict[str, dict[int, tuple[float, float]]] = field(default_factory=dict)
    """By name of a condition: its rows, their exact right sides, and what one unit of a raise
    adds to each. There is none if a raise changes more of the program than rows."""
    split_rows: list[int] = field(default_factory=list)
    bound_rows: list[int] = field(default_factory=list)
    """Rows `no-plan`: what no plan costs less than, as its hours show."""
    moved: dict[int, int] = field(default_factory=dict)
    """job class -> variable: units that leave the pool in which they run today."""
    stays: dict[tuple[int, int], int] = field(default_factory=dict)
    """(job class, mode) -> variable: units that stay there with this mode."""

    @cached_property
    def unit_variables(self) -> frozenset[int]:
        """Variables that count units; relaxing them leaves the node counts integer."""
        opened = (index for usage in self.opened.values() for index, _ in usage.terms)
        units = frozenset(self.mode.values()) | frozenset(self.short.values())
        return units | self.splits | frozenset(opened)

    @cached_property
    def shared_unit_variables(self) -> frozenset[int]:
        """Those of them whose units take at most one node.

        A fraction of a unit that takes several whole nodes would save whole nodes, so relaxing
        it would weaken the bound.
        """
        return self.unit_variables - frozenset(
            index
            for usages in self.usages.values()
            for usage in usages
            for index, _ in usage.terms
            if max(usage.span, usage.times) > 1
        )

    def pieces_in(self, number: int, position: int, quarter: int) -> Iterator[tuple[int, int]]:
        """Return what counts the pieces of a mode of a job class that run in one of its quarters.

        Variables, each with the pieces that one of it adds.
        """
        mode = self.problem.classes[number].modes[position]
        yield self.mode[number, position], mode.copies_in(quarter)
        if (number, position, quarter) in self.short:
            yield self.short[number, position, quarter], -mode.copies_short

    def runs_in(self, quarter: int) -> Iterator[Usage]:
        """Return where runs of a quarter are counted, pool after pool."""
        for (_, now), usages in self.usages.items():
            yield from (usage for usage in usages if now == quarter and usage.asked.is_run)

    def on_nodes(self, pool: int, quarter: int) -> list[Usage]:
        """Return what is laid out on a pool's nodes: pieces, and opened GPUs for their parts."""
        whole = [usage for usage in self.usages[pool, quarter] if usage.shape.part == WHOLE]
        opened = self.opened.get((pool, quarter))
        return [*whole, opened] if opened else whole

    def gpus_of_runs(self, usages: Iterable[Usage]) -> Iterator[tuple[RunWindow, int]]:
        """Yield runs with the GPUs that all that are like them hold, wherever they are.

        If a unit can run in several ways on a GPU type, the one with the fewest GPU-hours
        counts.
        """
        for usage in usages:
            if usage.asked.is_run:
                yield usage.asked.run, usage.asked.gpus * self._least_pieces[usage.asked]

    @cached_property
    def _least_pieces(self) -> Counter[Shape]:
        """Return, by shape, the pieces of units that take the fewest GPU-hours in this way."""
        found: Counter[Shape] = Counter()
        for job_class in self.problem.classes:
            least: dict[str, Mode] = {}
            for mode in sorted(job_class.modes, key=_gpu_hours):
                least.setdefault(mode.gpu_type, mode)
            for mode in least.values():
                found[mode.shape] += job_class.count * mode.copies
        return found

    @cached_property
    def most_pieces(self) -> Counter[Shape]:
        """Return, by shape, the pieces if every unit takes the mode that can."""
        found: Counter[Shape] = Counter()
        for job_class in self.problem.classes:
            for mode in job_class.modes:
                found[mode.shape] += job_class.count * mode.copies
        return found

    def relaxable(self, name: str, row: int, right: float, one: float) -> None:
        """Record that raising the condition of this name widens a row."""
        self.elastic.setdefault(name, {})[row] = (right, one)

    @staticmethod
    def cost(cents: int) -> float:
        """Convert money into the unit of the objective."""
        return cents / CENTS_PER_UNIT

    def total(
        self,
        values: Sequence[float],
        nodes: Sequence[Sequence[int | None]],
        moves: Sequence[int] = (),
    ) -> int:
        """Return the total of something over a plan in whole numbers.

        `nodes` says what one node adds, by supply and quarter of entry, and `moves` what one
        unit adds that leaves its pool, by job class.
        """
        entering = sum(
            round(values[index]) * (nodes[supply][quarter] or 0)
            for (supply, quarter), index in self.acquire.items()
        )
        moved = self.moved if moves else {}
        return entering + sum(round(values[i]) * moves[job_class] for job_class, i in moved.items())

    def acquired(self, values: Sequence[float]) -> tuple[tuple[int, ...], ...]:
        """Nodes of a plan in whole numbers, by supply and quarter of entry."""
        found = [[0] * self.problem.quarters for _ in self.problem.supplies]
        for (supply, quarter), index in self.acquire.items():
            found[supply][quarter] = round(values[index])
        return tuple(map(tuple, found))

    def usable_nodes(self, pool: int, quarter: int) -> tuple[Terms, int]:
        """Return the nodes that may run units: variables with their factors, and a constant."""
        lent: Terms = {}
        if (pool, quarter) in self.lent:
            lent = {self.lent[pool, quarter]: -1.0}
        if (pool, quarter) in self.usable:
            return {self.usable[pool, quarter]: 1.0, **lent}, 0
        owned = self.problem.pools[pool].owned_in(quarter)
        return {**self.in_service[pool, quarter], **lent}, owned

    def nodes(self, pool: int, quarter: int, values: tuple[float, ...]) -> float:
        """Return the nodes that may run units in a solution."""
        terms, owned = self.usable_nodes(pool, quarter)
        return owned + sum(values[index] * factor for index, factor in terms.items())

    def standing(self, pool: int, quarter: int, *, on: bool = False) -> Terms:
        """Nodes acquired that stand there: those in service, and unless `on`, switched off."""
        acquired = self.in_service[pool, quarter]
        return {index: share for index, share in acquired.items() if on or index not in self._off}

    def stand(self, pool: int, quarter: int, values: Sequence[float], *, on: bool = False) -> float:
        """Return all nodes that stand there in a solution, owned and spare ones included."""
        terms = self.standing(pool, quarter, on=on)
        owned = self.problem.pools[pool].owned_in(quarter)
        return owned + sum(values[index] * factor for index, factor in terms.items())

    @cached_property
    def _off(self) -> frozenset[int]:
        """Return the variables that count nodes that are switched off."""
        kinds = (supply.kind for supply in self.problem.supplies)
        off = {number for number, kind in enumerate(kinds) if kind == "switch off"}
        return frozenset(index for (number, _), index in self.acquire.items() if number in off)

    def shared_nodes(self, pool: int, quarter: int, values: tuple[float, ...]) -> float:
        """Return the nodes left in a solution for units that may share one."""
        usages = self.usages[pool, quarter]
        taken = (usage.span * usage.units(values) for usage in usages if usage.span)
        return self.nodes(pool, quarter, values) - sum(taken)

    def parts(self, pool: int, quarter: int, values: tuple[float, ...]) -> dict[Shape, int]:
        """Return the pieces that take parts of GPUs in a solution, by shape."""
        return {
            usage.shape: number
            for usage in self.usages[pool, quarter]
            if usage.shape.part != WHOLE and (number := round(usage.units(values)))
        }

    def with_opened(
        self, values: tuple[float, ...], opened: Mapping[PoolInQuarter, int]
    ) -> tuple[float, ...]:
        """Return a solution in which so many GPUs are opened, as they were laid out."""
        changed = list(values)
        for key, usage in self.opened.items():
            for number, (index, _) in enumerate(usage.terms):
                changed[index] = 0.0 if number else float(opened[key])
        return tuple(changed)

    def capacity_row(
        self, name: str, pool: int, quarter: int, load: Terms, *, tightens: bool = False
    ) -> int:
        """Return the row `load <= usable nodes` of a pool in a quarter."""
        terms: Terms = defaultdict(float, load)
        usable, right = self.usable_nodes(pool, quarter)
        for index, factor in usable.items():
            terms[index] -= factor
        return self.program.row(f"{name}[{pool},{quarter}]", terms, "<=", right, tightens=tightens)

    def add_cut(self, pool: Pool, cut: Cut) -> None:
        """State a cut for every pool of the same kind of node, in every quarter."""
        weight = dict(zip(cut.shapes, cut.weights, strict=True))
        for number, quarter in self.usages:
            other = self.problem.pools[number]
            if (other.gpu_type, other.node) == (pool.gpu_type, pool.node):
                load: Terms = defaultdict(float)
                for usage in self.on_nodes(number, quarter):
                    usage.weigh(load, usage.span or weight.get(usage.shape, 0.0))
                if any(load.values()):
                    self.capacity_row("cutting", number, quarter, load, tightens=True)

    def add_bound(self, cents: int | None) -> None:
        """State that no plan costs less, or that there is none: what no sum of hours shows."""
        objective = {at: one.cost for at, one in enumerate(self.program.variables) if one.cost}
        right = self.cost((cents or 0) - self.problem.fixed_cost_cents)
        if cents is None:
            objective, right = {}, 1.0
        self.bound_rows.append(self.program.row("no-plan", objective, ">=", right, tightens=True))


def _gpu_hours(mode: Mode) -> int:
    return mode.shape.gpus * mode.shape.run.hours * mode.copies
