"""Which rack each node stands in: one for good wherever that can be, else anew by quarter."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from planner.packing.limits import RackSpace
    from planner.packing.solution import Racked, Solution
    from planner.packing.statement.translate import Translation
    from planner.plan.placing.fleet import Fleet

__all__ = ["racks_by_node"]

Stand = dict[int, int]
"""Position of a node -> rack number, from 1."""


def racks_by_node(
    translation: Translation, solution: Solution, fleet: Fleet
) -> dict[int, tuple[int, ...]]:
    """Rack numbers of each node at a site with racks, one for each quarter in service."""
    found: dict[int, list[int]] = defaultdict(list)
    for index, space in enumerate(translation.problem.racks):
        filled = [quarter[index] for quarter in solution.racks]
        floor = _Floor(space, fleet)
        stands = floor.for_good(filled) or list(floor.by_quarter(filled))
        for stand in stands:
            for node, rack in stand.items():
                found[node].append(rack)
    return {node: tuple(racks) for node, racks in sorted(found.items())}


class _Floor:
    """The racks of one site over the quarters."""

    def __init__(self, space: RackSpace, fleet: Fleet) -> None:
        self._space = space
        sizes = {pool: (units, watts) for pool, units, watts in space.nodes}
        self._serving = [{pool: quarter[pool] for pool in sizes} for quarter in fleet.in_service]
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
        load: list[dict[int, list[int]]] = [defaultdict(lambda: [0, 0]) for _ in counts]
        for node, rack in stand.items():
            self._add(node, rack, load)
        for node in sorted(self._size.keys() - stand.keys(), key=self._largest_first):
            found = self._first_rack(node, load)
            if found is None:
                return None
            stand[node] = found
            self._add(node, found, load)
        return [{node: stand[node] for node in sorted(nodes)} for nodes in self._nodes]

    def by_quarter(self, filled: Sequence[Sequence[Racked]]) -> Iterator[Stand]:
        """Each quarter's own arrangement, where as many nodes as can be stay in their rack."""
        before: Stand = {}
        for quarter, racks in enumerate(filled):
            before = self._arranged(racks, quarter, before)
            yield before

    def _largest_first(self, node: int) -> tuple[int, int, int]:
        units, watts = self._size[node]
        return -units, -watts, node

    def _add(self, node: int, rack: int, load: list[dict[int, list[int]]]) -> None:
        for quarter, nodes in enumerate(self._nodes):
            if node in nodes:
                taken = load[quarter][rack]
                taken[0] += self._size[node][0]
                taken[1] += self._size[node][1]

    def _first_rack(self, node: int, load: list[dict[int, list[int]]]) -> int | None:
        """The first rack with room for a node in every quarter in which it serves."""
        units, watts = self._size[node]
        height, fed = self._space.units, self._space.power_w
        served = [load[quarter] for quarter, nodes in enumerate(self._nodes) if node in nodes]
        for rack in range(1, self._space.count + 1):
            if all(
                taken[rack][0] + units <= height and (fed is None or taken[rack][1] + watts <= fed)
                for taken in served
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
