"""Nodes of one quarter while units are placed on them, and moved out of each other's way.

A unit that fits nowhere takes the place of another that fits elsewhere, possibly after a third has
moved: an ejection chain.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from planner.packing.problem import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from planner.packing.problem import Part, Pool, Problem, Shape

__all__ = ["Bench", "Seat", "Unit", "empty_seat"]

Unit = tuple[int, int]
"""Demand and choice of a unit, or of one piece of it."""
Taken = tuple[tuple[int, int, int], tuple[Unit, ...], tuple[tuple["Part", ...], ...]]
"""GPUs, cores and MB that are free; units; opened GPUs."""

_CHAIN = 3
"""Units that may move to seat one."""
_LOOKS = 500_000
"""Looks at a node for one unit before it is given up."""
_LOOKS_IN_ALL = 6_000_000
"""Looks for all units together, beyond which nobody moves any more."""


class _Sharing:
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


_sharing = lru_cache(maxsize=64)(_Sharing)


@dataclass(slots=True)
class Seat:
    """One node while units are moved about."""

    pool: int
    gpus: int
    """Free; likewise `cpus` and `memory_mb`."""
    cpus: int
    memory_mb: int
    units: list[Unit] = field(default_factory=list)
    sharing: _Sharing | None = None
    """What one GPU here holds together, where units may take parts of one."""
    opened: list[tuple[Part, ...]] = field(default_factory=list)
    """GPUs that parts are taken of, by these parts."""
    apart: bool = False
    """Whether it may hold partitions or others, and not both."""

    def fits(self, shape: Shape) -> bool:
        """Whether the unit fits into what is free."""
        return (
            shape.cpus <= self.cpus
            and shape.memory_mb <= self.memory_mb
            and (
                shape.gpus <= self.gpus
                or (shape.part != WHOLE and self._opened_for(shape.part) is not None)
            )
            and self._mixes(shape)
        )

    def fits_instead(self, shape: Shape, other: Unit, moved: Shape) -> bool:
        """Whether the unit would fit if another left."""
        if (
            shape.cpus > self.cpus + moved.cpus
            or shape.memory_mb > self.memory_mb + moved.memory_mb
            or shape.gpus > self.gpus + moved.gpus
        ):
            return False
        if shape.part == moved.part == WHOLE:
            return True
        before = self.taken()
        self.take(other, moved)
        fits = self.fits(shape)
        self.back_to(before)
        return fits

    def put(self, unit: Unit, shape: Shape) -> None:
        """Seat a unit."""
        self.units.append(unit)
        self.cpus -= shape.cpus
        self.memory_mb -= shape.memory_mb
        if shape.part == WHOLE:
            self.gpus -= shape.gpus
            return
        gpu = self._opened_for(shape.part)
        if gpu is None:
            self.gpus -= 1
            self.opened.append((shape.part,))
        else:
            self.opened[gpu] = tuple(sorted((*self.opened[gpu], shape.part)))

    def take(self, unit: Unit, shape: Shape) -> None:
        """Let a unit go; where it took a part, of the GPU that has the fewest."""
        self.units.remove(unit)
        self.cpus += shape.cpus
        self.memory_mb += shape.memory_mb
        if shape.part == WHOLE:
            self.gpus += shape.gpus
            return
        parts = min((one for one in self.opened if shape.part in one), key=len)
        self.opened.remove(parts)
        left = list(parts)
        left.remove(shape.part)
        if left:
            self.opened.append(tuple(left))
        else:
            self.gpus += 1

    def opens_for(self, shape: Shape) -> bool:
        """Whether the unit would take a part of a GPU that nobody has parts of yet."""
        return shape.part != WHOLE and self._opened_for(shape.part) is None

    def taken(self) -> Taken:
        """What is seated and free now, to come back to."""
        return (self.gpus, self.cpus, self.memory_mb), (*self.units,), (*self.opened,)

    def back_to(self, before: Taken) -> None:
        """Undo all moves since then."""
        (self.gpus, self.cpus, self.memory_mb), units, opened = before
        self.units[:], self.opened[:] = units, opened

    def _mixes(self, shape: Shape) -> bool:
        if not (self.apart and self.units):
            return True
        partitioned = any(part.profile for parts in self.opened for part in parts)
        return partitioned == bool(shape.part.profile)

    def _opened_for(self, part: Part) -> int | None:
        """The fullest of the opened GPUs that hold one part more."""
        if self.sharing is None:
            return None
        fitting = [
            (len(parts), -gpu)
            for gpu, parts in enumerate(self.opened)
            if self.sharing.holds((*parts, part))
        ]
        return -max(fitting)[1] if fitting else None


def empty_seat(number: int, pool: Pool) -> Seat:
    """A node of a pool, of that number, with nothing on it."""
    sharing = _sharing(pool) if pool.divisions or pool.shared_mb else None
    node, apart = pool.node, not pool.mixes
    return Seat(number, node.gpus, node.cpus, node.memory_mb, sharing=sharing, apart=apart)


class Bench:
    """All nodes of one quarter and the ways to seat a unit on them."""

    def __init__(
        self, problem: Problem, seats: Sequence[Seat], go_on: Callable[[], bool] = lambda: True
    ) -> None:
        """Once `go_on` says no, nobody moves any more."""
        self._problem, self._go_on = problem, go_on
        self._seats = list(seats)
        self._by_pool: dict[int, list[Seat]] = {}
        for seat in self._seats:
            self._by_pool.setdefault(seat.pool, []).append(seat)
        self._ways: dict[Unit, tuple[tuple[int, Shape, int], ...]] = {}
        self._looks = 0

    def add(self, seat: Seat) -> None:
        """One node more."""
        self._seats.append(seat)
        self._by_pool.setdefault(seat.pool, []).append(seat)
        self._ways.clear()

    @property
    def seats(self) -> list[Seat]:
        """The nodes as they are now."""
        return self._seats

    def seat_all(self, left_over: Sequence[Unit], chain: int = _CHAIN) -> list[Unit]:
        """Seat units, the largest first; returns those that found no seat.

        Up to `chain - 1` others may move for each. A piece of several keeps its choice.
        """
        ordered = sorted(left_over, key=lambda unit: (self._size(unit[0]), unit), reverse=True)
        unseated, looks = [], 0
        for unit in ordered:
            self._looks = 0
            patient = looks < _LOOKS_IN_ALL and self._go_on()
            if not self._seat(unit, chain if patient else 1, frozenset()):
                unseated.append(unit)
            looks += self._looks
        return unseated

    def _size(self, demand: int) -> tuple[int, int]:
        shapes = [choice.shape for choice in self._problem.demands[demand].choices]
        return min(shape.gpus for shape in shapes), min(shape.memory_mb for shape in shapes)

    def _options(self, unit: Unit) -> tuple[tuple[int, Shape, int], ...]:
        """(choice, shape, pool) for every way to run a unit within one node."""
        if unit not in self._ways:
            self._ways[unit] = tuple(
                (position, choice.shape, pool)
                for position, choice in self._problem.open_to(*unit)
                for pool in self._by_pool
                if self._problem.pools[pool].gpu_type == choice.gpu_type
                and self._problem.pools[pool].nodes_taken(choice.shape) == 0
            )
        return self._ways[unit]

    def _seat(self, unit: Unit, chain: int, moved_before: frozenset[int]) -> bool:
        """Seat one unit, moving up to `chain - 1` others; units of these demands stay put."""
        best: tuple[float, Seat, int, Shape] | None = None
        for position, shape, pool in self._options(unit):
            node = self._problem.pools[pool].node
            self._looks += len(self._by_pool[pool])
            for seat in self._by_pool[pool]:
                if seat.fits(shape):
                    room = (seat.memory_mb - shape.memory_mb) / max(node.memory_mb, 1)
                    room += (seat.gpus - shape.gpus) / node.gpus + seat.opens_for(shape)
                    if best is None or room < best[0]:
                        best = (room, seat, position, shape)
        if best:
            best[1].put((unit[0], best[2]), best[3])
            return True
        return chain > 1 and self._eject(unit, chain, moved_before)

    def _eject(self, unit: Unit, chain: int, moved_before: frozenset[int]) -> bool:
        for seat, position, shape, other, moved in self._ejections(unit, moved_before):
            if self._looks > _LOOKS:
                return False
            before = seat.taken()
            seat.take(other, moved)
            seat.put((unit[0], position), shape)
            if self._seat(other, chain - 1, moved_before | {unit[0]}):
                return True
            seat.back_to(before)
        return False

    def _ejections(
        self, unit: Unit, moved_before: frozenset[int]
    ) -> Iterator[tuple[Seat, int, Shape, Unit, Shape]]:
        """Seats that a unit could have if another left: (seat, choice, shape, other, its shape)."""
        for position, shape, pool in self._options(unit):
            for seat in self._by_pool[pool]:
                for other in sorted(set(seat.units)):
                    moved = self._problem.demands[other[0]].choices[other[1]].shape
                    if (
                        other[0] != unit[0]
                        and other[0] not in moved_before
                        and seat.fits_instead(shape, other, moved)
                    ):
                        yield seat, position, shape, other, moved
