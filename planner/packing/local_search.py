"""A local search over nodes with excess: units change places until no node holds too much.

If a resource is used to the last, filling node after node leaves the awkward units over. Here every
unit has a node from the start, and the fullest node exchanges units with any other, of whatever
pool, as long as that reduces the excess. A pool with room to spare thus takes the large units, and
the small ones go where room is scarce.

If no exchange helps a node, its excess weighs more from then on, until it is worth passing on to
nodes with less trouble: the way out of a local optimum.

Portfolios of very many unlike units are placed on the nodes of a relaxation in this way. If that
takes too long, nodes are added, each time the one that helps most for its cost; in the end, what
still exceeds a node goes by first-fit to others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from planner.packing.constraints import nodes_allowed
from planner.packing.constraints.quotas import whole_units
from planner.packing.cutting import CuttingStock, Packed, shares
from planner.packing.master import MasterProgram, PoolInQuarter
from planner.packing.problem import Problem, Shape

Floats = NDArray[np.float64]

_EPSILON = 1e-9
_TROUBLE = 50.0
"""How much more a node's excess counts each time that no exchange helps it; it starts at 1.
Measured on two portfolios of 1,000 unlike jobs, in exchanges until all fit: with 50, 900 and
2,100; with 10 and less, more than 3,600; with 300 and more, one does not converge."""
_NOWHERE = -1


class NodesWithExcess:
    """Units on nodes that may hold too much; loads are shares of GPUs, cores and memory."""

    def __init__(self, nodes: Mapping[int, Shape], shapes: Sequence[Mapping[int, Shape]]) -> None:
        """`nodes` are by pool.

        `shapes` give, for each unit, what it takes on which of these pools.
        """
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
        """Return the same units on the same nodes, with all trouble forgotten."""
        other = NodesWithExcess({}, [])
        other._sizes, other._place, other._pool = self._sizes, self._place.copy(), self._pool
        other._load, other._weight = self._load.copy(), np.ones_like(self._weight)
        return other

    @property
    def places(self) -> list[int]:
        """Return the node of each unit, in the order in which nodes were added."""
        return [int(place) for place in self._place]

    @property
    def pools(self) -> list[int]:
        """Return the pool of each node."""
        return [int(pool) for pool in self._pool]

    @property
    def over(self) -> float:
        """Return the total excess in nodes, summed over the resources."""
        return float(_over(self._load).sum())

    def add(self, pool: int, nodes: int) -> None:
        """Add empty nodes."""
        self._pool = np.concatenate([self._pool, np.full(nodes, pool)])
        self._load = np.hstack([self._load, np.zeros((3, nodes))])
        self._weight = np.concatenate([self._weight, np.ones(nodes)])

    def put(self, unit: int, pools: Iterable[int]) -> bool:
        """Put a unit where it exceeds least, on the fullest such node; return False without a node.

        `pools` are those to choose from; if they have no node, any other will do.
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

    @property
    def fit(self) -> bool:
        """Return whether no node is too full."""
        return self.over <= _EPSILON

    def settle(self, steps: int, go_on: Callable[[], bool]) -> bool:
        """Exchange units up to so many times; return True once no node is too full.

        `go_on` is asked before each exchange.
        """
        for _ in range(steps):
            over = _over(self._load) * self._weight
            worst = int(over.argmax())
            if over[worst] <= _EPSILON or not go_on():
                break
            if not self._relieve(worst):
                self._weight[worst] += _TROUBLE
        return self.fit

    def _relieve(self, node: int) -> bool:
        """Make the exchange that helps this node most; return False if none does.

        One of its units goes to another node, and one from there may come.
        """
        mine = np.flatnonzero(self._place == node)
        others = np.flatnonzero(self._place != node)
        nodes = np.delete(np.arange(len(self._pool)), node)
        there = np.concatenate([self._place[others], nodes])
        others = np.concatenate([others, np.full_like(nodes, _NOWHERE)])
        if not len(mine) or not len(there):
            return False
        pool, pools = self._pool[node], self._pool[there]
        here = self._load[:, node, None] - self._sizes[:, mine, pool]
        here = here[:, :, None] + self._sizes[:, others, pool][:, None, :]
        away = (self._load[:, there] - self._sizes[:, others, pools])[:, None, :]
        away = away + self._sizes[:, mine[:, None], pools]
        over = _over(self._load)
        gain = self._weight[node] * (over[node] - _over(here))
        gain += self._weight[there] * (over[there] - _over(away))
        first, second = divmod(int(gain.argmax()), len(there))
        if gain[first, second] <= _EPSILON:
            return False
        target = int(there[second])
        self._load[:, node], self._load[:, target] = here[:, first, second], away[:, first, second]
        if others[second] != _NOWHERE:
            self._place[others[second]] = node
        self._place[mine[first]] = target
        return True


