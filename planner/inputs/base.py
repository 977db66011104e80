"""The base of every input model and the scalar types they share."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin
from unicodedata import is_normalized

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from planner.inputs.text import FIRST_YEAR, LAST_YEAR, LONGEST_NAME, described

LARGEST = 10**15
"""No figure may be larger: one that is, is a typing error that no sum here is made for."""
LARGEST_COUNT = 10**9
LARGEST_COUNT_PER_QUARTER = 1_000_000
LARGEST_FLEET = 100_000
_AMONG_THOUSANDS = -3

_IN_DETAIL = re.compile(r"[;:.] | \(|\.$")
"""Where a field's docstring has said what it means, and goes on in detail."""
WRITTEN_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
"""How a date is written: in one way only."""
_YEAR_FIRST = re.compile(
    r"(20[0-9]{2})(?:[-/.]([0-9]{1,2})[-/.]|([0-9]{2}))([0-9]{1,2})(?:[T ].*)?$"
)
_YEAR_LAST = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})[./-](20[0-9]{2})")
_MONTHS = 12
_WRITTEN_PERCENT = re.compile(r"([-+]?[0-9]{1,9}(?:\.[0-9]{1,20})?)\s*%")


class NotKnown(Exception):  # noqa: N818 - no error of anybody's: it ends a question
    """A value was asked for that is wrong or missing in the file that it should come from."""


class Frozen(BaseModel):
    """Immutable, strict, and closed: an unknown key is an error."""

    # Docstrings become the schema's descriptions in `schema.py`: reading them here would cost
    # every start of the program a second parse of its own source.
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True
    )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Only models built by `reading.partial` lack a field: it was found to be wrong."""
            if name in type(self).model_fields:
                raise NotKnown(name)
            return super().__getattr__(name)


def exactly_one(*keys: str, told: str) -> Any:  # noqa: ANN401 - a validator of any model
    """Give a check of a model that just one of these keys is stated; `told` if it is not.

    `alternatives` lists the keys of a model's checks.
    """

    def check(model: Any) -> Any:  # noqa: ANN401
        if sum(getattr(model, key) is not None for key in keys) != 1:
            raise ValueError(told)
        return model

    check.keys = keys  # type: ignore[attr-defined]
    return model_validator(mode="after")(check)


def alternatives(model: type[BaseModel]) -> list[tuple[str, ...]]:
    """Keys of which this model wants exactly one, by its checks."""
    checks = model.__pydantic_decorators__.model_validators.values()
    return [check.func.keys for check in checks if hasattr(check.func, "keys")]


@cache
def _classes(module: str) -> dict[str, list[ast.stmt]]:
    """Return the bodies of the classes of a module."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}


