"""What a plan was made from, and what its documents look up: rules, settings, node types."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from planner import version
from planner.inputs.scenario.offer import OWN_FIGURES
from planner.inputs.scenario.site import POWER, SITE_LIMITS
from planner.planning.plan import NodeFacts, Provenance, RuleUse, SettingUse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planner.inputs.base import SourcedFigure
    from planner.inputs.catalog.catalog import NodeType
    from planner.inputs.settled import Inputs
    from planner.planning.plan import Node
    from planner.sizing.candidate import SizedJob

__all__ = ["node_facts", "provenance", "rules_used", "settings_used"]


def rules_used(inputs: Inputs, jobs: tuple[SizedJob, ...]) -> tuple[RuleUse, ...]:
    """Every rule that sized or rejected a job, derived one or gave a setting; by id.

    A rule that gives a setting counts for all jobs.
    """
    counts = Counter(job.derived_by for job in jobs if job.derived_by)
    sizings = {job.sizing.id: job.sizing for job in jobs}
    for key, times in Counter(job.sizing.id for job in jobs).items():
        spoke = [one.rules for one in sizings[key].candidates]
        refused = {rejection.rule for rejection in sizings[key].rejections}
        counts.update(dict.fromkeys(refused.union(*spoke), times))
    for _, setting in inputs.settings:
        kind, _, rule_id = setting.origin.partition(" ")
        if kind == "rule":
            counts[rule_id] = len(jobs)
    return tuple(
        _rule_use(inputs, rule_id, used)
        for rule_id, used in sorted(counts.items())
        if rule_id in inputs.rules.rules
    )


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
        for name, setting in inputs.settings
    )


def node_facts(inputs: Inputs, nodes: Iterable[Node]) -> tuple[NodeFacts, ...]:
    """What the catalog says of each node type of the plan that a facility asks for; by id."""
    return tuple(
        _facts(inputs, name, inputs.catalog.nodes[name])
        for name in sorted({node.node_type for node in nodes})
    )


def _facts(inputs: Inputs, name: str, node: NodeType) -> NodeFacts:
    known: dict[str, SourcedFigure[Any]] = {
        key: figure for key in OWN_FIGURES if (figure := getattr(node, key)) is not None
    }
    return NodeFacts(
        node_type=name,
        vendor=node.vendor,
        product=node.product,
        gpu_type=node.gpu_type,
        gpus=node.gpus.value,
        takes={
            limit.need: taken
            for limit in (*SITE_LIMITS, _MEAN)
            if (taken := limit.taken_by(node)) is not None
        },
        cooling=node.cooling.value if node.cooling else None,
        sources=tuple(
            f"{key} ({figure.basis}): {inputs.catalog.source_text(figure.source)}"
            for key, figure in known.items()
        ),
        estimated=tuple(
            key for key, figure in known.items() if figure.basis in ("estimate", "assumption")
        ),
        kubernetes_resource=inputs.catalog.gpus[node.gpu_type].kubernetes_resource,
    )
