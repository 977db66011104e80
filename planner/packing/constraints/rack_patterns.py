"""Racks: which sets of nodes one rack holds, and whether the nodes in service fit the racks.

A *pattern* says how many nodes of each pool stand in one rack. Only fullest patterns are listed:
whatever fits a rack is part of one of them, so that counting racks by fullest pattern is exact.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING

from planner.packing.solution import Racked
from planner.packing.solvers.program import Program
from planner.packing.solvers.solver import solve_integer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from planner.packing.limits import RackSpace

__all__ = ["Group", "Sizes", "fullest", "kinds", "patterns", "racked", "room_of"]

_TIME_S = 10.0

Size = tuple[int, ...]
"""Of a node: rack units, W, and 1 for each group of which a rack may hold so many that it is of. Of
a rack: what there is of each."""
Sizes = tuple[Size, ...]
"""Of each kind of node, the largest first."""
Group = Collection[int]
"""Pools of whose nodes a rack may hold so many."""


def kinds(space: RackSpace, groups: Sequence[Group] = ()) -> dict[Size, tuple[int, ...]]:
    """Pools by what one of their nodes takes: to a rack, nodes of the same size are alike."""
    found: dict[Size, tuple[int, ...]] = {}
    for pool, units, watts in space.nodes:
        size = (units, watts, *(int(pool in group) for group in groups))
        found[size] = (*found.get(size, ()), pool)
    return dict(sorted(found.items(), reverse=True))


def room_of(space: RackSpace, most: Iterable[int] = ()) -> Size:
    """What one rack offers, where it may hold so many nodes of each group."""
    return space.units, space.power_w or 0, *most


@lru_cache(maxsize=256)
def patterns(sizes: Sizes, room: Size) -> tuple[tuple[int, ...], ...]:
    """Every fullest set of nodes that one rack holds: nodes of each size."""
    return tuple(fullest(sizes, room))


def fullest(sizes: Sizes, room: Size, held: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Patterns that begin with `held`; fullest are those that leave no room for any node."""
    if len(held) == len(sizes):
        if not any(_most(size, room) for size in sizes):
            yield held
        return
    size = sizes[len(held)]
    most = _most(size, room)
    fewest = most if len(held) == len(sizes) - 1 else 0
    for count in range(most, fewest - 1, -1):
        left = _left(room, size, count)
        yield from fullest(sizes, left, (*held, count))


def _most(size: Size, room: Size) -> int:
    """Nodes that there is room for; what none of them takes is of no account."""
    return min(there // taken for taken, there in zip(size, room, strict=True) if taken)


def _left(room: Size, size: Size, count: int) -> Size:
    return tuple(there - count * taken for taken, there in zip(size, room, strict=True))


def racked(
    space: RackSpace, nodes: Mapping[int, int], most: Sequence[tuple[Group, int]] = ()
) -> tuple[Racked, ...] | None:
    """Racks that hold these nodes, by pool; None where they do not fit.

    Each may hold at `most` so many nodes of a group of pools.
    """
    alike = kinds(space, [group for group, _ in most])
    asked = tuple(sum(nodes.get(pool, 0) for pool in pools) for pools in alike.values())
    room = room_of(space, (count for _, count in most))
    filled = _filled(tuple(alike), room, asked, space.count)
    if filled is None:
        return None
    waiting = [
        [pool for pool in pools for _ in range(nodes.get(pool, 0))] for pools in alike.values()
    ]
    return tuple(_named(filled, waiting))


def _named(
    filled: Sequence[tuple[tuple[int, ...], int]], waiting: Sequence[list[int]]
) -> Iterator[Racked]:
    """Each rack with the pools of its nodes; those in a row that hold the same are one entry."""
    last: Racked | None = None
    for pattern, times in filled:
        for _ in range(times):
            held: dict[int, int] = {}
            for queue, count in zip(waiting, pattern, strict=True):
                for pool in queue[:count]:
                    held[pool] = held.get(pool, 0) + 1
                del queue[:count]
            nodes = tuple(sorted(held.items()))
            if last and last.nodes == nodes:
                last = Racked(nodes, last.count + 1)
                continue
            if last:
                yield last
            last = Racked(nodes, 1) if nodes else None
    if last:
        yield last


@lru_cache(maxsize=4096)
def _filled(
    sizes: Sizes, room: Size, asked: tuple[int, ...], most: int
) -> tuple[tuple[tuple[int, ...], int], ...] | None:
    """How often each pattern is used so that all nodes stand, in as few racks as can be."""
    greedy = _first_fit(sizes, room, asked)
    if greedy is not None and sum(times for _, times in greedy) <= most:
        return greedy
    program = Program()
    used = {
        pattern: program.variable("rack", cost=1.0, integer=True)
        for pattern in patterns(sizes, room)
    }
    for place, nodes in enumerate(asked):
        holds = {index: float(pattern[place]) for pattern, index in used.items()}
        program.row("standing", holds, ">=", nodes)
    program.row("racks", dict.fromkeys(used.values(), 1.0), "<=", most)
    answer = solve_integer(program, time_limit_s=_TIME_S)
    if not answer.values:
        return None
    chosen = ((pattern, round(answer.values[index])) for pattern, index in used.items())
    return tuple((pattern, times) for pattern, times in chosen if times)


def _first_fit(
    sizes: Sizes, room: Size, asked: tuple[int, ...]
) -> tuple[tuple[tuple[int, ...], int], ...] | None:
    """Rack after rack filled with the largest nodes left; None where a rack holds none of some."""
    left, racks = list(asked), []
    while any(left):
        free, held = room, []
        for place, size in enumerate(sizes):
            count = min(left[place], _most(size, free))
            free = _left(free, size, count)
            held.append(count)
        if not any(held):
            return None
        times = min(left[place] // count for place, count in enumerate(held) if count)
        left = [nodes - times * count for nodes, count in zip(left, held, strict=True)]
        racks.append((tuple(held), times))
    return tuple(racks)
