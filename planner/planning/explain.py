"""Explains from the plan alone why a job runs where it runs, and why not elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from planner.errors import Finding, InputError
from planner.inputs.base import Frozen
from planner.inputs.text import count_of, did_you_mean
from planner.planning.plan import GpuPart, Node, Occupant, Plan, PlannedJob, ShortJob
from planner.planning.words import some_of
from planner.sizing.candidate import Candidate, Sizing

_JOBS_NAMED = 10


class PlacedUnits(Frozen):
    """Units of the job that hold the same GPUs of one node, or whole nodes, in one quarter."""

    quarter: str
    nodes: tuple[str, ...]
    """More than one only for a unit that takes whole nodes."""
    gpu_type: str
    units: tuple[int, ...]
    replicas: tuple[int, ...]
    """The replicas or runs of each of these units, from 1; a unit may have several here."""
    in_replicas: bool
    """Whether a unit has several replicas, or several runs in a quarter, in this way."""
    gpus: tuple[int, ...]
    """The GPU numbers held on the (first) node."""
    way: str
    """The way of the candidate by which they run."""
    hours: tuple[int, int] | None = None
    """Start and end of the time for which they hold the GPUs, in hours of the quarter; None: all
    quarter."""
    parts: tuple[tuple[int, GpuPart], ...] = ()
    """The GPU number and the part held, for each unit; empty if the GPUs are whole."""


class Reason(Frozen):
    """Something that speaks for or against a GPU type."""

    text: str
    rule: str | None = None
    sources: tuple[str, ...] = ()


class ModeVerdict(Frozen):
    """The verdict on one way to run: chosen, dearer, not available, or ruled out."""

    gpu_type: str
    way: str
    """The way of the candidate, or the GPU type if it is rejected as a whole."""
    outcome: Literal["chosen", "costs more", "costs no more", "not available", "rejected"]
    units: int
    """How many units of the job run in this way."""
    extra_cents: int | None
    """What one unit would add to the bound here; None if there is no price for it."""
    reasons: tuple[Reason, ...]
    candidate: Candidate | None
    """What a unit would take; None if the GPU type is rejected."""


class Explanation(Frozen):
    """Everything that a plan knows about one job."""

    job: PlannedJob
    sizing: Sizing
    quarters: tuple[str, ...]
    places: tuple[PlacedUnits, ...]
    """Sorted by quarter, then by node."""
    verdicts: tuple[ModeVerdict, ...]
    """The chosen ways first, then by cost, then those not available, then the rejected ones."""
    chosen: tuple[Candidate, ...]
    """The chosen candidates with their full traces, most units first."""
    when: dict[str, tuple[str, ...]]
    """The quarters of each way, if some unit changes its GPU type; else empty."""
    shortage: ShortJob | None = None
    """How this job, or the job that it is derived from, gives way; None if it is kept."""
    ahead: tuple[str, ...] = ()
    """The jobs that also give way, and that would get new room before this one."""


def explain_job(plan: Plan, job_name: str) -> Explanation:
    """Explain one job of a plan.

    Raises InputError, with the nearest names, if the plan has no such job.
    """
    job = next((job for job in plan.jobs if job.name == job_name), None)
    if job is None:
        names = [job.name for job in plan.jobs]
        others = f"it has {count_of(len(names), 'other')}" if names else "nor any other"
        message = f"the plan has no job {job_name!r}, {others}"
        all_of_them = f"its jobs: {some_of(names, _JOBS_NAMED)}" if names else None
        raise InputError(Finding(message, hint=did_you_mean(job_name, names, 3) or all_of_them))
    sizing = plan.sizings[job.sizing]
    candidates = {candidate.way: candidate for candidate in sizing.candidates}
    gives_way = plan.shortage.jobs if plan.shortage else ()
    short = next((one for one in gives_way if job_name in (one.name, one.deployment)), None)
    return Explanation(
        job=job,
        sizing=sizing,
        quarters=plan.quarters,
        places=tuple(_places(plan, job)),
        verdicts=_verdicts(job, sizing),
        chosen=tuple(candidates[way] for way, _ in job.ways),
        when=plan.quarters_by_way().get(job.name, {}),
        shortage=short,
        ahead=plan.shortage.ahead_of(short) if plan.shortage and short else (),
    )


def _places(plan: Plan, job: PlannedJob) -> Iterator[PlacedUnits]:
    nodes = {node.id: node for node in plan.nodes}
    candidates = {one.way: one for one in plan.sizings[job.sizing].candidates}
    for quarter, uses in zip(plan.quarters, plan.placements, strict=True):
        seats: dict[tuple[int, int], list[tuple[Node, Occupant]]] = {}
        for use in uses:
            for occupant in use.occupants:
                if occupant.job == job.name:
                    piece = occupant.unit, occupant.replica
                    seats.setdefault(piece, []).append((nodes[use.node], occupant))
        alike: dict[tuple[tuple[str, ...], tuple[int, int], str], list[tuple[int, int]]] = {}
        for piece, places in sorted(seats.items()):
            one = places[0][1]
            key = tuple(node.id for node, _ in places), one.hours or (0, 0), one.way
            alike.setdefault(key, []).append(piece)
        several = {places[0][1].way for (_, replica), places in seats.items() if replica > 1}
        for (ids, _, way), pieces in sorted(alike.items()):
            node, first = seats[pieces[0]][0]
            held = [seats[piece][0][1] for piece in pieces]
            yield PlacedUnits(
                quarter=quarter,
                nodes=ids,
                gpu_type=node.gpu_type,
                units=tuple(unit for unit, _ in pieces),
                replicas=tuple(replica for _, replica in pieces),
                in_replicas=way in several or candidates[way].replicas > 1,
                gpus=tuple(sorted({gpu for one in held for gpu in one.gpus})),
                way=way,
                hours=first.hours,
                parts=tuple((one.gpus[0], one.part) for one in held if one.part),
            )


def _verdicts(job: PlannedJob, sizing: Sizing) -> tuple[ModeVerdict, ...]:
    """Return the verdicts in order.

    Chosen first, then by cost, then those without a price, then the rejected ones.
    """
    units = dict(job.ways)
    known = {alternative.way: alternative for alternative in job.alternatives}
    priced = []
    for candidate in sizing.candidates:
        alternative = known.get(candidate.way)
        extra = alternative.extra_cents if alternative else None
        outcome: Literal["chosen", "costs more", "costs no more", "not available"]
        if candidate.way in units:
            outcome = "chosen"
        elif extra is None:
            outcome = "not available"
        else:
            outcome = "costs more" if extra else "costs no more"
        told = alternative.reason if alternative else "not owned and not offered"
        priced.append(
            ModeVerdict(
                gpu_type=candidate.gpu_type,
                way=candidate.way,
                outcome=outcome,
                units=units.get(candidate.way, 0),
                extra_cents=extra,
                reasons=(Reason(text=told),),
                candidate=candidate,
            )
        )
    priced.sort(key=lambda v: (-v.units, v.extra_cents is None, v.extra_cents or 0, v.way))
    rejected: dict[str, ModeVerdict] = {}
    for one in (*sizing.rejections, *sizing.refused_parts):
        way = one.way or one.gpu_type
        before = rejected[way].reasons if way in rejected else ()
        reason = Reason(text=one.message, rule=one.rule, sources=one.sources)
        rejected[way] = ModeVerdict(
            gpu_type=one.gpu_type,
            way=way,
            outcome="rejected",
            units=0,
            extra_cents=None,
            reasons=(*before, reason),
            candidate=None,
        )
    return (*priced, *(verdict for _, verdict in sorted(rejected.items())))
