"""Names the nodes of a plan and assigns each to a rack."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import add

from planner.inputs.scenario.scenario import fleet_by_pool, running_units
from planner.inputs.settled import Inputs
from planner.packing import Translation
from planner.packing.problem import RackSpace
from planner.packing.solution import Racked, Solution
from planner.packing.translation import held_name
from planner.planning.plan import Node, NodeOrigin

_MARKS: dict[NodeOrigin, str] = {"owned": "", "buy": "", "rent": "r", "reserve": "v", "hourly": "h"}
"""The prefix of a node's number, by origin: `03`, `r03`, `v03`, `h03`."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Every server that is in service at some time, by position."""

    nodes: tuple[Node, ...]
    pool: tuple[int, ...]
    """The pool of each node; for nodes that are held apart, the pool of their type and site."""
    in_service: tuple[tuple[tuple[int, ...], ...], ...]
    """quarter × pool: the positions of the nodes in service, longest-lived origin first."""
    off: tuple[tuple[tuple[int, ...], ...], ...] = ()
    """The same for nodes that are switched off; empty if none ever is."""

    def standing(self, quarter: int, pool: int) -> tuple[int, ...]:
        """Return the nodes of a pool in service or switched off, in the order of the fleet."""
        here = self.in_service[quarter][pool]
        return tuple(sorted((*here, *self.off[quarter][pool]))) if self.off else here


def build_fleet(inputs: Inputs, translation: Translation, solution: Solution) -> Fleet:
    """Give every owned, bought and rented node an identity.

    A bought node stays to the end. A rented number stands for one place of its offer: it keeps
    its number if it is rented again in a later quarter, so that a renewed rent is no move.
    """
    problem = translation.problem
    labels = inputs.scenario.horizon.labels
    nodes: list[Node] = []
    pool_of: list[int] = []
    serving: list[list[list[int]]] = [[[] for _ in problem.pools] for _ in labels]
    off: list[list[list[int]]] = [[[] for _ in problem.pools] for _ in labels]
    numbered = {
        (place.node_type, place.site, number): held_name(place)
        for place in {unit.place for unit in running_units(inputs.scenario).values() if unit.pinned}
        for number in place.numbers
    }
    parts = {pool.name: index for index, pool in enumerate(problem.pools)}
    for index, pool in enumerate(problem.pools):
        if pool.held:
            continue
        slots = list(_slots(inputs, translation, solution, index))
        marks = Counter(_MARKS[slot.origin] for slot in slots)
        named: Counter[str] = Counter()
        for number, slot in enumerate(slots, start=1):
            mark = _MARKS[slot.origin]
            named[mark] += 1
            width = max(2, len(str(marks[mark])))
            held = numbered.get((pool.node_type, pool.site, number))
            part = index if held is None else parts[held]
            for there, quarters in ((serving, slot.in_service), (off, slot.off)):
                for label in quarters:
                    there[labels.index(label)][part].append(len(nodes))
            name = f"{pool.home}/{mark}{named[mark]:0{width}d}"
            nodes.append(slot.model_copy(update={"id": name}))
            pool_of.append(index)
    return Fleet(
        tuple(nodes),
        tuple(pool_of),
        *(
            tuple(tuple(tuple(nodes) for nodes in quarter) for quarter in there)
            for there in (serving, off)
        ),
    )


def _slots(
    inputs: Inputs, translation: Translation, solution: Solution, index: int
) -> Iterator[Node]:
    """Yield the nodes of a pool without names yet: owned, bought, rented, reserved, and for hours.

    The last come in the order of the layouts, which say when each of them exists.
    """
    problem, pool = translation.problem, translation.problem.pools[index]
    labels, end = inputs.scenario.horizon.labels, problem.quarters
    supplies = sorted(
        (supply.name, number)
        for number, supply in enumerate(problem.supplies)
        if supply.pool == index and not supply.releases
    )

    def node(origin: NodeOrigin, entry: str, quarters: Iterable[int]) -> Node:
        return Node(
            id="",
            node_type=pool.node_type,
            gpu_type=pool.gpu_type,
            gpus=pool.node.gpus,
            cpus=pool.node.cpus,
            memory_mb=pool.node.memory_mb,
            site=pool.site,
            origin=origin,
            entry=entry,
            in_service=tuple(labels[quarter] for quarter in quarters),
        )

    if pool.hire:
        ((name, _),) = supplies
        for quarter, layouts in enumerate(solution.layouts):
            for start, stop in (layout.hours for layout in layouts[index] if layout.hours):
                steps = (stop - start) // pool.hire.step_hours
                had = {"hours": (start, stop), "steps": steps}
                yield node("hourly", name, (quarter,)).model_copy(update=had)
        return
    for name, on, off, sold, until in _owned(inputs, translation, solution, index):
        let_go: dict[str, object] = {"off": tuple(labels[at] for at in off)}
        if sold is not None:
            let_go |= {"sold": labels[sold], "gone": tuple(labels[sold:until])}
        yield node("owned", name, on).model_copy(update=let_go)
    for kind in ("buy", "rent", "reserve"):
        mine = [(name, at) for name, at in supplies if problem.supplies[at].kind == kind]
        for name, supply in mine if kind == "rent" else ():
            counts = solution.acquired[supply]
            for place in range(max(counts, default=0)):
                yield node(kind, name, (q for q, count in enumerate(counts) if count > place))
        for quarter, (name, supply) in product(range(end), mine if kind != "rent" else ()):
            for _ in range(solution.acquired[supply][quarter]):
                yield node(kind, name, problem.supplies[supply].served(quarter))


