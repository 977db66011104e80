"""First-fit decreasing with a choice of nodes: what a careful scheduler buys without a program.

Units are placed one after another, the largest first, on the first open node that holds them;
otherwise a node is opened. Two orders of preference are tried and the cheaper result counts. It
knows no hours: a run holds what it takes all quarter.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planner.packing.problem import Choice, Demand, Pool, Problem, Shape

__all__ = ["Bought", "first_fit_decreasing", "nodes_for"]

_Way = tuple[int, "Shape"]
"""(pool, shape)."""


class Bought(NamedTuple):
    """What a way to plan ends with; the cheaper is the less."""

    cost_cents: int
    nodes: int


def first_fit_decreasing(problem: Problem) -> Bought:
    """What a portfolio of one quarter takes with unlimited offers to buy."""
    prices = _prices(problem)

    def by_share(way: _Way) -> float:
        """The part of a node that the unit takes of its scarcest resource, in money."""
        return _share(problem.pools[way[0]], way[1]) * prices[way[0]]

    def by_node(way: _Way) -> float:
        """The price of the node to open."""
        return max(1, problem.pools[way[0]].nodes_taken(way[1]) or 0) * prices[way[0]]

    return min(_Fleet(problem, key).bought(prices) for key in (by_share, by_node))


def nodes_for(problem: Problem, pool: int) -> int:
    """Nodes of one pool that first-fit decreasing opens if everything that can run there does."""
    fleet = _Fleet(problem, lambda _: 0.0, only=pool)
    return fleet.opened[pool]


def _prices(problem: Problem) -> dict[int, int]:
    """Cents of a node bought in the first quarter, by pool."""
    return {
        supply.pool: supply.unit_cost_cents[0] or 0
        for supply in problem.supplies
        if supply.kind == "buy"
    }


def _share(pool: Pool, shape: Shape) -> float:
    """The part of a node that a unit takes of its scarcest resource."""
    return max(
        shape.gpus / pool.node.gpus,
        shape.cpus / pool.node.cpus,
        shape.memory_mb / pool.node.memory_mb,
    )


class _Fleet:
    """Open nodes with what is free on them."""

    def __init__(
        self, problem: Problem, preference: Callable[[_Way], float], only: int | None = None
    ) -> None:
        self._pools = problem.pools
        self._free: dict[int, list[list[int]]] = defaultdict(list)
        """By pool and node: GPUs, cores, memory."""
        self._first: dict[_Way, int] = defaultdict(int)
        """The first node that may still hold a shape: none before it ever will again."""
        self.opened: dict[int, int] = defaultdict(int)
        for demand in sorted(problem.demands, key=_size, reverse=True):
            ways = sorted(self._ways(demand.choices, only), key=lambda way: (preference(way), way))
            for _ in range(demand.count if ways else 0):
                self._place(ways)

    def bought(self, prices: dict[int, int]) -> Bought:
        """The opened nodes, and what they cost."""
        cost_cents = sum(nodes * prices[pool] for pool, nodes in self.opened.items())
        return Bought(cost_cents, sum(self.opened.values()))

    def _ways(self, choices: Sequence[Choice], only: int | None) -> list[_Way]:
        return [
            (number, choice.shape)
            for choice in choices
            for number, pool in enumerate(self._pools)
            if pool.gpu_type == choice.gpu_type
            and pool.nodes_taken(choice.shape) is not None
            and only in (None, number)
        ]

    def _place(self, ways: list[_Way]) -> None:
        if any(self._fit(way) for way in ways):
            return
        pool, shape = ways[0]
        span = self._pools[pool].nodes_taken(shape) or 0
        self.opened[pool] += max(1, span)
        if not span:
            node = self._pools[pool].node
            self._free[pool].append([node.gpus, node.cpus, node.memory_mb])
            self._fit(ways[0])

    def _fit(self, way: _Way) -> bool:
        """Place a unit on the first open node that holds it, if there is one."""
        pool, shape = way
        nodes = self._free[pool]
        at = self._first[way]
        while at < len(nodes) and not _taken(nodes[at], shape):
            at += 1
        self._first[way] = at
        return at < len(nodes)


def _taken(free: list[int], shape: Shape) -> bool:
    """Take a unit's share off what is free on a node; False where it does not fit."""
    needed = (shape.gpus, shape.cpus, shape.memory_mb)
    if any(size > left for size, left in zip(needed, free, strict=True)):
        return False
    free[:] = (left - size for size, left in zip(needed, free, strict=True))
    return True


def _size(demand: Demand) -> tuple[int, int, int]:
    shapes = [choice.shape for choice in demand.choices]
    return (
        min(shape.gpus for shape in shapes),
        min(shape.memory_mb for shape in shapes),
        min(shape.cpus for shape in shapes),
    )
