"""Racks of a site: rows `standing` and `racks` count racks by what they hold.

A *pattern* says how many nodes of each pool stand in one rack. Only maximal patterns are listed:
whatever fits a rack is part of one of them, so counting racks by maximal pattern is exact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from operator import mul

from planner.inputs.text import amount_text
from planner.packing.constraints.base import SITES, Condition, rising, widening
from planner.packing.constraints.spares import fewest_empty, most_in_rack
from planner.packing.master import MasterProgram, Terms
from planner.packing.problem import Problem, RackSpace, SharedSpares
from planner.packing.solution import Racked
from planner.packing.solver import Program, solve_integer
from planner.packing.translation import Translation

BILL = SITES
_TIME_S = 10.0

_Size = tuple[int, ...]
"""Of a node: rack units, W, and 1 for each group of which a rack may hold so many that it is of. Of
a rack: what there is of each."""
_Sizes = tuple[_Size, ...]
"""Of each kind of node, the largest first."""
_Group = Collection[int]
"""Pools of whose nodes a rack may hold so many."""


def add_rows(master: MasterProgram) -> None:
    """State the racks of every site."""
    for space in master.problem.racks:
        for quarter in _fullest_quarters(master.problem, space):
            _racks(master, space, quarter)


def _fullest_quarters(problem: Problem, space: RackSpace) -> range:
    """Return the quarters that bind.

    The last alone, if nodes come and never leave and no rack may fail.
    """
    pools = {pool for pool, _, _ in space.nodes}
    leave = any(problem.pools[pool].retired for pool in pools) or any(
        supply.pool in pools and supply.kind != "buy" for supply in problem.supplies
    )
    leave = leave or bool(_groups(problem, space))
    return range(0 if leave else problem.quarters - 1, problem.quarters)


def _groups(problem: Problem, space: RackSpace) -> dict[int, SharedSpares]:
    """Return the groups of shared spares that must outlast the loss of some of these racks."""
    groups = enumerate(problem.spare_groups)
    return {index: group for index, group in groups if group.racks and group.site == space.site}


def _racks(master: MasterProgram, space: RackSpace, quarter: int) -> None:
    groups = _groups(master.problem, space)
    alike = _kinds(space, [master.problem.sharing(group) for group in groups.values()])
    most = [range(most_in_rack(master.problem, group) + 1) for group in groups.values()]
    used = {
        pattern: master.program.variable(f"rack[{space.site},{quarter}]", integer=True)
        for pattern in dict.fromkeys(
            pattern
            for held in product(*most)
            for pattern in patterns(tuple(alike), _room_of(space, held))
        )
    }
    for place, index in enumerate(groups):
        each = {
            variable: sum(map(mul, pattern, (size[2 + place] for size in alike)))
            for pattern, variable in used.items()
        }
        _fullest(master, space, (index, quarter), each)
    for place, pools in enumerate(alike.values()):
        load: Terms = {index: -float(pattern[place]) for pattern, index in used.items()}
        for pool in pools:
            for index, factor in master.standing(pool, quarter).items():
                load[index] = load.get(index, 0.0) + factor
        owned = sum(master.problem.pools[pool].owned_in(quarter) for pool in pools)
        master.program.row(f"standing[{space.site},{place},{quarter}]", load, "<=", -owned)
    row = master.program.row(
        f"racks[{space.site},{quarter}]", dict.fromkeys(used.values(), 1.0), "<=", space.count
    )
    if not groups:  # others of its rows go by the number of racks as well
        master.relaxable(f"the number of racks at {space.site}", row, space.count, 1.0)


def _fullest(
    master: MasterProgram, space: RackSpace, key: tuple[int, int], each: Mapping[int, int]
) -> None:
    """Count a group's nodes in its fullest rack: rows `fuller` and `fullest`.

    `each` by variable.
    """
    label = f"{key[0]},{key[1]}"
    fullest: Terms = {master.fullest_racks[key]: -1.0}
    for nodes in range(1, max(each.values()) + 1):
        some = master.program.variable(f"fuller[{label},{nodes}]", upper=1, integer=True)
        fullest[some] = 1.0
        row: Terms = {index: 1.0 for index, held in each.items() if held >= nodes}
        row[some] = -float(space.count)
        master.program.row(f"fuller[{label},{nodes}]", row, "<=", 0.0)
    master.program.row(f"fullest[{label}]", fullest, "<=", 0.0)


def holds(master: MasterProgram, values: Sequence[float]) -> bool:
    """Return whether the nodes fit into the racks in every quarter.

    They must be spread so that a group's empty nodes can stand in for those of its fullest
    racks.
    """
    return all(
        _racked(master, values, space, quarter) is not None
        for space in master.problem.racks
        for quarter in range(master.problem.quarters)
    )


def all_racked(
    master: MasterProgram, values: Sequence[float]
) -> tuple[tuple[tuple[Racked, ...], ...], ...]:
    """Return what stands in each rack, by quarter and rack space.

    Empty if nothing is limited so.
    """
    problem = master.problem
    if not problem.racks:
        return ()
    return tuple(
        tuple(_racked(master, values, space, quarter) or () for space in problem.racks)
        for quarter in range(problem.quarters)
    )


def _racked(
    master: MasterProgram, values: Sequence[float], space: RackSpace, quarter: int
) -> tuple[Racked, ...] | None:
    most = [
        (master.problem.sharing(group), least // group.racks)
        for group in _groups(master.problem, space).values()
        if (least := fewest_empty(master, values, group, quarter)) is not None
    ]
    standing = {pool: round(master.stand(pool, quarter, values)) for pool, _, _ in space.nodes}
    return racked(space, standing, most)


def conditions(translation: Translation) -> Iterator[Condition]:
    """Return the numbers of racks as conditions."""
    for space in translation.problem.racks:
        fed = "" if space.power_w is None else f" and {amount_text(space.power_w, 'W')}"
        yield rising(
            f"the number of racks at {space.site}",
            f"{space.count}, of {space.units} U{fed} each",
            space.count,
            "{:,}".format,
            widening(
                "racks", "site", space.site, lambda one, more: replace(one, count=one.count + more)
            ),
        )


def _kinds(space: RackSpace, groups: Sequence[_Group] = ()) -> dict[_Size, tuple[int, ...]]:
    """Group pools by what one of their nodes takes: to a rack, nodes of the same size are alike."""
    found: dict[_Size, tuple[int, ...]] = {}
    for pool, units, watts in space.nodes:
        size = (units, watts, *(int(pool in group) for group in groups))
        found[size] = (*found.get(size, ()), pool)
    return dict(sorted(found.items(), reverse=True))


def _room_of(space: RackSpace, most: Iterable[int] = ()) -> _Size:
    """Return what one rack offers if it may hold so many nodes of each group."""
    return space.units, space.power_w or 0, *most


@lru_cache(maxsize=256)
def patterns(sizes: _Sizes, room: _Size) -> tuple[tuple[int, ...], ...]:
    """Return every maximal set of nodes that one rack holds, as nodes of each size."""
    return tuple(_patterns(sizes, room))


def _patterns(sizes: _Sizes, room: _Size, held: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Yield patterns that begin with `held`; maximal ones leave no room for any node."""
    if len(held) == len(sizes):
        if not any(_most(size, room) for size in sizes):
            yield held
        return
    size = sizes[len(held)]
    most = _most(size, room)
    fewest = most if len(held) == len(sizes) - 1 else 0
    for count in range(most, fewest - 1, -1):
        left = _left(room, size, count)
        yield from _patterns(sizes, left, (*held, count))


