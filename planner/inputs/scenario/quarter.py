"""Calendar quarters: parsing, dates and order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import total_ordering
from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError, core_schema

from planner.inputs.text import FIRST_YEAR, LAST_YEAR, count_of

if TYPE_CHECKING:  # `--help` loads no pydantic
    from pydantic import GetCoreSchemaHandler

RUN_HOURS = 2160
"""Hours of a quarter in which runs may be planned: 90 days, the shortest quarter; the rest of a
longer one stays free."""
WEEK_HOURS = 168
"""Hours of a week."""
QUARTER_WEEKS = 13
"""Weeks of a quarter, the last one not quite whole."""

_WRITTEN = re.compile(r"(?P<year>[0-9]{4})Q(?P<number>[1-4])")
_NUMBER = re.compile(r"[Qq]([1-4])(?![0-9])|(?<![0-9])([1-4])[Qq]")
_YEAR, _SHORT_YEAR = (
    re.compile(r"(?<![0-9])20([0-9]{2})"),
    re.compile(r"(?<![0-9])([0-9]{2})(?![0-9])"),
)
_MONTH = re.compile(r"20[0-9]{2}-(0[1-9]|1[0-2])")
"""What tells which quarter was meant, however it is written."""


def _meant(text: str) -> str:
    """How a quarter is written, by the one that was meant, as far as a text tells."""
    number, month = _NUMBER.search(text), _MONTH.match(text)
    year = _YEAR.search(text) or (_SHORT_YEAR.search(_NUMBER.sub(" ", text)) if number else None)
    if year and number:
        return f"20{year[1]}Q{number[1] or number[2]}"
    if year and month:
        return f"20{year[1]}Q{(int(month[1]) + 2) // 3}"
    return f"20{year[1] if year else 27}Q1 (Q1 to Q4)"


def no_quarter(value: object) -> PydanticCustomError:
    """What is wrong with a number, a list or nothing where a quarter belongs."""
    context: dict[str, object] = {"stated": value}
    if isinstance(value, int) and FIRST_YEAR <= value <= LAST_YEAR:
        context["meant"] = _meant(str(value))
    return PydanticCustomError("quarter_type", "no calendar quarter", context)


@total_ordering
@dataclass(frozen=True, slots=True)
class Quarter:
    """One calendar quarter, written `2027Q1`."""

    year: int
    number: int
    """1 to 4."""

    @classmethod
    def parse(cls, text: str) -> Quarter:
        """Read `2027Q1`; raises ValueError in the user's words."""
        match = _WRITTEN.fullmatch(text)
        if not match and text.upper().startswith("FY"):
            raise ValueError(
                f"{text!r} is a quarter of a fiscal year, whose first month nothing here states; "
                "write the calendar quarter, as 2027Q1"
            )
        if not match:
            raise ValueError(f"{text!r} is not a calendar quarter, write it as {_meant(text)}")
        if not FIRST_YEAR <= int(match["year"]) <= LAST_YEAR:
            raise ValueError(f"{text!r} lies outside the years {FIRST_YEAR} to {LAST_YEAR}")
        return cls(int(match["year"]), int(match["number"]))

    @classmethod
    def of(cls, day: date) -> Quarter:
        """The one that a day lies in; raises ValueError outside the years 2000 to 2100."""
        return cls.parse(f"{day.year:04}Q{(day.month + 2) // 3}")

    @property
    def start(self) -> date:
        """The first day."""
        return date(self.year, 3 * self.number - 2, 1)

    def at(self, hour: int) -> datetime:
        """The moment so many hours after it begins."""
        return datetime.combine(self.start, time()) + timedelta(hours=hour)

    @property
    def ordinal(self) -> int:
        """Quarters since year 0, so that differences count quarters."""
        return 4 * self.year + self.number - 1

    def __add__(self, quarters: int) -> Quarter:
        year, number = divmod(self.ordinal + quarters, 4)
        return Quarter(year, number + 1)

    def __sub__(self, other: Quarter) -> int:
        return self.ordinal - other.ordinal

    def __lt__(self, other: Quarter) -> bool:
        return self.ordinal < other.ordinal

    def __str__(self) -> str:
        return f"{self.year}Q{self.number}"

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: object, _handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        def read(value: object) -> Quarter:
            if isinstance(value, Quarter):
                return value
            if isinstance(value, str):
                return cls.parse(value)
            raise no_quarter(value)

        return core_schema.no_info_plain_validator_function(
            read,
            serialization=core_schema.to_string_ser_schema(),
            json_schema_input_schema=core_schema.str_schema(pattern=r"^\d{4}Q[1-4]$"),
        )


def moment(quarter: Quarter, hour: int) -> str:
    """Format an hour of a quarter: `12 Jan 08:00`."""
    at = quarter.at(hour)
    return f"{at.day} {at:%b %H:%M}"


def nodes_text(count: int, step_hours: int | None) -> str:
    """Format nodes for quarters, hours or terms of weeks: `3`, `70 node-hours`."""
    if step_hours is None:
        return f"{count:,}"
    if step_hours == 1:
        return count_of(count, "node-hour")
    return f"{count:,} × {count_of(step_hours // WEEK_HOURS, 'week')}"
