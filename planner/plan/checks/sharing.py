"""Runs keep to their hours, and who takes a part of a GPU may take just this part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.inputs.scenario.quarter import RUN_HOURS, Quarter
from planner.inputs.text.words import count_of
from planner.plan.checks.view import Check, View
from planner.plan.words import moment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.scenario.job import Job
    from planner.inputs.scenario.run import Run
    from planner.plan.plan import Node, Occupant
    from planner.sizing.candidate import Candidate

__all__ = ["CHECKS"]


def _seated(view: View) -> Iterator[tuple[Quarter, str, str, list[tuple[Node, Occupant]]]]:
    """Each piece: its quarter, what to call it there, its job, and its nodes."""
    for quarter, seats in zip(view.quarters, view.seats, strict=True):
        for (job, unit, replica), places in seats.items():
            kind = "replica" if places[0][1].hours is None else "run"
            which = f"unit {unit}" if replica == 1 else f"{kind} {replica} of unit {unit}"
            yield quarter, f"{quarter}: {which} of {job}", job, places


def _stated(view: View, job: str) -> Job | None:
    """As the scenario has it; None for a deployment, which is always on."""
    return view.inputs.scenario.jobs.get(job)


def _runs(view: View) -> Iterator[str]:
    for quarter, what, job, places in _seated(view):
        node, first = places[0]
        if any(one.hours != first.hours for _, one in places):
            yield f"{what} is not on all of its nodes at the same hours"
        candidate = view.candidate(job, node, first)
        if candidate is None:
            continue
        stated = _stated(view, job)
        run = stated.run if stated else None
        window = _window(run)
        for fault in _timed(quarter, candidate.planned_hours, first.hours, window):
            yield f"{what} {fault}"


def _window(run: Run | None) -> tuple[int, int]:
    """From when to when a run may be, in hours of its quarter."""
    if run is None:
        return 0, RUN_HOURS
    hours = []
    for at, more in ((run.release, 0), (run.deadline, 1)):
        if isinstance(at, int):
            hours.append((at - 1 + more) * 7 * 24)
        else:
            hours.append(((at - Quarter.of(at).start).days + more) * 24)
    return hours[0], min(hours[1], RUN_HOURS)


def _timed(
    quarter: Quarter, needed: int | None, held: tuple[int, int] | None, window: tuple[int, int]
) -> Iterator[str]:
    """What is wrong with the hours of a run."""
    if needed is None:
        if held is not None:
            yield f"holds its GPUs for {held[1] - held[0]:,} h, it needs them all quarter"
        return
    start, end = held or (0, RUN_HOURS)
    if end - start != needed:
        yield f"runs for {end - start:,} h, it needs {needed:,}"
    if start < window[0]:
        yield f"starts on {moment(quarter, start)}, its release is {moment(quarter, window[0])}"
    if end > window[1]:
        yield f"ends on {moment(quarter, end)}, its deadline is {moment(quarter, window[1])}"


def _parts(view: View) -> Iterator[str]:
    for _, what, job, places in _seated(view):
        node, one = places[0]
        candidate = view.candidate(job, node, one)
        if candidate is not None:
            yield from _as_sized(what, candidate, one)
        if one.part is not None:
            yield from _allowed(view, what, job, one)


def _as_sized(what: str, candidate: Candidate, one: Occupant) -> Iterator[str]:
    """The partition or the memory of its sizing, and whole GPUs where that has neither."""
    part = one.part
    if part is None:
        if candidate.partition or candidate.shared_mb:
            yield f"{what} holds a whole GPU, its way to run takes a part: {candidate.way}"
        return
    if part.profile != candidate.partition:
        found, wanted = part.profile or "memory", candidate.partition or "no partition"
        yield f"{what} is on {found}, its way to run takes {wanted}: {candidate.way}"
    elif part.profile is None and part.taken != candidate.shared_mb:
        yield f"{what} takes {part.taken:,} MB of a GPU, it needs {candidate.shared_mb:,}"
    if part.profile is None and part.of > candidate.gpu_capacity_mb:
        yield (
            f"{what} counts on {part.of:,} MB of a GPU, that offers it "
            f"{candidate.gpu_capacity_mb:,}"
        )


def _allowed(view: View, what: str, job: str, one: Occupant) -> Iterator[str]:
    policies, sized, stated = view.inputs.scenario.policies, view.sized.get(job), _stated(view, job)
    if sized is None or sized.kind != "serve":
        yield f"{what} takes a part of a GPU, which only serving jobs may"
    if stated and stated.serve and stated.serve.whole_gpu:
        yield f"{what} takes a part of a GPU, but asks for whole ones"
    if one.hours is not None:
        yield f"{what} takes a part of a GPU for some hours, parts are held all quarter"
    if one.part and one.part.profile is not None and policies.mig == "never":
        yield f"{what} is on a partition, which policies.mig forbids"
    if one.part and one.part.profile is None and not policies.shared_gpus:
        yield f"{what} shares a GPU, which policies.shared_gpus forbids"


def _mixed(view: View) -> Iterator[str]:
    if view.inputs.scenario.policies.mig != "own-node":
        return
    for label, node, occupants in view.uses():
        partitioned = [one.job for one in occupants if one.part and one.part.profile is not None]
        others = [one.job for one in occupants if not (one.part and one.part.profile is not None)]
        if partitioned and others:
            yield (
                f"{label}: {node.id} is partitioned for {partitioned[0]} and holds {others[0]}, "
                "which has no partition: policies.mig is own-node"
            )


def _confirm_runs(view: View) -> str:
    runs = sum(bool(places[0][1].hours) for *_, places in _seated(view))
    if not runs:
        return "every unit holds its GPUs all quarter"
    return (
        f"{count_of(runs, 'run')}: long enough, between release and deadline, and not moved "
        "meanwhile"
    )


def _confirm_parts(view: View) -> str:
    parts = sum(bool(places[0][1].part) for *_, places in _seated(view))
    if not parts:
        return "every unit has whole GPUs"
    return (
        f"{count_of(parts, 'part')} of GPUs are held, by serving jobs alone, as their sizing says"
    )


def _confirm_mixed(view: View) -> str:
    if view.inputs.scenario.policies.mig != "own-node":
        return "no policy keeps partitioned GPUs on nodes of their own"
    return "nodes with partitioned GPUs hold nothing else"


CHECKS = (
    Check(_runs, _confirm_runs),
    Check(_parts, _confirm_parts),
    Check(_mixed, _confirm_mixed),
)
