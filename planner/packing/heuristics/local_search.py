"""A local search over nodes with excess: units change places until no node holds too much.

Where a resource is used to the last, filling node after node leaves the awkward units over. Here
every unit has a node from the start, and the fullest node exchanges units with any other, of
whatever pool, as long as that reduces the excess. A pool with room to spare thus takes the large
units, and the small ones go where room is scarce.

Where no exchange helps a node, its excess weighs more from then on, until it is worth passing it on
to nodes that had less trouble: the way out of a local optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from planner.packing.node_packing.greedy import shares
from planner.packing.problem import Shape

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_EPSILON = 1e-9
_TROUBLE = 50.0
"""How much more a node's excess counts each time that no exchange helps it, over 1 at first.
Measured on two portfolios of 1,000 unlike jobs, in exchanges until all fit: with 50, 900 and 2,100;
with 10 and less, more than 3,600; with 300 and more, one goes astray."""
_NOWHERE = -1


class NodesWithExcess:
    """Units on nodes that may hold too much; loads are in shares of GPUs, cores and memory."""

    def __init__(self, nodes: Mapping[int, Shape], shapes: Sequence[Mapping[int, Shape]]) -> None:
        """`nodes` are by pool, `shapes` say by unit what it takes on which of these pools."""
        self._sizes = np.full((3, len(shapes) + 1, max(nodes, default=0) + 1), np.inf)
        self._sizes[:, _NOWHERE] = 0.0
        for unit, ways in enumerate(shapes):
            for pool, shape in ways.items():
                self._sizes[:, unit, pool] = shares(shape, nodes[pool])
        self._place = np.full(len(shapes), _NOWHERE, dtype=np.int64)
        self._pool = np.empty(0, dtype=np.int64)
        self._load = np.empty((3, 0))
        self._weight = np.empty(0)

    def copy(self) -> NodesWithExcess:
        """The same units on the same nodes, without regard to which were trouble so far."""
        other = NodesWithExcess({}, [])
        other._sizes, other._place, other._pool = self._sizes, self._place.copy(), self._pool
        other._load, other._weight = self._load.copy(), np.ones_like(self._weight)
        return other

    @property
    def places(self) -> list[int]:
        """The node of each unit, by the order in which nodes were added."""
        return [int(place) for place in self._place]

    @property
    def pools(self) -> list[int]:
        """The pool of each node."""
        return [int(pool) for pool in self._pool]

    @property
    def over(self) -> float:
        """What exceeds the nodes, in nodes, summed over the resources."""
        return float(_over(self._load).sum())

    def add(self, pool: int, nodes: int) -> None:
        """Add empty nodes."""
        self._pool = np.concatenate([self._pool, np.full(nodes, pool)])
        self._load = np.hstack([self._load, np.zeros((3, nodes))])
        self._weight = np.concatenate([self._weight, np.ones(nodes)])

    def put(self, unit: int, pools: Iterable[int]) -> bool:
        """Put a unit where it exceeds least, and the fullest such node; False if no node is there.

        `pools` are those to choose from; where they have no node, any other will do.
        """
        allowed = np.isin(self._pool, list(pools))
        loads = self._load + self._sizes[:, unit, self._pool]
        excess = _over(loads) - _over(self._load)
        excess[~allowed] += float(len(self._place))
        if not np.isfinite(excess).any():
            return False
        node = int(np.lexsort((-loads.sum(axis=0), excess.round(6)))[0])
        self._place[unit], self._load[:, node] = node, loads[:, node]
        return True

    def settle(self, steps: int, go_on: Callable[[], bool]) -> bool:
        """Exchange units up to so many times; True once no node is too full.

        `go_on` is asked before each exchange.
        """
        for _ in range(steps):
            over = _over(self._load) * self._weight
            worst = int(over.argmax())
            if over[worst] <= _EPSILON or not go_on():
                break
            if not self._relieve(worst):
                self._weight[worst] += _TROUBLE
        return self.over <= _EPSILON

    def _relieve(self, node: int) -> bool:
        """Make the exchange that helps this node most: one unit first, two where one does not."""
        mine, others = np.flatnonzero(self._place == node), np.flatnonzero(self._place != node)
        single = np.column_stack([mine, np.full_like(mine, _NOWHERE)])
        double = np.array([*combinations(mine.tolist(), 2)], dtype=np.int64).reshape(-1, 2)
        alone = np.column_stack([others, np.full_like(others, _NOWHERE)])
        return (
            self._exchange(node, single, alone, moves=True)
            or self._exchange(node, double, alone)
            or self._exchange(node, np.vstack([single, double]), self._pairs(node))
        )

    def _pairs(self, node: int) -> Integers:
        """Pairs of units that are on one node, another than this."""
        order = np.argsort(self._place, kind="stable")
        held = self._place[order]
        pairs = [np.empty((0, 2), dtype=np.int64)]
        for apart in range(1, len(order)):
            same = held[:-apart] == held[apart:]
            if not same.any():
                break
            found = np.flatnonzero(same & (held[apart:] != node))
            pairs.append(np.column_stack([order[found], order[found + apart]]))
        return np.vstack(pairs)

    def _exchange(
        self, node: int, mine: Integers, others: Integers, *, moves: bool = False
    ) -> bool:
        """Exchange the groups that take most off what is over; False where none takes any off.

        With `moves`, a group may also go to a node without any coming back.
        """
        there = self._place[others[:, 0]]
        if moves:
            nodes = np.delete(np.arange(len(self._pool)), node)
            nothing = np.full((len(nodes), 2), _NOWHERE)
            there, others = np.concatenate([there, nodes]), np.vstack([others, nothing])
        if not len(mine) or not len(there):
            return False
        pool, pools = self._pool[node], self._pool[there]
        here = (self._load[:, node, None] - self._take(mine, pool))[:, :, None]
        here = here + self._take(others, pool)[:, None, :]
        away = (self._load[:, there] - self._take(others, pools))[:, None, :]
        away = away + self._take(mine)[:, :, pools]
        over = _over(self._load)
        gain = self._weight[node] * (over[node] - _over(here))
        gain += self._weight[there] * (over[there] - _over(away))
        first, second = divmod(int(gain.argmax()), len(there))
        if gain[first, second] <= _EPSILON:
            return False
        target = int(there[second])
        self._load[:, node], self._load[:, target] = here[:, first, second], away[:, first, second]
        self._place[[unit for unit in others[second].tolist() if unit != _NOWHERE]] = node
        self._place[[unit for unit in mine[first].tolist() if unit != _NOWHERE]] = target
        return True

    def _take(self, groups: Integers, pools: Integers | np.int64 | slice = slice(None)) -> Floats:
        """What groups of up to two units take: each group on its pool, or on every pool."""
        first, second = groups[:, 0], groups[:, 1]
        total: Floats = self._sizes[:, first, pools] + self._sizes[:, second, pools]
        return total


def _over(loads: Floats) -> Floats:
    """What exceeds a whole node, summed over the resources."""
    excess = loads - (1.0 + _EPSILON)
    np.maximum(excess, 0.0, out=excess)
    total: Floats = excess[0] + excess[1] + excess[2]
    return total
