"""From a counted plan with runs of some weeks to nodes, by ejection; units may change their choice.

The nodes stay as they are counted. What takes parts of GPUs keeps its choice too: the GPUs that it
shares are put together first, and each is then a piece of its pool and quarter like any other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.packing.counting.layout import load_of
from planner.packing.counting.limits import free_to_hold
from planner.packing.counting.quotas import whole_units
from planner.packing.counting.variants import gpu_prices
from planner.packing.layouts.bundles import Arrangement, arranged
from planner.packing.layouts.fitting import rectangle
from planner.packing.layouts.packed import Packed
from planner.packing.layouts.parts import OPENED
from planner.packing.layouts.timetable import pattern_of
from planner.packing.problem import ALWAYS, WEEKS, WHOLE
from planner.packing.weeks.asked import Asked, Way
from planner.packing.weeks.ejection import Ejection
from planner.packing.weeks.fleet import Fleet
from planner.packing.weeks.shares import Shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from planner.packing.counting.counts import Counts
    from planner.packing.layouts.cutting import CuttingStock
    from planner.packing.layouts.greedy import Pattern
    from planner.packing.layouts.timetable import Started, Timetable
    from planner.packing.problem import Choice, Demand, Shape
    from planner.packing.weeks.asked import Key, Placed

__all__ = ["SeatedInWeeks", "seat_in_weeks"]

_COUNTED = 0.9
"""What a unit's counted choice costs against its cheapest: the counts fit the nodes as they are."""
_FEW_STEPS = 250
"""Steps without an advance with one node less."""
_MISFITS = 20
"""Times that units whose runs find no neighbouring GPUs are sent elsewhere."""

_LEAST_PRICE = 1e-3
"""Of a GPU, in the unit of the objective: less is better where all that can run a unit is owned."""


def seat_in_weeks(
    counts: Counts,
    stocks: Mapping[int, CuttingStock],
    values: tuple[float, ...],
    go_on: Callable[[], bool],
    *,
    steps: int,
    attempt: int = 0,
) -> SeatedInWeeks | None:
    """A plan on the nodes of `values`; None where some unit finds no seat.

    `values` are whole where pieces take parts of GPUs; else units may be fractional. It is given up
    after so many `steps`, units seated at the cost of others, without an advance. `go_on` is asked
    before each step. Each `attempt` chooses otherwise where all is the same.
    """
    shared = _shared(counts, stocks, values)
    if shared is None:
        return None
    demands = counts.problem.demands
    units: list[tuple[int, int]] = []
    parts: list[tuple[int, int]] = []
    for number, position in whole_units(counts, values):
        whole = demands[number].choices[position].shape.part == WHOLE
        (units if whole else parts).append((number, position))
    seating = _Seating(counts, stocks, values, shared, units, parts)
    ejection = seating.begun(attempt)
    if seating.settled(ejection, steps, go_on):
        return SeatedInWeeks(seating, Fleet(counts, values, ejection))
    return None


@dataclass(frozen=True, slots=True)
class SeatedInWeeks:
    """A plan that may still get by with fewer nodes."""

    _seating: _Seating
    _fleet: Fleet

    def plan(self) -> tuple[tuple[float, ...], dict[Key, Packed]]:
        """Values and layouts, by pool and quarter."""
        return self._seating.plan(self._fleet)

    def shrink(self, go_on: Callable[[], bool]) -> None:
        """Give up the nodes that nobody needs; `go_on` is asked before each step."""
        self._fleet.shrink(lambda fewer: self._seating.settled(fewer, _FEW_STEPS, go_on), go_on)


def _shared(
    counts: Counts, stocks: Mapping[int, CuttingStock], values: tuple[float, ...]
) -> dict[Key, Arrangement] | None:
    """The GPUs that are opened for parts, by pool and quarter; None where there is no room."""
    found = {}
    for key, usage in counts.opened.items():
        pool, stock = counts.problem.pools[key[0]], stocks[key[0]]
        load, nodes = load_of(counts, stock, key, values)
        asked = [round(units) for units in load]
        opened = round(usage.units(values))
        asked[stock.shapes.index(OPENED)] -= opened
        most = opened + free_to_hold(counts, pool.gpu_type, key[1], values)
        pieces = counts.parts(*key, values)
        arrangement = arranged(pool, (stock.shapes, asked), pieces, round(nodes), most)
        if arrangement is None:
            return None
        found[key] = arrangement
    return found


