"""What the tests of packing share: an exhaustive solver, a checker of solutions, small builders.

Neither the solver nor the checker uses anything of `planner.packing` but the words of its problem.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations, combinations_with_replacement, product
from math import ceil, floor
from typing import TYPE_CHECKING

import pytest

from planner.packing.answer import answer
from planner.packing.found import Infeasible
from planner.packing.problem import (
    ALWAYS,
    WEEKS,
    WHOLE,
    Choice,
    Demand,
    Pool,
    Problem,
    Shape,
    Supply,
)
from planner.packing.search import search
from planner.packing.solution import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from planner.packing.problem import Lot, Part, Quota
    from planner.packing.solution import Layout, Member, Solution

Gpus = tuple[tuple["Part", ...], ...]
"""Opened GPUs of a node: the parts taken of each, sorted."""
Nodes = tuple[tuple[int, ...], ...]
"""pool × quarter: nodes in service."""
Weeks = tuple["Shape", ...]
"""What is free of a node, week by week."""
Node = tuple[Weeks, Gpus]
"""That, and the opened GPUs of a node."""
Left = tuple[tuple[int, ...] | None, ...]
"""By quota: the GPUs that it leaves, week by week; None: any number."""
Reached = tuple[Nodes, tuple[int, ...]]
"""Nodes in service, and what is spent of each budget."""
Order = tuple[tuple[int, int], ...]
"""Supplies of one offer, and how many nodes each gives in a quarter."""


class Build:
    """Problems in a few words; a node has 8 GPUs, 80 cores and 800 GB unless told otherwise."""

    def pool(
        self,
        gpu_type: str = "h100",
        *,
        node: tuple[int, int, int] = (8, 80, 800_000),
        owned: int = 0,
        spare: int = 0,
        fabric: bool = True,
        site: str = "main",
    ) -> Pool:
        return Pool(f"node-{gpu_type}", site, gpu_type, Shape(*node), owned, spare, fabric)

    def buy(self, *cents: int | None, pool: int = 0, maximum: int | None = None) -> Supply:
        return Supply(f"buy-{pool}", "buy", pool, maximum, cents)

    def reserve(self, *cents: int | None, term: int, maximum: int | None = None) -> Supply:
        return Supply("reserve-0", "reserve", 0, maximum, cents, term)

    def rent(self, *cents: int | None, pool: int = 0, maximum: int | None = None) -> Supply:
        return Supply(f"rent-{pool}", "rent", pool, maximum, cents)

    def units(
        self,
        count: int,
        *choices: tuple[str, int, int, int],
        quarters: Sequence[int] = (0,),
        spans: bool = True,
        copies: Sequence[int] = (),
    ) -> Demand:
        return Demand(
            tuple(
                Choice(gpu_type, Shape(gpus, cpus, memory_mb, spans), times)
                for (gpu_type, gpus, cpus, memory_mb), times in zip(
                    choices, copies or (1,) * len(choices), strict=True
                )
            ),
            tuple(quarters),
            count,
        )

    def problem(
        self,
        pools: Sequence[Pool],
        supplies: Sequence[Supply],
        demands: Sequence[Demand],
        quarters: int = 1,
    ) -> Problem:
        return Problem(quarters, tuple(pools), tuple(supplies), tuple(demands), 0)


@pytest.fixture(scope="session")
def build() -> Build:
    return Build()


@pytest.fixture(scope="session")
def solve() -> Callable[..., Solution | None]:
    """Search and answer; None where that proves that there is no plan."""

    def solved(
        problem: Problem, *, asked_gap: float = 0.0, time_limit_s: float = 20.0
    ) -> Solution | None:
        try:
            found = search(problem, asked_gap=asked_gap, time_limit_s=time_limit_s)
        except Infeasible:
            return None
        return answer(problem, found, asked_gap)

    return solved


@pytest.fixture(scope="session")
def least_cost() -> Callable[[Problem], int | None]:
    """The cost of the best plan by trying everything; None if there is no plan."""
    return lambda problem: _Exhaustive(problem).least_cost()


@pytest.fixture(scope="session")
def faults() -> Callable[[Problem, Solution], list[str]]:
    """Everything that is wrong with a solution, in words."""
    return lambda problem, solution: list(_Checker(problem, solution).faults())


@pytest.fixture
def plan(
    solve: Callable[..., Solution | None],
    least_cost: Callable[[Problem], int | None],
    faults: Callable[[Problem, Solution], list[str]],
) -> Callable[[Problem], Solution | None]:
    """The proved plan, sound and as cheap as trying everything finds; None if there is none."""

    def planned(problem: Problem) -> Solution | None:
        solution = solve(problem)
        assert (solution and solution.cost_cents) == least_cost(problem)
        if solution is not None:
            assert not faults(problem, solution)
            assert solution.status is Status.PROVED
        return solution

    return planned


@pytest.fixture(scope="session")
def agree(
    solve: Callable[..., Solution | None],
    least_cost: Callable[[Problem], int | None],
    faults: Callable[[Problem, Solution], list[str]],
) -> Callable[..., Counter[str]]:
    """Compare the search with trying everything, problem by problem; what was seen."""

    def compared(problems: Iterable[Problem], *, asked_gap: float = 0.0) -> Counter[str]:
        seen: Counter[str] = Counter()
        for number, problem in enumerate(problems):
            solution, best = solve(problem, asked_gap=asked_gap), least_cost(problem)
            if solution is None:
                assert best is None, f"problem {number} has a plan that costs {best}"
                seen["infeasible"] += 1
                continue
            assert not faults(problem, solution), f"problem {number}"
            assert best is not None, f"problem {number} has no plan"
            assert solution.bound_cents <= best <= solution.cost_cents, f"problem {number}"
            if solution.status is Status.PROVED:
                assert solution.cost_cents == best, f"problem {number}"
            seen[solution.status] += 1
            seen["moves"] += any(solution.moved)
        return seen

    return compared


def stands(problem: Problem, nodes: Nodes) -> bool:
    """Whether the nodes in service, by pool and quarter, keep to every limit of their sites."""
    for quarter in range(problem.quarters):
        for limit in problem.limits:
            most = limit.at_most[quarter]
            taken = sum(amount * nodes[pool][quarter] for pool, amount in limit.terms)
            if most is not None and taken > most:
                return False
        for space in problem.racks:
            waiting = [
                (units, watts)
                for pool, units, watts in space.nodes
                for _ in range(nodes[pool][quarter])
            ]
            power_w = 0 if space.power_w is None else space.power_w
            if not _racks_hold(tuple(waiting), ((space.units, power_w),) * space.count):
                return False
    return True


@cache
def _racks_hold(waiting: tuple[tuple[int, int], ...], racks: tuple[tuple[int, int], ...]) -> bool:
    """Whether nodes, by rack units and W, fit what is free of the racks, the first one first."""
    if not waiting:
        return True
    (units, watts), rest = waiting[0], waiting[1:]
    for rack in set(racks):
        left = (rack[0] - units, rack[1] - watts)
        if min(left) >= 0:
            others = list(racks)
            others.remove(rack)
            if _racks_hold(rest, tuple(sorted((*others, left)))):
                return True
    return False


def counts(quota: Quota, owner: str, gpu_type: str) -> bool:
    """Whether a quota counts the GPUs of this type that a unit of an owner holds."""
    return quota.owner == owner and quota.gpu_type in (None, gpu_type)


def changes(problem: Problem, way: Sequence[Sequence[Choice]]) -> list[int]:
    """By demand: units that take another GPU type than in the stage before of their chain."""
    found = [0] * len(problem.demands)
    last: dict[object, Counter[str]] = {}
    order = sorted(range(len(way)), key=lambda number: problem.demands[number].quarters)
    for number in order:
        demand = problem.demands[number]
        chain = (demand.choices, demand.owner, demand.chain)
        now = Counter(choice.gpu_type for choice in way[number])
        if demand.chain:
            found[number] = (now - last.get(chain, now)).total()
            last[chain] = now
    return found


def holds(pool: Pool, parts: Sequence[Part]) -> bool:
    """Whether one GPU of the pool can be divided so that it has these parts."""
    profiles = Counter(part.profile for part in parts)
    if not profiles[""]:
        return any(
            profiles <= Counter(profile for profile, _ in division.slots)
            for division in pool.divisions
        )
    return len(profiles) == 1 and sum(part.memory_mb for part in parts) <= pool.shared_mb


def mixes(pool: Pool, free: int, opened: Gpus) -> bool:
    """Whether a node may hold these GPUs: where they do not mix, all are partitioned, or none."""
    partitioned = sum(bool(gpu[0].profile) for gpu in opened)
    return pool.mixes or partitioned in (0, pool.node.gpus - free)


class _Exhaustive:
    """Tries every number of nodes and every way to run and place the units."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._fits = lru_cache(maxsize=None)(self._place)
        self._dues = lru_cache(maxsize=None)(self._least_moves)
        choices = [choice for demand in problem.demands for choice in demand.choices]
        always = all(choice.shape.run == ALWAYS for choice in choices)
        self._weeks = 1 if always else WEEKS
        """Where everything runs all quarter, one week tells all of it."""

    def least_cost(self) -> int | None:
        ways = [way for way in self._ways() if self._within_quotas(way)]
        best: int | None = None
        for cost, nodes in sorted(self._fleets()):
            if best is not None and cost >= best:
                break
            for way in ways if stands(self._problem, nodes) else ():
                if self._runs(way, nodes):
                    moves = self._moves(way, nodes) + self._changes(way)
                    best = cost + moves if best is None else min(best, cost + moves)
                    if not moves:
                        break
        return None if best is None else best + self._problem.fixed_cost_cents

    def _within_quotas(self, way: Sequence[Sequence[Choice]]) -> bool:
        """Whether units that take these choices could keep to the quotas, in the mean of weeks."""
        return all(
            most is None
            or most * WEEKS
            >= sum(
                choice.copies * choice.shape.gpus * choice.shape.run.weeks
                for demand, choices in zip(self._problem.demands, way, strict=True)
                for choice in choices
                if quarter in demand.quarters and counts(quota, demand.owner, choice.gpu_type)
            )
            for quota in self._problem.quotas
            for quarter, most in enumerate(quota.at_most)
        )

    def _allowed(self, quarter: int) -> Left:
        """What quotas leave where nobody holds anything."""
        most = (quota.at_most[quarter] for quota in self._problem.quotas)
        return tuple(None if one is None else (one,) * self._weeks for one in most)

    def _taken(self, left: Left, unit: Choice, held: Collection[int]) -> Left | None:
        """What quotas leave when a piece holds its GPUs in these weeks too; None: not so many."""
        found: list[tuple[int, ...] | None] = []
        for weeks, quota in zip(left, self._problem.quotas, strict=True):
            now = weeks
            if weeks is not None and counts(quota, unit.shape.owner, unit.gpu_type):
                taken = (unit.shape.gpus * (week in held) for week in range(len(weeks)))
                now = tuple(have - gone for have, gone in zip(weeks, taken, strict=True))
                if min(now) < 0:
                    return None
            found.append(now)
        return tuple(found)

    def _changes(self, way: tuple[tuple[Choice, ...], ...]) -> int:
        return sum(
            units * demand.move_cents
            for units, demand in zip(
                changes(self._problem, way), self._problem.demands, strict=True
            )
        )

    def _moves(self, way: tuple[tuple[Choice, ...], ...], nodes: Nodes) -> int:
        """The least that moves cost if these units run on these nodes in the first quarter."""
        if not any(demand.move_cents for demand in self._problem.demands if demand.origin):
            return 0
        units = [
            (_owned(choice, demand), demand.origin, demand.move_cents)
            for demand, choices in zip(self._problem.demands, way, strict=True)
            if 0 in demand.quarters
            for choice in choices
            for _ in range(choice.copies)
        ]
        least = self._least_moves(
            tuple(sorted(units, key=lambda unit: (unit[0].shape, unit), reverse=True)),
            self._empty(nodes, 0),
            self._allowed(0),
        )
        assert least is not None
        return least

    def _least_moves(
        self,
        waiting: tuple[tuple[Choice, str, int], ...],
        free: tuple[tuple[Node, ...], ...],
        left: Left,
    ) -> int | None:
        if not waiting:
            return 0
        (unit, origin, cents), rest = waiting[0], waiting[1:]
        dues = [
            due + (cents if origin and origin != pool.home else 0)
            for number, pool in self._open_to(unit)
            for after, later in self._after(number, pool, unit, free, left)
            if (due := self._dues(rest, after, later)) is not None
        ]
        return min(dues, default=None)

    def _open_to(self, unit: Choice) -> Iterator[tuple[int, Pool]]:
        for number, pool in enumerate(self._problem.pools):
            if (
                pool.gpu_type == unit.gpu_type
                and (not unit.shape.sites or pool.site in unit.shape.sites)
                and unit.shape.stays in ("", pool.home, pool.held)
            ):
                yield number, pool

    def _empty(self, nodes: Nodes, quarter: int) -> tuple[tuple[Node, ...], ...]:
        """The nodes that may run units; where some are held, spare ones are among the others."""
        pools = self._problem.pools
        mains = {pool.home: (pool, here) for pool, here in zip(pools, nodes, strict=True)}
        mains |= {
            pool.home: (pool, here)
            for pool, here in zip(pools, nodes, strict=True)
            if not pool.held
        }
        usable = []
        for pool, here in zip(pools, nodes, strict=True):
            main, serving = mains[pool.home]
            spared = not pool.held or serving[quarter] >= main.spare
            usable.append(max(0, here[quarter] - pool.spare) if spared else 0)
        return tuple(
            (((pool.node,) * self._weeks, ()),) * count
            for pool, count in zip(pools, usable, strict=True)
        )

    def _ways(self) -> Iterator[tuple[tuple[Choice, ...], ...]]:
        """Which choice each unit takes; units that are alike are not told apart."""
        yield from product(
            *(
                combinations_with_replacement(demand.choices, demand.count)
                for demand in self._problem.demands
            )
        )

    def _fleets(self) -> Iterator[tuple[int, Nodes]]:
        """The cheapest way to each number of nodes by pool and quarter that could be of use."""
        unspent = (0,) * len(self._problem.budgets)
        reached: dict[Reached, int] = {((), unspent): 0}
        for number, pool in enumerate(self._problem.pools):
            retired = pool.retired or (0,) * self._problem.quarters
            owned = tuple(pool.owned - gone for gone in retired)
            here: dict[Reached, int] = {((owned,), unspent): 0}
            for group in self._offers(number):
                here = self._extended(here, group, (number,))
            both: dict[Reached, int] = {}
            for ((nodes, spent), cost), ((more, paid), cents) in product(
                reached.items(), here.items()
            ):
                key = ((*nodes, *more), tuple(map(sum, zip(spent, paid, strict=True))))
                both[key] = min(both.get(key, cost + cents), cost + cents)
            reached = both
        for group in self._offers(None):
            reached = self._extended(reached, group, range(len(self._problem.pools)))
        best: dict[Nodes, int] = {}
        for (nodes, spent), cost in reached.items():
            limits = zip(spent, self._problem.budgets, strict=True)
            if all(cents <= limit.at_most_cents for cents, limit in limits):
                best[nodes] = min(best.get(nodes, cost), cost)
        yield from ((cost, nodes) for nodes, cost in best.items())

    def _most(self, pools: Collection[int]) -> int:
        """Nodes of these pools together that could be of use."""
        nodes = [self._problem.pools[number].node for number in pools]
        spare = sum(self._problem.pools[number].spare for number in pools)
        needed = max(
            sum(self._nodes(demand, node) for demand in self._problem.demands) for node in nodes
        )
        share = max((reserve.free for reserve in self._problem.reserves), default=Fraction(0))
        return ceil((spare + needed) / (1 - share))

    @staticmethod
    def _nodes(demand: Demand, node: Shape) -> int:
        """Nodes for all units, none of which shares one."""
        each = (-(-choice.shape.gpus // node.gpus) * choice.copies for choice in demand.choices)
        return demand.count * max(each, default=1)

    def _offers(self, pool: int | None) -> list[list[int]]:
        """Supplies by offer, of offers to this pool alone; None: of those to several."""
        groups: dict[object, list[int]] = defaultdict(list)
        for index, supply in enumerate(self._problem.supplies):
            groups[index if supply.offer is None else ("offer", supply.offer)].append(index)
        to = ({self._problem.supplies[index].pool for index in group} for group in groups.values())
        return [
            group
            for group, pools in zip(groups.values(), to, strict=True)
            if (len(pools) > 1 if pool is None else pools == {pool})
        ]

    def _extended(
        self, reached: dict[Reached, int], group: list[int], pools: Sequence[int]
    ) -> dict[Reached, int]:
        """With all that may be ordered of an offer, but nodes that could be of no use."""
        best: dict[Reached, int] = {}
        lots = any(self._problem.supplies[index].lot for index in group)
        most = [self._most([pool]) for pool in pools]
        for orders in self._orders(group):
            added, cents, paid = self._of_orders(orders)
            more = [added[pool] for pool in pools]
            for (before, spent), cost in reached.items():
                served, late = [], 0
                for have, new, useful in zip(before, more, most, strict=True):
                    served.append(tuple(map(sum, zip(have, new, strict=True))))
                    grown = [nodes for nodes, n in zip(served[-1], new, strict=True) if n]
                    late = max(late, min(grown, default=0) - useful)
                if lots or late <= 0:
                    key = (tuple(served), tuple(map(sum, zip(spent, paid, strict=True))))
                    best[key] = min(best.get(key, cost + cents), cost + cents)
        return best

    def _orders(self, group: list[int]) -> Iterator[tuple[Order, ...]]:
        """By quarter, which supplies of an offer give how many nodes: all at one price."""
        supplies, first = self._problem.supplies, self._problem.supplies[group[0]]
        lots = sorted({supplies[index].lot for index in group}, key=str)
        options: list[list[Order]] = []
        for quarter in range(self._problem.quarters):
            options.append([()])
            for lot in lots:
                alike = [
                    index
                    for index in group
                    if supplies[index].lot == lot
                    and supplies[index].unit_cost_cents[quarter] is not None
                ]
                fewest = lot.fewest if lot else 1
                useful = self._most({supplies[index].pool for index in alike}) if alike else 0
                caps = [max(useful, fewest), first.maximum, lot.most if lot else None]
                cap = min(cap for cap in caps if cap is not None)
                options[-1] += [
                    tuple(zip(alike, nodes, strict=True))
                    for nodes in product(range(cap + 1), repeat=len(alike))
                    if fewest <= sum(nodes) <= cap
                ]
        for orders in product(*options):
            held, _, _ = self._of_orders(orders)
            if first.maximum is None or max(map(sum, zip(*held, strict=True))) <= first.maximum:
                yield orders

    def _of_orders(self, orders: tuple[Order, ...]) -> tuple[list[list[int]], int, tuple[int, ...]]:
        """Nodes in service by pool and quarter, cost, and what is spent of each budget."""
        quarters = self._problem.quarters
        held, cost = [[0] * quarters for _ in self._problem.pools], 0
        for entry, order in enumerate(orders):
            for index, nodes in order:
                supply = self._problem.supplies[index]
                lasts = {"buy": quarters, "rent": 1, "reserve": supply.term or 0}[supply.kind]
                for quarter in range(entry, min(entry + lasts, quarters)):
                    held[supply.pool][quarter] += nodes
                cost += nodes * (supply.unit_cost_cents[entry] or 0)
        spent = tuple(
            sum(
                nodes * limit.cents[index][entry]
                for entry, order in enumerate(orders)
                for index, nodes in order
            )
            for limit in self._problem.budgets
        )
        return held, cost, spent

    def _runs(self, way: tuple[tuple[Choice, ...], ...], nodes: Nodes) -> bool:
        for quarter in range(self._problem.quarters):
            active = sorted(
                (
                    _owned(choice, demand)
                    for demand, choices in zip(self._problem.demands, way, strict=True)
                    if quarter in demand.quarters
                    for choice in choices
                    for _ in range(choice.copies)
                ),
                key=lambda choice: (choice.shape, choice.gpu_type),
                reverse=True,
            )
            empty = self._empty(nodes, quarter)
            grown, left = self._grown(active, nodes, quarter), self._allowed(quarter)
            if not self._fits(tuple(active), empty, grown, left):
                return False
        return True

    def _grown(self, active: Sequence[Choice], nodes: Nodes, quarter: int) -> tuple[int, ...]:
        """GPUs that may be opened of each type with a reserve: the rest stays free for growth."""
        return tuple(
            floor((1 - reserve.free) * there)
            - sum(one.shape.whole_gpus for one in active if one.gpu_type == reserve.gpu_type)
            for reserve in self._problem.reserves
            for there in [
                sum(
                    pool.node.gpus * here[quarter]
                    for pool, here in zip(self._problem.pools, nodes, strict=True)
                    if pool.gpu_type == reserve.gpu_type
                )
            ]
        )

    def _grows(self, free: tuple[tuple[Node, ...], ...], grown: tuple[int, ...]) -> bool:
        return all(
            most
            >= sum(
                len(opened)
                for pool, here in zip(self._problem.pools, free, strict=True)
                for _, opened in here
                if pool.gpu_type == reserve.gpu_type
            )
            for reserve, most in zip(self._problem.reserves, grown, strict=True)
        )

    def _place(
        self,
        waiting: tuple[Choice, ...],
        free: tuple[tuple[Node, ...], ...],
        grown: tuple[int, ...],
        left: Left,
    ) -> bool:
        """Whether the units fit into what is free of each node, the first unit first."""
        if not waiting:
            return self._grows(free, grown)
        unit, rest = waiting[0], waiting[1:]
        return any(
            self._fits(rest, after, grown, later)
            for number, pool in self._open_to(unit)
            for after, later in self._after(number, pool, unit, free, left)
        )

    def _after(
        self,
        number: int,
        pool: Pool,
        unit: Choice,
        free: tuple[tuple[Node, ...], ...],
        left: Left,
    ) -> Iterator[tuple[tuple[tuple[Node, ...], ...], Left]]:
        for changed, held in self._seats(pool, unit.shape, free[number]):
            later = self._taken(left, unit, held)
            if later is not None:
                yield (*free[:number], tuple(sorted(changed)), *free[number + 1 :]), later

    def _seats(
        self, pool: Pool, shape: Shape, nodes: tuple[Node, ...]
    ) -> Iterator[tuple[list[Node], range]]:
        """The nodes with a piece more on them, and the weeks in which it holds its GPUs."""
        span, run = shape.whole_gpus / pool.node.gpus, shape.run
        if span > 1 or (span == 1 and run == ALWAYS):
            yield from self._whole(pool, shape, list(nodes))
            return
        for node, first in product(set(nodes), range(run.earliest, run.until - run.weeks + 1)):
            held = range(self._weeks) if run == ALWAYS else range(first, first + run.weeks)
            for gpus, opened in self._gpus(pool, shape, node[1]):
                left = tuple(
                    _less(week, gpus, shape) if number in held else week
                    for number, week in enumerate(node[0])
                )
                fits = all(min(week.gpus, week.cpus, week.memory_mb) >= 0 for week in left)
                if fits and mixes(pool, min(week.gpus for week in left), opened):
                    others = list(nodes)
                    others.remove(node)
                    yield [*others, (left, opened)], held

    def _gpus(self, pool: Pool, shape: Shape, opened: Gpus) -> Iterator[tuple[int, Gpus]]:
        """GPUs that one more piece takes of a node, and those that are opened then."""
        if shape.part == WHOLE:
            yield shape.gpus, opened
            return
        for gpu in {*opened, ()}:
            held = tuple(sorted((*gpu, shape.part)))
            if holds(pool, held):
                others = list(opened)
                if gpu:
                    others.remove(gpu)
                yield int(not gpu), tuple(sorted((*others, held)))

    def _whole(
        self, pool: Pool, shape: Shape, nodes: list[Node]
    ) -> Iterator[tuple[list[Node], range]]:
        """All of several nodes, for the same weeks of each."""
        span, over = divmod(shape.gpus, pool.node.gpus)
        fits = shape.cpus <= span * pool.node.cpus and shape.memory_mb <= span * pool.node.memory_mb
        joined = span == 1 or (pool.fabric and shape.spans)
        if over or not joined or not fits:
            return
        for first in shape.run.starts:
            held = range(first, first + shape.run.weeks) if self._weeks > 1 else range(1)
            free = [node for node in nodes if all(node[0][week] == pool.node for week in held)]
            for taken in set(combinations(sorted(free), span)):
                left = list(nodes)
                for weeks, opened in taken:
                    left.remove((weeks, opened))
                    after = tuple(
                        Shape(0, 0, 0) if week in held else there
                        for week, there in enumerate(weeks)
                    )
                    left.append((after, opened))
                yield left, held


def _owned(choice: Choice, demand: Demand) -> Choice:
    """The choice with the owner of its unit."""
    return replace(choice, shape=choice.shape._replace(owner=demand.owner))


def _less(free: Shape, gpus: int, shape: Shape) -> Shape:
    return Shape(free.gpus - gpus, free.cpus - shape.cpus, free.memory_mb - shape.memory_mb)


@dataclass
class _Checker:
    """Re-derives from a solution's layouts that it is feasible and costs what it says."""

    problem: Problem
    solution: Solution

    def faults(self) -> Iterator[str]:
        yield from self._bounds()
        yield from self._assignment()
        yield from self._sites()
        yield from self._stays()
        for quarter in range(self.problem.quarters):
            yield from self._placed(quarter)
            for number in range(len(self.problem.pools)):
                yield from self._nodes(quarter, number)
                yield from self._capacity(quarter, number)

    def _bounds(self) -> Iterator[str]:
        cost = self.problem.fixed_cost_cents
        for number, supply in enumerate(self.problem.supplies):
            ways = {
                "buy": self.solution.bought[number],
                "rent": self.solution.rented[number],
                "reserve": self.solution.reserved[number],
            }
            own = ways.pop(supply.kind)
            if any(map(any, ways.values())) or min(own) < 0:
                yield f"{supply.name}: acquired in the wrong way"
            for nodes, cents in zip(own, supply.unit_cost_cents, strict=True):
                if nodes and cents is None:
                    yield f"{supply.name}: in service when it cannot be"
                cost += nodes * (cents or 0)
        yield from self._maxima()
        for limit in self.problem.budgets:
            spent = sum(
                self.solution.entering(number, quarter) * cents
                for number, by_quarter in enumerate(limit.cents)
                for quarter, cents in enumerate(by_quarter)
            )
            if spent > limit.at_most_cents:
                yield f"{limit.name}: {spent} of {limit.at_most_cents}"
        cost += sum(
            moved * demand.move_cents
            for moved, demand in zip(self.solution.moved, self.problem.demands, strict=False)
        )
        if cost != self.solution.cost_cents:
            yield f"costs {cost}, says {self.solution.cost_cents}"
        if self.solution.bound_cents > self.solution.cost_cents:
            yield "bound above cost"

    def _maxima(self) -> Iterator[str]:
        held: defaultdict[object, Counter[int]] = defaultdict(Counter)
        orders: defaultdict[tuple[object, int], Counter[Lot | None]] = defaultdict(Counter)
        most = {}
        for number, supply in enumerate(self.problem.supplies):
            offer = number if supply.offer is None else ("offer", supply.offer)
            most[offer] = supply.maximum
            for entry in range(self.problem.quarters):
                nodes = self.solution.entering(number, entry)
                orders[offer, entry] += Counter({supply.lot: nodes})
                for quarter in supply.served(entry):
                    held[offer][quarter] += nodes
        for offer, maximum in most.items():
            if maximum is not None and max(held[offer].values(), default=0) > maximum:
                yield f"{offer}: more than {maximum}"
        for order in orders.values():
            if len(order) > 1:
                yield "an order at two prices"
            for lot, nodes in order.items():
                if lot and not lot.fewest <= nodes <= (lot.most or nodes):
                    yield f"{nodes} nodes at the price of another number"

    def _assignment(self) -> Iterator[str]:
        for number, (demand, taken) in enumerate(
            zip(self.problem.demands, self.solution.assigned, strict=True)
        ):
            if sum(taken) != demand.count or min(taken) < 0:
                yield f"demand {number}: {taken} assigned of {demand.count}"
        for quota in self.problem.quotas:
            for quarter, most in enumerate(quota.at_most):
                weeks = self._held(quota, quarter)
                if most is not None and max(weeks) > most:
                    yield f"{quota.name}: {weeks} by week in {quarter}, {most} allowed"

    def _held(self, quota: Quota, quarter: int) -> list[int]:
        """GPUs by week that units hold of a quota."""
        weeks = [0] * WEEKS
        for pool, layouts in zip(self.problem.pools, self.solution.layouts[quarter], strict=True):
            for layout in layouts:
                pieces = [
                    (number, range(WEEKS), units * self._shape(number, choice).gpus)
                    for number, choice, units in layout.parts
                ]
                for bundle in layout.bundles:
                    for one in bundle.members:
                        shape = self._shape(one.demand, one.choice)
                        held = range(one.week, one.week + shape.run.weeks)
                        pieces.append((one.demand, held, min(shape.gpus, pool.node.gpus)))
                for number, held, gpus in pieces:
                    if counts(quota, self.problem.demands[number].owner, pool.gpu_type):
                        for week in held:
                            weeks[week] += gpus * layout.count
        return weeks

    def _way(self) -> list[list[Choice]]:
        """Which choice each unit takes."""
        return [
            [
                choice
                for choice, units in zip(demand.choices, taken, strict=False)
                for _ in range(units)
            ]
            for demand, taken in zip(self.problem.demands, self.solution.assigned, strict=True)
        ]

    def _stays(self) -> Iterator[str]:
        home: Counter[tuple[int, str]] = Counter()
        for pool, layouts in zip(self.problem.pools, self.solution.layouts[0], strict=True):
            for (owner, _), units in self._pieces(pool, layouts).items():
                home[owner, pool.home] += units
        changed = changes(self.problem, self._way())
        for number, demand in enumerate(self.problem.demands):
            moved = changed[number]
            if demand.origin:
                moved += demand.count - home[number, demand.origin]
            said = self.solution.moved[number] if self.solution.moved else 0
            if moved != said:
                yield f"demand {number}: {moved} units move, says {said}"

    def _placed(self, quarter: int) -> Iterator[str]:
        placed: Counter[tuple[int, int]] = Counter()
        for pool, layouts in zip(self.problem.pools, self.solution.layouts[quarter], strict=True):
            placed += self._pieces(pool, layouts)
            for (owner, choice, week), nodes in self._begun(layouts).items():
                if nodes % self._times(pool, owner, choice):
                    yield f"demand {owner}.{choice}: starts on {nodes} nodes in week {week}"
        for number, (demand, taken) in enumerate(
            zip(self.problem.demands, self.solution.assigned, strict=True)
        ):
            for position, units in enumerate(taken):
                copies = demand.choices[position].copies if units else 0
                due = units * copies if quarter in demand.quarters else 0
                if placed[number, position] != due:
                    yield f"demand {number}.{position}: {placed[number, position]} placed of {due}"

    def _pieces(self, pool: Pool, layouts: Iterable[Layout]) -> Counter[tuple[int, int]]:
        """Pieces by demand and choice; one that is on several nodes is one."""
        found: Counter[tuple[int, int]] = Counter()
        for layout in layouts:
            for owner, choice, units in layout.parts:
                found[owner, choice] += units * layout.count
        for (owner, choice, _), nodes in self._begun(layouts).items():
            found[owner, choice] += nodes // self._times(pool, owner, choice)
        return found

    def _begun(self, layouts: Iterable[Layout]) -> Counter[tuple[int, int, int]]:
        """By demand, choice and week: on how many nodes one starts that shares its GPUs."""
        return Counter(
            (member.demand, member.choice, member.week)
            for layout in layouts
            for bundle in layout.bundles
            for member in bundle.members
            for _ in range(layout.count)
        )

    def _times(self, pool: Pool, demand: int, choice: int) -> int:
        """On how many nodes a piece is."""
        return max(1, self._shape(demand, choice).gpus // pool.node.gpus)

    def _shape(self, demand: int, choice: int) -> Shape:
        return self.problem.demands[demand].choices[choice].shape

    def _opened(self, pool: Pool, layout: Layout, free: int) -> Iterator[str]:
        """What is wrong with the GPUs of a node that pieces take parts of."""
        opened = []
        for bundle in layout.bundles:
            parts = tuple(self._part(member) for member in bundle.members)
            if set(parts) == {WHOLE}:
                continue
            opened.append(parts)
            pairs = zip(parts, bundle.members, strict=True)
            slots = Counter((part.profile, member.slot) for part, member in pairs if part.profile)
            placed = any(slots <= Counter(division.slots) for division in pool.divisions)
            if bundle.gpus != 1 or not holds(pool, parts) or (slots and not placed):
                yield f"{pool.name}: no GPU can be divided into {parts} at {slots}"
        runs = sum(bundle.gpus for bundle in layout.bundles) - len(opened)
        if not mixes(pool, free - runs - len(opened), tuple(opened)):
            yield f"{pool.name}: partitioned GPUs beside others"

    def _part(self, member: Member) -> Part:
        return self._shape(member.demand, member.choice).part

    def _service(self, quarter: int, number: int) -> int:
        """Nodes of a pool in service."""
        return self.problem.pools[number].owned_in(quarter) + sum(
            self.solution.entering(index, entry)
            for index, supply in enumerate(self.problem.supplies)
            if supply.pool == number
            for entry in supply.entries(quarter)
        )

    def _sites(self) -> Iterator[str]:
        quarters, pools = range(self.problem.quarters), range(len(self.problem.pools))
        nodes = tuple(tuple(self._service(q, number) for q in quarters) for number in pools)
        if not stands(self.problem, nodes):
            yield f"nodes in service break a limit: {nodes}"
        for quarter, spaces in enumerate(self.solution.racks):
            for space, filled in zip(self.problem.racks, spaces, strict=True):
                held: Counter[int] = Counter()
                for rack in filled:
                    sizes = {pool: (units, watts) for pool, units, watts in space.nodes}
                    units = sum(sizes[pool][0] * count for pool, count in rack.nodes)
                    watts = sum(sizes[pool][1] * count for pool, count in rack.nodes)
                    if units > space.units or (space.power_w is not None and watts > space.power_w):
                        yield f"a rack at {space.site} holds too much"
                    held.update({pool: count * rack.count for pool, count in rack.nodes})
                if sum(rack.count for rack in filled) > space.count:
                    yield f"more racks than there are at {space.site}"
                if any(held[pool] != nodes[pool][quarter] for pool, _, _ in space.nodes):
                    yield f"racks at {space.site} hold other nodes than those in service"
        if len(self.solution.racks) != (self.problem.quarters if self.problem.racks else 0):
            yield "racks are not told in every quarter"

    def _nodes(self, quarter: int, number: int) -> Iterator[str]:
        pool = self.problem.pools[number]
        service = self._service(quarter, number)
        used = sum(layout.count * layout.span for layout in self.solution.layouts[quarter][number])
        if used and used + pool.spare > service:
            yield f"{pool.name}: {used} in use and {pool.spare} spare of {service} in {quarter}"
        for index, main in enumerate(self.problem.pools):
            whole = not main.held and main.home == pool.home
            if used and whole and self._service(quarter, index) < main.spare:
                yield f"{pool.name}: in use without the spare nodes of {main.name} in {quarter}"

    def _capacity(self, quarter: int, number: int) -> Iterator[str]:
        pool = self.problem.pools[number]
        for layout in self.solution.layouts[quarter][number]:
            load: defaultdict[str, int] = defaultdict(int)
            for demand, choice, units in layout.parts:
                taken = self.problem.demands[demand].choices[choice]
                load["gpus"] += units * taken.shape.gpus
                load["cpus"] += units * taken.shape.cpus
                load["memory_mb"] += units * taken.shape.memory_mb
                if taken.shape.bundles:
                    yield f"{pool.name}: a piece of a bundle has GPUs to itself"
                yield from self._belongs(pool, taken)
            yield from self._weekly(pool, layout, load)
            yield from self._opened(pool, layout, pool.node.gpus - load["gpus"])
            for name, amount in load.items():
                if amount > layout.span * getattr(pool.node, name):
                    yield f"{pool.name}: {amount} {name} on {layout.span} nodes"
            if layout.span > 1:
                alone = sum(units for _, _, units in layout.parts) == 1
                if not alone or not pool.fabric or load["gpus"] != layout.span * pool.node.gpus:
                    yield f"{pool.name}: a span of {layout.span} nodes is not one unit's"

    def _belongs(self, pool: Pool, choice: Choice) -> Iterator[str]:
        """What is wrong with the pool that a piece is on."""
        if choice.gpu_type != pool.gpu_type:
            yield f"{pool.name} holds a unit for {choice.gpu_type}"
        if choice.shape.sites and pool.site not in choice.shape.sites:
            yield f"{pool.name} holds a unit for {choice.shape.sites}"
        if choice.shape.gpus > pool.node.gpus and not (pool.fabric and choice.shape.spans):
            yield f"{pool.name}: a unit spans that may not"
        if choice.shape.stays not in ("", pool.home, pool.held):
            yield f"{pool.name} holds a unit that must stay on {choice.shape.stays}"

    def _weekly(self, pool: Pool, layout: Layout, always: dict[str, int]) -> Iterator[str]:
        """What is wrong with pieces that share GPUs with others, week by week."""
        if layout.bundles and layout.span > 1:
            yield f"{pool.name}: GPUs are shared across nodes"
        bundled = sum(bundle.gpus for bundle in layout.bundles)
        if layout.bundles and always["gpus"] + bundled > pool.node.gpus:
            yield f"{pool.name}: bundles and pieces with GPUs to themselves take too many"
        busy: Counter[tuple[int, int, int]] = Counter()
        weeks = [Counter(always) for _ in range(WEEKS)]
        for number, bundle in enumerate(layout.bundles):
            for member in bundle.members:
                choice = self.problem.demands[member.demand].choices[member.choice]
                shape, run = choice.shape, choice.shape.run
                if shape.gpus > pool.node.gpus:
                    shape = pool.node._replace(run=run)
                ends = member.week + run.weeks
                yield from self._belongs(pool, choice)
                if not shape.bundles:
                    yield f"{pool.name}: a bundle holds a piece that has GPUs to itself"
                if not run.earliest <= member.week <= ends <= run.until:
                    yield f"{pool.name}: {run} in week {member.week}"
                if not 0 <= member.gpu <= bundle.gpus - shape.gpus:
                    yield f"{pool.name}: {shape.gpus} GPUs from {member.gpu} of {bundle.gpus}"
                for week in range(member.week, ends):
                    for gpu in range(member.gpu, member.gpu + shape.whole_gpus):
                        busy[number, gpu, week] += 1
                    weeks[week].update({"cpus": shape.cpus, "memory_mb": shape.memory_mb})
        if max(busy.values(), default=0) > 1:
            yield f"{pool.name}: two pieces on one GPU in one week"
        for week, load in enumerate(weeks):
            if load["cpus"] > layout.span * pool.node.cpus:
                yield f"{pool.name}: {load['cpus']} cores in week {week}"
            if load["memory_mb"] > layout.span * pool.node.memory_mb:
                yield f"{pool.name}: {load['memory_mb']} MB in week {week}"
