"""What one node holds week by week: which piece starts when, and on which of its GPUs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planner.packing.problem import ALWAYS, WEEKS
from planner.packing.solution import Bundle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from planner.packing.layouts.greedy import Pattern
    from planner.packing.problem import Shape
    from planner.packing.solution import Member

__all__ = ["Started", "Timetable", "bundled", "in_step", "numbered", "pattern_of", "without"]

_STEPS = 4_000

Started = tuple[int, int]
"""(index of a shape, week in which a piece of it starts)."""
Timetable = tuple[tuple[int, int, int], ...]
"""(index of a shape, first week, first GPU) of each piece, sorted; always-on pieces have no GPU of
their own here and stand with 0."""


def pattern_of(pieces: Iterable[tuple[int, ...]]) -> Pattern:
    """How many pieces there are of each shape."""
    return tuple(sorted(Counter(piece[0] for piece in pieces).items()))


def without(timetable: Timetable, pattern: Pattern) -> Timetable:
    """The pieces of a timetable that a smaller pattern keeps."""
    left, kept = dict(pattern), []
    for piece in timetable:
        if left.get(piece[0], 0):
            left[piece[0]] -= 1
            kept.append(piece)
    return tuple(kept)


def in_step(shapes: Sequence[Shape], timetables: Iterable[tuple[Timetable, int]]) -> bool:
    """Whether, of pieces that are on several nodes each, whole ones start in every week.

    `timetables` are those of all nodes of a pool in a quarter, with how many nodes have each; what
    comes after the shapes are GPUs that parts are taken of.
    """
    begun: Counter[Started] = Counter()
    for timetable, nodes in timetables:
        for index, week, _ in timetable:
            if index < len(shapes) and shapes[index].gang:
                begun[index, week] += nodes
    return all(nodes % shapes[index].gang == 0 for (index, _), nodes in begun.items())


def numbered(node: Shape, shapes: Sequence[Shape], pieces: Sequence[Started]) -> Timetable | None:
    """Neighbouring GPUs for every run, the same from its first week to its last.

    None where the pieces do not fit the node, and where no numbering is found: pieces that fit in
    every week may still leave only GPUs that are no neighbours.
    """
    if not _fit(node, shapes, pieces):
        return None
    always = [(index, week, 0) for index, week in pieces if shapes[index].run == ALWAYS]
    runs = sorted(
        (piece for piece in pieces if shapes[piece[0]].run != ALWAYS),
        key=lambda piece: (piece[1], -shapes[piece[0]].gpus, piece),
    )
    room = node.gpus - sum(shapes[index].gpus for index, _, _ in always)
    firsts = _Numbering(shapes, runs, room).firsts()
    if firsts is None:
        return None
    return tuple(sorted([*always, *((*run, gpu) for run, gpu in zip(runs, firsts, strict=True))]))


def bundled(members: Iterable[tuple[Member, int]]) -> tuple[Bundle, ...]:
    """Runs of one node as bundles that are as small as can be; each comes with its GPUs."""
    bundles: list[Bundle] = []
    held: list[Member] = []
    first = end = 0
    for member, gpus in sorted(members, key=lambda entry: (entry[0].gpu, entry[0])):
        if held and member.gpu >= end:
            bundles.append(Bundle(end - first, tuple(sorted(held))))
            held = []
        if not held:
            first = end = member.gpu
        end = max(end, member.gpu + gpus)
        held.append(replace(member, gpu=member.gpu - first))
    if held:
        bundles.append(Bundle(end - first, tuple(sorted(held))))
    return tuple(sorted(bundles))


def _fit(node: Shape, shapes: Sequence[Shape], pieces: Sequence[Started]) -> bool:
    """Whether the pieces fit the node in every week, in whole numbers."""
    for week in range(WEEKS):
        held = [shapes[index] for index, at in pieces if at <= week < at + shapes[index].run.weeks]
        if (
            sum(shape.gpus for shape in held) > node.gpus
            or sum(shape.cpus for shape in held) > node.cpus
            or sum(shape.memory_mb for shape in held) > node.memory_mb
        ):
            return False
    return True


@dataclass(slots=True)
class _Numbering:
    """A depth-first search; runs come in the order of their weeks."""

    shapes: Sequence[Shape]
    runs: Sequence[Started]
    gpus: int
    steps: int = 0

    def firsts(self) -> list[int] | None:
        """The first GPU of each run, or None if there is none within the steps."""
        taken: list[int] = []
        return taken if self._descend([0] * self.gpus, taken) else None

    def _descend(self, free_from: list[int], taken: list[int]) -> bool:
        """`free_from` tells for each GPU the week from which nobody holds it."""
        if len(taken) == len(self.runs):
            return True
        self.steps += 1
        if self.steps > _STEPS:
            return False
        index, week = self.runs[len(taken)]
        shape = self.shapes[index]
        for first in self._open(free_from, shape.gpus, week):
            after = list(free_from)
            after[first : first + shape.gpus] = [week + shape.run.weeks] * shape.gpus
            taken.append(first)
            if self._descend(after, taken):
                return True
            taken.pop()
        return False

    def _open(self, free_from: list[int], size: int, week: int) -> Iterator[int]:
        """Where so many neighbours are free; multiples of the size first, that break up least."""
        found = [
            first
            for first in range(self.gpus - size + 1)
            if max(free_from[first : first + size]) <= week
        ]
        return iter(sorted(found, key=lambda first: (first % size, -first if size == 1 else first)))
