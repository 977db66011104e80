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
    recorded,
    reference,
    sharing,
    shortage,
    sites,
    teams,
)
from planner.plan.checks.recorded import sized_as_recorded
from planner.plan.checks.view import View

if TYPE_CHECKING:
    from planner.inputs.settled import Inputs
    from planner.plan.checks.view import Check
    from planner.plan.plan import Plan
    from planner.sizing.candidate import SizedJob

__all__ = ["check", "check_as_recorded"]

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

_AS_RECORDED: tuple[tuple[Check, ...], ...] = (
    (nodes.OF_HORIZON, *shortage.FIRST),
    (nodes.OF_OWNED, *gpus.FIRST),
    (
        *placement.CHECKS,
        *sharing.CHECKS,
        *current.CHECKS,
        *recorded.CHECKS,
        *proof.CHECKS,
    ),
)
"""What can be held against the scenario and the plan itself, without catalog and rules."""


def check(inputs: Inputs, jobs: tuple[SizedJob, ...], plan: Plan) -> tuple[str, ...]:
    """Check a plan against its inputs and their sizing; a sentence for each thing confirmed.

    Raises CheckError with every violation of the first stage that has any.
    """
    return _confirmed(View(inputs, jobs, plan), _STAGES)


def check_as_recorded(inputs: Inputs, jobs: tuple[SizedJob, ...], plan: Plan) -> None:
    """The same without what catalog and rules say, which have changed since the plan was made."""
    _confirmed(View(inputs, sized_as_recorded(jobs, plan), plan), _AS_RECORDED)


def _confirmed(view: View, stages: tuple[tuple[Check, ...], ...]) -> tuple[str, ...]:
    confirmed: list[str] = []
    for stage in stages:
        violations = [violation for part in stage for violation in part.find(view)]
        if violations:
            raise CheckError(tuple(violations))
        confirmed += (part.confirm(view) for part in stage)
    return tuple(confirmed)
