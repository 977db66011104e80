"""Problems of one quarter that ask for other numbers of the same units, or at other prices.

Their counting program is stated once, and so are cuts on node counts, which hold for all counts of
units. A variant is bounded by the cheapest whole nodes that obey them; one linear program says
whether these hold its units, or gives a cut that they do not obey. What is not proved this way
within the asked gap is left to the search.
"""

from __future__ import annotations

import random
from dataclasses import fields, replace
from math import floor, inf
from operator import attrgetter
from typing import TYPE_CHECKING

from planner.errors import LimitError
from planner.packing.counting.counts import CENTS_PER_UNIT
from planner.packing.families.cheapest import Cheapest, Offer, Point
from planner.packing.families.housing import Housing
from planner.packing.families.nodecuts import NodeCuts
from planner.packing.families.trial import Trial
from planner.packing.found import Found, Infeasible
from planner.packing.heuristics.reseat import reseatable
from planner.packing.problem import Demand, Problem, Supply
from planner.packing.search import rooted
from planner.packing.solvers.program import Program, Row, Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from planner.packing.counting.counts import Counts, PoolInQuarter
    from planner.packing.layouts.packed import Packed

__all__ = ["Family", "family_of"]

_TRIALS, _DEMANDS_TRIED = 16, 1_600
"""Variants that are planned beforehand, for their cuts, and the kinds of units in all of them."""
_SPREAD, _GROWTH, _PRICES = (0.5, 1.6), (0.7, 1.5), (0.85, 1.2)
"""Factors of their counts, one by one and all together, and of their prices."""
_MOST_CUTS = 60
"""Cuts that one variant may add for itself."""
_MOST_ROUNDS = 4
"""Times that units are made whole anew with cuts that their layouts violate."""
_MOST_POINTS, _MOST_WAITING = 12, 3
"""Node counts that are tried, and those of them that wait for a longer search."""


def family_of(problem: Problem, time_limit_s: float) -> Family | None:
    """The problems like this one; None where they are of a kind that only the search can plan.

    With spare nodes and price levels, counts are in the program's factors, too; and the node counts
    of pools that share an offer depend on each other.
    """
    of_counts = any(pool.spare for pool in problem.pools)
    of_counts |= any(supply.offer is not None for supply in problem.supplies)
    origins = any(demand.origin for demand in problem.demands)
    if problem.quarters > 1 or of_counts or origins or problem.racks or not _costs(problem):
        return None
    try:
        root = rooted(problem, time_limit_s)
        counts = root.counts
        if not reseatable(counts) or counts.opened or counts.splits or counts.lent:
            return None
        return Family(root)
    except (Infeasible, LimitError):
        return None


