"""Why there is no plan with the pins: which node holds too much, which units would have to move.

Asked first, and only answered where there is a plan without any pin.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from planner.errors import InfeasibleError, LimitError
from planner.packing.found import Infeasible
from planner.packing.remedy import without_costs
from planner.packing.search import search
from planner.packing.stays import main_pools, unpinned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.packing.problem import Choice, Demand, Pool, Problem
    from planner.packing.translate import Translation

__all__ = ["explain_pinned"]

_TIME_S = 20.0
"""For all questions together."""
_NAMED = 6


def explain_pinned(translation: Translation) -> InfeasibleError | None:
    """The pins that cannot be kept, and those that would do to give up, one alone or all.

    None where nothing is pinned, there is no plan without pins either, or time does not suffice.
    """
    problem = translation.problem
    pinned = [number for number, demand in enumerate(problem.demands) if _home(demand)]
    deadline = time.monotonic() + _TIME_S
    if not pinned or not _feasible(_released(problem, pinned), deadline):
        return None
    told = [*_nowhere(translation, pinned), *_too_full(translation, pinned)]
    headline = told[0] if told else "the pinned units cannot all stay where they run"
    reasons = told[1:] if told else _listed(translation, pinned)
    alone = [number for number in pinned if _feasible(_released(problem, [number]), deadline)]
    remedies = [f"let {_units(translation, number)} move" for number in alone[:_NAMED]]
    if not alone:
        names = sorted({job for number in pinned for job, _ in translation.members[number]})
        remedies = [f"let more of the pinned jobs move: {', '.join(names[:_NAMED])}"]
    return InfeasibleError(
        f"no plan exists with the pins: {headline}", tuple(reasons), tuple(remedies)
    )


def _home(demand: Demand) -> str:
    """What the units of a demand may not leave; empty where they are free to move."""
    return next((choice.shape.stays for choice in demand.choices), "")


def _released(problem: Problem, numbers: list[int]) -> Problem:
    """The problem in which some demands may leave where they run."""
    demands = tuple(
        unpinned(demand) if number in numbers else demand
        for number, demand in enumerate(problem.demands)
    )
    pools = list(problem.pools)
    still = {_home(demand) for demand in demands}
    for number, pool in enumerate(problem.pools):
        if pool.held and pool.held not in still:
            main = main_pools(problem)[pool.home]
            pools[main] = _joined(pools[main], pool)
            pools[number] = replace(pool, owned=0, retired=())
    return replace(problem, demands=demands, pools=tuple(pools))


def _joined(main: Pool, held: Pool) -> Pool:
    """A pool with nodes on which nobody is held any more."""
    gone = zip_longest(main.retired, held.retired, fillvalue=0)
    return replace(main, owned=main.owned + held.owned, retired=tuple(sum(both) for both in gone))


def _feasible(problem: Problem, deadline: float) -> bool:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        return False
    try:
        search(without_costs(problem), asked_gap=1.0, time_limit_s=left_s)
    except (Infeasible, LimitError):
        return False
    return True


def _nowhere(translation: Translation, pinned: list[int]) -> Iterator[str]:
    """Units pinned to nodes of which no choice of theirs can make use."""
    for number in pinned:
        demand = translation.problem.demands[number]
        if not any(_runs(demand, pool) for pool in translation.problem.pools):
            types = sorted({choice.gpu_type for choice in demand.choices})
            yield (
                f"{_units(translation, number)} cannot run on {_home(demand)}, to which it is "
                f"pinned; it can on {', '.join(types)}, where its needs fit"
            )


def _runs(demand: Demand, pool: Pool) -> list[Choice]:
    """Choices with which units run on a pool."""
    return [
        choice
        for choice in demand.choices
        if choice.gpu_type == pool.gpu_type and pool.nodes_taken(choice.shape) is not None
    ]


def _too_full(translation: Translation, pinned: list[int]) -> Iterator[str]:
    """Held nodes, or whole pools, whose pinned units need more than they have; worst quarter."""
    problem = translation.problem
    for pool in problem.pools:
        mine = [number for number in pinned if _home(problem.demands[number]) == pool.held]
        if not pool.held or not mine:
            continue
        for name, unit in (("gpus", "GPUs"), ("cpus", "cores"), ("memory_mb", "MB")):
            needed: Counter[int] = Counter()
            for number in mine:
                demand = problem.demands[number]
                least = min((getattr(c.shape, name) for c in _runs(demand, pool)), default=0)
                for quarter in demand.quarters:
                    needed[quarter] += least * demand.count
            quarter = max(needed, key=lambda quarter: (needed[quarter], -quarter))
            offered = getattr(pool.node, name) * pool.owned_in(quarter)
            if needed[quarter] > offered:
                units = ", ".join(_units(translation, number) for number in mine[:_NAMED])
                yield (
                    f"in {translation.quarters[quarter]} the units pinned to {pool.held} need "
                    f"{needed[quarter]:,} {unit}, it has {offered:,}: {units}"
                )
                break


def _listed(translation: Translation, pinned: list[int]) -> Iterator[str]:
    """What is pinned where."""
    by_home: dict[str, list[int]] = defaultdict(list)
    for number in pinned:
        by_home[_home(translation.problem.demands[number])].append(number)
    for home, numbers in sorted(by_home.items()):
        yield f"{home}: {', '.join(_units(translation, number) for number in numbers[:_NAMED])}"


def _units(translation: Translation, number: int) -> str:
    """`unit 2 of chat (4 GPUs)`; `units 1, 2 of chat and 3 more (4 GPUs each)`."""
    members = translation.members[number]
    jobs = sorted({job for job, _ in members})
    mine = [str(unit) for job, unit in members if job == jobs[0]]
    what = f"unit{'' if len(mine) == 1 else 's'} {', '.join(mine[:_NAMED])} of {jobs[0]}"
    more = len(members) - min(len(mine), _NAMED)
    return f"{what} and {more} more" if more else what