@dataclass(frozen=True, slots=True)
class _Seating:
    counts: Counts
    stocks: Mapping[int, CuttingStock]
    values: tuple[float, ...]
    shared: Mapping[Key, Arrangement]
    units: list[tuple[int, int]]
    """(demand, choice) of each that takes whole GPUs, as counted; the largest fractions go up."""
    parts: list[tuple[int, int]]
    """Of each that takes parts of them."""

    def begun(self, attempt: int) -> Ejection:
        """Every unit in its counted choice, or waiting where there is no room."""
        units, opened = self.units, self._opened()
        prices = gpu_prices(self.counts.problem)
        asked = [
            *(Asked(self._ways(*unit, prices), self._quarters(*unit)) for unit in units),
            *(self._gpu(key, number) for key, number in opened),
        ]
        nodes = {key: round(self.counts.nodes(*key, self.values)) for key in self.counts.usages}
        kinds = {number: pool.node for number, pool in enumerate(self.counts.problem.pools)}
        ejection = Ejection(nodes, kinds, asked, seed=attempt, shares=self._shares())
        counted = [at for _, at in [*units, *opened]]
        for unit in sorted(range(len(asked)), key=lambda unit: _first(asked[unit], unit)):
            ejection.seat(unit, (counted[unit],))
        return ejection

    def settled(self, ejection: Ejection, steps: int, go_on: Callable[[], bool]) -> bool:
        """Whether all units find seats, and all runs neighbouring GPUs there."""
        for _ in range(_MISFITS):
            if not ejection.settle(steps, go_on):
                return False
            misfits = list(self._misfits(ejection))
            if not misfits:
                return True
            for unit, key, number in misfits:
                ejection.bar(unit, key, number)
        return False

    def _misfits(self, ejection: Ejection) -> Iterator[tuple[int, Key, int]]:
        """Of each node whose runs find no neighbouring GPUs: the unit that is the least loss."""
        for key, nodes in _by_node(ejection.seated).items():
            for number, pieces in nodes.items():
                if self._stock(key).timed(self._started(key, pieces)) is None:
                    unit, _, _ = min(pieces, key=lambda piece: (piece[1].cost, piece[0]))
                    yield unit, key, number

    def plan(self, fleet: Fleet) -> tuple[tuple[float, ...], dict[Key, Packed]]:
        """The values and layouts of a settled fleet."""
        nodes = _by_node(fleet.ejection.seated)
        packings = {}
        for key in self.counts.usages:
            packed = Packed.of(sorted(self._timed(key, pieces) for pieces in nodes[key].values()))
            shared = self.shared.get(key)
            packings[key] = shared.with_bundles(packed) if shared else packed
        return self._changed(fleet), packings

    def _timed(self, key: Key, pieces: Sequence[tuple[int, Way, int]]) -> tuple[Pattern, Timetable]:
        started = self._started(key, pieces)
        timetable = self._stock(key).timed(started)
        assert timetable is not None
        return pattern_of(started), timetable

    def _stock(self, key: Key) -> CuttingStock:
        return self.shared[key].stock if key in self.shared else self.stocks[key[0]]

    def _started(self, key: Key, pieces: Sequence[tuple[int, Way, int]]) -> list[Started]:
        """The pieces of a node by the shapes of its stock; those of shared GPUs come last."""
        pool, whole = self.counts.problem.pools[key[0]], self.stocks[key[0]].shapes
        return [
            (
                whole.index(pool.on_node(way.shape))
                if unit < len(self.units)
                else len(whole) + way.name,
                week,
            )
            for unit, way, week in pieces
        ]

    def _opened(self) -> list[tuple[Key, int]]:
        """(pool and quarter, kind) of every GPU that pieces share."""
        return [
            (key, number)
            for key, arrangement in self.shared.items()
            for number, times in enumerate(arrangement.asked[arrangement.whole :])
            for _ in range(times)
        ]

    def _choice(self, number: int, position: int) -> Choice:
        return self.counts.problem.demands[number].choices[position]

    def _quarters(self, number: int, position: int) -> tuple[int, ...]:
        """Of each piece."""
        copies = self._choice(number, position).copies
        return self.counts.problem.demands[number].quarters * copies

    def _ways(self, number: int, position: int, prices: Mapping[str, float]) -> tuple[Way, ...]:
        """Choices of as many pieces as the one counted."""
        problem = self.counts.problem
        demand, now = problem.demands[number], self._choice(number, position)
        ways = []
        for at, choice in enumerate(demand.choices):
            if choice.shape.part != WHOLE or choice.copies != now.copies:
                continue
            pools = tuple(
                (pool, span)
                for pool, kind in enumerate(problem.pools)
                if kind.gpu_type == choice.gpu_type
                and (span := kind.nodes_taken(choice.shape)) is not None
            )
            if pools:
                node = problem.pools[pools[0][0]].node
                price = (prices[choice.gpu_type] + _LEAST_PRICE) * node.gpus
                cost = price * rectangle(choice.shape, node)
                quotas = tuple(self._quotas(demand, choice))
                ways.append(Way(at, cost, choice.shape, pools, quotas))
        least = min((way.cost for way in ways), default=0.0) * _COUNTED
        return tuple(replace(way, cost=least) if way.name == position else way for way in ways)

    def _quotas(self, demand: Demand, choice: Choice) -> Iterator[int]:
        """Those that count a choice in some quarter."""
        for number, quota in enumerate(self.counts.problem.quotas):
            stated = any(quota.at_most[quarter] is not None for quarter in demand.quarters)
            if stated and quota.owner == demand.owner and quota.taken(choice):
                yield number

    def _shares(self) -> Shares:
        """What quotas leave beside pieces that take parts of GPUs."""
        problem = self.counts.problem
        shares = Shares(problem.quotas)
        for number, position in self.parts:
            demand, choice = problem.demands[number], self._choice(number, position)
            quotas = tuple(self._quotas(demand, choice))
            for quarter in demand.quarters:
                shares.take(-1, quotas, quarter, choice.copies, range(WEEKS))
        return shares

    def _gpu(self, key: Key, number: int) -> Asked:
        """A GPU that pieces share: it may be on any node of its pool, in its quarter."""
        shared = self.shared[key]
        shape = shared.stock.shapes[shared.whole + number]
        return Asked((Way(number, 1.0, shape, ((key[0], 0),)),), (key[1],))

    def _changed(self, fleet: Fleet) -> tuple[float, ...]:
        """The values with the nodes and the choices that there are now."""
        counts, changed = self.counts, list(fleet.values)
        taken: Counter[tuple[int, int]] = Counter()
        shaped: Counter[tuple[Key, Shape]] = Counter()
        for unit, (number, _) in enumerate(self.units):
            way, places = fleet.ejection.seated[unit]
            taken[number, way.name] += 1
            shaped.update((place.key, way.shape) for place in places)
        for key, index in counts.choice.items():
            if self._choice(*key).shape.part == WHOLE:
                changed[index] = float(taken[key])
        for key, usages in counts.usages.items():
            for usage in usages:
                split = usage.terms[0][0]
                if usage.shape.part == WHOLE and split in counts.splits:
                    changed[split] = float(shaped[key, usage.asked])
        return tuple(float(round(value)) for value in changed)


def _first(asked: Asked, unit: int) -> tuple[float, int]:
    """The dearest come first."""
    return -max((way.cost for way in asked.ways), default=0.0) * len(asked.quarters), unit


def _by_node(
    seated: Mapping[int, tuple[Way, list[Placed]]],
) -> dict[Key, dict[int, list[tuple[int, Way, int]]]]:
    """By pool and quarter, and by node: (unit, way, first week) of each piece.

    Nodes are left out of which a piece takes all, all quarter.
    """
    found: dict[Key, dict[int, list[tuple[int, Way, int]]]] = defaultdict(lambda: defaultdict(list))
    for unit, (way, places) in sorted(seated.items()):
        for place in places:
            if way.shape.run != ALWAYS or not dict(way.pools)[place.key[0]]:
                for number in place.nodes:
                    found[place.key][number].append((unit, way, place.week))
    return found
