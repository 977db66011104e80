"""What spare nodes cost: the same portfolio solved without any, and with one fewer in a place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.errors import LimitError
from planner.packing import solve
from planner.packing.solution import Status
from planner.packing.work import spent
from planner.plan.plan import SpareCost, SparePrice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planner.inputs.settled import Inputs
    from planner.packing import Solution, Translation

__all__ = ["spare_costs"]

_MOST_PLACES = 8


def spare_costs(
    inputs: Inputs,
    translation: Translation,
    solution: Solution,
    *,
    asked_gap: float,
    deadline: float,
) -> tuple[SpareCost | None, tuple[SparePrice, ...]]:
    """What all spare nodes cost together, then the last one of each place, the others kept.

    A place is a site or a pool that keeps spare nodes. None where there is no such place. A figure
    is open where plan or variant is not proved before the deadline, in seconds of work.
    """
    places = list(_places(inputs, translation))
    if not places:
        return None, ()
    asked = _Asked(translation, solution, asked_gap, deadline)
    kept = {number: pool.spare for number, pool in enumerate(translation.problem.pools)}
    together = asked.saved(dict.fromkeys(kept, 0))
    each = tuple(
        SparePrice(
            place=what,
            kept=kept[pools[0]],
            cents=together if _are_all(pools, kept) else asked.saved(_one_fewer(pools, kept)),
        )
        for what, pools in places[:_MOST_PLACES]
    )
    return SpareCost(cents=together), each


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


def _one_fewer(pools: tuple[int, ...], kept: Mapping[int, int]) -> dict[int, int]:
    return {number: spare - (number in pools) for number, spare in kept.items()}


def _are_all(pools: tuple[int, ...], kept: Mapping[int, int]) -> bool:
    """Whether without one in each of these pools there is no spare node left."""
    return not any(_one_fewer(pools, kept).values())


@dataclass(frozen=True, slots=True)
class _Asked:
    translation: Translation
    solution: Solution
    asked_gap: float
    deadline: float

    def saved(self, spare: Mapping[int, int]) -> int | None:
        """By how much the best plan is cheaper with so many in each pool; None: not proved."""
        left_s = self.deadline - spent()
        if self.solution.status is not Status.PROVED or left_s <= 0:
            return None
        problem = self.translation.problem
        fewer = tuple(replace(pool, spare=spare[n]) for n, pool in enumerate(problem.pools))
        without = replace(self.translation, problem=replace(problem, pools=fewer))
        try:
            found = solve(without, asked_gap=self.asked_gap, time_limit_s=left_s)
        except LimitError:
            return None
        proved = found.status is Status.PROVED
        return max(0, self.solution.cost_cents - found.cost_cents) if proved else None
