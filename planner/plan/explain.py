"""Why a job runs where it runs, and why not elsewhere; from the plan alone."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen
from planner.plan.plan import Alternative, PlannedJob
from planner.sizing.candidate import Candidate, Sizing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planner.plan.plan import Node, Plan

__all__ = ["Explanation", "Place", "Reason", "Verdict", "explain"]


class Place(Frozen):
    """Units of the job on one node (or one set of whole nodes) in one quarter."""

    quarter: str
    nodes: tuple[str, ...]
    """More than one only for a unit that takes whole nodes."""
    gpu_type: str
    units: tuple[int, ...]
    replicas: tuple[int, ...]
    """Of each of these units, from 1; a unit may have several here."""
    in_replicas: bool
    """Whether a unit has more than one on this GPU type."""
    gpus: tuple[int, ...]
    """GPU numbers held on the (first) node."""


class Reason(Frozen):
    """Something that speaks for or against a GPU type."""

    text: str
    rule: str | None = None
    sources: tuple[str, ...] = ()


class Verdict(Frozen):
    """One GPU type: taken, too dear, not to be had, or ruled out."""

    gpu_type: str
    outcome: Literal["chosen", "costs more", "costs no more", "not available", "rejected"]
    units: int
    """Units of the job that keep this GPU type."""
    extra_cents: int | None
    """What one unit would add to the bound here; None where there is no price for it."""
    reasons: tuple[Reason, ...]
    candidate: Candidate | None
    """What a unit would take; None where it is rejected."""


class Explanation(Frozen):
    """Everything a plan knows of one job."""

    job: PlannedJob
    sizing: Sizing
    quarters: tuple[str, ...]
    places: tuple[Place, ...]
    """By quarter, then by node."""
    verdicts: tuple[Verdict, ...]
    """Chosen first, then by cost, then what is not available, then what is rejected."""
    chosen: tuple[Candidate, ...]
    """With the whole trace, most units first."""
    tag_cents: int
    """What the job adds to the bound over the horizon."""


def explain(plan: Plan, job_name: str) -> Explanation:
    """Explain one job of a plan; raises InputError with the nearest names if there is none such."""
    job = next((job for job in plan.jobs if job.name == job_name), None)
    if job is None:
        raise InputError(_unknown(plan, job_name))
    sizing = plan.sizings[job.sizing]
    candidates = {candidate.gpu_type: candidate for candidate in sizing.candidates}
    return Explanation(
        job=job,
        sizing=sizing,
        quarters=plan.quarters,
        places=tuple(_places(plan, job, candidates)),
        verdicts=_verdicts(job, sizing),
        chosen=tuple(candidates[gpu_type] for gpu_type, _ in job.gpu_types),
        tag_cents=job.tag_cents,
    )


def _unknown(plan: Plan, job_name: str) -> Finding:
    names = [job.name for job in plan.jobs]
    near = get_close_matches(job_name, names, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(repr(name) for name in near)}?" if near else None
    return Finding(f"the plan has no job {job_name!r}, it has {len(names):,} others", hint=hint)


def _places(plan: Plan, job: PlannedJob, candidates: Mapping[str, Candidate]) -> Iterator[Place]:
    nodes = {node.id: node for node in plan.nodes}
    for quarter, uses in zip(plan.quarters, plan.placements, strict=True):
        seats: dict[tuple[int, int], list[tuple[Node, tuple[int, ...]]]] = {}
        for use in uses:
            for occupant in use.occupants:
                if occupant.job == job.name:
                    seat = nodes[use.node], occupant.gpus
                    seats.setdefault((occupant.unit, occupant.replica), []).append(seat)
        by_nodes: dict[tuple[str, ...], list[tuple[int, int]]] = {}
        for piece, places in sorted(seats.items()):
            by_nodes.setdefault(tuple(node.id for node, _ in places), []).append(piece)
        for ids, pieces in sorted(by_nodes.items()):
            node, _ = seats[pieces[0]][0]
            gpus = sorted(gpu for piece in pieces for gpu in seats[piece][0][1])
            yield Place(
                quarter=quarter,
                nodes=ids,
                gpu_type=node.gpu_type,
                units=tuple(unit for unit, _ in pieces),
                replicas=tuple(replica for _, replica in pieces),
                in_replicas=candidates[node.gpu_type].replicas > 1,
                gpus=tuple(gpus),
            )


def _verdicts(job: PlannedJob, sizing: Sizing) -> tuple[Verdict, ...]:
    candidates = {candidate.gpu_type: candidate for candidate in sizing.candidates}
    units = dict(job.gpu_types)
    alternatives = {alternative.gpu_type: alternative for alternative in job.alternatives}
    priced = sorted(
        (
            _priced(
                alternatives.get(gpu_type, _not_in_play(gpu_type)),
                candidate,
                units.get(gpu_type, 0),
            )
            for gpu_type, candidate in candidates.items()
        ),
        key=_by_weight,
    )
    rejected: dict[str, list[Reason]] = {}
    for rejection in sizing.rejections:
        reason = Reason(text=rejection.message, rule=rejection.rule, sources=rejection.sources)
        rejected.setdefault(rejection.gpu_type, []).append(reason)
    return (
        *priced,
        *(
            Verdict(
                gpu_type=gpu_type,
                outcome="rejected",
                units=0,
                extra_cents=None,
                reasons=tuple(reasons),
                candidate=None,
            )
            for gpu_type, reasons in sorted(rejected.items())
        ),
    )


def _not_in_play(gpu_type: str) -> Alternative:
    return Alternative(gpu_type=gpu_type, extra_cents=None, reason="not owned and not offered")


def _priced(alternative: Alternative, candidate: Candidate, units: int) -> Verdict:
    outcome: Literal["chosen", "costs more", "costs no more", "not available"]
    if units:
        outcome = "chosen"
    elif alternative.extra_cents is None:
        outcome = "not available"
    else:
        outcome = "costs more" if alternative.extra_cents else "costs no more"
    return Verdict(
        gpu_type=alternative.gpu_type,
        outcome=outcome,
        units=units,
        extra_cents=alternative.extra_cents,
        reasons=(Reason(text=alternative.reason),),
        candidate=candidate,
    )


def _by_weight(verdict: Verdict) -> tuple[int, bool, int, str]:
    """Chosen first, then cheapest, then without a price."""
    extra = verdict.extra_cents
    return (-verdict.units, extra is None, extra or 0, verdict.gpu_type)
