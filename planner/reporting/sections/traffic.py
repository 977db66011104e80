"""Serving jobs with a load: traffic, replicas, latency and headroom of each, quarter by quarter."""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby
from math import log
from typing import TYPE_CHECKING, NamedTuple

from planner.inputs.scenario.quarter import Quarter
from planner.reporting.document import Block, Cell, Paragraph, table
from planner.reporting.format import copies_of, quarter_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.ledger.traced import TracedFigure
    from planner.planning.plan import Plan, PlannedJob
    from planner.reporting.format import Style
    from planner.reporting.traced import TracedPlan
    from planner.sizing.candidate import Candidate, ServingFigures

__all__ = ["runs_section", "traffic_section"]

_QUARTER_DAYS = 91
_FAR_DAYS = 3650
"""Beyond which nobody asks when traffic will have grown."""
_MANY_ROWS = 200
_HOW = "how-serving"


class _Row(NamedTuple):
    """What one endpoint of a job does in quarters that are alike."""

    job: PlannedJob
    candidate: Candidate
    serving: ServingFigures
    place: str
    """Of the candidate in plan.json."""
    quarters: tuple[int, ...]

    @property
    def replicas(self) -> int:
        return self.candidate.replicas_in(self.quarters[-1])

    @property
    def takes(self) -> float:
        """Requests per second that its replicas are planned for at the most."""
        return self.replicas * self.serving.planned_requests_per_second


def traffic_section(traced: TracedPlan) -> Iterator[Block]:
    """One row per endpoint and quarters alike: what arrives, what takes it, what users wait."""
    plan = traced.plan
    rows = list(_rows(plan))
    if not rows:
        return
    at = " or ".join(f"{one}th" for one in sorted({row.serving.percentile for row in rows}))
    yield Paragraph(
        "Requests per second at the peak, and what the replicas are planned for at the most "
        "(Takes), within the latency that is asked for where one is. Times in ms are expected at "
        f"the {at} percentile at the peak of the busiest quarter: an estimate by the rules under "
        "serving/, not a measurement. Full is when growth as in the last quarters takes up what is "
        "left.",
        tone="faint",
    )

    def figure(row: _Row, name: str, style: Style = "three_digits") -> Cell:
        place = f"{row.place}.serving.{name}"
        return traced.at(place, style, _HOW) if getattr(row.serving, name, 0) is not None else "–"

    def takes(row: _Row) -> Cell:
        each = traced.read.at(f"{row.place}.serving.planned_requests_per_second")
        followed = f"replicas_by_quarter[{row.quarters[-1]}]"
        replicas = followed if row.candidate.replicas_by_quarter else "replicas"
        total = traced.read.at(f"{row.place}.{replicas}") * each
        return traced.figure(total, "three_digits", _HOW)

    shown = rows[:_MANY_ROWS]
    first = {id(row.job): row for row in reversed(shown)}
    yield table(
        shown,
        ("Job", "text", lambda row: row.job.name if row is first[id(row.job)] else ""),
        ("Quarter", "text", lambda row: quarter_runs(plan.quarters, _labels(plan, row))),
        ("Req/s", "number", lambda row: figure(row, f"peaks[{row.quarters[-1]}]")),
        ("Takes", "number", takes),
        ("Replicas", "number", _copies),
        ("TTFT", "number", lambda row: figure(row, "ttft_ms")),
        ("TPOT", "number", lambda row: figure(row, "tpot_ms")),
        ("Full", "text", lambda row: _full(plan, row)),
    )
    if any(row.candidate.prefill_gpus for row in shown):
        yield Paragraph(
            "2 × (1+3) are two replicas of four GPUs, of which one takes prompts in and three "
            "decode.",
            tone="faint",
        )
    if len(rows) > len(shown):
        yield Paragraph(f"… {len(rows) - len(shown):,} more rows, all in plan.json", tone="faint")
    of_job = {row.job.name: row for row in reversed(rows)}
    uses = [
        (number, of_job[use.job])
        for number, use in enumerate(plan.endpoints[:_MANY_ROWS])
        if use.job in of_job
    ]

    def tokens(number: int) -> TracedFigure:
        return traced.read.sum(f"endpoints[{number}].million_tokens[*]")

    def full(number: int) -> TracedFigure:
        return traced.read.sum(f"endpoints[{number}].full_million_tokens[*]")

    def cents(number: int) -> TracedFigure:
        return traced.read.sum(f"endpoints[{number}].cost_cents[*]")

    yield table(
        uses,
        ("Job", "text", lambda use: use[1].job.name),
        ("At once", "number", lambda use: figure(use[1], "concurrency", "count")),
        ("Answer, s", "number", lambda use: figure(use[1], "e2e_ms", "seconds")),
        ("M tokens", "number", lambda use: traced.figure(tokens(use[0]), "count", _HOW)),
        ("GPUs, USD", "number", lambda use: traced.figure(cents(use[0]), "usd", _HOW)),
        (
            "USD/M tokens",
            "number",
            lambda use: traced.figure(cents(use[0]) / tokens(use[0]), "rate", _HOW),
        ),
        (
            "If full",
            "number",
            lambda use: traced.figure(cents(use[0]) / full(use[0]), "rate", _HOW),
        ),
        caption="Requests that a replica must be allowed to hold (max_num_seqs), time to the end "
        "of an answer, millions of tokens over the horizon at mean traffic, and the net present "
        "cost of the GPUs held (of owned nodes what running them costs), idle ones not counted; "
        "If full is what a million tokens would cost if all day as much arrived as replicas take",
    )


