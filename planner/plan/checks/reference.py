"""What documents look up in a plan: its parameters, and the facts of its node types."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from planner.plan.checks.sites import LIMITED, each_takes
from planner.plan.checks.view import Check, View, differences, each_difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.catalog.catalog import NodeType
    from planner.plan.plan import NodeFacts, SettingUse

__all__ = ["CHECKS"]

_FACTS = (*(limited.figure for limited in LIMITED), "mean_power_kw", "cooling")
"""Figures of the catalog whose sources are told."""


def _settings(view: View) -> Iterator[str]:
    settled = dict(view.inputs.settings)
    listed = [use.name for use in view.plan.settings]
    yield from differences("the list of settings", sorted(listed), sorted(settled))
    for use in view.plan.settings:
        if use.name not in settled:
            continue
        setting = settled[use.name]
        told = (_exact(use.value), use.unit, use.origin, use.assumed)
        given = (Fraction(setting.value), setting.unit, setting.origin, setting.assumed)
        if told != given:
            yield (
                f"the setting {use.name} is {use.value} {use.unit} of {use.origin}, the inputs "
                f"give {setting.value} {setting.unit} of {setting.origin}"
            )
        yield from _stated(view, use)


def _stated(view: View, use: SettingUse) -> Iterator[str]:
    """What the scenario states itself holds, and is no assumption."""
    scenario = view.inputs.scenario
    part = scenario.policies if use.name == "headroom" else scenario.finance
    stated = getattr(part, use.name, None)
    if stated is None:
        return
    if (_exact(use.value), use.origin, use.assumed) != (Fraction(stated), "scenario", False):
        yield f"the setting {use.name} is {use.value} of {use.origin}, the scenario states {stated}"


def _exact(value: float) -> Fraction:
    """The number as it is written, not the nearest binary one."""
    return Fraction(repr(value))


def _node_types(view: View) -> Iterator[str]:
    listed = [facts.node_type for facts in view.plan.node_types]
    used = sorted({node.node_type for node in view.plan.nodes})
    yield from differences("the list of node types", listed, used)
    for facts in view.plan.node_types:
        node = view.inputs.catalog.nodes.get(facts.node_type)
        if node is not None:
            yield from _facts(view, facts, node)


def _facts(view: View, facts: NodeFacts, node: NodeType) -> Iterator[str]:
    takes = {one.need: each_takes(node, one.figure, one.per) for one in LIMITED}
    takes["mean_power_w"] = each_takes(node, "mean_power_kw", 1000)
    given = {
        "vendor": node.vendor,
        "product": node.product,
        "gpu_type": node.gpu_type,
        "gpus": node.gpus.value,
        "cooling": None if node.cooling is None else node.cooling.value,
        "kubernetes_resource": view.inputs.catalog.gpus[node.gpu_type].kubernetes_resource,
        "sources": tuple(
            f"{name} ({figure.basis}): {view.inputs.catalog.source_text(figure.source)}"
            for name in _FACTS
            if (figure := getattr(node, name)) is not None
        ),
        "estimated": tuple(
            name
            for name in _FACTS
            if (figure := getattr(node, name)) is not None
            and figure.basis in {"estimate", "assumption"}
        ),
    }
    known = {name: amount for name, amount in takes.items() if amount is not None}
    yield from each_difference(f"{facts.node_type}: takes", facts.takes, known)
    for name, expected in given.items():
        yield from differences(f"{facts.node_type}: {name}", getattr(facts, name), expected)


CHECKS = (
    Check(_settings, lambda _: "every parameter of cost and policy is that of the inputs"),
    Check(_node_types, lambda _: "what is said of each node type is what the catalog says"),
)
