"""List schedule: when runs start, and on which GPUs of which nodes, hour by hour.

Each run in turn takes the node and the neighbouring GPUs on which it can start first. Several
orders are tried; runs are short compared with a quarter, so that hardly an hour is lost. Once a
plan is found, its runs follow each other on the first GPUs that have hours left, so that fewest
are held.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing import work
from planner.packing.problem import RunWindow, Shape

_PASSES = 5
"""How often an order is tried again, with those first that found no place."""

_RUN_S, _ROOM_S, _CAP_S = 1e-5, 1e-5, 1.5e-4
"""Seconds that placing one run takes on a usual machine: for itself, for each node that it
tries, and for each quota that may delay it."""

_Interval = tuple[int, int]
"""The first hour, and the hour by which it has ended."""


@dataclass(slots=True)
class UsageProfile:
    """What runs take of a resource, hour by hour, and the most that they may take."""

    most: int
    by_hour: list[int] = field(default_factory=lambda: [0] * RUN_HOURS)

    def earliest(self, amount: int, run: RunWindow, start: int) -> int | None:
        """Return the first start from this one on at which so much more is free for as long."""
        allowed = self.most - amount
        while start <= run.latest:
            hours = self.by_hour[start : start + run.hours]
            if max(hours) <= allowed:
                return start
            start += 1 + max(hour for hour, taken in enumerate(hours) if taken > allowed)
        return None

    def allows(self, amount: int, start: int, end: int) -> bool:
        """Return whether so much more is free in all of these hours."""
        return max(self.by_hour[start:end], default=0) + amount <= self.most

    def take(self, amount: int, start: int, end: int) -> None:
        """Add what a run takes."""
        for hour in range(start, min(end, RUN_HOURS)):
            self.by_hour[hour] += amount


@dataclass(slots=True)
class Room:
    """What a node leaves to runs: GPUs, numbered from 0, cores and host memory."""

    pool: int
    gpus: int
    cpus: int
    memory_mb: int
    whole: bool = True
    """Whether nothing else is on the node."""
    busy: list[list[_Interval]] = field(default_factory=list)
    """For each GPU, when it is taken, in order; what follows without a break is one interval."""
    host: tuple[UsageProfile, ...] = ()
    """Cores and MB in use, if runs that fill all GPUs may take more than there are."""
    scarce: bool = False
    """Whether they may."""

    def clear(self) -> None:
        """Accept no further run."""
        self.busy = [[] for _ in range(self.gpus)]
        self.host = (UsageProfile(self.cpus), UsageProfile(self.memory_mb)) if self.scarce else ()

    def earliest(
        self, shape: Shape, after: int, *, on_first: bool = False
    ) -> tuple[int, int, int] | None:
        """Return the first possible start, the GPU-hours left idle before it, and the first GPU.

        With `on_first`, those on the first GPUs that have hours left.
        """
        best = None
        if shape.gpus > self.gpus or shape.cpus > self.cpus or shape.memory_mb > self.memory_mb:
            return None
        for first in offsets_of(self.gpus, shape.gpus):
            start = self._free(first, shape, after)
            if start is not None and self.host:
                start = self._with_host(first, shape, start)
            if start is None or (best is not None and start > best[0]):
                continue
            idle = self._idle(first, shape, start)
            if best is None or (start, idle, first) < best:
                best = start, idle, first
                if on_first:
                    break
        return best

    def open_to(self, shape: Shape, start: int) -> list[int]:
        """Yield the first GPUs on which a run can start then, those least idle before first."""
        firsts = offsets_of(self.gpus, shape.gpus)
        free = (first for first in firsts if self._free(first, shape, start) == start)
        return sorted(free, key=lambda first: self._idle(first, shape, start))

    def _idle(self, first: int, shape: Shape, start: int) -> int:
        """Return the GPU-hours before an hour for which nobody takes these GPUs."""
        ends = (
            lane[at - 1][1] if (at := bisect(lane, (start, start))) else 0
            for lane in self._lanes(first, shape)
        )
        return sum(start - end for end in ends)

    def _lanes(self, first: int, shape: Shape) -> list[list[_Interval]]:
        return self.busy[first : first + shape.gpus]

    def _free(self, first: int, shape: Shape, after: int) -> int | None:
        """Return the first start at which these GPUs are free for as long as the run takes."""
        lanes = self._lanes(first, shape)
        taken = lanes[0] if len(lanes) == 1 else sorted(one for lane in lanes for one in lane)
        start = after
        for begins, ends in taken:
            if begins - start >= shape.run.hours:
                break
            start = max(start, ends)
        return start if start <= shape.run.latest else None

    def _with_host(self, first: int, shape: Shape, start: int) -> int | None:
        """Return the first start from this one on at which the host suffices, too."""
        amounts = (shape.cpus, shape.memory_mb)
        free: int | None = start
        while free is not None:
            start = free
            for use, amount in zip(self.host, amounts, strict=True):
                later = use.earliest(amount, shape.run, free)
                if later is None:
                    return None
                free = later
            if free == start:
                return start
            free = self._free(first, shape, free)
        return None

    def take(self, shape: Shape, start: int, first: int) -> None:
        """Give a run neighbouring GPUs."""
        end = start + shape.run.hours
        for lane in self._lanes(first, shape):
            at = bisect(lane, (start, end))
            joins_next = at < len(lane) and lane[at][0] == end
            joins_last = at > 0 and lane[at - 1][1] == start
            until = lane[at][1] if joins_next else end
            since = lane[at - 1][0] if joins_last else start
            lane[at - joins_last : at + joins_next] = [(since, until)]
        for use, amount in zip(self.host, (shape.cpus, shape.memory_mb), strict=False):
            use.take(amount, start, end)


@dataclass(slots=True)
class Cap:
    """At most so many GPUs at any hour, of those whose runs it counts."""

    owner: str
    pools: frozenset[int]
    """The pools whose GPUs count."""
    use: UsageProfile
    """What is held all quarter is subtracted from the most."""

    def counts(self, one: Waiting) -> bool:
        """Return whether a run counts against it."""
        return self.owner == one.shape.owner and one.pool in self.pools


def allowed_by(caps: Iterable[Cap], shape: Shape, start: int) -> int | None:
    """Return the first start from this one on that keeps all of these caps."""
    while True:
        later = [cap.use.earliest(shape.gpus, shape.run, start) for cap in caps]
        if None in later:
            return None
        after = max((hour for hour in later if hour is not None), default=start)
        if after == start:
            return start
        start = after


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run that needs a place."""

    pool: int
    shape: Shape
    """As it is asked for."""
    on_node: Shape
    """What it takes of each of its nodes, and when."""
    nodes: int
    elsewhere: tuple[Waiting, ...] = ()
    """The same run on other pools, if its own leaves it no room."""

    @property
    def ways(self) -> tuple[Waiting, ...]:
        """Return the run on each pool, its own first."""
        return (self, *self.elsewhere)


