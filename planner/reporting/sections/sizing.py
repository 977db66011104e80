"""One job on every GPU type, side by side: its peak memory, and the sums behind each figure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Final, NamedTuple

from planner.inputs.catalog.catalog import PriceBookHeader
from planner.planning.plan import Plan
from planner.reporting.document import (
    Block,
    Bullets,
    Document,
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
    figure,
    gibibytes,
    gigabytes,
    hours,
    listed,
    percent,
    with_code,
    with_unit,
)
from planner.sizing import DerivationStep, Quantity
from planner.sizing.calibration import Calibration
from planner.sizing.candidate import Candidate, Evidence, Memory, Rejection, Sizing

_FIGURES: Final = {
    "memory": "memory, so the count of GPUs",
    "hours": "hours of a run",
    "rate": "requests a replica answers",
}
_RESTS: Final = {
    "measured": "measured runs of this size and method",
    "interpolated": "measured runs of smaller and larger models",
    "extrapolated": "measured runs of the method, not around it",
    "published": "a published figure",
    "estimated": "rules that no such run was held against",
    "stated": "the job's own statement",
}
_DASH: Final = "–"


def evidence_blocks(candidates: Sequence[Candidate]) -> Iterator[Block]:
    """One job: each figure with what it rests on, and on which GPU types."""
    found: dict[Evidence, list[str]] = defaultdict(list)
    for candidate in candidates:
        for told in candidate.evidence:
            found[told].append(candidate.way)
    if not found:
        return
    yield Heading("What these figures rest on")
    yield table(
        sorted(found.items(), key=lambda row: (*_order(row[0]), row[1])),
        ("Figure", "text", lambda row: _FIGURES[row[0].figure]),
        ("Rests on", "text", lambda row: _RESTS[row[0].rests]),
        ("Runs", "number", lambda row: str(row[0].runs or _DASH)),
        ("Mean error", "number", lambda row: _error([row[0]])),
        ("On", "text", lambda row: "all" if len(row[1]) == len(candidates) else ", ".join(row[1])),
    )


def evidence_section(plan: Plan) -> Iterator[Block]:
    """All jobs: how many GPUs of their units rest on what, with the errors of the runs near."""
    found: dict[tuple[str, str], list[tuple[Evidence, int, str]]] = defaultdict(list)
    for job in plan.jobs:
        by_way = {one.way: one for one in plan.sizings[job.sizing].candidates}
        for way, units in job.ways:
            candidate = by_way[way]
            gpus = units * candidate.replicas * candidate.gpus
            for told in candidate.evidence:
                found[told.figure, told.rests].append((told, gpus, job.name))
    if not found:
        return
    rows = sorted(found.items(), key=lambda row: _order(row[1][0][0]))
    first = {figure: rests for (figure, rests), _ in reversed(rows)}
    yield table(
        rows,
        (
            "Figure",
            "text",
            lambda row: _FIGURES[row[0][0]] if first[row[0][0]] == row[0][1] else "",
        ),
        ("Rests on", "text", lambda row: _RESTS[row[0][1]]),
        ("Jobs", "number", lambda row: str(len({name for _, _, name in row[1]}))),
        ("GPUs", "number", lambda row: f"{sum(gpus for _, gpus, _ in row[1]):,}"),
        ("Mean error", "number", lambda row: _error([told for told, _, _ in row[1]])),
        ("For example", "text", lambda row: listed(sorted({name for *_, name in row[1]})[:2])),
        caption="Mean error: of the predictions for the measured runs nearest (docs/accuracy.md)",
    )


def _order(told: Evidence) -> tuple[int, int]:
    return list(_FIGURES).index(told.figure), list(_RESTS).index(told.rests)


def _error(told: Sequence[Evidence]) -> str:
    """The least and the largest, as the runs near each figure have it, rounded up to 0.1 %."""
    errors = [max(one.error, 0.001) for one in told if one.error is not None]
    if not errors:
        return _DASH
    least, most = percent(min(errors), 1), percent(max(errors), 1)
    return least if least == most else f"{least.removesuffix(' %')}–{most}"


_NONE = "–"
_OF_TUNING = (
    "The peak is the largest phase, and the CUDA context and gaps beside it. nvidia-smi typically "
    "shows more: it counts cache that is not needed."
)
_OF_PAGING = (
    "Paged states lie on the GPU while there is room, and count in the peak; when memory is short "
    "they leave, so the margin is on the rest."
)
_OF_SERVING = (
    "The peak is the sum of its parts and the CUDA context. nvidia-smi shows more: the engine "
    "fills its share of the GPU with KV cache."
)
_BY_LOAD = (
    "3 × 2 GPUs are three replicas of two, as many as the load takes; all else is of one replica."
)
_BY_PHASE = "(1+3) are four GPUs, of which one takes prompts in and three decode."
_BLANK = "\0"
"""Stands for the GPU type where several share a message."""


_ASKED = "job.gpu_types"
"""Which GPU types a job names is no finding."""


class RentedCandidate(NamedTuple):
    """A way to run a job, and what it costs at the least rent in the price book."""

    way: Candidate
    usd_per_hour: Decimal | None
    """Of all replicas."""
    usd_per_run: Decimal | None
    """None of serving jobs, and of runs of unknown length."""


def sizing_document(
    sizing: Sizing,
    ranked: Sequence[RentedCandidate],
    book: PriceBookHeader,
    *,
    sums: bool,
    calibration: Calibration | None = None,
) -> Document:
    """The comparison, the cheapest first; with `sums` host, peaks and every sum as well."""
    blocks: list[Block] = [Heading(sizing.summary, 1)]
    if ranked:
        blocks += [Heading("GPU types that can run it"), _candidates(ranked, full=sums)]
        blocks.append(Paragraph(_told_of_prices(ranked, book), tone="faint"))
        if any(one.replicas > 1 for one in sizing.candidates):
            blocks.append(Paragraph(_BY_LOAD, tone="faint"))
        if any(one.prefill_gpus for one in sizing.candidates):
            blocks.append(Paragraph(_BY_PHASE, tone="faint"))
        if told := at_full_rate(sizing.candidates):
            blocks.append(Paragraph(told, tone="faint"))
        blocks += peak_blocks(sizing.candidates) if sums else ()
        blocks += evidence_blocks(sizing.candidates)
    else:
        blocks.append(Paragraph("No GPU type can run it.", tone="warning"))
    if calibration is not None:
        blocks += _calibration(calibration)
    if cannot := [one for one in sizing.rejections if one.rule != _ASKED]:
        blocks += [Heading("GPU types that cannot"), _rejections(cannot)]
    if sizing.refused_parts:
        blocks += [Heading("Parts of a GPU that it does not take"), _parts(sizing.refused_parts)]
    if sizing.warnings:
        blocks += [Heading("Warnings"), Bullets(tuple(map(with_code, sizing.warnings)), "warning")]
    if sizing.assumptions:
        blocks += [Heading("Assumptions"), Bullets(sizing.assumptions)]
    if sums:
        blocks += _each_sum(sizing)
    elif ranked:
        more = "also shows host, peak memory, and every sum with its sources."
        blocks.append(Paragraph(f"{code('--sums')} {more}", tone="faint"))
    return tuple(blocks)


def at_full_rate(candidates: Iterable[Candidate]) -> str:
    """Why expected latency lies below a target: a sentence, empty where no load is planned for."""
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

    def need_and_offer(way: Candidate) -> str:
        if by_peak:
            return _need_and_offer(way)
        needed = gigabytes(way.gpu_memory_mb) if known(way) else _NONE
        return f"{needed} / {gigabytes(way.gpu_capacity_mb)}"

    def known(way: Candidate) -> bool:
        return way.gpu_memory_mb > 0 and way.gpu_capacity_mb > 0

    def filled(way: Candidate) -> str:
        return percent(way.gpu_memory_mb / way.gpu_capacity_mb, 0) if known(way) else _NONE

    return table(
        ranked,
        ("GPU type", "name", lambda one: one.way.way),
        (
            "GPUs",
            "number",
            lambda one: copies_of(one.way.replicas, one.way.gpus, one.way.prefill_gpus),
        ),
        ("USD/h", "number", lambda one: _usd(one.usd_per_hour)),
        ("USD a run", "number", lambda one: _usd(one.usd_per_run)),
        ("Passes", "number", lambda one: str(one.way.gradient_accumulation or 1)),
        (need, "number", lambda one: need_and_offer(one.way)),
        ("Filled", "number", lambda one: filled(one.way)),
        ("Cores", "number", lambda one: str(one.way.cpus)),
        ("Host, GB", "number", lambda one: gigabytes(one.way.memory_mb)),
        ("Hours", "number", lambda one: hours(one.way.hours).removesuffix(" h")),
        ("Held, h", "number", lambda one: str(one.way.planned_hours or _NONE)),
        ("At once", "number", lambda one: _figure_of(one.way, "concurrency")),
        ("TTFT ms", "number", lambda one: _figure_of(one.way, "ttft_ms")),
        ("TPOT ms", "number", lambda one: _figure_of(one.way, "tpot_ms")),
        ("Set by", "text", lambda one: one.way.decided_by),
        without=without,
    )


def _figure_of(way: Candidate, name: str) -> str:
    figure = getattr(way.serving, name, None)
    return _NONE if figure is None else f"{figure:,.0f}"


def _told_of_prices(ranked: Sequence[RentedCandidate], book: PriceBookHeader) -> str:
    runs = any(one.usd_per_run is not None for one in ranked)
    told = "The cheapest run first" if runs else "The cheapest hour first"
    told += f", at the least rent of a GPU in the price book {book.id}"
    told += ", which is illustrative" if book.illustrative else ""
    some = any(one.usd_per_hour is None for one in ranked)
    told += "; without one, a GPU type comes last" if some else ""
    if any(one.way.planned_hours is not None for one in ranked):
        told += ". Held: whole hours in which nine of ten runs end, interruptions included"
    return f"{told}."


def _usd(amount: Decimal | None) -> str:
    return _NONE if amount is None else f"{amount:,.2f}"


def _rejections(rejections: Sequence[Rejection]) -> Table:
    said: dict[tuple[str, str], list[str]] = {}
    for one in rejections:
        pattern = one.message.replace(one.gpu_type, _BLANK)
        said.setdefault((one.rule, pattern), []).append(one.gpu_type)
    return table(
        said.items(),
        ("GPU type", "text", lambda row: ", ".join(row[1])),
        ("Rule", "text", lambda row: row[0][0]),
        (
            "Why",
            "text",
            lambda row: row[0][1].replace(_BLANK, row[1][0] if len(row[1]) == 1 else "these"),
        ),
    )


def _parts(refusals: Sequence[Rejection]) -> Table:
    """By GPU type and reason, with the parts that it holds for."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for one in refusals:
        part = one.way.removeprefix(one.gpu_type).strip()
        said.setdefault((one.gpu_type, one.rule, one.message), []).append(part)
    return table(
        said.items(),
        ("GPU type", "text", lambda row: row[0][0]),
        ("Parts", "text", lambda row: ", ".join(row[1])),
        ("Rule", "text", lambda row: row[0][1]),
        ("Why", "text", lambda row: row[0][2]),
    )