@cache
def docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the string below each field of a model, and of the models that it extends."""
    found: dict[str, str] = {}
    for extended in model.__mro__[: model.__mro__.index(BaseModel)]:
        for field, below in pairwise(_classes(extended.__module__).get(extended.__name__, ())):
            match field, below:
                case (
                    ast.AnnAssign(target=ast.Name(id=key)),
                    ast.Expr(value=ast.Constant(value=str(meaning))),
                ):
                    found.setdefault(key, inspect.cleandoc(meaning))
    return found


@dataclass(frozen=True, slots=True)
class AsFact:
    """Marks a field that rules may ask for, with its unit; text and booleans have none.

    `fact` is its name in rules, if that is not the field's name.
    """

    unit: str = ""
    fact: str = ""
    field: tuple[type[BaseModel], str] | None = None
    """The field that it marks."""

    @staticmethod
    @cache
    def of(model: type[BaseModel]) -> dict[str, AsFact]:
        """Return the marked fields of a model by name."""
        return {
            name: replace(marker, fact=marker.fact or name, field=(model, name))
            for name, field in model.model_fields.items()
            for marker in field.metadata
            if isinstance(marker, AsFact)
        }

    @property
    def meaning(self) -> str:
        """Return what the field means: its docstring, up to what is said in detail."""
        assert self.field is not None  # of what `of` gives
        model, name = self.field
        told = " ".join(docstrings(model)[name].split())
        first = _IN_DETAIL.split(told)[0]
        return first if first[:2].isupper() else f"{first[:1].lower()}{first[1:]}"


def plain_types(annotation: Any) -> list[Any]:  # noqa: ANN401 - whatever a field can be
    """Return the plain types and words that a field can be, within options and unions.

    Figures by quarter count as one figure.
    """
    if get_origin(annotation) is dict:
        return []
    return [one for inner in get_args(annotation) for one in plain_types(inner)] or [annotation]


def _day_meant(text: str) -> str:
    """Say how a date is written, with the one that was meant if the text leaves no doubt."""
    year, month, number = "YYYY", "MM", "DD"
    if found := _YEAR_FIRST.match(text):
        year, month, number = found[1], found[2] or found[3], found[4]
    elif (found := _YEAR_LAST.fullmatch(text)) and (found[2] == "." or int(found[1]) > _MONTHS):
        number, month, year = found[1], found[3], found[4]
    elif found and int(found[3]) > _MONTHS:
        month, number, year = found[1], found[3], found[4]
    return f"{year}-{month.zfill(2)}-{number.zfill(2)}"


def day(value: object) -> object:
    """Validate a date, which is written in one way only.

    Leave what is no text to other validators.
    """
    if isinstance(value, int) and _YEAR_FIRST.fullmatch(str(value)):
        value = str(value)
    if not isinstance(value, str):
        return value
    if not WRITTEN_DAY.fullmatch(value):
        raise ValueError(f"{value!r} is not a date, write it as {_day_meant(value)}")
    try:
        read = date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{value} is no day of the calendar") from None
    if not FIRST_YEAR <= read.year <= LAST_YEAR:
        raise ValueError(f"{value} lies outside the years {FIRST_YEAR} to {LAST_YEAR}")
    return read


def _number(value: object) -> object:
    """Keep numbers exact: `0.1` is one tenth, not the nearest binary fraction; 6e8 is 600000000."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = Decimal(str(value))
    if isinstance(value, Decimal) and value.is_finite() and abs(value) <= LARGEST:
        return Decimal(int(value)) if value == int(value) else value
    return value


def whole(value: object) -> object:
    """Accept a count written `8.0`, but not `8.5`, nor `true`, though `true` equals 1 in Python.

    Nor `8.000`: in other countries the point separates thousands.
    """
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "no whole number")
    if isinstance(value, Decimal) and value.as_tuple().exponent == _AMONG_THOUSANDS:
        meant = [f"{value.scaleb(3):f}", *([str(int(value))] if value == int(value) else [])]
        raise ValueError(
            f"{value:f} is not how a whole number is written, write {' or '.join(meant)}"
        )
    if isinstance(value, Decimal | float) and value == int(value):
        return int(value)
    return value


def share(value: object) -> object:
    """Accept `0.15` or `15%`, as an exact decimal; a bare `15` stays 15 and fails its bound."""
    if isinstance(value, str) and "%" in value:
        match = _WRITTEN_PERCENT.fullmatch(value.strip())
        if not match:
            raise ValueError(f"{value!r} is not a share, write 0.15 or 15%")
        return Decimal(match[1]).scaleb(-2)
    return _number(value)


