"""Plan a portfolio: size, pack, make concrete, cost, check. Nothing unchecked leaves this room."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypedDict

from planner.errors import InfeasibleError, LimitError
from planner.inputs.scenario.scenario import NO_SITE
from planner.inputs.settled import Inputs
from planner.packing import Translation, solve, translate
from planner.packing.incumbent import Incumbent, Infeasible
from planner.packing.pack import attempt
from planner.packing.statement.nowhere import solved_with_apis
from planner.packing.work import guarded, spent
from planner.planning.annotations.doubtful import limiting_figures
from planner.planning.assemble import SolvedPortfolio, checked_plan
from planner.planning.choices import ChoicePrices, near_misses, other_types
from planner.planning.eligible import remedies, require_eligible, stuck_jobs
from planner.planning.plan import Note, Plan
from planner.planning.triage import Unfit, give_way, roots
from planner.sizing import SizedJob
from planner.sizing.sizers import Sizers, size_portfolio

_LEAST_ASKED_S = 1.0
"""Of work, for what would save a node, however short the search was; else as long as that."""


def make_plan(
    inputs: Inputs,
    *,
    asked_gap: float = 1e-4,
    time_limit_s: float = 60.0,
    crosscheck: bool = False,
    progress: Callable[[str], None] | None = None,
    sizers: Sizers | None = None,
    price_choices: bool = True,
    watch: Callable[[Translation, Incumbent], None] | None = None,
) -> Plan:
    """Make a checked plan of least net present cost.

    `asked_gap` is the relative gap that counts as proved. `time_limit_s` is in seconds of work, as
    a usual machine does it, so that load changes no plan; ten times as many of the wall end it in
    any case, and the plan says so. With `crosscheck` other solvers are asked
    for the bound again. Whoever plans many variants hands over the `sizers` of all of them, and
    saves time without `price_choices`: what spare nodes cost and what parts of GPUs save, told as
    far as the search leaves time for it, and why jobs give way. Whoever wants to `watch` is shown
    the search.

    Raises InfeasibleError where no plan exists, LimitError where the time ends before one is found,
    CheckError where the independent check disagrees, DisagreementError where another solver does.
    """
    say, own = progress or (lambda _: None), sizers or Sizers()
    asked = _Asked(asked_gap=asked_gap, time_limit_s=time_limit_s, progress=say)
    how = _How(crosscheck=crosscheck, watch=watch)
    with guarded(time_limit_s) as clock:
        say("sizing jobs")
        jobs = own.portfolio(inputs)
        begun = spent()
        deadline = begun + time_limit_s
        try:
            solved = _solved(inputs, jobs, asked, own, how, explain=price_choices)
        except InfeasibleError as why:
            raise _with_a_second_look(inputs, why) from None
        searched_s = spent() - begun
        plan = checked_plan(solved, crosscheck=crosscheck, sizers=own, **asked)
        if price_choices:
            choices = ChoicePrices(solved, asked_gap, deadline)
            plan = plan.model_copy(update=choices.prices(plan, own, say))
            say("asking what would save a node")
            misses = tuple(near_misses(plan, choices, own, max(searched_s, _LEAST_ASKED_S)))
            plan = plan.model_copy(update={"near_misses": misses})
    if not clock.ended:
        return plan
    ended = plan.provenance.model_copy(update={"guard_ended": True})
    late = Note(
        text="the search was ended by the clock, before its work was done: on a less busy machine, "
        "or with a higher --time-limit, the same scenario may be planned further",
        origin="solver",
    )
    return plan.model_copy(update={"provenance": ended, "warnings": (late, *plan.warnings)})


def _with_a_second_look(inputs: Inputs, why: InfeasibleError) -> InfeasibleError:
    """The reasons with figures of the scenario by which there may be no plan, and seldom meant."""
    looks = tuple(
        f"worth a second look: {note.text} ({note.origin})" for note in limiting_figures(inputs)
    )
    return InfeasibleError(why.headline, (*why.reasons, *looks), why.remedies, why.lacking)


class _Asked(TypedDict):
    """What is asked of every search."""

    asked_gap: float
    time_limit_s: float
    progress: Callable[[str], None]


class _How(TypedDict):
    """What is asked of the one search whose answer is kept."""

    crosscheck: bool
    watch: Callable[[Translation, Incumbent], None] | None


def _solved(
    inputs: Inputs,
    jobs: tuple[SizedJob, ...],
    asked: _Asked,
    sizers: Sizers,
    how: _How,
    *,
    explain: bool,
) -> SolvedPortfolio:
    """All jobs; where they do not fit and may give way, those that are kept."""
    unfit = _unfit(inputs, jobs, translate(inputs, jobs), sizers)
    solver = partial(solve, **how, **asked)
    if inputs.scenario.policies.shortage == "refuse":
        try:
            return SolvedPortfolio(
                inputs, *solved_with_apis(inputs, jobs, asked["asked_gap"], solver)
            )
        except InfeasibleError as why:
            asked["progress"]("asking whether other GPU types would do")
            remedies = (*why.remedies, *other_types(inputs, why.lacking, sizers))
            raise InfeasibleError(why.headline, why.reasons, remedies) from None
    if not unfit:
        attempted = partial(attempt, **how, **asked)
        with suppress(Infeasible, LimitError):
            return SolvedPortfolio(
                inputs, *solved_with_apis(inputs, jobs, asked["asked_gap"], attempted)
            )
    crosscheck = how["crosscheck"]
    kept, shortage, nodes = give_way(
        inputs, jobs, unfit, crosscheck=crosscheck, explain=explain, **asked
    )
    known = partial(solver, nodes=nodes)
    found = solved_with_apis(inputs, kept, asked["asked_gap"], known)
    return SolvedPortfolio(inputs, *found, shortage)


def _unfit(
    inputs: Inputs, jobs: tuple[SizedJob, ...], translation: Translation, sizers: Sizers
) -> Unfit:
    """Jobs that no node in play can run; raises InfeasibleError unless all of them may give way."""
    stuck = {
        job.name for job in stuck_jobs(jobs, translation) if not inputs.scenario.apis_of(job.name)
    }
    if not stuck:
        return {}
    scenario, every_type = inputs.scenario, sizers.sizer(inputs, None)
    found = tuple(job for job in size_portfolio(every_type, scenario) if job.name in stuck)
    names = roots(found)
    if scenario.policies.shortage == "refuse" or any(scenario.jobs[n].required for n in names):
        require_eligible(found, translation, inputs.catalog)
    unfit: dict[str, tuple[str, tuple[str, ...]]] = {}
    for name in names:
        job = scenario.jobs[name]
        if scenario.sites_of(job) == (NO_SITE,):
            labels = ", ".join(job.labels)
            unfit[name] = (
                f"no site where it may run carries all of its labels: {labels}",
                (f"let a site carry all of its labels: {labels}",),
            )
        else:
            mine = [one for one in found if name in (one.name, one.derived_from)]
            unfit[name] = (
                "no GPU type in play can run it",
                remedies(mine, translation, inputs.catalog),
            )
    return unfit