def _owned(
    inputs: Inputs, translation: Translation, solution: Solution, index: int
) -> Iterator[tuple[str, list[int], list[int], int | None, int]]:
    """Yield a pool's owned nodes: entry, quarters in service and off, those of sale and retirement.

    Of an entry, nodes on which nothing runs today go first, and then those with the highest
    numbers; if nodes go off more than once, it is the same ones again.
    """
    scenario, pool = inputs.scenario, translation.problem.pools[index]
    owned = fleet_by_pool(scenario).get((pool.node_type, pool.site), [])
    end, first = translation.problem.quarters, scenario.horizon.first_quarter
    held, busy = set[int](), set[int]()
    for unit in running_units(scenario).values():
        if unit.place.pool == f"{pool.node_type}/{pool.site}":
            (held if unit.pinned else busy).update(unit.place.numbers)
    sold: dict[int, int] = {}
    off: dict[int, list[int]] = defaultdict(list)
    for name in dict.fromkeys(name for name, _ in owned):
        gone: dict[str, tuple[int, ...]] = {
            supply.kind: solution.acquired[number]
            for number, supply in enumerate(translation.problem.supplies)
            if supply.releases and (supply.name, supply.pool) == (name, index)
        }
        mine = (n for n, (entry, _) in enumerate(owned, 1) if entry == name and n not in held)
        left = sorted(mine, key=lambda number: (number not in busy, number))
        for quarter in range(end) if gone else ():
            for _ in range(gone.get("sell", (0,) * end)[quarter]):
                sold[left.pop()] = quarter
            for number in left[len(left) - gone.get("switch off", (0,) * end)[quarter] :]:
                off[number].append(quarter)
    for number, (name, entry) in enumerate(owned, 1):
        until = end if entry.retires is None else min(end, entry.retires - first)
        there = range(min(until, sold.get(number, until)))
        on = [quarter for quarter in there if quarter not in off[number]]
        yield name, on, off[number], sold.get(number), until


Stand = dict[int, int]
"""The position of a node -> the number of its rack, from 1."""


def with_racks(translation: Translation, solution: Solution, fleet: Fleet) -> Fleet:
    """Return the fleet with each node of a site with racks assigned to one, in each quarter."""
    racks: dict[int, tuple[int, ...]] = defaultdict(tuple)
    problem = translation.problem
    for index, space in enumerate(problem.racks):
        filled = [quarter[index] for quarter in solution.racks]
        groups = [
            problem.sharing(group)
            for group in problem.spare_groups
            if group.racks and group.site == space.site
        ]
        floor = _Floor(space, fleet, groups, filled)
        for stand in floor.for_good() or floor.by_quarter():
            for node, rack in stand.items():
                racks[node] += (rack,)
    nodes = (
        node.model_copy(update={"racks": racks[place]}) if place in racks else node
        for place, node in enumerate(fleet.nodes)
    )
    return replace(fleet, nodes=tuple(nodes))


