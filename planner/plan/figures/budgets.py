"""How much of each budget a plan uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plan.plan import BudgetUse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.inputs.settled import Inputs
    from planner.plan.plan import CostLine

__all__ = ["CAPEX_LINES", "NOT_PAID_LINES", "budget_uses"]

CAPEX_LINES = frozenset({"purchase"})
"""Cost lines that are capital expenditure."""
NOT_PAID_LINES = frozenset({"residual value", "moves", "type changes"})
"""Cost lines that weigh a worth or a trouble and are no payment; others are operating cost."""


def budget_uses(inputs: Inputs, costs: Sequence[CostLine]) -> tuple[BudgetUse, ...]:
    """Each budget of the scenario with what the plan spends of it, not discounted."""
    labels = inputs.scenario.horizon.labels
    uses = []
    for cap in inputs.scenario.budget.caps():
        counted = [
            line.cents
            for line in costs
            if line.name not in NOT_PAID_LINES
            and (cap.spend == "spending" or (cap.spend == "capex") == (line.name in CAPEX_LINES))
        ]
        if cap.quarter is None:
            spent = sum(sum(cents) for cents in counted)
        else:
            spent = sum(cents[labels.index(cap.quarter)] for cents in counted)
        uses.append(
            BudgetUse(
                spend=cap.spend, quarter=cap.quarter, limit_cents=cap.cents, spent_cents=spent
            )
        )
    return tuple(uses)
