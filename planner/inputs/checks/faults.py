"""What is wrong with a scenario seen whole, and the faults that several of its checks can find."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from planner.inputs.scenario.quarter import Quarter
from planner.inputs.text.words import own_figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.reading.document import Path
    from planner.inputs.scenario.horizon import Horizon
    from planner.inputs.scenario.scenario import FleetEntry, Offer, Scenario

__all__ = ["Fault", "entries", "held_figures", "not_in_play", "unstated_figure"]


class Fault(NamedTuple):
    """One of them: where in the scenario, what, and what would mend it."""

    path: Path
    message: str
    hint: str | None = None
    at_key: bool = False
    """Whether the key is to be pointed at, and not its value."""


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
        f"{node_type!r} has no {key} in the catalog, which {what} needs",
        own_figure(node_type, key),
    )


def not_in_play(path: Path, gpu_type: str, scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    """A GPU type that the catalog knows and no owned or offered node has; `path` is of its key."""
    nodes = (catalog.nodes.get(name) for name in scenario.node_types_in_play)
    in_play = sorted({node.gpu_type for node in nodes if node is not None})
    if gpu_type in catalog.gpus and gpu_type not in in_play:
        message = f"no node with {gpu_type!r} is owned or offered here"
        hint = f"in play: {', '.join(in_play)}" if in_play else None
        yield Fault(path, message, hint, at_key=True)


def held_figures(path: Path, stated: Mapping[str, object], horizon: Horizon) -> Iterator[Fault]:
    """Figures by quarter, each of which holds until the next: late ones, and none to begin with."""
    steps = [Quarter.parse(key) - horizon.first_quarter for key in stated]
    for key, step in zip(stated, steps, strict=True):
        if step >= horizon.quarters:
            yield Fault((*path, key), f"{key} lies after the horizon", at_key=True)
    if min(steps) > 0:
        first = horizon.first_quarter
        message = f"says nothing of {first}: a figure holds from its quarter on"
        yield Fault(path, message, f"state one for {first}")
