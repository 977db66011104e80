"""Which node takes which layout in one quarter, so that most units stay where they were."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from planner.packing.solution import Bundle, Layout

__all__ = ["Group", "Hosting", "hired_nodes", "match_layouts"]

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