def _over(loads: Floats) -> Floats:
    """Return what exceeds a whole node, summed over the resources."""
    excess = loads - (1.0 + _EPSILON)
    np.maximum(excess, 0.0, out=excess)
    total: Floats = excess[0] + excess[1] + excess[2]
    return total


_STEPS = 300
"""Exchanges in one stage."""
_FEW_STAGES, _MANY_STAGES = 2, 20
"""The most stages if more nodes may not be added, and if they may."""
_PROGRESS = 0.9
_PATIENCE = 3
"""Stages that may end with more than this share of the excess before."""
_TRIAL_STEPS = 400
"""Exchanges that show how much an added node helps."""
_MOST_ADDED = 12
"""The most nodes added after trials; beyond that, first-fit decides."""

UnitIndex = tuple[int, int]
"""The job class and mode of a unit, or of one piece of it."""
ModeShape = tuple[int, "Shape"]
"""A mode and its shape."""
ValuesAndPackings = tuple[tuple[float, ...], dict["PoolInQuarter", Packed]]
"""The values of a plan in whole units, and its packings."""


def place_unlike(
    master: MasterProgram,
    stocks: Mapping[int, CuttingStock],
    values: tuple[float, ...],
    go_on: Callable[[], bool],
    *,
    more_nodes: bool,
) -> ValuesAndPackings | None:
    """Place whole units on the nodes of a solution whose units are fractional.

    Without `more_nodes`, None unless all units find a place soon; with them, None if the offers
    end first. None also if units that span nodes lack some. `go_on` is asked before each
    exchange. For one quarter only, and without parts of GPUs.
    """
    return _Placement(master, values, go_on).placed(stocks, more_nodes=more_nodes)


