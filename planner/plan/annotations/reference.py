"""What a document of a plan must be able to look up: settings and facts of its node types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.inputs.scenario.offer import OWN_FIGURES
from planner.inputs.scenario.site import POWER, SITE_LIMITS
from planner.plan.plan import NodeFacts, SettingUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from planner.inputs.base import Figure
    from planner.inputs.catalog.catalog import NodeType
    from planner.inputs.settled import Inputs
    from planner.plan.plan import Node

__all__ = ["node_facts", "settings_used"]

_MEAN = POWER._replace(need="mean_power_w", figure="mean_power_kw")
"""What energy costs, which no site limits."""


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
        takes=dict(_takes(node)),
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


def _takes(node: NodeType) -> Iterator[tuple[str, int]]:
    for limit in (*SITE_LIMITS, _MEAN):
        taken = limit.taken_by(node)
        if taken is not None:
            yield limit.need, taken


def _figures(node: NodeType) -> Iterator[tuple[str, Figure[Any]]]:
    for name in OWN_FIGURES:
        figure = getattr(node, name)
        if figure is not None:
            yield name, figure
