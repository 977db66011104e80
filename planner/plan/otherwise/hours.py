"""At which price runs leave nodes that are had by the hour: the portfolio solved without those."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planner.errors import LimitError
from planner.packing.found import Infeasible
from planner.packing.pack import attempt
from planner.packing.solution import Status
from planner.packing.work import spent
from planner.plan.plan import HourlyUse, OtherPlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.settled import Inputs
    from planner.packing import Solution, Translation
    from planner.plan.plan import Plan

__all__ = ["hourly_uses"]


def hourly_uses(
    inputs: Inputs,
    translation: Translation,
    solution: Solution,
    plan: Plan,
    *,
    asked_gap: float,
    deadline: float,
) -> Iterator[HourlyUse]:
    """Each offer by the hour or by the week that the plan uses, with the price at which it turns.

    The turn is open where either plan is not proved before the deadline, in seconds of work.
    """
    for offer in inputs.offers:
        supplies = [n for n, name in enumerate(translation.offers) if name == offer.name]
        if not offer.step_hours or not any(any(solution.hired[n]) for n in supplies):
            continue
        paid = sum(
            steps * (translation.problem.supplies[n].unit_cost_cents[quarter] or 0)
            for n in supplies
            for quarter, steps in enumerate(solution.hired[n])
        )
        nodes = {node.id: node for node in plan.nodes if node.hours and node.entry == offer.name}
        here = (use for uses in plan.placements for use in uses if use.node in nodes)
        outcome, cost = _without(translation, supplies, solution, asked_gap, deadline)
        yield HourlyUse(
            offer=offer.name,
            gpu_hours=sum(
                node.gpus * (node.hours[1] - node.hours[0]) for node in nodes.values() if node.hours
            ),
            jobs=tuple(sorted({one.job for use in here for one in use.occupants})),
            present_cents=paid,
            without=outcome,
            turns_at=None if cost is None else 1 + (cost - solution.cost_cents) / paid,
        )


def _without(
    translation: Translation,
    supplies: list[int],
    solution: Solution,
    asked_gap: float,
    deadline: float,
) -> tuple[OtherPlan, int | None]:
    """What the best plan without these costs, where both are proved."""
    left_s = deadline - spent()
    if solution.status is not Status.PROVED or left_s <= 0:
        return "not proved", None
    problem = translation.problem
    offered = tuple(
        replace(supply, maximum=0) if number in supplies else supply
        for number, supply in enumerate(problem.supplies)
    )
    others = replace(translation, problem=replace(problem, supplies=offered))
    try:
        found = attempt(others, asked_gap=asked_gap, time_limit_s=left_s)
    except Infeasible:
        return "no other plan", None
    except LimitError:
        return "not proved", None
    if found.status is not Status.PROVED:
        return "not proved", None
    return "proved", max(found.cost_cents, solution.cost_cents)
