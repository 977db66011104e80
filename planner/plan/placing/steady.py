"""One GPU type's nodes from one quarter to the next: who goes on stays, newcomers fill the gaps."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from planner.packing.layouts.cutting import CuttingStock
from planner.packing.layouts.packed import Packed
from planner.packing.layouts.parts import starts
from planner.packing.problem import Demand
from planner.packing.solution import Bundle, Layout, Member
from planner.plan.placing.bench import Bench, empty_seat
from planner.plan.placing.match import Hosting, match_layouts

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from planner.packing.problem import Part, Problem, Shape
    from planner.plan.placing.bench import Seat
    from planner.plan.placing.match import Group

__all__ = ["Quarter", "settle"]

_ROOMY = 50
"""Nodes, those with most room, among which a unit may make room for another."""
_ANEW = (2, 4, 8, 16, 32, 64, 128)
"""How many nodes are laid out anew, in turn, where units are left over."""


@dataclass(frozen=True, slots=True)
class Quarter:
    """What one quarter asks of the nodes of one GPU type."""

    problem: Problem
    nodes: Mapping[int, Sequence[int]]
    """By pool: nodes in service, the preferred ones first."""
    lasting: Container[int]
    """Nodes that are in service in the next quarter too."""
    units: Mapping[Group, int]
    """Units of each group that are active and run on this GPU type."""
    stay: Container[int]
    """Demands that go on in the next quarter."""


def settle(quarter: Quarter, here: Mapping[tuple[int, ...], Mapping[Group, int]]) -> list[Hosting]:
    """Nodes with their units, where each unit of `here` keeps its nodes if that can be.

    Units whose nodes left service and units that are new are fitted in; others make room for them,
    or a few nodes are laid out anew. Empty where somebody is left without a place.
    """
    settling = _Settling(quarter)
    settling.keep(here)
    if settling.span_all() and settling.seat_all():
        return settling.hostings()
    return []


@dataclass(slots=True)
class _Held:
    """The nodes of one pool."""

    limit: int
    """Nodes that may run units; the others are spare."""
    empty: list[int]
    shared: dict[int, Seat] = field(default_factory=dict)
    spanned: dict[tuple[int, ...], Group] = field(default_factory=dict)

    def open(self) -> int:
        """How many more nodes may be used."""
        return self.limit - len(self.shared) - sum(len(nodes) for nodes in self.spanned)


class _Settling:
    def __init__(self, quarter: Quarter) -> None:
        self._quarter = quarter
        self._groups = sorted(quarter.units)
        self._index = {group: index for index, group in enumerate(self._groups)}
        pools = quarter.problem.pools
        self._pools = {
            pool: _Held(max(0, len(nodes) - pools[pool].spare), list(nodes))
            for pool, nodes in quarter.nodes.items()
        }
        self._pool_of = {node: pool for pool, nodes in quarter.nodes.items() for node in nodes}
        self._waiting = Counter(quarter.units)

    def keep(self, here: Mapping[tuple[int, ...], Mapping[Group, int]]) -> None:
        """Leave those who go on where they are, as far as the nodes may still be used."""
        for nodes, groups in sorted(here.items()):
            mine = {group: units for group, units in sorted(groups.items()) if units}
            if not set(nodes) <= self._pool_of.keys() or not mine.keys() <= self._index.keys():
                continue
            if len(nodes) > 1:
                group = next(iter(mine))
                if self._waiting[group]:
                    self._span(self._pool_of[nodes[0]], nodes, group)
                continue
            seat = self._open(nodes[0])
            for group in sorted(mine, key=self._by_part):
                for _ in range(min(mine[group], self._waiting[group])):
                    if not seat.fits(self._shape(group)):  # parts put on other GPUs than before
                        break
                    seat.put((self._index[group], 0), self._shape(group))
                    self._waiting[group] -= 1
        for held in self._pools.values():
            self._vacate(held, -held.open())

    def span_all(self) -> bool:
        """Give whole nodes to the units that can run in no other way, the largest first."""
        ordered = sorted(self._groups, key=lambda group: (-self._shape(group).gpus, group))
        for group in ordered:
            spans = {pool: self._span_in(pool, group) for pool in self._pools}
            whole = {pool: span for pool, span in spans.items() if span}
            if 0 in spans.values() or not whole:
                continue
            while self._waiting[group] > 0:
                if not any(self._span_new(pool, span, group) for pool, span in whole.items()):
                    return False
        return True

    def seat_all(self) -> bool:
        """Fit the others in: those who go on first where nodes last, then everybody anywhere."""
        for held in self._pools.values():
            for node in held.empty[: max(0, held.open())]:
                self._open(node)
        waiting = [
            (self._index[group], 0) for group in self._groups for _ in range(self._waiting[group])
        ]
        going_on = [unit for unit in waiting if self._groups[unit[0]][0] in self._quarter.stay]
        ending = [unit for unit in waiting if self._groups[unit[0]][0] not in self._quarter.stay]
        seats = [seat for held in self._pools.values() for seat in held.shared.values()]
        lasting = [
            seat
            for held in self._pools.values()
            for node, seat in held.shared.items()
            if node in self._quarter.lasting
        ]
        problem = self._pinned()
        left = Bench(problem, lasting).seat_all(going_on, chain=1)
        left = Bench(problem, seats).seat_all([*left, *ending], chain=1)
        roomy = sorted(seats, key=self._room, reverse=True)[:_ROOMY]
        left = Bench(problem, roomy).seat_all(left)
        indices = [index for index, _ in left]
        return not left or any(self._anew(pool, indices) for pool in sorted(self._pools))

    def _pinned(self) -> Problem:
        """The problem with each group as a demand that has one choice."""
        demands = tuple(
            Demand((self._quarter.problem.demands[demand].choices[choice],), (), 1)
            for demand, choice in self._groups
        )
        return replace(self._quarter.problem, demands=demands)

    def _room(self, seat: Seat) -> float:
        """What is free of a node, summed over its resources."""
        node = self._quarter.problem.pools[seat.pool].node
        memory = seat.memory_mb / max(node.memory_mb, 1)
        return seat.gpus / node.gpus + seat.cpus / max(node.cpus, 1) + memory

    def _anew(self, pool: int, left: Sequence[int]) -> bool:
        """Lay out a few nodes anew, roomy ones of each resource, with the units left over."""
        if any(self._span_in(pool, self._groups[unit]) != 0 for unit in left):
            return False
        shared = self._pools[pool].shared
        roomy = _in_turn(
            sorted(shared, key=lambda node: (-shared[node].gpus, node)),
            sorted(shared, key=lambda node: (-shared[node].memory_mb, node)),
            sorted(shared, key=lambda node: (-shared[node].cpus, node)),
        )
        for count in _ANEW:
            nodes = sorted(roomy[:count])
            units = Counter(left)
            for node in nodes:
                units.update(index for index, _ in shared[node].units)
            indices = sorted(units)
            node_shape = self._quarter.problem.pools[pool].node
            stock = CuttingStock(node_shape, [self._shape(self._groups[unit]) for unit in indices])
            packed = stock.pack([units[unit] for unit in indices], len(nodes))
            if isinstance(packed, Packed):
                self._spread(pool, nodes, packed, indices)
                return True
            if count >= len(roomy):
                return False
        return False

    def _spread(
        self, pool: int, nodes: Sequence[int], packed: Packed, indices: Sequence[int]
    ) -> None:
        """Give each of these nodes the pattern with which it keeps most units."""
        layouts = [
            Layout(tuple((*self._groups[indices[at]], units) for at, units in pattern), times)
            for pattern, times in packed.patterns
        ]
        shared = self._pools[pool].shared
        residents = {
            node: Counter(self._groups[index] for index, _ in shared.pop(node).units)
            for node in nodes
        }
        self._pools[pool].empty += nodes
        for hosting in match_layouts(layouts, nodes, residents, {}, self._quarter.stay):
            seat = self._open(hosting.nodes[0])
            for group, units in hosting.parts:
                for _ in range(units):
                    seat.put((self._index[group], 0), self._shape(group))

    def hostings(self) -> list[Hosting]:
        """What each node holds now."""
        return list(self._hostings())

    def _hostings(self) -> Iterator[Hosting]:
        for held in self._pools.values():
            for nodes, group in held.spanned.items():
                yield Hosting(nodes, ((group, 1),))
            for node, seat in held.shared.items():
                units = Counter(self._groups[index] for index, _ in seat.units)
                if units:
                    parts = tuple(sorted(units.items()))
                    yield Hosting((node,), parts, tuple(sorted(self._bundles(seat))))

    def _bundles(self, seat: Seat) -> Iterator[Bundle]:
        """The GPUs of a node that units take parts of."""
        pool = self._quarter.problem.pools[seat.pool]
        waiting: dict[Part, list[Group]] = defaultdict(list)
        for index, _ in sorted(seat.units):
            group = self._groups[index]
            waiting[self._shape(group).part].append(group)
        for parts in sorted(seat.opened):
            slots = starts(pool, [part.profile for part in parts])
            held = [waiting[part].pop(0) for part in parts]
            members = (Member(*unit, 0, 0, slot) for unit, slot in zip(held, slots, strict=True))
            yield Bundle(1, tuple(sorted(members)))

    def _by_part(self, group: Group) -> tuple[Part, Group]:
        return self._shape(group).part, group

    def _shape(self, group: Group) -> Shape:
        return self._quarter.problem.demands[group[0]].choices[group[1]].shape

    def _span_in(self, pool: int, group: Group) -> int | None:
        return self._quarter.problem.pools[pool].nodes_taken(self._shape(group))

    def _open(self, node: int) -> Seat:
        """Begin to share an empty node."""
        pool = self._pool_of[node]
        held = self._pools[pool]
        held.empty.remove(node)
        held.shared[node] = empty_seat(pool, self._quarter.problem.pools[pool])
        return held.shared[node]

    def _span(self, pool: int, nodes: tuple[int, ...], group: Group) -> None:
        held = self._pools[pool]
        held.spanned[nodes] = group
        held.empty = [node for node in held.empty if node not in nodes]
        self._waiting[group] -= 1

    def _span_new(self, pool: int, span: int, group: Group) -> bool:
        """Whole nodes for one unit, vacating the least used where too few are empty."""
        held = self._pools[pool]
        if self._vacate(held, span - min(held.open(), len(held.empty))):
            chosen = held.empty[:span]
            if group[0] not in self._quarter.stay:
                chosen = held.empty[-span:]
            self._span(pool, tuple(chosen), group)
            return True
        return False

    def _vacate(self, held: _Held, wanted: int) -> bool:
        """Empty so many shared nodes, those with fewest units; their units wait again."""
        if wanted > len(held.shared):
            return False
        order = {node: place for place, node in enumerate(self._pool_of)}
        least = sorted(held.shared, key=lambda node: (len(held.shared[node].units), -order[node]))
        for node in least[: max(0, wanted)]:
            for index, _ in held.shared.pop(node).units:
                self._waiting[self._groups[index]] += 1
            held.empty.append(node)
        held.empty.sort(key=order.__getitem__)
        return True


def _in_turn(*orders: Sequence[int]) -> list[int]:
    """The first of each order, then the second of each; every number once."""
    return list(dict.fromkeys(chain.from_iterable(zip(*orders, strict=True))))
