"""Places runs on nodes that are had and paid for some hours: few hours, shared by many runs.

Each run in turn goes where it adds least to what is paid: beside others on nodes that are there
anyway, before or after them, or on nodes of its own. Runs already placed start later if that
shortens the time between. Several orders are tried, then the best of them with one run moved.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing import work
from planner.packing.list_schedule import (
    ORDERS,
    Cap,
    Placed,
    Room,
    UsageProfile,
    Waiting,
    allowed_by,
)
from planner.packing.problem import HourlyTerms, Pool, RunWindow, Shape

_Interval = tuple[int, int]
"""The first hour, and the hour by which it has ended."""

_MOVED, _LOOKS = 600, 30_000
"""The number of orders with one run moved, and of looks at a run beside another or beside a node
before the last order."""
_LOOK_S = 3e-5
"""Seconds that one look takes on a usual machine."""
_SHIFTED = 24
"""The most runs with which one of them starts later for another."""


class HourlyPool(NamedTuple):
    """Nodes for hours or weeks of a quarter, as an offer has them at one site."""

    pool: Pool
    offer: int
    """Pools of one offer share the most that it gives."""
    most: int | None
    """Nodes at any one hour; None: as many as are asked for."""
    cents: int
    """The price of each step."""

    @property
    def hire(self) -> HourlyTerms:
        """How they are paid."""
        assert self.pool.hire is not None
        return self.pool.hire

    @property
    def cents_per_hour(self) -> float:
        """The price of one GPU for an hour."""
        return self.cents / self.hire.step_hours / self.pool.node.gpus


@dataclass(frozen=True, slots=True)
class Rental:
    """A node from when it comes to when it goes."""

    start: int
    end: int
    """All hours up to this one are paid."""
    steps: int
    """The hours or terms paid."""


@dataclass(slots=True)
class _Run:
    """A run with its place."""

    way: Waiting
    start: int
    nodes: Sequence[_Node]
    gpu: int

    @property
    def shape(self) -> Shape:
        """What it takes of each of its nodes."""
        return self.way.on_node

    @property
    def end(self) -> int:
        return self.start + self.shape.run.hours

    def meets(self, other: _Run) -> bool:
        """Return whether two runs on one node have a GPU in common."""
        return self.gpu < other.gpu + other.shape.gpus and other.gpu < self.gpu + self.shape.gpus


@dataclass(slots=True)
class _Node:
    """A node that is being filled."""

    number: int
    pool: int
    kind: HourlyPool
    room: Room
    runs: list[_Run] = field(default_factory=list)
    start: int = 0
    """The hour at which its first run begins."""
    last: int = 0
    """The hour at which its last run ends."""

    @property
    def steps(self) -> int:
        return self.kind.hire.steps(self.last - self.start)

    @property
    def paid(self) -> _Interval:
        """Start and end of the time for which it is paid."""
        return self.paid_with(self.start, self.last)

    def steps_with(self, start: int, end: int) -> int:
        """Return the steps if it is had for these hours, too."""
        return self.kind.hire.steps(max(self.last, end) - min(self.start, start))

    def paid_with(self, start: int, end: int) -> _Interval:
        """Return the hours that are paid then."""
        return self.kind.hire.paid(min(self.start, start), max(self.last, end))


class _Place(NamedTuple):
    """Where a run may go; the least is the best."""

    cents: int
    """What it adds to the cost."""
    opened: int
    """New nodes."""
    start: int
    pool: int
    nodes: tuple[int, ...]
    """By number; numbers beyond the last are new nodes."""
    gpu: int
    later: tuple[tuple[int, int], ...] = ()
    """Runs of the one node, by position, that start later then, and when."""


def hired(
    pools: Mapping[int, HourlyPool],
    runs: Sequence[Waiting],
    caps: Callable[[], Sequence[Cap]],
) -> tuple[dict[int, tuple[Rental, ...]], list[Placed], list[Waiting]]:
    """Return each pool's nodes and the places of its runs, and the runs left over.

    At the least cost found. `caps` gives what quotas leave, anew for each order.
    """
    best: tuple[tuple[int, int], _Filling, list[Waiting]] | None = None
    by_pool: dict[int, list[Waiting]] = defaultdict(list)
    for one in runs:
        by_pool[one.pool].append(one)
    least = sum(
        _least_steps(pools[pool], mine) * pools[pool].cents for pool, mine in by_pool.items()
    )
    # First each run is on the pool on which it is counted; then on any.
    elsewhere = any(way.pool in pools for one in runs for way in one.elsewhere)
    rng, orders, looks = random.Random(0), [sorted(runs, key=key) for key in ORDERS], 0
    order = orders[0]
    for number in range(len(orders) + _MOVED):
        tried = orders[number] if number < len(orders) else _moved(order, rng)
        for free in (False, True) if elsewhere else (False,):
            filling = _Filling(pools, caps(), free=free, shifts=len(runs) <= _SHIFTED)
            left = [one for one in tried if not filling.add(one)]
            work.add(filling.looks * _LOOK_S)
            looks += filling.looks
            paid = sum(one.shape.gpus * one.shape.run.hours for one in left), filling.cents
            if best is None or paid <= best[0]:
                best, order = (paid, filling, left), tried
        if looks > _LOOKS or (best is not None and best[0] <= (0, least)):
            break
    assert best is not None
    return *best[1].result(), best[2]


def _moved(order: Sequence[Waiting], rng: random.Random) -> list[Waiting]:
    """Return the order with one run, drawn at random, at another place."""
    moved = list(order)
    moved.insert(rng.randrange(len(moved)), moved.pop(rng.randrange(len(moved))))
    return moved


def _least_steps(kind: HourlyPool, runs: Sequence[Waiting]) -> int:
    """Return a lower bound of the steps: by the longest run, all GPU-hours, and the minimum."""
    node, hours = kind.pool.node, [one.shape.run.hours for one in runs]
    spent = [one.nodes * one.shape.run.hours for one in runs]
    taken = (
        sum(one.on_node.gpus * each for one, each in zip(runs, spent, strict=True)) / node.gpus,
        sum(one.on_node.cpus * each for one, each in zip(runs, spent, strict=True)) / node.cpus,
        sum(one.on_node.memory_mb * each for one, each in zip(runs, spent, strict=True))
        / node.memory_mb,
        max(hours),
    )
    at_once = max(one.nodes for one in runs)
    return max(kind.hire.steps(-int(-max(taken) // 1)), at_once * kind.hire.steps(min(hours)))


class _Filling:
    """Nodes that are being filled with runs, one after another."""

    def __init__(
        self, pools: Mapping[int, HourlyPool], caps: Sequence[Cap], *, free: bool, shifts: bool
    ) -> None:
        """Begin without a node; `free` runs may go to any pool that can have them.

        With `shifts`, runs start later for others.
        """
        self._pools, self._caps, self._free, self._shifts = pools, caps, free, shifts
        self._nodes: list[_Node] = []
        self._runs: list[_Run] = []
        limits = {one.offer: one.most for one in pools.values() if one.most is not None}
        self._there = {offer: UsageProfile(most) for offer, most in limits.items()}
        """For each offer with a limit, the nodes that are paid, hour by hour."""
        self.looks = 0
        """How often a run was compared with a node or another run."""

    @property
    def cents(self) -> int:
        """Return what is paid."""
        return sum(node.steps * node.kind.cents for node in self._nodes)

    def result(self) -> tuple[dict[int, tuple[Rental, ...]], list[Placed]]:
        """Return the nodes of each pool, by time, and where on them the runs are."""
        rentals: dict[int, list[Rental]] = defaultdict(list)
        position = {}
        for node in sorted(self._nodes, key=lambda node: (*node.paid, node.number)):
            position[node.number] = len(rentals[node.pool])
            rentals[node.pool].append(Rental(*node.paid, node.steps))
        placed = [
            Placed(
                run.way.pool,
                run.way.shape,
                run.start,
                tuple((position[node.number], run.gpu) for node in run.nodes),
            )
            for run in self._runs
        ]
        return {pool: tuple(nodes) for pool, nodes in rentals.items()}, placed

    def add(self, one: Waiting) -> bool:
        """Put a run where it adds least; return False if there is no room."""
        ways = [way for way in (one.ways if self._free else (one,)) if way.pool in self._pools]
        found = min((place for way in ways for place in self._places(way)), default=None)
        if found is None:
            return False
        way = next(way for way in ways if way.pool == found.pool)
        self._put(way, found)
        return True

    def _put(self, one: Waiting, place: _Place) -> None:
        """Give a run its place."""
        kind = self._pools[place.pool]
        for number in range(len(self._nodes), max(place.nodes) + 1):
            room = _empty(kind.pool.node)
            self._nodes.append(_Node(number, place.pool, kind, room, start=RUN_HOURS))
        nodes = [self._nodes[number] for number in place.nodes]
        run = _Run(one, place.start, nodes, place.gpu)
        self._runs.append(run)
        for cap in self._caps:
            if cap.counts(one):
                cap.use.take(one.shape.gpus, run.start, run.end)
        for node in nodes:
            if node.runs:
                self._pay(node, -1)
            node.runs.append(run)
            node.start, node.last = min(node.start, run.start), max(node.last, run.end)
            if place.later:
                for position, start in place.later:
                    node.runs[position].start = start
                node.start = min(other.start for other in node.runs)
                node.room.clear()
            for other in node.runs if place.later else (run,):
                node.room.take(other.shape, other.start, other.gpu)
            self._pay(node, 1)

    def _pay(self, node: _Node, times: int) -> None:
        """Count a node among those that its offer gives."""
        there = self._there.get(node.kind.offer)
        if there is not None:
            there.take(times, *node.paid)

    def _gives(
        self, kind: HourlyPool, before: Sequence[_Interval], after: Sequence[_Interval]
    ) -> bool:
        """Return whether an offer gives nodes for some hours, if these give back others."""
        there = self._there.get(kind.offer)
        if there is None:
            return True
        for one in before:
            there.take(-1, *one)
        taken = []
        for one in after:
            if not there.allows(1, *one):
                break
            there.take(1, *one)
            taken.append(one)
        for one in taken:
            there.take(-1, *one)
        for one in before:
            there.take(1, *one)
        return len(taken) == len(after)

    def _places(self, one: Waiting) -> Iterator[_Place]:
        """Yield where a run may go on the pool that it names."""
        kind, mine = self._pools[one.pool], [cap for cap in self._caps if cap.counts(one)]
        nodes = [node for node in self._nodes if node.pool == one.pool]
        if one.nodes > 1:
            yield from self._on_several(one, kind, mine, nodes)
            return
        for node in nodes:
            for place, paid in self._beside(node, one, mine):
                if self._gives(kind, [node.paid], [paid]):
                    yield place
        alone, steps = self._alone(one, kind, mine), kind.hire.steps(one.shape.run.hours)
        if alone is not None:
            yield _Place(steps * kind.cents, 1, alone, one.pool, (len(self._nodes),), 0)

    def _beside(
        self, node: _Node, one: Waiting, caps: Sequence[Cap]
    ) -> Iterator[tuple[_Place, _Interval]]:
        """Yield places on an existing node, each with the hours that are paid then.

        As soon as the node is there; and as soon as the run can, if others start as late as they
        can.
        """
        shape, hire = one.on_node, node.kind.hire
        earliest = max(node.paid[0], shape.run.earliest)
        for after in dict.fromkeys((earliest, shape.run.earliest) if self._shifts else (earliest,)):
            self.looks += 1
            found = _free(node.room, shape, after, caps)
            if found is None:
                continue
            firsts = node.room.open_to(shape, found)
            for gpu in dict.fromkeys((firsts[0], firsts[-1]) if self._shifts else firsts[:1]):
                run = _Run(one, found, (node,), gpu)
                first, last = min(node.start, found), max(node.last, run.end)
                later: tuple[tuple[int, int], ...] = ()
                if self._shifts and hire.steps(last - first) > node.steps:
                    first, later = self._later(node, run)
                steps = hire.steps(last - first)
                cents = (steps - node.steps) * node.kind.cents
                place = _Place(cents, 0, found, node.pool, (node.number,), gpu, later)
                yield place, hire.paid(first, last)
                if steps == node.steps:
                    return

    def _later(self, node: _Node, new: _Run) -> tuple[int, tuple[tuple[int, int], ...]]:
        """Return when a node can come once a run is on it, and the runs that start later then.

        Each starts as late as it can before those that follow it. Runs on several nodes, or with
        a quota, stay where they are.
        """
        every = [*node.runs, new]
        last, starts = max(one.end for one in every), [one.start for one in every]
        order = sorted(range(len(every)), key=lambda at: -starts[at])
        for position in order:
            self.looks += len(every)
            one, hours = every[position], every[position].shape.run.hours
            if len(one.nodes) > 1 or any(cap.counts(one.way) for cap in self._caps):
                continue
            others = [(every[at], start) for at, start in enumerate(starts) if at != position]
            behind = [start for other, start in others if start >= one.start and one.meets(other)]
            start = min(one.shape.run.latest, last - hours, *(after - hours for after in behind))
            beside = [
                other.shape
                for other, begins in others
                if begins < start + hours and start < begins + other.shape.run.hours
            ]
            if (
                sum(shape.cpus for shape in (one.shape, *beside)) <= node.room.cpus
                and sum(shape.memory_mb for shape in (one.shape, *beside)) <= node.room.memory_mb
            ):
                starts[position] = start
        pairs = enumerate(zip(every, starts, strict=True))
        return min(starts), tuple((at, start) for at, (one, start) in pairs if start > one.start)

    def _alone(self, one: Waiting, kind: HourlyPool, caps: Sequence[Cap]) -> int | None:
        """Return the first hour of a run on a node of its own."""
        run, there = one.shape.run, self._there.get(kind.offer)
        paid = kind.hire.steps(run.hours) * kind.hire.step_hours
        last = max(0, RUN_HOURS - paid)  # from here on, the same hours are paid whenever it starts
        start = run.earliest
        while (allowed := allowed_by(caps, one.shape, start)) is not None:
            if not there:
                return allowed
            comes = min(allowed, last)
            given = there.earliest(1, RunWindow(paid, comes, min(run.latest, last) + paid), comes)
            if given is None or given == comes:
                return None if given is None else allowed
            start = given
        return None

    def _on_several(
        self, one: Waiting, kind: HourlyPool, caps: Sequence[Cap], nodes: Sequence[_Node]
    ) -> Iterator[_Place]:
        """Return whole nodes for the hours of a run: existing ones, and new ones."""
        shape, run, alone = one.on_node, one.shape.run, kind.hire.steps(one.shape.run.hours)
        there = [node for node in self._nodes if node.kind.offer == kind.offer]
        starts = {run.earliest, *(hour for node in there for hour in (node.last, node.paid[1]))}
        starts |= {node.start - run.hours for node in there}
        for start in {allowed_by(caps, one.shape, max(hour, run.earliest)) for hour in starts}:
            if start is None or start > run.latest:
                continue
            end = start + run.hours
            free = [
                node
                for node in nodes
                if (found := node.room.earliest(shape, start)) is not None and found[0] == start
            ]
            free.sort(key=lambda node: (node.steps_with(start, end) - node.steps, node.number))
            cheap = [node for node in free if node.steps_with(start, end) - node.steps <= alone]
            for mine in (cheap[: one.nodes], free[: one.nodes]):
                new = one.nodes - len(mine)
                paid = [node.paid_with(start, end) for node in mine]
                paid += [kind.hire.paid(start, end)] * new
                if self._gives(kind, [node.paid for node in mine], paid):
                    steps = sum(node.steps_with(start, end) - node.steps for node in mine)
                    numbers = [node.number for node in mine]
                    numbers += range(len(self._nodes), len(self._nodes) + new)
                    cents = (steps + new * alone) * kind.cents
                    yield _Place(cents, new, start, one.pool, tuple(numbers), 0)
                    break


def _empty(node: Shape) -> Room:
    room = Room(0, node.gpus, node.cpus, node.memory_mb, scarce=True)
    room.clear()
    return room


def _free(room: Room, shape: Shape, after: int, caps: Sequence[Cap]) -> int | None:
    """Return the first hour of a run on an existing node, from an hour on."""
    while True:
        place = room.earliest(shape, after)
        if place is None:
            return None
        allowed = allowed_by(caps, shape, place[0])
        if allowed is None or allowed == place[0]:
            return allowed
        after = allowed
