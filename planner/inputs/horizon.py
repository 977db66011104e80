"""The quarters that a scenario plans."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from planner.inputs.base import Day, Frozen, PositiveCount
from planner.inputs.quarter import Quarter

__all__ = ["Horizon"]


class Horizon(Frozen):
    """Which quarters are planned, and the day the plan is made."""

    first_quarter: Quarter
    """The first quarter planned, such as `2027Q1`."""
    quarters: Annotated[PositiveCount, Field(le=40)]
    """How many quarters are planned."""
    as_of: Day | None = None
    """Earliest day an order can be placed; the first day of the first quarter if left out."""