class _Floor:
    """The racks of one site over the quarters."""

    def __init__(
        self,
        space: RackSpace,
        fleet: Fleet,
        groups: Sequence[Collection[int]],
        filled: Sequence[Sequence[Racked]],
    ) -> None:
        """Take the nodes of a site with racks.

        `groups` are pools whose spares must outlast the loss of a rack: no rack may hold more of
        them than the fullest does.
        """

        def fullest(racks: Sequence[Racked], group: Collection[int]) -> int:
            held = (sum(n for pool, n in rack.nodes if pool in group) for rack in racks)
            return max(held, default=0)

        self._space, self._filled = space, filled
        sizes = {
            pool: (units, watts, *(int(pool in group) for group in groups))
            for pool, units, watts in space.nodes
        }
        self._room = [
            (space.units, space.power_w or 0, *(fullest(racks, group) for group in groups))
            for racks in filled
        ]
        self._load: dict[tuple[int, int], tuple[int, ...]] = defaultdict(
            lambda: (0,) * len(self._room[0])
        )
        """By quarter and rack: the rack units, the watts, and the nodes of each group."""
        self._serving = [
            {pool: fleet.standing(quarter, pool) for pool in sizes}
            for quarter in range(len(fleet.in_service))
        ]
        self._size = {
            node: sizes[pool]
            for quarter in self._serving
            for pool, nodes in quarter.items()
            for node in nodes
        }
        self._nodes = [
            {node for nodes in serving.values() for node in nodes} for serving in self._serving
        ]

    def for_good(self) -> list[Stand] | None:
        """Assign the fullest quarter's racks, and every other node where it fits all its time."""
        counts = [len(nodes) for nodes in self._nodes]
        fullest = max(range(len(counts)), key=lambda quarter: (counts[quarter], quarter))
        stand = self._arranged(self._filled[fullest], fullest, {})
        if not all(self._put(node, rack) for node, rack in stand.items()):
            return None  # nodes of the fullest quarter, in another with fewer empty ones

        def largest_first(node: int) -> tuple[int, int, int]:
            return -self._size[node][0], -self._size[node][1], node

        for node in sorted(self._size.keys() - stand.keys(), key=largest_first):
            racks = range(1, self._space.count + 1)
            found = next((rack for rack in racks if self._put(node, rack)), None)
            if found is None:
                return None
            stand[node] = found
        return [{node: stand[node] for node in sorted(nodes)} for nodes in self._nodes]

    def by_quarter(self) -> Iterator[Stand]:
        """Arrange each quarter by itself, keeping as many nodes as possible in their rack."""
        before: Stand = {}
        for quarter, racks in enumerate(self._filled):
            before = self._arranged(racks, quarter, before)
            yield before

    def _put(self, node: int, rack: int) -> bool:
        """Put a node into a rack if it has room in every quarter in which the node stands."""
        sums = {
            quarter: tuple(map(add, self._load[quarter, rack], self._size[node]))
            for quarter, nodes in enumerate(self._nodes)
            if node in nodes
        }
        for quarter, taken in sums.items():
            if any(more > there for more, there in zip(taken, self._room[quarter], strict=True)):
                return False
        for quarter, taken in sums.items():
            self._load[quarter, rack] = taken
        return True

    def _arranged(self, racks: Iterable[Racked], quarter: int, before: Stand) -> Stand:
        """Choose a node for each place of these racks, preferring nodes that stood there before."""
        waiting = {pool: list(nodes) for pool, nodes in self._serving[quarter].items()}
        contents = [dict(entry.nodes) for entry in racks for _ in range(entry.count)]
        numbers = self._numbered(contents, waiting, before)
        stand: Stand = {}
        for number, content in zip(numbers, contents, strict=True):
            for pool, count in content.items():
                here = [node for node in waiting[pool] if before.get(node) == number][:count]
                stand |= dict.fromkeys(here, number)
                content[pool] = count - len(here)
                waiting[pool] = [node for node in waiting[pool] if node not in here]
        for number, content in zip(numbers, contents, strict=True):
            for pool, count in content.items():
                stand |= dict.fromkeys(waiting[pool][:count], number)
                del waiting[pool][:count]
        return stand

    def _numbered(
        self, contents: Sequence[dict[int, int]], waiting: dict[int, list[int]], before: Stand
    ) -> list[int]:
        """Number the racks: where most of its nodes stood before, else the next free number."""
        held: dict[int, Counter[int]] = defaultdict(Counter)
        for pool, nodes in waiting.items():
            for node in nodes:
                if node in before:
                    held[before[node]][pool] += 1
        ranked = sorted(
            (-sum(min(count, there[pool]) for pool, count in content.items()), place, number)
            for place, content in enumerate(contents)
            for number, there in held.items()
        )
        taken: dict[int, int] = {}
        for _, place, number in ranked:
            if place not in taken and number not in taken.values():
                taken[place] = number
        free = (n for n in range(1, self._space.count + 1) if n not in set(taken.values()))
        return [taken[place] if place in taken else next(free) for place in range(len(contents))]
