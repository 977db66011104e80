"""Prices the choices of a plan by solving the same jobs again without one of them.

The price is the difference between two proved plans. The module also finds small changes of the
demand that would save much and, where there is no plan, the change that would give one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from math import ceil
from typing import NamedTuple

from planner.errors import LimitError
from planner.inputs.scenario.job import Job
from planner.inputs.settled import Inputs
from planner.inputs.text import some_of
from planner.packing import Translation, translate
from planner.packing.incumbent import Infeasible
from planner.packing.pack import attempt
from planner.packing.search import search
from planner.packing.solution import Status
from planner.packing.work import spent
from planner.planning.assemble import Request, SolvedPortfolio
from planner.planning.jobs import stuck_jobs
from planner.planning.plan import (
    HourlyUse,
    NearMiss,
    OtherPlan,
    Plan,
    PlannedJob,
    PoolUse,
    SpareCost,
)
from planner.sizing.candidate import SizedJob
from planner.sizing.sizers import Sizers

_TIME_S = 10.0
"""Seconds of work for all changes of a kind that might give a plan."""
_MOST_JOBS, _NAMED = 4, 4
"""The most jobs to ask about, and the most GPU types to name."""


@dataclass(frozen=True, slots=True)
class ChoicePrices:
    """Compares a solved plan with the best plans under other choices.

    A figure stays open if it or the other plan is not proved before `deadline`, in seconds of
    work.
    """

    request: Request
    solved: SolvedPortfolio
    deadline: float

    def prices(self, plan: Plan) -> dict[str, object]:
        """Return what the choices cost, as fields of the plan."""
        say, found = self.request.progress, dict[str, object]()
        say("pricing spare nodes")
        found["spare_cost"] = self.spare_cost()
        say("pricing GPUs instead of APIs")
        found["api_saving_cents"] = self.api_saving_cents()
        say("pricing nodes by the hour")
        found["hourly"] = tuple(self.hourly_uses(plan))
        say("pricing the utilization of runs")
        found["utilization_cents"] = self.utilization_cents(plan)
        return found

    def cost_of(self, other: Translation) -> tuple[OtherPlan, int | None]:
        """Return the cost of the best other plan in cents; None unless both are proved."""
        left_s, gap = self.deadline - spent(), self.request.asked_gap
        if self.solved.solution.status is not Status.PROVED or left_s <= 0:
            return "not proved", None
        try:
            found = search(other.problem, asked_gap=gap, time_limit_s=left_s, tie_break=False)
        except Infeasible:
            return "no other plan", None
        except LimitError:
            return "not proved", None
        return ("proved", found.cost_cents) if found.closed(gap) else ("not proved", None)

    def dearer(self, other: Translation) -> tuple[OtherPlan, int | None]:
        """Return by how many cents the best other plan is dearer; None unless both are proved."""
        outcome, cents = self.cost_of(other)
        return outcome, None if cents is None else max(0, cents - self.solved.solution.cost_cents)

    def spare_cost(self) -> SpareCost | None:
        """Return what all spare nodes cost together; None if none is asked for."""
        problem = self._stated().problem
        if not (problem.spare_groups or any(pool.spare for pool in problem.pools)):
            return None
        pools = tuple(replace(pool, spare=0) for pool in problem.pools)
        none = replace(self._stated(), problem=replace(problem, pools=pools, spare_groups=()))
        _, cents = self.cost_of(none)
        saved = None if cents is None else max(0, self.solved.solution.cost_cents - cents)
        return SpareCost(cents=saved)

    def _stated(self) -> Translation:
        """The jobs as they were solved, with the replicas that share the traffic of endpoints."""
        inputs, jobs, translation, *_ = self.solved
        if not any(job.shares_traffic for job in jobs):
            return translation
        return translate(inputs, tuple(job.reopened() for job in jobs))

    def api_saving_cents(self) -> int | None:
        """Compare with the best plan without APIs.

        None if no unit is on one, or if that is open.
        """
        solved = self.solved
        if not any(job.on_apis for job in solved.jobs):
            return None
        placed = tuple(map(_on_gpus, solved.jobs))
        translation = translate(solved.inputs, placed)
        return None if stuck_jobs(placed, translation) else self.dearer(translation)[1]

    def hourly_uses(self, plan: Plan) -> Iterator[HourlyUse]:
        """Return each hourly or weekly offer that the plan uses, and the price at which that turns.

        At that multiple of the price, the best plan without the offer costs the same.
        """
        problem, hired = self._stated().problem, self.solved.solution.acquired
        for offer in self.solved.inputs.offers:
            supplies = [
                number
                for number, supply in enumerate(problem.supplies)
                if supply.name == offer.name and not supply.releases
            ]
            if not offer.step_hours or not any(any(hired[number]) for number in supplies):
                continue
            paid = sum(
                steps * (problem.supplies[number].unit_cost_cents[quarter] or 0)
                for number in supplies
                for quarter, steps in enumerate(hired[number])
            )
            nodes = {one.id: one for one in plan.nodes if one.hours and one.entry == offer.name}
            here = (use for uses in plan.placements for use in uses if use.node in nodes)
            withdrawn = tuple(
                replace(supply, maximum=0) if number in supplies else supply
                for number, supply in enumerate(problem.supplies)
            )
            others = replace(self._stated(), problem=replace(problem, supplies=withdrawn))
            outcome, more = self.dearer(others)
            yield HourlyUse(
                offer=offer.name,
                gpu_hours=int(sum(node.gpu_hours(Fraction(0)) for node in nodes.values())),
                jobs=tuple(sorted({one.job for use in here for one in use.occupants})),
                present_cents=paid,
                without=outcome,
                turns_at=None if more is None or not paid else 1 + more / paid,
            )

    def utilization_cents(self, plan: Plan) -> int | None:
        """Compare with the best plan whose runs make progress in all of their hours.

        None if no run is planned by the hour, if jobs give way, or if that is open.
        """
        runs = any(one.hours for uses in plan.placements for use in uses for one in use.occupants)
        whole = self.solved.inputs.settings.run_utilization.value >= 1
        if not runs or plan.shortage is not None or whole:
            return None
        settings = self.solved.inputs.settings
        always = settings.run_utilization.model_copy(update={"value": Decimal(1)})
        settings = settings.model_copy(update={"run_utilization": always})
        inputs = self.solved.inputs.model_copy(update={"settings": settings})
        timed = {
            name: job
            for name, job in inputs.scenario.jobs.items()
            if job.run or (job.tune and job.tune.dataset_tokens)
        }
        anew = {one.name: one for one in self.request.sizers.portfolio(_with_jobs(inputs, timed))}
        others = translate(inputs, tuple(anew.get(job.name, job) for job in self.solved.jobs))
        _, cents = self.cost_of(others)
        return None if cents is None else max(0, self.solved.solution.cost_cents - cents)

    def near_misses(self, plan: Plan, budget_s: float) -> Iterator[NearMiss]:
        """Return changes that save more than the job's share of the cost.

        The search takes so many seconds of work. None if jobs give way, if APIs answer, or if
        the plan is not proved.
        """
        others = any(job.on_apis for job in self.solved.jobs)
        if others or plan.shortage is not None or plan.proof.status != "proved":
            return
        inputs = self.solved.inputs
        yield from replace(self, deadline=min(self.deadline, spent() + budget_s))._free_to_change()
        limited = replace(self, deadline=min(self.deadline, spent() + budget_s))
        found = sorted(change for pool in plan.pools for change in _changes(plan, inputs, pool))
        for change in (*found[:_MOST_ASKED], *islice(_longer_waits(plan, inputs), _MOST_ASKED)):
            _, cents = limited.cost_of(translate(*self._changed(change)))
            job = next(one for one in plan.jobs if one.name == change.job)
            saved = 0 if cents is None else plan.proof.cost_cents - cents
            if saved > job.tag_cents * change.share:
                known = change._asdict() | {"share": float(change.share)}
                yield NearMiss.model_validate({**known, "saved_cents": saved})

    def _free_to_change(self) -> Iterator[NearMiss]:
        """Let all jobs change their GPU type between quarters that do not say what they do."""
        inputs = self.solved.inputs
        scenario = inputs.scenario
        policies = scenario.policies.model_copy(update={"may_change_gpu_type": "all"})
        changed = scenario.model_copy(update={"policies": policies})
        jobs = self.request.sizers.portfolio(inputs.model_copy(update={"scenario": changed}))
        if len(scenario.horizon.labels) == 1 or jobs == self.solved.jobs:
            return
        _, cents = self.cost_of(translate(inputs, jobs))
        saved = 0 if cents is None else self.solved.solution.cost_cents - cents
        if saved > abs(self.solved.solution.cost_cents) * _WORTH_SAYING:
            yield NearMiss(policy="may_change_gpu_type: all", saved_cents=saved)

    def _changed(self, change: _Change) -> tuple[Inputs, tuple[SizedJob, ...]]:
        """Return the inputs and the jobs after a change."""
        inputs, jobs, *_ = self.solved
        if change.units:
            fewer = tuple(
                one.model_copy(update={"units": tuple(max(0, n - change.units) for n in one.units)})
                if one.name == change.job
                else one
                for one in jobs
            )
            return inputs, fewer
        serve = inputs.scenario.jobs[change.job].serve
        assert serve is not None
        assert serve.load is not None
        if change.latency_ms:
            assert serve.latency is not None
            other: dict[str, object] = {"latency": serve.latency.times(1 + change.share)}
        else:
            other = {"load": serve.load.times(1 - change.share)}
        changed = _with_job(inputs, change.job, serve=serve.model_copy(update=other))
        return changed, self.request.sizers.portfolio(changed)


def _on_gpus(job: SizedJob) -> SizedJob:
    """Return the jobs with no unit on an API."""
    everywhere = zip(job.units, *(units for _, units in job.on_apis), strict=True)
    return job.model_copy(update={"units": tuple(map(sum, everywhere)), "on_apis": ()}).reopened()


def _gpu_types_of(name: str, inputs: Inputs, sizers: Sizers, deadline: float) -> set[str] | None:
    """Return the GPU types on which a plan with all jobs could run one.

    None if none is found in time.
    """
    jobs = sizers.portfolio(inputs)
    translation = translate(inputs, jobs)
    if stuck_jobs(jobs, translation):
        return None
    left_s = max(0.1, deadline - spent())
    try:
        solution = attempt(translation, asked_gap=1.0, time_limit_s=left_s)
    except (Infeasible, LimitError):
        return None
    classes = zip(translation.problem.classes, translation.members, solution.assigned, strict=True)
    return {
        mode.gpu_type
        for job_class, members, assigned in classes
        if any(job == name for job, _ in members)
        for mode, units in zip(job_class.modes, assigned, strict=True)
        if units
    }


def other_types(inputs: Inputs, lacking: Iterable[str], sizers: Sizers) -> Iterator[str]:
    """Find, for each job, GPU types that it does not name, or a change of type between quarters.

    Each is proved by a plan that keeps all other jobs.
    """
    deadline = spent() + _TIME_S
    scenario = inputs.scenario
    for name in sorted(set(lacking) & scenario.jobs.keys())[:_MOST_JOBS]:
        job = scenario.jobs[name]
        if named := set(job.gpu_types or ()):
            anywhere = _with_job(inputs, name, gpu_types=None)
            found = _gpu_types_of(name, anywhere, sizers, deadline) or set()
            if others := sorted(found - named):
                yield f"let {name} run on {some_of(others, _NAMED)} as well"
        if scenario.keeps_gpu_type(job, job.kind):
            changing = _with_job(inputs, name, may_change_gpu_type=True)
            if _gpu_types_of(name, changing, sizers, deadline) is not None:
                yield f"let {name} change its GPU type between quarters (`may_change_gpu_type`)"


def _with_job(inputs: Inputs, name: str, **changed: object) -> Inputs:
    """Return the inputs with fields of one job changed."""
    job = inputs.scenario.jobs[name].model_copy(update=changed)
    return _with_jobs(inputs, {**inputs.scenario.jobs, name: job})


def _with_jobs(inputs: Inputs, jobs: dict[str, Job]) -> Inputs:
    """Return the inputs with other jobs."""
    scenario = inputs.scenario.model_copy(update={"jobs": jobs})
    return inputs.model_copy(update={"scenario": scenario})


_LESS_TRAFFIC, _FEW_GPUS = Fraction(1, 10), Fraction(1, 4)
"""The most that counts as a small change: of a job's traffic, and of the GPUs of a node."""
_LONGER = Fraction(1, 10)
"""The share by which a latency target is relaxed."""
_WORTH_SAYING = 0.005
"""The share of the cost that a policy must save to be named."""
_MOST_ASKED = 3
"""The most changes of demand, and of latency, that are tried."""


