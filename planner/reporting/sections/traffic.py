"""Serving jobs with a load: traffic, replicas, latency and headroom of each, quarter by quarter."""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby
from math import log
from typing import TYPE_CHECKING, NamedTuple

from planner.inputs.scenario.quarter import Quarter
from planner.reporting.document import Block, Paragraph, table
from planner.reporting.format import copies_of, dollars, quarter_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.plan import EndpointUse, Plan, PlannedJob
    from planner.sizing.candidate import Candidate, ServingFigures

__all__ = ["traffic_section"]

_QUARTER_DAYS = 91
_FAR_DAYS = 3650
"""Beyond which nobody asks when traffic will have grown."""
_MANY_ROWS = 200


class _Row(NamedTuple):
    """What one endpoint of a job does in quarters that are alike."""

    job: PlannedJob
    candidate: Candidate
    serving: ServingFigures
    quarters: tuple[int, ...]

    @property
    def peak(self) -> float:
        """Requests per second at the peak."""
        return self.serving.peaks[self.quarters[-1]]

    @property
    def replicas(self) -> int:
        return self.candidate.replicas_in(self.quarters[-1])

    @property
    def takes(self) -> float:
        """Requests per second that its replicas are planned for at the most."""
        return self.replicas * self.serving.planned_requests_per_second


def traffic_section(plan: Plan) -> Iterator[Block]:
    """One row per endpoint and quarters alike: what arrives, what takes it, what users wait."""
    rows = list(_rows(plan))
    if not rows:
        return
    percentiles = sorted({row.serving.percentile for row in rows})
    at = " or ".join(f"{one}th" for one in percentiles)
    yield Paragraph(
        "Requests per second at the peak, and what the replicas are planned for at the most "
        "(Takes), within the latency that is asked for where one is. Times in ms are expected at "
        f"the {at} percentile at the peak of the busiest quarter: an estimate by the rules under "
        "serving/, not a measurement. Full is when growth as in the last quarters takes up what is "
        "left.",
        tone="faint",
    )
    shown = rows[:_MANY_ROWS]
    first = {id(row.job): row for row in reversed(shown)}
    yield table(
        shown,
        ("Job", "text", lambda row: row.job.name if row is first[id(row.job)] else ""),
        ("Quarter", "text", lambda row: quarter_runs(plan.quarters, _labels(plan, row))),
        ("Req/s", "number", lambda row: _figure(row.peak)),
        ("Takes", "number", lambda row: _figure(row.takes)),
        ("Replicas", "number", lambda row: copies_of(row.replicas, row.candidate.gpus)),
        ("TTFT", "number", lambda row: _ms(row.serving.ttft_ms)),
        ("TPOT", "number", lambda row: _ms(row.serving.tpot_ms)),
        ("Full", "text", lambda row: _full(plan, row)),
    )
    if len(rows) > len(shown):
        yield Paragraph(f"… {len(rows) - len(shown):,} more rows, all in plan.json", tone="faint")
    serving = {row.job.name: row.serving for row in reversed(rows)}
    yield table(
        [use for use in plan.endpoints[:_MANY_ROWS] if use.job in serving],
        ("Job", "text", lambda use: use.job),
        ("At once", "number", lambda use: f"{serving[use.job].concurrency:,}"),
        ("Answer, s", "number", lambda use: _seconds(serving[use.job].e2e_ms)),
        ("M tokens", "number", lambda use: f"{sum(use.million_tokens):,.0f}"),
        ("GPUs, USD", "number", lambda use: dollars(sum(use.cost_cents))),
        ("USD/M tokens", "number", _per_million),
        caption="Requests that a replica must be allowed to hold (max_num_seqs), time to the end "
        "of an answer, millions of tokens over the horizon at mean traffic, and the net present "
        "cost of the GPUs held (of owned nodes what running them costs), idle ones not counted",
    )


def _per_million(one: EndpointUse) -> str:
    tokens = sum(one.million_tokens)
    return f"{sum(one.cost_cents) / 100 / tokens:,.2f}" if tokens else "–"


def _rows(plan: Plan) -> Iterator[_Row]:
    for job in plan.jobs:
        candidates = {one.way: one for one in plan.sizings[job.sizing].candidates}
        for way, _ in job.ways:
            candidate = candidates[way]
            serving = candidate.serving
            if serving is None:
                continue
            active = [quarter for quarter, units in enumerate(job.units) if units]

            def alike(quarter: int, one: Candidate = candidate) -> tuple[float, int]:
                return (one.serving.peaks[quarter] if one.serving else 0, one.replicas_in(quarter))

            for _, group in groupby(active, key=alike):
                yield _Row(job, candidate, serving, tuple(group))


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


def _figure(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


def _ms(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:,.0f}" if figure >= 10 else f"{figure:.1f}"


def _seconds(milliseconds: float | None) -> str:
    return "–" if milliseconds is None else f"{milliseconds / 1000:,.1f}"
