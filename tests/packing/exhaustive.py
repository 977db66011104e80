"""The best plan of a small problem, by trying everything."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, product
from math import ceil
from typing import NamedTuple, TypeAlias

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.problem import (
    ALWAYS,
    WHOLE,
    JobClass,
    Mode,
    Pool,
    Problem,
    RunWindow,
    Shape,
)
from tests.packing.meaning import (
    SLOT,
    SLOTS,
    Gpus,
    Nodes,
    counts,
    holds,
    mixes,
    pieces_in,
    stands,
    takes_all,
)

Slots = tuple["Shape", ...]
"""What is free of a node, slot by slot."""
Node: TypeAlias = "tuple[Slots, Gpus]"
"""That, and the opened GPUs of a node."""
Left = tuple[tuple[int | Fraction, ...] | None, ...]
"""By quota: the GPUs that it leaves, slot by slot; None: any number."""
Reached: TypeAlias = "tuple[Nodes, tuple[int, ...]]"
"""Nodes in service, and what is spent of each budget."""
Order = tuple[tuple[int, int], ...]
"""Supplies of one offer, and how many nodes each gives in a quarter."""


class Unit(NamedTuple):
    """The mode that a unit takes, where it runs today, and the cents to move it."""

    way: Mode
    origin: str = ""
    cents: int = 0


class Exhaustive:
    """Tries every number of nodes and every way to run and place the units."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._due = lru_cache(maxsize=None)(self._least_due)
        self._there = lru_cache(maxsize=None)(self._empty)
        modes = [mode for job_class in problem.classes for mode in job_class.modes]
        always = all(mode.shape.run == ALWAYS for mode in modes)
        self._weeks = 1 if always else SLOTS
        """Where everything runs all quarter, one week tells all of it."""

    def least_cost(self) -> int | None:
        ways = [way for way in self._ways() if self._within_quotas(way)]
        best: int | None = None
        for cost, nodes in sorted(self._fleets()):
            if best is not None and cost >= best:
                break
            for way in ways if stands(self._problem, nodes) else ():
                moves = self._moves(way, nodes)
                if moves is not None:
                    best = cost + moves if best is None else min(best, cost + moves)
                if moves == 0:
                    break
        return None if best is None else best + self._problem.fixed_cost_cents

    def _within_quotas(self, way: Sequence[Sequence[Mode]]) -> bool:
        """Whether units that take these modes could keep to the quotas, in the mean of weeks."""
        return all(
            most is None
            or most * SLOTS
            >= sum(
                pieces_in(mode, quarter)
                * mode.shape.gpus
                * mode.share
                * (mode.shape.run.hours // SLOT)
                for job_class, modes in zip(self._problem.classes, way, strict=True)
                for mode in modes
                if quarter in job_class.quarters and counts(quota, job_class.owner, mode.gpu_type)
            )
            for quota in self._problem.quotas
            for quarter, most in enumerate(quota.at_most)
        )

    def _allowed(self, quarter: int) -> Left:
        """What quotas leave where nobody holds anything."""
        most = (quota.at_most[quarter] for quota in self._problem.quotas)
        return tuple(None if one is None else (one,) * self._weeks for one in most)

    def _taken(self, left: Left, unit: Mode, held: Collection[int]) -> Left | None:
        """What quotas leave when a piece holds its GPUs in these weeks too; None: not so many."""
        found: list[tuple[int | Fraction, ...] | None] = []
        for weeks, quota in zip(left, self._problem.quotas, strict=True):
            now = weeks
            if weeks is not None and counts(quota, unit.shape.owner, unit.gpu_type):
                taken = (
                    unit.shape.gpus * unit.share * (week in held) for week in range(len(weeks))
                )
                now = tuple(have - gone for have, gone in zip(weeks, taken, strict=True))
                if min(now) < 0:
                    return None
            found.append(now)
        return tuple(found)

    def _open_to(self, unit: Mode) -> Iterator[tuple[int, Pool]]:
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

    def _ways(self) -> Iterator[tuple[tuple[Mode, ...], ...]]:
        """Which mode each unit takes; units that are alike are not told apart."""
        every = [
            [
                modes
                for count in range(0 if job_class.at_most else job_class.count, job_class.count + 1)
                for modes in combinations_with_replacement(job_class.modes, count)
            ]
            for job_class in self._problem.classes
        ]
        yield from (way for way in product(*every) if takes_all(self._problem, way))

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
            sum(self._nodes(job_class, node) for job_class in self._problem.classes)
            for node in nodes
        )
        share = max((reserve.free for reserve in self._problem.reserves), default=Fraction(0))
        return ceil((spare + needed) / (1 - share))

    @staticmethod
    def _nodes(job_class: JobClass, node: Shape) -> int:
        """Nodes for all units, none of which shares one."""
        each = (-(-mode.shape.gpus // node.gpus) * mode.copies for mode in job_class.modes)
        return job_class.count * max(each, default=1)

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
                arriving = first.deliveries[quarter] if first.deliveries else None
                caps = [max(useful, fewest), first.maximum, lot.most if lot else None, arriving]
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

    def _moves(self, way: tuple[tuple[Mode, ...], ...], nodes: Nodes) -> int | None:
        """The least that moves cost if these units run on these nodes; None if they cannot."""
        cents = 0
        for quarter in range(self._problem.quarters):
            active = sorted(
                (
                    _unit(mode, job_class, quarter)
                    for job_class, modes in zip(self._problem.classes, way, strict=True)
                    if quarter in job_class.quarters
                    for mode in modes
                    for _ in range(pieces_in(mode, quarter))
                ),
                key=lambda unit: (unit.way.shape, unit.way.gpu_type, unit.origin, unit.cents),
                reverse=True,
            )
            empty = self._there(nodes, quarter)
            grown, left = self._grown(active, nodes, quarter), self._allowed(quarter)
            due = self._due(tuple(active), empty, grown, left)
            if due is None:
                return None
            cents += due
        return cents

    def _grown(
        self, active: Sequence[Unit], nodes: Nodes, quarter: int
    ) -> tuple[Fraction | int, ...]:
        """GPUs that may be opened of each type with a reserve: the rest stays free for growth."""
        return tuple(
            (1 - reserve.free) * there
            - sum(
                Fraction(one.way.shape.whole_gpus * one.way.shape.run.hours, RUN_HOURS)
                for one in active
                if one.way.gpu_type == reserve.gpu_type
            )
            for reserve in self._problem.reserves
            for there in [
                sum(
                    pool.node.gpus * here[quarter]
                    for pool, here in zip(self._problem.pools, nodes, strict=True)
                    if pool.gpu_type == reserve.gpu_type
                )
            ]
        )

    def _grows(self, free: tuple[tuple[Node, ...], ...], grown: tuple[Fraction | int, ...]) -> bool:
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

    def _least_due(
        self,
        waiting: tuple[Unit, ...],
        free: tuple[tuple[Node, ...], ...],
        grown: tuple[Fraction | int, ...],
        left: Left,
    ) -> int | None:
        """The least for moves if the units, the first one first, fit into what is free of nodes."""
        if not waiting:
            return 0 if self._grows(free, grown) else None
        unit, rest = waiting[0], waiting[1:]
        least = None
        for number, pool in self._open_to(unit.way):
            move = unit.cents if unit.origin != pool.home else 0
            for after, later in self._after(number, pool, unit.way, free, left):
                due = self._due(rest, after, grown, later)
                if due is not None and (least is None or due + move < least):
                    least = due + move
                if least == 0:
                    return 0
        return least

    def _after(
        self,
        number: int,
        pool: Pool,
        unit: Mode,
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
        for node, first in product(set(nodes), _starts(run)):
            held = range(self._weeks) if run == ALWAYS else range(first, first + run.hours // SLOT)
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
        for first in _starts(shape.run):
            held = range(first, first + shape.run.hours // SLOT) if self._weeks > 1 else range(1)
            free = Counter(
                node for node in nodes if all(node[0][week] == pool.node for week in held)
            )
            unlike = [node for node in sorted(free) for _ in range(min(free[node], span))]
            for taken in set(combinations(unlike, span)):
                left = list(nodes)
                for weeks, opened in taken:
                    left.remove((weeks, opened))
                    after = tuple(
                        Shape(0, 0, 0) if week in held else there
                        for week, there in enumerate(weeks)
                    )
                    left.append((after, opened))
                yield left, held


def _unit(way: Mode, job_class: JobClass, quarter: int) -> Unit:
    """A unit, with the owner if it has one, and what its move costs in the first quarter."""
    if job_class.owner:
        way = replace(way, shape=way.shape._replace(owner=job_class.owner))
    moves = job_class.origin and job_class.move_cents and quarter == 0
    return Unit(way, job_class.origin, job_class.move_cents) if moves else Unit(way)


def _less(free: Shape, gpus: int, shape: Shape) -> Shape:
    return Shape(free.gpus - gpus, free.cpus - shape.cpus, free.memory_mb - shape.memory_mb)


def _starts(run: RunWindow) -> range:
    """Slots in which a run may start: what begins as soon as it can does so when a slot begins."""
    return range(run.earliest // SLOT, run.latest // SLOT + 1)
