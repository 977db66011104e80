"""Where nodes stand: what is limited there, racks, cooling, and the labels that jobs ask for."""

from __future__ import annotations

from collections.abc import Collection
from math import ceil
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, Tag

from planner.inputs.base import (
    ONE_OR_BY_KEY,
    Count,
    Different,
    Frozen,
    Name,
    Number,
    PositiveCount,
    PositiveNumber,
    SomeDifferent,
    SpareNodes,
    exactly_one,
)
from planner.inputs.scenario.horizon import ByQuarter, in_force
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.text import amount_text

Cooling = Literal["air", "liquid"]

_MOST_KW = 10**6
"""A gigawatt: what is more was written in watts."""

Power = Annotated[PositiveNumber, Field(le=_MOST_KW)]
PowerByQuarter = ByQuarter[Power, Annotated[Number, Field(ge=0, le=_MOST_KW)]]
"""0 before a site is there, as in the next."""
_MOST_COUNTED = 10**6
AmountByQuarter = ByQuarter[
    Annotated[PositiveCount, Field(le=_MOST_COUNTED)], Annotated[Count, Field(le=_MOST_COUNTED)]
]


class SiteLimit(NamedTuple):
    """Something that the nodes in service at a site may take so much of together."""

    need: str
    """What a plan calls it, in whole units: `power_w`."""
    key: str
    """Of a site: how much of it there is."""
    figure: str
    """Of a node type, and of entries that state their own: how much of it one node takes."""
    name: str
    """In the user's words: `power`."""
    of_node: str
    """What the figure is called: `nameplate`."""
    unit: str
    """In which it is counted: `W`, of which key and figure state thousands, `U`, `ports`."""
    rare: bool = False
    """Whether it is told of only where some site states it."""
    drawn: bool = False
    """Whether a node that is switched off takes none of it."""

    @property
    def per(self) -> int:
        """Whole units in one of the key and the figure."""
        return 1000 if self.unit == "W" else 1

    @property
    def stated_in(self) -> str:
        """Unit of the key and the figure: `kW`."""
        return "kW" if self.unit == "W" else self.unit

    def taken_by(self, node: object) -> int | None:
        """What a node of a type takes, rounded up; None where the catalog does not say."""
        figure: Any = getattr(node, self.figure)
        return None if figure is None else ceil(figure.value * self.per)

    def told(self, amount: int) -> str:
        """`37.5 kW`, `12 U`, `1 port`."""
        return amount_text(amount, self.unit)


POWER = SiteLimit(
    need="power_w",
    key="power_kw",
    figure="max_power_kw",
    name="power",
    of_node="nameplate",
    unit="W",
    drawn=True,
)
HEIGHT = SiteLimit(
    need="rack_units",
    key="rack_units",
    figure="rack_units",
    name="rack units",
    of_node="height",
    unit="U",
)
PORTS = SiteLimit(
    need="network_ports",
    key="network_ports",
    figure="network_ports",
    name="network ports",
    of_node="ports",
    unit="ports",
    rare=True,
)
SITE_LIMITS = (POWER, HEIGHT, PORTS)
"""All of them: the master program, its reasons and remedies, the plan and its documents go by
this table."""


def limits_told(stated: Collection[str]) -> tuple[SiteLimit, ...]:
    """Those to tell of where some site states these needs."""
    return tuple(limit for limit in SITE_LIMITS if not limit.rare or limit.need in stated)


class Racks(Frozen):
    """Racks that are alike; every node of the site stands in one of them."""

    count: Annotated[PositiveCount, Field(le=10_000)]
    """How many there are."""
    units: Annotated[PositiveCount, Field(le=100)]
    """Height of one rack."""
    power_kw: Power | None = None
    """What one rack can feed, by the nameplates of its nodes; no limit if left out."""


class SpareGroup(Frozen):
    """Node types of a site that share their spare nodes; `nodes` or `racks` says how many."""

    node_types: SomeDifferent[str]
    """Those that share them; each is in one group of a site at most."""
    nodes: Annotated[SpareNodes, Field(gt=0)] | None = None
    """Nodes that may fail at once, for which so many stay empty."""
    racks: PositiveCount | None = None
    """Racks that may fail at once: so many times what the fullest rack holds of the group stays
    empty."""

    _one_of_both = exactly_one(
        "nodes", "racks", told="give `nodes` or `racks`, what may fail at once"
    )


class Site(Frozen):
    """A place with its limits; what is left out is not limited."""

    power_kw: PowerByQuarter | None = None
    """What the site can feed, by nameplates (`0` until there is power); no limit if left out."""
    rack_units: AmountByQuarter | None = None
    """Height that nodes may take; no limit if left out."""
    network_ports: AmountByQuarter | None = None
    """Switch ports that nodes may take; no limit if left out."""
    racks: Racks | None = None
    """Racks that hold every node of the site; not checked if left out."""
    cooling: SomeDifferent[Cooling] | None = None
    """What the site can cool; not checked if left out."""
    labels: Different[Name] = ()
    """What jobs may ask for, such as `eu` or `low-latency`."""
    spare_nodes: Annotated[
        Annotated[SpareNodes, Tag("one figure")]
        | Annotated[dict[Name, SpareGroup], Field(min_length=1), Tag("by key")],
        ONE_OR_BY_KEY,
    ] = 0
    """Nodes that may fail at once without a job losing its place: in each pool that runs a job, or
    in named groups of node types that share them."""

    @property
    def spares_of_each(self) -> int:
        """Nodes that each pool keeps empty while it runs a job, where it shares them with none."""
        return self.spare_nodes if isinstance(self.spare_nodes, int) else 0

    @property
    def spare_nodes_in_order(self) -> int | dict[str, SpareGroup]:
        """The same whatever the order in which groups and their node types are written."""
        if isinstance(self.spare_nodes, int):
            return self.spare_nodes
        return {
            name: group.model_copy(update={"node_types": tuple(sorted(group.node_types))})
            for name, group in sorted(self.spare_nodes.items())
        }

    @property
    def spare_groups(self) -> dict[str, SpareGroup]:
        """Node types that share their spare nodes, by name."""
        return {} if isinstance(self.spare_nodes, int) else self.spare_nodes

    @property
    def limits(self) -> tuple[SiteLimit, ...]:
        """What it states."""
        return tuple(limit for limit in SITE_LIMITS if getattr(self, limit.key) is not None)

    def allows(self, limit: SiteLimit, quarter: Quarter) -> int | None:
        """How much in a quarter, rounded down; None where it is not limited or not stated."""
        stated: Any = in_force(getattr(self, limit.key), quarter)
        return None if stated is None else int(stated * limit.per)
