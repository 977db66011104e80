"""What is wrong with a scenario seen whole, and the faults that several of its checks can find."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from planner.inputs.base import NotKnown
from planner.inputs.scenario.quarter import Quarter
from planner.inputs.scenario.site import SITE_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.reading.document import Path
    from planner.inputs.scenario.horizon import Horizon
    from planner.inputs.scenario.scenario import FleetEntry, Offer, Scenario

__all__ = [
    "Fault",
    "entries",
    "held_figures",
    "known",
    "late_figures",
    "not_in_play",
    "unstated_figure",
]


_WRITTEN = {
    limit.figure: f"…` ({limit.of_node} of one node, {limit.stated_in})" for limit in SITE_LIMITS
} | {
    "mean_power_kw": "…` (mean draw of one node under load, kW)",
    "cooling": "air` or `cooling: liquid`",
}
"""What comes after the key of a figure that an entry may state itself."""


class Fault(NamedTuple):
    """One of them: where in the scenario, what, and what would mend it."""

    path: Path
    message: str
    hint: str | None = None
    at_key: bool = False
    """Whether the key is to be pointed at, and not its value."""


def known(*parts: Iterable[Fault]) -> Iterator[Fault]:
    """The faults of each part, up to where it asks for a value that is wrong in the file itself."""
    for part in parts:
        with suppress(NotKnown):
            yield from part


def entries(scenario: Scenario) -> Iterator[tuple[Path, FleetEntry | Offer]]:
    """Each fleet entry and each offer, with its path."""
    for name, owned in scenario.fleet.items():
        yield ("fleet", name), owned
    for name, offer in scenario.offers.items():
        yield ("offers", name), offer


def unstated_figure(path: Path, node_type: str, key: str, what: str) -> Fault:
    """A node type without a figure of the catalog that something needs; `path` is of its entry."""
    return Fault(
        (*path, "node_type"),
        f"{node_type!r} has no {key} in the catalog, it is needed for {what}",
        f"state it here, beside `node_type`: `{key}: {_WRITTEN[key]}",
    )


def not_in_play(path: Path, gpu_type: str, scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    """A GPU type that the catalog knows and no owned or offered node has; `path` is of its key."""
    nodes = (catalog.nodes.get(name) for name in scenario.node_types_in_play)
    in_play = sorted({node.gpu_type for node in nodes if node is not None})
    if gpu_type in catalog.gpus and gpu_type not in in_play:
        message = f"no node with {gpu_type!r} is owned or offered here"
        hint = f"in play: {', '.join(in_play)}" if in_play else None
        yield Fault(path, message, hint, at_key=True)


def late_figures(path: Path, stated: Iterable[str], horizon: Horizon) -> Iterator[Fault]:
    """Figures by quarter that no quarter of the horizon goes by."""
    end = horizon.first_quarter + horizon.quarters
    for key in stated:
        if Quarter.parse(key) >= end:
            message = f"{key} lies after the horizon, which ends with {horizon.labels[-1]}"
            yield Fault((*path, key), message, at_key=True)


def held_figures(path: Path, stated: Mapping[str, object], horizon: Horizon) -> Iterator[Fault]:
    """Figures by quarter, each of which holds until the next: late ones, and none to begin with."""
    yield from late_figures(path, stated, horizon)
    first = horizon.first_quarter
    if all(Quarter.parse(key) > first for key in stated):
        message = f"says nothing of {first}: a figure holds from its quarter on"
        yield Fault(path, message, f"state one for {first}")
