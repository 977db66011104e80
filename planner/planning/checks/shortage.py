"""Who gives way may do so, and is told so truly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from planner.inputs.text import count_of
from planner.planning.checks.view import Findings, View, differences
from planner.planning.plan import ShortJob


def _listed(view: View) -> Iterator[str]:
    """Each is a job of the scenario, once, and gives way no further than it may."""
    shortage, stated = view.plan.shortage, view.inputs.scenario.jobs
    if shortage is None:
        return
    if view.inputs.scenario.policies.shortage != "drop":
        yield "jobs give way, though policies.shortage refuses that"
    for name, times in Counter(job.name for job in shortage.jobs).items():
        if times > 1:
            yield f"job {name} gives way {times} times"
    order = [(-job.priority, job.name) for job in shortage.jobs]
    yield from differences("the order of who gives way", order, sorted(order))
    for job in shortage.jobs:
        if job.name not in stated:
            yield f"job {job.name} is {job.outcome}, but the scenario has none such"
            continue
        yield from _allowed(view, job)


def _allowed(view: View, job: ShortJob) -> Iterator[str]:
    stated = view.inputs.scenario.jobs[job.name]
    asked = next((view.arriving(one) for one in view.asked if one.name == job.name), ())
    derived = next((one.name for one in view.asked if one.derived_from == job.name), None)
    yield from differences(f"job {job.name}: its priority", job.priority, stated.priority)
    yield from differences(f"job {job.name}: units asked for", job.asked, asked)
    yield from differences(f"job {job.name}: its deployment", job.deployment, derived)
    if job.outcome == "dropped":
        if stated.required:
            yield f"job {job.name} is required, but dropped"
        yield from differences(f"job {job.name}: delay, dropped", job.delay_quarters, 0)
        yield from differences(f"job {job.name}: units short, dropped", any(job.short), False)
    elif job.outcome == "short":
        yield from differences(f"job {job.name}: delay, on time", job.delay_quarters, 0)
        yield from differences(f"job {job.name}: units short", any(job.short), True)
    elif not 1 <= job.delay_quarters <= stated.may_slip_quarters:
        yield (
            f"job {job.name} is delayed by {count_of(job.delay_quarters, 'quarter')}, "
            f"it may slip by {stated.may_slip_quarters}"
        )
    elif not any(asked[: len(asked) - job.delay_quarters]):
        yield f"job {job.name} is delayed beyond the horizon"
    yield from _units_allowed(view, job)


def _units_allowed(view: View, job: ShortJob) -> Iterator[str]:
    """No more units are short in a quarter than may be, and than there are."""
    if not job.short:
        return
    may = view.inputs.scenario.jobs[job.name].droppable
    due = next((view.due(one) for one in view.asked if one.name == job.name), ())
    yield from differences(f"job {job.name}: quarters of units short", len(job.short), len(due))
    for label, short, units in zip(view.labels, job.short, due, strict=False):
        most = units if may == "all" else min(may or 0, units)
        if not 0 <= short <= most:
            yield f"{label}: {count_of(short, 'unit')} of {job.name} short, {most:,} may be"


def _counted(view: View) -> Iterator[str]:
    shortage, stated = view.plan.shortage, view.inputs.scenario.jobs
    if shortage is None:
        return
    asking = {job.root for job in view.asked if any(job.units)}
    jobs = Counter(stated[name].priority for name in asking)
    counts = {
        outcome: Counter(job.priority for job in shortage.jobs if job.outcome == outcome)
        for outcome in ("dropped", "delayed", "short")
    }
    units: Counter[int] = Counter()
    for job in shortage.jobs:
        units[job.priority] += sum(job.short)
    listed = [
        (use.priority, use.jobs, use.dropped, use.delayed, use.short, use.units_short)
        for use in shortage.priorities
    ]
    expected = [
        (priority, jobs[priority], *(one[priority] for one in counts.values()), units[priority])
        for priority in sorted(jobs, reverse=True)
    ]
    what = "(priority, jobs, dropped, delayed, short, units short)"
    yield from differences(what, listed, expected)
    proof = view.plan.proof
    if proof.status == "proved" and not shortage.proves(proof.cost_cents, proof.asked_gap):
        yield "the status is proved, but not that nobody gives way without need"


def _rights(view: View) -> Findings:
    yield from _listed(view)
    yield from _counted(view)
    shortage = view.plan.shortage
    if shortage is None:
        return "every job is kept as asked"
    dropped = sum(job.outcome == "dropped" for job in shortage.jobs)
    delayed = sum(job.delay_quarters > 0 for job in shortage.jobs)
    units = sum(sum(job.short) for job in shortage.jobs)
    short = f", and {count_of(units, 'unit')} (job × quarter) short as they may be" if units else ""
    return (
        f"{count_of(dropped, 'job')} dropped, none of them required, and "
        f"{count_of(delayed, 'job')} delayed as far as it may slip{short}"
    )


FIRST = (_rights,)
"""What all others rely on: which units are due when."""
