"""Problems of one quarter that ask for other numbers of the same units, or at other prices.

Their counting program is stated once. A variant changes right-hand sides and costs: the warm linear
relaxation, branched on node counts, bounds it; rounded and seated with ejection chains, it is a
plan. What is not proved this way within the asked gap is left to the search.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import LimitError
from planner.packing.counts import CENTS_PER_UNIT
from planner.packing.cutting import Packed
from planner.packing.found import Found, Infeasible
from planner.packing.greedy import first_fit_within
from planner.packing.program import Program, Variable
from planner.packing.reseat import reseatable, seat_by_counts, seat_the_rest
from planner.packing.search import rooted
from planner.packing.solver import WarmLinear

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from planner.packing.counts import Counts
    from planner.packing.problem import Problem
    from planner.packing.repair import Unit

__all__ = ["Family", "family_of"]

_MOST_BRANCHES = 200
"""Linear programs that bound one variant; a search with cuts gets further with more."""
_MOST_DIVES = 12
"""Fractional units that are made whole one after the other."""
_BOUND_SHARE = 0.99
"""What the bound may take of the asked gap; the rest is for rounding."""
_MOST_ROOM = 0.08
_ROOM_COST = 1e4
"""Room in the fullest pool counts before all room together."""
_WHOLE = 1e-6


def family_of(problem: Problem, time_limit_s: float) -> Family | None:
    """The problems like this one; None where they are of a kind that only the search can plan.

    With spare nodes and price levels, counts are in the program's factors, too.
    """
    of_counts = any(pool.spare for pool in problem.pools) or any(s.lot for s in problem.supplies)
    origins = any(demand.origin for demand in problem.demands)
    if problem.quarters > 1 or of_counts or origins or problem.racks:
        return None
    try:
        root = rooted(problem, time_limit_s)
        counts = root.counts
        if not reseatable(counts) or counts.opened or counts.splits or counts.lent:
            return None
        return Family(root)
    except (Infeasible, LimitError):
        return None


@dataclass(frozen=True, slots=True)
class _Branch:
    """A part of what a variant may be."""

    bound: float
    values: list[float]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


class Family:
    """The counting program of problems that are alike but for counts and prices."""

    def __init__(self, root: Found) -> None:
        """`root` is one of them with the cuts of its root; all that is found stays as it is."""
        self._root = root
        self._counts = root.counts
        self._frame = _frame(root.counts.problem)
        program = root.counts.program
        free = _uncapped(root.counts)
        whole = [
            index
            for index, variable in enumerate(free)
            if variable.integer and index not in root.counts.shared_unit_variables
        ]
        self._whole = np.array(whole, dtype=np.int32)
        """Node counts, and units that take several nodes each."""
        self._lower = np.zeros(len(whole))
        self._rows = np.array(root.counts.demand_rows, dtype=np.int32)
        self._ways: list[dict[int, int]] = [{} for _ in root.counts.problem.demands]
        """By demand: variables of its choices."""
        for (number, position), index in root.counts.choice.items():
            self._ways[number][position] = index
        self._held = {
            (pool, quarter): [
                (root.shapes[pool].index(usage.shape), usage) for usage in usages if not usage.span
            ]
            for (pool, quarter), usages in root.counts.usages.items()
        }
        """By pool: what shares its nodes, by the positions that patterns have for it."""
        self._upper = np.array([_most(free[index]) for index in whole])
        self._bounding = WarmLinear(Program(free, program.rows))
        self._free, self._room = free, len(free)
        self._spreading = WarmLinear(self._with_room(free))

    def _with_room(self, free: list[Variable]) -> Program:
        """The program, for node counts that are held, that leaves room: in the fullest pool most.

        As `with_room` says it; the nodes, its factors, are those of a variant.
        """
        counts = self._counts
        taken = dict.fromkeys(range(len(free)), 0.0)
        for (pool, _), usages in counts.usages.items():
            node = counts.problem.pools[pool].node
            for usage in usages:
                shape = usage.shape
                share = shape.cpus / max(node.cpus, 1) + shape.memory_mb / max(node.memory_mb, 1)
                for index, factor in usage.terms:
                    taken[index] += factor * share
        variables = [replace(one, cost=taken[index]) for index, one in enumerate(free)]
        variables.append(Variable("room", 0.0, _MOST_ROOM, -_ROOM_COST, integer=False))
        rows = [
            replace(row, terms=(*row.terms, (self._room, 1.0)))
            if number in counts.room_rows
            else row
            for number, row in enumerate(counts.program.rows)
        ]
        return Program(variables, rows)

    def found(self, problem: Problem, asked_gap: float) -> Found | None:
        """A packing that is proved within the gap; None where it takes the search to find one.

        Depends on the problem and on the first one of the family, and on nothing found in between.
        """
        if _frame(problem) != self._frame:
            return None
        try:
            return self._found(problem, asked_gap)
        except LimitError:
            return None

    def _found(self, problem: Problem, asked_gap: float) -> Found | None:
        self._bounding.begin()
        self._bounding.price(_costs(self._counts, problem))
        self._bounding.ask(self._rows, [demand.count for demand in problem.demands])
        bounded = self._bounded(asked_gap * _BOUND_SHARE)
        if bounded is None:
            return None
        bound, nodes = bounded
        counts = self._variant(problem)
        units = self._units(counts, nodes)
        if units is None:
            return None
        done = self._laid_out(counts, *units)
        if done is None:
            return None
        found = Found(counts, shapes=self._root.shapes, stocks=self._root.stocks)
        found.rounds, found.cuts = 1, self._root.cuts
        found.relaxed = self._counts.shared_unit_variables
        # A solver's objective is true to nine digits or so; a bound may not be a cent too high.
        cents = floor(bound * CENTS_PER_UNIT * (1 - 1e-9)) + problem.fixed_cost_cents
        found.bound_cents = cents
        return found if found.keep(*done) and found.closed(asked_gap) else None

    def _bounded(self, gap: float) -> tuple[float, list[float]] | None:
        """A bound, and a solution with whole nodes within the gap of it; by best first."""
        first = self._branch(self._lower, self._upper)
        queue = [(first.bound, 0, first)] if first else []
        best: tuple[float, list[float]] | None = None
        solved = 1
        while queue:
            bound, _, branch = heapq.heappop(queue)
            if best is not None and best[0] - bound <= gap * abs(best[0]):
                return bound, best[1]
            place = self._most_fractional(branch.values)
            if place is None:
                return bound, branch.values
            if solved >= _MOST_BRANCHES:
                return None
            for part in self._parted(branch, place):
                solved += 1
                if self._most_fractional(part.values) is None and (
                    best is None or part.bound < best[0]
                ):
                    best = (part.bound, part.values)
                heapq.heappush(queue, (part.bound, solved, part))
        return None

    def _parted(self, branch: _Branch, place: int) -> Iterator[_Branch]:
        """Above and below a fractional value."""
        value = branch.values[self._whole[place]]
        lower, upper = branch.lower.copy(), branch.upper.copy()
        lower[place], upper[place] = ceil(value), floor(value)
        for part in (self._branch(lower, branch.upper), self._branch(branch.lower, upper)):
            if part is not None:
                yield part

    def _branch(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> _Branch | None:
        self._bounding.hold(self._whole, lower, upper)
        solved = self._bounding.solve()
        return solved and _Branch(*solved, lower, upper)

    def _most_fractional(self, values: list[float]) -> int | None:
        """Of what must be whole, by its place; None where all of it is."""
        part = [abs(values[index] - round(values[index])) for index in self._whole]
        place = max(range(len(part)), key=part.__getitem__, default=None)
        return place if place is not None and part[place] > _WHOLE else None

    def _variant(self, problem: Problem) -> Counts:
        """The counting program of this problem, but for caps that rows imply."""
        variables, rows = list(self._free), list(self._counts.program.rows)
        for index, cost in _costs(self._counts, problem).items():
            variables[index] = replace(variables[index], cost=cost)
        for number, demand in zip(self._counts.demand_rows, problem.demands, strict=True):
            rows[number] = replace(rows[number], right=demand.count)
        return replace(self._counts, problem=problem, program=Program(variables, rows))

    def _units(
        self, counts: Counts, nodes: list[float]
    ) -> tuple[tuple[float, ...], list[Unit]] | None:
        """Units on nodes that are held, and those that could not be made whole."""
        demands = counts.problem.demands
        spreading = self._spreading
        spreading.begin()
        spreading.ask(self._rows, [demand.count for demand in demands])
        held = np.array([float(round(nodes[index])) for index in self._whole])
        spreading.hold(self._whole, held, held)
        values = [float(round(value)) for value in nodes]
        shared = {key: counts.shared_nodes(*key, tuple(values)) for key in counts.usages}
        for row, key in counts.room_rows.items():
            spreading.weigh(row, self._room, max(0.0, shared[key]))
        solved = spreading.solve()
        if solved is None:
            return None
        units, dived = self._dived(solved[1])
        self._release(dived)
        left_over: list[Unit] = []
        for number, (demand, ways) in enumerate(zip(demands, self._ways, strict=True)):
            for index in ways.values():
                values[index] = float(floor(units[index] + _WHOLE))
            missing = demand.count - round(sum(values[index] for index in ways.values()))
            if missing:
                fullest = max(ways, key=lambda position: units[ways[position]] % 1)
                left_over += [(number, fullest)] * (missing * demand.choices[fullest].copies)
        return tuple(values), left_over

    def _laid_out(
        self, counts: Counts, values: tuple[float, ...], left_over: list[Unit]
    ) -> tuple[tuple[float, ...], dict[tuple[int, int], Packed]] | None:
        """Units on the nodes: first-fit, and where that leaves some over, others move for them."""
        packings = {} if left_over else self._first_fit(counts, values)
        if packings:
            return values, packings
        stocks = self._root.stocks
        seated = seat_by_counts(counts, stocks, values)
        seated.left_over.extend(left_over)
        return seat_the_rest(counts, stocks, seated, lambda: True, more_nodes=False)

    def _first_fit(
        self, counts: Counts, values: tuple[float, ...]
    ) -> dict[tuple[int, int], Packed] | None:
        packings = {}
        for key, held in self._held.items():
            asked = [0] * len(self._root.shapes[key[0]])
            for position, usage in held:
                asked[position] = round(usage.units(values))
            node = counts.problem.pools[key[0]].node
            nodes = round(counts.shared_nodes(*key, values))
            packed = first_fit_within(node, self._root.shapes[key[0]], asked, nodes)
            if packed is None:
                return None
            packings[key] = Packed(tuple(packed))
        return packings

    def _dived(self, units: list[float]) -> tuple[list[float], list[int]]:
        """Units made whole one after the other, the nearest to it first, and what is held by it."""
        held: list[int] = []
        choices = self._counts.choice.values()
        for _ in range(_MOST_DIVES):
            part = {index: units[index] % 1 for index in choices}
            open_ = {index: one for index, one in part.items() if _WHOLE < one < 1 - _WHOLE}
            if not open_:
                break
            index = max(open_, key=lambda index: (abs(open_[index] - 0.5), -index))
            held.append(index)
            below, above = floor(units[index]), ceil(units[index])
            for side in (above, below) if open_[index] > 0.5 else (below, above):
                self._fix(index, float(side))
                solved = self._spreading.solve()
                if solved is not None:
                    units = solved[1]
                    break
            else:
                break
        return units, held

    def _fix(self, index: int, value: float, upper: float | None = None) -> None:
        column = np.array([index], dtype=np.int32)
        bounds = np.array([value]), np.array([value if upper is None else upper])
        self._spreading.hold(column, *bounds)

    def _release(self, held: list[int]) -> None:
        for index in held:
            self._fix(index, 0.0, float("inf"))


def _frame(problem: Problem) -> Problem:
    """What problems of one family have in common."""
    return replace(
        problem,
        demands=tuple(replace(demand, count=0) for demand in problem.demands),
        supplies=tuple(
            replace(
                supply,
                unit_cost_cents=tuple(
                    None if cents is None else 0 for cents in supply.unit_cost_cents
                ),
            )
            for supply in problem.supplies
        ),
        fixed_cost_cents=0,
    )


def _costs(counts: Counts, problem: Problem) -> dict[int, float]:
    return {
        index: counts.cost(problem.supplies[supply].unit_cost_cents[quarter] or 0)
        for (supply, quarter), index in counts.acquire.items()
    }


def _uncapped(counts: Counts) -> list[Variable]:
    """The variables, without the caps on units that rows imply."""
    units = counts.unit_variables
    return [
        replace(variable, upper=None) if index in units else variable
        for index, variable in enumerate(counts.program.variables)
    ]


def _most(variable: Variable) -> float:
    return float("inf") if variable.upper is None else variable.upper
