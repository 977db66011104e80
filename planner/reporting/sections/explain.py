"""Why a job runs where it runs, or why it gives way, for a reader who wants every number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from planner.planning.explain import Explanation, ModeVerdict, PlacedUnits
from planner.planning.plan import Plan, ProvedStep, Shortage, ShortJob
from planner.reporting.document import Block, Bullets, Document, Heading, Paragraph, Table, table
from planner.reporting.format import (
    code,
    copies_of,
    count_of,
    gigabytes,
    hours,
    listed,
    memory,
    moments,
    percent,
    quarter_span,
    range_of,
    usd,
    with_code,
)
from planner.reporting.sections.jobs import parts_held, share_of, taken
from planner.reporting.sections.proof import VERDICTS
from planner.reporting.sections.sizing import Sums, peak_blocks
from planner.sizing.candidate import Candidate

_NAMED = 3
_OF_UNITS = ("Short", "Units short × quarters")
_ORDER = (
    "Not everything fits. As few jobs as can be are dropped, and then as few as can be delayed, "
    "the highest priority first; among equals, what costs the least is kept. A job is kept whole "
    "or not at all, with the deployment derived from it."
)
_UNITS = (
    " Where a job may be short of units, these count after dropped jobs of the same priority, each "
    "once for each quarter in which it does not run."
)


def shortage_section(plan: Plan) -> tuple[Block, ...]:
    """By priority, then job by job; nothing where every job is kept as asked."""
    shortage = plan.shortage
    if shortage is None:
        return ()
    units = _UNITS if any(use.units_short for use in shortage.priorities) else ""
    return (
        Paragraph(f"{_ORDER}{units}", tone="faint"),
        _by_priority(shortage),
        *_unproved(plan, shortage),
        *_confirmed(shortage),
        *(
            block
            for job in shortage.jobs
            for block in _job(job, plan.quarters, shortage.ahead_of(job))
        ),
    )


def _by_priority(shortage: Shortage) -> Table:
    return table(
        shortage.priorities,
        ("Priority", "number", lambda use: str(use.priority)),
        ("Jobs", "number", lambda use: f"{use.jobs:,}"),
        (
            "Kept as asked",
            "number",
            lambda use: f"{use.jobs - use.delayed - use.dropped - use.short:,}",
        ),
        ("Short", "number", lambda use: f"{use.short:,}"),
        ("Units short × quarters", "number", lambda use: f"{use.units_short:,}"),
        ("Delayed", "number", lambda use: f"{use.delayed:,}"),
        ("Dropped", "number", lambda use: f"{use.dropped:,}"),
        ("Proved", "name", lambda use: "yes" if use.proved else "NO"),
        without=() if any(use.units_short for use in shortage.priorities) else _OF_UNITS,
    )


def _unproved(plan: Plan, shortage: Shortage) -> Iterator[Block]:
    if not all(use.proved for use in shortage.priorities):
        yield Paragraph(
            "Where it says NO, a limit of time was hit: fewer jobs might have to give way.",
            tone="warning",
        )
    elif not shortage.proves(plan.proof.cost_cents, plan.proof.asked_gap):
        off = usd(plan.proof.cost_cents - shortage.bound_cents)
        yield Paragraph(
            f"Dropping others of the same priorities might be cheaper, by at most {off}.",
            tone="warning",
        )


def _confirmed(shortage: Shortage) -> Iterator[Block]:
    if shortage.steps:
        yield Paragraph("Other solvers were asked for each step again that is proved:")
        yield Bullets(tuple(f"{_claim(step)}: {_opinions(step)}" for step in shortage.steps))


def _claim(step: ProvedStep) -> str:
    if step.counted:
        return f"{step.counted}: no fewer than {step.least:,}"
    return f"cost of whatever keeps as much: no less than {usd(step.least)}"


def _opinions(step: ProvedStep) -> str:
    return "; ".join(f"{one.solver}: {VERDICTS[one.verdict]}" for one in step.second_opinions)


def _job(job: ShortJob, quarters: Sequence[str], ahead: Sequence[str]) -> Iterator[Block]:
    yield Heading(f"{job.name}: {job.how(quarters)}", 3)
    also = f" {job.deployment}, derived from it, with it." if job.deployment else ""
    asked = range_of(job.asked)
    yield Paragraph(
        f"Priority {job.priority}, {asked} {'unit' if asked == '1' else 'units'} a quarter.{also}"
    )
    yield from why_short(job, ahead)


def why_short(job: ShortJob, ahead: Sequence[str]) -> Iterator[Block]:
    """What stands in the way of a job that gives way, and what would keep it as asked.

    `ahead` are the jobs to which room that is made for it goes first.
    """
    yield Paragraph(f"As asked, beside all that is kept: {job.cause}.")
    if job.remedies:
        each = ", each by itself" if len(job.remedies) > 1 else ""
        more = len(ahead) - _NAMED
        first = listed([*ahead[:_NAMED], f"{more:,} more"] if more > 0 else ahead)
        but = f", if {first} did not take the room first" if ahead else ""
        yield Paragraph(f"What would keep it as asked{each}{but}:")
        yield Bullets(job.remedies)


def outcome_of(job: ShortJob, name: str, quarters: Sequence[str]) -> str:
    """What became of a job, or of the deployment derived from it, in a sentence."""
    whose = "It is" if name == job.name else f"With {job.name}, from which it is derived, it is"
    return f"{whose} {job.how(quarters)}: not everything fits, and its priority is {job.priority}."


_MOST_NODES_NAMED = 12

_READING_AID = (
    "The price tag is what the job adds to the proved bound of the cost; Extra is what one unit "
    "forced onto that GPU type would add, over the horizon. Both are prices at the margin of the "
    "whole portfolio, not invoices. GPU types that are neither owned nor offered were not "
    f"considered: {code('planner size')} compares all."
)

_LEADS = (
    f"A figure from the catalog leads on with {code('planner catalog show ID')}, a rule "
    f"with {code('planner rules show ID')}; what the job or the scenario states stands in the "
    "scenario file."
)

_DECIDED_BY = {
    "memory": "as many as hold its memory",
    "baseline": "as many as the published baseline",
    "floor": "as many as a published point for a job of this size",
    "deadline": "as many as the deadline asks for",
    "latency": "as many as the latency asks for",
    "load": "more than hold the model, so that it takes more requests or answers sooner",
    "parallelism": "the next count that a job can be split over",
    "stated": "as the job states",
}


def explanation_document(told: Explanation) -> Document:
    """The answer first, then where, why not elsewhere, and the sums behind each number."""
    job = told.job
    blocks: list[Block] = [
        Heading(job.name, 1),
        Paragraph(f"{told.sizing.summary}.{_origin(told)}"),
        Paragraph(_answer(told), tone="strong"),
        *_gives_way(told),
    ]
    if told.places:
        blocks += [Heading("Where it runs"), _where(told)]
    if told.verdicts:
        blocks += [Heading("Why this GPU type, and why not the others"), _verdicts(told)]
        blocks.append(Paragraph(_READING_AID, tone="faint"))
        blocks += _sources(told)
    sums = Sums()
    for candidate in told.chosen:
        blocks += [Heading(f"The sums on {candidate.way}"), _needs(candidate)]
        blocks += peak_blocks((candidate,), level=3)
        blocks.append(Paragraph(_LEADS, tone="faint"))
        blocks += sums.of(candidate.trace)
    if told.sizing.warnings:
        blocks += [
            Heading("Warnings"),
            Bullets(tuple(map(with_code, told.sizing.warnings)), "warning"),
        ]
    if told.sizing.assumptions:
        blocks += [Heading("Assumptions"), Bullets(told.sizing.assumptions)]
    return (*blocks, *sums.sources())


def _origin(told: Explanation) -> str:
    job = told.job
    derived = (
        f" Derived from {job.derived_from} by rule {job.derived_by}." if job.derived_from else ""
    )
    return f"{derived} Team: {job.team}." if job.team else derived


def _answer(told: Explanation) -> str:
    units = ", ".join(
        f"{quarter} {count:,}"
        for quarter, count in zip(told.quarters, told.job.units, strict=True)
        if count
    )
    if told.shortage and told.shortage.outcome == "dropped":
        return outcome_of(told.shortage, told.job.name, told.quarters)
    there = ", ".join(f"{max(units)} on {api}" for api, units in told.job.on_apis)
    if not told.chosen and there:
        return f"Its requests are answered by APIs: units {there}, which costs less than GPUs."
    if not told.chosen:
        return "It has no unit in any quarter, so nothing is planned for it."
    kept = dict(told.job.ways)
    runs_on = listed(
        [
            f"{_replicas(candidate)}{candidate.gpus} × {taken(candidate)} "
            f"({share_of(kept[candidate.way], told.quarters, told.when.get(candidate.way))})"
            for candidate in told.chosen
        ]
    )
    whose = "Each unit runs" if len(told.chosen) == 1 else "Its units run"
    tag = usd(told.job.tag_cents)
    return f"{whose} on {runs_on}. Units: {units}. Price tag over the horizon: {tag}." + (
        f" Further units are on APIs: {there}." if there else ""
    )


def _gives_way(told: Explanation) -> Iterator[Block]:
    """Why it gives way, and what would keep it as asked."""
    short = told.shortage
    if short is None:
        return
    if short.outcome != "dropped":
        yield Paragraph(outcome_of(short, told.job.name, told.quarters))
    yield from why_short(short, told.ahead)


def _replicas(candidate: Candidate) -> str:
    return f"{count_of(candidate.replicas, 'replica')} of " if candidate.replicas > 1 else ""


def _where(told: Explanation) -> Table:
    """One row per GPU type and run of quarters in which the same units sit on the same nodes."""
    rows: list[tuple[str, str, str, str]] = []
    by_quarter = {
        quarter: tuple(_seat(place) for place in places)
        for quarter, places in groupby(told.places, key=lambda place: place.quarter)
    }
    seen = [(quarter, by_quarter.get(quarter, ())) for quarter in told.quarters]
    for seats, group in groupby(seen, key=lambda entry: entry[1]):
        labels = [quarter for quarter, _ in group]
        span = quarter_span(labels[0], labels[-1])
        for place, seat in enumerate(seats[:_MOST_NODES_NAMED]):
            rows.append(("" if place else span, *seat))
        if len(seats) > _MOST_NODES_NAMED:
            hidden = count_of(len(seats) - _MOST_NODES_NAMED, "more place")
            rows.append(("", f"… {hidden}", "", ""))
    return table(
        rows,
        ("Quarter", "name", lambda row: row[0]),
        ("Node", "text", lambda row: row[1]),
        ("Units", "text", lambda row: row[2]),
        ("On GPUs", "text", lambda row: row[3]),
    )


def _seat(place: PlacedUnits) -> tuple[str, str, str]:
    nodes = ", ".join(place.nodes)
    gpus = "all" if len(place.nodes) > 1 else ", ".join(map(str, place.gpus))
    held = parts_held(place.parts) if place.parts else gpus
    return (nodes, ", ".join(_unit_names(place)), f"{held} {_when(place)}".rstrip())


def _when(place: PlacedUnits) -> str:
    """`4 Jan 08:00 – 5 Jan 22:00`; nothing for a whole quarter."""
    return moments(place.quarter, place.hours) if place.hours else ""


def _unit_names(place: PlacedUnits) -> Iterator[str]:
    """`2`, or `2/1` for the first replica of unit 2."""
    for unit, replica in zip(place.units, place.replicas, strict=True):
        yield f"{unit}/{replica}" if place.in_replicas else str(unit)


def _verdicts(told: Explanation) -> Table:
    def gpus(row: ModeVerdict) -> str:
        one = row.candidate
        return copies_of(one.replicas, one.gpus, one.prefill_gpus) if one else "–"

    def extra(row: ModeVerdict) -> str:
        return "–" if row.extra_cents is None else usd(row.extra_cents).replace("$", "")

    def why(row: ModeVerdict) -> str:
        return "; ".join(
            f"{reason.text} [{reason.rule}]" if reason.rule else reason.text
            for reason in row.reasons
        )

    return table(
        told.verdicts,
        ("GPU type", "name", lambda row: row.way),
        ("Outcome", "text", lambda row: row.outcome),
        ("GPUs", "number", gpus),
        ("Extra, USD", "number", extra),
        ("Why", "text", why),
    )


def _sources(told: Explanation) -> list[Block]:
    """Where each rule that rejects a GPU type was read."""
    said = dict.fromkeys(
        f"{reason.rule}: {source}"
        for verdict in told.verdicts
        for reason in verdict.reasons
        for source in reason.sources
    )
    return [Heading("Sources of the rejections", 3), Bullets(tuple(said))] if said else []


def _needs(candidate: Candidate) -> Paragraph:
    offer = candidate.gpu_capacity_mb
    filled = f" ({percent(candidate.gpu_memory_mb / offer, 0)})" if offer else ""
    parts = [
        f"{count_of(candidate.gpus, 'GPU')}, "
        f"{_DECIDED_BY.get(candidate.decided_by, candidate.decided_by)}",
        f"GPU memory {gigabytes(candidate.gpu_memory_mb)} of {memory(offer)}{filled}",
        f"{count_of(candidate.cpus, 'core')}",
        f"host memory {memory(candidate.memory_mb)}",
    ]
    if candidate.hours is not None:
        parts.append(f"one run takes {hours(candidate.hours)}")
    if candidate.storage_mb:
        parts.append(f"the tuned asset takes {memory(candidate.storage_mb)}")
    what, by_load = ("replica", _by_load(candidate)) if candidate.replicas > 1 else ("unit", "")
    return Paragraph(f"One {what}: {'; '.join(parts)}.{by_load}")


def _by_load(candidate: Candidate) -> str:
    """Why so many replicas: the sum with its figures."""
    sums = [step for step in candidate.trace if step.result.name == "replicas_for_load"]
    why = "".join(f" = {step.worked} ({step.rule})" for step in sums[-1:])
    return f" The load takes {count_of(candidate.replicas, 'replica')}{why}."
