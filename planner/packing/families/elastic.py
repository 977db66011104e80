"""The counting program on nodes that are held, in which units may be short.

It always has a solution. Nodes that one piece takes together, its bundles, are counted apart: a
fraction of such a piece would take a part of each of its nodes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from planner.packing.families.nodecuts import Bundle
from planner.packing.solvers.program import Program, Row, Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.packing.counting.counts import Counts, Terms
    from planner.packing.problem import Choice, Pool

__all__ = ["Elastic", "uncapped"]

_SHORT = 1e5
"""Cost of a GPU that is short, before all others."""
_ROOM, _MOST_ROOM = 100.0, 0.08
"""Worth of all room in the fullest pool, and the share of it that is of use."""
_SHARE = 0.01
"""Cost of the cores and the memory of a node that are in use: the less, the more room elsewhere."""


class Elastic:
    """The program, and what its rows and columns mean."""

    def __init__(self, counts: Counts, free: Sequence[Variable]) -> None:
        """`free` are the variables of the counting program, which come first."""
        problem = counts.problem
        self._acquired = frozenset(counts.acquire.values())
        self.kept = [
            number for number, row in enumerate(counts.program.rows) if not self.of_nodes(row)
        ]
        """Rows of the counting program that count units; they come first."""
        self.row = {number: at for at, number in enumerate(self.kept)}
        """Where they stand."""
        self.supplied = [
            [
                index
                for (supply, _), index in counts.acquire.items()
                if problem.supplies[supply].pool == pool
            ]
            for pool in range(len(problem.pools))
        ]
        """By pool: columns of nodes acquired."""
        self.demand = {index: number for (number, _), index in counts.choice.items()}
        self.ways: list[list[int]] = [[] for _ in problem.demands]
        """By demand: its choices, but for those that another beats."""
        for index, number in self.demand.items():
            if free[index].upper is None:
                self.ways[number].append(index)
        taken = _taken(counts)
        self._variables = [
            replace(one, cost=_SHARE * taken[index], upper=0.0 if one.upper == 0 else None)
            for index, one in enumerate(free)
        ]
        self._rows = [(row, dict(row.terms)) for row in (counts.program.rows[n] for n in self.kept)]
        self.room = self._column("room", -_ROOM, _MOST_ROOM)
        for number in counts.room_rows:
            self._rows[self.row[number]][1][self.room] = 1.0
        self.demand_rows = [self.row[number] for number in counts.demand_rows]
        self.shorts = []
        """By demand: the column of units that are short."""
        for number, demand in zip(self.demand_rows, problem.demands, strict=True):
            gpus = min((one.shape.gpus * one.copies for one in demand.choices), default=1)
            self.shorts.append(self._column("short", _SHORT * gpus))
            self._rows[number][1][self.shorts[-1]] = 1.0
        self.bundles: list[Bundle] = []
        self.bundle_columns: list[int] = []
        for pool, quarter in counts.usages:
            self._bundle(counts, pool, quarter)
        self.program = Program(
            self._variables,
            [replace(row, terms=tuple(sorted(terms.items()))) for row, terms in self._rows],
        )

    def of_nodes(self, row: Row) -> bool:
        """Whether a row counts nothing but nodes acquired."""
        return all(index in self._acquired for index, _ in row.terms)

    def _column(self, name: str, cost: float = 0.0, upper: float | None = None) -> int:
        self._variables.append(Variable(name, 0.0, upper, cost, integer=False))
        return len(self._variables) - 1

    def _bundle(self, counts: Counts, pool: int, quarter: int) -> None:
        """Rows `bundles`: so many of a size are used or idle, and take their nodes."""
        loads: dict[int, Terms] = defaultdict(lambda: defaultdict(float))
        for usage in counts.usages[pool, quarter]:
            for index, factor in usage.terms:
                if usage.span > 1 and self._variables[index].upper is None:
                    loads[usage.span][index] += factor
        nodes = set(self.supplied[pool])
        for size, load in sorted(loads.items()):
            idle, column = self._column("idle"), self._column("bundles")
            self.bundles.append(Bundle(pool, size))
            self.bundle_columns.append(column)
            for _, terms in self._rows:
                if nodes <= terms.keys() and all(
                    terms.get(index) == size * factor for index, factor in load.items()
                ):
                    terms[idle] = float(size)
            self._rows.append((Row("bundles", (), "==", 0.0), {**load, idle: 1.0, column: -1.0}))


def _taken(counts: Counts) -> Terms:
    """Shares of a node's cores and memory that a unit takes, by variable."""
    taken: Terms = defaultdict(float)
    for (pool, _), usages in counts.usages.items():
        node = counts.problem.pools[pool].node
        for usage in usages:
            shape = usage.shape
            share = shape.cpus / max(node.cpus, 1) + shape.memory_mb / max(node.memory_mb, 1)
            for index, factor in usage.terms:
                taken[index] += factor * share
    return taken


def uncapped(counts: Counts) -> list[Variable]:
    """The variables, without caps on units that rows imply; what another choice beats is none."""
    beaten = {
        counts.choice[number, position]
        for number, demand in enumerate(counts.problem.demands)
        for position, choice in enumerate(demand.choices)
        if (number, position) in counts.choice
        and any(
            (number, other) in counts.choice
            and _beats(counts.problem.pools, one, choice, first=other < position)
            for other, one in enumerate(demand.choices)
            if other != position
        )
    }
    units = counts.unit_variables
    return [
        replace(variable, upper=0.0 if index in beaten else None) if index in units else variable
        for index, variable in enumerate(counts.program.variables)
    ]


def _beats(pools: Sequence[Pool], one: Choice, other: Choice, *, first: bool) -> bool:
    """Whether a choice takes no more of anything than another, and could always stand in for it."""
    ours, theirs = one.shape, other.shape
    sizes = (
        (one.copies, other.copies),
        (ours.gpus, theirs.gpus),
        (ours.cpus, theirs.cpus),
        (ours.memory_mb, theirs.memory_mb),
    )
    alike = theirs._replace(gpus=ours.gpus, cpus=ours.cpus, memory_mb=ours.memory_mb)
    if one.gpu_type != other.gpu_type or ours != alike:
        return False
    if not all(mine <= yours for mine, yours in sizes):
        return False
    stands_in = all(
        pool.nodes_taken(ours) is not None
        for pool in pools
        if pool.gpu_type == one.gpu_type and pool.nodes_taken(theirs) is not None
    )
    return stands_in and (first or any(mine < yours for mine, yours in sizes))
