"""One job: every GPU type side by side, why it runs where it runs, and the sums behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from planner.inputs.catalog.catalog import PriceBookHeader
from planner.planning.jobs import Explanation, ModeVerdict, PlacedUnits
from planner.planning.plan import GpuPart, PlannedJob, ShortJob
from planner.reporting.document import (
    Block,
    Bullets,
    Heading,
    Paragraph,
    Table,
    Verbatim,
    columns_for,
    table,
)
from planner.reporting.format import (
    code,
    copies_of,
    count_of,
    duration,
    figure,
    gibibytes,
    gigabytes,
    hours,
    listed,
    memory,
    moments,
    percent,
    quarter_runs,
    quarter_span,
    range_of,
    usd,
    with_code,
    with_unit,
)
from planner.reporting.traced import TracedPlan
from planner.sizing import DerivationStep, Quantity
from planner.sizing.calibration import Calibration
from planner.sizing.candidate import Candidate, Evidence, Memory, Rejection, Sizing

_NONE: Final = "–"

# What figures rest on

_FIGURES: Final = {
    "memory": "memory, so the count of GPUs",
    "hours": "hours of a run",
    "rate": "requests a replica answers",
}
_RESTS: Final = {
    "measured": "measured runs of this size and method",
    "interpolated": "measured runs of smaller and larger models",
    "extrapolated": "measured runs of the method, not around it",
    "elsewhere": "measured runs on other GPUs alone",
    "published": "a published figure",
    "estimated": "rules that no such run was held against",
    "stated": "the job's own statement",
}


def _evidence_of_job(candidates: Sequence[Candidate]) -> Iterator[Block]:
    """Show for one job what each figure rests on, and on which GPU types."""
    found: dict[Evidence, list[str]] = defaultdict(list)
    for candidate in candidates:
        for told in candidate.evidence:
            found[told].append(candidate.way)
    if found:
        yield Heading("What these figures rest on")
        yield table(
            sorted(found.items(), key=lambda row: (*_order(row[0]), row[1])),
            ("Figure", "text", lambda row: _FIGURES[row[0].figure]),
            ("Rests on", "text", lambda row: _RESTS[row[0].rests]),
            ("Runs", "number", lambda row: str(row[0].runs or _NONE)),
            ("Mean error", "number", lambda row: _error([row[0]])),
            (
                "On",
                "text",
                lambda row: "all" if len(row[1]) == len(candidates) else ", ".join(row[1]),
            ),
        )


def evidence_section(traced: TracedPlan) -> Iterator[Block]:
    """Show for all jobs how many GPUs rest on what, with the errors of the runs near."""
    plan = traced.plan
    found: dict[tuple[str, str], list[tuple[Evidence, int, str]]] = defaultdict(list)
    for job in plan.jobs:
        by_way = {one.way: one for one in plan.sizings[job.sizing].candidates}
        for way, units in job.ways:
            gpus = units * by_way[way].replicas * by_way[way].gpus
            for told in by_way[way].evidence:
                found[told.figure, told.rests].append((told, gpus, job.name))
    if found:
        rows = sorted(found.items(), key=lambda row: _order(row[1][0][0]))
        first = {figure: rests for (figure, rests), _ in reversed(rows)}

        def named(row: tuple[tuple[str, str], object]) -> str:
            return _FIGURES[row[0][0]] if first[row[0][0]] == row[0][1] else ""

        yield table(
            rows,
            ("Figure", "text", named),
            ("Rests on", "text", lambda row: _RESTS[row[0][1]]),
            ("Jobs", "number", lambda row: str(len({name for _, _, name in row[1]}))),
            ("GPUs", "number", lambda row: f"{sum(gpus for _, gpus, _ in row[1]):,}"),
            ("Mean error", "number", lambda row: _error([told for told, _, _ in row[1]])),
            ("For example", "text", lambda row: listed(sorted({name for *_, name in row[1]})[:2])),
            caption="Mean error: of the predictions for the measured runs nearest "
            "(docs/accuracy.md)",
        )


def _order(told: Evidence) -> tuple[int, int]:
    return list(_FIGURES).index(told.figure), list(_RESTS).index(told.rests)


def _error(told: Sequence[Evidence]) -> str:
    """Format the least and the largest error of the runs near, rounded up to 0.1 %."""
    errors = [max(one.error, 0.001) for one in told if one.error is not None]
    if not errors:
        return _NONE
    least, most = percent(min(errors)), percent(max(errors))
    return least if least == most else f"{least.removesuffix(' %')}–{most}"


# Every GPU type side by side

_ASKED = "job.gpu_types"
"""That a job names its GPU types is no finding."""


class RentedCandidate(NamedTuple):
    """A way to run a job, and its cost at the lowest rent in the price book."""

    way: Candidate
    usd_per_hour: Decimal | None
    """For all replicas."""
    usd_per_run: Decimal | None
    """None for serving jobs, and for runs of unknown length."""


def sizing_document(
    sizing: Sizing,
    ranked: Sequence[RentedCandidate],
    book: PriceBookHeader,
    *,
    sums: bool,
    calibration: Calibration | None = None,
) -> Iterator[Block]:
    """Compare the ways to run a job, cheapest first; with `sums`, all derivations as well."""
    yield Heading(sizing.summary, 1)
    if ranked:
        yield Heading("GPU types that can run it")
        yield _candidates(ranked, full=sums)
        yield from _reading_aids(sizing, ranked, book)
        yield from peak_blocks(sizing.candidates) if sums else ()
        yield from _evidence_of_job(sizing.candidates)
    else:
        yield Paragraph("No GPU type can run it.", tone="warning")
    yield from _calibration(calibration) if calibration else ()
    if cannot := [one for one in sizing.rejections if one.rule != _ASKED]:
        yield Heading("GPU types that cannot")
        yield _rejected(cannot)
    if sizing.refused_parts:
        yield Heading("Parts of a GPU that it does not take")
        yield _rejected(sizing.refused_parts)
    yield from _notes(sizing)
    if sums:
        drawn = Sums()
        for candidate in sizing.candidates:
            yield Heading(f"The sums on {candidate.way}")
            yield from drawn.of(candidate.trace)
        yield from drawn.sources()
    elif ranked:
        more = "also shows host, peak memory, and every sum with its sources."
        yield Paragraph(f"{code('--sums')} {more}", tone="faint")


def _notes(sizing: Sizing) -> Iterator[Block]:
    if sizing.warnings:
        yield Heading("Warnings")
        yield Bullets(tuple(map(with_code, sizing.warnings)), "warning")
    if sizing.assumptions:
        yield Heading("Assumptions")
        yield Bullets(sizing.assumptions)


def _reading_aids(
    sizing: Sizing, ranked: Sequence[RentedCandidate], book: PriceBookHeader
) -> Iterator[Block]:
    """Explain the columns of the comparison that are not obvious."""
    runs = any(one.usd_per_run is not None for one in ranked)
    told = f"The cheapest {'run' if runs else 'hour'} first, at the least rent of a GPU in the "
    told += f"price book {book.id}{', which is illustrative' * book.illustrative}"
    if any(one.usd_per_hour is None for one in ranked):
        told += "; without one, a GPU type comes last"
    if any(one.way.planned_hours is not None for one in ranked):
        told += ". Held: whole hours in which nine of ten runs end, interruptions included"
    yield Paragraph(f"{told}.", tone="faint")
    if any(one.replicas > 1 for one in sizing.candidates):
        told = "3 × 2 GPUs are three replicas of two, as many as the load takes; all else is of "
        yield Paragraph(f"{told}one replica.", tone="faint")
    if any(one.prefill_gpus for one in sizing.candidates):
        told = "(1+3) are four GPUs, of which one takes prompts in and three decode."
        yield Paragraph(told, tone="faint")
    if told := at_full_rate(sizing.candidates):
        yield Paragraph(told, tone="faint")


def at_full_rate(candidates: Iterable[Candidate]) -> str:
    """Say why expected latency lies below a target; empty if no load is planned for."""
    steps = (step for one in candidates for step in one.trace)
    shares = {step.result.value for step in steps if step.result.name == "planned_load_share"}
    if not shares:
        return ""
    planned = listed([percent(float(share), 0) for share in sorted(shares, key=float)], "or")
    return (
        f"A replica is planned for {planned} of the rate that it takes at the most, and a target "
        "of latency is kept at that full rate: so what is expected here may lie well below it."
    )


def _candidates(ranked: Sequence[RentedCandidate], *, full: bool) -> Table:
    ways = [one.way for one in ranked]
    by_peak = any(one.memory is not None for one in ways)
    loaded = any(one.serving is not None for one in ways)
    need = "Each needs / offers, GiB" if by_peak else "Need / offer, GB"
    without = [] if any(one.planned_hours is not None for one in ways) else ["Held, h"]
    without += ["Hours", need] if loaded else ["At once", "TTFT ms", "TPOT ms"]
    without += [] if any(one.gradient_accumulation for one in ways) else ["Passes"]
    without += [] if any(one.usd_per_run is not None for one in ranked) else ["USD a run"]
    if not full:
        without += ["Cores", "Host, GB", "Set by"]
        without += [] if any(one.hours is not None for one in ways) else ["Hours"]

    def of(told: Callable[[Candidate], str]) -> Callable[[RentedCandidate], str]:
        return lambda one: told(one.way)

    def known(way: Candidate) -> bool:
        return way.gpu_memory_mb > 0 and way.gpu_capacity_mb > 0

    def need_and_offer(way: Candidate) -> str:
        if not by_peak:
            needed = gigabytes(way.gpu_memory_mb) if known(way) else _NONE
            return f"{needed} / {gigabytes(way.gpu_capacity_mb)}"
        if way.memory is None:
            return _NONE
        return f"{_gib(way.memory.needed_mb)} / {gibibytes(way.gpu_capacity_mb // way.gpus)}"

    def filled(way: Candidate) -> str:
        return percent(way.gpu_memory_mb / way.gpu_capacity_mb, 0) if known(way) else _NONE

    def money(one: RentedCandidate, name: str) -> str:
        amount = getattr(one, name)
        return _NONE if amount is None else f"{amount:,.2f}"

    def serving(one: RentedCandidate, name: str) -> str:
        value = getattr(one.way.serving, name, None)
        return _NONE if value is None else f"{value:,.0f}"

    return table(
        ranked,
        ("GPU type", "name", of(lambda way: way.way)),
        ("GPUs", "number", of(lambda way: copies_of(way.replicas, way.gpus, way.prefill_gpus))),
        *columns_for((("USD/h", "usd_per_hour"), ("USD a run", "usd_per_run")), money),
        ("Passes", "number", of(lambda way: str(way.gradient_accumulation or 1))),
        (need, "number", of(need_and_offer)),
        ("Filled", "number", of(filled)),
        ("Cores", "number", of(lambda way: str(way.cpus))),
        ("Host, GB", "number", of(lambda way: gigabytes(way.memory_mb))),
        ("Hours", "number", of(lambda way: hours(way.hours).removesuffix(" h"))),
        ("Held, h", "number", of(lambda way: str(way.planned_hours or _NONE))),
        *columns_for(
            (("At once", "concurrency"), ("TTFT ms", "ttft_ms"), ("TPOT ms", "tpot_ms")), serving
        ),
        ("Set by", "text", of(lambda way: way.decided_by)),
        without=without,
    )


def _rejected(rejections: Sequence[Rejection]) -> Table:
    """Return each rule and reason once, with the GPU types, or parts, to which it applies."""
    said: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for one in rejections:
        parts = said[one.rule, one.message.replace(one.gpu_type, "\0")][one.gpu_type]
        parts.append(one.way.removeprefix(one.gpu_type).strip())
    return table(
        [(rule, message, of) for (rule, message), of in said.items()],
        (
            "GPU type",
            "text",
            lambda row: ", ".join(f"{name} {', '.join(of)}".strip() for name, of in row[2].items()),
        ),
        ("Rule", "text", lambda row: row[0]),
        (
            "Why",
            "text",
            lambda row: row[1].replace("\0", "these" if len(row[2]) > 1 else "".join(row[2])),
        ),
    )


def peak_blocks(candidates: Sequence[Candidate], level: int = 2) -> Iterator[Block]:
    """Show peaks by GPU count, and explain the columns; nothing if a formula decided."""

    def paged_mb(memory: Memory) -> int:
        """Optimizer states beside any phase, as many as the GPU has room for."""
        return sum(part.mb for part in memory.parts) if memory.phases else 0

    sized = {(one.gpus, paged_mb(one.memory)): one for one in candidates if one.memory}
    held = {one.gpus: one.serving.concurrency for one in sized.values() if one.serving}
    known = [
        (at[0], one.memory) for at, one in sorted(sized.items(), key=itemgetter(0)) if one.memory
    ]
    if not known:
        return
    first = known[0][1]
    told = (
        "The peak is the sum of its parts and the CUDA context. nvidia-smi shows more: the engine "
        "fills its share of the GPU with KV cache."
    )
    if first.phases:
        told = (
            "The peak is the largest phase, and the CUDA context and gaps beside it. nvidia-smi "
            "shows more where the GPU has room: it counts cache that is not needed."
        )
        if first.parts:
            told += (
                " Paged states lie on the GPU while there is room, and count in the peak; when "
                "memory is short they leave, so the margin is on the rest."
            )
    yield Heading("Peak memory of each GPU, GiB (2^30 bytes)", level)
    yield table(
        known,
        ("GPUs", "number", lambda row: str(row[0])),
        ("At once", "number", lambda row: str(held.get(row[0], _NONE))),
        *columns_for(
            (
                (part.name[0].upper() + part.name[1:], place)
                for place, part in enumerate((*first.phases, *first.parts))
            ),
            lambda row, place: gibibytes((*row[1].phases, *row[1].parts)[place].mb),
        ),
        ("Context", "number", lambda row: _gib(row[1].context_mb)),
        ("Peak", "number", lambda row: gibibytes(row[1].peak_mb)),
        ("Range", "number", lambda row: f"{_gib(row[1].low_mb)}–{_gib(row[1].high_mb)}"),
        ("With margin", "number", lambda row: _gib(row[1].needed_mb)),
        ("nvidia-smi", "number", lambda row: _gib(row[1].nvidia_smi_mb)),
        without=("At once",) * (not held) + ("nvidia-smi",) * (not first.phases),
    )
    yield Paragraph(told, tone="faint")


def _gib(mb: int | None) -> str:
    return _NONE if mb is None else gibibytes(mb)


def _calibration(calibration: Calibration) -> Iterator[Block]:
    """Say what measured runs tell about the predictions, and how far they correct them."""
    yield Heading("Your measured runs")
    for factors in calibration.factors:
        yield table(
            factors.groups,
            ("Runs of", "name", lambda one: one.name),
            ("Runs", "number", lambda one: str(one.runs)),
            ("Measured / expected", "number", lambda one: f"{float(one.ratio):.3f}"),
            ("Multiplied by", "number", lambda one: f"{float(one.factor):.3f}"),
            ("Moved", "number", lambda one: f"{float(one.factor - 1) * 100:+.1f} %"),
            caption=f"{factors.what[0].upper()}{factors.what[1:]}",
        )
        yield Paragraph(
            f"The shipped model weighs as much as {figure(float(factors.prior_runs))} runs "
            "that come out as expected. What no run speaks for is multiplied by "
            f"{float(factors.elsewhere):.3f}.",
            tone="faint",
        )
    if calibration.first_tokens:
        yield table(
            calibration.first_tokens,
            ("Runs of", "name", lambda one: one.name),
            ("Runs", "number", lambda one: str(one.runs)),
            ("Decoding steps later", "number", lambda one: f"{float(one.delay_steps):+.1f}"),
            caption="First tokens",
        )


# The sums behind figures


class Sums:
    """Draws derivation steps and numbers their sources, so that each is written out once."""

    def __init__(self) -> None:
        self._number_of: dict[str, int] = {}

    def of(self, steps: Iterable[DerivationStep]) -> Iterator[Block]:
        """Draw every step in order, with the numbers of its sources."""
        for step in steps:
            for source in step.sources:
                self._number_of.setdefault(source, len(self._number_of) + 1)
            numbers = sorted({self._number_of[source] for source in step.sources})
            marks = "".join(f" [{number}]" for number in numbers)
            yield Heading(f"{step.title} ({step.rule}){marks}", 3)
            # The formula, the same with figures, the result; a bare figure before it says nothing.
            name, result = step.result.name, _amount(step.result)
            told = dict.fromkeys((step.formula, step.worked))
            stages = [*(one for one in told if not _is_figure(one) and one != result), result]
            names = [name, *(" " * len(name) for _ in stages[1:])]
            lines = (f"{start} = {stage}" for start, stage in zip(names, stages, strict=True))
            yield Verbatim(tuple(lines))
            if step.inputs:
                given = (f"{one.name} = {_amount(one)} ({one.origin})" for one in step.inputs)
                yield Paragraph(f"with {'; '.join(given)}", tone="faint")

    def sources(self) -> tuple[Block, ...]:
        """List the sources of all steps drawn so far."""
        lines = tuple(f"[{number}] {source}" for source, number in self._number_of.items())
        return (Heading("Sources"), Bullets(lines)) if lines else ()


def result_text(step: DerivationStep) -> str:
    """Format a result: `memory_gb = 30.375 GB`."""
    return f"{step.result.name} = {_amount(step.result)}"


def worked_text(step: DerivationStep) -> str:
    """Return the formula with its figures; empty if that is a bare figure."""
    return "" if _is_figure(step.worked) else step.worked


def _is_figure(stage: str) -> bool:
    return stage.replace(".", "", 1).replace(",", "").isdecimal()


def _amount(quantity: Quantity) -> str:
    return with_unit(quantity.value, quantity.unit)


# Why a job runs where it runs

_NAMED = 3
_MOST_NODES_NAMED = 12
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


def taken(candidate: Candidate) -> str:
    """Say what a unit takes: `h100-80gb-sxm`, `h100-80gb-sxm 1g.10gb`, `… for 14 h`."""
    widths = candidate.widths and f"at {candidate.widths}"
    passes = candidate.gradient_accumulation
    summed = f"in {passes} passes" if passes else ""
    held = f"for {duration(candidate.planned_hours)}" if candidate.planned_hours else ""
    return " ".join(filter(None, (candidate.part, widths, summed, held)))


def on_apis_text(job: PlannedJob) -> str:
    """Format `2 on hosted-70b`: the most units of a job on APIs in a quarter; empty without any."""
    return ", ".join(f"{max(units)} on {api}" for api, units in job.on_apis)


def replicas_in_use(
    job: PlannedJob,
    candidate: Candidate,
    all_quarters: Sequence[str],
    quarters: Sequence[str] | None,
) -> list[int]:
    """Return the replicas of a unit in each quarter that it runs in; of some alone if stated."""
    return [
        candidate.replicas_in(number)
        for number, label in enumerate(all_quarters)
        if job.units[number] and (quarters is None or label in quarters)
    ]


def share_of(units: int, all_quarters: Sequence[str], quarters: Sequence[str] | None) -> str:
    """Say `3 units`, and for units that change their GPU type `3 units, 2027Q1–Q3`."""
    when = f", {quarter_runs(all_quarters, quarters)}" if quarters else ""
    return f"{count_of(units, 'unit')}{when}"


def parts_held(parts: Sequence[tuple[int, GpuPart]]) -> str:
    """Format GPU numbers and what is held of each: `0 (1g.10gb at 0, 1), 3 (9.8 GB)`."""
    held: dict[int, dict[str, list[GpuPart]]] = defaultdict(lambda: defaultdict(list))
    for gpu, part in sorted(parts, key=lambda one: (one[0], one[1].profile or "", one[1].first)):
        held[gpu][part.profile or ""].append(part)
    return ", ".join(
        f"{gpu} ({'; '.join(part_text(profile, of) for profile, of in by_profile.items())})"
        for gpu, by_profile in held.items()
    )


def part_text(profile: str | None, parts: Sequence[GpuPart]) -> str:
    """Format a part: `1g.10gb at 0, 1`, or the memory that is taken."""
    if profile:
        return f"{profile} at {', '.join(str(part.first) for part in parts)}"
    return memory(sum(part.taken for part in parts))


def why_short(job: ShortJob, ahead: Sequence[str]) -> Iterator[Block]:
    """Say why a job gives way, and what would keep it as asked.

    `ahead` are the jobs that would get new room first.
    """
    yield Paragraph(f"As asked, beside all that is kept: {job.cause}.")
    if job.remedies:
        each = ", each by itself" if len(job.remedies) > 1 else ""
        but = f", if {listed(ahead, most=_NAMED)} did not take the room first" if ahead else ""
        yield Paragraph(f"What would keep it as asked{each}{but}:")
        yield Bullets(job.remedies)


def explanation_document(told: Explanation) -> Iterator[Block]:
    """Give the answer first, then where, why not elsewhere, and the derivations."""
    job, short = told.job, told.shortage
    origin = (
        f" Derived from {job.derived_from} by rule {job.derived_by}." if job.derived_from else ""
    )
    team = f" Team: {job.team}." if job.team else ""
    yield Heading(job.name, 1)
    yield Paragraph(f"{told.sizing.summary}.{origin}{team}")
    gives_way = ""
    if short:
        whose = f"With {short.name}, from which it is derived, it is"
        gives_way = f"{'It is' if job.name == short.name else whose} {short.how(told.quarters)}: "
        gives_way += f"not everything fits, and its priority is {short.priority}."
    dropped = short is not None and short.outcome == "dropped"
    yield Paragraph(gives_way if dropped else _answer(told), tone="strong")
    if short:
        yield from () if dropped else (Paragraph(gives_way),)
        yield from why_short(short, told.ahead)
    if told.places:
        yield Heading("Where it runs")
        yield _where(told)
    yield from _verdicts(told.verdicts)
    sums = Sums()
    for candidate in told.chosen:
        yield Heading(f"The sums on {candidate.way}")
        yield _needs(candidate)
        yield from peak_blocks((candidate,), level=3)
        yield Paragraph(
            f"A figure from the catalog leads on with {code('planner catalog show ID')}, a rule "
            f"with {code('planner rules show ID')}; what the job or the scenario states stands in "
            "the scenario file.",
            tone="faint",
        )
        yield from sums.of(candidate.trace)
    yield from _notes(told.sizing)
    yield from sums.sources()


def _answer(told: Explanation) -> str:
    job = told.job
    there = on_apis_text(job)
    if not told.chosen and there:
        cheaper = ", which costs less than GPUs" if told.verdicts else ""
        return f"Its requests are answered by APIs{cheaper}. Units: {there}."
    if not told.chosen:
        return "It has no unit in any quarter, so nothing is planned for it."
    kept, counts = dict(job.ways), zip(told.quarters, job.units, strict=True)
    units = ", ".join(f"{quarter} {count:,}" for quarter, count in counts if count)
    runs_on = []
    for one in told.chosen:
        when = told.when.get(one.way)
        copies = replicas_in_use(job, one, told.quarters, when)
        replicas = f"{range_of(copies)} replicas of " if max(copies) > 1 else ""
        share = share_of(kept[one.way], told.quarters, when)
        runs_on.append(f"{replicas}{one.gpus} × {taken(one)} ({share})")
    whose = "Each unit runs" if len(runs_on) == 1 else "Its units run"
    further = f" Further units are on APIs: {there}." if there else ""
    return (
        f"{whose} on {listed(runs_on)}. Units: {units}. Price tag over the horizon: "
        f"{usd(job.tag_cents)}.{further}"
    )


def _where(told: Explanation) -> Table:
    """Show one row per GPU type and quarters in which the same units keep their nodes."""

    def seat(place: PlacedUnits) -> tuple[str, str, str, str]:
        """Nodes; units, as `2`, or `2/1` for the first replica of unit 2; GPUs; when."""
        units = (
            f"{unit}/{replica}" if place.in_replicas else str(unit)
            for unit, replica in zip(place.units, place.replicas, strict=True)
        )
        gpus = "all" if len(place.nodes) > 1 else ", ".join(map(str, place.gpus))
        held = parts_held(place.parts) if place.parts else gpus
        when = moments(place.quarter, place.hours) if place.hours else ""
        return ", ".join(place.nodes), ", ".join(units), held, when

    by_quarter: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    for place in told.places:
        by_quarter[place.quarter].append(seat(place))
    rows: list[tuple[str, str, str, str, str]] = []
    for seats, group in groupby(told.quarters, key=lambda quarter: by_quarter[quarter]):
        labels = list(group)
        span = quarter_span(labels[0], labels[-1])
        for number, row in enumerate(seats[:_MOST_NODES_NAMED]):
            rows.append(("" if number else span, *row))
        if len(seats) > _MOST_NODES_NAMED:
            hidden = count_of(len(seats) - _MOST_NODES_NAMED, "more place")
            rows.append(("", f"… {hidden}", "", "", ""))
    return table(
        rows,
        ("Quarter", "name", lambda row: row[0]),
        *columns_for(
            (("Node", 1), ("Units", 2), ("On GPUs", 3), ("When", 4)),
            lambda row, place: row[place],
            "text",
        ),
        without=[] if any(row[4] for row in rows) else ["When"],
        caption="Units: 2/1 is the first replica, or run, of unit 2"
        if any(place.in_replicas for place in told.places)
        else "",
    )


def _verdicts(verdicts: Sequence[ModeVerdict]) -> Iterator[Block]:
    """Say why this GPU type and not the others, with the source of each rule that rejects one."""
    if not verdicts:
        return

    def gpus(row: ModeVerdict) -> str:
        one = row.candidate
        return copies_of(one.replicas, one.gpus, one.prefill_gpus) if one else _NONE

    def why(row: ModeVerdict) -> str:
        return "; ".join(
            f"{one.text} [{one.rule}]" if one.rule else one.text for one in row.reasons
        )

    yield Heading("Why this GPU type, and why not the others")
    yield table(
        verdicts,
        ("GPU type", "name", lambda row: row.way),
        ("Outcome", "text", lambda row: row.outcome),
        ("GPUs", "number", gpus),
        (
            "Extra, USD",
            "number",
            lambda row: _NONE if row.extra_cents is None else usd(row.extra_cents).replace("$", ""),
        ),
        ("Why", "text", why),
    )
    yield Paragraph(
        "The price tag is what the job adds to the proved bound of the cost; Extra is what one "
        "unit forced onto that GPU type would add, over the horizon. Both are prices at the margin "
        "of the whole portfolio, not invoices. GPU types that are neither owned nor offered were "
        f"not considered: {code('planner size')} compares all.",
        tone="faint",
    )
    reasons = [reason for verdict in verdicts for reason in verdict.reasons]
    said = dict.fromkeys(f"{one.rule}: {source}" for one in reasons for source in one.sources)
    if said:
        yield Heading("Sources of the rejections", 3)
        yield Bullets(tuple(said))


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
        held = candidate.planned_hours
        planned = f", for which its GPUs are held {duration(held)}" if held else ""
        parts.append(f"one run takes {hours(candidate.hours)}{planned}")
    if candidate.storage_mb:
        parts.append(f"the tuned asset takes {memory(candidate.storage_mb)}")
    what, by_load = "unit", ""
    if candidate.replicas > 1:
        what, by_load = "replica", f" The load takes {count_of(candidate.replicas, 'replica')}"
        sums = [one for one in candidate.trace if one.result.name == "replicas_for_load"]
        by_load += "".join(f" = {step.worked} ({step.rule})" for step in sums[-1:]) + "."
    return Paragraph(f"One {what}: {'; '.join(parts)}.{by_load}")
