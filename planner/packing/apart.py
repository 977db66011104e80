"""Nodes that hold partitioned GPUs only, where they may not stand beside others.

Such a pool is stated as two: one for whole and shared GPUs, with all offers and owned nodes, and
one for partitioned GPUs, to which the first lends nodes, quarter by quarter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.packing.problem import Problem

__all__ = ["kept_apart"]


def kept_apart(problem: Problem) -> Problem:
    """The problem with a pool more for each whose nodes do not mix; those come last."""
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
    return replace(problem, pools=(*pools, *apart)) if apart else problem
