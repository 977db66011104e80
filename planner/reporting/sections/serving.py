"""Serving jobs: traffic, replicas and latency by quarter, and APIs by the token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from math import log
from operator import attrgetter
from typing import NamedTuple

from planner.inputs.scenario.quarter import Quarter
from planner.planning.plan import ApiComparison, Plan, PlannedJob
from planner.reporting.document import Block, Cell, Paragraph, columns_for, rest, table
from planner.reporting.format import Style, copies_of, percent, quarter_runs, usd
from planner.reporting.sections.sizing import at_full_rate
from planner.reporting.traced import TracedPlan
from planner.sizing.candidate import Candidate, ServingFigures

_APIS = "how-apis"
_SMALL = 100
"""Times the traffic from which nobody asks where the API begins to be dearer."""


def apis_section(traced: TracedPlan) -> Iterator[Block]:
    """Jobs on APIs with what they pay, and those on GPUs beside APIs that serve their model."""
    plan, compared = traced.plan, traced.plan.api_comparisons
    if plan.apis:
        yield table(
            range(len(plan.apis)),
            ("Job", "name", lambda at: plan.apis[at].job),
            ("API", "text", lambda at: plan.apis[at].api),
            ("Quarters", "text", lambda at: _quarters(plan, at)),
            ("M tokens", "number", traced.each("apis[{}].million_tokens[*]", "count", _APIS)),
            ("Paid, USD", "number", traced.each("apis[{}].cents[*]", "usd", _APIS)),
            ("Present value, USD", "number", traced.each("apis[{}].present_cents", "usd", _APIS)),
            caption="Requests that APIs answer, at mean traffic; what they keep to of latency is "
            "theirs to promise",
        )
        if plan.api_saving_cents is not None:
            yield Paragraph(
                "Without any API, the best plan costs "
                f"{usd(plan.api_saving_cents)} more, as proved."
            )
    if compared:
        yield table(
            range(len(compared)),
            ("Job", "name", lambda at: compared[at].job),
            ("API", "text", lambda at: compared[at].api),
            ("Allowed", "text", lambda at: "yes" if compared[at].allowed else "no"),
            ("GPUs, USD", "number", traced.each("api_comparisons[{}].gpus_cents", "usd", _APIS)),
            ("API, USD", "number", traced.each("api_comparisons[{}].api_cents", "usd", _APIS)),
            ("API cheaper", "text", lambda at: _turns(compared[at])),
            caption="Jobs on GPUs, and the net present cost of the same tokens on an API. Shares "
            "of cost are compared: of GPUs, those held count, idle ones not, and of owned nodes "
            "what running them costs; a job on a node that others need anyway saves nothing by "
            "leaving it. The API is cheaper up to the share of this traffic at which both cost "
            "the same",
        )


def _quarters(plan: Plan, at: int) -> str:
    use = plan.apis[at]
    active = [plan.quarters[q] for q, tokens in enumerate(use.million_tokens) if tokens]
    return quarter_runs(plan.quarters, active)


def _turns(one: ApiComparison) -> str:
    """`below 12 % of this traffic`, `up to 3.2 times this traffic`."""
    gpus_cents, api_cents = one.gpus_cents, one.api_cents
    if not api_cents or gpus_cents >= _SMALL * api_cents:
        return "at any traffic"
    if gpus_cents <= 0:
        return "at none"
    if gpus_cents < api_cents:
        return f"below {percent(gpus_cents / api_cents)} of it"
    return f"up to {gpus_cents / api_cents:.1f} times it"


def on_apis_text(plan: Plan, job: str) -> str:
    """`2 on hosted-70b`: units of a job on APIs, the most of a quarter; empty where none is."""
    planned = next(one for one in plan.jobs if one.name == job)
    return ", ".join(f"{max(units)} on {api}" for api, units in planned.on_apis)


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
    replicas: int
    counted: str
    """Place of their number in plan.json."""
    beside: float = 0.0
    """What replicas on other GPU types take of the same traffic, requests per second."""

    @property
    def takes(self) -> float:
        """Requests per second that the replicas of its endpoint are planned for at the most."""
        return self.replicas * self.serving.planned_requests_per_second + self.beside


def traffic_section(traced: TracedPlan) -> Iterator[Block]:
    """One row per endpoint and quarters alike: what arrives, what takes it, what users wait."""
    plan = traced.plan
    rows = list(_rows(plan))
    if not rows:
        return
    at = " or ".join(f"{one}th" for one in sorted({row.serving.percentile for row in rows}))
    yield Paragraph(
        "Requests per second at the peak, and what the replicas are planned for at the most "
        f"(Takes). Times are expected at the {at} percentile at the peak of the busiest "
        "quarter: an estimate by the rules under serving/, not a measurement. Full is when growth "
        "as in the last quarters takes up what is left.",
        tone="faint",
    )

    def figure(row: _Row, name: str, style: Style = "three_digits") -> Cell:
        place = f"{row.place}.serving.{name}"
        return traced.at(place, style, _HOW) if getattr(row.serving, name, 0) is not None else "–"

    def takes(row: _Row) -> Cell:
        each = traced.read.at(f"{row.place}.serving.planned_requests_per_second")
        return traced.figure(traced.read.at(row.counted) * each, "three_digits", _HOW)

    shown = rows[:_MANY_ROWS]
    first = {id(row.job): row for row in reversed(shown)}
    yield table(
        shown,
        ("Job", "text", lambda row: row.job.name if row is first[id(row.job)] else ""),
        ("Quarter", "text", lambda row: quarter_runs(plan.quarters, _labels(plan, row))),
        ("Req/s", "number", lambda row: figure(row, f"peaks[{row.quarters[-1]}]")),
        ("Takes", "number", takes),
        ("Replicas", "number", _copies),
        ("TTFT, ms", "number", lambda row: figure(row, "ttft_ms")),
        ("TPOT, ms", "number", lambda row: figure(row, "tpot_ms")),
        ("Full", "text", lambda row: _full(plan, row)),
    )
    if told := at_full_rate(row.candidate for row in rows):
        yield Paragraph(told)
    if any(row.job.replicas for row in shown):
        yield Paragraph(
            "Replicas on several GPU types share what arrives at a job, each by what it takes.",
            tone="faint",
        )
    if any(row.candidate.prefill_gpus for row in shown):
        yield Paragraph(
            "2 × (1+3) are two replicas of four GPUs, of which one takes prompts in and three "
            "decode.",
            tone="faint",
        )
    yield from rest(len(rows) - len(shown), "row", ", all in plan.json")
    of_job = {row.job.name: row for row in reversed(rows)}
    places = [at for at, use in enumerate(plan.endpoints[:_MANY_ROWS]) if use.job in of_job]

    def row_of(place: int) -> _Row:
        return of_job[plan.endpoints[place].job]

    def rate(place: int, tokens: str) -> Cell:
        stem = f"endpoints[{place}]"
        cents, every = (traced.read.sum(f"{stem}.{name}[*]") for name in ("cost_cents", tokens))
        return traced.figure(cents / every, "rate", _HOW)

    yield table(
        places,
        ("Job", "text", lambda at: plan.endpoints[at].job),
        ("At once", "number", lambda at: figure(row_of(at), "concurrency", "count")),
        ("Answer, s", "number", lambda at: figure(row_of(at), "e2e_ms", "seconds")),
        ("M tokens", "number", traced.each("endpoints[{}].million_tokens[*]", "count", _HOW)),
        ("GPUs, USD", "number", traced.each("endpoints[{}].cost_cents[*]", "usd", _HOW)),
        *columns_for(
            (("USD/M tokens", "million_tokens"), ("If full", "full_million_tokens")), rate
        ),
        caption="At once: requests that a replica must be allowed to hold (max_num_seqs); Answer: "
        "time to its end; tokens are those of the horizon at mean traffic, their cost that of the "
        "GPUs held, of owned ones what running them costs; If full: if as much arrived all day as "
        "replicas take",
    )


def _copies(row: _Row) -> str:
    return copies_of(row.replicas, row.candidate.gpus, row.candidate.prefill_gpus)


def _rows(plan: Plan) -> Iterator[_Row]:
    """A job's rows by execution mode; by quarter where its units change theirs."""
    changing = plan.quarters_by_way()
    for at, job in enumerate(plan.jobs):
        rows = list(_rows_of_job(plan, at, job, changing.get(job.name, {})))
        yield from sorted(rows, key=attrgetter("quarters")) if job.name in changing else rows


