"""One job on every GPU type, side by side, with the sums behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.reporting.document import Block, Bullets, Column, Document, Heading, Paragraph, Table
from planner.reporting.format import code, copies_of, gigabytes, hours, percent
from planner.reporting.peak import calibration_blocks, need_and_offer, peak_blocks
from planner.reporting.sums import Sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.sizing.calibration import Calibration
    from planner.sizing.candidate import Candidate, Rejection, Sizing

__all__ = ["sizing_document"]

_BY_LOAD = (
    "3 × 2 GPUs are three replicas of two, as many as the load takes; all else is of one replica."
)
_BLANK = "\0"
"""Stands for the GPU type where several share a message."""


def sizing_document(
    sizing: Sizing, *, every_sum: bool, calibration: Calibration | None = None
) -> Document:
    """The comparison; then the sums once, or for each GPU type if `every_sum`."""
    blocks: list[Block] = [Heading(sizing.summary, 1)]
    if sizing.candidates:
        blocks += [Heading("GPU types that can run it"), _candidates(sizing.candidates)]
        if any(one.replicas > 1 for one in sizing.candidates):
            blocks.append(Paragraph(_BY_LOAD, tone="faint"))
        blocks += peak_blocks(sizing.candidates)
    else:
        blocks.append(Paragraph("No GPU type can run it.", tone="warning"))
    if calibration is not None:
        blocks += calibration_blocks(calibration)
    if sizing.rejections:
        blocks += [Heading("GPU types that cannot"), _rejections(sizing.rejections)]
    if sizing.refused_parts:
        blocks += [Heading("Parts of a GPU that it does not take"), _parts(sizing.refused_parts)]
    if sizing.warnings:
        blocks += [Heading("Warnings"), Bullets(sizing.warnings, tone="warning")]
    if sizing.assumptions:
        blocks += [Heading("Assumptions"), Bullets(sizing.assumptions)]
    return (*blocks, *(_each_sum(sizing) if every_sum else _one_sum(sizing)))


def _candidates(candidates: Sequence[Candidate]) -> Table:
    by_peak = any(one.memory is not None for one in candidates)
    timed = any(one.planned_hours is not None for one in candidates)
    need = "Each needs / offers, GiB" if by_peak else "Need / offer, GB"
    return Table(
        (
            Column("GPU type"),
            Column("GPUs", "right"),
            Column(need, "right", wraps=True),
            Column("Filled", "right"),
            Column("Cores", "right"),
            Column("Host, GB", "right", wraps=True),
            Column("Hours", "right"),
            *((Column("Planned, h", "right", wraps=True),) if timed else ()),
            Column("Set by", wraps=True),
        ),
        tuple(_candidate_row(candidate, by_peak=by_peak, timed=timed) for candidate in candidates),
    )


def _candidate_row(candidate: Candidate, *, by_peak: bool, timed: bool) -> tuple[str, ...]:
    need, offer = candidate.gpu_memory_mb, candidate.gpu_capacity_mb
    known = need > 0 and offer > 0
    whole = f"{gigabytes(need) if known else '–'} / {gigabytes(offer)}"
    return (
        candidate.way,
        copies_of(candidate.replicas, candidate.gpus),
        need_and_offer(candidate) if by_peak else whole,
        percent(need / offer, 0) if known else "–",
        str(candidate.cpus),
        gigabytes(candidate.memory_mb),
        hours(candidate.hours).removesuffix(" h"),
        *((str(candidate.planned_hours or "–"),) if timed else ()),
        candidate.decided_by,
    )


def _rejections(rejections: Sequence[Rejection]) -> Table:
    said: dict[tuple[str, str], list[str]] = {}
    for rejection in rejections:
        pattern = rejection.message.replace(rejection.gpu_type, _BLANK)
        said.setdefault((rejection.rule, pattern), []).append(rejection.gpu_type)
    return Table(
        (Column("GPU type", wraps=True), Column("Rule", wraps=True), Column("Why", wraps=True)),
        tuple(
            (", ".join(gpus), rule, pattern.replace(_BLANK, gpus[0] if len(gpus) == 1 else "these"))
            for (rule, pattern), gpus in said.items()
        ),
    )


def _parts(refusals: Sequence[Rejection]) -> Table:
    """By GPU type and reason, with the parts that it holds for."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for refusal in refusals:
        part = refusal.way.removeprefix(refusal.gpu_type).strip()
        said.setdefault((refusal.gpu_type, refusal.message, refusal.rule), []).append(part)
    return Table(
        (
            Column("GPU type", wraps=True),
            Column("Parts", wraps=True),
            Column("Rule", wraps=True),
            Column("Why", wraps=True),
        ),
        tuple(
            (gpu_type, ", ".join(parts), rule, message)
            for (gpu_type, message, rule), parts in said.items()
        ),
    )


def _one_sum(sizing: Sizing) -> tuple[Block, ...]:
    """The trace of one candidate, a line for each step."""
    if not sizing.candidates:
        return ()
    shown = max(sizing.candidates, key=_fill)
    return (
        Heading(f"The sums on {shown.way}, the best filled"),
        Sums().brief(shown.trace),
        Paragraph(
            f"{code('--sums')} writes them out for each GPU type, with their sources.", tone="faint"
        ),
    )


def _each_sum(sizing: Sizing) -> tuple[Block, ...]:
    sums = Sums()
    drawn = tuple(
        block
        for candidate in sizing.candidates
        for block in (Heading(f"The sums on {candidate.way}"), *sums.of(candidate.trace))
    )
    return (*drawn, *sums.sources())


def _fill(candidate: Candidate) -> float:
    return candidate.gpu_memory_mb / max(candidate.gpu_capacity_mb, 1)