def _copies(row: _Row) -> str:
    return copies_of(row.replicas, row.candidate.gpus, row.candidate.prefill_gpus)


def runs_section(traced: TracedPlan) -> Iterator[Block]:
    """How long each run takes, on what, and what it costs; nothing where nothing runs for hours."""
    plan, each = traced.plan, traced.accounts.per_gpu_hour
    found: list[tuple[int, str, Candidate]] = []
    for place, job in enumerate(plan.jobs[:_MANY_ROWS]):
        every = enumerate(plan.sizings[job.sizing].candidates)
        ways = {one.way: (at, one) for at, one in every}
        for way, _ in job.ways:
            at, one = ways[way]
            if one.planned_hours is not None:
                found.append((place, f"sizings[{job.sizing}].candidates[{at}]", one))

    def times(place: int) -> TracedFigure:
        return traced.read.sum(f"jobs[{place}].units[*]") * traced.read.at(f"jobs[{place}].runs")

    def gpu_hours(stem: str) -> TracedFigure:
        return traced.read.at(f"{stem}.planned_hours") * traced.read.at(f"{stem}.gpus")

    first = {place: one for place, _, one in reversed(found)}
    if found:
        yield table(
            found,
            ("Job", "text", lambda row: plan.jobs[row[0]].name),
            (
                "Runs",
                "number",
                lambda row: (
                    traced.figure(times(row[0]), "count", "how-need")
                    if first[row[0]] is row[2]
                    else ""
                ),
            ),
            ("Each on", "text", lambda row: f"{row[2].gpus:,} × {row[2].gpu_type}"),
            (
                "Hours each",
                "number",
                lambda row: traced.at(f"{row[1]}.planned_hours", "count", _HOW),
            ),
            (
                "GPU-hours each",
                "number",
                lambda row: traced.figure(gpu_hours(row[1]), "hours", _HOW),
            ),
            (
                "USD a run",
                "number",
                lambda row: traced.figure(gpu_hours(row[1]) * each, "usd", _HOW) if each else "–",
            ),
            caption="Runs over the horizon: for how many hours each holds its GPUs, and what that "
            "costs at the net present cost of a GPU-hour that jobs hold; a job on several GPU "
            "types has a row for each",
        )


def _rows(plan: Plan) -> Iterator[_Row]:
    for job in plan.jobs:
        ways = {one.way: at for at, one in enumerate(plan.sizings[job.sizing].candidates)}
        for way, _ in job.ways:
            candidate = plan.sizings[job.sizing].candidates[ways[way]]
            serving = candidate.serving
            if serving is None:
                continue
            place = f"sizings[{job.sizing}].candidates[{ways[way]}]"
            active = [quarter for quarter, units in enumerate(job.units) if units]

            def alike(quarter: int, one: Candidate = candidate) -> tuple[float, int]:
                return (one.serving.peaks[quarter] if one.serving else 0, one.replicas_in(quarter))

            for _, group in groupby(active, key=alike):
                yield _Row(job, candidate, serving, place, tuple(group))


def _labels(plan: Plan, row: _Row) -> tuple[str, ...]:
    return tuple(plan.quarters[quarter] for quarter in row.quarters)


def _full(plan: Plan, row: _Row) -> str:
    """The quarter in which more is planned for, or the month by which growth takes the rest."""
    later = range(row.quarters[-1] + 1, len(plan.quarters))
    beyond = next((at for at in later if row.serving.peaks[at] > row.takes), None)
    if beyond is not None:
        return plan.quarters[beyond]
    peaks, last = row.serving.peaks, len(plan.quarters) - 1
    growth = peaks[last] / peaks[last - 1] if last and peaks[last - 1] else 1
    if growth <= 1 or not peaks[last]:
        return "–"
    days = _QUARTER_DAYS * log(row.takes / peaks[last]) / log(growth)
    if days > _FAR_DAYS:
        return "–"
    return f"{Quarter.parse(plan.quarters[last]).start + timedelta(days=days):%Y-%m}"
