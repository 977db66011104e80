"""Each job: where it runs, what it needs, what it costs; and the GPU types it may not use."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from planner.report.document import Block, Column, Paragraph, Table
from planner.report.format import count_of, dollars, gigabytes, percent, range_of

if TYPE_CHECKING:
    from planner.plan.plan import Plan, PlannedJob
    from planner.sizing.candidate import Candidate, Rejection

__all__ = ["jobs_section", "rejections_section"]


def jobs_section(plan: Plan, most: int) -> tuple[Block, ...]:
    """One row per job and GPU type that it keeps; a long portfolio is cut, with its sum."""
    shown = plan.jobs[:most]
    table = Table(
        (
            Column("Job", wraps=True),
            Column("Kind"),
            Column("Units", "right"),
            Column("A unit runs on", wraps=True),
            Column("Memory GB", "right"),
            Column("Fill", "right"),
            Column("Tag, USD", "right"),
        ),
        tuple(row for job in shown for row in _job_rows(plan, job)),
        ("All jobs", "", "", "", "", "", dollars(sum(job.tag_cents for job in plan.jobs))),
    )
    blocks: list[Block] = [
        Paragraph(
            "Memory is need/offer per unit, after headroom. The tag is what the job adds to the "
            "proved bound over the horizon; with the other terms under Proof it adds up to it.",
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


def _job_rows(plan: Plan, job: PlannedJob) -> list[tuple[str, ...]]:
    candidates = {c.gpu_type: c for c in plan.sizings[job.sizing].candidates}
    head = (job.name, job.kind, range_of(job.units))
    if not job.gpu_types:
        return [(*head, "no unit in any quarter", "", "", dollars(job.tag_cents))]
    rows: list[tuple[str, ...]] = []
    for place, (gpu_type, units) in enumerate(job.gpu_types):
        first = place == 0
        share = f" ({count_of(units, 'unit')})" if len(job.gpu_types) > 1 else ""
        rows.append(
            (
                *(head if first else ("", "", "")),
                *_needs(candidates[gpu_type], share),
                dollars(job.tag_cents) if first else "",
            )
        )
    return rows


def _needs(candidate: Candidate, share: str) -> tuple[str, str, str]:
    need, offer = candidate.gpu_memory_mb, candidate.gpu_capacity_mb
    stated = need > 0 and offer > 0
    return (
        f"{candidate.gpus}× {candidate.gpu_type}{share}",
        f"{gigabytes(need) if stated else '–'}/{gigabytes(offer)}",
        percent(need / offer, 0) if stated else "–",
    )


def _derived(plan: Plan) -> tuple[Block, ...]:
    lines = [
        f"{job.name} is derived from {job.derived_from} by rule {job.derived_by}."
        for job in plan.jobs
        if job.derived_from
    ]
    if not lines:
        return ()
    if len(lines) > 5:
        return (
            Paragraph(f"{count_of(len(lines), 'job')} are derived deployments of tuned models."),
        )
    return (Paragraph(" ".join(lines), tone="faint"),)


def rejections_section(plan: Plan) -> tuple[Block, ...]:
    """GPU types that jobs may not or cannot use, grouped by the rule that says so."""
    jobs_of_sizing = Counter(job.sizing for job in plan.jobs)
    jobs: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], Rejection] = {}
    for key in sorted(plan.sizings):
        for spoken in {(r.rule, r.gpu_type): r for r in plan.sizings[key].rejections}.values():
            jobs[spoken.rule, spoken.gpu_type] += jobs_of_sizing[key]
            example.setdefault((spoken.rule, spoken.gpu_type), spoken)
    rules: dict[str, list[str]] = {}
    for rule, gpu_type in sorted(jobs):
        rules.setdefault(rule, []).append(gpu_type)
    if not rules:
        return ()
    rows = tuple(
        (
            rule,
            ", ".join(f"{gpu} ({count_of(jobs[rule, gpu], 'job')})" for gpu in gpus),
            example[rule, gpus[0]].message,
        )
        for rule, gpus in rules.items()
    )
    return (
        Table(
            (
                Column("Rule", wraps=True),
                Column("GPU types and jobs", wraps=True),
                Column("For example", wraps=True),
            ),
            rows,
        ),
    )