@dataclass(frozen=True, slots=True)
class Placed:
    """A run that has a place."""

    pool: int
    shape: Shape
    start: int
    places: tuple[tuple[int, int], ...]
    """(position of the node among those of its pool, first GPU there)."""


def scheduled(
    rooms: Sequence[Room], runs: Sequence[Waiting], caps: Callable[[], Sequence[Cap]]
) -> tuple[list[Placed], list[Waiting]]:
    """Return the places of runs, and those without one, in the order that places most GPU-hours.

    `rooms` are empty at first, and `caps` gives them anew for each order.
    """
    _mark_scarce(rooms, runs)
    best: tuple[int, list[Placed], list[Waiting]] | None = None
    for order in _orders(runs):
        for room in rooms:
            room.clear()
        limits = caps()
        placed, left = _filled(rooms, order, limits)
        work.add(len(order) * (_RUN_S + _ROOM_S * len(rooms) + _CAP_S * len(limits)))
        short = sum(one.shape.gpus * one.shape.run.hours for one in left)
        if best is None or short < best[0]:
            best = short, placed, left
        if not left:
            break
        for one in left:
            order.remove(one)
        order[:0] = left
    assert best is not None
    return best[1], best[2]


def one_after_the_other(
    rooms: Sequence[Room], runs: Sequence[Waiting], caps: Sequence[Cap]
) -> list[Placed] | None:
    """Return the places of runs by first-fit, which holds few GPUs; None if one finds no place.

    `rooms` are empty at first.
    """
    _mark_scarce(rooms, runs)
    for room in rooms:
        room.clear()
    placed, left = _filled(rooms, sorted(runs, key=ORDERS[0]), caps, on_first=True)
    return None if left else placed


def _orders(runs: Sequence[Waiting]) -> Iterator[list[Waiting]]:
    """Yield orders to try, each also with those first that found no place.

    A list is then yielded again.
    """
    for key in ORDERS:
        order = sorted(runs, key=key)
        for _ in range(1 + _PASSES):
            yield order


