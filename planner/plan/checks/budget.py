"""No budget is exceeded, by money worked out again from the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.text.words import count_of
from planner.plan.checks.money import expected_costs
from planner.plan.checks.view import Check, View, differences
from planner.plan.words import usd

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CHECKS"]

_OPEX = ("support", "energy", "rent", "reservation", "licence", "colocation")
_PAID = {"capex": ("purchase",), "opex": _OPEX, "spending": ("purchase", *_OPEX)}


def _kept(view: View) -> Iterator[str]:
    costs = expected_costs(view)
    listed = {(use.spend, use.quarter): use for use in view.plan.budgets}
    caps = list(view.inputs.scenario.budget.caps())
    asked = [(cap.spend, cap.quarter) for cap in caps]
    yield from differences(
        "the list of budgets", [(use.spend, use.quarter) for use in view.plan.budgets], asked
    )
    for cap in caps:
        lines = [costs[name].cents for name in _PAID[cap.spend] if name in costs]
        places = range(len(view.labels))
        if cap.quarter is not None:
            places = range(view.labels.index(cap.quarter), view.labels.index(cap.quarter) + 1)
        spent = sum(cents[place] for cents in lines for place in places)
        if spent > cap.cents:
            yield f"{cap.name} is {usd(spent)}, the budget is {usd(cap.cents)}"
        use = listed.get((cap.spend, cap.quarter))
        if use is not None:
            found = (use.limit_cents, use.spent_cents)
            yield from differences(
                f"{cap.name}: (budget, spent), cents,", found, (cap.cents, spent)
            )


def _confirm(view: View) -> str:
    budgets = len(view.plan.budgets)
    return f"{count_of(budgets, 'budget')} kept" if budgets else "no budget is stated"


CHECKS = (Check(_kept, _confirm),)
