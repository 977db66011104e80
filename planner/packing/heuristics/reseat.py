"""From a counted plan of one quarter to seats and back, with ejection chains in between."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.packing.counting.procure import may_add
from planner.packing.layouts.bundles import as_packed, empty_seat
from planner.packing.layouts.repair import Bench, Seat, Unit
from planner.packing.problem import ALWAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from planner.packing.counting.counts import Counts, PoolInQuarter
    from planner.packing.layouts.cutting import CuttingStock
    from planner.packing.layouts.packed import Packed
    from planner.packing.problem import Shape

__all__ = ["Seated", "Units", "reseatable", "seat_by_counts", "seat_the_rest"]

_FEW_UNITS = 100

Units = dict[int, dict["Shape", list[Unit]]]
"""By pool and shape: the units, piece by piece."""


@dataclass(frozen=True, slots=True)
class Seated:
    """A counted plan of one quarter with most units on nodes."""

    values: tuple[float, ...]
    units: Units
    seats: list[Seat]
    left_over: list[Unit]
    """Units, or pieces of them, without a seat."""


def reseatable(counts: Counts) -> bool:
    """Whether units can be moved node by node: in one quarter, always on, few if in parts."""
    demands = counts.problem.demands
    few = sum(demand.count for demand in demands) <= _FEW_UNITS
    always = all(choice.shape.run == ALWAYS for demand in demands for choice in demand.choices)
    return counts.problem.quarters == 1 and always and (few or not counts.opened)


def seat_by_counts(
    counts: Counts, stocks: Mapping[int, CuttingStock], values: tuple[float, ...]
) -> Seated:
    """Whole units on the nodes of `values`, as many as the cutting stock could lay out."""
    units = _units(counts, values)
    seats, left_over = _seated(counts, stocks, values, units)
    return Seated(values, units, seats, left_over)


def seat_the_rest(
    counts: Counts,
    stocks: Mapping[int, CuttingStock],
    seated: Seated,
    go_on: Callable[[], bool],
    *,
    more_nodes: bool,
) -> tuple[tuple[float, ...], dict[PoolInQuarter, Packed]] | None:
    """Find seats for those left over, moving others between choices where that helps.

    With `more_nodes`, the cheapest nodes on offer are added until all are seated; nobody moves once
    `go_on` says no. Returns the changed values and the packings, or None where some unit found no
    seat. One quarter only.
    """
    values, units = seated.values, seated.units
    seats, left_over = seated.seats, seated.left_over
    bench = Bench(counts.problem, seats, go_on)
    unseated = bench.seat_all(left_over)
    bought: Counter[int] = Counter()
    while unseated and more_nodes:
        supply = _cheapest(counts, unseated[0], values, bought)
        if supply is None:
            return None
        bought[supply] += 1
        pool = counts.problem.supplies[supply].pool
        bench.add(_empty(counts, pool))
        unseated = bench.seat_all(unseated, chain=1)
    if unseated:
        return None
    return _values(counts, values, units, bench, bought), _packings(counts, stocks, bench)


def _units(counts: Counts, values: tuple[float, ...]) -> Units:
    """Which units the plan runs on which pool; pools with the same GPU type share them by shape."""
    waiting: dict[tuple[str, Shape], list[Unit]] = defaultdict(list)
    for (number, position), index in counts.choice.items():
        choice = counts.problem.demands[number].choices[position]
        pieces = round(values[index]) * choice.copies
        if pieces:
            waiting[choice.gpu_type, choice.shape] += [(number, position)] * pieces
    units: Units = defaultdict(dict)
    for (pool, _), usages in counts.usages.items():
        kind = counts.problem.pools[pool]
        for usage in usages:
            taken = round(usage.units(values))
            if not taken:
                continue
            queue = waiting[kind.gpu_type, usage.shape]
            units[pool][usage.shape], waiting[kind.gpu_type, usage.shape] = (
                queue[:taken],
                queue[taken:],
            )
    return units


def _seated(
    counts: Counts, stocks: Mapping[int, CuttingStock], values: tuple[float, ...], units: Units
) -> tuple[list[Seat], list[Unit]]:
    seats: list[Seat] = []
    left_over: list[Unit] = []
    for pool, quarter in counts.usages:
        kind, stock = counts.problem.pools[pool], stocks[pool]
        waiting = {shape: list(queue) for shape, queue in units[pool].items()}
        spanning = sum(
            (kind.nodes_taken(shape) or 0) * len(queue) for shape, queue in waiting.items()
        )
        nodes = round(counts.nodes(pool, quarter, values)) - spanning
        asked = [
            0 if kind.nodes_taken(shape) else len(waiting.get(shape, ())) for shape in stock.shapes
        ]
        packed, _ = stock.most(asked, nodes)
        here = [_empty(counts, pool) for _ in range(nodes)]
        holders = iter(here)
        for pattern, times in packed.patterns:
            for _ in range(times):
                seat = next(holders)
                for index, number in pattern:
                    shape = stock.shapes[index]
                    for _ in range(number):
                        seat.put(waiting[shape].pop(), shape)
        left_over += [
            unit
            for shape, queue in waiting.items()
            if not kind.nodes_taken(shape)
            for unit in queue
        ]
        seats += here
    return seats, left_over


def _empty(counts: Counts, pool: int) -> Seat:
    kind = counts.problem.pools[pool]
    return empty_seat(pool, kind)


def _cheapest(
    counts: Counts, unit: Unit, values: tuple[float, ...], bought: Counter[int]
) -> int | None:
    """The cheapest node on offer that can run the unit."""
    problem = counts.problem
    so_far = list(values)
    for (number, _), index in counts.acquire.items():
        so_far[index] += bought[number]
    found: list[tuple[int, int]] = []
    for (number, _), index in counts.acquire.items():
        supply = problem.supplies[number]
        pool = problem.pools[supply.pool]
        maximum = supply.maximum
        full = maximum is not None and round(values[index]) + bought[number] >= maximum
        runs = any(
            choice.gpu_type == pool.gpu_type and pool.nodes_taken(choice.shape) == 0
            for _, choice in problem.open_to(*unit)
        )
        if runs and not full and not pool.spare and may_add(counts, so_far, index):
            found.append((supply.unit_cost_cents[0] or 0, number))
    return min(found)[1] if found else None


def _values(
    counts: Counts, values: tuple[float, ...], units: Units, bench: Bench, bought: Counter[int]
) -> tuple[float, ...]:
    changed = list(values)
    chosen: Counter[tuple[int, int]] = Counter(unit for seat in bench.seats for unit in seat.units)
    shaped: Counter[tuple[int, Shape]] = Counter()
    for seat in bench.seats if counts.splits else ():
        for number, position in seat.units:
            shaped[seat.pool, counts.problem.demands[number].choices[position].shape] += 1
    for pool, queues in units.items():
        for shape, queue in queues.items():
            if counts.problem.pools[pool].nodes_taken(shape):
                chosen.update(queue)
                shaped[pool, shape] += len(queue)
    for key, index in counts.choice.items():
        choice = counts.problem.demands[key[0]].choices[key[1]]
        changed[index] = float(chosen[key] // choice.copies)
    for (pool, _), usages in counts.usages.items():
        for usage in usages:
            if len(usage.terms) == 1 and usage.terms[0][0] in counts.splits:
                changed[usage.terms[0][0]] = float(shaped[pool, usage.shape])
    for (number, _), index in counts.acquire.items():
        changed[index] += bought[number]
    return tuple(changed)


def _packings(
    counts: Counts, stocks: Mapping[int, CuttingStock], bench: Bench
) -> dict[PoolInQuarter, Packed]:
    def shape_of(unit: Unit) -> Shape:
        return counts.problem.demands[unit[0]].choices[unit[1]].shape

    return {
        (pool, quarter): as_packed(
            (seat for seat in bench.seats if seat.pool == pool), stocks[pool].shapes, shape_of
        )
        for pool, quarter in counts.usages
    }
