"""From units on nodes of one quarter, most of them with a seat, to a plan in which all have one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.packing.counting.procure import may_add
from planner.packing.layouts.bundles import as_packed, empty_seat
from planner.packing.layouts.repair import Bench, Seat, Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from planner.packing.counting.counts import Counts, PoolInQuarter
    from planner.packing.layouts.cutting import CuttingStock
    from planner.packing.layouts.packed import Packed
    from planner.packing.problem import Shape

__all__ = ["Seated", "Units", "seat_the_rest"]

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


def seat_the_rest(
    counts: Counts,
    stocks: Mapping[int, CuttingStock],
    seated: Seated,
    go_on: Callable[[], bool],
) -> tuple[tuple[float, ...], dict[PoolInQuarter, Packed]] | None:
    """Find seats for those left over, moving others between choices where that helps.

    The cheapest nodes on offer are added until all are seated; nobody moves once `go_on` says no.
    Returns the changed values and the packings, or None where some unit found no
    seat. One quarter only.
    """
    values, units = seated.values, seated.units
    seats, left_over = seated.seats, seated.left_over
    bench = Bench(counts.problem, seats, go_on)
    unseated = bench.seat_all(left_over)
    bought: Counter[int] = Counter()
    while unseated:
        supply = _cheapest(counts, unseated[0], values, bought)
        if supply is None:
            return None
        bought[supply] += 1
        pool = counts.problem.supplies[supply].pool
        bench.add(_empty(counts, pool))
        unseated = bench.seat_all(unseated, chain=1)
    return _values(counts, values, units, bench, bought), _packings(counts, stocks, bench)


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
