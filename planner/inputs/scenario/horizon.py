"""The quarters that a scenario plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from planner.inputs.base import Day, Frozen, PositiveCount
from planner.inputs.scenario.quarter import Quarter

if TYPE_CHECKING:
    from datetime import date

__all__ = ["Horizon"]


class Horizon(Frozen):
    """Which quarters are planned, and the day the plan is made."""

    first_quarter: Quarter
    """The first quarter planned, such as `2027Q1`."""
    quarters: Annotated[PositiveCount, Field(le=40)]
    """How many quarters are planned."""
    as_of: Day | None = None
    """Earliest day an order can be placed, from which lead times count; the first day of the first
    quarter if left out."""

    @property
    def all_quarters(self) -> tuple[Quarter, ...]:
        """The quarters planned, in order."""
        return tuple(self.first_quarter + step for step in range(self.quarters))

    @property
    def labels(self) -> tuple[str, ...]:
        """The same as `2027Q1`, `2027Q2` and so on."""
        return tuple(map(str, self.all_quarters))

    @property
    def earliest_order(self) -> date:
        """The first day on which an order can be placed."""
        return self.as_of or self.first_quarter.start

    def includes(self, quarter: Quarter) -> bool:
        """Whether a quarter is planned."""
        return 0 <= quarter - self.first_quarter < self.quarters
