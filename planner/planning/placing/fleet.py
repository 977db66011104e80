"""The servers of a plan by name, and the rack in which each stands."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import NamedTuple, TypeAlias

from planner.inputs.scenario.places import fleet_by_pool, running_units
from planner.inputs.settled import Inputs
from planner.packing import Translation
from planner.packing.problem import RackSpace
from planner.packing.solution import Racked, Solution
from planner.packing.statement.translate import held_name
from planner.planning.plan import Node, Origin


class NodeTerm(NamedTuple):
    """What a server is from, and when it is there; quarters from 0."""

    origin: Origin
    entry: str
    """Fleet entry or offer."""
    in_service: tuple[int, ...]
    hours: tuple[int, int] | None = None
    """From when to when of the one quarter, where it comes and goes."""
    off: tuple[int, ...] = ()
    sold: int | None = None


_MARKS: dict[Origin, str] = {"owned": "", "buy": "", "rent": "r", "reserve": "v", "hourly": "h"}
"""What stands before the number of a node: `03`, `r03`, `v03`, `h03`."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Every server that is in service at some time, by position."""

    nodes: tuple[Node, ...]
    pool: tuple[int, ...]
    """Pool of each node; where it is held apart, the pool of its type and site."""
    in_service: tuple[tuple[tuple[int, ...], ...], ...]
    """quarter × pool: positions of the nodes in service, longest-lived origin first."""
    off: tuple[tuple[tuple[int, ...], ...], ...] = ()
    """The same of nodes that are switched off; empty where none ever is."""

    def standing(self, quarter: int, pool: int) -> tuple[int, ...]:
        """Nodes of a pool in service or switched off, in the order of the fleet."""
        here = self.in_service[quarter][pool]
        return tuple(sorted((*here, *self.off[quarter][pool]))) if self.off else here


def build_fleet(inputs: Inputs, translation: Translation, solution: Solution) -> Fleet:
    """Give every owned, bought and rented node an identity.

    A bought node stays to the end. A rented number stands for one place of its offer: rented again
    in a later quarter it keeps its number, so that a renewed rent is no move.
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
            mark, hours = _MARKS[slot.origin], slot.hours
            named[mark] += 1
            width = max(2, len(str(marks[mark])))
            held = numbered.get((pool.node_type, pool.site, number))
            part = index if held is None else parts[held]
            for quarter in slot.in_service:
                serving[quarter][part].append(len(nodes))
            for quarter in slot.off:
                off[quarter][part].append(len(nodes))
            nodes.append(
                Node(
                    id=f"{pool.home}/{mark}{named[mark]:0{width}d}",
                    node_type=pool.node_type,
                    gpu_type=pool.gpu_type,
                    gpus=pool.node.gpus,
                    cpus=pool.node.cpus,
                    memory_mb=pool.node.memory_mb,
                    site=pool.site,
                    origin=slot.origin,
                    entry=slot.entry,
                    in_service=tuple(labels[quarter] for quarter in slot.in_service),
                    hours=hours,
                    steps=(hours[1] - hours[0]) // pool.hire.step_hours
                    if hours and pool.hire
                    else 1,
                    off=tuple(labels[quarter] for quarter in slot.off),
                    sold=None if slot.sold is None else labels[slot.sold],
                )
            )
            pool_of.append(index)
    return Fleet(
        tuple(nodes),
        tuple(pool_of),
        *(
            tuple(tuple(tuple(nodes) for nodes in quarter) for quarter in there)
            for there in (serving, off)
        ),
    )


def with_racks(fleet: Fleet, racks: Mapping[int, tuple[int, ...]]) -> Fleet:
    """The same servers, each in its rack."""
    nodes = tuple(
        node.model_copy(update={"racks": racks[place]}) if place in racks else node
        for place, node in enumerate(fleet.nodes)
    )
    return replace(fleet, nodes=nodes)


def _slots(
    inputs: Inputs, translation: Translation, solution: Solution, index: int
) -> Iterator[NodeTerm]:
    """Nodes of a pool: owned by fleet entry, bought, rented, reserved, and those had for hours.

    The last ones in the order of the layouts, which say when each is there.
    """
    problem, pool = translation.problem, translation.problem.pools[index]
    end = problem.quarters
    if not pool.hire:
        yield from _owned(inputs, translation, solution, index)
    supplies = sorted(
        (supply.name, number)
        for number, supply in enumerate(problem.supplies)
        if supply.pool == index and not supply.releases
    )
    entries = [(quarter, *supply) for quarter in range(end) for supply in supplies]
    for quarter, name, supply in entries:
        for _ in range(solution.bought[supply][quarter]):
            yield NodeTerm("buy", name, tuple(range(quarter, end)))
    for name, supply in supplies:
        counts = solution.rented[supply]
        for place in range(max(counts, default=0)):
            quarters = tuple(q for q, count in enumerate(counts) if count > place)
            yield NodeTerm("rent", name, quarters)
    for quarter, name, supply in entries if solution.reserved else ():
        for _ in range(solution.reserved[supply][quarter]):
            yield NodeTerm("reserve", name, tuple(problem.supplies[supply].served(quarter)))
    if pool.hire:
        ((name, _),) = supplies
        for quarter, layouts in enumerate(solution.layouts):
            for layout in layouts[index]:
                yield NodeTerm("hourly", name, (quarter,), layout.hours)


def _owned(
    inputs: Inputs, translation: Translation, solution: Solution, index: int
) -> Iterator[NodeTerm]:
    """The owned nodes of a pool by number; of an entry, those go first on which nothing runs today.

    Then those of the highest numbers, the same ones again where a node goes off more than once.
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
            supply.kind: solution.released[number]
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
        until = min(until, sold.get(number, until))
        on = tuple(quarter for quarter in range(until) if quarter not in off[number])
        yield NodeTerm("owned", name, on, None, tuple(off[number]), sold.get(number))


