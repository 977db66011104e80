"""Which nodes hold which units in a quarter, so that as few as can be change their node."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from planner.packing.layouts.cutting import CuttingStock
from planner.packing.layouts.packed import Packed
from planner.packing.layouts.parts import starts
from planner.packing.problem import Demand
from planner.packing.solution import Bundle, Layout, Member
from planner.plan.placing.bench import Bench, empty_seat

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from planner.packing.problem import Part, Problem, Shape
    from planner.plan.placing.bench import Seat
    from planner.plan.placing.fleet import Fleet

__all__ = ["Group", "Host", "Hosting", "Quarter", "hired_nodes", "match_layouts", "settle"]

Group = tuple[int, int]
"""Demand and choice: units of one group are interchangeable in a layout."""
Content: TypeAlias = "Mapping[Group, int]"
Signature = tuple[tuple[Group, int], ...]


@dataclass(frozen=True, slots=True)
class Hosting:
    """One use of a layout on its nodes."""

    nodes: tuple[int, ...]
    """One node, or the whole nodes that a spanning unit takes."""
    parts: tuple[tuple[Group, int], ...]
    """Pieces by group, those in bundles included."""
    bundles: tuple[Bundle, ...] = ()
    """GPUs that pieces share."""


def match_layouts(
    layouts: Sequence[Layout],
    nodes: Sequence[int],
    residents: Mapping[int, Content],
    spans: Mapping[Group, Sequence[tuple[int, ...]]],
    stay: Container[int],
) -> list[Hosting]:
    """Give each layout of a pool its nodes.

    `nodes` are those in service, the preferred ones first; `residents` say how many units of each
    group sat on a node before, `spans` which nodes spanning units held, `stay` which demands go on
    in the next quarter, and so deserve the preferred nodes. Greedy by most units kept; ties go to
    the first node and layout.
    """
    free = dict.fromkeys(nodes)
    left = [layout.count for layout in layouts]
    parts = [_parts(layout) for layout in layouts]
    found = [*_keep_spans(layouts, parts, left, free, spans)]
    single = [index for index, layout in enumerate(layouts) if layout.span == 1]
    found += _keep_residents(single, layouts, parts, left, free, residents)
    rest = [index for index, count in enumerate(left) for _ in range(count)]
    rest.sort(key=lambda index: (-_staying(parts[index], stay), index))
    queue = iter(list(free))
    for index in rest:
        taken = tuple(next(queue) for _ in range(layouts[index].span))
        found.append(Hosting(taken, parts[index], layouts[index].bundles))
    return found


def hired_nodes(layouts: Sequence[Layout], nodes: Sequence[int]) -> list[Hosting]:
    """Each layout of nodes that come and go has its own node, in their order."""
    return [
        Hosting((node,), _parts(layout), layout.bundles)
        for layout, node in zip(layouts, nodes, strict=True)
    ]


def _staying(parts: Signature, stay: Container[int]) -> int:
    return sum(count for (demand, _), count in parts if demand in stay)


def _parts(layout: Layout) -> Signature:
    units: Counter[Group] = Counter()
    for demand, choice, count in layout.parts:
        units[demand, choice] += count
    for bundle in layout.bundles:
        units.update((member.demand, member.choice) for member in bundle.members)
    return tuple(sorted(units.items()))


def _keep_spans(
    layouts: Sequence[Layout],
    parts: Sequence[Signature],
    left: list[int],
    free: dict[int, None],
    spans: Mapping[Group, Sequence[tuple[int, ...]]],
) -> Iterable[Hosting]:
    """Spanning units whose nodes are all still there keep them."""
    for index, layout in enumerate(layouts):
        held_before = spans.get(parts[index][0][0], ()) if layout.span > 1 else ()
        for held in held_before:
            if left[index] and all(node in free for node in held):
                left[index] -= 1
                for node in held:
                    del free[node]
                yield Hosting(held, parts[index])


def _keep_residents(
    single: Sequence[int],
    layouts: Sequence[Layout],
    parts: Sequence[Signature],
    left: list[int],
    free: dict[int, None],
    residents: Mapping[int, Content],
) -> Iterable[Hosting]:
    """Layouts go to the nodes whose residents they keep most of; nodes that hold alike are one."""
    alike: dict[Signature, list[int]] = defaultdict(list)
    for node in free:
        if residents.get(node):
            alike[tuple(sorted(residents[node].items()))].append(node)
    for index, content in chain(
        _same(single, parts, alike), _by_overlap(single, parts, left, alike)
    ):
        nodes = alike[content]
        count = min(len(nodes), left[index])
        for node in nodes[:count]:
            del free[node]
            yield Hosting((node,), parts[index], layouts[index].bundles)
        del nodes[:count]
        left[index] -= count


def _same(
    single: Sequence[int], parts: Sequence[Signature], alike: Mapping[Signature, list[int]]
) -> Iterable[tuple[int, Signature]]:
    """Layouts that a node holds already: no exchange could keep more units than these."""
    return [(index, parts[index]) for index in single if parts[index] in alike]


def _by_overlap(
    single: Sequence[int],
    parts: Sequence[Signature],
    left: Sequence[int],
    alike: Mapping[Signature, list[int]],
) -> Iterable[tuple[int, Signature]]:
    """What is left, most units kept first, then fewest displaced; begins when it is first asked."""
    contents = [content for content, nodes in alike.items() if nodes]
    totals = [sum(count for _, count in content) for content in contents]
    holders: dict[Group, list[tuple[int, int]]] = defaultdict(list)
    for position, content in enumerate(contents):
        for group, count in content:
            holders[group].append((position, count))
    ranked: list[tuple[int, int, int, int]] = []
    for index in single:
        kept: Counter[int] = Counter()
        for group, count in parts[index] if left[index] else ():
            for position, held in holders.get(group, ()):
                kept[position] += min(count, held)
        ranked += ((-units, totals[at] - units, at, index) for at, units in kept.items())
    for _, _, position, index in sorted(ranked):
        yield index, contents[position]


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


@dataclass(frozen=True, slots=True)
class Host:
    """One quarter, and who was where before it."""

    problem: Problem
    fleet: Fleet
    kept: Sequence[Sequence[int]]
    """demand × member: choice."""
    quarter: int
    here: Mapping[tuple[int, ...], Mapping[Group, int]]
    """Nodes -> units of each group that sat there all quarter and go on."""

    def hostings(self, layouts: Sequence[Sequence[Layout]]) -> list[Hosting]:
        """Nodes with their units, so that few move; `layouts`, by pool, prove that there is a way.

        The pools of one GPU type are looked at together, since its units may run on any of them.
        """
        pools: dict[str, list[int]] = defaultdict(list)
        for index, pool in enumerate(self.problem.pools):
            pools[pool.gpu_type].append(index)
        return [
            hosting
            for gpu_type, indices in pools.items()
            for hosting in self._of_gpu_type(gpu_type, indices, layouts)
        ]

    def _of_gpu_type(
        self, gpu_type: str, pools: Sequence[int], layouts: Sequence[Sequence[Layout]]
    ) -> list[Hosting]:
        here = self._here(gpu_type)
        matched = self._matched(pools, layouts)
        unrest = self._unrest(matched, here)
        fixed = [hosting for hosting in matched if self._in_turn(hosting)]
        if not any(unrest) or len(fixed) == len(matched):
            return matched
        settled = settle(self._asked(gpu_type, pools, fixed), here)
        settled = [*settled, *fixed] if settled else []
        calmer = settled and self._unrest(settled, here) <= unrest
        grows = any(reserve.gpu_type == gpu_type for reserve in self.problem.reserves)
        fits = calmer and not (grows and _bundles(settled) > _bundles(matched))
        return settled if fits and self._at_home(settled) == self._at_home(matched) else matched

    def _in_turn(self, hosting: Hosting) -> bool:
        """Whether runs take turns on a node, so that they cannot be seated one by one."""
        return any(
            self.problem.demands[member.demand].choices[member.choice].shape.is_run
            for bundle in hosting.bundles
            for member in bundle.members
        )

    def _at_home(self, hostings: Sequence[Hosting]) -> Counter[int]:
        """In the first quarter, by demand: units in the pool in which they run before it.

        The solution has counted and priced them, so that no other layout may change that.
        """
        found: Counter[int] = Counter()
        for hosting in hostings if self.quarter == 0 else ():
            home = self.problem.pools[self.fleet.pool[hosting.nodes[0]]].home
            for (demand, _), count in hosting.parts:
                if self.problem.demands[demand].origin == home:
                    found[demand] += count
        return found

    def _here(self, gpu_type: str) -> dict[tuple[int, ...], dict[Group, int]]:
        found = {}
        for nodes, groups in self.here.items():
            mine = {group: units for group, units in groups.items() if self._is(group, gpu_type)}
            if mine:
                found[nodes] = mine
        return found

    def _is(self, group: Group, gpu_type: str) -> bool:
        return self.problem.demands[group[0]].choices[group[1]].gpu_type == gpu_type

    def _matched(self, pools: Sequence[int], layouts: Sequence[Sequence[Layout]]) -> list[Hosting]:
        """The quarter's own layouts, each on the nodes where it keeps most units."""
        residents: dict[int, Counter[Group]] = defaultdict(Counter)
        spans: dict[Group, list[tuple[int, ...]]] = defaultdict(list)
        for nodes, groups in self.here.items():
            for group, units in groups.items():
                if len(nodes) == 1:
                    residents[nodes[0]][group] += units
                else:
                    spans[group].append(nodes)
        in_service, stay = self.fleet.in_service[self.quarter], self._stay()
        return [
            hosting
            for pool in pools
            for hosting in (
                hired_nodes(layouts[pool], in_service[pool])
                if self.problem.pools[pool].hire
                else match_layouts(layouts[pool], in_service[pool], residents, spans, stay)
            )
        ]

    def _asked(self, gpu_type: str, pools: Sequence[int], fixed: Sequence[Hosting]) -> Quarter:
        """The quarter without nodes whose units are settled, and without those."""
        taken = {node for hosting in fixed for node in hosting.nodes}
        units: Counter[Group] = Counter()
        for index, demand in enumerate(self.problem.demands):
            for choice in self.kept[index] if self.quarter in demand.quarters else ():
                units[index, choice] += demand.choices[choice].copies
        for hosting in fixed:
            units.subtract(dict(hosting.parts))
        in_service = self.fleet.in_service[self.quarter]
        return Quarter(
            self.problem,
            {pool: [node for node in in_service[pool] if node not in taken] for pool in pools},
            self._lasting(),
            {group: count for group, count in (+units).items() if self._is(group, gpu_type)},
            self._stay(),
        )

    def _stay(self) -> set[int]:
        """Demands that go on in the next quarter."""
        demands = enumerate(self.problem.demands)
        return {index for index, demand in demands if self.quarter + 1 in demand.quarters}

    def _lasting(self) -> set[int]:
        """Nodes that are in service in the next quarter too."""
        ahead = self.fleet.in_service[self.quarter + 1 :][:1]
        return {node for pools in ahead for nodes in pools for node in nodes}

    def _unrest(
        self, hostings: Sequence[Hosting], here: Mapping[tuple[int, ...], Mapping[Group, int]]
    ) -> tuple[int, int]:
        """Units that change node now, and units that will have to in the next quarter."""
        moves = sum(sum(groups.values()) for groups in here.values())
        stay, lasting, must = self._stay(), self._lasting(), 0
        for hosting in hostings:
            held = here.get(hosting.nodes, {})
            moves -= sum(min(count, held.get(group, 0)) for group, count in hosting.parts)
            if not lasting.issuperset(hosting.nodes):
                must += sum(count for (demand, _), count in hosting.parts if demand in stay)
        return moves, must


def _bundles(hostings: Sequence[Hosting]) -> int:
    """GPUs that parts are taken of."""
    return sum(len(hosting.bundles) for hosting in hostings)