class Family:
    """The counting program of problems that are alike but for counts and prices."""

    def __init__(self, root: Found) -> None:
        """`root` is one of them with the cuts of its root; all that is found stays as it is."""
        self._root, self._counts = root, root.counts
        problem = root.counts.problem
        self._trial = Trial(root.counts)
        self._housing = Housing(root)
        self._supplies = [
            [number for number, supply in enumerate(problem.supplies) if supply.pool == pool]
            for pool in range(len(problem.pools))
        ]
        self._cuts = NodeCuts(
            [pool.owned_in(0) for pool in problem.pools], self._trial.bundles, len(problem.demands)
        )
        for row in self._trial.of_nodes():
            self._cuts.add(row)
        self._relax(problem)
        drawn = [*_drawn(problem), problem]
        values = self._tried(drawn)
        if self._housing.cuts:
            for pool, cut in self._housing.cuts:
                self._counts.add_cut(problem.pools[pool], cut)
                root.cuts += 1
            self._trial = Trial(self._counts)
            self._tried(drawn, lay_out=False)
        self._trial.keep()
        self._housing.settle(values)
        self._sum_up([one for one in drawn if _prices(one) == _prices(problem)])
        self._cuts.settle()

    def _tried(self, drawn: list[Problem], *, lay_out: bool = True) -> tuple[float, ...]:
        """Learn cuts and patterns; the values of the last plan, or zeros."""
        values = tuple(0.0 for _ in self._trial.free)
        for problem in drawn:
            before = len(self._cuts)
            try:
                cheapest = self._cheapest(problem)
                at_these_prices = len(self._cuts) > before
                try:
                    bounded = self._bounded(problem, cheapest)
                finally:
                    if at_these_prices:
                        self._cuts.drop(before)
                if not bounded or not lay_out:
                    continue
                units = self._trial.rounded(bounded[1])
                if units is None:
                    units = self._trial.whole(bounded[0])
            except LimitError:
                continue
            if units is not None and len(units):
                values = self._values(problem, bounded[0], units)
                self._housing.learn(values)
        return values

    def found(self, problem: Problem, asked_gap: float) -> Found | None:
        """A packing that is proved within the gap; None where it takes the search to find one.

        Depends on the problem and on the first one of the family, and on nothing found in between.
        """
        if not _costs(problem) or not _alike(problem, self._counts.problem):
            return None
        try:
            return self._found(problem, asked_gap)
        except LimitError:
            return None
        finally:
            self._cuts.forget()

    def _found(self, problem: Problem, asked_gap: float) -> Found | None:
        """The cheapest nodes on which units are quickly made whole and laid out.

        Where there are none within the gap, the cheapest so far are searched for whole units, and
        if these are proved to have none, the bound is the cost of the next.
        """
        cheapest, fixed = self._cheapest(problem), problem.fixed_cost_cents
        found = Found(self._variant(problem), shapes=self._root.shapes, stocks=self._root.stocks)
        found.rounds, found.cuts = 1, self._root.cuts
        found.relaxed = self._counts.shared_unit_variables
        waiting: list[Point] = []
        for _ in range(_MOST_POINTS):
            bounded = self._bounded(problem, cheapest)
            while waiting and (
                bounded is None
                or len(waiting) == _MOST_WAITING
                or bounded[0].cents - waiting[0].cents > asked_gap * (bounded[0].cents + fixed)
            ):
                if not self._searched(found, waiting):
                    return found if found.closed(asked_gap) else None
            if bounded is None:
                return None
            point, values = bounded
            waiting.append(point)
            units = self._trial.rounded(values)
            if units is not None:
                whole = self._values(problem, point, units)
                layouts = self._housing.laid_out(whole)
                if layouts is not None and self._kept(found, waiting[0], whole, layouts):
                    return found if found.closed(asked_gap) else None
            cheapest.refuse(point)
        return None

    def _searched(self, found: Found, waiting: list[Point]) -> bool:
        """Look longer for a plan on one of these nodes; True where the first prove to have none.

        These are then left out; else a plan is kept, or there is none to be found.
        """
        problem = found.counts.problem
        for point in list(waiting):
            for attempt in range(_MOST_ROUNDS):
                units = self._trial.whole(point, attempt)
                if units is None and point == waiting[0]:
                    waiting.pop(0)
                    return True
                if units is None or not len(units):
                    break
                values = self._values(problem, point, units)
                layouts, cuts = self._housing.searched(values)
                if layouts is not None and self._kept(found, waiting[0], values, layouts):
                    return False
                for pool, cut in cuts:
                    shapes = self._root.shapes[pool]
                    self._trial.require(pool, dict(zip(shapes, cut.weights, strict=True)))
        return False

    def _kept(
        self,
        found: Found,
        least: Point,
        values: tuple[float, ...],
        layouts: dict[PoolInQuarter, Packed],
    ) -> bool:
        """Keep a plan; its bound is what the first nodes cost that may have one."""
        found.bound_cents = least.cents + found.counts.problem.fixed_cost_cents
        return found.keep(values, layouts)

    def _values(
        self, problem: Problem, point: Point, units: NDArray[np.float64]
    ) -> tuple[float, ...]:
        values: list[float] = units.tolist()
        for index, nodes in self._acquired(problem, point).items():
            values[index] = nodes
        return tuple(values)

    def _bounded(
        self, problem: Problem, cheapest: Cheapest
    ) -> tuple[Point, NDArray[np.float64]] | None:
        """The cheapest nodes that hold all units in fractions, and how; None if not found."""
        self._trial.ask([demand.count for demand in problem.demands])
        for _ in range(_MOST_CUTS):
            point = cheapest.next()
            if point is None:
                return None
            values, cut = self._trial.tried(point)
            if cut is not None:
                self._cuts.add(cut)
                continue
            open_ = self._trial.divided(point, values) - self._cuts.divided
            if not open_ or self._trial.rounded(values) is not None:
                return point, values
            self._cuts.divided |= open_
            cheapest.divide(open_)
        return None

    def _relax(self, problem: Problem) -> None:
        """Add what the linear relaxation says."""
        cut = self._trial.relaxed(self._variant(problem).program)
        if cut is not None:
            self._cuts.add(cut)

    def _sum_up(self, drawn: Sequence[Problem]) -> None:
        """Sum cuts up to bound these problems, all at the same prices."""
        offered = [self._offers(drawn[0], pool) for pool in range(len(self._supplies))]
        self._cuts.sum_up(
            [[demand.count for demand in problem.demands] for problem in drawn],
            [known[0].cents / CENTS_PER_UNIT if known else inf for known in offered],
        )

    def _offers(self, problem: Problem, pool: int) -> list[Offer]:
        """Nodes on offer, the cheapest first."""
        supplies = [problem.supplies[number] for number in self._supplies[pool]]
        known = [(one.unit_cost_cents[0], one.maximum) for one in supplies]
        offers = [Offer(cents, most) for cents, most in known if cents is not None]
        return sorted(offers, key=lambda offer: offer.cents)

    def _cheapest(self, problem: Problem) -> Cheapest:
        """The cheapest nodes; at prices that are new, cuts of their own make them few."""
        if _prices(problem) != _prices(self._counts.problem):
            self._relax(problem)
            self._sum_up([problem])
        offers = [self._offers(problem, pool) for pool in range(len(self._supplies))]
        return Cheapest(self._cuts, [demand.count for demand in problem.demands], offers)

    def _acquired(self, problem: Problem, point: Point) -> dict[int, float]:
        """Nodes by variable, of the cheapest supplies of each pool."""
        acquired: dict[int, float] = {}
        for numbers, nodes in zip(self._supplies, point.nodes, strict=True):
            left = nodes
            open_ = [n for n in numbers if (n, 0) in self._counts.acquire]
            for number in sorted(open_, key=lambda n: problem.supplies[n].unit_cost_cents[0] or 0):
                most = problem.supplies[number].maximum
                taken = left if most is None else min(left, most)
                acquired[self._counts.acquire[number, 0]] = float(taken)
                left -= taken
        return acquired

    def _variant(self, problem: Problem) -> Counts:
        """The counting program of this problem, but for caps that rows imply."""
        counts = self._counts
        variables, rows = list(self._trial.free), list(counts.program.rows)
        for (supply, _), index in counts.acquire.items():
            one = variables[index]
            cost = counts.cost(problem.supplies[supply].unit_cost_cents[0] or 0)
            variables[index] = Variable(one.name, one.lower, one.upper, cost, one.integer)
        for number, demand in zip(counts.demand_rows, problem.demands, strict=True):
            row = rows[number]
            rows[number] = Row(row.name, row.terms, row.sense, demand.count)
        return replace(counts, problem=problem, program=Program(variables, rows))


