"""Mode assignment: in which way each unit runs; the program counts, here the units get names."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.packing import Translation
    from planner.packing.solution import Solution

__all__ = ["assigned_modes"]

Unit = tuple[str, int]
"""Job and unit number."""
Way = tuple[str, str]
"""GPU type, and the name of a choice."""


def assigned_modes(translation: Translation, solution: Solution) -> tuple[tuple[int, ...], ...]:
    """Choice of each member of each demand, so that a job runs in one way where it can.

    Units that have run before go on as they did, as many as can; where changing the GPU type has a
    price, as many others as can keep that. Then large jobs choose first; a job goes where its other
    units are, else where it fits tightest, and is split only where it fits nowhere whole.
    """
    ways_of_job: dict[str, Counter[Way]] = defaultdict(Counter)
    before: dict[Unit, Way] = {}
    kept = []
    for demand, members in enumerate(translation.members):
        asked = translation.problem.demands[demand]
        choices = [(choice.gpu_type, choice.way) for choice in asked.choices]
        left = list(solution.assigned[demand])
        ways = [before.get(unit) for unit in members]
        chosen = [_first_left(left, [n for n, one in enumerate(choices) if one == w]) for w in ways]
        for position, way in enumerate(ways if asked.chain else ()):
            if chosen[position] < 0 and way is not None:
                alike = [n for n, (gpu_type, _) in enumerate(choices) if gpu_type == way[0]]
                chosen[position] = _first_left(left, alike)
        for job, every in _by_size(members):
            seen = ways_of_job[job]
            positions = [position for position in every if chosen[position] < 0]
            for position, choice in zip(
                positions, _take(choices, left, seen, len(positions)), strict=True
            ):
                chosen[position] = choice
                seen[choices[choice]] += 1
        before |= {unit: choices[choice] for unit, choice in zip(members, chosen, strict=True)}
        kept.append(tuple(chosen))
    return tuple(kept)


def _first_left(left: list[int], among: list[int]) -> int:
    """Take the first of these choices of which something is left; -1 if there is none."""
    choice = next((choice for choice in among if left[choice]), -1)
    if choice >= 0:
        left[choice] -= 1
    return choice


def _by_size(members: tuple[tuple[str, int], ...]) -> list[tuple[str, list[int]]]:
    """Positions of each job's units, jobs with most units first."""
    jobs = groupby(range(len(members)), key=lambda position: members[position][0])
    return sorted(
        ((job, list(positions)) for job, positions in jobs),
        key=lambda item: (-len(item[1]), item[0]),
    )


def _take(choices: list[Way], left: list[int], seen: Counter[Way], units: int) -> list[int]:
    """Take `units` from `left`, in as few choices as can be; choices by unit."""
    taken: list[int] = []
    while len(taken) < units:
        wanted = units - len(taken)
        best = min(
            (index for index, count in enumerate(left) if count),
            key=lambda index: _rank(seen[choices[index]], left[index], wanted, index),
        )
        count = min(left[best], wanted)
        left[best] -= count
        taken += [best] * count
    return taken


def _rank(seen: int, left: int, wanted: int, index: int) -> tuple[bool, int, int, int]:
    """Whole before split, then the job's own way, then tightest (or largest if split)."""
    whole = left >= wanted
    return (not whole, -seen, left if whole else -left, index)
