"""Nodes with all that they hold: whole GPUs, and the parts of GPUs that other pieces take.

Which parts share a GPU, and which GPUs a node, is one question where cores and memory of the host
are scarce. Here a pattern is everything that one node holds, so that prices weigh a part by its GPU
and by the host at once. Each pattern takes an integer program, so this is asked where putting GPUs
together first has found no layout.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import ceil

from planner.packing.constraints.growth import free_to_hold
from planner.packing.master import MasterProgram, PoolInQuarter
from planner.packing.node_packing.cutting import Cut, CuttingStock
from planner.packing.node_packing.greedy import Pattern
from planner.packing.node_packing.packed import Packed
from planner.packing.node_packing.pricing import Pricing
from planner.packing.node_packing.shared_gpus import Held, on_fewest_gpus
from planner.packing.problem import WHOLE, Pool, Problem, Shape
from planner.packing.solvers.program import Program
from planner.packing.solvers.solver import solve_integer

_TOLERANCE = 1e-6
_SAFETY = 1 - 1e-7
"""Taken off the weights that come from prices, against rounding in the programs."""
_FEW_SHAPES = 40
"""Beyond so many shapes in use, patterns take too long to price."""
_PROGRAM_S, _PROGRAM_NODES = 5.0, 300


class JointStock(CuttingStock):
    """Packings of the nodes of one pool; pieces may take parts of GPUs."""

    def __init__(
        self,
        pool: Pool,
        shapes: Sequence[Shape],
        most: Sequence[int],
        go_on: Callable[[], bool],
    ) -> None:
        """`most` are the pieces of each shape that there can be."""
        super().__init__(pool.node, shapes, go_on)
        self._pool, self._most_pieces = pool, most
        self._gpus: dict[Pattern, list[Held]] = {}
        """By pattern: the GPUs that its pieces share."""

    def lay_out(
        self, master: MasterProgram, key: PoolInQuarter, values: tuple[float, ...]
    ) -> Packed | Cut | None:
        """The units of a plan on its nodes, a cut that their counts violate, or None for neither.

        Patterns index the shapes of the pool's own stock, and GPUs that pieces share.
        """
        position = {shape: index for index, shape in enumerate(self.shapes)}
        asked = [0] * len(position)
        for usage in master.usages[key]:
            if not usage.span and not usage.asked.is_run:
                asked[position[usage.shape]] += round(usage.units(values))
        packed = self.pack(asked, round(master.shared_nodes(*key, values)))
        if not isinstance(packed, Packed):
            return packed
        laid = self._with_gpus(packed)
        opened = round(master.opened[key].units(values))
        most = opened + free_to_hold(master, self._pool.gpu_type, key[1], values)
        return laid if laid.opened() <= most else None

    def pack(self, counts: Sequence[int], nodes: int) -> Packed | Cut | None:
        """A packing on at most `nodes`, a cut that the counts violate, or None for neither."""
        return self._from_prices(counts, nodes) or self._by_program(counts, nodes)

    def _from_prices(self, counts: Sequence[int], nodes: int) -> Cut | None:
        """A cut from the prices of a fractional packing.

        Patterns may first hold any number of pieces of a shape, so that prices can be lifted; then
        no more than there are, which says more where there are few.
        """
        if sum(map(bool, counts)) > _FEW_SHAPES:
            return None
        relaxation = self._relaxed(counts, nodes)
        if ceil(relaxation.bound - _TOLERANCE) > nodes:
            return self._cut(self.shapes, relaxation.prices)
        relaxation = self._relaxed(counts, nodes, self._most_pieces)
        if ceil(relaxation.bound - _TOLERANCE) > nodes:
            prices = relaxation.prices
            weights = (prices.get(index, 0.0) * _SAFETY for index in range(len(self.shapes)))
            return Cut(tuple(weights), self.shapes)
        return None

    def _guessed(self, prices: Mapping[int, float], most: Sequence[int] | None) -> Pattern:
        del prices, most  # parts of GPUs do not fill a node one after another
        return ()

    def _pricing(self, active: Sequence[int], most: Sequence[int] | None) -> Pricing:
        return Pricing(self._node, self.shapes, active, most, self._pool)

    def _by_program(self, counts: Sequence[int], nodes: int) -> Packed | None:
        """The patterns met so far that hold all pieces on fewest nodes."""
        asked = [index for index, units in enumerate(counts) if units]
        program = Program()
        used = {
            pattern: program.variable("pattern", cost=1.0, integer=True)
            for pattern in self._patterns
            if any(counts[index] for index, _ in pattern)
        }
        for index in asked:
            holds = {used[pattern]: float(dict(pattern).get(index, 0)) for pattern in used}
            program.row("held", holds, ">=", counts[index])
        program.row("nodes", dict.fromkeys(used.values(), 1.0), "<=", nodes)
        answer = solve_integer(
            program, time_limit_s=_PROGRAM_S, relative_gap=1.0, node_limit=_PROGRAM_NODES
        )
        if not answer.values:
            return None
        return self.exactly(
            [(pattern, round(answer.values[index])) for pattern, index in used.items()], counts
        )

    def _keep(self, pattern: Pattern) -> None:
        """Remember a pattern if the GPUs that its pieces share leave room for its whole ones."""
        if pattern in self._gpus:
            return
        gpus = self._shared(pattern)
        whole = sum(self.shapes[index].whole_gpus * units for index, units in pattern)
        if whole + len(gpus) <= self._node.gpus:
            self._gpus[pattern] = gpus
            self._remember([(pattern, 1)])

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
        patterns = []
        for pattern, times in packed.patterns:
            whole = {index: n for index, n in pattern if self.shapes[index].part == WHOLE}
            gpus = self._gpus.get(pattern) or self._kept(pattern)
            shared = Counter(-1 - held.setdefault(gpu, len(held)) for gpu in gpus)
            patterns.append((tuple(sorted((whole | shared).items())), times))
        return Packed(tuple(patterns), tuple(held))

    def _kept(self, pattern: Pattern) -> list[Held]:
        """The GPUs of a larger pattern, with the pieces that a smaller one keeps."""
        larger = next(other for other in self._gpus if _holds(other, pattern))
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
    master: MasterProgram, stocks: Mapping[int, CuttingStock], go_on: Callable[[], bool]
) -> dict[int, JointStock]:
    """By pool that has parts of GPUs taken: a stock of whole nodes with them."""
    parts: dict[int, set[Shape]] = defaultdict(set)
    for key in master.opened:
        shapes = (usage.shape for usage in master.usages[key])
        parts[key[0]].update(shape for shape in shapes if shape.part != WHOLE)
    most, made = _most_pieces(master.problem), {}
    for number, taken in parts.items():
        pool = master.problem.pools[number]
        every = (*stocks[number].shapes, *sorted(taken))
        pieces = [most[pool.gpu_type, shape] for shape in every]
        made[number] = JointStock(pool, every, pieces, go_on)
    return made


def _most_pieces(problem: Problem) -> dict[tuple[str, Shape], int]:
    """By GPU type and shape on a node: pieces that there can be at any one time."""
    pieces: Counter[tuple[str, Shape, int]] = Counter()
    for demand in problem.demands:
        copies: dict[tuple[str, Shape, int], int] = {}
        for choice in demand.choices:
            for quarter in demand.quarters:
                kind = (choice.gpu_type, choice.shape.while_running, quarter)
                copies[kind] = max(choice.copies_in(quarter), copies.get(kind, 0))
        pieces.update({kind: times * demand.count for kind, times in copies.items()})
    most: dict[tuple[str, Shape], int] = defaultdict(int)
    for (gpu_type, shape, _), units in pieces.items():
        most[gpu_type, shape] = max(units, most[gpu_type, shape])
    return most


def _holds(larger: Pattern, pattern: Pattern) -> bool:
    """Whether a pattern has all the pieces of another."""
    held = dict(larger)
    return all(units <= held.get(index, 0) for index, units in pattern)
