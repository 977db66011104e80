"""Where nodes stand: power, rack units, racks, cooling, and the labels that jobs ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field, Tag

from planner.inputs.base import Count, Frozen, Name, Number, PositiveCount, PositiveNumber
from planner.inputs.scenario.spelling import ONE_OR_BY_KEY, canonical_quarter, in_force

if TYPE_CHECKING:
    from planner.inputs.scenario.quarter import Quarter

__all__ = ["Cooling", "Racks", "Site"]

Cooling = Literal["air", "liquid"]

_MOST_KW = 10**6
"""A gigawatt: what is more was written in watts."""

Power = Annotated[PositiveNumber, Field(le=_MOST_KW)]
PowerOfQuarter = Annotated[Number, Field(ge=0, le=_MOST_KW)]
"""0 before a site is there."""


PowerByQuarter = Annotated[
    Annotated[Power, Tag("one figure")]
    | Annotated[
        dict[Annotated[str, AfterValidator(canonical_quarter)], PowerOfQuarter],
        Field(min_length=1),
        Tag("by key"),
    ],
    ONE_OR_BY_KEY,
]
"""One figure, or figures by quarter, each of which holds until the next."""


class Racks(Frozen):
    """Racks that are alike; every node of the site stands in one of them."""

    count: Annotated[PositiveCount, Field(le=10_000)]
    """How many there are."""
    units: Annotated[PositiveCount, Field(le=100)]
    """Height of one rack."""
    power_kw: Power | None = None
    """What one rack can feed, by the nameplates of its nodes; not limited if left out."""


class Site(Frozen):
    """A place with its limits; what is left out is not limited."""

    power_kw: PowerByQuarter | None = None
    """What the site can feed, by the nameplates of all nodes in service."""
    rack_units: Annotated[PositiveCount, Field(le=10**6)] | None = None
    """Rack units that nodes may take."""
    racks: Racks | None = None
    """Racks that hold the nodes."""
    cooling: Annotated[tuple[Cooling, ...], Field(min_length=1)] | None = None
    """What it can cool: `air`, `liquid` or both; not checked if left out."""
    labels: tuple[Name, ...] = ()
    """What jobs may ask for, such as `eu` or `low-latency`."""
    spare_nodes: Annotated[Count, Field(le=1000)] = 0
    """Nodes of this site that may fail at once without a job losing its place."""

    def power_w(self, quarter: Quarter) -> int | None:
        """Power in a quarter, W, rounded down; None where it is not limited or not stated."""
        power = None if self.power_kw is None else in_force(self.power_kw, quarter)
        return None if power is None else int(power * 1000)
