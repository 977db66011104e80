"""What solvers other than the planner's own say of what it proved."""

from __future__ import annotations

from typing import Literal

from planner.inputs.base import Frozen

__all__ = ["SecondOpinion"]


class SecondOpinion(Frozen):
    """What another solver says of the bound."""

    solver: str
    verdict: Literal["confirmed", "undecided", "unfounded"]
    """`undecided`: its time ended. `unfounded`: it disagrees, and its own answer is wrong."""
    bound_cents: int | None
    """What no plan costs less than, by its own account; None unless a cost is confirmed."""
