"""What a document of a plan must be able to look up: settings and facts of its node types."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from planner.plan.plan import NodeFacts, SettingUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from planner.inputs.base import Figure
    from planner.inputs.catalog.catalog import NodeType
    from planner.inputs.settled import Inputs
    from planner.plan.plan import Node

__all__ = ["node_facts", "settings_used"]


def settings_used(inputs: Inputs) -> tuple[SettingUse, ...]:
    """Every parameter of cost and policy with its origin, in the order of `Settings`."""
    return tuple(
        SettingUse(
            name=name,
            value=float(setting.value),
            unit=setting.unit,
            origin=setting.origin,
            assumed=setting.assumed,
        )
        for name, setting in (
            (n, getattr(inputs.settings, n)) for n in type(inputs.settings).model_fields
        )
    )


def node_facts(inputs: Inputs, nodes: Iterable[Node]) -> tuple[NodeFacts, ...]:
    """What the catalog says of each node type of the plan that a facility asks for; by id."""
    return tuple(
        _facts(inputs, name, inputs.catalog.nodes[name])
        for name in sorted({node.node_type for node in nodes})
    )


def _facts(inputs: Inputs, name: str, node: NodeType) -> NodeFacts:
    return NodeFacts(
        node_type=name,
        vendor=node.vendor,
        product=node.product,
        gpu_type=node.gpu_type,
        gpus=node.gpus.value,
        rack_units=node.rack_units.value if node.rack_units else None,
        power_w=ceil(node.max_power_kw.value * 1000) if node.max_power_kw else None,
        mean_power_w=ceil(node.mean_power_kw.value * 1000) if node.mean_power_kw else None,
        cooling=node.cooling.value if node.cooling else None,
        sources=tuple(
            f"{name} ({figure.basis}): {inputs.catalog.source_text(figure.source)}"
            for name, figure in _figures(node)
        ),
        estimated=tuple(
            name for name, figure in _figures(node) if figure.basis in ("estimate", "assumption")
        ),
        kubernetes_resource=inputs.catalog.gpus[node.gpu_type].kubernetes_resource,
    )


def _figures(node: NodeType) -> Iterator[tuple[str, Figure[Any]]]:
    for name in ("rack_units", "max_power_kw", "mean_power_kw", "cooling"):
        figure = getattr(node, name)
        if figure is not None:
            yield name, figure
