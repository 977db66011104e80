"""Who is dropped or delayed may be, is told so truly, and makes way for something."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from planner.inputs.text.words import count_of
from planner.planning.checks.view import View, differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.planning.checks.view import Findings
    from planner.planning.plan import Node, Shortage, ShortJob
    from planner.sizing.candidate import Candidate, SizedJob

__all__ = ["CHECKS", "FIRST"]


def _listed(view: View) -> Iterator[str]:
    """Each is a job of the scenario, once, and gives way no further than it may."""
    shortage, stated = view.plan.shortage, view.inputs.scenario.jobs
    if shortage is None:
        return
    if view.inputs.scenario.policies.shortage != "drop":
        yield "jobs are dropped or delayed, though policies.shortage refuses that"
    for name, times in Counter(job.name for job in shortage.jobs).items():
        if times > 1:
            yield f"job {name} is dropped or delayed {times} times"
    order = [(-job.priority, job.name) for job in shortage.jobs]
    yield from differences("the order of who gives way", order, sorted(order))
    for job in shortage.jobs:
        if job.name not in stated:
            yield f"job {job.name} is {job.outcome}, but the scenario has none such"
            continue
        yield from _allowed(view, job)


def _allowed(view: View, job: ShortJob) -> Iterator[str]:
    stated = view.inputs.scenario.jobs[job.name]
    asked = next((one.units for one in view.asked if one.name == job.name), ())
    derived = next((one.name for one in view.asked if one.derived_from == job.name), None)
    yield from differences(f"job {job.name}: its priority", job.priority, stated.priority)
    yield from differences(f"job {job.name}: units asked for", job.asked, asked)
    yield from differences(f"job {job.name}: its deployment", job.deployment, derived)
    if job.outcome == "dropped":
        if stated.required:
            yield f"job {job.name} is required, but dropped"
        yield from differences(f"job {job.name}: delay, dropped", job.delay_quarters, 0)
    elif not 1 <= job.delay_quarters <= stated.may_slip_quarters:
        yield (
            f"job {job.name} is delayed by {count_of(job.delay_quarters, 'quarter')}, "
            f"it may slip by {stated.may_slip_quarters}"
        )
    elif not any(asked[: len(asked) - job.delay_quarters]):
        yield f"job {job.name} is delayed beyond the horizon"


def _counted(view: View) -> Iterator[str]:
    shortage, stated = view.plan.shortage, view.inputs.scenario.jobs
    if shortage is None:
        return
    asking = {job.derived_from or job.name for job in view.asked if any(job.units)}
    jobs = Counter(stated[name].priority for name in asking)
    counts = {
        outcome: Counter(job.priority for job in shortage.jobs if job.outcome == outcome)
        for outcome in ("dropped", "delayed")
    }
    listed = [(use.priority, use.jobs, use.dropped, use.delayed) for use in shortage.priorities]
    expected = [
        (priority, jobs[priority], counts["dropped"][priority], counts["delayed"][priority])
        for priority in sorted(jobs, reverse=True)
    ]
    yield from differences("(priority, jobs, dropped, delayed)", listed, expected)
    proof = view.plan.proof
    if proof.status == "proved" and not shortage.proves(proof.cost_cents, proof.asked_gap):
        yield "the status is proved, but not that nobody gives way without need"


def _order(view: View) -> Iterator[str]:
    """Nobody is kept in the place of a more important job that asks for just the same."""
    stated = view.inputs.scenario.jobs
    for job, shortage in _dropped(view):
        mine = _asks(view, job.name)
        for name, other in stated.items():
            if (
                other.priority < job.priority
                and not other.required
                and name not in view.short
                and _asks(view, name) == mine
                and _proved(shortage, job.priority)
            ):
                yield (
                    f"job {job.name} of priority {job.priority} is dropped, but {name} of "
                    f"priority {other.priority}, which asks for the same, is kept"
                )


def _asks(view: View, name: str) -> list[tuple[object, ...]]:
    mine = (job for job in view.asked if name in (job.name, job.derived_from))
    return sorted((job.sizing.id, job.units, job.sites, job.team or "") for job in mine)


def _room(view: View) -> Findings:
    """Nobody is dropped who would fit the GPUs that are free on nodes in use."""
    for short, shortage in _dropped(view):
        parts = [job for job in view.asked if view.short.get(job.name) == short]
        if _proved(shortage, short.priority) and _fit(view, parts):
            yield f"job {short.name} is dropped, but would fit GPUs that are free"
    return "no job is dropped" + (" that would fit GPUs that are free" if view.short else "")


def _dropped(view: View) -> Iterator[tuple[ShortJob, Shortage]]:
    shortage = view.plan.shortage
    if shortage is not None:
        yield from ((job, shortage) for job in shortage.jobs if job.outcome == "dropped")


def _proved(shortage: Shortage, priority: int) -> bool:
    return all(use.proved for use in shortage.priorities if use.priority >= priority)


def _fit(view: View, parts: list[SizedJob]) -> bool:
    """Whether first-fit finds each unit a place, quarter by quarter, on one GPU type each.

    Where quotas or reserves might stand against it, it is not asked; nor of parts of GPUs.
    """
    kept_free = view.inputs.scenario.policies.growth_reserve
    if any(job.team in view.inputs.scenario.teams for job in parts):
        return False
    free = [_free(view, quarter) for quarter in range(len(view.labels))]
    for job in parts:
        candidates = [
            one
            for one in job.sizing.candidates
            if one.gpu_type not in kept_free and not one.partition and not one.shared_mb
        ]
        if not any(_placed(free, job, candidate) for candidate in candidates):
            return False
    return True


def _free(view: View, quarter: int) -> list[tuple[Node, list[int]]]:
    """Nodes in use with their free GPUs, cores and MB; empty ones may have to stay empty.

    Nodes with GPUs in parts are left out: whole GPUs may not be allowed beside them.
    """
    found = []
    for use in view.plan.placements[quarter]:
        if any(occupant.part for occupant in use.occupants):
            continue
        node = view.nodes[use.node]
        if node.hours:
            continue
        held = {gpu for occupant in use.occupants for gpu in occupant.gpus}
        cpus = node.cpus - sum(occupant.cpus for occupant in use.occupants)
        memory_mb = node.memory_mb - sum(occupant.memory_mb for occupant in use.occupants)
        found.append((node, [node.gpus - len(held), cpus, memory_mb]))
    return found


def _placed(free: list[list[tuple[Node, list[int]]]], job: SizedJob, candidate: Candidate) -> bool:
    """Take the room from `free` if every piece finds some."""
    needs = (candidate.gpus, candidate.cpus, candidate.memory_mb)
    trial = [[(node, list(room)) for node, room in rooms] for rooms in free]
    for quarter, (rooms, units) in enumerate(zip(trial, job.units, strict=True)):
        held = candidate.planned_hours is None
        pieces = candidate.replicas_in(quarter) if held else job.runs
        may = [
            room
            for node, room in rooms
            if node.gpu_type == candidate.gpu_type and (not job.sites or node.site in job.sites)
        ]
        for _ in range(units * pieces):
            enough = (
                one for one in may if all(n <= left for n, left in zip(needs, one, strict=True))
            )
            room = next(enough, None)
            if room is None:
                return False
            room[:] = [left - need for left, need in zip(room, needs, strict=True)]
    free[:] = trial
    return True


def _rights(view: View) -> Findings:
    yield from _listed(view)
    yield from _counted(view)
    yield from _order(view)
    shortage = view.plan.shortage
    if shortage is None:
        return "every job is kept as asked"
    dropped = sum(job.outcome == "dropped" for job in shortage.jobs)
    delayed = len(shortage.jobs) - dropped
    return (
        f"{count_of(dropped, 'job')} dropped, none of them required or kept from its place by a "
        f"less important one like it, and {count_of(delayed, 'job')} delayed as far as it may slip"
    )


FIRST = (_rights,)
"""What the others rely on: which units are due when."""

CHECKS = (_room,)
