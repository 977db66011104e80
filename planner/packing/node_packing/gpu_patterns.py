"""What one GPU holds that several pieces take parts of: partitions, or shares of its memory.

A GPU is *opened* for parts. What fits it is told by its fullest fillings alone: whatever fits is
part of one of them. Partitions fit where a division has them all; shares fit by their memory.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache

from planner.packing.problem import Part, Pool, Shape
from planner.packing.solvers.program import Program
from planner.packing.solvers.solver import solve_integer

OPENED = Shape(1, 0, 0)
"""An opened GPU, as it is laid out on a node; the host's cores and memory are its pieces' own."""

_TIME_S = 5.0

Fill = tuple[tuple[Part, int], ...]
"""What one GPU holds: (part, pieces), sorted."""


def fillings(pool: Pool, profiles: Sequence[Part]) -> tuple[Fill, ...]:
    """Partitions of these profiles that one GPU has, where no division has more of them."""
    known = {part.profile: part for part in profiles}
    held = {
        tuple(sorted(Counter(known[name] for name, _ in one.slots if name in known).items()))
        for one in pool.divisions
    }
    fills = sorted(held - {()})
    return tuple(
        fill for fill in fills if not any(fill != other and _covers(other, fill) for other in fills)
    )


def _covers(fill: Fill, wanted: Fill) -> bool:
    holds = dict(fill)
    return all(count <= holds.get(part, 0) for part, count in wanted)


@lru_cache(maxsize=1024)
def fewest(fills: tuple[Fill, ...], wanted: Fill) -> tuple[tuple[Fill, int], ...]:
    """Fills, and how often each is used, that hold what is wanted on the fewest GPUs."""
    program = Program()
    used = {fill: program.variable("used", cost=1.0, integer=True) for fill in fills}
    for part, count in wanted:
        terms = {index: float(dict(fill).get(part, 0)) for fill, index in used.items()}
        program.row("held", terms, ">=", count)
    values = solve_integer(program, time_limit_s=_TIME_S, effort="branching").values
    times = {fill: round(values[index]) for fill, index in used.items()} if values else {}
    return tuple((fill, number) for fill, number in times.items() if number)


def starts(pool: Pool, profiles: Sequence[str]) -> tuple[int, ...]:
    """The first memory slice of each of these partitions of one GPU; 0 for no partition.

    Raises ValueError where no division of the GPU has them all.
    """
    wanted = Counter(profile for profile in profiles if profile)
    for division in pool.divisions if wanted else ():
        free: dict[str, list[int]] = defaultdict(list)
        for profile, start in division.slots:
            free[profile].append(start)
        if all(len(free[profile]) >= count for profile, count in wanted.items()):
            return tuple(free[profile].pop(0) if profile else 0 for profile in profiles)
    if wanted:
        raise ValueError(f"no division of {pool.gpu_type} has the partitions {sorted(wanted)}")
    return (0,) * len(profiles)
