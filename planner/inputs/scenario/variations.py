"""What a scenario file says beside the question: its base, named changes, and lists of these."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from planner.inputs.base import Frozen, Name

__all__ = ["DELETE", "REPLACE", "VariationName", "Variations"]

REPLACE, DELETE = "replace", "delete"
"""The verbs of an override; every other key of it is a path whose value it sets."""


def _plain(name: str) -> str:
    if "," in name:
        raise ValueError("must not hold a comma, which stands between names on the command line")
    return name


VariationName = Annotated[Name, AfterValidator(_plain)]
"""Name of an override or of a scenario."""


class Variations(Frozen):
    """The keys by which scenario files build on each other; none of them is part of a question."""

    extends: Name | None = None
    """The scenario file that this one builds on, relative to this file."""
    apply: tuple[VariationName, ...] = ()
    """Overrides and scenarios that always hold here, in this order."""
    overrides: dict[VariationName, Annotated[dict[str, Any], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    """Named changes: dotted paths with their new values, and `replace:` and `delete:`."""
    scenarios: dict[VariationName, Annotated[tuple[VariationName, ...], Field(min_length=1)]] = (
        Field(default_factory=dict)
    )
    """Named lists of overrides, applied in the order in which they stand."""
