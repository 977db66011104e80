"""What limits the nodes in service: rows of the counting program, and the exact test of a plan.

Rows `limit[name,q]` hold what nodes take of their site; `racks[site,q]` and
`standing[site,kind,q]` count racks by what they hold.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import floor, inf
from typing import TYPE_CHECKING

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.counting.racks import kinds, patterns, racked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planner.packing.counting.counts import Counts, Terms
    from planner.packing.limits import Limit, RackSpace, Reserve
    from planner.packing.problem import Pool, Problem
    from planner.packing.solution import Racked

__all__ = [
    "add_limits",
    "add_reserves",
    "all_racked",
    "free_to_hold",
    "rack_name",
    "row_scale",
    "within_limits",
    "within_reserves",
]


def rack_name(space: RackSpace) -> str:
    """What the racks of a site are called among the limits."""
    return f"racks at {space.site}"


def add_limits(counts: Counts) -> None:
    """State every limit on the nodes in service, quarter by quarter."""
    for limit in counts.problem.limits:
        for quarter, most in enumerate(limit.at_most):
            if most is not None:
                _limit(counts, limit, quarter, most)
    for space in counts.problem.racks:
        for quarter in fullest_quarters(counts.problem, space):
            _racks(counts, space, quarter)


def _limit(counts: Counts, limit: Limit, quarter: int, most: int) -> None:
    load: Terms = defaultdict(float)
    owned = 0
    for pool, amount in limit.terms:
        owned += amount * counts.problem.pools[pool].owned_in(quarter)
        for index, factor in counts.in_service[pool, quarter].items():
            load[index] += amount * factor
    scale = row_scale(limit)
    row = counts.program.row(
        f"limit[{limit.name},{quarter}]",
        {index: factor * scale for index, factor in load.items()},
        "<=",
        (most - owned) * scale,
    )
    counts.limit_rows.setdefault(limit.name, []).append(row)


def add_reserves(counts: Counts) -> None:
    """State what stays free for growth: rows `reserve[type,q]`, after the units have variables."""
    for reserve in counts.problem.reserves:
        for quarter in range(counts.problem.quarters):
            held = _held(counts, reserve, quarter)
            load: Terms = defaultdict(float)
            for index, gpu_hours in held:
                load[index] += gpu_hours / RUN_HOURS
            share = float(1 - reserve.free)
            owned = 0.0
            for number, pool in _in_service(counts.problem, reserve.gpu_type):
                owned += share * pool.node.gpus * pool.owned_in(quarter)
                for index, factor in counts.in_service[number, quarter].items():
                    load[index] = load.get(index, 0.0) - share * pool.node.gpus * factor
            counts.program.row(f"reserve[{reserve.gpu_type},{quarter}]", load, "<=", owned)


def _held(counts: Counts, reserve: Reserve, quarter: int) -> Iterator[tuple[int, int]]:
    """Variables that count units, and the GPU-hours of the type that one of them holds."""
    for (number, position), index in counts.choice.items():
        demand = counts.problem.demands[number]
        choice = demand.choices[position]
        if choice.gpu_type == reserve.gpu_type and quarter in demand.quarters:
            yield index, choice.shape.whole_gpus * choice.copies * choice.shape.run.hours
    for number, pool in _of_type(counts.problem, reserve.gpu_type):
        if pool.hire:  # its nodes come for their runs, and leave nothing free
            for usage in counts.usages.get((number, quarter), ()):
                for index, factor in usage.terms:
                    yield index, -int(factor) * usage.shape.gpus * usage.asked.run.hours
        if (number, quarter) in counts.opened:
            for index, _ in counts.opened[number, quarter].terms:
                yield index, RUN_HOURS


def _of_type(problem: Problem, gpu_type: str) -> Iterator[tuple[int, Pool]]:
    for number, pool in enumerate(problem.pools):
        if pool.gpu_type == gpu_type:
            yield number, pool


def _in_service(problem: Problem, gpu_type: str) -> Iterator[tuple[int, Pool]]:
    """Without pools that only borrow nodes, or whose nodes come and go for their runs."""
    every = _of_type(problem, gpu_type)
    return ((n, pool) for n, pool in every if pool.lender is None and not pool.hire)


def within_reserves(counts: Counts, values: Sequence[float]) -> bool:
    """Whether enough GPUs stay free for growth, in whole numbers."""
    return all(
        free_to_hold(counts, gpu_type, quarter, values) >= 0
        for gpu_type in {reserve.gpu_type for reserve in counts.problem.reserves}
        for quarter in range(counts.problem.quarters)
    )


def free_to_hold(
    counts: Counts, gpu_type: str, quarter: int, values: Sequence[float]
) -> float | Fraction:
    """GPUs of a type that units may still take before growth lacks them; infinite: no reserve.

    A run holds its GPUs for a share of the quarter.
    """
    for reserve in counts.problem.reserves:
        if reserve.gpu_type == gpu_type:
            held = sum(
                gpu_hours * round(values[index])
                for index, gpu_hours in _held(counts, reserve, quarter)
            )
            there = sum(
                pool.node.gpus * round(counts.serving(number, quarter, values))
                for number, pool in _in_service(counts.problem, gpu_type)
            )
            return floor((1 - reserve.free) * there) - Fraction(held, RUN_HOURS)
    return inf


def row_scale(limit: Limit) -> float:
    """What one unit of a limit counts in its rows: there, the largest node counts 1."""
    return 1 / max(1, *(amount for _, amount in limit.terms))


def fullest_quarters(problem: Problem, space: RackSpace) -> range:
    """Quarters that bind: the last alone where nodes come and never leave."""
    pools = {pool for pool, _, _ in space.nodes}
    leave = any(problem.pools[pool].retired for pool in pools) or any(
        supply.pool in pools and supply.kind != "buy" for supply in problem.supplies
    )
    return range(0 if leave else problem.quarters - 1, problem.quarters)


def _racks(counts: Counts, space: RackSpace, quarter: int) -> None:
    groups = kinds(space)
    used = {
        pattern: counts.program.variable(f"rack[{space.site},{quarter}]", integer=True)
        for pattern in patterns(tuple(groups), space.units, space.power_w)
    }
    for place, pools in enumerate(groups.values()):
        load: Terms = {index: -float(pattern[place]) for pattern, index in used.items()}
        for pool in pools:
            for index, factor in counts.in_service[pool, quarter].items():
                load[index] = load.get(index, 0.0) + factor
        owned = sum(counts.problem.pools[pool].owned_in(quarter) for pool in pools)
        row = counts.program.row(f"standing[{space.site},{place},{quarter}]", load, "<=", -owned)
        counts.standing_rows.append(row)
    row = counts.program.row(
        f"racks[{space.site},{quarter}]", dict.fromkeys(used.values(), 1.0), "<=", space.count
    )
    counts.limit_rows.setdefault(rack_name(space), []).append(row)


def within_limits(counts: Counts, values: Sequence[float]) -> bool:
    """Whether the nodes in service keep to every limit, in whole numbers."""
    problem = counts.problem
    for limit in problem.limits:
        for quarter, most in enumerate(limit.at_most):
            taken = sum(
                amount * round(counts.serving(pool, quarter, values))
                for pool, amount in limit.terms
            )
            if most is not None and taken > most:
                return False
    return all(
        racked(space, _standing(counts, space, quarter, values)) is not None
        for space in problem.racks
        for quarter in range(problem.quarters)
    )


def all_racked(
    counts: Counts, values: Sequence[float]
) -> tuple[tuple[tuple[Racked, ...], ...], ...]:
    """What stands in each rack, by quarter and rack space; empty where nothing is limited so."""
    problem = counts.problem
    if not problem.racks:
        return ()
    return tuple(
        tuple(
            racked(space, _standing(counts, space, quarter, values)) or ()
            for space in problem.racks
        )
        for quarter in range(problem.quarters)
    )


def _standing(
    counts: Counts, space: RackSpace, quarter: int, values: Sequence[float]
) -> Mapping[int, int]:
    return {pool: round(counts.serving(pool, quarter, values)) for pool, _, _ in space.nodes}
