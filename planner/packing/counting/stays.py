"""Units that run today: which pool keeps them, and what it costs to move the others.

A unit stays if it is in its pool of origin in the first quarter. Units of one shape are
interchangeable on a pool, so that it is enough to count: no more of them stay than take a choice
that the pool can run, and no more stay on the pool than units of that shape run there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.packing.counting.counts import Counts, Terms
    from planner.packing.problem import Demand, Problem, Shape

__all__ = [
    "add_stays",
    "homes",
    "kept_by_pool",
    "main_pools",
    "move_costs",
    "moved_units",
    "moves_held",
    "pinned_home",
    "released",
    "stay_rewards",
    "unpinned",
    "with_stays",
]

Home = tuple[str, "Shape"]
"""A pool with all its parts, and a shape."""


def homes(problem: Problem) -> dict[str, tuple[int, ...]]:
    """Pools by their home: all of a type and site, and those of its nodes that are held."""
    found: dict[str, tuple[int, ...]] = {}
    for number, pool in enumerate(problem.pools):
        found[pool.home] = (*found.get(pool.home, ()), number)
    return found


def main_pools(problem: Problem) -> dict[str, int]:
    """By home: the pool of all its nodes that nobody is held on, where new ones enter service."""
    return {
        pool.home: number
        for number, pool in enumerate(problem.pools)
        if not pool.held and pool.lender is None
    }


def add_stays(counts: Counts) -> None:
    """Rows `stays`, `keeps` and `moved` for every demand that runs somewhere today."""
    program = counts.program
    kept: dict[Home, list[int]] = defaultdict(list)
    for number, demand in enumerate(counts.problem.demands):
        if not demand.origin:
            continue
        moved = program.variable(
            f"moved[{number}]", cost=counts.cost(demand.move_cents), integer=True
        )
        counts.moved[number] = moved
        terms: Terms = {moved: 1.0}
        for position in _positions_at_home(counts, number):
            shape = demand.choices[position].shape
            stays = program.variable(f"stays[{number},{position}]", upper=demand.count)
            counts.stays[number, position] = stays
            kept[demand.origin, shape].append(stays)
            terms[stays] = 1.0
            taken = counts.choice[number, position]
            row = program.row(f"stays[{number},{position}]", {stays: 1.0, taken: -1.0}, "<=", 0.0)
            counts.stay_rows.append(row)
        counts.stay_rows.append(program.row(f"moved[{number}]", terms, ">=", demand.count))
    for (home, shape), staying in sorted(kept.items()):
        load: Terms = defaultdict(float, dict.fromkeys(staying, 1.0))
        for index, factor in _units_at_home(counts, home, shape):
            load[index] -= factor
        counts.stay_rows.append(program.row(f"keeps[{home}]", load, "<=", 0.0))


def _positions_at_home(counts: Counts, number: int) -> list[int]:
    """Choices of a demand with which its units can stay."""
    problem = counts.problem
    demand = problem.demands[number]
    here = [problem.pools[pool] for pool in homes(problem).get(demand.origin, ())]
    return [
        position
        for position, choice in enumerate(demand.choices)
        if (number, position) in counts.choice
        and any(
            pool.gpu_type == choice.gpu_type and pool.nodes_taken(choice.shape) is not None
            for pool in here
        )
    ]


def _units_at_home(counts: Counts, home: str, shape: Shape) -> list[tuple[int, float]]:
    """The sum of variables that counts the units of a shape on a pool in the first quarter."""
    return [
        (index, factor / usage.times)
        for pool in homes(counts.problem).get(home, ())
        for usage in counts.usages.get((pool, 0), ())
        if usage.asked == shape
        for index, factor in usage.terms
    ]


def with_stays(counts: Counts, values: Sequence[float]) -> tuple[float, ...]:
    """A plan in whole units with as few moves as its pools allow, the dearest avoided first."""
    if not counts.moved:
        return tuple(values)
    found = list(values)
    demands = counts.problem.demands
    room: dict[Home, int] = {}
    left = {number: demands[number].count for number in counts.moved if demands[number].origin}
    by_cost = sorted(counts.stays, key=lambda key: (-demands[key[0]].move_cents, key))
    for number, position in by_cost:
        demand = demands[number]
        home = (demand.origin, demand.choices[position].shape)
        if home not in room:
            terms = _units_at_home(counts, *home)
            room[home] = round(sum(values[index] * factor for index, factor in terms))
        staying = min(room[home], round(values[counts.choice[number, position]]))
        room[home] -= staying
        left[number] -= staying
        found[counts.stays[number, position]] = float(staying)
    for number, moved in left.items():
        found[counts.moved[number]] = float(moved)
    return tuple(found)


def moved_units(counts: Counts, values: Sequence[float]) -> tuple[int, ...]:
    """By demand: units that leave their pool; empty where nothing runs today."""
    if not counts.moved:
        return ()
    return tuple(
        round(values[counts.moved[number]]) if number in counts.moved else 0
        for number in range(len(counts.problem.demands))
    )


def move_costs(counts: Counts, values: Sequence[float]) -> int:
    """What the moves of a plan in whole units cost, cents."""
    demands = counts.problem.demands
    return sum(
        round(values[index]) * demands[number].move_cents for number, index in counts.moved.items()
    )


def moves_held(counts: Counts, values: Sequence[float]) -> dict[int, float]:
    """The moves of a solution that cost something, to be held at most at their number."""
    demands = counts.problem.demands
    return {
        index: float(round(values[index]))
        for number, index in counts.moved.items()
        if demands[number].move_cents
    }


def stay_rewards(counts: Counts, costs: Mapping[int, float]) -> dict[int, float]:
    """Costs by variable with which a unit that stays outweighs all choices that `costs` prices."""
    worth = 1.0 + max(costs.values(), default=0.0)
    return dict.fromkeys(counts.stays.values(), -worth)


def kept_by_pool(
    counts: Counts, values: tuple[float, ...], pools: Sequence[int], quarter: int
) -> dict[int, Counter[tuple[int, int]]]:
    """By pool: units by (demand, choice) that stay there; after the first quarter, that still can.

    `pools` are those of one GPU type that run something in the quarter.
    """
    demands = counts.problem.demands
    kept: dict[int, Counter[tuple[int, int]]] = {}
    left = {
        key: round(values[index])
        for key, index in counts.stays.items()
        if quarter in demands[key[0]].quarters
    }
    for pool in pools:
        kept[pool] = Counter()
        room = {usage.asked: round(usage.pieces(values)) for usage in counts.usages[pool, quarter]}
        for (number, position), units in left.items():
            demand = demands[number]
            shape = demand.choices[position].shape
            if demand.origin == counts.problem.pools[pool].home and room.get(shape):
                here = min(units, room[shape])
                kept[pool][number, position] = here
                left[number, position] -= here
                room[shape] -= here
    return kept


def unpinned(demand: Demand) -> Demand:
    """The demand with units that may leave their pool and their nodes."""
    choices = tuple(
        replace(choice, shape=choice.shape._replace(stays="")) for choice in demand.choices
    )
    return replace(demand, choices=choices)


def pinned_home(demand: Demand) -> str:
    """What the units of a demand may not leave; empty where they are free to move."""
    return next((choice.shape.stays for choice in demand.choices), "")


def released(problem: Problem, number: int) -> Problem:
    """The problem in which the units of a demand may leave where they run.

    Nodes on which nobody is held any more are among the others of their pool.
    """
    demands = list(problem.demands)
    demands[number] = unpinned(demands[number])
    pools, mains = list(problem.pools), main_pools(problem)
    still = {pinned_home(demand) for demand in demands}
    for index, pool in enumerate(problem.pools):
        if pool.held and pool.held not in still:
            main = pools[mains[pool.home]]
            gone = zip_longest(main.retired, pool.retired, fillvalue=0)
            pools[mains[pool.home]] = replace(
                main, owned=main.owned + pool.owned, retired=tuple(map(sum, gone))
            )
            pools[index] = replace(pool, owned=0, retired=())
    return replace(problem, demands=tuple(demands), pools=tuple(pools))
