"""Each job: what it asks for, where it runs, what it needs and costs; who gives way, who serves."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from math import log
from operator import attrgetter
from typing import NamedTuple

from planner.inputs.scenario.quarter import Quarter
from planner.planning.plan import ApiComparison, Plan, PlannedJob
from planner.reporting.document import (
    Block,
    Bullets,
    Cell,
    Fold,
    Heading,
    Paragraph,
    Table,
    columns_for,
    rest,
    table,
)
from planner.reporting.format import (
    Style,
    code,
    copies_of,
    count_of,
    dollars,
    listed,
    percent,
    quarter_runs,
    range_of,
    usd,
)
from planner.reporting.sections.sizing import (
    at_full_rate,
    on_apis_text,
    replicas_in_use,
    result_text,
    share_of,
    taken,
    why_short,
    worked_text,
)
from planner.reporting.traced import TracedPlan
from planner.sizing import Candidate, DerivationStep, Rejection
from planner.sizing.candidate import ServingFigures

_DERIVED_NAMED = 5
_TAG, _WHY_NOT = "Tag, USD", "Why not"
_DECIDING = {
    "memory_gb",
    "peak_gb_per_gpu",
    "needed_gb_per_gpu",
    "baseline_gpus_of_80gb",
    "floor_gpus_of_80gb",
    "replicas_for_load",
}
"""Results of rules on which the count of GPUs rests."""


def some_share(plan: Plan) -> bool:
    """Return whether jobs share GPUs, so that a GPU in use need not be held all the time."""
    held = (one for uses in plan.placements for use in uses for one in use.occupants)
    return any(one.hours or one.part for one in held)


def kept_candidates(plan: Plan, job: PlannedJob) -> list[Candidate]:
    """Return the execution modes that units of a job have in the plan."""
    kept = dict(job.ways)
    return [one for one in plan.sizings[job.sizing].candidates if one.way in kept]


def deciding_steps(candidate: Candidate) -> list[DerivationStep]:
    """Return the steps on which its count of GPUs rests; of several floors the highest.

    If measured runs confirm the peak, it replaces what a formula gives.
    """
    found: dict[str, DerivationStep] = {}
    for step in candidate.trace:
        name, value = step.result.name, float(step.result.value)
        if name in _DECIDING and (name not in found or value > float(found[name].result.value)):
            found[name] = step
    if "needed_gb_per_gpu" in found:
        found.pop("memory_gb", None)
    return list(found.values())


class _JobRow(NamedTuple):
    """A job and one of the GPU types that it keeps."""

    job: int
    """Its place in the plan."""
    candidate: int | None
    """The place of the execution mode in its sizing; None if nothing of it is on a GPU."""
    runs_on: str
    """What a unit takes, or why there is none."""


def jobs_section(traced: TracedPlan) -> Iterator[Block]:
    """One row per job and GPU type that it keeps, with where its nodes are from.

    A long portfolio is cut, with the sum of what is left out.
    """
    plan, most = traced.plan, traced.detail.jobs
    if not plan.jobs:
        yield Paragraph("The scenario has no jobs.")
        return
    jobs, shown, tagged = plan.jobs, plan.jobs[:most], any(job.tag_cents for job in plan.jobs)
    kept = [one for job in shown for one in kept_candidates(plan, job)]
    yield Paragraph(
        "Memory is need and offer per unit, after headroom."
        + " The tag is what the job adds to the proved bound over the horizon." * tagged
        + " 3 × 2× is three replicas of two GPUs, as its load asks for; memory is then of one."
        * any(one.replicas > 1 for one in kept),
        tone="faint",
    )

    def candidate(row: _JobRow) -> Candidate | None:
        sizing = plan.sizings[jobs[row.job].sizing]
        return None if row.candidate is None else sizing.candidates[row.candidate]

    def once(cell: Callable[[int], Cell]) -> Callable[[_JobRow], Cell]:
        """Only in the first row of a job."""
        return lambda row: cell(row.job) if row == first[row.job] else ""

    def gpu_memory(row: _JobRow, name: str) -> Cell:
        """The need, the offer, or the first as a share of the second."""
        one, job = candidate(row), jobs[row.job]
        if one is None or not (one.gpu_capacity_mb and (one.gpu_memory_mb or name == "capacity")):
            return "" if one is None else "–"
        stem = f"sizings[{job.sizing}].candidates[{row.candidate}].gpu"
        if name != "fill":
            return traced.at(f"{stem}_{name}_mb")
        need, offer = (traced.read.at(f"{stem}_{of}_mb") for of in ("memory", "capacity"))
        return traced.figure(need / offer, "per_cent")

    def placed_on(row: _JobRow) -> str:
        one = candidate(row)
        return listed(sorted(where[jobs[row.job].name, one.way])) if one else "–"

    rows = list(_rows(plan, len(shown)))
    first = {row.job: row for row in reversed(rows)}
    entries = {node.id: node.entry for node in plan.nodes}
    where: dict[tuple[str, str], set[str]] = defaultdict(set)
    for use in (use for uses in plan.placements for use in uses):
        for held in use.occupants:
            where[held.job, held.way].add(entries[use.node])
    yield table(
        rows,
        ("Job", "text", once(traced.job)),
        ("Units", "number", once(lambda at: range_of(jobs[at].units))),
        ("A unit runs on", "text", lambda row: row.runs_on),
        *columns_for((("Memory GB", "memory"), ("Of", "capacity"), ("Fill", "fill")), gpu_memory),
        ("Placed on", "text", placed_on),
        (_TAG, "number", once(traced.each("jobs[{}].tag_cents"))),
        sums={"Job": "All jobs", _TAG: traced.at("jobs[*].tag_cents")} if tagged else {},
        without=[*(["Placed on"] * traced.detail.narrow), *([_TAG] * (not tagged))],
    )
    tags = dollars(sum(job.tag_cents for job in jobs[most:]))
    yield from rest(len(jobs) - most, "job", f" with tags of {tags} USD{traced.detail.rest}")
    by_rule: dict[str, list[str]] = defaultdict(list)
    for job in jobs:
        if job.derived_from:
            by_rule[job.derived_by or ""].append(f"{job.name} from {job.derived_from}")
    if by_rule:
        told = (
            f"Derived by rule {rule}: "
            f"{listed(of) if len(of) <= _DERIVED_NAMED else count_of(len(of), 'job')}."
            for rule, of in sorted(by_rule.items())
        )
        yield Paragraph(" ".join(told), tone="faint")


def _rows(plan: Plan, most: int) -> Iterator[_JobRow]:
    when = plan.quarters_by_way()
    dropped = {
        name
        for job in (plan.shortage.jobs if plan.shortage else ())
        if job.outcome == "dropped"
        for name in (job.name, job.deployment)
    }
    for place, job in enumerate(plan.jobs[:most]):
        candidates = plan.sizings[job.sizing].candidates
        places = {one.way: at for at, one in enumerate(candidates)}
        if not job.ways:
            none = "dropped" if job.name in dropped else "no unit in any quarter"
            yield _JobRow(place, None, f"API: {on_apis_text(job)}" if job.on_apis else none)
        for way, units in job.ways:
            labels, one = when.get(job.name, {}).get(way), candidates[places[way]]
            counts = replicas_in_use(job, one, plan.quarters, labels)
            # `3 × 2`, and `1–3 × 2` where replicas follow the traffic of these quarters
            told = copies_of(max(counts), one.gpus, one.prefill_gpus)
            if min(counts) < max(counts):
                told = f"{min(counts):,}–{told}"
            share = f" ({share_of(units, plan.quarters, labels)})" if len(job.ways) > 1 else ""
            yield _JobRow(place, places[way], f"{told}× {taken(one)}{share}")


def rejections_section(traced: TracedPlan) -> Iterator[Block]:
    """Show GPU types that jobs may not or cannot use, grouped by rule.

    The scenario's own restrictions are no findings: one line says how many jobs they concern.
    """
    plan = traced.plan
    by_rule: dict[str, dict[str, list[Rejection]]] = defaultdict(lambda: defaultdict(list))
    concerned: Counter[str] = Counter()
    jobs_of_sizing = Counter(job.sizing for job in plan.jobs)
    for key, sizing in sorted(plan.sizings.items()):
        spoken = {(said.rule, said.gpu_type): said for said in sizing.rejections}
        concerned.update(dict.fromkeys({rule for rule, _ in spoken}, jobs_of_sizing[key]))
        for (rule, gpu_type), said in spoken.items():
            by_rule[rule][gpu_type] += [said] * jobs_of_sizing[key]
    own = [rule for rule in sorted(by_rule) if rule.startswith(("job.", "policies."))]
    found = table(
        [(rule, sorted(by_rule[rule].items())) for rule in sorted(by_rule) if rule not in own],
        ("Rule", "text", lambda row: row[0]),
        (
            "GPU types and jobs",
            "text",
            lambda row: ", ".join(f"{gpu} ({count_of(len(said), 'job')})" for gpu, said in row[1]),
        ),
        ("For example", "text", lambda row: row[1][0][1][0].message),
    )
    lines = [
        f"{rule}: the scenario keeps {count_of(concerned[rule], 'job')} off "
        f"{'some of ' if len(by_rule[rule]) > 1 else ''}{listed(sorted(by_rule[rule]))}"
        for rule in own
    ]
    if found.rows:
        yield found
    if lines:
        yield Bullets(tuple(lines))


def gpu_types_section(traced: TracedPlan) -> Iterator[Block]:
    """Show why not the other GPU types: what a unit would add, and the rules against them."""
    plan = traced.plan
    runs = Counter(gpu_type for job in plan.jobs for gpu_type, _ in job.gpu_types)
    extra: dict[str, list[tuple[int, str]]] = defaultdict(list)
    never: Counter[str] = Counter()
    for place, job in enumerate(plan.jobs):
        least: dict[str, tuple[int, str]] = {}
        against = {said.gpu_type for said in plan.sizings[job.sizing].rejections}
        for at, one in enumerate(job.alternatives):
            if one.extra_cents is None:
                against.add(one.gpu_type)
            else:
                found = (one.extra_cents, f"jobs[{place}].alternatives[{at}].extra_cents")
                least[one.gpu_type] = min(least.get(one.gpu_type, found), found)
        runs_on = dict(job.gpu_types).keys()
        for gpu_type in least.keys() - runs_on:
            extra[gpu_type].append(least[gpu_type])
        never.update(against - least.keys() - runs_on)

    def cost(gpu_type: str, end: Callable[[list[tuple[int, str]]], tuple[int, str]]) -> Cell:
        known = extra.get(gpu_type)
        return traced.at(end(known)[1], "usd") if known else "–"

    yield table(
        sorted({*runs, *extra, *never}, key=lambda name: (-runs[name], name)),
        ("GPU type", "name", lambda name: name),
        ("Jobs on it", "number", lambda name: f"{runs[name]:,}"),
        ("Could be moved there", "number", lambda name: f"{len(extra.get(name, ())):,}"),
        *columns_for((("A unit adds at least, USD", min), ("At most, USD", max)), cost),
        ("Cannot", "number", lambda name: f"{never[name]:,}"),
        caption="Jobs by GPU type: those that run on it, those that could be moved there with what "
        "a unit would add to the proved bound, and those that cannot",
    )


def demand_section(traced: TracedPlan) -> Iterator[Block]:
    """Show units of each job by quarter."""
    plan, most = traced.plan, traced.detail.jobs
    if shared := [job.name for job in plan.jobs if job.replicas]:
        yield Paragraph(f"Of {', '.join(shared)}, as many run as take the traffic.", tone="faint")
    caption = (
        "Units asked for, by quarter: endpoints, stated replicas, tuning jobs with all their runs"
    )
    if len(plan.jobs) > most:
        caption += f"; the first {most:,} of {len(plan.jobs):,} jobs"
    yield table(
        range(len(plan.jobs))[:most],
        ("Job", "text", traced.job),
        ("What it is", "text", lambda at: plan.sizings[plan.jobs[at].sizing].summary),
        ("Team", "text", lambda at: plan.jobs[at].team or "–"),
        *traced.by_quarter(traced.asked),
        caption=caption,
        without=() if any(job.team for job in plan.jobs) else ("Team",),
    )


def held_section(traced: TracedPlan) -> Iterator[Table]:
    """Show the GPUs that each job holds, by quarter."""
    jobs, held = traced.plan.jobs, traced.capacity.held
    yield table(
        range(len(jobs))[: traced.detail.jobs],
        ("Job", "text", traced.job),
        *traced.by_quarter(lambda at, quarter: held(jobs[at].name, quarter)),
        caption="GPUs that each job holds, by quarter"
        + (", shared ones counted for each" if some_share(traced.plan) else ""),
    )


def stated_section(traced: TracedPlan) -> Iterator[Table]:
    """Show what the scenario says of jobs for readers: owners and reasons."""
    told = [job for job in traced.plan.jobs if job.owner or job.benefit or job.if_not_met]
    columns = {"Owner": "owner", "Benefit": "benefit", "If it does not run": "if_not_met"}
    if told:
        yield table(
            told[: traced.detail.jobs],
            ("Job", "text", lambda job: job.name),
            *columns_for(
                columns.items(),
                lambda job, key: " ".join((getattr(job, key) or "–").split()),
                "text",
            ),
            caption="What the scenario says of jobs",
        )


def decisions_section(traced: TracedPlan) -> Iterator[Block]:
    """Show each job with the steps that decided its GPUs, and its cost on others.

    Jobs that are specified alike share the steps.
    """
    told: dict[tuple[str, str], str] = {}
    jobs, most = traced.plan.jobs, traced.detail.jobs
    yield Paragraph(
        "Each job with the sums that decided its GPUs, and what a unit on other GPUs would add to "
        "the bound, which fills nodes in fractions: where that is 0, no plan of whole nodes with "
        "it is cheaper by more than the gap. "
        f"{code('planner explain PLAN.json JOB')} writes every sum out with its sources.",
        tone="faint",
    )
    for place, job in enumerate(jobs[:most]):
        yield Fold(job.name, traced.job_anchor[job.name], tuple(_decision(traced, place, told)))
    yield from rest(len(jobs) - most, "job", traced.detail.rest)


def _decision(traced: TracedPlan, place: int, told: dict[tuple[str, str], str]) -> Iterator[Block]:
    job = traced.plan.jobs[place]
    if job.derived_from:
        yield Paragraph(f"Derived from {job.derived_from} by rule {job.derived_by}.")
    decided: dict[tuple[str, ...], list[Candidate]] = defaultdict(list)
    for one in kept_candidates(traced.plan, job):
        first = told.setdefault((job.sizing, one.way), job.name)
        if first != job.name:
            yield Paragraph(f"What decided on {one.way} is as for {first} above.")
        elif steps := deciding_steps(one):
            decided[one.decided_by, *map(result_text, steps)].append(one)
    for alike in decided.values():
        yield table(
            deciding_steps(alike[0]),
            ("Result", "text", result_text),
            ("Sum", "text", lambda step: worked_text(step) or step.formula),
            ("Terms", "text", lambda step: ", ".join(given.name for given in step.inputs)),
            ("Rule", "text", lambda step: step.rule),
            caption=f"On {listed([one.way for one in alike])}, decided by {alike[0].decided_by}",
        )
    others: dict[tuple[int | None, str], list[int]] = defaultdict(list)
    for at, other in enumerate(job.alternatives):
        if other.way not in dict(job.ways):
            why = other.reason if other.extra_cents is None else ""
            others[other.extra_cents, why].append(at)

    def adds(row: tuple[tuple[int | None, str], list[int]]) -> Cell:
        stands = f"jobs[{place}].alternatives[{row[1][0]}].extra_cents"
        return "–" if row[0][0] is None else traced.at(stands, "cents")

    if others:
        yield table(
            others.items(),
            ("Elsewhere", "text", lambda row: ", ".join(job.alternatives[at].way for at in row[1])),
            ("A unit adds, USD", "number", adds),
            (_WHY_NOT, "text", lambda row: row[0][1]),
            without=() if any(why for _, why in others) else (_WHY_NOT,),
        )


# Jobs that give way

_OF_UNITS = ("Short", "Units short × quarters")


def shortage_section(traced: TracedPlan) -> Iterator[Block]:
    """Show who gives way, by priority and job; nothing if every job is kept as asked."""
    plan, shortage = traced.plan, traced.plan.shortage
    if shortage is None:
        return
    of_units = any(use.units_short for use in shortage.priorities)
    told = (
        "Not everything fits. As few jobs as can be are dropped, and then as few as can be "
        "delayed, the highest priority first; among equals, what costs the least is kept. A job is "
        "kept whole or not at all, with the deployment derived from it."
    )
    if of_units:
        told += (
            " Where a job may be short of units, these count after dropped jobs of the same "
            "priority, each once for each quarter in which it does not run."
        )
    yield Paragraph(told, tone="faint")
    counts = {
        "Jobs": lambda use: use.jobs,
        "Kept as asked": lambda use: use.jobs - use.delayed - use.dropped - use.short,
        "Short": lambda use: use.short,
        "Units short × quarters": lambda use: use.units_short,
        "Delayed": lambda use: use.delayed,
        "Dropped": lambda use: use.dropped,
    }
    yield table(
        shortage.priorities,
        ("Priority", "number", lambda use: str(use.priority)),
        *columns_for(counts.items(), lambda use, count: f"{count(use):,}"),
        ("Proved", "name", lambda use: "yes" if use.proved else "NO"),
        without=() if of_units else _OF_UNITS,
    )
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
    for job in shortage.jobs:
        also = f" {job.deployment}, derived from it, with it." if job.deployment else ""
        asked = range_of(job.asked)
        units = "unit" if asked == "1" else "units"
        yield Heading(f"{job.name}: {job.how(plan.quarters)}", 3)
        yield Paragraph(f"Priority {job.priority}, {asked} {units} a quarter.{also}")
        yield from why_short(job, shortage.ahead_of(job))


# Serving jobs

_SMALL = 100
"""Beyond this multiple of the traffic, nobody asks where the API becomes dearer."""
_QUARTER_DAYS = 91
_FAR_DAYS = 3650
"""Beyond this many days, nobody asks when traffic will have grown."""


def apis_section(traced: TracedPlan) -> Iterator[Block]:
    """Show jobs on APIs with what they pay, and jobs on GPUs whose model an API serves."""
    plan, compared = traced.plan, traced.plan.api_comparisons

    def quarters(at: int) -> str:
        tokens = zip(plan.quarters, plan.apis[at].million_tokens, strict=True)
        return quarter_runs(plan.quarters, [label for label, million in tokens if million])

    if plan.apis:
        yield table(
            range(len(plan.apis)),
            ("Job", "name", lambda at: plan.apis[at].job),
            ("API", "text", lambda at: plan.apis[at].api),
            ("Quarters", "text", quarters),
            *traced.figures(
                "apis[{}]",
                ("M tokens", "million_tokens[*]"),
                ("Paid, USD", "cents[*]"),
                ("Present value, USD", "present_cents"),
            ),
            caption="Requests that APIs answer, at mean traffic; what they keep to of latency is "
            "theirs to promise",
        )
        if plan.api_saving_cents is not None:
            saved = usd(plan.api_saving_cents)
            yield Paragraph(f"Without any API, the best plan costs {saved} more, as proved.")
    if compared:
        yield table(
            range(len(compared)),
            ("Job", "name", lambda at: compared[at].job),
            ("API", "text", lambda at: compared[at].api),
            ("Allowed", "text", lambda at: "yes" if compared[at].allowed else "no"),
            *traced.figures(
                "api_comparisons[{}]", ("GPUs, USD", "gpus_cents"), ("API, USD", "api_cents")
            ),
            ("API cheaper", "text", lambda at: _turns(compared[at])),
            caption="Jobs on GPUs, and the net present cost of the same tokens on an API. Shares "
            "of cost are compared: of GPUs, those held count, idle ones not, and of owned nodes "
            "what running them costs; a job on a node that others need anyway saves nothing by "
            "leaving it. The API is cheaper up to the share of this traffic at which both cost "
            "the same",
        )


def _turns(one: ApiComparison) -> str:
    """Format `below 12 % of this traffic`, `up to 3.2 times this traffic`."""
    gpus_cents, api_cents = one.gpus_cents, one.api_cents
    if not api_cents or gpus_cents >= _SMALL * api_cents:
        return "at any traffic"
    if gpus_cents <= 0:
        return "at none"
    if gpus_cents < api_cents:
        return f"below {percent(gpus_cents / api_cents)} of it"
    return f"up to {gpus_cents / api_cents:.1f} times it"


class _Serves(NamedTuple):
    """What one endpoint of a job does in quarters that are alike."""

    job: PlannedJob
    candidate: Candidate
    serving: ServingFigures
    place: str
    """The place of the candidate in plan.json."""
    quarters: tuple[int, ...]
    replicas: int
    counted: str
    """The place of their number in plan.json."""
    beside: float
    """What replicas on other GPU types take of the same traffic, in requests per second."""


def traffic_section(traced: TracedPlan) -> Iterator[Block]:
    """Show one row per endpoint and like quarters: traffic, replicas, and what users wait."""
    plan = traced.plan
    rows = list(_serving_rows(plan))
    if not rows:
        return
    at = " or ".join(f"{one}th" for one in sorted({row.serving.percentile for row in rows}))
    yield Paragraph(
        "Requests per second at the peak, and what the replicas are planned for at the most "
        f"(Takes). Times are expected at the {at} percentile at the peak of the busiest "
        "quarter: an estimate by the rules under serving/, not a measurement.",
        tone="faint",
    )

    def figure(row: _Serves, name: str, style: Style = "three_digits") -> Cell:
        place = f"{row.place}.serving.{name}"
        known = getattr(row.serving, name, 0) is not None
        return traced.at(place, style) if known else "–"

    def takes(row: _Serves) -> Cell:
        each = traced.read.at(f"{row.place}.serving.planned_requests_per_second")
        return traced.figure(traced.read.at(row.counted) * each, "three_digits")

    def replicas(row: _Serves) -> str:
        gpus = copies_of(1, row.candidate.gpus, row.candidate.prefill_gpus)
        return f"{row.replicas:,} × {gpus}"

    shown = rows[: traced.detail.lines]
    first = {row.job.name: row for row in reversed(rows)}
    yield table(
        shown,
        ("Job", "text", lambda row: row.job.name if row is first[row.job.name] else ""),
        (
            "Quarter",
            "text",
            lambda row: quarter_runs(plan.quarters, [plan.quarters[at] for at in row.quarters]),
        ),
        ("Req/s", "number", lambda row: figure(row, f"peaks[{row.quarters[-1]}]")),
        ("Takes", "number", takes),
        ("Replicas", "number", replicas),
        *columns_for((("TTFT, ms", "ttft_ms"), ("TPOT, ms", "tpot_ms")), figure),
        ("Full", "text", lambda row: _full(plan, row)),
        caption="Replicas: how many, and of how many GPUs each; Full: when growth as in the last "
        "quarters takes up what is left (–: never, or in years)",
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
    yield from rest(len(rows) - len(shown), "row", traced.detail.rest)

    def of(place: int) -> _Serves:
        return first[plan.endpoints[place].job]

    def rate(place: int, tokens: str) -> Cell:
        stem = f"endpoints[{place}]"
        cents, every = (traced.read.sum(f"{stem}.{name}[*]") for name in ("cost_cents", tokens))
        return traced.figure(cents / every, "rate")

    yield table(
        [at for at, use in enumerate(plan.endpoints[: traced.detail.lines]) if use.job in first],
        ("Job", "text", lambda at: plan.endpoints[at].job),
        ("At once", "number", lambda at: figure(of(at), "concurrency", "count")),
        ("Answer, s", "number", lambda at: figure(of(at), "e2e_ms", "seconds")),
        *traced.figures(
            "endpoints[{}]", ("M tokens", "million_tokens[*]"), ("GPUs, USD", "cost_cents[*]")
        ),
        *columns_for(
            (("USD/M tokens", "million_tokens"), ("If full", "full_million_tokens")), rate
        ),
        caption="At once: requests that a replica must be allowed to hold (max_num_seqs); Answer: "
        "time to its end; tokens are those of the horizon at mean traffic, their cost that of the "
        "GPUs held, of owned ones what running them costs; If full: if as much arrived all day as "
        "replicas take",
    )


def _serving_rows(plan: Plan) -> Iterator[_Serves]:
    """Yield a job's rows by execution mode, and by quarter if its units change theirs."""
    changing = plan.quarters_by_way()
    for at, job in enumerate(plan.jobs):
        rows = list(_rows_of_job(plan, at, job, changing.get(job.name, {})))
        yield from sorted(rows, key=attrgetter("quarters")) if job.name in changing else rows