def _most(size: _Size, room: _Size) -> int:
    """Return how many nodes fit; a resource that none of them takes does not count."""
    return min(there // taken for taken, there in zip(size, room, strict=True) if taken)


def _left(room: _Size, size: _Size, count: int) -> _Size:
    return tuple(there - count * taken for taken, there in zip(size, room, strict=True))


def racked(
    space: RackSpace, nodes: Mapping[int, int], most: Sequence[tuple[_Group, int]] = ()
) -> tuple[Racked, ...] | None:
    """Return racks that hold these nodes, by pool; None if they do not fit.

    Each may hold at `most` so many nodes of a group of pools.
    """
    alike = _kinds(space, [group for group, _ in most])
    asked = tuple(sum(nodes.get(pool, 0) for pool in pools) for pools in alike.values())
    room = _room_of(space, (count for _, count in most))
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
    """Name the pools in each rack; successive racks that hold the same are one entry."""
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
    sizes: _Sizes, room: _Size, asked: tuple[int, ...], most: int
) -> tuple[tuple[tuple[int, ...], int], ...] | None:
    """Return how often each pattern is used so that all nodes stand in the fewest racks."""
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
    sizes: _Sizes, room: _Size, asked: tuple[int, ...]
) -> tuple[tuple[tuple[int, ...], int], ...] | None:
    """Fill rack after rack with the largest nodes left; None if a node fits in no rack."""
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
