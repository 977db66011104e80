"""How scenarios spell quarters, counts, weight widths and their own format."""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from planner.inputs.base import Count, Name, PositiveCount, whole
from planner.inputs.scenario.quarter import Quarter, no_quarter

KNOWN_FORMAT = 1


def known_format(value: object) -> object:
    """Refuse what a later planner wrote, in words that say so."""
    value = whole(value)
    if isinstance(value, int) and value > KNOWN_FORMAT:
        raise ValueError(
            f"format {value} is newer than this planner knows ({KNOWN_FORMAT}), upgrade it"
        )
    return value


def quarter_key(key: str) -> str:
    """Pass `2027Q1`; raises ValueError for anything else."""
    return str(Quarter.parse(key))


def _shape(value: object) -> str:
    return "by key" if isinstance(value, dict) else "one figure"


ONE_OR_BY_KEY = Discriminator(_shape)
"""Tells `one figure` from figures `by key`, the tags of a union of both."""


F = TypeVar("F")
Q = TypeVar("Q")

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
        if isinstance(item, Quarter):
            found.add(item)
            continue
        if not isinstance(item, str):
            raise no_quarter(item)
        ends = _IN_A_SPAN.findall(item)
        if len(ends) == 2 and ".." not in item:
            raise ValueError(f"{item!r} is no span of quarters, write {'..'.join(ends)}")
        first, dots, last = item.partition("..")
        start = Quarter.parse(first.strip())
        end = Quarter.parse(last.strip()) if dots else start
        if end < start:
            raise ValueError(f"{item!r} ends before it starts")
        found.update(start + step for step in range(end - start + 1))
    if not found:
        raise ValueError("names no quarter, leave it out to mean all of them")
    return tuple(sorted(found))


def switched(value: object) -> object:
    """`true` stands for a mapping that states nothing, and `false` for none."""
    if isinstance(value, bool):
        return {} if value else None
    if isinstance(value, str):
        raise ValueError(f"{value!r} is neither `true` nor `false`, nor a mapping of its keys")
    return value


Switch = BeforeValidator(switched)
"""Of a mapping none of whose keys is needed: it may be switched on by `true` as well."""


def _several(value: object) -> str:
    return "names" if isinstance(value, tuple | list) else "one name"


def _widest_first(widths: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(_different(widths), reverse=True))


def _different(names: tuple[F, ...]) -> tuple[F, ...]:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"names {name!r} twice")
    return names


Names = Annotated[
    tuple[Name, ...],
    Field(min_length=1, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_different),
]
"""Different names."""

OneOrMoreNames = Annotated[
    Annotated[Name, Tag("one name")] | Annotated[Names, Tag("names")],
    Discriminator(_several),
]
"""`frankfurt`, or a list of different names."""

Format = Annotated[Literal[1], BeforeValidator(known_format)]
"""The format that this planner reads."""

Bits = Annotated[Literal[4, 8, 16], BeforeValidator(whole)]
"""Width of a weight."""

KvBits = Annotated[Literal[8, 16], BeforeValidator(whole)]
"""Width of a cached key or value."""

OneOrMoreWidths = Annotated[
    Annotated[F, Tag("one name")]
    | Annotated[tuple[F, ...], Field(min_length=1), AfterValidator(_widest_first), Tag("names")],
    Discriminator(_several),
]
"""`8`, or the widths among which the planner may choose, in whatever order."""

Quarters = Annotated[tuple[Quarter, ...] | None, BeforeValidator(quarters)]
"""`all` (or left out), `2027Q1`, `2027Q1..2027Q3`, or a list of these."""

PRIORITIES = {"low": 25, "normal": 50, "high": 75}
"""Words for three places of the order from 0 to 100; only the order means anything."""


def priority(value: object) -> object:
    """`low`, `normal` and `high` stand for a number; any other word is refused with these."""
    if not isinstance(value, str):
        return whole(value)
    if value not in PRIORITIES:
        raise ValueError(
            f"{value!r} is not a priority, write {', '.join(PRIORITIES)} or a whole number from 0 "
            "to 100; the highest is kept first"
        )
    return PRIORITIES[value]


Priority = Annotated[int, BeforeValidator(priority), Field(ge=0, le=100)]
"""Place in the order in which jobs are kept; the highest first."""

LARGEST_COUNT_PER_QUARTER = 1_000_000
Units = Annotated[Count, Field(le=LARGEST_COUNT_PER_QUARTER)]
CountByQuarter = ByQuarter[Units, Units]


def _all(value: object) -> object:
    if value != "all":
        raise ValueError(f"{value!r} is neither a whole number of units nor `all`")
    return value


Droppable = Annotated[
    Annotated[Literal["all"], BeforeValidator(_all), Tag("all")]
    | Annotated[PositiveCount, Field(le=LARGEST_COUNT_PER_QUARTER), Tag("one figure")],
    Discriminator(lambda value: "all" if isinstance(value, str) else "one figure"),
]
"""So many units in each quarter, or `all` of them."""

LARGEST_FLEET = 100_000
CountByNodeType = Annotated[
    Annotated[Count, Tag("one figure")] | Annotated[dict[str, Count], Tag("by key")],
    ONE_OR_BY_KEY,
]
"""One figure for every node type, or figures by node type."""
