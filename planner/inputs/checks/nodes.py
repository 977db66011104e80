"""Figures of nodes that entries state themselves, where they cannot all be true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.checks.faults import Fault, entries
from planner.inputs.reading.document import dotted
from planner.inputs.scenario.offer import OWN_FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.catalog.catalog import Catalog
    from planner.inputs.reading.document import Path
    from planner.inputs.scenario.scenario import Scenario

__all__ = ["misstated"]


def misstated(scenario: Scenario, catalog: Catalog) -> Iterator[Fault]:
    """Find all of these; `catalog` has the figures that the first entry of each type states."""
    first: dict[tuple[str, str], Path] = {}
    for path, entry in entries(scenario):
        for key in OWN_FIGURES:
            stated = getattr(entry, key)
            if stated is None or entry.node_type not in catalog.nodes:
                continue
            earlier = first.setdefault((entry.node_type, key), path)
            figure = getattr(catalog.nodes[entry.node_type], key)
            if figure.value != stated:
                yield Fault(
                    (*path, key),
                    f"{stated} is not the {figure.value} that {dotted(earlier)} states: nodes of "
                    f"one type, here {entry.node_type!r}, are alike",
                    f"state the same at {dotted(earlier)}, or give nodes that differ a node type "
                    "of their own in a catalog file (docs/catalog.md, `extends`)",
                )
    for node_type in sorted({node_type for node_type, _ in first}):
        yield from _impossible(node_type, first, catalog)


def _impossible(
    node_type: str, first: dict[tuple[str, str], Path], catalog: Catalog
) -> Iterator[Fault]:
    """A nameplate below what the GPUs draw at their limit, or below the mean draw."""
    node = catalog.nodes[node_type]
    plate, mean = first.get((node_type, "max_power_kw")), first.get((node_type, "mean_power_kw"))
    gpu = catalog.gpus.get(node.gpu_type)
    if plate and gpu is not None and (fault := node.overdrawn(gpu)):
        path = (*plate, "max_power_kw")
        yield Fault(path, fault, "state the nameplate of the whole node, in kW")
        return
    limit, drawn = node.max_power_kw, node.mean_power_kw
    if limit is None or drawn is None or drawn.value <= limit.value:
        return
    if mean:
        told = f"{drawn.value} kW on average are more than the {limit.value} kW of its nameplate"
        yield Fault((*mean, "mean_power_kw"), told, "state both figures of the same node, in kW")
    elif plate:
        yield Fault(
            (*plate, "max_power_kw"),
            f"{limit.value} kW are less than the {drawn.value} kW that it draws on average, by "
            "the catalog",
            "state its `mean_power_kw` here, too",
        )
