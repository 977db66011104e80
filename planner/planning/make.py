"""Makes plans: sizes, packs, assembles, prices and checks; no unchecked plan gets out.

If not all jobs fit, decides which are kept, and says what it would take to keep the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from planner.errors import InfeasibleError, LimitError
from planner.inputs.scenario.scenario import NO_SITE
from planner.inputs.settled import Inputs
from planner.inputs.text import some_of
from planner.packing import Solution, Translation, solve, translate
from planner.packing.crosscheck import Assertion, require_agreement, second_opinions
from planner.packing.incumbent import Incumbent, Infeasible
from planner.packing.nowhere import claims_of, solved_with_apis
from planner.packing.triage import Triage, triage
from planner.packing.work import guarded, spent
from planner.planning.assemble import Request, SolvedPortfolio, checked_plan
from planner.planning.choices import ChoicePrices, other_types
from planner.planning.doubtful import limiting_figures
from planner.planning.jobs import remedies, require_eligible, stuck_jobs
from planner.planning.notes import doubts_of_jobs
from planner.planning.plan import Note, Plan, PriorityUse, Shortage, ShortJob
from planner.sizing.candidate import SizedJob
from planner.sizing.sizers import Sizers, size_portfolio
from planner.version import GAP, TIME_LIMIT_SECONDS

_LEAST_ASKED_S = 2.0
"""The least seconds of work for near misses, even after a short search."""


_NAMED = 6
_TIME_S = 10.0
"""Seconds of work for all remedies of one job."""
_UNKNOWN = "what keeps it from fitting could not be told within the time"
_FITS = "it would fit, but the triage ended at its time limit before that was found"

SizedJobs = tuple[SizedJob, ...]
Unfit = Mapping[str, tuple[str, tuple[str, ...]]]
"""Jobs of the scenario that no node in play can run: why, and what would help each."""


def make_plan(
    inputs: Inputs,
    *,
    asked_gap: float = GAP,
    time_limit_s: float = TIME_LIMIT_SECONDS,
    crosscheck: bool = False,
    progress: Callable[[str], None] | None = None,
    sizers: Sizers | None = None,
    price_choices: bool = True,
    watch: Callable[[Translation, Incumbent], None] | None = None,
) -> Plan:
    """Make a checked plan of least net present cost.

    `asked_gap` is the relative gap that counts as proved. `time_limit_s` is in seconds of work as a
    usual machine does it, so that load changes no plan; after ten times as many seconds of the
    clock the search ends in any case, and the plan says so. With `crosscheck`, other solvers are
    asked for the bound again. Callers that plan many variants pass the `sizers` of all of them, and
    save time without `price_choices`: what spare nodes cost, as far as the search
    leaves time, and why jobs give way. `watch` is called with the search.

    Raises InfeasibleError if no plan exists, LimitError if time ends before one is found,
    CheckError if the independent check disagrees, and DisagreementError if another solver does.
    """
    say = progress or (lambda _: None)
    request = Request(inputs, sizers or Sizers(), asked_gap, time_limit_s, crosscheck, say, watch)
    with guarded(time_limit_s) as clock:
        say("sizing jobs")
        jobs = request.sizers.portfolio(inputs)
        begun = spent()
        try:
            solved = _solved(request, jobs, explain=price_choices)
        except InfeasibleError as why:
            raise _with_doubts(why, inputs, jobs) from None
        searched_s = spent() - begun
        plan = checked_plan(request, solved)
        if price_choices:
            choices = ChoicePrices(request, solved, begun + time_limit_s)
            plan = plan.model_copy(update=choices.prices(plan))
            say("asking what small changes would save")
            misses = tuple(choices.near_misses(plan, max(searched_s, _LEAST_ASKED_S)))
            plan = plan.model_copy(update={"near_misses": misses})
    return _ended_by_clock(plan) if clock.ended else plan


def _with_doubts(why: InfeasibleError, inputs: Inputs, jobs: Sequence[SizedJob]) -> InfeasibleError:
    """Add figures that may be slips, and what an earlier plan ordered, to the reasons."""
    lacking = [job for job in jobs if job.name in why.lacking]
    notes = (*limiting_figures(inputs), *doubts_of_jobs(lacking))
    doubts = ((note.text, note.origin) for note in notes)
    looks = tuple(
        f"worth a second look: {text} ({origin})"
        for text, origin in (*doubts, *(one for one in inputs.since_earlier if one[1] == "fleet"))
    )
    return InfeasibleError(why.headline, (*why.reasons, *looks), why.remedies, why.lacking)


def _ended_by_clock(plan: Plan) -> Plan:
    """Return the plan with a note that another run may find a better one."""
    late = Note(
        text="the search was ended by the clock, before its work was done: on a less busy machine, "
        "or with a higher --time-limit, the same scenario may be planned further",
        origin="solver",
    )
    ended = plan.provenance.model_copy(update={"guard_ended": True})
    return plan.model_copy(update={"provenance": ended, "warnings": (late, *plan.warnings)})


def _solved(request: Request, jobs: tuple[SizedJob, ...], *, explain: bool) -> SolvedPortfolio:
    """Solve for all jobs; if they do not fit and may give way, for those that are kept."""
    unfit = _unfit(request, jobs)
    if request.inputs.scenario.policies.shortage == "refuse":
        try:
            return _with_apis(request, jobs, request.solve)
        except InfeasibleError as why:
            request.progress("asking whether other GPU types would do")
            others = other_types(request.inputs, why.lacking, request.sizers)
            remedied = (*why.remedies, *others)
            raise InfeasibleError(why.headline, why.reasons, remedied, why.lacking) from None
    if not unfit:
        with suppress(Infeasible, LimitError):
            return _with_apis(request, jobs, request.attempt)
    kept, shortage = give_way(request, jobs, unfit, explain=explain)
    return _with_apis(request, kept, request.solve)._replace(shortage=shortage)


def _with_apis(
    request: Request, jobs: tuple[SizedJob, ...], solve: Callable[[Translation], Solution]
) -> SolvedPortfolio:
    """Solve the jobs, on APIs where that is cheaper; raises what `solve` raises."""
    found = solved_with_apis(request.inputs, jobs, request.asked_gap, solve)
    return SolvedPortfolio(request.inputs, *found)


def _unfit(request: Request, jobs: tuple[SizedJob, ...]) -> Unfit:
    """Return the jobs that no node in play can run.

    Raises InfeasibleError unless all of them may give way.
    """
    inputs, translation = request.inputs, translate(request.inputs, jobs)
    scenario, every_type = inputs.scenario, request.sizers.sizer(inputs, None)
    stuck = {job.name for job in stuck_jobs(jobs, translation) if not scenario.apis_of(job.name)}
    if not stuck:
        return {}
    found = tuple(job for job in size_portfolio(every_type, scenario) if job.name in stuck)
    names = roots(found)
    if scenario.policies.shortage == "refuse" or any(scenario.jobs[n].required for n in names):
        require_eligible(found, translation, inputs.catalog)
    unfit: dict[str, tuple[str, tuple[str, ...]]] = {}
    for name in names:
        job = scenario.jobs[name]
        if scenario.sites_of(job) == (NO_SITE,):
            all_labels = f"all of its labels: {', '.join(job.labels)}"
            cause = f"no site where it may run carries {all_labels}"
            unfit[name] = cause, (f"let a site carry {all_labels}",)
        else:
            helps = remedies(
                [one for one in found if one.root == name], translation, inputs.catalog
            )
            unfit[name] = "no GPU type in play can run it", helps
    return unfit


def roots(jobs: Collection[SizedJob]) -> frozenset[str]:
    """Return the jobs of the scenario that these are, or are derived from."""
    return frozenset(job.root for job in jobs)


def give_way(
    request: Request, jobs: SizedJobs, unfit: Unfit, *, explain: bool
) -> tuple[SizedJobs, Shortage]:
    """Return the jobs as they are kept, with the ones that give way named and explained.

    Each step of the triage, and all remedies together, have a share of the time; callers
    that want no explanation get none. Raises InfeasibleError if the required jobs alone do not
    fit, and, with `crosscheck`, DisagreementError if another solver refutes that.
    """
    inputs, time_limit_s, progress = request.inputs, request.time_limit_s, request.progress
    fit = tuple(job for job in jobs if job.root not in unfit)
    problem, claims = claims_of(inputs, fit)
    try:
        found = triage(
            problem,
            claims,
            asked_gap=request.asked_gap,
            time_limit_s=time_limit_s,
            progress=lambda step: progress(f"triage: {step}"),
        )
    except Infeasible as proved:
        if request.crosscheck:
            ask = partial(second_opinions, time_limit_s=time_limit_s, progress=progress)
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
    )
    return kept, shortage


def _as_kept(job: SizedJob, found: Triage) -> SizedJob:
    delay = found.delays.get(job.root, 0)
    if delay is None:
        return job.dropped()
    kept = job.later(delay)
    return kept.without(found.short[job.name]) if job.name in found.short else kept


def _required_alone(inputs: Inputs, jobs: SizedJobs, time_limit_s: float) -> InfeasibleError:
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
    inputs: Inputs, jobs: SizedJobs, kept: SizedJobs, found: Triage, unfit: Unfit, deadline: float
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
        later = f"start {first} "
        yield ShortJob(
            name=name,
            deployment=next((job.name for job in asked if job.derived_from), None),
            priority=stated[name].priority,
            outcome="dropped" if delay is None else "delayed" if delay else "short",
            delay_quarters=delay or 0,
            asked=next((job.endpoints() for job in asked if job.name == name), ()),
            short=tuple(len(units) for units in absent),
            cause=cause,
            remedies=tuple(
                one.replace(later, f"start {name} ")
                for one in remedies
                if delay is None or not one.startswith(later)  # starting later keeps no date
            ),
        )


def _lacking(inputs: Inputs, jobs: SizedJobs, time_limit_s: float) -> tuple[str, tuple[str, ...]]:
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
    inputs: Inputs, jobs: SizedJobs, short: Sequence[ShortJob], found: Triage
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
