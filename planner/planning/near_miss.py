"""Near misses: small changes of demand with which a node that is bought or rented is not needed.

What would free the GPUs that are in use of the last node of a pool, in its fullest quarter, is
planned anew before it is told: the saving is the difference of two proved plans.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from planner.packing import translate
from planner.packing.work import spent
from planner.planning.plan import NearMiss

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planner.inputs.settled import Inputs
    from planner.planning.plan import Plan, PlannedJob, PoolUse
    from planner.planning.what_if import WhatIf
    from planner.sizing.candidate import SizedJob
    from planner.sizing.sizers import Sizers

__all__ = ["near_misses"]

_LESS_TRAFFIC, _FEW_GPUS = Fraction(1, 10), Fraction(1, 4)
"""Shares of a job's traffic, and of the GPUs of a node: a change that is larger is no small one."""
_MOST_ASKED = 3


class _Change(NamedTuple):
    """What is asked: so many units fewer, or so many per cent less traffic."""

    share: Fraction
    """Of the job's demand."""
    job: str
    units: int
    """0 of traffic."""
    gpus: int
    node_type: str
    site: str


def near_misses(plan: Plan, asked: WhatIf, sizers: Sizers, budget_s: float) -> Iterator[NearMiss]:
    """The changes that save more than the job's share of them, within so many seconds of work.

    None where jobs give way or APIs answer, or the plan is not proved.
    """
    others = any(job.on_apis for job in asked.solved.jobs)
    if others or plan.shortage is not None or plan.proof.status != "proved":
        return
    limited = replace(asked, deadline=min(asked.deadline, spent() + budget_s))
    found = sorted(
        change for pool in plan.pools for change in _changes(plan, asked.solved.inputs, pool)
    )
    for change in found[:_MOST_ASKED]:
        inputs, jobs = _with(change, asked.solved.inputs, asked.solved.jobs, sizers)
        _, cents = limited.cost_of(translate(inputs, jobs))
        job = next(one for one in plan.jobs if one.name == change.job)
        saved = 0 if cents is None else plan.proof.cost_cents - cents
        if saved > job.tag_cents * change.share:
            yield NearMiss(
                job=change.job,
                units=change.units,
                share=float(change.share),
                gpus=change.gpus,
                node_type=change.node_type,
                site=change.site,
                saved_cents=saved,
            )


def _changes(plan: Plan, inputs: Inputs, pool: PoolUse) -> Iterator[_Change]:
    """What would free the GPUs that are in use of a pool's last node in its fullest quarter."""
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
        loaded = stated is not None and stated.load is not None
        share = Fraction(fewer, job.units[quarter])
        if loaded:
            share = _less_traffic(plan, job, quarter, all_ - fewer)
        small = share <= _LESS_TRAFFIC if loaded else fewer * gpus <= nodes[0].gpus * _FEW_GPUS
        if small and share > 0 and fewer < all_:
            units = 0 if loaded else fewer
            yield _Change(share, job.name, units, fewer * gpus, pool.node_type, pool.site)


def _less_traffic(plan: Plan, job: PlannedJob, quarter: int, replicas: int) -> Fraction:
    """The share, in whole per cent, without which so many replicas take the peak; 0 if unknown."""
    ways = {one.way: one.serving for one in plan.sizings[job.sizing].candidates}
    serving = ways[job.ways[0][0]] if len(job.ways) == 1 else None
    if serving is None or not serving.peaks[quarter]:
        return Fraction(0)
    taken = replicas * Fraction(serving.planned_requests_per_second)
    return Fraction(ceil((1 - taken / Fraction(serving.peaks[quarter])) * 100), 100)


def _with(
    change: _Change, inputs: Inputs, jobs: tuple[SizedJob, ...], sizers: Sizers
) -> tuple[Inputs, tuple[SizedJob, ...]]:
    """The inputs and the jobs after a change."""
    if change.units:
        fewer = tuple(
            one.model_copy(update={"units": tuple(max(0, n - change.units) for n in one.units)})
            if one.name == change.job
            else one
            for one in jobs
        )
        return inputs, fewer
    job = inputs.scenario.jobs[change.job]
    assert job.serve is not None
    assert job.serve.load is not None
    serve = job.serve.model_copy(update={"load": job.serve.load.times(1 - change.share)})
    stated = {**inputs.scenario.jobs, change.job: job.model_copy(update={"serve": serve})}
    scenario = inputs.scenario.model_copy(update={"jobs": stated})
    changed = inputs.model_copy(update={"scenario": scenario})
    return changed, sizers.portfolio(changed)
