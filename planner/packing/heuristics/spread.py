"""Very many unlike units, in one quarter: spread over the nodes that were counted, then levelled.

Where hardly two units are alike, there are no patterns to repeat. The counting program says how
many nodes there are and where most units go; each unit is put on some node there, and levelling
makes it fit. Where that takes too long, nodes are added, each time the one that helps most for
what it costs.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from planner.packing.counting.procure import may_add
from planner.packing.counting.quotas import whole_units
from planner.packing.heuristics.level import Levelling
from planner.packing.heuristics.reseat import Seated, Units
from planner.packing.layouts.greedy import shares
from planner.packing.layouts.repair import Seat, Unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.packing.counting.counts import Counts
    from planner.packing.problem import Problem, Shape

__all__ = ["spread"]

_STEPS = 300
"""Exchanges in one stage."""
_FEW_STAGES, _MANY_STAGES = 2, 20
"""Stages where more nodes may not, and may, be the answer."""
_PROGRESS = 0.9
_PATIENCE = 3
"""Stages that may end with more than this share of what was over before."""
_TRIAL_STEPS = 400
"""Exchanges that show how much an added node helps."""
_MOST_ADDED = 12
"""Nodes added after trials; beyond that, what has no place is seated without any."""

Way = tuple[int, "Shape"]
"""Choice and its shape."""


def spread(
    counts: Counts,
    values: tuple[float, ...],
    go_on: Callable[[], bool],
    *,
    more_nodes: bool,
) -> Seated | None:
    """Seat whole units on the nodes of a counted plan whose units are fractional.

    Without `more_nodes`, None unless all units find a seat soon; with them, some may still be left
    over. None also where units that span nodes lack some. `go_on` is asked before each
    exchange. One quarter only.
    """
    return _Spread(counts, values, go_on).seated(more_nodes=more_nodes)


class _Spread:
    def __init__(
        self, counts: Counts, values: tuple[float, ...], go_on: Callable[[], bool]
    ) -> None:
        self._counts, self._problem, self._go_on = counts, counts.problem, go_on
        self._values = [
            value if index in counts.unit_variables else float(round(value))
            for index, value in enumerate(values)
        ]
        self._whole: Units = defaultdict(lambda: defaultdict(list))
        self._units: list[Unit] = []

    def seated(self, *, more_nodes: bool) -> Seated | None:
        """See `spread`."""
        nodes = self._nodes_left()
        if nodes is None:
            return None
        ways = [_ways(self._problem, unit) for unit in self._units]
        levelling = self._begun(nodes, ways)
        if levelling is None:
            return None
        settled = self._level(levelling, _MANY_STAGES if more_nodes else _FEW_STAGES)
        if more_nodes and not settled:
            levelling = self._with_more_nodes(levelling)
        elif not settled:
            return None
        return self._seats(levelling, ways)

    def _begun(self, nodes: dict[int, int], ways: list[dict[int, Way]]) -> Levelling | None:
        """Every unit somewhere among the nodes that were counted for it; None if there is none."""
        shapes = [{pool: shape for pool, (_, shape) in way.items()} for way in ways]
        kinds = {number: pool.node for number, pool in enumerate(self._problem.pools)}
        levelling = Levelling(kinds, shapes)
        for pool, number in nodes.items():
            levelling.add(pool, number)
        put = all(levelling.put(unit, self._pools_of(unit)) for unit in self._largest_first())
        return levelling if put else None

    def _with_more_nodes(self, levelling: Levelling) -> Levelling:
        """With nodes added until all units fit, or as many as are worth a trial."""
        for _ in range(_MOST_ADDED):
            grown = self._grown(levelling) if self._go_on() else None
            if grown is None:
                break
            levelling = grown
            if self._level(levelling, _MANY_STAGES):
                break
        return levelling

    def _level(self, levelling: Levelling, stages: int) -> bool:
        """Exchange units as long as that gets on; True once all fit."""
        least, idle = levelling.over, 0
        for _ in range(stages):
            if levelling.settle(_STEPS, self._go_on):
                return True
            idle = 0 if levelling.over < least * _PROGRESS else idle + 1
            least = min(least, levelling.over)
            if idle >= _PATIENCE:
                break
        return False

    def _nodes_left(self) -> dict[int, int] | None:
        """Nodes by pool for units that one node holds; None if those that span nodes lack some."""
        left = {
            pool: round(self._counts.nodes(pool, quarter, tuple(self._values)))
            for pool, quarter in self._counts.usages
        }
        chosen = [
            (number, position)
            for number, position in whole_units(self._counts, self._values)
            for _ in range(self._problem.demands[number].choices[position].copies)
        ]
        for unit in sorted(chosen, key=lambda unit: bool(_ways(self._problem, unit))):
            choice = self._problem.demands[unit[0]].choices[unit[1]]
            taken = {
                pool: nodes
                for pool in left
                if self._problem.pools[pool].gpu_type == choice.gpu_type
                and (nodes := self._problem.pools[pool].nodes_taken(choice.shape)) is not None
            }
            pool = max(taken, key=lambda pool: (left[pool] - taken[pool], -pool))
            if min(taken.values()) > 1 and left[pool] >= taken[pool]:
                left[pool] -= taken[pool]
                self._whole[pool][choice.shape].append(unit)
            elif _ways(self._problem, unit):
                self._units.append(unit)
            else:
                return None
        return left

    def _pools_of(self, unit: int) -> list[int]:
        demand, position = self._units[unit]
        gpu_type = self._problem.demands[demand].choices[position].gpu_type
        return [
            number for number, pool in enumerate(self._problem.pools) if pool.gpu_type == gpu_type
        ]

    def _largest_first(self) -> list[int]:
        def size(unit: int) -> tuple[float, int]:
            demand, position = self._units[unit]
            shape = self._problem.demands[demand].choices[position].shape
            node = self._problem.pools[self._pools_of(unit)[0]].node
            return -sum(shares(shape, node)), unit

        return sorted(range(len(self._units)), key=size)

    def _grown(self, levelling: Levelling) -> Levelling | None:
        """With the node on offer that takes most off what is over for its cost, or None."""
        best: tuple[float, int, Levelling] | None = None
        for cents, pool, index in self._on_offer():
            trial = levelling.copy()
            trial.add(pool, 1)
            done = trial.settle(_TRIAL_STEPS, self._go_on)
            worth = (levelling.over - trial.over) / max(cents, 1)
            if done or best is None or worth > best[0]:
                best = (worth, index, trial)
            if done:
                break
        if best is None:
            return None
        self._values[best[1]] += 1.0
        return best[2]

    def _on_offer(self) -> list[tuple[int, int, int]]:
        """(cents, pool, variable) of the cheapest offer for each pool that may grow, by cost."""
        cheapest: dict[int, tuple[int, int, int]] = {}
        for (number, quarter), index in self._counts.acquire.items():
            supply = self._problem.supplies[number]
            cents, pool = supply.unit_cost_cents[quarter], supply.pool
            room = supply.maximum is None or self._values[index] < supply.maximum
            if not room or cents is None or self._problem.pools[pool].spare:
                continue
            if may_add(self._counts, self._values, index):
                offer = (cents, pool, index)
                cheapest[pool] = min(offer, cheapest.get(pool, offer))
        return sorted(cheapest.values())

    def _seats(self, levelling: Levelling, ways: list[dict[int, Way]]) -> Seated | None:
        pools = [self._problem.pools[pool] for pool in levelling.pools]
        seats = [
            Seat(pool, kind.node.gpus, kind.node.cpus, kind.node.memory_mb)
            for pool, kind in zip(levelling.pools, pools, strict=True)
        ]
        held = [
            (demand, *way[seats[place].pool], place)
            for (demand, _), way, place in zip(self._units, ways, levelling.places, strict=True)
        ]
        left_over: list[Unit] = []
        whole: set[int] = set()
        for demand, position, shape, place in held:
            if pools[place].nodes_taken(shape):
                mine = _free(place, whole, seats)
                if mine is None:
                    return None
                whole.add(mine)
                self._whole[seats[mine].pool][shape].append((demand, position))
        for demand, position, shape, place in held:
            if pools[place].nodes_taken(shape):
                continue
            if place not in whole and seats[place].fits(shape):
                seats[place].put((demand, position), shape)
            else:
                left_over.append((demand, position))
        shared = [seat for place, seat in enumerate(seats) if place not in whole]
        return Seated(tuple(self._values), self._whole, shared, left_over)


def _free(place: int, whole: set[int], seats: list[Seat]) -> int | None:
    """The node itself, or, where another unit takes it whole, the last of its pool without one."""
    if place not in whole:
        return place
    alike = (other for other, seat in enumerate(seats) if seat.pool == seats[place].pool)
    return max((other for other in alike if other not in whole), default=None)


def _ways(problem: Problem, unit: Unit) -> dict[int, Way]:
    """By pool, the choice of fewest GPUs, cores and memory among those that one node holds."""
    ways: dict[int, Way] = {}
    for position, choice in problem.open_to(*unit):
        for number, pool in enumerate(problem.pools):
            if pool.gpu_type == choice.gpu_type and pool.nodes_taken(choice.shape) in (0, 1):
                known = ways.get(number)
                if known is None or choice.shape < known[1]:
                    ways[number] = (position, choice.shape)
    return ways
