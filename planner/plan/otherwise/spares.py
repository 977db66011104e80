"""What the last spare node costs, place by place: the same portfolio solved with one fewer."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from planner.errors import LimitError
from planner.packing import solve
from planner.packing.solution import Status
from planner.plan.plan import SparePrice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.settled import Inputs
    from planner.packing import Solution, Translation

__all__ = ["spare_prices"]

_MOST_PLACES = 8


def spare_prices(
    inputs: Inputs,
    translation: Translation,
    solution: Solution,
    *,
    asked_gap: float,
    deadline: float,
) -> tuple[SparePrice, ...]:
    """For each site or pool that keeps spare nodes: what one of them costs, the others kept.

    A price is open where plan or variant is not proved before the deadline, by the monotonic clock.
    """
    places = list(_places(inputs, translation))[:_MOST_PLACES]
    return tuple(
        _price(translation, solution, what, pools, asked_gap=asked_gap, deadline=deadline)
        for what, pools in places
    )


def _places(inputs: Inputs, translation: Translation) -> Iterator[tuple[str, tuple[int, ...]]]:
    """A site that asks for them with all its pools, other pools one by one."""
    sites = inputs.scenario.sites
    by_site: dict[str, tuple[int, ...]] = {}
    for index, pool in enumerate(translation.problem.pools):
        if not pool.spare:
            continue
        if pool.site in sites and pool.spare == sites[pool.site].spare_nodes:
            by_site[pool.site] = (*by_site.get(pool.site, ()), index)
        else:
            yield f"{pool.node_type} @ {pool.site}", (index,)
    yield from ((f"site {name}", pools) for name, pools in sorted(by_site.items()))


def _price(
    translation: Translation,
    solution: Solution,
    what: str,
    pools: tuple[int, ...],
    *,
    asked_gap: float,
    deadline: float,
) -> SparePrice:
    problem = translation.problem
    kept = problem.pools[pools[0]].spare
    left_s = deadline - time.monotonic()
    if solution.status is not Status.PROVED or left_s <= 0:
        return SparePrice(place=what, kept=kept, cents=None)
    fewer = tuple(
        replace(pool, spare=pool.spare - 1) if index in pools else pool
        for index, pool in enumerate(problem.pools)
    )
    without = replace(translation, problem=replace(problem, pools=fewer))
    try:
        found = solve(without, asked_gap=asked_gap, time_limit_s=left_s)
    except LimitError:
        return SparePrice(place=what, kept=kept, cents=None)
    proved = found.status is Status.PROVED
    cents = max(0, solution.cost_cents - found.cost_cents) if proved else None
    return SparePrice(place=what, kept=kept, cents=cents)