def _rows_of_job(
    plan: Plan, at: int, job: PlannedJob, labels: Mapping[str, Sequence[str]]
) -> Iterator[_Serves]:
    """Yield rows of the execution modes in which a job serves, for quarters that are alike.

    `labels` are the quarters in which units run so, for a job whose units change their mode.
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
            yield _Serves(job, candidate, serving, place, span, replicas, counted, beside)


def _full(plan: Plan, row: _Serves) -> str:
    """Return the quarter in which more is planned for, or the month by which growth takes the rest.

    What is planned for the last quarter holds until its end; growth goes on from there.
    """
    peaks, last = row.serving.peaks, len(plan.quarters) - 1
    takes = row.replicas * row.serving.planned_requests_per_second + row.beside
    for later in range(row.quarters[-1] + 1, len(plan.quarters)):
        if peaks[later] > takes:
            return plan.quarters[later]
    growth = peaks[last] / peaks[last - 1] if last and peaks[last - 1] else 1
    if growth <= 1 or not peaks[last]:
        return "–"
    days = _QUARTER_DAYS * log(takes / peaks[last]) / log(growth)
    if days > _FAR_DAYS:
        return "–"
    return f"{(Quarter.parse(plan.quarters[last]) + 1).start + timedelta(days=days):%Y-%m}"
