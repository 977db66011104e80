"""What is stated apart: nodes for partitioned GPUs alone, and runs whose hours a quota counts.

A pool whose nodes do not mix is stated as two: one for whole and shared GPUs, with all offers and
owned nodes, and one for partitioned GPUs, to which the first lends nodes, quarter by quarter. Of
runs that are alike, those whose owner has a quota are shapes of their own: when one of them runs
is the owner's concern, too. And where pools share spare nodes, so are units that other nodes can
take in.
"""

from __future__ import annotations

from dataclasses import replace

from planner.packing.constraints.spares import stand_ins
from planner.packing.problem import ALWAYS, Demand, Problem


def kept_apart(problem: Problem) -> Problem:
    """The problem with a pool more for each whose nodes do not mix; those come last.

    Runs of owners with quotas have shapes that name the owner, and units of pools that share spare
    nodes have shapes that say which can take them in.
    """
    demands = problem.demands
    if problem.spare_groups:
        demands = tuple(_taken_in(problem, demand) for demand in demands)
    pools, apart = list(problem.pools), []
    for number, pool in enumerate(problem.pools):
        if not pool.mixes and any(
            choice.gpu_type == pool.gpu_type and choice.shape.part.profile
            for demand in problem.demands
            for choice in demand.choices
        ):
            pools[number] = replace(pool, divisions=(), mixes=True)
            apart.append(
                replace(pool, owned=0, retired=(), spare=0, shared_mb=0, mixes=True, lender=number)
            )
    if problem.quotas:
        demands = tuple(_named(problem, demand) for demand in demands)
    return replace(problem, pools=(*pools, *apart), demands=demands)


def _taken_in(problem: Problem, demand: Demand) -> Demand:
    choices = (
        replace(
            choice,
            shape=choice.shape._replace(stand_ins=tuple(stand_ins(problem, demand, choice))),
        )
        for choice in demand.choices
    )
    return replace(demand, choices=tuple(choices))


def _named(problem: Problem, demand: Demand) -> Demand:
    """The same, with the owner's name on each run that some quota of the owner counts by hours."""
    mine = [quota for quota in problem.quotas if demand.owner and quota.owner == demand.owner]
    choices = (
        replace(choice, shape=choice.shape._replace(owner=demand.owner))
        if choice.shape.run != ALWAYS and any(quota.taken(choice) for quota in mine)
        else choice
        for choice in demand.choices
    )
    return replace(demand, choices=tuple(choices)) if mine else demand