class _Change(NamedTuple):
    """A change to try: fewer units, less traffic, or longer waits."""

    share: Fraction
    """The change as a share of the job's demand, or of its latency."""
    job: str
    units: int
    """0 if traffic or latency changes."""
    gpus: int = 0
    node_type: str = ""
    site: str = ""
    latency_ms: tuple[tuple[str, float], ...] = ()
    """The targets after the change; empty if the demand changes."""


def _longer_waits(plan: Plan, inputs: Inputs) -> Iterator[_Change]:
    """Yield slightly longer latency targets for endpoints that keep to one, the dearest first."""
    for job in sorted(plan.jobs, key=lambda one: (-one.tag_cents, one.name)):
        stated = inputs.scenario.jobs.get(job.name)
        latency = stated.serve.latency if stated and stated.serve and stated.load else None
        if latency is not None and job.tag_cents > 0:
            targets = latency.times(1 + _LONGER).targets_ms
            longer = tuple((key, float(ms)) for key, ms in targets.items())
            yield _Change(_LONGER, job.name, 0, latency_ms=longer)


def _changes(plan: Plan, inputs: Inputs, pool: PoolUse) -> Iterator[_Change]:
    """Yield changes that would free the GPUs in use on a pool's last node.

    The node counts in the pool's fullest quarter.
    """
    nodes = [one for one in plan.nodes if one.pool == (pool.node_type, pool.site, pool.offer)]
    if pool.offer or all(node.origin == "owned" for node in nodes):
        return
    quarter = max(range(len(plan.quarters)), key=lambda place: pool.gpus_used[place])
    over = pool.gpus_used[quarter] - (pool.nodes_used[quarter] - 1) * nodes[0].gpus
    here = {node.id for node in nodes}
    held: dict[str, Counter[tuple[int, int]]] = defaultdict(Counter)
    for use in plan.placements[quarter]:
        for one in use.occupants if use.node in here else ():
            if one.hours is None and one.part is None:
                held[one.job][one.unit, one.replica] += len(one.gpus)
    today = {one.job for one in inputs.scenario.running}
    for job in plan.jobs:
        if job.name not in held or job.name in today:
            continue
        gpus = min(held[job.name].values())
        fewer, all_ = ceil(Fraction(over, gpus)), len(held[job.name])
        stated = inputs.scenario.jobs.get(job.name)
        if stated is not None and stated.load is not None:
            units, share = 0, _less_traffic(plan, job, quarter, all_ - fewer)
            small = share <= _LESS_TRAFFIC
        else:
            units, share = fewer, Fraction(fewer, job.units[quarter])
            small = fewer * gpus <= nodes[0].gpus * _FEW_GPUS
        if small and share > 0 and fewer < all_:
            yield _Change(share, job.name, units, fewer * gpus, pool.node_type, pool.site)


def _less_traffic(plan: Plan, job: PlannedJob, quarter: int, replicas: int) -> Fraction:
    """Return the smallest cut of traffic, in per cent, after which so many replicas suffice.

    In whole per cent of the peak; 0 if it is not known.
    """
    ways = {one.way: one.serving for one in plan.sizings[job.sizing].candidates}
    serving = ways[job.ways[0][0]] if len(job.ways) == 1 else None
    if serving is None or not serving.peaks[quarter]:
        return Fraction(0)
    taken = replicas * Fraction(serving.planned_requests_per_second)
    return Fraction(ceil((1 - taken / Fraction(serving.peaks[quarter])) * 100), 100)
