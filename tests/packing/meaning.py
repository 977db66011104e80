"""What limits, quotas, changes and parts mean, said once more for those who check the search."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from planner.packing.problem import (
    JobClass,
    Mode,
    Part,
    Pool,
    Problem,
    Quota,
    RunWindow,
    SharedSpares,
)

Gpus = tuple[tuple["Part", ...], ...]
"""Opened GPUs of a node: the parts taken of each, sorted."""
Nodes = tuple[tuple[int, ...], ...]
"""pool × quarter: nodes in service."""
SLOT, SLOTS = 166, 13
"""Hours of a slot, and slots of a quarter, in which runs of the tests begin and end."""


def slots(taken: int, first: int = 0, until: int = SLOTS) -> RunWindow:
    """A run of so many slots, from the first on and before the last."""
    return RunWindow(taken * SLOT, first * SLOT, until * SLOT)


def pieces_in(mode: Mode, quarter: int) -> int:
    """Pieces of a unit in a quarter."""
    return mode.by_quarter[quarter] if mode.by_quarter else mode.copies


def stands(problem: Problem, nodes: Nodes) -> bool:
    """Whether the nodes in service, by pool and quarter, keep to every limit of their sites."""
    for quarter in range(problem.quarters):
        for limit in problem.limits:
            most = limit.at_most[quarter]
            taken = sum(amount * nodes[pool][quarter] for pool, amount in limit.terms)
            if most is not None and taken > most:
                return False
        for space in problem.racks:
            waiting = [
                (units, watts)
                for pool, units, watts in space.nodes
                for _ in range(nodes[pool][quarter])
            ]
            power_w = 0 if space.power_w is None else space.power_w
            if not _racks_hold(tuple(waiting), ((space.units, power_w),) * space.count):
                return False
    return True


@cache
def _racks_hold(waiting: tuple[tuple[int, ...], ...], racks: tuple[tuple[int, ...], ...]) -> bool:
    """Whether nodes, by what each takes, fit what is free of the racks, the first one first."""
    if not waiting:
        return True
    taken, rest = waiting[0], waiting[1:]
    for rack in set(racks):
        left = tuple(free - one for free, one in zip(rack, taken, strict=True))
        if min(left) >= 0:
            others = list(racks)
            others.remove(rack)
            if _racks_hold(rest, tuple(sorted((*others, left)))):
                return True
    return False


def spread(problem: Problem, group: SharedSpares, nodes: Nodes, quarter: int, most: int) -> bool:
    """Whether the nodes in service fit the racks with at most so many of a group in each."""
    (space,) = (space for space in problem.racks if space.site == group.site)
    mine = {problem.pools[pool].home for pool in group.pools}
    waiting = [
        (units, watts, int(problem.pools[pool].home in mine))
        for pool, units, watts in space.nodes
        for _ in range(nodes[pool][quarter])
    ]
    power_w = 0 if space.power_w is None else space.power_w
    return _racks_hold(tuple(waiting), ((space.units, power_w, most),) * space.count)


def stands_in(job_class: JobClass, mode: Mode, mine: Pool, other: Pool) -> bool:
    """Whether a node of the other pool can take in what one of mine holds of units like these."""
    if mine.home == other.home:
        return True
    if mode.shape.stays or mode.shape.part.profile or mode.shape.part.memory_mb:
        return False
    if mode.shape.gpus > mine.node.gpus or other.node.gpus < mine.node.gpus:
        return False
    worth = dict(zip(job_class.modes, job_class.takes, strict=False))
    for way in [mode] if other.gpu_type == mine.gpu_type else job_class.modes:
        held, taken = mode.shape, way.shape
        share = Fraction(held.gpus, mine.node.gpus)
        if (
            way.gpu_type == other.gpu_type
            and (not job_class.endpoint or worth[way] >= worth[mode])
            and not (taken.part.profile or taken.part.memory_mb)
            and (not taken.sites or other.site in taken.sites)
            and taken.gpus <= held.gpus
            and taken.run.hours <= held.run.hours
            and taken.cpus <= share * other.node.cpus
            and taken.memory_mb <= share * other.node.memory_mb
            and all(pieces_in(way, q) <= pieces_in(mode, q) for q in job_class.quarters)
        ):
            return True
    return False


def takes_all(problem: Problem, way: Sequence[Sequence[Mode]]) -> bool:
    """Whether units that take these modes take all traffic of each endpoint that they share."""
    taken: Counter[tuple[str, int]] = Counter()
    asked: set[tuple[str, int]] = set()
    for job_class, modes in zip(problem.classes, way, strict=True):
        if job_class.endpoint:
            worth = dict(zip(job_class.modes, job_class.takes, strict=True))
            asked.update((job_class.endpoint, quarter) for quarter in job_class.quarters)
            for quarter in job_class.quarters:
                taken[job_class.endpoint, quarter] += sum(worth[mode] for mode in modes)
    return all(taken[one] >= 10**6 for one in asked)


def counts(quota: Quota, owner: str, gpu_type: str) -> bool:
    """Whether a quota counts the GPUs of this type that a unit of an owner holds."""
    return quota.owner == owner and quota.gpu_type in (None, gpu_type)


def holds(pool: Pool, parts: Sequence[Part]) -> bool:
    """Whether one GPU of the pool can be divided so that it has these parts."""
    profiles = Counter(part.profile for part in parts)
    if not profiles[""]:
        return any(
            profiles <= Counter(profile for profile, _ in division.slots)
            for division in pool.divisions
        )
    return len(profiles) == 1 and sum(part.memory_mb for part in parts) <= pool.shared_mb


def mixes(pool: Pool, free: int, opened: Gpus) -> bool:
    """Whether a node may hold these GPUs: where they do not mix, all are partitioned, or none."""
    partitioned = sum(bool(gpu[0].profile) for gpu in opened)
    return pool.mixes or partitioned in (0, pool.node.gpus - free)
