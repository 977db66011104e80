"""Nodes with all that they hold: whole GPUs, and the parts of GPUs that other pieces take.

Which parts share a GPU, and which GPUs a node, is one question where cores and memory of the host
are scarce. Here a pattern is everything that one node holds, so that prices weigh a part by its GPU
and by the host at once. Each pattern takes an integer program, so this is asked where putting GPUs
together first has found no layout.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from planner.packing.counting.limits import free_to_hold
from planner.packing.layouts.bundles import on_fewest_gpus
from planner.packing.layouts.packed import Packed
from planner.packing.layouts.parts import OPENED
from planner.packing.layouts.pricing import Pricing
from planner.packing.layouts.stocks import most_pieces
from planner.packing.layouts.timetable import numbered, pattern_of
from planner.packing.layouts.weekly import WeeklyStock, holds
from planner.packing.problem import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from planner.packing.counting.counts import Counts, PoolInQuarter
    from planner.packing.layouts.bundles import Held
    from planner.packing.layouts.cutting import Cut, CuttingStock
    from planner.packing.layouts.greedy import Pattern
    from planner.packing.layouts.timetable import Started, Timetable
    from planner.packing.problem import Pool, Shape

__all__ = ["JointStock", "joint_stocks"]


class JointStock(WeeklyStock):
    """Packings of the nodes of one pool; pieces may take parts of GPUs."""

    _few_shapes = 40

    def __init__(
        self,
        pool: Pool,
        shapes: Sequence[Shape],
        most: Sequence[int],
        go_on: Callable[[], bool],
    ) -> None:
        super().__init__(pool.node, shapes, most, go_on)
        self._pool = pool
        self._gpus: dict[Pattern, list[Held]] = {}
        """By pattern: the GPUs that its pieces share."""

    def lay_out(
        self, counts: Counts, key: PoolInQuarter, values: tuple[float, ...]
    ) -> Packed | Cut | None:
        """The units of a plan on its nodes, a cut that their counts violate, or None for neither.

        Patterns index the shapes of the pool's own stock, and GPUs that pieces share.
        """
        position = {shape: index for index, shape in enumerate(self.shapes)}
        asked = [0] * len(position)
        for usage in counts.usages[key]:
            if not usage.span:
                asked[position[usage.shape]] += round(usage.units(values))
        packed = self.pack(asked, round(counts.shared_nodes(*key, values)))
        if not isinstance(packed, Packed):
            return packed
        laid = self._with_gpus(packed)
        opened = round(counts.opened[key].units(values))
        most = opened + free_to_hold(counts, self._pool.gpu_type, key[1], values)
        return laid if laid.opened() <= most else None

    def pack(self, counts: Sequence[int], nodes: int) -> Packed | Cut | None:
        """A packing on at most `nodes`, a cut that the counts violate, or None for neither."""
        return self._from_prices(counts, nodes) or self._by_program(counts, nodes)

    def timed(self, pieces: Sequence[Started]) -> Timetable | None:
        """A timetable of pieces with the pattern of these, which is remembered."""
        pattern = pattern_of(pieces)
        if pattern not in self._timetables:
            gpus = self._shared(pattern)
            whole = [piece for piece in pieces if self.shapes[piece[0]].part == WHOLE]
            opened = [(self.shapes.index(OPENED), 0)] * len(gpus)
            timetable = numbered(self._node, self.shapes, [*whole, *opened])
            if timetable is None:
                return None
            self._gpus[pattern] = gpus
            self._timetables[pattern] = timetable
            self._remember([(pattern, 1)])
        return self._timetables[pattern]

    def _pricing(self, active: Sequence[int], most: Sequence[int] | None) -> Pricing:
        return Pricing(self._node, self.shapes, active, most, self._pool)

    def _shared(self, pattern: Pattern) -> list[Held]:
        """The GPUs that the pieces of a pattern share."""
        parts = {
            self.shapes[index]: units
            for index, units in pattern
            if self.shapes[index].part != WHOLE
        }
        return on_fewest_gpus(self._pool, parts)

    def _with_gpus(self, packed: Packed) -> Packed:
        """A packing with what the shared GPUs hold in place of their pieces."""
        held: dict[Held, int] = {}
        patterns, timetables = [], []
        for pattern, times in packed.patterns:
            whole = {index: n for index, n in pattern if self.shapes[index].part == WHOLE}
            gpus = self._gpus.get(pattern) or self._kept(pattern)
            shared = Counter(-1 - held.setdefault(gpu, len(held)) for gpu in gpus)
            patterns.append((tuple(sorted((whole | shared).items())), times))
            timetables.append(self.timetable(pattern))
        return Packed(tuple(patterns), tuple(held), tuple(timetables))

    def _kept(self, pattern: Pattern) -> list[Held]:
        """The GPUs of a larger pattern, with the pieces that a smaller one keeps."""
        larger = next(other for other in self._gpus if holds(other, pattern))
        left = Counter({self.shapes[index]: units for index, units in pattern})
        gpus = []
        for gpu in self._gpus[larger]:
            kept = []
            for shape in gpu:
                if left[shape]:
                    left[shape] -= 1
                    kept.append(shape)
            gpus += [tuple(kept)] if kept else []
        return gpus


def joint_stocks(
    counts: Counts, stocks: Mapping[int, CuttingStock], go_on: Callable[[], bool]
) -> dict[int, JointStock]:
    """By pool that has parts of GPUs taken: a stock of whole nodes with them."""
    parts: dict[int, set[Shape]] = defaultdict(set)
    for key in counts.opened:
        shapes = (usage.shape for usage in counts.usages[key])
        parts[key[0]].update(shape for shape in shapes if shape.part != WHOLE)
    most, made = most_pieces(counts.problem), {}
    for number, taken in parts.items():
        pool = counts.problem.pools[number]
        every = (*stocks[number].shapes, *sorted(taken))
        pieces = [most[pool.gpu_type, shape] for shape in every]
        made[number] = JointStock(pool, every, pieces, go_on)
    return made
