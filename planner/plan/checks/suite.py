"""All checks in the order in which they can rely on each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import CheckError
from planner.plan.checks import (
    breakeven,
    budget,
    current,
    figures,
    gpus,
    money,
    nodes,
    placement,
    proof,
    reference,
    sharing,
    shortage,
    sites,
    teams,
)
from planner.plan.checks.view import View

if TYPE_CHECKING:
    from planner.inputs.settled import Inputs
    from planner.plan.checks.view import Check
    from planner.plan.plan import Plan
    from planner.sizing.candidate import SizedJob

__all__ = ["check"]

_STAGES: tuple[tuple[Check, ...], ...] = (
    (*nodes.FIRST, *shortage.FIRST),
    (*nodes.CHECKS, *gpus.FIRST),
    (
        *placement.CHECKS,
        *gpus.CHECKS,
        *sharing.CHECKS,
        *shortage.CHECKS,
        *current.CHECKS,
        *sites.CHECKS,
        *figures.CHECKS,
        *reference.CHECKS,
        *money.CHECKS,
        *budget.CHECKS,
        *breakeven.CHECKS,
        *teams.CHECKS,
        *proof.CHECKS,
    ),
)
"""Later stages read what earlier ones have confirmed."""


def check(inputs: Inputs, jobs: tuple[SizedJob, ...], plan: Plan) -> tuple[str, ...]:
    """Check a plan against its inputs and their sizing; a sentence for each thing confirmed.

    Raises CheckError with every violation of the first stage that has any.
    """
    view = View(inputs, jobs, plan)
    confirmed: list[str] = []
    for stage in _STAGES:
        violations = [violation for part in stage for violation in part.find(view)]
        if violations:
            raise CheckError(tuple(violations))
        confirmed += (part.confirm(view) for part in stage)
    return tuple(confirmed)
