"""Each job: where it runs, what it needs, what it costs; and the GPU types it may not use."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from planner.reporting.document import Block, Bullets, Column, Paragraph, Table
from planner.reporting.format import (
    copies_of,
    count_of,
    dollars,
    gigabytes,
    listed,
    percent,
    quarter_runs,
    range_of,
)
from planner.reporting.parts import taken

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from planner.planning.plan import Plan, PlannedJob
    from planner.sizing.candidate import Candidate, Rejection

__all__ = ["jobs_section", "rejections_section", "share_of"]

_DERIVED_NAMED = 5


def jobs_section(plan: Plan, most: int) -> tuple[Block, ...]:
    """One row per job and GPU type that it keeps; a long portfolio is cut, with its sum."""
    if not plan.jobs:
        return (Paragraph("The scenario has no jobs."),)
    shown, when = plan.jobs[:most], plan.quarters_by_way()
    table = Table(
        (
            Column("Job", wraps=True),
            Column("Units", "right"),
            Column("A unit runs on", wraps=True),
            Column("Memory GB", "right"),
            Column("Fill", "right"),
            Column("Tag, USD", "right"),
        ),
        tuple(row for job in shown for row in _job_rows(plan, job, when.get(job.name, {}))),
        ("All jobs", "", "", "", "", dollars(sum(job.tag_cents for job in plan.jobs))),
    )
    blocks: list[Block] = [
        Paragraph(
            "Memory is need/offer per unit, after headroom. The tag is what the job adds to the "
            "proved bound over the horizon; with the other terms under Proof it adds up to it."
            f"{_by_load(plan, shown)}",
            tone="faint",
        ),
        table,
    ]
    if len(plan.jobs) > most:
        hidden = plan.jobs[most:]
        tags = dollars(sum(job.tag_cents for job in hidden))
        more = count_of(len(hidden), "more job")
        blocks.append(
            Paragraph(f"… {more} with tags of {tags} USD, all of them in plan.json", tone="faint")
        )
    return (*blocks, *_derived(plan))


def _by_load(plan: Plan, jobs: Sequence[PlannedJob]) -> str:
    """What `3 × 2×` means, where some unit runs in replicas."""
    kept = {(job.sizing, way) for job in jobs for way, _ in job.ways}
    several = any(
        candidate.replicas > 1
        for sizing, way in kept
        for candidate in plan.sizings[sizing].candidates
        if candidate.way == way
    )
    meaning = " 3 × 2× is three replicas of two GPUs, as its load asks for; memory is then of one."
    return meaning if several else ""


def _dropped(plan: Plan) -> set[str | None]:
    jobs = plan.shortage.jobs if plan.shortage else ()
    short = [job for job in jobs if job.outcome == "dropped"]
    return {name for job in short for name in (job.name, job.deployment)}


def share_of(units: int, all_quarters: Sequence[str], quarters: Sequence[str] | None) -> str:
    """`3 units`, and of units that change their GPU type `3 units, 2027Q1–Q3`."""
    when = f", {quarter_runs(all_quarters, quarters)}" if quarters else ""
    return f"{count_of(units, 'unit')}{when}"


def _job_rows(
    plan: Plan, job: PlannedJob, when: Mapping[str, Sequence[str]]
) -> list[tuple[str, ...]]:
    candidates = {c.way: c for c in plan.sizings[job.sizing].candidates}
    head = (job.name, range_of(job.units))
    if not job.ways:
        why = "dropped" if job.name in _dropped(plan) else "no unit in any quarter"
        return [(*head, why, "", "", dollars(job.tag_cents))]
    rows: list[tuple[str, ...]] = []
    for place, (way, units) in enumerate(job.ways):
        first = place == 0
        told = share_of(units, plan.quarters, when.get(way))
        share = f" ({told})" if len(job.ways) > 1 else ""
        rows.append(
            (
                *(head if first else ("", "")),
                *_needs(candidates[way], share),
                dollars(job.tag_cents) if first else "",
            )
        )
    return rows


def _needs(candidate: Candidate, share: str) -> tuple[str, str, str]:
    need, offer = candidate.gpu_memory_mb, candidate.gpu_capacity_mb
    stated = need > 0 and offer > 0
    return (
        f"{copies_of(candidate.replicas, candidate.gpus)}× {taken(candidate)}{share}",
        f"{_short(need) if stated else '–'}/{_short(offer)}",
        percent(need / offer, 0) if stated else "–",
    )


def _short(megabytes: int) -> str:
    """GB for a narrow column: from a thousand on without decimals."""
    return gigabytes(megabytes) if megabytes < 10**6 else f"{round(megabytes / 1000):,}"


def _derived(plan: Plan) -> tuple[Block, ...]:
    by_rule: dict[str, list[str]] = {}
    for job in plan.jobs:
        if job.derived_from:
            by_rule.setdefault(job.derived_by or "", []).append(
                f"{job.name} from {job.derived_from}"
            )
    lines = [
        f"Derived by rule {rule}: "
        + (listed(told) if len(told) <= _DERIVED_NAMED else count_of(len(told), "job"))
        + "."
        for rule, told in sorted(by_rule.items())
    ]
    return (Paragraph(" ".join(lines), tone="faint"),) if lines else ()


def rejections_section(plan: Plan) -> tuple[Block, ...]:
    """GPU types that jobs may not or cannot use, grouped by the rule that says so.

    What the scenario itself restricts is no finding: one line tells how many jobs it concerns.
    """
    by_rule: dict[str, dict[str, list[Rejection]]] = {}
    concerned: Counter[str] = Counter()
    jobs_of_sizing = Counter(job.sizing for job in plan.jobs)
    for key, sizing in sorted(plan.sizings.items()):
        spoken = {(said.rule, said.gpu_type): said for said in sizing.rejections}
        concerned.update(dict.fromkeys({rule for rule, _ in spoken}, jobs_of_sizing[key]))
        for (rule, gpu_type), said in spoken.items():
            alike = by_rule.setdefault(rule, {}).setdefault(gpu_type, [])
            alike += [said] * jobs_of_sizing[key]
    own = [rule for rule in sorted(by_rule) if rule.startswith(_OWN)]
    rows = tuple(_rejection_row(rule, by_rule[rule]) for rule in sorted(by_rule) if rule not in own)
    lines = [f"{rule}: {_restricted(by_rule[rule], concerned[rule])}" for rule in own]
    columns = (
        Column("Rule", wraps=True),
        Column("GPU types and jobs", wraps=True),
        Column("For example", wraps=True),
    )
    told: list[Block] = [Table(columns, rows)] if rows else []
    return (*told, Bullets(tuple(lines))) if lines else tuple(told)


_OWN = ("job.", "policies.")


def _rejection_row(rule: str, by_gpu_type: Mapping[str, list[Rejection]]) -> tuple[str, ...]:
    gpu_types = sorted(by_gpu_type)
    counted = (f"{gpu} ({count_of(len(by_gpu_type[gpu]), 'job')})" for gpu in gpu_types)
    return (rule, ", ".join(counted), by_gpu_type[gpu_types[0]][0].message)


def _restricted(by_gpu_type: Mapping[str, list[Rejection]], jobs: int) -> str:
    some = "some of " if len(by_gpu_type) > 1 else ""
    names = listed(sorted(by_gpu_type))
    return f"the scenario keeps {count_of(jobs, 'job')} off {some}{names}"