Stand = dict[int, int]
"""Position of a node -> rack number, from 1."""


def racks_by_node(
    translation: Translation, solution: Solution, fleet: Fleet
) -> dict[int, tuple[int, ...]]:
    """Rack numbers of each node at a site with racks, one for each quarter in which it stands."""
    found: dict[int, list[int]] = defaultdict(list)
    problem = translation.problem
    for index, space in enumerate(problem.racks):
        filled = [quarter[index] for quarter in solution.racks]
        groups = [
            problem.sharing(group)
            for group in problem.spare_groups
            if group.racks and group.site == space.site
        ]
        floor = _Floor(space, fleet, groups, filled)
        stands = floor.for_good(filled) or list(floor.by_quarter(filled))
        for stand in stands:
            for node, rack in stand.items():
                found[node].append(rack)
    return {node: tuple(racks) for node, racks in sorted(found.items())}


_Loads: TypeAlias = "list[dict[int, list[int]]]"
"""By quarter and rack: rack units, W, and nodes of each group."""


class _Floor:
    """The racks of one site over the quarters."""

    def __init__(
        self,
        space: RackSpace,
        fleet: Fleet,
        groups: Sequence[Collection[int]],
        filled: Sequence[Sequence[Racked]],
    ) -> None:
        """`groups` of pools outlast racks: none may hold more of them than the fullest does."""
        self._space = space
        sizes = {
            pool: (units, watts, *(int(pool in group) for group in groups))
            for pool, units, watts in space.nodes
        }
        self._room = [
            (
                space.units,
                space.power_w or 0,
                *(
                    max(
                        (sum(n for pool, n in rack.nodes if pool in group) for rack in racks),
                        default=0,
                    )
                    for group in groups
                ),
            )
            for racks in filled
        ]
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

    def for_good(self, filled: Sequence[Sequence[Racked]]) -> list[Stand] | None:
        """The racks of the fullest quarter, and every other node where it fits all its time."""
        counts = [len(nodes) for nodes in self._nodes]
        fullest = max(range(len(counts)), key=lambda quarter: (counts[quarter], quarter))
        stand = self._arranged(filled[fullest], fullest, {})
        load: _Loads = [defaultdict(lambda: [0] * len(self._room[0])) for _ in counts]
        for node, rack in stand.items():
            self._add(node, rack, load)
        for node in sorted(self._size.keys() - stand.keys(), key=self._largest_first):
            found = self._first_rack(node, load)
            if found is None:
                return None
            stand[node] = found
            self._add(node, found, load)
        if not all(
            taken <= there
            for racks, room in zip(load, self._room, strict=True)
            for rack in racks.values()
            for taken, there in zip(rack, room, strict=True)
        ):
            return None  # nodes of the fullest quarter, in another with fewer empty ones
        return [{node: stand[node] for node in sorted(nodes)} for nodes in self._nodes]

    def by_quarter(self, filled: Sequence[Sequence[Racked]]) -> Iterator[Stand]:
        """Each quarter's own arrangement, where as many nodes as can be stay in their rack."""
        before: Stand = {}
        for quarter, racks in enumerate(filled):
            before = self._arranged(racks, quarter, before)
            yield before

    def _largest_first(self, node: int) -> tuple[int, int, int]:
        units, watts, *_ = self._size[node]
        return -units, -watts, node

    def _add(self, node: int, rack: int, load: _Loads) -> None:
        for quarter, nodes in enumerate(self._nodes):
            if node in nodes:
                taken = load[quarter][rack]
                load[quarter][rack] = list(map(add, taken, self._size[node]))

    def _first_rack(self, node: int, load: _Loads) -> int | None:
        """The first rack with room for a node in every quarter in which it serves."""
        served = [
            (taken, room)
            for nodes, taken, room in zip(self._nodes, load, self._room, strict=True)
            if node in nodes
        ]
        for rack in range(1, self._space.count + 1):
            if all(
                before + more <= there
                for taken, room in served
                for before, more, there in zip(taken[rack], self._size[node], room, strict=True)
            ):
                return rack
        return None

    def _arranged(self, racks: Iterable[Racked], quarter: int, before: Stand) -> Stand:
        """A node for each place of these racks; those that stood in a rack before come first."""
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
        """A rack number for each content: where most of its nodes stood, else the next free one."""
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
