"""When: the quarters that a scenario plans, and the hours of a run within one."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from planner.inputs.base import Day, Frozen, PositiveCount, PositiveNumber, day, whole
from planner.inputs.scenario.quarter import RUN_HOURS, WEEK_HOURS, Quarter


class Horizon(Frozen):
    """Which quarters are planned, and the day the plan is made."""

    first_quarter: Quarter
    """The first quarter planned, such as `2027Q1`."""
    quarters: Annotated[PositiveCount, Field(le=40)]
    """How many quarters are planned."""
    as_of: Day | None = None
    """Earliest day of an order, from which lead times count; the first day of the first quarter if
    left out."""
    holidays: tuple[Day, ...] = ()
    """Days without orders, beside Saturdays and Sundays; the date of an order moves to the working
    day before."""

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

    def order_day(self, latest: date) -> date:
        """The last working day on or before a day, though none before the day of the plan."""
        while latest > self.earliest_order and (
            latest.isoweekday() > _FRIDAY or latest in self.holidays
        ):
            latest -= timedelta(days=1)
        return latest

    def includes(self, quarter: Quarter) -> bool:
        """Whether a quarter is planned."""
        return 0 <= quarter - self.first_quarter < self.quarters


_FRIDAY = 5
_WEEKS = 13
_DAY_HOURS = 24


def _week_or_date(value: object) -> object:
    """A week of the quarter, from 1, or a date."""
    counted = whole(value)
    if isinstance(counted, int) and not isinstance(counted, bool) and 1 <= counted <= _WEEKS:
        return counted
    try:
        read = day(value)
    except ValueError:
        read = None
    if isinstance(read, date):
        return read
    shown = repr(value) if isinstance(value, str) else str(value).lower()
    raise ValueError(
        f"{shown} is neither a week of the quarter, 1 to {_WEEKS}, nor a date such as 2027-02-15"
    )


WeekOrDate = Annotated[
    int | date,
    BeforeValidator(_week_or_date),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": _WEEKS},
                {"type": "string", "format": "date"},
            ]
        }
    ),
]


class Run(Frozen):
    """One execution of a job, which holds its GPUs for some hours; then others may have them.

    It is planned anew in every quarter in which the job is active.
    """

    hours: Annotated[PositiveNumber, Field(le=RUN_HOURS)] | None = None
    """Hours that one run takes; of a tuning job from its data set if left out, required for a fixed
    one."""
    release: WeekOrDate = 1
    """Week of the quarter, or date, in which it may start."""
    deadline: WeekOrDate = _WEEKS
    """Week of the quarter, or date, by whose end it must have ended."""

    @property
    def quarter(self) -> Quarter | None:
        """The one quarter that its dates lie in; None: it states none."""
        dates = [one for one in (self.release, self.deadline) if isinstance(one, date)]
        return Quarter.of(dates[0]) if dates else None

    @property
    def window(self) -> tuple[int, int]:
        """From when to when it may run, in hours from the start of its quarter."""
        return _hours(self.release, first=True), min(RUN_HOURS, _hours(self.deadline, first=False))

    @model_validator(mode="after")
    def _has_a_window(self) -> Run:
        dates = [one for one in (self.release, self.deadline) if isinstance(one, date)]
        if len({Quarter.of(one) for one in dates}) > 1:
            raise ValueError(
                f"`release` {self.release} and `deadline` {self.deadline} lie in two quarters: a "
                "run is planned within one"
            )
        start, end = self.window
        if start >= RUN_HOURS:
            raise ValueError(
                f"`release` {self.release} lies after the first {RUN_HOURS // _DAY_HOURS} days of "
                "its quarter, in which runs are planned"
            )
        if end <= start:
            raise ValueError(f"`deadline` {self.deadline} lies before `release` {self.release}")
        if self.hours is not None and self.hours > end - start:
            raise ValueError(
                f"a run of {self.hours:f} hours does not fit between `release` {self.release} and "
                f"`deadline` {self.deadline}, which are {end - start} hours"
            )
        return self


def _hours(at: int | date, *, first: bool) -> int:
    """Hours from the start of the quarter to the start or the end of a week or a day."""
    if isinstance(at, date):
        days = (at - Quarter.of(at).start).days
        return (days if first else days + 1) * _DAY_HOURS
    return (at - 1 if first else at) * WEEK_HOURS