def _drawn(problem: Problem) -> list[Problem]:
    """Variants at other counts, and then at other prices, too: always the same ones."""
    rng = random.Random(0)
    drawn = []
    many = min(_TRIALS, _DEMANDS_TRIED // len(problem.demands))
    for number in range(many):
        growth = rng.uniform(*_GROWTH) if number % 2 else 1.0
        demands = tuple(
            replace(demand, count=max(1, round(demand.count * growth * rng.uniform(*_SPREAD))))
            for demand in problem.demands
        )
        dearer = 3 * number >= 2 * many
        factors = [rng.uniform(*_PRICES) if dearer else 1.0 for _ in problem.supplies]
        supplies = tuple(
            replace(
                supply,
                unit_cost_cents=tuple(
                    cents and floor(cents * factor) for cents in supply.unit_cost_cents
                ),
            )
            for supply, factor in zip(problem.supplies, factors, strict=True)
        )
        drawn.append(replace(problem, demands=demands, supplies=supplies))
    return drawn


def _costs(problem: Problem) -> bool:
    """Whether no node is worth more at the end than it cost: then fewer are always cheaper."""
    return all((cents or 0) >= 0 for supply in problem.supplies for cents in supply.unit_cost_cents)


def _prices(problem: Problem) -> tuple[int | None, ...]:
    return tuple(supply.unit_cost_cents[0] for supply in problem.supplies)


_OTHERS = ("demands", "supplies", "fixed_cost_cents")
_SAME = [one.name for one in fields(Problem) if one.name not in _OTHERS]
_OF_DEMANDS = attrgetter(*(one.name for one in fields(Demand) if one.name != "count"))
_OF_SUPPLIES = attrgetter(*(one.name for one in fields(Supply) if one.name != "unit_cost_cents"))


def _alike(problem: Problem, other: Problem) -> bool:
    """Whether they differ in counts and prices at the most."""
    return (
        all(getattr(problem, name) == getattr(other, name) for name in _SAME)
        and len(problem.demands) == len(other.demands)
        and len(problem.supplies) == len(other.supplies)
        and all(
            _OF_DEMANDS(one) == _OF_DEMANDS(two)
            for one, two in zip(problem.demands, other.demands, strict=True)
        )
        and all(
            one is two
            or (
                _OF_SUPPLIES(one) == _OF_SUPPLIES(two)
                and [cents is None for cents in one.unit_cost_cents]
                == [cents is None for cents in two.unit_cost_cents]
            )
            for one, two in zip(problem.supplies, other.supplies, strict=True)
        )
    )
