"""Seats by ejection: who finds no room takes the place of those who are the easiest to seat again.

Every piece needs room on a node in each of its weeks. A unit that finds none is put where the
pieces in its way have given the least trouble so far, and these wait for a seat in its place. Each
time that a unit must do so, it counts as more trouble, so that in the end the stubborn ones sit and
the easy ones move around them. The idea is Nagata and Bräysy's for vehicles with time windows
(Operations Research Letters 37, 2009).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from planner.packing.fitting import snuggest, windows
from planner.packing.problem import ALWAYS, WEEKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from planner.packing.problem import Shape

    Integers = NDArray[np.int64]

__all__ = ["Asked", "Ejection", "Placed", "Way", "by_node"]

_FRUGAL, _STUBBORN = 1.3, 8
"""A unit takes no way that costs more than its cheapest by this factor, until it was trouble so
many times."""
_WASTE = 30.0
"""Trouble that a way is worth that costs twice as much as the cheapest."""
_JITTER = 0.05
_TRIED = 8
"""Weeks and nodes, those that lack the least, at which it is asked who is in the way."""

Key = tuple[int, int]
"""Pool and quarter."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run a unit."""

    name: int
    """Whatever the caller knows it by."""
    cost: float
    """What its pieces take, in any unit of money."""
    shape: Shape
    pools: tuple[tuple[int, int], ...]
    """(pool, whole nodes that a piece takes there; 0: it shares one)."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A unit: a piece for each entry of `quarters`, all in the same way."""

    ways: tuple[Way, ...]
    quarters: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a piece is, for all weeks of its run."""

    key: Key
    nodes: tuple[int, ...]
    """Numbers of the nodes of the pool in this quarter; several where it takes them whole."""
    week: int


@dataclass(slots=True)
class _Cell:
    """The nodes of a pool in a quarter."""

    node: Integers
    """GPUs, cores and MB of one."""
    free: Integers
    """nodes × weeks × (GPUs, cores, MB)."""
    held: list[dict[int, list[tuple[int, int, Integers]]]]
    """By node and unit: first week, week of its end, what it takes."""

    def copy(self) -> _Cell:
        held = [{unit: list(taken) for unit, taken in node.items()} for node in self.held]
        return _Cell(self.node, self.free.copy(), held)


class Ejection:
    """Units, those that have a seat and those that wait for one."""

    def __init__(
        self, nodes: Mapping[Key, int], kinds: Mapping[int, Shape], asked: Sequence[Asked]
    ) -> None:
        """`nodes` are there by pool and quarter, all empty; `kinds` say what a node has, by pool.

        Nobody has a seat at first, and nobody waits for one: see `seat`.
        """
        self._asked = [
            Asked(tuple(sorted(unit.ways, key=lambda way: (way.cost, way.name))), unit.quarters)
            for unit in asked
        ]
        self._cells: dict[Key, _Cell] = {}
        for key, number in nodes.items():
            node = _size(kinds[key[0]])
            free = np.tile(node, (number, WEEKS, 1))
            self._cells[key] = _Cell(node, free, [{} for _ in range(number)])
        self._trouble = [1.0] * len(asked)
        self._random = np.random.default_rng(0)
        self.seated: dict[int, tuple[Way, list[Placed]]] = {}
        """By unit: its way, and where each of its pieces is."""
        self.waiting: list[int] = []
        self._barred: dict[tuple[int, Key], set[int]] = defaultdict(set)

    def copy(self) -> Ejection:
        """The same seats, without regard to what was trouble so far."""
        other = Ejection({}, {}, [])
        other._asked = self._asked
        other._trouble = [1.0] * len(self._asked)
        other._cells = {key: cell.copy() for key, cell in self._cells.items()}
        other.seated = {unit: (way, list(places)) for unit, (way, places) in self.seated.items()}
        other.waiting = list(self.waiting)
        other._barred.update((key, set(numbers)) for key, numbers in self._barred.items())
        return other

    def remove(self, key: Key) -> None:
        """One node less, the one that holds least; its units wait. There must be one."""
        cell = self._cells[key]
        number = int((cell.free / cell.node.clip(1)).sum(axis=(1, 2)).argmax())
        out = sorted(cell.held[number])
        for unit in out:
            self._leave(unit)
        cell.free = np.delete(cell.free, number, axis=0)
        del cell.held[number]
        self._barred.clear()
        for _, places in self.seated.values():
            for at, place in enumerate(places):
                if place.key == key and max(place.nodes) > number:
                    nodes = tuple(node - (node > number) for node in place.nodes)
                    places[at] = Placed(key, nodes, place.week)
        self.waiting += out

    def bar(self, unit: int, key: Key, number: int) -> None:
        """Let a unit wait, and seat it on this node no more."""
        self._leave(unit)
        self._barred[unit, key].add(number)
        self.waiting.append(unit)

    def nodes(self, key: Key) -> int:
        """How many there are."""
        return len(self._cells[key].held) if key in self._cells else 0

    def seat(self, unit: int, names: Sequence[int]) -> None:
        """Seat a unit in a way of one of these names, or let it wait."""
        if not any(self._placed(unit, way) for way in self._asked[unit].ways if way.name in names):
            self.waiting.append(unit)

    def settle(self, steps: int, go_on: Callable[[], bool]) -> bool:
        """Seat those who wait, in so many steps after each advance; True once all have a seat."""
        fewest, left = len(self.waiting), steps
        while self.waiting and left and go_on():
            left -= 1
            unit = self.waiting.pop()
            if self._found(unit):
                continue
            self._trouble[unit] += 1.0
            out = self._forced(unit)
            if out is None:
                self.waiting.append(unit)
                return False
            self.waiting += [one for one in out if not self._found(one)]
            if len(self.waiting) < fewest:
                fewest, left = len(self.waiting), steps
        return not self.waiting

    def _found(self, unit: int) -> bool:
        """Whether the unit has a seat now, where nobody has to move."""
        ways = self._asked[unit].ways
        most = ways[0].cost * _FRUGAL if self._trouble[unit] < _STUBBORN else inf
        return any(self._placed(unit, way) for way in ways if way.cost <= most)

    def _placed(self, unit: int, way: Way) -> bool:
        """Whether all pieces found room in this way; then they are there."""
        self.seated[unit] = way, []
        for quarter in self._asked[unit].quarters:
            place = self._room(unit, way, quarter)
            if place is None:
                self._leave(unit)
                return False
            self._put(unit, way, place)
        return True

    def _room(self, unit: int, way: Way, quarter: int) -> Placed | None:
        """Where the piece leaves the fewest GPUs idle beside it."""
        best: tuple[float, Placed] | None = None
        needed = _size(way.shape)
        for pool, span in way.pools:
            cell = self._cells.get((pool, quarter))
            if cell is None or len(cell.held) < max(span, 1):
                continue
            if span:
                empty = [number for number, held in enumerate(cell.held) if not held][:span]
                if len(empty) == span:
                    return Placed((pool, quarter), tuple(empty), 0)
                continue
            barred = self._barred.get((unit, (pool, quarter)), ())
            found = snuggest(cell.free, needed, way.shape.run, barred)
            if found and (best is None or found[0] < best[0]):
                best = found[0], Placed((pool, quarter), (found[1],), found[2])
        return best[1] if best else None

    def _forced(self, unit: int) -> list[int] | None:
        """Give the unit a seat and return those who lost theirs; None where there is no node."""
        best: tuple[float, Way] | None = None
        asked = self._asked[unit]
        for way in asked.ways:
            trouble = _WASTE * (way.cost / max(asked.ways[0].cost, 1e-9) - 1)
            for quarter in asked.quarters:
                least = self._least_trouble(unit, way, quarter)
                trouble += least[0] * (1 + _JITTER * self._random.random()) if least else inf
                if best and trouble >= best[0]:
                    break
            if trouble < (best[0] if best else inf):
                best = trouble, way
        if best is None:
            return None
        out: list[int] = []
        self.seated[unit] = best[1], []
        for quarter in asked.quarters:
            place = self._room(unit, best[1], quarter)
            if place is None:
                least_here = self._least_trouble(unit, best[1], quarter)
                if least_here is None:
                    self._leave(unit)
                    out.append(unit)
                    break
                place = least_here[1]
                for other in least_here[2]:
                    self._leave(other)
                out += least_here[2]
            self._put(unit, best[1], place)
        return sorted(out, key=lambda one: (self._trouble[one], one))

    def _least_trouble(
        self, unit: int, way: Way, quarter: int
    ) -> tuple[float, Placed, list[int]] | None:
        """What it costs in trouble to seat a piece, where, and who has to leave."""
        options = (
            option
            for pool, span in way.pools
            if (cell := self._cells.get((pool, quarter))) and len(cell.held) >= max(span, 1)
            for option in (
                self._whole_nodes(unit, (pool, quarter), span)
                if span
                else self._in_the_way(unit, way.shape, (pool, quarter))
            )
        )
        return min(options, key=lambda option: option[0], default=None)

    def _whole_nodes(
        self, unit: int, key: Key, span: int
    ) -> Iterator[tuple[float, Placed, list[int]]]:
        cell = self._cells[key]
        by_trouble = sorted(
            (self._sum(held), number) for number, held in enumerate(cell.held) if unit not in held
        )[:span]
        if len(by_trouble) == span:
            numbers = tuple(sorted(number for _, number in by_trouble))
            out = sorted({other for number in numbers for other in cell.held[number]})
            yield self._sum(out), Placed(key, numbers, 0), out

    def _in_the_way(
        self, unit: int, shape: Shape, key: Key
    ) -> Iterator[tuple[float, Placed, list[int]]]:
        """For the nodes and weeks that lack the least: those who leave, the easiest first."""
        cell, run, needed = self._cells[key], shape.run, _size(shape)
        lacks = np.maximum(needed - windows(cell.free, run).min(axis=3), 0) / cell.node.clip(1)
        rough = lacks.max(axis=2) + 1e-3 * self._random.random(lacks.shape[:2])
        barred = self._barred.get((unit, key), ())
        for at in np.argsort(rough, axis=None, kind="stable")[:_TRIED].tolist():
            number, start = divmod(at, len(run.starts))
            first = run.starts[start]
            if number in barred:
                continue
            out = self._leavers(unit, cell, number, (first, first + run.weeks), needed)
            if out is not None:
                yield self._sum(out), Placed(key, (number,), first), out

    def _leavers(
        self, unit: int, cell: _Cell, number: int, weeks: tuple[int, int], needed: Integers
    ) -> list[int] | None:
        """A few units that give a piece room on a node in these weeks; None where none do."""
        first, end = weeks
        room = cell.free[number, first:end].copy()
        there = [
            (self._trouble[other], self._random.random(), other)
            for other, taken in cell.held[number].items()
            if other != unit and any(begun < end and first < ended for begun, ended, _ in taken)
        ]
        out: list[int] = []
        for _, _, other in sorted(there):
            lacking = (room < needed).any(axis=1)
            if not lacking.any():
                break
            given = _given(cell.held[number][other], first, end)
            if given[lacking].any():
                room += given
                out.append(other)
        if (room < needed).any():
            return None
        for other in reversed(out.copy()):
            given = _given(cell.held[number][other], first, end)
            if (room - given >= needed).all():
                room -= given
                out.remove(other)
        return out

    def _sum(self, units: Sequence[int] | Mapping[int, object]) -> float:
        return sum(self._trouble[unit] for unit in units)

    def _put(self, unit: int, way: Way, place: Placed) -> None:
        cell = self._cells[place.key]
        run = way.shape.run if len(place.nodes) == 1 else ALWAYS
        whole = dict(way.pools)[place.key[0]]
        size = cell.node if whole else _size(way.shape)
        end = place.week + run.weeks
        for number in place.nodes:
            cell.free[number, place.week : end] -= size
            cell.held[number].setdefault(unit, []).append((place.week, end, size))
        self.seated[unit][1].append(place)

    def _leave(self, unit: int) -> None:
        """Take all pieces of a unit off their nodes."""
        if unit not in self.seated:
            return
        for place in self.seated.pop(unit)[1]:
            cell = self._cells[place.key]
            for number in place.nodes:
                for first, end, size in cell.held[number].pop(unit, ()):
                    cell.free[number, first:end] += size


def by_node(
    seated: Mapping[int, tuple[Way, list[Placed]]],
) -> dict[Key, dict[int, list[tuple[int, Way, int]]]]:
    """By pool and quarter, and by node: (unit, way, first week) of each piece that shares it."""
    found: dict[Key, dict[int, list[tuple[int, Way, int]]]] = defaultdict(lambda: defaultdict(list))
    for unit, (way, places) in sorted(seated.items()):
        for place in places:
            if not dict(way.pools)[place.key[0]]:
                found[place.key][place.nodes[0]].append((unit, way, place.week))
    return found


def _size(shape: Shape) -> Integers:
    return np.array([shape.gpus, shape.cpus, shape.memory_mb], dtype=np.int64)


def _given(taken: Sequence[tuple[int, int, Integers]], first: int, end: int) -> Integers:
    """What a unit takes in these weeks: weeks × (GPUs, cores, MB)."""
    given = np.zeros((end - first, 3), dtype=np.int64)
    for begun, ended, size in taken:
        given[max(begun - first, 0) : max(ended - first, 0)] += size
    return given
