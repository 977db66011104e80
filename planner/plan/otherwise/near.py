"""Plans that cost little more than the cheapest and are the best in what is no money."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Literal

from planner.packing import translate
from planner.packing.aims import Aim, reach
from planner.plan.checked import checked_plan

if TYPE_CHECKING:
    from planner.inputs.settled import Inputs
    from planner.packing import Problem
    from planner.plan.plan import Plan
    from planner.sizing.sizers import Sizers

__all__ = ["Goal", "NearPlan", "near_plan"]

Goal = Literal["power", "quarters waited", "moves"]
"""W of mean draw, in all quarters together; quarters from the first until each node enters service,
one that is rented anew in each; units that leave the pool in which they run today."""

_CENTS = {"power": 100, "quarters waited": 100_000, "moves": 100_000}
"""What one counts in the objective, so that a node or a unit counts there like one that is paid."""


@dataclass(frozen=True, slots=True)
class NearPlan:
    """A checked plan, the cheapest of those that were found to have the least of something."""

    plan: Plan
    value: int
    bound: int
    """No plan within the tolerance has less."""


def near_plan(
    inputs: Inputs,
    goal: Goal,
    most_cents: int,
    *,
    asked_gap: float,
    time_limit_s: float,
    sizers: Sizers,
) -> NearPlan:
    """Plan for a goal at a net present cost of at most so many cents.

    Raises Infeasible where no plan costs so little, LimitError where time ends before one is found,
    CheckError where the check disagrees, ValueError where it is not known what a node type draws.
    """
    jobs = sizers.portfolio(inputs)
    translation = translate(inputs, jobs)
    problem = translation.problem
    aim, fixed = _AIMS[goal](inputs, problem)
    reached = reach(problem, aim, most_cents, asked_gap=asked_gap, time_limit_s=time_limit_s)
    plan = checked_plan(
        inputs,
        jobs,
        translation,
        reached.solution,
        asked_gap=asked_gap,
        time_limit_s=time_limit_s,
        sizers=sizers,
    )
    return NearPlan(plan, reached.value + fixed, reached.bound + fixed)


def _power(inputs: Inputs, problem: Problem) -> tuple[Aim, int]:
    powers = {
        pool.node_type: inputs.catalog.nodes[pool.node_type].mean_power_kw for pool in problem.pools
    }
    if missing := sorted(name for name, power in powers.items() if power is None):
        raise ValueError(f"the catalog does not say what {', '.join(missing)} draws")
    drawn = {name: ceil(power.value * 1000) for name, power in powers.items() if power}
    watts = [drawn[pool.node_type] for pool in problem.pools]
    nodes = tuple(
        tuple(watts[one.pool] * len(one.served(quarter)) for quarter in range(problem.quarters))
        for one in problem.supplies
    )
    owned = sum(
        watts[number] * pool.owned_in(quarter)
        for number, pool in enumerate(problem.pools)
        for quarter in range(problem.quarters)
    )
    return _aim("power", problem, nodes), owned


def _waited(_: Inputs, problem: Problem) -> tuple[Aim, int]:
    nodes = tuple(tuple(range(problem.quarters)) for _ in problem.supplies)
    return _aim("quarters waited", problem, nodes), 0


def _moves(_: Inputs, problem: Problem) -> tuple[Aim, int]:
    moves = tuple(1 if demand.origin else 0 for demand in problem.demands)
    return _aim("moves", problem, moves=moves), 0


_AIMS = {"power": _power, "quarters waited": _waited, "moves": _moves}


def _aim(
    goal: Goal,
    problem: Problem,
    nodes: tuple[tuple[int, ...], ...] = (),
    moves: tuple[int, ...] = (),
) -> Aim:
    nothing = (0,) * problem.quarters
    return Aim(
        goal,
        nodes or (nothing,) * len(problem.supplies),
        moves or (0,) * len(problem.demands),
        _CENTS[goal],
    )
