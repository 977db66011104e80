"""Ejection chains: units that fit nowhere find room on nodes, as others move out of their way.

A unit takes the place of another that fits elsewhere, possibly after a third has moved.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from planner.packing.problem import WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planner.packing.problem import Part, Pool, Problem, Shape


Group = tuple[int, int]
"""Demand and choice: units of one group are interchangeable in a layout."""
Taken = tuple[tuple[int, int, int], tuple[Group, ...], tuple[tuple["Part", ...], ...]]
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
class SharedNode:
    """One node while units are moved about."""

    pool: int
    gpus: int
    """Free; likewise `cpus` and `memory_mb`."""
    cpus: int
    memory_mb: int
    units: list[Group] = field(default_factory=list)
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

    def fits_instead(self, shape: Shape, other: Group, moved: Shape) -> bool:
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

    def put(self, unit: Group, shape: Shape) -> None:
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

    def take(self, unit: Group, shape: Shape) -> None:
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


def empty_node(number: int, pool: Pool) -> SharedNode:
    """A node of a pool, of that number, with nothing on it."""
    sharing = _sharing(pool) if pool.divisions or pool.shared_mb else None
    node, apart = pool.node, not pool.mixes
    return SharedNode(number, node.gpus, node.cpus, node.memory_mb, sharing=sharing, apart=apart)


class EjectionChains:
    """Nodes of one quarter, and the search for room on them."""

    def __init__(self, problem: Problem, nodes: Sequence[SharedNode]) -> None:
        self._problem = problem
        self._by_pool: dict[int, list[SharedNode]] = {}
        for node in nodes:
            self._by_pool.setdefault(node.pool, []).append(node)
        self._open: dict[Group, list[SharedNode]] = {}
        self._looks = 0

    def seat_all(self, left_over: Sequence[Group], chain: int = _CHAIN) -> list[Group]:
        """Seat units, the largest first; returns those that found no room.

        Up to `chain - 1` others may move for each.
        """
        unseated, looks = [], 0
        for unit in sorted(left_over, key=self._size, reverse=True):
            self._looks = 0
            if not self._seat(unit, chain if looks < _LOOKS_IN_ALL else 1, frozenset()):
                unseated.append(unit)
            looks += self._looks
        return unseated

    def _size(self, unit: Group) -> tuple[int, int, Group]:
        shape = self._shape(unit)
        return shape.gpus, shape.memory_mb, unit

    def _shape(self, unit: Group) -> Shape:
        return self._problem.demands[unit[0]].choices[unit[1]].shape

    def _open_to(self, unit: Group) -> list[SharedNode]:
        """Nodes that a unit may share with others."""
        if unit not in self._open:
            choice, pools = self._problem.demands[unit[0]].choices[unit[1]], self._problem.pools
            self._open[unit] = [
                node
                for pool, nodes in self._by_pool.items()
                if pools[pool].gpu_type == choice.gpu_type
                and pools[pool].nodes_taken(choice.shape) == 0
                for node in nodes
            ]
        return self._open[unit]

    def _seat(self, unit: Group, chain: int, settled: frozenset[Group]) -> bool:
        """Seat one unit where it fits tightest; else up to `chain - 1` others move that may."""
        shape, best = self._shape(unit), None
        self._looks += len(self._open_to(unit))
        for node in self._open_to(unit):
            if node.fits(shape):
                whole = self._problem.pools[node.pool].node
                room = (node.memory_mb - shape.memory_mb) / max(whole.memory_mb, 1)
                room += (node.gpus - shape.gpus) / whole.gpus + node.opens_for(shape)
                if best is None or room < best[0]:
                    best = room, node
        if best:
            best[1].put(unit, shape)
            return True
        return chain > 1 and self._eject(unit, chain, settled)

    def _eject(self, unit: Group, chain: int, settled: frozenset[Group]) -> bool:
        shape = self._shape(unit)
        for node, other in self._ejections(unit, settled):
            if self._looks > _LOOKS:
                return False
            before = node.taken()
            node.take(other, self._shape(other))
            node.put(unit, shape)
            if self._seat(other, chain - 1, settled | {unit}):
                return True
            node.back_to(before)
        return False

    def _ejections(
        self, unit: Group, settled: frozenset[Group]
    ) -> Iterator[tuple[SharedNode, Group]]:
        """Nodes that a unit could have if another left, and that other."""
        shape = self._shape(unit)
        for node in self._open_to(unit):
            for other in sorted(set(node.units) - settled - {unit}):
                if node.fits_instead(shape, other, self._shape(other)):
                    yield node, other
