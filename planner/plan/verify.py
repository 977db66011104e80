"""The independent check: whether a plan is feasible and its cost right, from the inputs alone.

It sizes the jobs again and shares no code with the search for the plan. Whole numbers and exact
fractions only. `docs/verification.md` says what is checked, and what is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plan.checks.suite import check
from planner.sizing import Sizer

if TYPE_CHECKING:
    from planner.inputs.settled import Inputs
    from planner.plan.plan import Plan

__all__ = ["verify"]


def verify(inputs: Inputs, plan: Plan) -> tuple[str, ...]:
    """Check a plan against its inputs; a sentence for each thing confirmed.

    Raises CheckError with the violations found.
    """
    scenario = inputs.scenario
    sizer = Sizer(
        inputs.catalog,
        inputs.rules,
        inputs.settings,
        scenario.policies,
        inputs.gpu_types_in_play,
    )
    return check(inputs, sizer.portfolio(scenario), plan)
