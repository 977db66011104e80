"""Seats by ejection: who finds no room takes the place of those who are the easiest to seat again.

Every piece needs room on a node in each of its weeks. A unit that finds none is put where the
pieces in its way have given the least trouble so far, and these wait for a seat in its place. Each
time that a unit must do so, it counts as more trouble, so that in the end the stubborn ones sit and
the easy ones move around them. The idea is Nagata and Bräysy's for vehicles with time windows
(Operations Research Letters 37, 2009).
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from planner.packing.weeks.asked import Asked, Placed
from planner.packing.weeks.ledger import Ledger
from planner.packing.weeks.shares import Shares

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from planner.packing.problem import Shape
    from planner.packing.weeks.asked import Key, Way
    from planner.packing.weeks.ledger import Entry

__all__ = ["Ejection"]

_FRUGAL, _STUBBORN = 2.0, 8
"""A unit takes no way that costs more than its cheapest by this factor, until it was trouble so
many times."""
_WASTE = 20.0
"""Trouble that a way is worth that costs twice as much as the cheapest."""
_JITTER, _LITTLE = 0.05, 1e-3
_EDGE = 0.25
"""How much GPUs that are free just before and after a run count, against those during it."""
_TRIED = 8
"""Weeks and nodes, those with most GPUs free, at which it is asked who is in the way."""

_Option = tuple[float, Placed, list[int]]
"""Trouble that a seat is, where it is, and who has to leave it."""


@dataclass(slots=True)
class _Cell:
    """The nodes of a pool in a quarter."""

    ledger: Ledger
    free: list[int]
    """By node, as its ledger writes it."""
    held: list[dict[int, int]]
    """By node and unit: what it takes there."""

    def copy(self) -> _Cell:
        return _Cell(self.ledger, list(self.free), [dict(node) for node in self.held])


class Ejection:
    """Units, those that have a seat and those that wait for one."""

    def __init__(
        self,
        nodes: Mapping[Key, int],
        kinds: Mapping[int, Shape],
        asked: Sequence[Asked],
        seed: int = 0,
        shares: Shares | None = None,
    ) -> None:
        """`nodes` are there by pool and quarter, all empty; `kinds` say what a node has, by pool.

        Nobody has a seat at first, nor any share of a quota, and nobody waits for one: see `seat`.
        """
        self._asked = [
            Asked(tuple(sorted(unit.ways, key=lambda way: (way.cost, way.name))), unit.quarters)
            for unit in asked
        ]
        ledgers = {pool: Ledger(kinds[pool]) for pool, _ in nodes}
        self._cells: dict[Key, _Cell] = {
            key: _Cell(
                ledgers[key[0]], [ledgers[key[0]].empty] * number, [{} for _ in range(number)]
            )
            for key, number in nodes.items()
        }
        self._random = random.Random(seed)
        self._trouble = [self._one() for _ in asked]
        self.seated: dict[int, tuple[Way, list[Placed]]] = {}
        """By unit: its way, and where each of its pieces is."""
        self.waiting: list[int] = []
        self._barred: dict[tuple[int, Key], set[int]] = defaultdict(set)
        self._shares = shares or Shares()

    def copy(self) -> Ejection:
        """The same seats, without regard to what was trouble so far."""
        other = Ejection({}, {}, [])
        other._asked = self._asked
        other._trouble = [other._one() for _ in self._asked]
        other._cells = {key: cell.copy() for key, cell in self._cells.items()}
        other.seated = {unit: (way, list(places)) for unit, (way, places) in self.seated.items()}
        other.waiting = list(self.waiting)
        other._shares = self._shares.copy()
        other._barred.update((key, set(numbers)) for key, numbers in self._barred.items())
        return other

    def add(self, key: Key) -> None:
        """One node more."""
        cell = self._cells[key]
        cell.free.append(cell.ledger.empty)
        cell.held.append({})

    def remove(self, key: Key) -> None:
        """One node less, the one that holds least; its units wait. There must be one."""
        cell = self._cells[key]
        idle = [cell.ledger.idle(free, cell.ledger.whole) for free in cell.free]
        number = idle.index(max(idle))
        out = sorted(cell.held[number])
        for unit in out:
            self._leave(unit)
        del cell.free[number], cell.held[number]
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
            self._trouble[unit] += self._one()
            out = self._forced(unit)
            if out is None:
                self.waiting.append(unit)
                return False
            self.waiting += [one for one in out if not self._found(one)]
            if len(self.waiting) < fewest:
                fewest, left = len(self.waiting), steps
        return not self.waiting

    def _one(self) -> float:
        """Trouble of one, and a little, so that no two units are the same."""
        return 1.0 + _LITTLE * self._random.random()

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
        for pool, span in way.pools:
            cell = self._cells.get((pool, quarter))
            if cell is None or len(cell.held) < max(span, 1):
                continue
            entries, guards = cell.ledger.entries(way.shape), cell.ledger.guards
            if way.quotas:
                entries = tuple(one for one in entries if self._allowed(way, quarter, one.held))
            barred = self._barred.get((unit, (pool, quarter)), ())
            if span:
                for entry in entries:
                    open_to = sorted(
                        (cell.ledger.around(free, entry), number)
                        for number, free in enumerate(cell.free)
                        if (free - entry.taken) & guards == guards and number not in barred
                    )[:span]
                    idle = _EDGE * sum(around for around, _ in open_to)
                    if len(open_to) == span and (best is None or idle < best[0]):
                        nodes = tuple(sorted(number for _, number in open_to))
                        best = idle, Placed((pool, quarter), nodes, entry.week)
                continue
            for number, free in enumerate(cell.free):
                if number in barred:
                    continue
                for entry in entries:
                    if (free - entry.taken) & guards == guards:
                        idle = cell.ledger.idle(free, entry)
                        idle += _EDGE * cell.ledger.around(free, entry)
                        if best is None or idle < best[0]:
                            best = idle, Placed((pool, quarter), (number,), entry.week)
        return best[1] if best else None

    def _allowed(self, way: Way, quarter: int, weeks: range) -> bool:
        """Whether quotas leave what one more piece takes in its weeks."""
        return self._shares.allow(way.quotas, quarter, way.shape.gpus, weeks)

    def _forced(self, unit: int) -> list[int] | None:
        """Give the unit a seat and return those who lost theirs; None where there is no node."""
        best: tuple[float, Way] | None = None
        asked = self._asked[unit]
        for way in asked.ways:
            trouble = _WASTE * (way.cost / max(asked.ways[0].cost, 1e-9) - 1)
            for quarter in asked.quarters:
                if best and trouble >= best[0]:
                    break
                left = best[0] - trouble if best else inf
                least = self._least_trouble(unit, way, quarter, left)
                trouble += least[0] * (1 + _JITTER * self._random.random()) if least else inf
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
        self, unit: int, way: Way, quarter: int, most: float = inf
    ) -> _Option | None:
        """The seat of a piece that is the least trouble, if that is less than the `most`."""
        best: _Option | None = None
        for pool, span in way.pools:
            cell = self._cells.get((pool, quarter))
            if cell is None or len(cell.held) < max(span, 1):
                continue
            key = pool, quarter
            if span:
                option = self._whole_nodes(unit, way, key, span)
            else:
                option = self._in_the_way(unit, way, key, most)
            if option and option[0] < most:
                best, most = option, option[0]
        return best

    def _whole_nodes(self, unit: int, way: Way, key: Key, span: int) -> _Option | None:
        """The weeks and the nodes of which those are the least trouble who hold anything then."""
        cell, best = self._cells[key], None
        barred = self._barred.get((unit, key), ())
        for entry in cell.ledger.entries(way.shape):
            there = [
                (number, [other for other, taken in held.items() if taken & entry.span])
                for number, held in enumerate(cell.held)
                if number not in barred
            ]
            by_trouble = sorted(
                (self._sum(others), number, others)
                for number, others in there
                if unit not in others
            )[:span]
            on_them = sorted({other for _, _, others in by_trouble for other in others})
            out = self._of_quotas(unit, way, key[1], entry.held, on_them)
            if out is None or len(by_trouble) < span:
                continue
            if best is None or self._sum(out) < best[0]:
                numbers = tuple(sorted(number for _, number, _ in by_trouble))
                best = self._sum(out), Placed(key, numbers, entry.week), out
        return best

    def _of_quotas(
        self, unit: int, way: Way, quarter: int, weeks: range, out: list[int]
    ) -> list[int] | None:
        """Who has to leave, and those whose GPUs the quotas of a piece lack then in its weeks."""
        asked = way.quotas, quarter, way.shape.gpus, weeks
        more = self._shares.leavers(unit, *asked, out, self._trouble)
        return None if more is None else out + more

    def _in_the_way(self, unit: int, way: Way, key: Key, most: float) -> _Option | None:
        """Of the nodes and weeks with most GPUs free: the seat that is the least trouble."""
        cell, pick = self._cells[key], self._random.random
        ledger = cell.ledger
        entries, idle = ledger.entries(way.shape), ledger.idle
        barred = self._barred.get((unit, key), ())
        rough = [
            (pick() - idle(free, entry), number, at)
            for number, free in enumerate(cell.free)
            if number not in barred
            for at, entry in enumerate(entries)
        ]
        rough.sort()
        tried = rough[:_TRIED]
        if way.quotas:
            held = [self._allowed(way, key[1], entry.held) for entry in entries]
            tried += [one for one in rough[_TRIED:] if held[one[2]]][:_TRIED]
        best: _Option | None = None
        for _, number, at in tried:
            out = self._leavers(unit, cell, number, entries[at], most)
            if out is not None and way.quotas:
                out = self._of_quotas(unit, way, key[1], entries[at].held, out)
            if out is not None and (trouble := self._sum(out)) < most:
                most = trouble
                best = trouble, Placed(key, (number,), entries[at].week), out
        return best

    def _leavers(
        self, unit: int, cell: _Cell, number: int, entry: Entry, most: float
    ) -> list[int] | None:
        """A few units that give a piece room on a node in its weeks, each less than the `most`."""
        room, guards, weeks = cell.free[number] - entry.taken, cell.ledger.guards, entry.span
        trouble, held, out = self._trouble, cell.held[number], []
        there = [
            (trouble[other], other)
            for other, taken in held.items()
            if taken & weeks and other != unit
        ]
        there.sort()
        for one, other in there:
            if room & guards == guards:
                break
            if one >= most:  # nobody before it would do, so that it has to leave
                return None
            room += held[other] & weeks
            out.append(other)
        if room & guards != guards:
            return None
        for other in reversed(out[:-1]):
            left = room - (held[other] & weeks)
            if left & guards == guards:
                room = left
                out.remove(other)
        return out

    def _sum(self, units: Sequence[int] | Mapping[int, object]) -> float:
        return sum(self._trouble[unit] for unit in units)

    def _put(self, unit: int, way: Way, place: Placed) -> None:
        cell = self._cells[place.key]
        entries = cell.ledger.entries(way.shape)
        entry = entries[place.week - entries[0].week]
        for number in place.nodes:
            cell.free[number] -= entry.taken
            cell.held[number][unit] = cell.held[number].get(unit, 0) + entry.taken
        self.seated[unit][1].append(place)
        self._shares.take(unit, way.quotas, place.key[1], way.shape.gpus, entry.held)

    def _leave(self, unit: int) -> None:
        """Take all pieces of a unit off their nodes."""
        if unit not in self.seated:
            return
        way, places = self.seated.pop(unit)
        self._shares.leave(unit, way.quotas, [place.key[1] for place in places])
        for place in places:
            cell = self._cells[place.key]
            for number in place.nodes:
                cell.free[number] += cell.held[number].pop(unit, 0)
