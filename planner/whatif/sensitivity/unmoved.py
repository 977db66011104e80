"""What the nodes of the scenario's plan would come to where a figure is moved, planned by nobody.

Where another plan costs no less than that, the two are equal, and the recommendation has not
turned, whichever of them the search has found.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from planner.costs import Entering, entry_quarters, portfolio_costs, spent_cents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.costs import CostStream
    from planner.inputs.settled import Inputs
    from planner.whatif.variants.plan_summary import PlanSummary

__all__ = ["would_do"]


def would_do(stated: Inputs, moved: Inputs, base: PlanSummary, other: PlanSummary) -> bool:
    """Whether what the scenario's plan acquires would do as well as another plan, to the cent.

    `stated` and `moved` are the inputs of the two. False where that is not known: where other jobs
    are asked for, or the plan has costs that are not those of its nodes.
    """
    if base.cost_cents is None or other.cost_cents is None:
        return False
    if (moved.scenario.jobs, other.giving_way) != (stated.scenario.jobs, base.giving_way):
        return False
    if _present(stated, base) != base.cost_cents or _present(moved, base) > other.cost_cents:
        return False
    return _in_time(moved, base) and _affordable(moved, base)


def _present(inputs: Inputs, plan: PlanSummary) -> int:
    return sum(count * stream.present_cents for count, stream in _streams(inputs, plan))


def _streams(inputs: Inputs, plan: PlanSummary) -> Iterator[tuple[int, CostStream]]:
    """Nodes, and what each of them costs: those that are owned, and those that are acquired."""
    offers = {offer.name: offer for offer in inputs.offers}
    labels = inputs.scenario.horizon.labels
    orders: Counter[tuple[str, str]] = Counter()
    for one in plan.acquired:
        orders[one.offer, one.quarter] += one.count
    acquired = (
        Entering(offers[name], labels.index(quarter), count, count)
        for (name, quarter), count in orders.items()
    )
    return portfolio_costs(inputs, acquired)


def _in_time(inputs: Inputs, plan: PlanSummary) -> bool:
    labels = inputs.scenario.horizon.labels
    offers = {offer.name: offer for offer in inputs.offers}
    return all(
        labels.index(one.quarter) in entry_quarters(inputs, offers[one.offer])
        for one in plan.acquired
    )


def _affordable(inputs: Inputs, plan: PlanSummary) -> bool:
    return all(
        sum(count * spent_cents(inputs, cap, (one,)) for count, one in _streams(inputs, plan))
        <= cap.cents
        for cap in inputs.scenario.budget.caps()
    )
