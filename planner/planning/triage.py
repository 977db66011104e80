"""Decides which jobs are kept if not all fit, and what it would take to keep the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from planner.errors import InfeasibleError, LimitError
from planner.inputs.settled import Inputs
from planner.packing import solve, translate
from planner.packing.crosscheck import Assertion, require_agreement, second_opinions
from planner.packing.incumbent import Infeasible
from planner.packing.nowhere import claims_of
from planner.packing.search import NodeCounts
from planner.packing.triage import Step, Triage, triage
from planner.packing.work import spent
from planner.planning.assemble import Request, second_opinion
from planner.planning.plan import PriorityUse, ProvedStep, Shortage, ShortJob
from planner.planning.words import some_of
from planner.sizing.candidate import SizedJob

_NAMED = 6
_TIME_S = 10.0
"""Seconds of work for all remedies of one job."""
_UNKNOWN = "what keeps it from fitting could not be told within the time"
_FITS = "it would fit, but the triage ended at its time limit before that was found"

Jobs = tuple[SizedJob, ...]
Unfit = Mapping[str, tuple[str, tuple[str, ...]]]
"""Jobs of the scenario that no node in play can run: why, and what would help each."""


def roots(jobs: Collection[SizedJob]) -> frozenset[str]:
    """Return the jobs of the scenario that these are, or are derived from."""
    return frozenset(job.root for job in jobs)


def give_way(
    request: Request, jobs: Jobs, unfit: Unfit, *, explain: bool
) -> tuple[Jobs, Shortage, NodeCounts]:
    """Return the jobs as they are kept, with the ones that give way named and explained.

    The last item is the nodes, by supply and entry quarter, on which the kept jobs are known to
    run. Each step of the triage, and all remedies together, have a share of the time; callers
    that want no explanation get none. With `crosscheck`, each proved step is put to other
    solvers for as long. Raises InfeasibleError if the required jobs alone do not fit, and
    DisagreementError if another solver refutes that or a step.
    """
    inputs, time_limit_s, progress = request.inputs, request.time_limit_s, request.progress
    fit = tuple(job for job in jobs if job.root not in unfit)
    problem, claims = claims_of(inputs, fit)
    ask = partial(second_opinions, time_limit_s=time_limit_s, progress=progress)
    try:
        found = triage(
            problem,
            claims,
            asked_gap=request.asked_gap,
            time_limit_s=time_limit_s,
            progress=lambda step: progress(f"triage: {step}"),
            ask=ask if request.crosscheck else None,
        )
    except Infeasible as proved:
        if request.crosscheck:
            require_agreement(ask, Assertion.none(proved))
        raise _required_alone(inputs, fit, time_limit_s) from None
    found = replace(found, delays={**found.delays, **dict.fromkeys(unfit)})
    kept = tuple(_as_kept(job, found) for job in jobs)
    deadline = spent()
    if explain:
        progress("asking what would keep the others")
        deadline += time_limit_s
    short = tuple(_explained(inputs, jobs, kept, found, unfit, deadline))
    shortage = Shortage(
        priorities=tuple(_priorities(inputs, jobs, short, found)),
        jobs=short,
        bound_cents=found.bound_cents,
        steps=tuple(map(_proved_step, found.confirmed)),
    )
    return kept, shortage, found.nodes


def _proved_step(step: Step) -> ProvedStep:
    opinions = (second_opinion(one, of_cost=not step.counted) for one in step.opinions)
    return ProvedStep(counted=step.counted, least=step.least, second_opinions=tuple(opinions))


def _as_kept(job: SizedJob, found: Triage) -> SizedJob:
    delay = found.delays.get(job.root, 0)
    if delay is None:
        return job.dropped()
    kept = job.later(delay)
    return kept.without(found.short[job.name]) if job.name in found.short else kept


def _required_alone(inputs: Inputs, jobs: Jobs, time_limit_s: float) -> InfeasibleError:
    """Explain why the required jobs do not fit, as if there were no others."""
    stated = inputs.scenario.jobs
    required = tuple(job for job in jobs if stated[job.root].required)
    names = some_of(sorted(roots(required)), _NAMED)
    told = f"the required jobs alone are asked for here: {names or 'there are none'}"
    late = any(stated[name].may_slip_quarters for name in roots(required))
    told += ", and none of them fits later either" if late else ""
    try:
        solve(translate(inputs, required), asked_gap=1.0, time_limit_s=time_limit_s)
    except InfeasibleError as why:
        headline = f"no plan exists: even for the required jobs alone, {why.cause}"
        return InfeasibleError(headline, (told, *why.reasons), why.remedies)
    raise LimitError("no plan for the required jobs was found before the time limit")


def _explained(
    inputs: Inputs, jobs: Jobs, kept: Jobs, found: Triage, unfit: Unfit, deadline: float
) -> Iterator[ShortJob]:
    """Explain each job that gives way, beside all that is kept, the most important first."""
    stated = inputs.scenario.jobs
    known: dict[object, tuple[str, str, tuple[str, ...]]] = {}
    names = {name for name, delay in found.delays.items() if delay != 0} | {*found.short}
    for name in sorted(names, key=lambda name: (-stated[name].priority, name)):
        delay, absent = found.delays.get(name, 0), found.short.get(name, ())
        asked = tuple(job for job in jobs if job.root == name)
        # Jobs that ask for the same lack the same, whatever they are called.
        alike = (delay, absent, *((job.sizing.id, job.units, job.sites, job.team) for job in asked))
        if name in unfit:
            known[alike] = name, *unfit[name]
        if alike not in known:
            pairs = tuple(zip(jobs, kept, strict=True))
            beside = tuple(before if before in asked else now for before, now in pairs)
            lacking = None
            if absent:  # what these lack alone tells the quarters apart
                alone = tuple(now.absentees() for before, now in pairs if before in asked)
                lacking = _lacking(inputs, (*kept, *alone), min(_TIME_S, deadline - spent()))
            if lacking is None or lacking[0] == _FITS:
                lacking = _lacking(inputs, beside, min(_TIME_S, deadline - spent()))
            known[alike] = name, *lacking
        first, cause, remedies = known[alike]
        yield ShortJob(
            name=name,
            deployment=next((job.name for job in asked if job.derived_from), None),
            priority=stated[name].priority,
            outcome="dropped" if delay is None else "delayed" if delay else "short",
            delay_quarters=delay or 0,
            asked=next((job.endpoints() for job in asked if job.name == name), ()),
            short=tuple(len(units) for units in absent),
            cause=cause,
            remedies=tuple(_own(remedies, first, name, delay)),
        )


def _own(remedies: tuple[str, ...], first: str, name: str, delay: int | None) -> Iterator[str]:
    """Turn the remedies of a job into those of another that is alike.

    Starting later keeps no date.
    """
    later = f"start {first} "
    for one in remedies:
        if not one.startswith(later):
            yield one
        elif delay is None:
            yield f"start {name} {one.removeprefix(later)}"


def _lacking(inputs: Inputs, jobs: Jobs, time_limit_s: float) -> tuple[str, tuple[str, ...]]:
    """Explain why these jobs do not all fit, and what would help."""
    if time_limit_s <= 0:
        return _UNKNOWN, ()
    try:
        solve(translate(inputs, jobs), asked_gap=1.0, time_limit_s=time_limit_s)
    except InfeasibleError as why:
        return why.cause, why.remedies
    except LimitError:
        return _UNKNOWN, ()
    return _FITS, ()


def _priorities(
    inputs: Inputs, jobs: Jobs, short: Sequence[ShortJob], found: Triage
) -> Iterator[PriorityUse]:
    stated = inputs.scenario.jobs
    asking = [stated[name] for name in roots([job for job in jobs if any(job.units)])]
    proved = {level.priority: level.proved for level in found.levels}
    for priority in sorted({job.priority for job in asking}, reverse=True):
        mine = [job for job in short if job.priority == priority]
        outcomes = Counter(job.outcome for job in mine)
        yield PriorityUse(
            priority=priority,
            jobs=sum(job.priority == priority for job in asking),
            dropped=outcomes["dropped"],
            delayed=outcomes["delayed"],
            proved=proved.get(priority, True),
            short=outcomes["short"],
            units_short=sum(sum(job.short) for job in mine),
        )
