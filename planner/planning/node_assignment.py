"""Assigns layouts to nodes in a quarter so that few units change their node.

The layouts of the solution prove that an assignment exists. Each goes to the node on which it
keeps most units. If units would still have to move, a stable assignment is tried: those that go
on stay, and newcomers fill the gaps.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from typing import TypeAlias

from planner.packing.problem import WHOLE, Part, Pool, Problem, Shape
from planner.packing.shared_gpus import starts
from planner.packing.solution import Bundle, Layout, Member
from planner.planning.fleet import Fleet

Group = tuple[int, int]
"""A job class and a mode. Units of one group are interchangeable in a layout."""
Signature = tuple[tuple[Group, int], ...]
Residents: TypeAlias = "Mapping[tuple[int, ...], Mapping[Group, int]]"
"""Nodes -> the number of units of each group."""


@dataclass(frozen=True, slots=True)
class NodeAssignment:
    """One use of a layout on its nodes."""

    nodes: tuple[int, ...]
    """One node, or the whole nodes that a spanning unit takes."""
    parts: Signature
    """The pieces of each group, including those in bundles."""
    bundles: tuple[Bundle, ...] = ()
    """GPUs that pieces share."""


@dataclass(frozen=True)
class QuarterNodes:
    """The nodes of one quarter, and who was where before it."""

    problem: Problem
    fleet: Fleet
    kept: Sequence[Sequence[int]]
    """job class × member: mode."""
    quarter: int
    here: Residents
    """Units that held a node all of the last quarter and go on."""

    @cached_property
    def staying(self) -> frozenset[int]:
        """Job classes that go on in the next quarter."""
        classes = enumerate(self.problem.classes)
        return frozenset(index for index, one in classes if self.quarter + 1 in one.quarters)

    @cached_property
    def lasting(self) -> frozenset[int]:
        """Nodes that are in service in the next quarter, too."""
        ahead = self.fleet.in_service[self.quarter + 1 :][:1]
        return frozenset(node for pools in ahead for nodes in pools for node in nodes)

    def shape(self, group: Group) -> Shape:
        """Return what one piece of a group takes."""
        return self.problem.classes[group[0]].modes[group[1]].shape

    def is_on(self, group: Group, gpu_type: str) -> bool:
        """Return whether a group runs on a GPU type."""
        return self.problem.classes[group[0]].modes[group[1]].gpu_type == gpu_type

    def assigned(self, layouts: Sequence[Sequence[Layout]]) -> list[NodeAssignment]:
        """Return the nodes with their units, given the layouts by pool, with few moves.

        The pools of one GPU type are assigned together, since its units may run on any of them.
        """
        pools: dict[str, list[int]] = defaultdict(list)
        for index, pool in enumerate(self.problem.pools):
            pools[pool.gpu_type].append(index)
        return [
            one
            for gpu_type, indices in pools.items()
            for one in self._of_gpu_type(gpu_type, indices, layouts)
        ]

    def _of_gpu_type(
        self, gpu_type: str, pools: Sequence[int], layouts: Sequence[Sequence[Layout]]
    ) -> list[NodeAssignment]:
        here = {
            nodes: mine
            for nodes, groups in self.here.items()
            if (mine := {one: n for one, n in groups.items() if self.is_on(one, gpu_type)})
        }
        matched: list[NodeAssignment] = []
        for pool in pools:
            nodes = self.fleet.in_service[self.quarter][pool]
            if self.problem.pools[pool].hire:  # each layout has its own node, in order
                pairs = zip(layouts[pool], nodes, strict=True)
                matched += (
                    NodeAssignment((node,), _parts(one), one.bundles) for one, node in pairs
                )
            else:
                matched += _match(layouts[pool], nodes, self.here, self.staying)
        unrest = self._unrest(matched, here)
        # Runs take turns on a node, so that they cannot be seated one by one.
        fixed = [
            one
            for one in matched
            if any(
                self.shape((member.job_class, member.mode)).is_run
                for bundle in one.bundles
                for member in bundle.members
            )
        ]
        if not any(unrest) or len(fixed) == len(matched):
            return matched
        free, units = self._not_fixed(gpu_type, pools, fixed)
        groups = self.problem.spare_groups
        shared = {pool for group in groups for pool in self.problem.sharing(group)} & set(pools)
        used = Counter(
            self.fleet.pool[node] for one in matched if one not in fixed for node in one.nodes
        )
        limits = {
            pool: used[pool] if pool in shared else len(nodes) - self.problem.pools[pool].spare
            for pool, nodes in free.items()
        }
        stable = _StableAssignment(self, free, units, limits).found(here)
        if stable is None:
            return matched
        stable += fixed
        grows = any(reserve.gpu_type == gpu_type for reserve in self.problem.reserves)
        shared_gpus = [sum(len(one.bundles) for one in each) for each in (stable, matched)]
        if self._unrest(stable, here) > unrest or (grows and shared_gpus[0] > shared_gpus[1]):
            return matched
        if not self._on_pools(shared, stable) <= self._on_pools(shared, matched):
            return matched  # others would have to stand in for these
        return stable if self._at_home(stable) == self._at_home(matched) else matched

    def _at_home(self, assigned: Sequence[NodeAssignment]) -> Counter[int]:
        """Return, in the first quarter, each job class's units in the pool in which they run today.

        The solution has counted and priced them, so no other assignment may change that.
        """
        found: Counter[int] = Counter()
        for one in assigned if self.quarter == 0 else ():
            home = self.problem.pools[self.fleet.pool[one.nodes[0]]].home
            for (job_class, _), count in one.parts:
                if self.problem.classes[job_class].origin == home:
                    found[job_class] += count
        return found

    def _on_pools(
        self, pools: Collection[int], assigned: Sequence[NodeAssignment]
    ) -> set[tuple[int, Group]]:
        """Return which groups run on which of these pools."""
        pool_of = self.fleet.pool
        return {
            (pool_of[one.nodes[0]], group)
            for one in assigned
            for group, _ in one.parts
            if pool_of[one.nodes[0]] in pools
        }

    def _not_fixed(
        self, gpu_type: str, pools: Sequence[int], fixed: Sequence[NodeAssignment]
    ) -> tuple[dict[int, list[int]], dict[Group, int]]:
        """Return the free nodes by pool and the active units by group, without fixed ones."""
        units: Counter[Group] = Counter()
        for index, job_class in enumerate(self.problem.classes):
            for mode in self.kept[index] if self.quarter in job_class.quarters else ():
                units[index, mode] += job_class.modes[mode].copies_in(self.quarter)
        for one in fixed:
            units.subtract(dict(one.parts))
        taken = {node for one in fixed for node in one.nodes}
        in_service = self.fleet.in_service[self.quarter]
        free = {pool: [node for node in in_service[pool] if node not in taken] for pool in pools}
        mine = {group: count for group, count in (+units).items() if self.is_on(group, gpu_type)}
        return free, mine

    def _unrest(self, assigned: Sequence[NodeAssignment], here: Residents) -> tuple[int, int]:
        """Count the units that change node now, and those that will have to in the next quarter."""
        moves, must = sum(sum(groups.values()) for groups in here.values()), 0
        for one in assigned:
            held = here.get(one.nodes, {})
            moves -= sum(min(count, held.get(group, 0)) for group, count in one.parts)
            if not self.lasting.issuperset(one.nodes):
                must += sum(
                    count for (job_class, _), count in one.parts if job_class in self.staying
                )
        return moves, must


def _parts(layout: Layout) -> Signature:
    units: Counter[Group] = Counter()
    for job_class, mode, count in layout.parts:
        units[job_class, mode] += count
    for bundle in layout.bundles:
        units.update((member.job_class, member.mode) for member in bundle.members)
    return tuple(sorted(units.items()))


def _match(
    layouts: Sequence[Layout], nodes: Sequence[int], here: Residents, staying: Container[int]
) -> list[NodeAssignment]:
    """Assign the layouts of a pool to nodes.

    `nodes` are those in service, the preferred ones for job classes that go on first. The
    assignment is greedy by most units kept; ties go to the first node and layout.
    """
    free = dict.fromkeys(nodes)
    left = [layout.count for layout in layouts]
    parts = [_parts(layout) for layout in layouts]
    found: list[NodeAssignment] = []
    for index, layout in enumerate(layouts):  # spanning units keep their nodes if all are there
        for held in here if layout.span > 1 else ():
            known = len(held) > 1 and parts[index][0][0] in here[held]
            if known and left[index] and free.keys() >= set(held):
                left[index] -= 1
                free = {node: None for node in free if node not in held}
                found.append(NodeAssignment(held, parts[index]))
    alike: dict[Signature, list[int]] = defaultdict(list)
    for node in free:
        if here.get((node,)):
            alike[tuple(sorted(here[node,].items()))].append(node)
    single = [index for index, layout in enumerate(layouts) if layout.span == 1]
    # What a node holds already first: no exchange could keep more units than these.
    same = [(index, parts[index]) for index in single if parts[index] in alike]
    for index, content in chain(same, _by_overlap(single, parts, left, alike)):
        kept = alike[content][: left[index]]
        found += (NodeAssignment((node,), parts[index], layouts[index].bundles) for node in kept)
        for node in kept:
            del free[node]
        del alike[content][: len(kept)]
        left[index] -= len(kept)
    rest = [index for index, count in enumerate(left) for _ in range(count)]
    goes_on = [sum(count for (job_class, _), count in one if job_class in staying) for one in parts]
    queue = iter(list(free))
    for index in sorted(rest, key=lambda index: (-goes_on[index], index)):
        taken = tuple(next(queue) for _ in range(layouts[index].span))
        found.append(NodeAssignment(taken, parts[index], layouts[index].bundles))
    return found


def _by_overlap(
    single: Sequence[int],
    parts: Sequence[Signature],
    left: Sequence[int],
    alike: Mapping[Signature, list[int]],
) -> Iterable[tuple[int, Signature]]:
    """Yield what is left, most units kept first, then fewest displaced.

    It is computed when it is first needed.
    """
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


@lru_cache(maxsize=4096)
def _one_gpu_holds(pool: Pool, parts: tuple[Part, ...]) -> bool:
    """Return whether these parts fit one GPU of a pool together."""
    profiles = Counter(part.profile for part in parts)
    if not profiles[""]:
        divisions = (Counter(name for name, _ in one.slots) for one in pool.divisions)
        return any(profiles <= division for division in divisions)
    return len(profiles) == 1 and sum(part.memory_mb for part in parts) <= pool.shared_mb


@dataclass(slots=True)
class _SharedNode:
    """A node that units share, while they are seated one by one."""

    number: int
    """The number of its pool."""
    pool: Pool
    gpus: int
    """Free GPUs; `cpus` and `memory_mb` likewise."""
    cpus: int
    memory_mb: int
    units: list[Group] = field(default_factory=list)
    opened: list[tuple[Part, ...]] = field(default_factory=list)
    """The GPUs that are shared in parts, each with its parts."""

    def fits(self, shape: Shape) -> bool:
        """Return whether the unit fits into what is free.

        Partitions keep apart from whole GPUs unless the pool mixes them.
        """
        return (
            shape.cpus <= self.cpus
            and shape.memory_mb <= self.memory_mb
            and (shape.gpus <= self.gpus or self._opened_for(shape.part) is not None)
            and (self.pool.mixes or not self.units or self._partitioned == bool(shape.part.profile))
        )

    def put(self, unit: Group, shape: Shape) -> None:
        """Seat a unit."""
        self.units.append(unit)
        self.cpus -= shape.cpus
        self.memory_mb -= shape.memory_mb
        gpu = self._opened_for(shape.part)
        if gpu is not None:
            self.opened[gpu] = tuple(sorted((*self.opened[gpu], shape.part)))
            return
        self.gpus -= shape.gpus
        if shape.part != WHOLE:
            self.opened.append((shape.part,))

    def room_beside(self, shape: Shape) -> float:
        """Return how much is left beside a unit: the less, the tighter it fits."""
        node = self.pool.node
        memory = (self.memory_mb - shape.memory_mb) / max(node.memory_mb, 1)
        opens = shape.part != WHOLE and self._opened_for(shape.part) is None
        return memory + (self.gpus - shape.gpus) / node.gpus + opens

    @property
    def _partitioned(self) -> bool:
        return any(part.profile for parts in self.opened for part in parts)

    def _opened_for(self, part: Part) -> int | None:
        """Return the fullest shared GPU that has room for one more part."""
        fitting = [
            (len(parts), -gpu)
            for gpu, parts in enumerate(self.opened if part != WHOLE else ())
            if _one_gpu_holds(self.pool, tuple(sorted((*parts, part))))
        ]
        return -max(fitting)[1] if fitting else None


class _StableAssignment:
    """An assignment for one GPU type in which units keep their nodes where possible.

    Units whose nodes left service and new units are fitted in.
    """

    def __init__(
        self,
        quarter: QuarterNodes,
        nodes: Mapping[int, Sequence[int]],
        units: Mapping[Group, int],
        limits: Mapping[int, int],
    ) -> None:
        self._quarter = quarter
        self._problem = quarter.problem
        self._shape = quarter.shape
        self._groups = sorted(units)
        self._empty = {pool: list(those) for pool, those in nodes.items()}
        self._left = {pool: max(0, limits[pool]) for pool in nodes}
        """The nodes of each pool that may still be used; the others are spare."""
        self._shared: dict[int, _SharedNode] = {}
        self._spanned: dict[tuple[int, ...], Group] = {}
        self._pool_of = {node: pool for pool, those in nodes.items() for node in those}
        self._waiting = Counter(units)

    def found(self, here: Residents) -> list[NodeAssignment] | None:
        """Return the nodes with their units; None if a unit finds no place."""
        self._keep(here)
        if min(self._left.values()) < 0:
            return None  # fewer nodes may be used than before
        return self._assigned() if self._span_all() and self._seat_all() else None

    def _keep(self, here: Residents) -> None:
        """Leave units that go on where they are, as far as the nodes may still be used."""
        for nodes, groups in sorted(here.items()):
            mine = {group: units for group, units in sorted(groups.items()) if units}
            if not set(nodes) <= self._pool_of.keys() or not mine.keys() <= set(self._groups):
                continue
            if len(nodes) > 1:
                group = next(iter(mine))
                if self._waiting[group]:
                    self._span(nodes, group)
                continue
            seat = self._open(nodes[0])
            for group in sorted(mine, key=lambda group: (self._shape(group).part, group)):
                for _ in range(min(mine[group], self._waiting[group])):
                    if not seat.fits(self._shape(group)):  # parts put on other GPUs than before
                        break
                    seat.put(group, self._shape(group))
                    self._waiting[group] -= 1

    def _span_all(self) -> bool:
        """Give whole nodes to the units that need them, the largest first."""
        ordered = sorted(self._groups, key=lambda group: (-self._shape(group).gpus, group))
        for group in ordered:
            spans = {pool: self._span_in(pool, group) for pool in self._empty}
            whole = {pool: span for pool, span in spans.items() if span}
            if 0 in spans.values() or not whole:
                continue
            goes_on = group[0] in self._quarter.staying
            while self._waiting[group] > 0:
                open_pools = ((span, pool, self._empty[pool]) for pool, span in whole.items())
                taken = next(
                    (
                        nodes[:span] if goes_on else nodes[-span:]
                        for span, pool, nodes in open_pools
                        if span <= min(self._left[pool], len(nodes))
                    ),
                    None,
                )
                if taken is None:
                    return False
                self._span(tuple(taken), group)
        return True

    def _seat_all(self) -> bool:
        """Fit in the others: those that go on first, where nodes last; then all anywhere."""
        for pool, empty in self._empty.items():
            for node in empty[: self._left[pool]]:
                self._open(node)
        waiting = [group for group in self._groups for _ in range(self._waiting[group])]
        going_on = [group for group in waiting if group[0] in self._quarter.staying]
        ending = [group for group in waiting if group[0] not in self._quarter.staying]
        seats = sorted(self._shared.items(), key=lambda one: one[1].number)
        lasting = [seat for node, seat in seats if node in self._quarter.lasting]
        left = self._seat(lasting, going_on)
        return not self._seat([seat for _, seat in seats], [*left, *ending])

    def _seat(self, nodes: Sequence[_SharedNode], waiting: Sequence[Group]) -> list[Group]:
        """Seat units where they fit tightest, the largest first; return those without room."""
        open_to: dict[Group, list[_SharedNode]] = {}
        left = []

        def size(group: Group) -> tuple[int, int, Group]:
            return self._shape(group).gpus, self._shape(group).memory_mb, group

        for group in sorted(waiting, key=size, reverse=True):
            shape = self._shape(group)
            if group not in open_to:
                able = {pool for pool in self._empty if self._span_in(pool, group) == 0}
                open_to[group] = [node for node in nodes if node.number in able]
            fitting = (node for node in open_to[group] if node.fits(shape))
            best = min(fitting, key=lambda node: node.room_beside(shape), default=None)
            if best is None:
                left.append(group)
            else:
                best.put(group, shape)
        return left

    def _assigned(self) -> list[NodeAssignment]:
        """Return what each node holds now, pool by pool."""
        found = [NodeAssignment(nodes, ((group, 1),)) for nodes, group in self._spanned.items()]
        for node, seat in self._shared.items():
            if units := Counter(seat.units):
                bundles = tuple(sorted(self._bundles(seat)))
                found.append(NodeAssignment((node,), tuple(sorted(units.items())), bundles))
        return sorted(found, key=lambda one: self._pool_of[one.nodes[0]])

    def _bundles(self, seat: _SharedNode) -> Iterator[Bundle]:
        """Return the GPUs of a node that units take parts of."""
        waiting: dict[Part, list[Group]] = defaultdict(list)
        for group in sorted(seat.units):
            waiting[self._shape(group).part].append(group)
        for parts in sorted(seat.opened):
            slots = starts(seat.pool, [part.profile for part in parts])
            held = [waiting[part].pop(0) for part in parts]
            members = (Member(*unit, 0, 0, slot) for unit, slot in zip(held, slots, strict=True))
            yield Bundle(1, tuple(sorted(members)))

    def _span_in(self, pool: int, group: Group) -> int | None:
        return self._problem.pools[pool].nodes_taken(self._shape(group))

    def _open(self, node: int) -> _SharedNode:
        """Begin to share an empty node."""
        number = self._pool_of[node]
        self._empty[number].remove(node)
        self._left[number] -= 1
        pool = self._problem.pools[number]
        free = pool.node.gpus, pool.node.cpus, pool.node.memory_mb
        self._shared[node] = _SharedNode(number, pool, *free)
        return self._shared[node]

    def _span(self, nodes: tuple[int, ...], group: Group) -> None:
        pool = self._pool_of[nodes[0]]
        self._spanned[nodes] = group
        self._empty[pool] = [node for node in self._empty[pool] if node not in nodes]
        self._left[pool] -= len(nodes)
        self._waiting[group] -= 1
