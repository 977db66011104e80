"""Nodes that units share while they are seated one by one, and what fits on them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from planner.packing.problem import WHOLE, Choice, Part, Pool, Problem, Shape

Group = tuple[int, int]
"""Demand and choice: units of one group are interchangeable in a layout."""


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

    def opens_for(self, shape: Shape) -> bool:
        """Whether the unit would take a part of a GPU that nobody has parts of yet."""
        return shape.part != WHOLE and self._opened_for(shape.part) is None

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


def seat_all(
    problem: Problem, nodes: Sequence[SharedNode], waiting: Sequence[Group]
) -> list[Group]:
    """Seat units, the largest first, each where it fits tightest; those that found no room."""
    by_pool: dict[int, list[SharedNode]] = {}
    for node in nodes:
        by_pool.setdefault(node.pool, []).append(node)
    open_to: dict[Group, list[SharedNode]] = {}
    left = []

    def choice(unit: Group) -> Choice:
        return problem.demands[unit[0]].choices[unit[1]]

    def size(unit: Group) -> tuple[int, int, Group]:
        return choice(unit).shape.gpus, choice(unit).shape.memory_mb, unit

    def room(node: SharedNode, shape: Shape) -> float:
        whole = problem.pools[node.pool].node
        memory = (node.memory_mb - shape.memory_mb) / max(whole.memory_mb, 1)
        return memory + (node.gpus - shape.gpus) / whole.gpus + node.opens_for(shape)

    for unit in sorted(waiting, key=size, reverse=True):
        shape = choice(unit).shape
        if unit not in open_to:
            open_to[unit] = [
                node
                for pool, those in by_pool.items()
                if problem.pools[pool].gpu_type == choice(unit).gpu_type
                and problem.pools[pool].nodes_taken(shape) == 0
                for node in those
            ]
        fitting = (node for node in open_to[unit] if node.fits(shape))
        best = min(fitting, key=lambda node: room(node, shape), default=None)
        if best is None:
            left.append(unit)
        else:
            best.put(unit, shape)
    return left
