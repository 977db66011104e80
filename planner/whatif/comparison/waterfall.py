"""Why one plan costs more than another: cause by cause, each step planned and proved by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import InfeasibleError, InputError, LimitError
from planner.inputs.base import Frozen
from planner.whatif.comparison.causes import differing, mixed

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.inputs.settled import Inputs
    from planner.planning.plan import Plan
    from planner.whatif.comparison.sides import Side

__all__ = ["CauseStep", "Waterfall", "waterfall"]

THE_REST = "planner"
"""Cause of a difference that no input explains: another version, or a gap that is not closed."""


class CauseStep(Frozen):
    """What one cause adds to the cost, given all the causes before it."""

    causes: tuple[str, ...]
    """More than one where no plan exists with only some of them."""
    added_cents: int
    cost_cents: int
    """Net present cost after this step."""
    status: str
    """`proved` or `not proved`: of the plan after this step."""


class Waterfall(Frozen):
    """The cost of one plan turned into that of the other; the steps add up exactly."""

    steps: tuple[CauseStep, ...]
    missing: str | None = None
    """Why there are no steps."""


def waterfall(before: Side, after: Side, planner: Callable[[Inputs], Plan]) -> Waterfall:
    """Exchange one cause after the other, planning each time.

    A step for which no plan exists, or whose parts do not go together, is joined to the next.
    """
    if before.source is None or after.source is None:
        return Waterfall(steps=(), missing=before.missing or after.missing)
    steps: list[CauseStep] = []
    cost = before.plan.proof.cost_cents
    end = after.plan.proof
    causes = differing(before.source, after.source)
    pending: list[str] = []
    for number, cause in enumerate(causes, 1):
        pending.append(cause)
        if number == len(causes):
            proof = end
        else:
            try:
                proof = planner(mixed(before.source, after.source, causes[:number]).inputs()).proof
            except (InfeasibleError, InputError, LimitError):
                continue
        steps.append(
            CauseStep(
                causes=tuple(pending),
                added_cents=proof.cost_cents - cost,
                cost_cents=proof.cost_cents,
                status=proof.status,
            )
        )
        cost, pending = proof.cost_cents, []
    if cost != end.cost_cents:
        steps.append(
            CauseStep(
                causes=(THE_REST,),
                added_cents=end.cost_cents - cost,
                cost_cents=end.cost_cents,
                status=end.status,
            )
        )
    return Waterfall(steps=tuple(steps))
