"""First-fit decreasing with a choice of nodes: what a careful scheduler buys without a program.

Units are placed one after another, the largest first, on the first open node that holds them;
otherwise a node is opened. Two orders of preference are tried and the cheaper result counts. It
knows no hours: a run holds what it takes all quarter. GPUs that are shared by memory are opened one
after another in the same way.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.packing.problem import JobClass, Mode, Pool, Problem, Shape

__all__ = ["Bought", "Way", "first_fit_decreasing", "nodes_for", "prices_of", "share_of"]

Way = tuple[int, "Shape"]
"""(pool, shape)."""


class Bought(NamedTuple):
    """What a way to plan ends with; the cheaper is the less."""

    cost_cents: int
    nodes: int


def first_fit_decreasing(problem: Problem) -> Bought:
    """What a portfolio of one quarter takes with unlimited offers to buy."""
    prices = prices_of(problem)

    def by_share(way: Way) -> float:
        """The part of a node that the unit takes of its scarcest resource, in money."""
        return share_of(problem.pools[way[0]], way[1]) * prices[way[0]]

    def by_node(way: Way) -> float:
        """The price of the node to open."""
        return max(1, problem.pools[way[0]].nodes_taken(way[1]) or 0) * prices[way[0]]

    return min(_Fleet(problem, key).bought(prices) for key in (by_share, by_node))


def nodes_for(problem: Problem, pool: int) -> int:
    """Nodes of one pool that first-fit decreasing opens if everything that can run there does."""
    fleet = _Fleet(problem, lambda _: 0.0, only=pool)
    return fleet.opened[pool]


def prices_of(problem: Problem) -> dict[int, int]:
    """Cents of a node bought in the first quarter, by pool."""
    return {
        supply.pool: supply.unit_cost_cents[0] or 0
        for supply in problem.supplies
        if supply.kind == "buy"
    }


def share_of(pool: Pool, shape: Shape) -> float:
    """The part of a node that a unit takes of its scarcest resource."""
    return max(
        _gpus(shape, pool.shared_mb) / pool.node.gpus,
        shape.cpus / pool.node.cpus,
        shape.memory_mb / pool.node.memory_mb,
    )


def _gpus(shape: Shape, shared_mb: int) -> float:
    """GPUs that it takes; a fraction where it shares one."""
    return shape.part.memory_mb / shared_mb if shape.part.memory_mb else shape.gpus


class _Fleet:
    """Open nodes with what is free on them."""

    def __init__(
        self, problem: Problem, preference: Callable[[Way], float], only: int | None = None
    ) -> None:
        self._pools = problem.pools
        self._free: dict[int, list[list[int]]] = defaultdict(list)
        """By pool and node: GPUs, cores, memory, then what is free of each GPU that is shared."""
        self._first: dict[Way, int] = defaultdict(int)
        """The first node that may still hold a shape: none before it ever will again."""
        self.opened: dict[int, int] = defaultdict(int)
        most_mb = max(pool.shared_mb for pool in problem.pools)
        for job_class in sorted(problem.classes, key=partial(_size, most_mb), reverse=True):
            ways = sorted(self._ways(job_class.modes, only), key=lambda way: (preference(way), way))
            for _ in range(job_class.count if ways else 0):
                self._place(ways)

    def bought(self, prices: dict[int, int]) -> Bought:
        """The opened nodes, and what they cost."""
        cost_cents = sum(nodes * prices[pool] for pool, nodes in self.opened.items())
        return Bought(cost_cents, sum(self.opened.values()))

    def _ways(self, modes: Sequence[Mode], only: int | None) -> list[Way]:
        return [
            (number, mode.shape)
            for mode in modes
            for number, pool in enumerate(self._pools)
            if pool.gpu_type == mode.gpu_type
            and pool.nodes_taken(mode.shape) is not None
            and only in (None, number)
        ]

    def _place(self, ways: list[Way]) -> None:
        if any(self._fit(way) for way in ways):
            return
        pool, shape = ways[0]
        span = self._pools[pool].nodes_taken(shape) or 0
        self.opened[pool] += max(1, span)
        if not span:
            node = self._pools[pool].node
            self._free[pool].append([node.gpus, node.cpus, node.memory_mb])
            self._fit(ways[0])

    def _fit(self, way: Way) -> bool:
        """Place a unit on the first open node that holds it, if there is one."""
        pool, shape = way
        nodes = self._free[pool]
        at = self._first[way]
        while at < len(nodes) and not _taken(nodes[at], shape, self._pools[pool].shared_mb):
            at += 1
        self._first[way] = at
        return at < len(nodes)


def _taken(free: list[int], shape: Shape, shared_mb: int) -> bool:
    """Take a unit's share off what is free on a node; False where it does not fit."""
    if shape.cpus > free[1] or shape.memory_mb > free[2]:
        return False
    needed = shape.part.memory_mb
    opened = next((gpu for gpu in range(3, len(free)) if free[gpu] >= needed > 0), None)
    if opened is None:
        if shape.gpus > free[0]:
            return False
        free[0] -= shape.gpus
    free[1] -= shape.cpus
    free[2] -= shape.memory_mb
    if opened is not None:
        free[opened] -= needed
    elif needed:
        free.append(shared_mb - needed)
    return True


def _size(shared_mb: int, job_class: JobClass) -> tuple[float, int, int]:
    shapes = [mode.shape for mode in job_class.modes]
    return (
        min(_gpus(shape, shared_mb) for shape in shapes),
        min(shape.memory_mb for shape in shapes),
        min(shape.cpus for shape in shapes),
    )
