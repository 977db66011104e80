"""What a plan was made from: the rules that spoke, the files, the versions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import planner
from planner.plan.plan import Provenance, RuleUse

if TYPE_CHECKING:
    from planner.inputs.settled import Inputs
    from planner.sizing.candidate import SizedJob, Sizing

__all__ = ["provenance", "rules_used"]


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
        planner_version=planner.__version__,
        solver=solver,
        files=tuple((file.role, file.path, file.sha256) for file in inputs.files),
        options=inputs.options,
    )
