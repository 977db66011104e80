"""What it costs that runs make progress in a share of their hours alone."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from planner.errors import LimitError
from planner.packing import translate
from planner.packing.found import Infeasible
from planner.packing.pack import attempt
from planner.packing.search import bound_cents
from planner.packing.solution import Status
from planner.packing.work import spent

if TYPE_CHECKING:
    from planner.inputs.settled import Inputs
    from planner.packing import Solution
    from planner.plan.plan import Plan
    from planner.sizing.sizers import Sizers

__all__ = ["utilization_cost"]


def utilization_cost(
    inputs: Inputs,
    plan: Plan,
    solution: Solution,
    sizers: Sizers,
    *,
    asked_gap: float,
    deadline: float,
) -> int | None:
    """The plan against the best one whose runs make progress in all hours, cents.

    None where no run is planned by the hour, jobs give way, or either is not proved before the
    deadline, in seconds of work.
    """
    left_s = deadline - spent()
    stated = inputs.settings.run_utilization
    runs = any(one.hours for uses in plan.placements for use in uses for one in use.occupants)
    asked = runs and plan.shortage is None and stated.value < 1
    if not asked or solution.status is not Status.PROVED or left_s <= 0:
        return None
    whole = stated.model_copy(update={"value": Decimal(1)})
    settings = inputs.settings.model_copy(update={"run_utilization": whole})
    others = inputs.model_copy(update={"settings": settings})
    translation = translate(others, sizers.portfolio(others))
    try:
        bound = bound_cents(translation.problem, asked_gap=asked_gap, time_limit_s=left_s)
        if solution.cost_cents - bound <= asked_gap * solution.cost_cents:
            return 0
        found = attempt(translation, asked_gap=asked_gap, time_limit_s=left_s)
    except (Infeasible, LimitError):
        return None
    return max(0, solution.cost_cents - found.cost_cents) if found.status is Status.PROVED else None
