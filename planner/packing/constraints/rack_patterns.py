"""Racks: which sets of nodes one rack holds, and whether the nodes in service fit the racks.

A *pattern* says how many nodes of each pool stand in one rack. Only fullest patterns are listed:
whatever fits a rack is part of one of them, so that counting racks by fullest pattern is exact.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from planner.packing.solution import Racked
from planner.packing.solvers.program import Program
from planner.packing.solvers.solver import solve_integer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planner.packing.limits import RackSpace

__all__ = ["Sizes", "fullest", "kinds", "patterns", "racked"]

_TIME_S = 10.0

Sizes = tuple[tuple[int, int], ...]
"""Rack units and W of each kind of node, the largest first."""


def kinds(space: RackSpace) -> dict[tuple[int, int], tuple[int, ...]]:
    """Pools by what one of their nodes takes: to a rack, nodes of the same size are alike."""
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    for pool, units, watts in space.nodes:
        found[units, watts] = (*found.get((units, watts), ()), pool)
    return dict(sorted(found.items(), reverse=True))


@lru_cache(maxsize=256)
def patterns(sizes: Sizes, units: int, power_w: int | None) -> tuple[tuple[int, ...], ...]:
    """Every fullest set of nodes that one rack holds: nodes of each size."""
    room = (units, 0 if power_w is None else power_w)
    return tuple(fullest(sizes, room))


def fullest(
    sizes: Sizes, room: tuple[int, int], held: tuple[int, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """Patterns that begin with `held`; fullest are those that leave no room for any node."""
    if len(held) == len(sizes):
        if not any(_most(size, room) for size in sizes):
            yield held
        return
    size = sizes[len(held)]
    most = _most(size, room)
    fewest = most if len(held) == len(sizes) - 1 else 0
    for count in range(most, fewest - 1, -1):
        left = (room[0] - count * size[0], room[1] - count * size[1])
        yield from fullest(sizes, left, (*held, count))


def _most(size: tuple[int, int], room: tuple[int, int]) -> int:
    by_units = room[0] // size[0]
    return min(by_units, room[1] // size[1]) if size[1] else by_units


def racked(space: RackSpace, nodes: Mapping[int, int]) -> tuple[Racked, ...] | None:
    """Racks that hold these nodes, by pool; None where they do not fit."""
    groups = kinds(space)
    sizes = tuple(groups)
    asked = tuple(sum(nodes.get(pool, 0) for pool in pools) for pools in groups.values())
    filled = _filled(sizes, space.units, space.power_w, asked, space.count)
    if filled is None:
        return None
    waiting = [
        [pool for pool in pools for _ in range(nodes.get(pool, 0))] for pools in groups.values()
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
    sizes: Sizes, units: int, power_w: int | None, asked: tuple[int, ...], most: int
) -> tuple[tuple[tuple[int, ...], int], ...] | None:
    """How often each pattern is used so that all nodes stand, in as few racks as can be."""
    greedy = _first_fit(sizes, units, power_w, asked)
    if sum(times for _, times in greedy) <= most:
        return greedy
    program = Program()
    used = {
        pattern: program.variable("rack", cost=1.0, integer=True)
        for pattern in patterns(sizes, units, power_w)
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
    sizes: Sizes, units: int, power_w: int | None, asked: tuple[int, ...]
) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Rack after rack filled with the largest nodes left."""
    left, racks = list(asked), []
    while any(left):
        room, held = (units, 0 if power_w is None else power_w), []
        for place, size in enumerate(sizes):
            count = min(left[place], _most(size, room))
            room = (room[0] - count * size[0], room[1] - count * size[1])
            held.append(count)
        times = min(left[place] // count for place, count in enumerate(held) if count)
        left = [nodes - times * count for nodes, count in zip(left, held, strict=True)]
        racks.append((tuple(held), times))
    return tuple(racks)