class _Placement:
    def __init__(
        self, master: MasterProgram, values: tuple[float, ...], go_on: Callable[[], bool]
    ) -> None:
        self._master, self._problem, self._go_on = master, master.problem, go_on
        self._values = [
            value if index in master.unit_variables else float(round(value))
            for index, value in enumerate(values)
        ]
        self._spanning: list[tuple[int, UnitIndex]] = []
        """Units that take several nodes, with their pool."""
        self._units: list[UnitIndex] = []
        """All others, piece by piece."""

    def placed(
        self, stocks: Mapping[int, CuttingStock], *, more_nodes: bool
    ) -> ValuesAndPackings | None:
        """See `place_unlike`."""
        left = self._nodes_left()
        if left is None:
            return None
        options = [_options(self._problem, unit) for unit in self._units]
        nodes = self._begun(left, options)
        if nodes is None:
            return None
        nodes = self._settled(nodes, _MANY_STAGES if more_nodes else _FEW_STAGES)
        if not nodes.fit and not more_nodes:
            return None
        nodes = self._with_more_nodes(nodes)
        pools = nodes.pools
        held = self._fitting(pools, nodes.places, options)
        return self._as_plan(pools, held, options, stocks) if held else None

    def _begun(
        self, left: dict[int, int], options: list[dict[int, ModeShape]]
    ) -> NodesWithExcess | None:
        """Put every unit on one of the nodes left for it; None if there is none."""
        shapes = [{pool: shape for pool, (_, shape) in option.items()} for option in options]
        kinds = {number: pool.node for number, pool in enumerate(self._problem.pools)}
        nodes = NodesWithExcess(kinds, shapes)
        for pool, number in left.items():
            nodes.add(pool, number)
        put = all(nodes.put(unit, self._pools_of(unit)) for unit in self._largest_first())
        return nodes if put else None

    def _with_more_nodes(self, nodes: NodesWithExcess) -> NodesWithExcess:
        """Add nodes until all units fit, or as many as are worth a trial."""
        for _ in range(_MOST_ADDED):
            if nodes.fit:
                break
            grown = self._grown(nodes) if self._go_on() else None
            if grown is None:
                break
            nodes = self._settled(grown, _MANY_STAGES)
        return nodes

    def _settled(self, nodes: NodesWithExcess, stages: int) -> NodesWithExcess:
        """Exchange units as long as that makes progress; return the state with the least excess."""
        best, idle = nodes.copy(), 0
        for _ in range(stages):
            nodes.settle(_STEPS, self._go_on)
            idle = 0 if nodes.over < best.over * _PROGRESS else idle + 1
            if nodes.over < best.over:
                best = nodes.copy()
            if best.fit or idle >= _PATIENCE:
                break
        return best

    def _nodes_left(self) -> dict[int, int] | None:
        """Return the nodes by pool for units on one node; None if spanning units lack nodes."""
        left = {
            pool: round(self._master.nodes(pool, quarter, tuple(self._values)))
            for pool, quarter in self._master.usages
        }
        chosen = [
            (number, position)
            for number, position in whole_units(self._master, self._values)
            for _ in range(self._problem.classes[number].modes[position].copies)
        ]
        for unit in sorted(chosen, key=lambda unit: bool(_options(self._problem, unit))):
            mode = self._problem.classes[unit[0]].modes[unit[1]]
            taken = {
                pool: nodes
                for pool in left
                if self._problem.pools[pool].gpu_type == mode.gpu_type
                and (nodes := self._problem.pools[pool].nodes_taken(mode.shape)) is not None
            }
            pool = max(taken, key=lambda pool: (left[pool] - taken[pool], -pool))
            if min(taken.values()) > 1 and left[pool] >= taken[pool]:
                left[pool] -= taken[pool]
                self._spanning.append((pool, unit))
            elif _options(self._problem, unit):
                self._units.append(unit)
            else:
                return None
        return left

    def _pools_of(self, unit: int) -> list[int]:
        job_class, position = self._units[unit]
        gpu_type = self._problem.classes[job_class].modes[position].gpu_type
        return [
            number for number, pool in enumerate(self._problem.pools) if pool.gpu_type == gpu_type
        ]

    def _largest_first(self) -> list[int]:
        def size(unit: int) -> tuple[float, int]:
            job_class, position = self._units[unit]
            shape = self._problem.classes[job_class].modes[position].shape
            node = self._problem.pools[self._pools_of(unit)[0]].node
            return -sum(shares(shape, node)), unit

        return sorted(range(len(self._units)), key=size)

    def _grown(self, nodes: NodesWithExcess) -> NodesWithExcess | None:
        """Add the offered node that reduces the excess most for its cost; None without one."""
        best: tuple[float, int, NodesWithExcess] | None = None
        for cents, pool, index in self._on_offer():
            trial = nodes.copy()
            trial.add(pool, 1)
            done = trial.settle(_TRIAL_STEPS, self._go_on)
            worth = (nodes.over - trial.over) / max(cents, 1)
            if done or best is None or worth > best[0]:
                best = (worth, index, trial)
            if done:
                break
        if best is None:
            return None
        self._values[best[1]] += 1.0
        return best[2]

    def _on_offer(self) -> list[tuple[int, int, int]]:
        """Return the cheapest offer for each pool that may grow, by cost.

        As (cents, pool, variable).
        """
        cheapest: dict[int, tuple[int, int, int]] = {}
        for (number, quarter), index in self._master.acquire.items():
            supply = self._problem.supplies[number]
            if supply.releases:
                continue
            cents, pool = supply.unit_cost_cents[quarter], supply.pool
            room = supply.maximum is None or self._values[index] < supply.maximum
            if not room or cents is None or (pool, quarter) in self._master.usable:
                continue
            grown = [*self._values]
            grown[index] += 1.0
            if nodes_allowed(self._master, grown):
                offer = (cents, pool, index)
                cheapest[pool] = min(offer, cheapest.get(pool, offer))
        return sorted(cheapest.values())

    def _fitting(
        self, pools: list[int], places: list[int], options: list[dict[int, ModeShape]]
    ) -> list[list[int]] | None:
        """Move units that exceed their nodes to others by first-fit, or to more nodes.

        `pools` grows by the nodes that are added. None if an offer ends before all fit.
        """
        kinds = self._problem.pools
        held: list[list[int]] = [[] for _ in pools]
        free = [_size(kinds[pool].node) for pool in pools]

        def fits(unit: int, node: int) -> bool:
            option = options[unit].get(pools[node])
            if option is None or any(
                take > room for take, room in zip(option[1][:3], free[node], strict=True)
            ):
                return False
            return not (held[node] and kinds[pools[node]].nodes_taken(option[1]))

        def put(unit: int, node: int) -> None:
            held[node].append(unit)
            taken = options[unit][pools[node]][1]
            whole = kinds[pools[node]].nodes_taken(taken)
            free[node] = [0 if whole else a - b for a, b in zip(free[node], taken[:3], strict=True)]

        evicted = []
        for unit in self._largest_first():
            if fits(unit, places[unit]):
                put(unit, places[unit])
            else:
                evicted.append(unit)
        for unit in evicted:
            node = next((node for node in range(len(pools)) if fits(unit, node)), None)
            if node is None:
                added = next((one for one in self._on_offer() if one[1] in options[unit]), None)
                if added is None:
                    return None
                self._values[added[2]] += 1.0
                pools.append(added[1])
                held.append([])
                free.append(_size(kinds[added[1]].node))
                node = len(pools) - 1
            put(unit, node)
        return held

    def _as_plan(
        self,
        pools: list[int],
        held: list[list[int]],
        options: list[dict[int, ModeShape]],
        stocks: Mapping[int, CuttingStock],
    ) -> ValuesAndPackings:
        """Return values with these units on these nodes, and what shares nodes as patterns."""
        master, classes = self._master, self._problem.classes
        chosen = Counter(unit for _, unit in self._spanning)
        shaped: Counter[tuple[int, Shape]] = Counter()
        for pool, (number, position) in self._spanning:
            shaped[pool, classes[number].modes[position].shape] += 1
        patterns: dict[int, Counter[tuple[tuple[int, int], ...]]] = defaultdict(Counter)
        for pool, units in zip(pools, held, strict=True):
            index_of = {shape: index for index, shape in enumerate(stocks[pool].shapes)}
            pattern: Counter[int] = Counter()
            for unit in units:
                position, shape = options[unit][pool]
                chosen[self._units[unit][0], position] += 1
                shaped[pool, shape] += 1
                if not self._problem.pools[pool].nodes_taken(shape):
                    pattern[index_of[shape]] += 1
            if pattern:
                patterns[pool][tuple(sorted(pattern.items()))] += 1
        values = list(self._values)
        for key, index in master.mode.items():
            values[index] = float(chosen[key] // classes[key[0]].modes[key[1]].copies)
        for (pool, _), usages in master.usages.items():
            for usage in usages:
                if usage.terms[0][0] in master.splits:
                    values[usage.terms[0][0]] = float(shaped[pool, usage.shape])
        packed = {key: Packed(tuple(patterns[key[0]].items())) for key in master.usages}
        return tuple(values), packed


def _size(node: Shape) -> list[int]:
    return [node.gpus, node.cpus, node.memory_mb]


def _options(problem: Problem, unit: UnitIndex) -> dict[int, ModeShape]:
    """Return, for each pool, the smallest mode that fits one node: by GPUs, cores, memory."""
    options: dict[int, ModeShape] = {}
    for position, mode in problem.open_to(*unit):
        for number, pool in enumerate(problem.pools):
            if pool.gpu_type == mode.gpu_type and pool.nodes_taken(mode.shape) in (0, 1):
                known = options.get(number)
                if known is None or mode.shape < known[1]:
                    options[number] = (position, mode.shape)
    return options