def _rows_of_job(
    plan: Plan, at: int, job: PlannedJob, labels: Mapping[str, Sequence[str]]
) -> Iterator[_Row]:
    """Rows of the execution modes in which a job serves, for quarters that are alike.

    `labels` are the quarters in which units run so, of a job whose units change their mode.
    """
    candidates = plan.sizings[job.sizing].candidates
    places = {one.way: place for place, one in enumerate(candidates)}
    counts = dict(job.replicas)
    for number, (way, _) in enumerate(job.ways):
        candidate, serving = candidates[places[way]], candidates[places[way]].serving
        if serving is None:
            continue
        others = [
            (units, other.planned_requests_per_second)
            for name, units in job.replicas
            if name != way and (other := candidates[places[name]].serving) is not None
        ]
        here = labels.get(way, plan.quarters)
        found = []
        for quarter, units in enumerate(job.units):
            mine = counts[way][quarter] if way in counts else candidate.replicas_in(quarter)
            if units and mine and plan.quarters[quarter] in here:
                beside = sum(replicas[quarter] * rate for replicas, rate in others)
                found.append((quarter, (serving.peaks[quarter], mine, beside)))
        place = f"sizings[{job.sizing}].candidates[{places[way]}]"
        for (_, replicas, beside), alike in groupby(found, key=lambda one: one[1]):
            span = tuple(quarter for quarter, _ in alike)
            by_quarter = f"_by_quarter[{span[-1]}]" * bool(candidate.replicas_by_quarter)
            counted = f"{place}.replicas{by_quarter}"
            if job.replicas:
                counted = f"jobs[{at}].replicas[{number}][1][{span[-1]}]"
            yield _Row(job, candidate, serving, place, span, replicas, counted, beside)


def _labels(plan: Plan, row: _Row) -> tuple[str, ...]:
    return tuple(plan.quarters[quarter] for quarter in row.quarters)


def _full(plan: Plan, row: _Row) -> str:
    """The quarter in which more is planned for, or the month by which growth takes the rest.

    What is planned for the last quarter holds until its end; it grows on from there.
    """
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
    return f"{(Quarter.parse(plan.quarters[last]) + 1).start + timedelta(days=days):%Y-%m}"