def _mark_scarce(rooms: Iterable[Room], runs: Sequence[Waiting]) -> None:
    most: dict[int, tuple[float, float]] = {}
    for way in {way for one in set(runs) for way in one.ways}:
        shape = way.on_node
        cpus, memory_mb = most.get(way.pool, (0.0, 0.0))
        most[way.pool] = (
            max(cpus, shape.cpus / shape.gpus),
            max(memory_mb, shape.memory_mb / shape.gpus),
        )
    for room in rooms:
        cpus, memory_mb = most.get(room.pool, (0.0, 0.0))
        room.scarce = cpus * room.gpus > room.cpus or memory_mb * room.gpus > room.memory_mb


def _filled(
    rooms: Sequence[Room], runs: Sequence[Waiting], caps: Sequence[Cap], *, on_first: bool = False
) -> tuple[list[Placed], list[Waiting]]:
    placed: list[Placed] = []
    left: list[Waiting] = []
    by_pool: dict[int, list[int]] = {}
    for number, room in enumerate(rooms):
        by_pool.setdefault(room.pool, []).append(number)
    hopeless: set[Waiting] = set()
    for one in runs:
        found = None
        for way in one.ways if one not in hopeless else ():
            mine = [cap for cap in caps if cap.counts(way)]
            found = _place(rooms, by_pool.get(way.pool, []), way, mine, on_first=on_first)
            if found is not None:
                break
        if found is None:
            hopeless.add(one)
            left.append(one)
            continue
        start, places = found
        for number, first in places:
            rooms[number].take(way.on_node, start, first)
        for cap in mine:
            cap.use.take(one.shape.gpus, start, start + one.shape.run.hours)
        before = by_pool[way.pool][0]
        where = tuple((number - before, first) for number, first in places)
        placed.append(Placed(way.pool, one.shape, start, where))
    return placed, left


def _place(
    rooms: Sequence[Room],
    numbers: Sequence[int],
    one: Waiting,
    caps: Sequence[Cap],
    *,
    on_first: bool,
) -> tuple[int, list[tuple[int, int]]] | None:
    """Return the first start and its place, or the one on the first GPUs; None if there is none."""
    after = one.shape.run.earliest
    while after <= one.shape.run.latest:
        if one.nodes > 1:
            found = _on_several(rooms, numbers, one.on_node, one.nodes, after)
        else:
            found = _on_one(rooms, numbers, one.on_node, after, on_first=on_first)
        if found is None:
            return None
        allowed = allowed_by(caps, one.shape, found[0])
        if allowed is None or allowed == found[0]:
            return found if allowed is not None else None
        after = allowed
    return None


def _on_one(
    rooms: Sequence[Room], numbers: Iterable[int], shape: Shape, after: int, *, on_first: bool
) -> tuple[int, list[tuple[int, int]]] | None:
    best: tuple[int, int, int, int] | None = None
    for number in numbers:
        found = rooms[number].earliest(shape, after, on_first=on_first)
        if found is not None and (best is None or (*found[:2], number) < best[:3]):
            best = (*found[:2], number, found[2])
            if on_first or found[:2] == (after, 0):
                break
    return (best[0], [(best[2], best[3])]) if best else None


def _on_several(
    rooms: Sequence[Room], numbers: Sequence[int], shape: Shape, nodes: int, after: int
) -> tuple[int, list[tuple[int, int]]] | None:
    """Return whole nodes that are all free from the same hour on."""
    empty = [number for number in numbers if rooms[number].whole]
    ends = {end for number in empty for gpu in rooms[number].busy for _, end in gpu}
    for start in sorted({after, *(end for end in ends if after < end <= shape.run.latest)}):
        open_to = [
            number
            for number in empty
            if (found := rooms[number].earliest(shape, start)) is not None and found[0] == start
        ]
        if len(open_to) >= nodes:
            return start, [(number, 0) for number in open_to[:nodes]]
    return None


@cache
def offsets_of(gpus: int, size: int) -> list[int]:
    """Return the first GPUs of neighbours that break up least, the last ones first."""
    aligned = list(range(0, gpus - size + 1, size))
    return aligned if aligned[-1] == gpus - size else [*aligned, gpus - size]


ORDERS: tuple[Callable[[Waiting], tuple[object, ...]], ...] = (
    lambda one: (-one.shape.gpus, one.shape.run.latest, -one.shape.run.hours, one.shape),
    lambda one: (one.shape.run.latest, -one.shape.gpus, -one.shape.run.hours, one.shape),
    lambda one: (-one.shape.gpus, -one.shape.run.hours, one.shape.run.latest, one.shape),
    lambda one: (-one.shape.gpus * one.shape.run.hours, one.shape.run.latest, one.shape),
    lambda one: (
        one.shape.run.latest - one.shape.run.earliest,
        -one.shape.gpus,
        -one.shape.run.hours,
        one.shape,
    ),
)
"""Orders: wide runs first, those that must start soon, the longest, those with the least leeway."""
