"""What a plan was made from, and what its documents look up: rules, settings, node types."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from planner import version
from planner.inputs.scenario.offer import OWN_FIGURES
from planner.inputs.scenario.site import POWER, SITE_LIMITS
from planner.planning.plan import NodeFacts, Provenance, RuleUse, SettingUse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from planner.inputs.base import SourcedFigure
    from planner.inputs.catalog.catalog import NodeType
    from planner.inputs.settled import Inputs
    from planner.planning.plan import Node
    from planner.sizing.candidate import SizedJob, Sizing

__all__ = ["node_facts", "provenance", "rules_used", "settings_used"]


def rules_used(inputs: Inputs, jobs: tuple[SizedJob, ...]) -> tuple[RuleUse, ...]:
    """Every rule that sized or rejected a job, derived one or gave a setting; by id.

    A rule that gives a setting counts for all jobs.
    """
    counts: Counter[str] = Counter()
    of_sizing: dict[str, frozenset[str]] = {}
    for job in jobs:
        if job.sizing.id not in of_sizing:
            of_sizing[job.sizing.id] = _speakers(job.sizing)
        counts.update(of_sizing[job.sizing.id])
        if job.derived_by:
            counts[job.derived_by] += 1
    for name in type(inputs.settings).model_fields:
        kind, _, rule_id = getattr(inputs.settings, name).origin.partition(" ")
        if kind == "rule":
            counts[rule_id] = len(jobs)
    return tuple(
        _rule_use(inputs, rule_id, used)
        for rule_id, used in sorted(counts.items())
        if rule_id in inputs.rules.rules
    )


def _speakers(sizing: Sizing) -> frozenset[str]:
    refused = {rejection.rule for rejection in sizing.rejections}
    return frozenset(refused.union(*(candidate.rules for candidate in sizing.candidates)))


def _rule_use(inputs: Inputs, rule_id: str, used: int) -> RuleUse:
    rule = inputs.rules.rules[rule_id]
    return RuleUse(
        id=rule.id,
        title=rule.title,
        kind=rule.kind,
        sources=rule.source_texts,
        errata=tuple(
            f"{erratum.says}; {erratum.arithmetic}; {erratum.decision}" for erratum in rule.errata
        ),
        used=used,
    )


def provenance(inputs: Inputs, solver: str) -> Provenance:
    """Versions and hashes of everything that shaped the plan; no clock, no machine."""
    return Provenance(
        planner_version=version.__version__,
        solver=solver,
        files=tuple((file.role, file.path, file.sha256) for file in inputs.files),
        options=inputs.options,
    )


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


def _figures(node: NodeType) -> Iterator[tuple[str, SourcedFigure[Any]]]:
    for name in OWN_FIGURES:
        figure = getattr(node, name)
        if figure is not None:
            yield name, figure