def _each_sum(sizing: Sizing) -> tuple[Block, ...]:
    sums = Sums()
    drawn = tuple(
        block
        for candidate in sizing.candidates
        for block in (Heading(f"The sums on {candidate.way}"), *sums.of(candidate.trace))
    )
    return (*drawn, *sums.sources())


def peak_blocks(candidates: Sequence[Candidate], level: int = 2) -> tuple[Block, ...]:
    """The table by GPU count and what its columns mean; nothing where a formula decided."""
    sized = {(one.gpus, _paged_mb(one.memory)): one for one in candidates if one.memory}
    held = {one.gpus: one.serving.concurrency for one in sized.values() if one.serving}
    known = [
        (at[0], one.memory) for at, one in sorted(sized.items(), key=itemgetter(0)) if one.memory
    ]
    if not known:
        return ()
    tuned = bool(known[0][1].phases)
    parts = (*known[0][1].phases, *known[0][1].parts)
    rows = table(
        known,
        ("GPUs", "number", lambda row: str(row[0])),
        ("At once", "number", lambda row: str(held.get(row[0], _NONE))),
        *columns_for(
            ((part.name[0].upper() + part.name[1:], place) for place, part in enumerate(parts)),
            lambda row, place: gibibytes((*row[1].phases, *row[1].parts)[place].mb),
        ),
        ("Context", "number", lambda row: _told(row[1].context_mb)),
        ("Peak", "number", lambda row: gibibytes(row[1].peak_mb)),
        ("Range", "number", lambda row: f"{_told(row[1].low_mb)}–{_told(row[1].high_mb)}"),
        ("With margin", "number", lambda row: _told(row[1].needed_mb)),
        ("nvidia-smi", "number", lambda row: _told(row[1].nvidia_smi_mb)),
        without=("At once",) * (not held) + ("nvidia-smi",) * (not tuned),
    )
    return (
        Heading("Peak memory of each GPU, GiB (2^30 bytes)", level),
        rows,
        Paragraph(_told_of_peak(known[0][1]), tone="faint"),
    )


