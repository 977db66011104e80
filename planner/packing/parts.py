"""What one GPU holds that several pieces take parts of: partitions, or shares of its memory.

A GPU is *opened* for parts. What fits it is told by its fullest fillings alone: whatever fits is
part of one of them. Partitions fit where a division has them all; shares fit by their memory.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from planner.packing.problem import Part, Shape
from planner.packing.program import Program
from planner.packing.racks import fullest
from planner.packing.solver import solve_integer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planner.packing.problem import Pool

__all__ = ["OPENED", "Fill", "Fillings", "Sharing", "fewest", "fillings", "starts"]

OPENED = Shape(1, 0, 0)
"""An opened GPU, as it is laid out on a node; the host's cores and memory are its pieces' own."""

_MOST_FILLS = 100
_MOST_SIZES = 40
"""Of shares of memory that are told apart; where they are more unlike, or have more fillings, those
of similar size count as the least of them, so that the fillings still hold whatever fits."""
_TIME_S = 5.0

Fill = tuple[tuple[Part, int], ...]
"""What one GPU holds: (part, pieces), sorted."""


@dataclass(frozen=True, slots=True)
class Fillings:
    """Every fullest filling of one GPU of a pool."""

    holds: tuple[Fill, ...]
    """By parts that stand for all of their kind."""
    kinds: Mapping[Part, frozenset[Part]]
    """The parts of each kind, by the one that stands for them."""


def fillings(pool: Pool, parts: Sequence[Part]) -> Fillings:
    """What an opened GPU holds of these parts, at the most: no packing can hold more."""
    profiles = [part for part in parts if part.profile]
    shares = [part for part in parts if not part.profile]
    kinds: dict[Part, set[Part]] = defaultdict(set, {part: {part} for part in profiles})
    holds = list(_divided(pool, profiles))
    if shares:
        shared, least = _told_apart(pool.shared_mb, [part.memory_mb for part in shares])
        holds += shared
        for part in shares:
            kinds[Part("", least[part.memory_mb])].add(part)
    return Fillings(tuple(holds), {alike: frozenset(kinds[alike]) for alike in sorted(kinds)})


def _told_apart(room_mb: int, sizes_mb: Sequence[int]) -> tuple[list[Fill], dict[int, int]]:
    """Fullest fillings of one GPU, and for each size the least of those that count as alike."""
    sizes = sorted(set(sizes_mb))
    for classes in range(min(len(sizes), _MOST_SIZES), 1, -1):
        least = {
            size: sizes[-(-(number * classes // len(sizes)) * len(sizes) // classes)]
            for number, size in enumerate(sizes)
        }
        fills = _shared(room_mb, set(least.values()))
        if len(fills) <= _MOST_FILLS:
            return fills, least
    return _shared(room_mb, {sizes[0]}), dict.fromkeys(sizes, sizes[0])


def _divided(pool: Pool, profiles: Sequence[Part]) -> Iterator[Fill]:
    """Partitions of these profiles that one GPU has, where no division has more of them."""
    known = {part.profile: part for part in profiles}
    held = {
        tuple(sorted(Counter(known[name] for name, _ in one.slots if name in known).items()))
        for one in pool.divisions
    }
    for fill in sorted(held - {()}):
        if not any(fill != other and _covers(other, fill) for other in held):
            yield fill


def _covers(fill: Fill, wanted: Fill) -> bool:
    holds = dict(fill)
    return all(count <= holds.get(part, 0) for part, count in wanted)


def _shared(room: int, sizes: set[int]) -> list[Fill]:
    """Fullest sets of shares of memory, one more than are told apart if there are more."""
    ordered = sorted(sizes, reverse=True)
    sets = fullest(tuple((size, 0) for size in ordered), (room, 0))
    return [
        tuple(
            sorted(
                (Part("", size), count)
                for size, count in zip(ordered, counts, strict=True)
                if count
            )
        )
        for counts in islice(sets, _MOST_FILLS + 1)
    ]


class Sharing:
    """Which parts one GPU of a pool can hold together."""

    def __init__(self, pool: Pool) -> None:
        self._shared_mb = pool.shared_mb
        self._divisions = [Counter(name for name, _ in one.slots) for one in pool.divisions]
        self._known: dict[tuple[Part, ...], bool] = {}

    def holds(self, parts: Sequence[Part]) -> bool:
        """Whether these parts fit one GPU."""
        key = tuple(sorted(parts))
        if key not in self._known:
            self._known[key] = self._fit(key)
        return self._known[key]

    def _fit(self, parts: Sequence[Part]) -> bool:
        profiles = Counter(part.profile for part in parts)
        if not profiles[""]:
            return any(profiles <= division for division in self._divisions)
        memory_mb = sum(part.memory_mb for part in parts)
        return len(profiles) == 1 and memory_mb <= self._shared_mb


@lru_cache(maxsize=1024)
def fewest(fills: tuple[Fill, ...], wanted: Fill) -> tuple[tuple[Fill, int], ...]:
    """Fills, and how often each is used, that hold what is wanted on the fewest GPUs."""
    program = Program()
    used = {fill: program.variable("used", cost=1.0, integer=True) for fill in fills}
    for part, count in wanted:
        terms = {index: float(dict(fill).get(part, 0)) for fill, index in used.items()}
        program.row("held", terms, ">=", count)
    values = solve_integer(program, time_limit_s=_TIME_S).values
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
