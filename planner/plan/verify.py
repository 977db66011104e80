"""The independent check: whether a plan is feasible and its cost right, from the inputs alone.

It shares no code with the search for the plan. Whole numbers and exact fractions only.
`docs/verification.md` says what is checked, and what is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.plan.checks.suite import check, check_as_recorded
from planner.sizing.sizers import Sizers

if TYPE_CHECKING:
    from planner.inputs.settled import Inputs
    from planner.plan.plan import Plan

__all__ = ["verify", "verify_as_recorded"]


def verify(inputs: Inputs, plan: Plan, sizers: Sizers | None = None) -> tuple[str, ...]:
    """Check a plan against its inputs; a sentence for each thing confirmed.

    The jobs are sized again, but for what `sizers` have sized already: whoever makes many plans
    from the same rules hands them over.

    Raises CheckError with the violations found.
    """
    return check(inputs, (sizers or Sizers()).portfolio(inputs), plan)


def verify_as_recorded(inputs: Inputs, plan: Plan) -> None:
    """Check a plan whose catalog or rules have changed: against its scenario, and in itself.

    What only they can tell is taken as the plan records it. Raises CheckError.
    """
    check_as_recorded(inputs, Sizers().portfolio(inputs), plan)
