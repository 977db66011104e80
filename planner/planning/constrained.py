"""Plans under one more condition: purchases that are fixed, or a most cost and another goal.

With fixed purchases one sees what they come to in a future that turns out otherwise. The goals are
no money: power, quarters waited, moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Literal

from planner.errors import InfeasibleError
from planner.inputs.settled import Inputs
from planner.packing import Problem, Solution, Translation, translate
from planner.packing.incumbent import Infeasible
from planner.packing.near_optimal import Aim, reach
from planner.packing.pack import attempt
from planner.packing.scenario_program import Order, holding
from planner.packing.statement.nowhere import solved_with_apis
from planner.planning.assemble import SolvedPortfolio, checked_plan
from planner.planning.eligible import stuck_jobs
from planner.planning.plan import Plan
from planner.sizing.sizers import Sizers

_SHORT = "what is bought, and what can be rented, does not hold all jobs"

Goal = Literal["power", "quarters waited", "moves"]
"""W of mean draw, in all quarters together; quarters from the first until each node enters service,
one that is rented anew in each; units that leave the pool in which they run today. Nodes that come
and go within a quarter count in none of them."""


@dataclass(frozen=True, slots=True)
class NearPlan:
    """A checked plan, the cheapest of those that were found to have the least of something."""

    plan: Plan
    value: int
    bound: int
    """No plan within the tolerance has less."""


def committed_plan(
    inputs: Inputs,
    orders: tuple[Order, ...],
    *,
    asked_gap: float,
    time_limit_s: float,
    sizers: Sizers,
) -> Plan:
    """The cheapest checked plan with these purchases and no others; all jobs are kept.

    What is delivered late enters service as early as it can. Raises InfeasibleError where these do
    not do, LimitError where time ends before a plan is found, CheckError where the check disagrees.
    """
    jobs = sizers.portfolio(inputs)

    def solve(translation: Translation) -> Solution:
        held = replace(translation, problem=holding(translation.problem, orders))
        return attempt(held, asked_gap=asked_gap, time_limit_s=time_limit_s)

    stuck = stuck_jobs(jobs, translate(inputs, jobs))
    if any(not inputs.scenario.apis_of(job.name) for job in stuck):
        raise InfeasibleError(_SHORT, ())
    try:
        solved = solved_with_apis(inputs, jobs, asked_gap, solve)
    except Infeasible:
        raise InfeasibleError(_SHORT, ()) from None
    return checked_plan(
        SolvedPortfolio(inputs, *solved),
        asked_gap=asked_gap,
        time_limit_s=time_limit_s,
        sizers=sizers,
    )


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

    Units are on the APIs, and replicas that share traffic on the GPU types, on which they cost
    least.

    Raises Infeasible where no plan costs so little, LimitError where time ends before one is found,
    CheckError where the check disagrees, ValueError where it is not known what a node type draws.
    """
    jobs = sizers.portfolio(inputs)
    if any(inputs.scenario.apis_of(job.name) or job.units_open for job in jobs):
        how = partial(attempt, asked_gap=asked_gap, time_limit_s=time_limit_s)
        jobs, *_ = solved_with_apis(inputs, jobs, asked_gap, how)
    translation = translate(inputs, jobs)
    aim, fixed = _aim(inputs, translation.problem, goal)
    reached = reach(
        translation.problem, aim, most_cents, asked_gap=asked_gap, time_limit_s=time_limit_s
    )
    plan = checked_plan(
        SolvedPortfolio(inputs, jobs, translation, reached.solution),
        asked_gap=asked_gap,
        time_limit_s=time_limit_s,
        sizers=sizers,
    )
    return NearPlan(plan, reached.value + fixed, reached.bound + fixed)


def _aim(inputs: Inputs, problem: Problem, goal: Goal) -> tuple[Aim, int]:
    """What the objective counts, and what there is of it in any plan.

    One counts there in cents, so that a node or a unit weighs like one that is paid.
    """
    every = range(problem.quarters)
    nothing = tuple(tuple(0 for _ in every) for _ in problem.supplies)
    still = tuple(0 for _ in problem.demands)
    stays = [problem.pools[one.pool].hire is None for one in problem.supplies]
    if goal == "quarters waited":
        enter = [
            stay and not one.releases for stay, one in zip(stays, problem.supplies, strict=True)
        ]
        waits = tuple(tuple(quarter * counts for quarter in every) for counts in enter)
        return Aim(goal, waits, still, 100_000), 0
    if goal == "moves":
        moves = tuple(1 if demand.origin else 0 for demand in problem.demands)
        return Aim(goal, nothing, moves, 100_000), 0
    watts = _mean_watts(inputs, problem)
    nodes = tuple(
        tuple(
            watts[one.pool] * len(one.served(quarter)) * stay * (-1 if one.releases else 1)
            for quarter in every
        )
        for one, stay in zip(problem.supplies, stays, strict=True)
    )
    owned = sum(
        watts[number] * pool.owned_in(quarter)
        for number, pool in enumerate(problem.pools)
        for quarter in every
    )
    return Aim(goal, nodes, still, 100), owned


def _mean_watts(inputs: Inputs, problem: Problem) -> list[int]:
    """Of one node of each pool."""
    powers = {
        pool.node_type: inputs.catalog.nodes[pool.node_type].mean_power_kw for pool in problem.pools
    }
    if missing := sorted(name for name, power in powers.items() if power is None):
        raise ValueError(f"the catalog does not say what {', '.join(missing)} draws")
    drawn = {name: ceil(power.value * 1000) for name, power in powers.items() if power}
    return [drawn[pool.node_type] for pool in problem.pools]