def _clean(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    if not value.isprintable():
        raise ValueError("must not hold control or invisible characters")
    # Two names that look the same are one to a reader and two to a program.
    if value != value.strip():
        raise ValueError(f"{value!r} must not begin or end with a space")
    if not is_normalized("NFC", value):
        raise ValueError(f"{value!r} holds accents apart from their letters, write them as one")
    return value


def _payable(least: str, told: str) -> AfterValidator:
    """Refuse a price that would be rounded to nothing: what costs nothing is bought without end."""

    def check(price: Decimal) -> Decimal:
        if price < Decimal(least):
            raise ValueError(f"{price:f} is less than {told}")
        return price

    return AfterValidator(check)


Name = Annotated[str, AfterValidator(_clean), Field(min_length=1, max_length=LONGEST_NAME)]
"""Text a person wrote as a name: printable, not blank."""

Day = Annotated[date, BeforeValidator(day)]
"""A date written YYYY-MM-DD."""

Share = Annotated[Decimal, BeforeValidator(share)]
"""A fraction written `0.15` or `15%`, kept exact."""

Number = Annotated[Decimal, BeforeValidator(_number), Field(ge=-LARGEST, le=LARGEST)]
NotNegative = Annotated[Number, Field(ge=0)]
PositiveNumber = Annotated[Decimal, BeforeValidator(_number), Field(gt=0, le=LARGEST)]
NodePrice = Annotated[PositiveNumber, Field(le=10**9), _payable("0.01", "a cent")]
"""USD for one node; sums of prices up to here are counted exactly by a solver's numbers."""
NodePower = Annotated[PositiveNumber, Field(le=500)]
"""kW of one node; the bound catches watts."""
HourPrice = Annotated[PositiveNumber, Field(le=10**5), _payable("0.00001", "a cent in 1,000 hours")]
"""USD for one GPU and one hour."""
ParametersB = Annotated[PositiveNumber, Field(le=100_000)]
"""Parameters of a model in billions (10^9); a bare count of them is out of bounds."""
Count = Annotated[int, BeforeValidator(whole), Field(ge=0, le=LARGEST_COUNT)]
PositiveCount = Annotated[int, BeforeValidator(whole), Field(gt=0, le=LARGEST_COUNT)]

Basis = Literal["measured", "published", "stated", "derived", "estimate", "assumption"]
"""How far a figure can be trusted; `estimate` and `assumption` are listed in every output."""


T = TypeVar("T")


class SourcedFigure(Frozen, Generic[T]):
    """A value with the place it was read from."""

    value: T
    source: str
    """Key of the file's `sources`, or an address."""
    basis: Basis = "published"
    note: str | None = None


F = TypeVar("F")


def _shape(value: object) -> str:
    return "by key" if isinstance(value, dict) else "one figure"


ONE_OR_BY_KEY = Discriminator(_shape)
"""Tells `one figure` from figures `by key`: the tags of a union of both."""


KNOWN_FORMAT = 1


def known_format(value: object) -> object:
    """Refuse a format that a later planner wrote, and say so."""
    value = whole(value)
    if isinstance(value, int) and value > KNOWN_FORMAT:
        raise ValueError(
            f"format {value} is newer than this planner knows ({KNOWN_FORMAT}), upgrade it"
        )
    return value


def switched(value: object) -> object:
    """Read `true` as a mapping that states nothing, and `false` as none."""
    if isinstance(value, bool):
        return {} if value else None
    if isinstance(value, str):
        raise ValueError(f"{value!r} is neither `true` nor `false`, nor a mapping of its keys")
    return value


Switch = BeforeValidator(switched)
"""For a mapping without required keys: `true` switches it on as well."""


def _several(value: object) -> str:
    return "names" if isinstance(value, tuple | list) else "one name"


def _widest_first(widths: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(_different(widths), reverse=True))


def _different(names: tuple[F, ...]) -> tuple[F, ...]:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"names {described(name)} twice")
    return names


Different = Annotated[
    tuple[F, ...], Field(json_schema_extra={"uniqueItems": True}), AfterValidator(_different)
]
"""A list in which nothing stands twice."""

SomeDifferent = Annotated[
    tuple[F, ...],
    Field(min_length=1, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_different),
]
"""The same, with one entry at least."""

Names = SomeDifferent[Name]

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

SpareNodes = Annotated[Count, Field(le=1000)]
"""Nodes that may fail at once."""

SpareByNodeType = Annotated[
    Annotated[SpareNodes, Tag("one figure")] | Annotated[dict[str, SpareNodes], Tag("by key")],
    ONE_OR_BY_KEY,
]
"""One figure for every node type, or figures by node type."""
