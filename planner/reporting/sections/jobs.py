"""Each job: what it asks for, where it runs, what it needs and costs; and what it may not use."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from planner.planning.plan import GpuPart, Plan, PlannedJob
from planner.reporting.document import (
    Block,
    Bullets,
    Cell,
    Fold,
    Paragraph,
    Table,
    columns_for,
    rest,
    table,
)
from planner.reporting.format import (
    code,
    copies_of,
    count_of,
    dollars,
    duration,
    listed,
    memory,
    quarter_runs,
    range_of,
)
from planner.reporting.sections.serving import on_apis_text
from planner.reporting.sections.sizing import result_text, worked_text
from planner.reporting.traced import TracedPlan
from planner.sizing import Candidate, DerivationStep, Rejection

_DERIVED_NAMED = 5
_TAG, _WHY_NOT = "Tag, USD", "Why not"
_JOBS_SHOWN = 1000
_DECIDING = {
    "memory_gb",
    "peak_gb_per_gpu",
    "needed_gb_per_gpu",
    "baseline_gpus_of_80gb",
    "floor_gpus_of_80gb",
    "replicas_for_load",
}
"""Results on which the count of GPUs rests, in the words of the rules."""


def taken(candidate: Candidate) -> str:
    """What one of its GPUs is: `h100-80gb-sxm`, `h100-80gb-sxm 1g.10gb`, `… for 14 h`."""
    widths = candidate.widths and f"at {candidate.widths}"
    passes = candidate.gradient_accumulation
    summed = f"in {passes} passes" if passes else ""
    held = f"for {duration(candidate.planned_hours)}" if candidate.planned_hours else ""
    return " ".join(filter(None, (candidate.part, widths, summed, held)))


def some_share(plan: Plan) -> bool:
    """Whether jobs share GPUs, so that a GPU in use is not one that is held all the time."""
    held = (one for uses in plan.placements for use in uses for one in use.occupants)
    return any(one.hours or one.part for one in held)


def parts_held(parts: Sequence[tuple[int, GpuPart]]) -> str:
    """`0 (1g.10gb at 0, 1), 3 (9.8 GB)`: GPU numbers, and what is held of each."""
    ordered = sorted(parts, key=lambda held: (held[0], held[1].profile or "", held[1].first or 0))
    return ", ".join(
        f"{gpu} ({'; '.join(_of_gpu([part for _, part in group]))})"
        for gpu, group in groupby(ordered, key=lambda held: held[0])
    )


def _of_gpu(parts: Sequence[GpuPart]) -> Iterator[str]:
    for profile, group in groupby(parts, key=lambda part: part.profile):
        alike = list(group)
        if profile is not None:
            yield f"{profile} at {', '.join(str(part.first) for part in alike)}"
        else:
            yield memory(sum(part.taken for part in alike))


def share_of(units: int, all_quarters: Sequence[str], quarters: Sequence[str] | None) -> str:
    """`3 units`, and of units that change their GPU type `3 units, 2027Q1–Q3`."""
    when = f", {quarter_runs(all_quarters, quarters)}" if quarters else ""
    return f"{count_of(units, 'unit')}{when}"


def kept_candidates(plan: Plan, job: PlannedJob) -> list[Candidate]:
    """The execution modes that units of a job have in the plan."""
    kept = dict(job.ways)
    return [one for one in plan.sizings[job.sizing].candidates if one.way in kept]


def deciding_steps(candidate: Candidate) -> list[DerivationStep]:
    """The sums on which its count of GPUs rests; of several floors the highest.

    Where measured runs confirm the peak, it stands in place of what a formula gives.
    """
    found: dict[str, DerivationStep] = {}
    for step in candidate.trace:
        name = step.result.name
        if name in _DECIDING and (name not in found or _value(step) > _value(found[name])):
            found[name] = step
    if "needed_gb_per_gpu" in found:
        found.pop("memory_gb", None)
    return list(found.values())


def _value(step: DerivationStep) -> float:
    return float(step.result.value)


_Row = tuple[int, int | None, str]
"""Place of a job, place of one of its execution modes, and in words what units run on so."""


def jobs_section(
    traced: TracedPlan, most: int = _JOBS_SHOWN, *, full: bool = True
) -> Iterator[Block]:
    """One row per job and GPU type that it keeps; `full` with what decided, and where it stands.

    A long portfolio is cut, with the sum of what is left out.
    """
    plan = traced.plan
    if not plan.jobs:
        yield Paragraph("The scenario has no jobs.")
        return
    jobs, shown, tagged = plan.jobs, plan.jobs[:most], any(job.tag_cents for job in plan.jobs)
    yield Paragraph(
        "Memory is need and offer per unit, after headroom."
        f"{' The tag is what the job adds to the proved bound over the horizon.' * tagged}"
        f"{_by_load(plan, shown)}",
        tone="faint",
    )

    def candidate(row: _Row) -> Candidate | None:
        return None if row[1] is None else plan.sizings[jobs[row[0]].sizing].candidates[row[1]]

    def once(cell: Callable[[int], Cell]) -> Callable[[_Row], Cell]:
        """Only in the first row of a job."""
        return lambda row: cell(row[0]) if row == first[row[0]] else ""

    def runs_on(row: _Row) -> str:
        one = candidate(row)
        if one is None:
            if there := on_apis_text(plan, jobs[row[0]].name):
                return f"API: {there}"
            return "dropped" if jobs[row[0]].name in dropped else "no unit in any quarter"
        return row[2]

    def gpu_memory(row: _Row, name: str) -> Cell:
        one = candidate(row)
        if one is None or not getattr(one, name):
            return "" if one is None else "–"
        stem = f"sizings[{jobs[row[0]].sizing}].candidates[{row[1]}]"
        offer = name == "gpu_capacity_mb"
        trace = "how-settings" if offer else traced.job_anchor[jobs[row[0]].name]
        return traced.at(f"{stem}.{name}", "gb", trace)

    def fill(row: _Row) -> Cell:
        one = candidate(row)
        if one is None or not (one.gpu_memory_mb and one.gpu_capacity_mb):
            return "" if one is None else "–"
        stem = f"sizings[{jobs[row[0]].sizing}].candidates[{row[1]}]"
        need, offer = (traced.read.at(f"{stem}.gpu_{name}_mb") for name in ("memory", "capacity"))
        return traced.figure(need / offer, "per_cent", traced.job_anchor[jobs[row[0]].name])

    def placed_on(row: _Row) -> str:
        one = candidate(row)
        return listed(sorted(where[jobs[row[0]].name, one.way])) if one else "–"

    dropped = {
        name
        for job in (plan.shortage.jobs if plan.shortage else ())
        if job.outcome == "dropped"
        for name in (job.name, job.deployment)
    }
    rows = list(_rows(plan, len(shown)))
    first = {row[0]: row for row in reversed(rows)}
    where = _placed_on(plan)
    sum_of_tags = traced.at("jobs[*].tag_cents", "usd", "how-proof")
    yield table(
        rows,
        ("Job", "text", once(traced.job)),
        ("Units", "number", once(lambda at: range_of(jobs[at].units))),
        ("A unit runs on", "text", runs_on),
        *columns_for((("Memory GB", "gpu_memory_mb"), ("Of", "gpu_capacity_mb")), gpu_memory),
        ("Fill", "number", fill),
        ("Placed on", "text", placed_on),
        (_TAG, "number", once(traced.each("jobs[{}].tag_cents", "usd", "how-proof"))),
        sums={"Job": "All jobs", _TAG: sum_of_tags} if tagged else {},
        without=[*(["Placed on"] * (not full)), *([_TAG] * (not tagged))],
    )
    tags = dollars(sum(job.tag_cents for job in jobs[most:]))
    yield from rest(len(jobs) - most, "job", f" with tags of {tags} USD, all of them in plan.json")
    if not full:
        yield from _derived(plan)


def _copies(candidate: Candidate, quarters: Sequence[int]) -> str:
    """`3 × 2`, and `1–3 × 2` where replicas follow the traffic of these quarters."""
    counts = [candidate.replicas_in(quarter) for quarter in quarters]
    told = copies_of(max(counts), candidate.gpus, candidate.prefill_gpus)
    return told if min(counts) == max(counts) else f"{min(counts):,}–{told}"


def _rows(plan: Plan, most: int) -> Iterator[_Row]:
    when = plan.quarters_by_way()
    for place, job in enumerate(plan.jobs[:most]):
        places = {one.way: at for at, one in enumerate(plan.sizings[job.sizing].candidates)}
        if not job.ways:
            yield place, None, ""
        for way, units in job.ways:
            labels = when.get(job.name, {}).get(way)
            in_use = [
                quarter
                for quarter, label in enumerate(plan.quarters)
                if job.units[quarter] and (labels is None or label in labels)
            ]
            one = plan.sizings[job.sizing].candidates[places[way]]
            told = f"{_copies(one, in_use)}× {taken(one)}"
            if len(job.ways) > 1:
                told += f" ({share_of(units, plan.quarters, labels)})"
            yield place, places[way], told


def _placed_on(plan: Plan) -> Mapping[tuple[str, str], set[str]]:
    """Entries of the fleet and offers, by job and execution mode."""
    entries = {node.id: node.entry for node in plan.nodes}
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for uses in plan.placements:
        for use in uses:
            for held in use.occupants:
                found[held.job, held.way].add(entries[use.node])
    return found


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


def _derived(plan: Plan) -> Iterator[Block]:
    by_rule: dict[str, list[str]] = {}
    for job in plan.jobs:
        if job.derived_from:
            told = f"{job.name} from {job.derived_from}"
            by_rule.setdefault(job.derived_by or "", []).append(told)
    lines = [
        f"Derived by rule {rule}: "
        + (listed(told) if len(told) <= _DERIVED_NAMED else count_of(len(told), "job"))
        + "."
        for rule, told in sorted(by_rule.items())
    ]
    if lines:
        yield Paragraph(" ".join(lines), tone="faint")


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
    own = [rule for rule in sorted(by_rule) if rule.startswith(("job.", "policies."))]
    found = table(
        [(rule, by_rule[rule]) for rule in sorted(by_rule) if rule not in own],
        ("Rule", "text", lambda row: row[0]),
        (
            "GPU types and jobs",
            "text",
            lambda row: ", ".join(
                f"{gpu} ({count_of(len(said), 'job')})" for gpu, said in sorted(row[1].items())
            ),
        ),
        ("For example", "text", lambda row: row[1][min(row[1])][0].message),
    )
    lines = [
        f"{rule}: the scenario keeps {count_of(concerned[rule], 'job')} off "
        f"{'some of ' if len(by_rule[rule]) > 1 else ''}{listed(sorted(by_rule[rule]))}"
        for rule in own
    ]
    return (*((found,) if found.rows else ()), *((Bullets(tuple(lines)),) if lines else ()))


def gpu_types_section(traced: TracedPlan) -> Iterator[Block]:
    """Why not the other GPU types: what a unit would add on each, and which rules stand against."""
    plan = traced.plan
    runs = Counter(gpu_type for job in plan.jobs for gpu_type, _ in job.gpu_types)
    extra: dict[str, list[tuple[int, str]]] = defaultdict(list)
    never: Counter[str] = Counter()
    for place, job in enumerate(plan.jobs):
        least: dict[str, tuple[int, str]] = {}
        against: set[str] = set()
        for at, one in enumerate(job.alternatives):
            if one.extra_cents is None:
                against.add(one.gpu_type)
                continue
            found = (one.extra_cents, f"jobs[{place}].alternatives[{at}].extra_cents")
            least[one.gpu_type] = min(least.get(one.gpu_type, found), found)
        for said in plan.sizings[job.sizing].rejections:
            against.add(said.gpu_type)
        taken = dict(job.gpu_types).keys()
        for gpu_type in least.keys() - taken:
            extra[gpu_type].append(least[gpu_type])
        never.update(against - least.keys() - taken)

    def cost(gpu_type: str, end: int) -> Cell:
        known = sorted(extra[gpu_type])
        return traced.at(known[end][1], "usd", "how-proof") if known else "–"

    yield table(
        sorted({*runs, *extra, *never}, key=lambda name: (-runs[name], name)),
        ("GPU type", "name", lambda name: name),
        ("Jobs on it", "number", lambda name: f"{runs[name]:,}"),
        ("Could be moved there", "number", lambda name: f"{len(extra[name]):,}"),
        ("A unit adds at least, USD", "number", lambda name: cost(name, 0)),
        ("At most, USD", "number", lambda name: cost(name, -1)),
        ("Cannot", "number", lambda name: f"{never[name]:,}"),
        caption="Jobs by GPU type: those that run on it, those that could be moved there with what "
        "a unit would add to the proved bound, and those that cannot",
    )


def demand_table(traced: TracedPlan) -> Table:
    """Units of each job by quarter."""
    plan = traced.plan
    caption = "Units asked for, by quarter: replicas of a model, or tuning jobs with all their runs"
    if len(plan.jobs) > _JOBS_SHOWN:
        caption += f"; the first {_JOBS_SHOWN:,} of {len(plan.jobs):,} jobs"
    return table(
        range(len(plan.jobs))[:_JOBS_SHOWN],
        ("Job", "text", traced.job),
        ("What it is", "text", lambda at: plan.sizings[plan.jobs[at].sizing].summary),
        ("Team", "text", lambda at: plan.jobs[at].team or "–"),
        *columns_for(
            ((plan.quarters[quarter], quarter) for quarter in traced.columns),
            lambda at, quarter: traced.figure(traced.asked(at, quarter), "count", "how-need"),
        ),
        caption=caption,
        without=() if any(job.team for job in plan.jobs) else ("Team",),
    )


def held_table(traced: TracedPlan) -> Table:
    """GPUs that each job holds, by quarter."""
    plan = traced.plan

    def gpus(at: int, quarter: int) -> Cell:
        known = traced.capacity.held(plan.jobs[at].name, quarter)
        return traced.figure(known, "count", "how-use")

    return table(
        range(len(plan.jobs))[:_JOBS_SHOWN],
        ("Job", "text", traced.job),
        *columns_for(((plan.quarters[quarter], quarter) for quarter in traced.columns), gpus),
        caption="GPUs that each job holds, by quarter"
        + (", shared ones counted for each" if some_share(plan) else ""),
    )


def stated_table(traced: TracedPlan) -> Iterator[Table]:
    """What the scenario says of jobs for readers: who answers for each, and why it is there."""
    told = [job for job in traced.plan.jobs if job.owner or job.benefit or job.if_not_met]
    columns = {"Owner": "owner", "Benefit": "benefit", "If it does not run": "if_not_met"}
    if told:
        yield table(
            told[:_JOBS_SHOWN],
            ("Job", "text", lambda job: job.name),
            *columns_for(
                columns.items(),
                lambda job, key: " ".join((getattr(job, key) or "–").split()),
                "text",
            ),
            caption="What the scenario says of jobs",
        )


def decisions_section(traced: TracedPlan) -> Iterator[Block]:
    """Each job with the sums that decided its GPUs, and what it would add on others.

    Jobs that are specified alike share the sums.
    """
    told: dict[tuple[str, str], str] = {}
    jobs = traced.plan.jobs
    yield Paragraph(
        "Each job with the sums that decided its GPUs, and what a unit on other GPUs would add to "
        "the bound, which fills nodes in fractions: where that is 0, no plan of whole nodes with "
        "it is cheaper by more than the gap. "
        f"{code('planner explain PLAN.json JOB')} writes every sum out with its sources.",
        tone="faint",
    )
    for place, job in enumerate(jobs[:_JOBS_SHOWN]):
        yield Fold(job.name, traced.job_anchor[job.name], tuple(_decision(traced, place, told)))
    yield from rest(len(jobs) - _JOBS_SHOWN, "job", ", all of them in plan.json")


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
    for one, *others in decided.values():
        yield table(
            deciding_steps(one),
            ("Result", "text", result_text),
            ("Sum", "text", lambda step: worked_text(step) or step.formula),
            ("Terms", "text", lambda step: ", ".join(given.name for given in step.inputs)),
            ("Rule", "text", lambda step: step.rule),
            caption=f"On {listed([other.way for other in (one, *others)])}, decided by "
            f"{one.decided_by}",
        )
    stem = f"jobs[{place}].alternatives"
    alike: dict[tuple[int | None, str], list[int]] = defaultdict(list)
    for at, other in enumerate(job.alternatives):
        if other.way not in dict(job.ways):
            why = other.reason if other.extra_cents is None else ""
            alike[other.extra_cents, why].append(at)

    def adds(places: list[int]) -> Cell:
        if job.alternatives[places[0]].extra_cents is None:
            return "–"
        return traced.at(f"{stem}[{places[0]}].extra_cents", "cents", "how-proof")

    if alike:
        yield table(
            alike.items(),
            ("Elsewhere", "text", lambda row: ", ".join(job.alternatives[at].way for at in row[1])),
            ("A unit adds, USD", "number", lambda row: adds(row[1])),
            (_WHY_NOT, "text", lambda row: row[0][1]),
            without=() if any(why for _, why in alike) else (_WHY_NOT,),
        )
