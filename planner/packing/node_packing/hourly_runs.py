"""Runs on nodes that are had, and paid, for some hours: few hours, shared by many runs.

Each run in turn goes where it adds the least to what is paid: beside others on a node that is there
anyway, after them, or on a node of its own. Several orders are tried.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.node_packing.list_schedule import (
    ORDERS,
    Room,
    UsageProfile,
    allowed_by,
    offsets_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from planner.packing.node_packing.list_schedule import Cap, Waiting
    from planner.packing.problem import HourlyTerms, Pool, Shape

__all__ = ["Rental", "hired"]

_EVERY_ORDER, _SHUFFLED, _WORK = 6, 100, 4000
"""Runs of which every order is tried; beyond, orders drawn at random, and runs placed in them."""
_MORE = 2
"""Steps beyond the least for which one node is filled GPU by GPU."""


@dataclass(frozen=True, slots=True)
class Rental:
    """A node from when it comes to when it goes, and the runs on it."""

    start: int
    end: int
    """All hours between them are paid."""
    steps: int
    """As they are counted: hours or terms."""
    runs: tuple[tuple[Shape, int, int], ...]
    """A run as it is asked for, its first hour, and the first of its GPUs."""


@dataclass(slots=True)
class _Node:
    """A node that is being filled."""

    room: Room
    start: int
    hire: HourlyTerms
    last: int = 0
    """The hour at which its last run ends."""
    runs: list[tuple[Shape, int, int]] = field(default_factory=list)

    @property
    def steps(self) -> int:
        return self.hire.steps(self.last - self.start)

    @property
    def end(self) -> int:
        """When what is paid ends."""
        return self.start + self.steps * self.hire.step_hours

    def added(self, shape: Shape, start: int) -> int:
        """Steps that a run adds."""
        end = max(self.last, start + shape.run.hours)
        return self.hire.steps(end - self.start) - self.steps


def hired(
    pool: Pool,
    most: int | None,
    runs: Sequence[Waiting],
    caps: Callable[[], Sequence[Cap]],
) -> tuple[list[Rental], list[Waiting]]:
    """Nodes with all runs in the order that pays for the least, and runs that found no room.

    `most` nodes at once. `caps` gives what quotas leave, anew for each order.
    """
    best: tuple[tuple[int, int], list[_Node], list[Waiting]] | None = None
    least = _least(pool, runs)
    for steps in range(least, least + _MORE + 1):
        node = None if most == 0 else _stacked(pool, steps, runs, caps())
        if node is not None:
            best = (0, node.steps), [node], []
            break
    for order in _orders(runs):
        if best is not None and best[0] <= (0, least):
            break
        nodes, left = _filled(pool, most, order, caps())
        short = sum(one.shape.gpus * one.shape.run.hours for one in left)
        paid = short, sum(node.steps for node in nodes)
        if best is None or paid < best[0]:
            best = paid, nodes, left
    assert best is not None
    _, nodes, left = best
    rentals = [Rental(one.start, one.end, one.steps, tuple(one.runs)) for one in nodes]
    return sorted(rentals, key=lambda one: (one.start, one.end, one.runs)), left


def _orders(runs: Sequence[Waiting]) -> Iterator[Sequence[Waiting]]:
    """Orders to try: every one where runs are few, else some, and others drawn at random."""
    if len(runs) <= _EVERY_ORDER:
        yield from permutations(sorted(runs, key=ORDERS[0]))
        return
    for key in ORDERS:
        yield sorted(runs, key=key)
    rng, order = random.Random(0), sorted(runs, key=ORDERS[0])
    for _ in range(min(_SHUFFLED, _WORK // len(runs))):
        rng.shuffle(order)
        yield order


def _least(pool: Pool, runs: Sequence[Waiting]) -> int:
    """Steps without which these cannot be: for the hours of the longest, and for all GPU-hours."""
    assert pool.hire is not None
    node, hours = pool.node, [one.shape.run.hours for one in runs]
    taken = (
        sum(one.shape.gpus * one.shape.run.hours for one in runs) / node.gpus,
        sum(one.shape.cpus * one.shape.run.hours for one in runs) / node.cpus,
        sum(one.shape.memory_mb * one.shape.run.hours for one in runs) / node.memory_mb,
        max(hours),
    )
    return pool.hire.steps(-int(-max(taken) // 1))


def _stacked(pool: Pool, steps: int, runs: Sequence[Waiting], caps: Sequence[Cap]) -> _Node | None:
    """One node for so many steps that has all runs, the GPUs one after another as full as can be.

    None where that leaves a run out, or a window, the host or a quota forbids its hours.
    """
    assert pool.hire is not None
    hours = min(steps * pool.hire.step_hours, RUN_HOURS)
    node = _new(pool, 0)
    for size in sorted({one.shape.gpus for one in runs}, reverse=True):
        rest = sorted((one for one in runs if one.shape.gpus == size), key=ORDERS[0])
        firsts = offsets_of(pool.node.gpus, size)
        for first in sorted(firsts, key=lambda at: -node.room.end(at, size)):
            start = node.room.end(first, size)
            for place in reversed(_fullest([one.shape.run.hours for one in rest], hours - start)):
                one = rest.pop(place)
                shape = one.on_node._replace(run=one.shape.run)
                uses = (cap.use for cap in caps if cap.counts(one))
                end = start + shape.run.hours
                if not node.room.allows(shape, start) or not all(
                    use.allows(one.shape.gpus, start, end) for use in uses
                ):
                    return None
                _put(node, one, start, first, caps)
                start += shape.run.hours
        if rest:
            return None
    return node


def _fullest(sizes: Sequence[int], most: int) -> list[int]:
    """Places of those that add up to the most that is not beyond `most`, in order."""
    reached = [1]
    for size in sizes:
        reached.append((reached[-1] | reached[-1] << size) & ((1 << most + 1) - 1))
    total, found = reached[-1].bit_length() - 1, []
    for place in range(len(sizes) - 1, -1, -1):
        if not reached[place] >> total & 1:
            found.append(place)
            total -= sizes[place]
    return found[::-1]


def _put(node: _Node, one: Waiting, start: int, gpu: int, caps: Sequence[Cap]) -> None:
    shape = one.on_node._replace(run=one.shape.run)
    node.room.take(shape, start, gpu)
    node.runs.append((one.shape, start, gpu))
    node.last = max(node.last, start + shape.run.hours)
    for cap in caps:
        if cap.counts(one):
            cap.use.take(one.shape.gpus, start, start + shape.run.hours)


def _filled(
    pool: Pool, most: int | None, order: Sequence[Waiting], caps: Sequence[Cap]
) -> tuple[list[_Node], list[Waiting]]:
    nodes: list[_Node] = []
    left: list[Waiting] = []
    there = None if most is None else UsageProfile(most)
    for one in order:
        mine = [cap for cap in caps if cap.counts(one)]
        found = min(_places(pool, nodes, there, one, mine), default=None)
        if found is None:
            left.append(one)
            continue
        _, _, start, number, gpu = found
        if number == len(nodes):
            nodes.append(_new(pool, start))
        node = nodes[number]
        before = node.end if node.runs else node.start
        _put(node, one, start, gpu, mine)
        if there is not None:
            there.take(1, before, node.end)
    return nodes, left


def _new(pool: Pool, start: int) -> _Node:
    assert pool.hire is not None
    node = pool.node
    room = Room(0, node.gpus, node.cpus, node.memory_mb, scarce=True)
    room.clear()
    return _Node(room, start, pool.hire, start)


def _places(
    pool: Pool,
    nodes: Sequence[_Node],
    there: UsageProfile | None,
    one: Waiting,
    caps: Sequence[Cap],
) -> Iterator[tuple[int, bool, int, int, int]]:
    """Steps that it adds, whether on a new node, first hour, number of the node, first GPU."""
    shape = one.on_node._replace(run=one.shape.run)
    for number, node in enumerate(nodes):
        place = _beside(node, shape, caps)
        if place is not None:
            start, gpu = place
            added = node.added(shape, start)
            after = node.end + added * node.hire.step_hours
            if not added or there is None or there.allows(1, node.end, after):
                yield added, False, start, number, gpu
    alone = _alone(pool, shape, there, caps)
    if alone is not None:
        assert pool.hire is not None
        yield pool.hire.steps(shape.run.hours), True, alone, len(nodes), 0


def _beside(node: _Node, shape: Shape, caps: Sequence[Cap]) -> tuple[int, int] | None:
    """First hour and GPU of a run on a node that is there."""
    after = max(node.start, shape.run.earliest)
    while True:
        place = node.room.earliest(shape, after)
        if place is None:
            return None
        allowed = allowed_by(caps, shape, place[0])
        if allowed is None or allowed == place[0]:
            return (place[0], place[2]) if allowed is not None else None
        after = allowed


def _alone(pool: Pool, shape: Shape, there: UsageProfile | None, caps: Sequence[Cap]) -> int | None:
    """First hour of a run on a node of its own."""
    assert pool.hire is not None
    paid = pool.hire.steps(shape.run.hours) * pool.hire.step_hours
    start: int | None = shape.run.earliest
    while start is not None and start <= shape.run.latest:
        start = allowed_by(caps, shape, start)
        if start is None or there is None or there.allows(1, start, start + paid):
            return start
        start += 1
    return None