def _told_of_peak(memory: Memory) -> str:
    if not memory.phases:
        return _OF_SERVING
    return f"{_OF_TUNING} {_OF_PAGING}" if memory.parts else _OF_TUNING


def _paged_mb(memory: Memory) -> int:
    """Optimizer states beside any phase, as much as the GPU has room for."""
    return sum(part.mb for part in memory.parts) if memory.phases else 0


def _need_and_offer(one: Candidate) -> str:
    """What each GPU needs with its margin, and what it offers, GiB; a dash where unknown."""
    if one.memory is None:
        return _NONE
    return f"{_told(one.memory.needed_mb)} / {gibibytes(one.gpu_capacity_mb // one.gpus)}"


def _calibration(calibration: Calibration) -> Iterator[Block]:
    """What measured runs say about the predictions, and by how much they move them."""
    yield Heading("Your measured runs")
    for factors in calibration.factors:
        what = factors.what
        yield table(
            factors.groups,
            ("Runs of", "name", lambda one: one.name),
            ("Runs", "number", lambda one: str(one.runs)),
            ("Measured / expected", "number", lambda one: f"{float(one.ratio):.3f}"),
            ("Multiplied by", "number", lambda one: f"{float(one.factor):.3f}"),
            ("Moved", "number", lambda one: f"{float(one.factor - 1) * 100:+.1f} %"),
            caption=f"{what[0].upper()}{what[1:]}",
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


def _told(mb: int | None) -> str:
    return _NONE if mb is None else gibibytes(mb)


class Sums:
    """Draws steps and numbers their sources, so that each is written out once."""

    def __init__(self) -> None:
        self._number_of: dict[str, int] = {}

    def of(self, steps: Iterable[DerivationStep]) -> tuple[Block, ...]:
        """Every step in its order, with the numbers of its sources."""
        return tuple(block for step in steps for block in self._step(step))

    def sources(self, level: int = 2) -> tuple[Block, ...]:
        """The sources of all steps drawn so far."""
        if not self._number_of:
            return ()
        lines = tuple(f"[{number}] {source}" for source, number in self._number_of.items())
        return (Heading("Sources", level), Bullets(lines))

    def _step(self, step: DerivationStep) -> tuple[Block, ...]:
        blocks: list[Block] = [
            Heading(f"{step.title} ({step.rule}){self._marks(step)}", 3),
            Verbatim(_sum_lines(step)),
        ]
        if step.inputs:
            blocks.append(Paragraph(f"with {'; '.join(map(_given, step.inputs))}", tone="faint"))
        return tuple(blocks)

    def _marks(self, step: DerivationStep) -> str:
        """` [1] [4]`: the numbers of a step's sources."""
        numbers = [
            self._number_of.setdefault(source, len(self._number_of) + 1) for source in step.sources
        ]
        return "".join(f" [{number}]" for number in sorted(set(numbers)))


def _sum_lines(step: DerivationStep) -> tuple[str, ...]:
    """The formula, the same with figures, the result; a bare figure before it says nothing new."""
    name, result = step.result.name, _amount(step.result)
    told = dict.fromkeys((step.formula, step.worked))
    stages = [*(stage for stage in told if not _is_figure(stage) and stage != result), result]
    return (
        f"{name} = {stages[0]}",
        *(f"{' ' * len(name)} = {stage}" for stage in stages[1:]),
    )


def result_text(step: DerivationStep) -> str:
    """`memory_gb = 30.375 GB`."""
    return f"{step.result.name} = {_amount(step.result)}"


def worked_text(step: DerivationStep) -> str:
    """The formula with its figures; empty where that is a bare figure."""
    return "" if _is_figure(step.worked) else step.worked


def _is_figure(stage: str) -> bool:
    return stage.replace(".", "", 1).replace(",", "").isdecimal()


def _given(quantity: Quantity) -> str:
    return f"{quantity.name} = {_amount(quantity)} ({quantity.origin})"


def _amount(quantity: Quantity) -> str:
    return with_unit(quantity.value, quantity.unit)
