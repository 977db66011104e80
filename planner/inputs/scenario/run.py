"""When in its quarters a job runs, where time is planned by weeks."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from planner.inputs.base import Frozen, PositiveCount
from planner.inputs.scenario.quarter import WEEKS

__all__ = ["Run"]

Week = Annotated[PositiveCount, Field(le=WEEKS)]
"""Of a quarter, from 1."""


class Run(Frozen):
    """Consecutive weeks in which a job holds its GPUs; in other weeks others may have them.

    The same weeks of every quarter in which the job is active.
    """

    weeks: Week | None = None
    """Weeks that one run takes; of a tuning job from its hours if left out."""
    release_week: Week = 1
    """First week of the quarter in which it may run."""
    deadline_week: Week = WEEKS
    """Week of the quarter by whose end it must have ended."""

    @property
    def weeks_allowed(self) -> int:
        """Weeks from release to deadline."""
        return self.deadline_week - self.release_week + 1

    @model_validator(mode="after")
    def _fits_its_window(self) -> Run:
        if self.deadline_week < self.release_week:
            raise ValueError(
                f"`deadline_week` {self.deadline_week} lies before `release_week` "
                f"{self.release_week}"
            )
        if self.weeks is not None and self.weeks > self.weeks_allowed:
            raise ValueError(
                f"a run of {self.weeks} weeks does not fit weeks {self.release_week} to "
                f"{self.deadline_week}, which are {self.weeks_allowed}"
            )
        return self
