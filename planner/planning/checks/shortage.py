"""Who gives way may do so, is told so truly, and makes way for something."""

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
    asked = next((one.units for one in view.asked if one.name == job.name), ())
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
    asking = {job.derived_from or job.name for job in view.asked if any(job.units)}
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
    """Nobody is dropped, and no unit is short, who would fit GPUs that are free on nodes in use."""
    for short, shortage in _dropped(view):
        parts = [job for job in view.asked if view.short.get(job.name) == short]
        if _proved(shortage, short.priority) and _fit(view, parts):
            yield f"job {short.name} is dropped, but would fit GPUs that are free"
    yield from _units_that_fit(view)
    whose = "no job is dropped"
    if any(any(short.short) for short in view.short.values()):
        whose += ", and no unit short,"
    return whose + (" that would fit GPUs that are free" if view.short else "")


def _units_that_fit(view: View) -> Iterator[str]:
    """Units that are short beside free GPUs of the type on which they run in other quarters."""
    shortage = view.plan.shortage
    for job in view.asked:
        short = view.short.get(job.name)
        if short is None or shortage is None or not any(short.short):
            continue
        if not _proved(shortage, short.priority) or not _may_be_asked(view, [job]):
            continue
        for quarter, due in enumerate(view.due(job)):
            if view.units_short(job.name, quarter) and _unit_fits(view, job, quarter, due):
                told = f"{view.labels[quarter]}: a unit of {job.name} is short"
                yield f"{told}, but would fit GPUs that are free"


def _unit_fits(view: View, job: SizedJob, quarter: int, due: int) -> bool:
    """Whether some unit that is short in a quarter finds a place in the way that it keeps."""
    placed = {unit for name, unit, _ in view.seats[quarter] if name == job.name}
    short = {*range(1, due + 1)} - placed
    keeps = {
        frozenset(way for _, way in view.ways_of.get((job.name, unit), ()))
        for unit in (short if job.keeps_gpu_type else ())
    }
    return any(
        _seated(_free(view, quarter), job, candidate, _pieces(job, candidate, quarter))
        for candidate in _whole(view, job)
        if not keeps or any(not ways or candidate.way in ways for ways in keeps)
    )


def _pieces(job: SizedJob, candidate: Candidate, quarter: int) -> int:
    """What one unit is placed in."""
    held = candidate.planned_hours is None
    return candidate.replicas_in(quarter) if held else job.runs


def _dropped(view: View) -> Iterator[tuple[ShortJob, Shortage]]:
    shortage = view.plan.shortage
    if shortage is not None:
        yield from ((job, shortage) for job in shortage.jobs if job.outcome == "dropped")


def _proved(shortage: Shortage, priority: int) -> bool:
    return all(use.proved for use in shortage.priorities if use.priority >= priority)


def _fit(view: View, parts: list[SizedJob]) -> bool:
    """Whether first-fit finds each unit a place, quarter by quarter, on one GPU type each.

    Where quotas, reserves or pins might stand against it, it is not asked; nor of parts of GPUs.
    """
    if not _may_be_asked(view, parts):
        return False
    free = [_free(view, quarter) for quarter in range(len(view.labels))]
    return all(
        any(_placed(free, job, candidate) for candidate in _whole(view, job)) for job in parts
    )


def _may_be_asked(view: View, parts: list[SizedJob]) -> bool:
    """Whether neither a quota nor a pin of running units might keep these from free GPUs."""
    scenario = view.inputs.scenario
    names = {job.name for job in parts}
    pinned = {one.job for one in scenario.running if one.pinned or scenario.jobs[one.job].pinned}
    return not (names & pinned or any(job.team in scenario.teams for job in parts))


def _whole(view: View, job: SizedJob) -> list[Candidate]:
    """Ways to run on whole GPUs of which none are kept free."""
    kept_free = view.inputs.scenario.policies.growth_reserve
    return [
        one
        for one in job.sizing.candidates
        if one.gpu_type not in kept_free and not one.partition and not one.shared_mb
    ]


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
    trial = [[(node, list(room)) for node, room in rooms] for rooms in free]
    for quarter, (rooms, units) in enumerate(zip(trial, job.units, strict=True)):
        if not _seated(rooms, job, candidate, units * _pieces(job, candidate, quarter)):
            return False
    free[:] = trial
    return True


def _seated(
    rooms: list[tuple[Node, list[int]]], job: SizedJob, candidate: Candidate, pieces: int
) -> bool:
    """Take the room of one quarter, piece by piece; False where some piece finds none."""
    needs = (candidate.gpus, candidate.cpus, candidate.memory_mb)
    may = [
        room
        for node, room in rooms
        if node.gpu_type == candidate.gpu_type and (not job.sites or node.site in job.sites)
    ]
    for _ in range(pieces):
        enough = (one for one in may if all(n <= left for n, left in zip(needs, one, strict=True)))
        room = next(enough, None)
        if room is None:
            return False
        room[:] = [left - need for left, need in zip(room, needs, strict=True)]
    return True


def _rights(view: View) -> Findings:
    yield from _listed(view)
    yield from _counted(view)
    yield from _order(view)
    shortage = view.plan.shortage
    if shortage is None:
        return "every job is kept as asked"
    dropped = sum(job.outcome == "dropped" for job in shortage.jobs)
    delayed = sum(job.delay_quarters > 0 for job in shortage.jobs)
    units = sum(sum(job.short) for job in shortage.jobs)
    short = f", and {count_of(units, 'unit')} (job × quarter) short as they may be" if units else ""
    return (
        f"{count_of(dropped, 'job')} dropped, none of them required or kept from its place by a "
        f"less important one like it, and {count_of(delayed, 'job')} delayed as far as it may slip"
        f"{short}"
    )


FIRST = (_rights,)
"""What the others rely on: which units are due when."""

CHECKS = (_room,)
