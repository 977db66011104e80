"""When: the horizon of a scenario, figures by quarter, and the hours of a run within a quarter."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, Tag, WithJsonSchema, model_validator

from planner.inputs.base import (
    LARGEST_COUNT_PER_QUARTER,
    ONE_OR_BY_KEY,
    WRITTEN_DAY,
    Count,
    Day,
    Different,
    F,
    Frozen,
    PositiveCount,
    PositiveNumber,
    day,
    whole,
)
from planner.inputs.scenario.quarter import RUN_HOURS, WEEK_HOURS, Quarter, no_quarter
from planner.inputs.text import LAST_YEAR, described

Q = TypeVar("Q")


def quarter_key(key: str) -> str:
    """Pass `2027Q1`; raises ValueError for anything else."""
    return str(Quarter.parse(key))


QuarterKey = Annotated[str, AfterValidator(quarter_key)]
ByQuarter = Annotated[
    Annotated[F, Tag("one figure")]
    | Annotated[dict[QuarterKey, Q], Field(min_length=1), Tag("by key")],
    ONE_OR_BY_KEY,
]
"""One figure for every quarter, or figures by quarter, each of which holds until the next."""


def in_force(stated: F | dict[str, F], quarter: Quarter) -> F | None:
    """The figure of a quarter, of one for all or of some that hold until the next; None before."""
    if not isinstance(stated, dict):
        return stated
    begun = [key for key in stated if Quarter.parse(key) <= quarter]
    return stated[max(begun, key=Quarter.parse)] if begun else None


_IN_A_SPAN = re.compile(r"20[0-9]{2}Q[1-4]")


def quarters(value: object) -> object:
    """`2027Q1`, `2027Q1..2027Q3` or a list of such, as a sorted tuple without repeats."""
    if value is None or value == "all":
        return None
    items = value if isinstance(value, tuple | list) else (value,)
    found: set[Quarter] = set()
    for item in items:
        if not isinstance(item, str):
            raise no_quarter(item)
        ends = _IN_A_SPAN.findall(item)
        first, dots, last = item.partition("..")
        if len(ends) == 2 and (not dots or last.startswith(".")):
            raise ValueError(f"{item!r} is no span of quarters, write {'..'.join(ends)}")
        if dots and not (first and last):
            lacking = "last" if first else "first"
            raise ValueError(
                f"{item!r} is no span of quarters, write its {lacking} quarter as well"
            )
        start = Quarter.parse(first.strip())
        end = Quarter.parse(last.strip()) if dots else start
        if end < start:
            raise ValueError(f"{item!r} ends before it starts")
        found.update(start + step for step in range(end - start + 1))
    if not found:
        raise ValueError("names no quarter, leave it out to mean all of them")
    return tuple(sorted(found))


Quarters = Annotated[tuple[Quarter, ...] | None, BeforeValidator(quarters)]
"""`all` (or left out), `2027Q1`, `2027Q1..2027Q3`, or a list of these."""

Units = Annotated[Count, Field(le=LARGEST_COUNT_PER_QUARTER)]
CountByQuarter = ByQuarter[Units, Units]


class Horizon(Frozen):
    """Which quarters are planned, and the day the plan is made."""

    first_quarter: Quarter
    """The first quarter planned, such as `2027Q1`."""
    quarters: Annotated[PositiveCount, Field(le=40)]
    """How many quarters are planned."""
    as_of: Day | None = None
    """Earliest day of an order, from which lead times count; the first day of the first quarter if
    left out."""
    holidays: Different[Day] = ()
    """Days without orders, beside Saturdays and Sundays."""

    @model_validator(mode="after")
    def _ends_in_time(self) -> Horizon:
        last = self.all_quarters[-1]
        if last.year > LAST_YEAR:
            raise ValueError(f"ends in {last}, at the latest it may end in {LAST_YEAR}Q4")
        return self

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

    def order_day(self, quarter: Quarter, lead_weeks: int, until: date | None) -> date | None:
        """The last working day to order what enters service with a quarter; None if there is none.

        It is delivered by the first day of that quarter and after that of the one before, and
        ordered neither before the day of the plan nor after `until`.
        """
        lead = timedelta(weeks=lead_weeks)
        latest = min(quarter.start - lead, until or date.max)
        if latest < self.earliest_order or latest + lead <= (quarter + -1).start:
            return None
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
    if isinstance(value, date) or (isinstance(value, str) and WRITTEN_DAY.fullmatch(value)):
        return day(value)
    raise ValueError(
        f"{described(value)} is neither a week of the quarter, 1 to {_WEEKS}, nor a date such as "
        "2027-02-15"
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
    """Hours that one run takes, required for a fixed job; from its data set if left out."""
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
