"""The base of every input model and the scalar types they share."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

__all__ = [
    "Basis",
    "Count",
    "Day",
    "Figure",
    "Frozen",
    "Name",
    "Number",
    "PositiveCount",
    "PositiveNumber",
    "Share",
]


class Frozen(BaseModel):
    """Immutable, strict, and closed: an unknown key is an error; docstrings become the schema."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


def _day(value: Any) -> Any:  # noqa: ANN401 - pydantic hands over whatever the file holds
    if not isinstance(value, str):
        return value
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a date, write it as YYYY-MM-DD") from None


def _number(value: Any) -> Any:  # noqa: ANN401
    """Numbers stay exact: `0.1` is one tenth, not the nearest binary fraction."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Decimal(str(value))
    return value


def _whole(value: Any) -> Any:  # noqa: ANN401
    """A count may be written `8.0`; `8.5` and `true` may not."""
    if isinstance(value, Decimal | float) and value == int(value):
        return int(value)
    return value


def _share(value: Any) -> Any:  # noqa: ANN401
    """Accept `0.15` or `15%`, as an exact decimal; a bare `15` stays 15 and fails its bound."""
    if isinstance(value, str) and value.endswith("%"):
        try:
            return Decimal(value[:-1].strip()) / 100
        except ArithmeticError:
            raise ValueError(f"{value!r} is not a share, write 0.15 or 15%") from None
    return _number(value)


def _clean(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    if not value.isprintable():
        raise ValueError("must not hold control or invisible characters")
    return value


Name = Annotated[str, AfterValidator(_clean), Field(min_length=1, max_length=120)]
"""Text a person wrote as a name: printable, not blank."""

Day = Annotated[date, BeforeValidator(_day)]
"""A date written YYYY-MM-DD."""

Share = Annotated[Decimal, BeforeValidator(_share)]
"""A fraction written `0.15` or `15%`, kept exact."""

Number = Annotated[Decimal, BeforeValidator(_number)]
PositiveNumber = Annotated[Decimal, BeforeValidator(_number), Field(gt=0)]
Count = Annotated[int, BeforeValidator(_whole), Field(ge=0)]
PositiveCount = Annotated[int, BeforeValidator(_whole), Field(gt=0)]

Basis = Literal["measured", "published", "derived", "estimate", "assumption"]
"""How far a figure can be trusted; `estimate` and `assumption` are listed in every output."""


T = TypeVar("T")


class Figure(Frozen, Generic[T]):
    """A value with the place it was read from."""

    value: T
    source: str
    """Key of the file's `sources`, or an address."""
    basis: Basis = "published"
    note: str | None = None
