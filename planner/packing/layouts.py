"""Lays out what was counted: the units of each pool and quarter on its nodes, or a cut.

What is tried for one pool: first-fit and column generation over patterns of whole GPUs, parts of
GPUs onto GPUs and these onto nodes, and patterns of whole nodes with their parts at last: then
prices weigh a part by its GPU and by the host at once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import ceil

from planner.packing.constraints import traffic
from planner.packing.constraints.growth import free_to_hold
from planner.packing.formulation.partitioned_gpus import cut_shared, gpu_stocks
from planner.packing.master import MasterProgram, PoolInQuarter
from planner.packing.node_packing.cutting import Cut, CuttingStock, Pricing
from planner.packing.node_packing.gpu_patterns import OPENED
from planner.packing.node_packing.greedy import Packed, Pattern
from planner.packing.node_packing.shared_gpus import Held, lay_out_bundles, on_fewest_gpus
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


class Layouts:
    """Lays out the counts of a master program, and states cuts in it."""

    def __init__(self, master: MasterProgram, go_on: Callable[[], bool]) -> None:
        """`go_on` is asked in long searches."""
        self.master, self._go_on = master, go_on
        self.shapes, self.stocks = cutting_stocks(master, go_on)
        self._gpu_stocks = gpu_stocks(master, go_on)
        self._joint_stocks = joint_stocks(master, self.stocks, go_on)
        self.cuts = 0
        """That were stated."""

    def cut_off(self, values: tuple[float, ...]) -> int:
        """State the cuts that a fractional solution violates; how many there are."""
        cuts = []
        for pool, quarter in self.master.usages:
            if not self._go_on():
                break
            stock = self.stocks[pool]
            cut = stock.separate(*load_of(self.master, stock, (pool, quarter), values))
            if cut:
                cuts.append((pool, cut))
        return self._state(cuts, values) + self.cut_traffic(values)

    def cut_traffic(self, values: tuple[float, ...]) -> int:
        """State cuts of parts of units that share traffic; how many there are."""
        stated = traffic.cut(self.master, values)
        self.cuts += stated
        return stated

    def lay_out(
        self, values: tuple[float, ...]
    ) -> tuple[dict[PoolInQuarter, Packed], list[PoolInQuarter]]:
        """Layouts of whole units, and the pools where they do not fit, with what cuts them off."""
        packings: dict[PoolInQuarter, Packed] = {}
        cuts: list[tuple[int, Cut]] = []
        lacking = []
        for key in self.master.usages:
            packed = self._laid_out(key, values)
            if packed is None and key[0] in self._joint_stocks:
                packed = self._joint_stocks[key[0]].lay_out(self.master, key, values)
            if packed is None or isinstance(packed, Cut):
                lacking.append(key)
                cuts += [(key[0], packed)] if packed else []
            else:
                packings[key] = packed
        self._state(cuts, values if lacking else None)
        return packings, lacking

    def _laid_out(self, key: PoolInQuarter, values: tuple[float, ...]) -> Packed | Cut | None:
        """What stays, on the nodes of a plan; a cut that it violates; or None for neither."""
        master, stock = self.master, self.stocks[key[0]]
        load, nodes = load_of(master, stock, key, values, stays=True)
        if round(nodes) < 0:  # counts that were rounded each by itself may leave fewer than none
            return None
        asked = [round(units) for units in load]
        packed = stock.pack(asked, round(nodes))
        if key not in master.opened or isinstance(packed, Cut):
            return packed
        kind = master.problem.pools[key[0]]
        opened = round(master.opened[key].units(values))
        asked[stock.shapes.index(OPENED)] -= opened
        most = opened + free_to_hold(master, kind.gpu_type, key[1], values)
        pieces = master.parts(*key, values)
        whole = stock.shapes, asked
        return lay_out_bundles(kind, whole, pieces, round(nodes), most, self._go_on)

    def _state(self, cuts: Sequence[tuple[int, Cut]], values: tuple[float, ...] | None) -> int:
        """State each cut once for its kind of node, and those of GPUs that values share.

        Returns how many there are.
        """
        new = dict.fromkeys(cuts)
        for pool, cut in new:
            self.master.add_cut(self.master.problem.pools[pool], cut)
        stated = len(new)
        if values is not None:
            stated += cut_shared(self.master, self._gpu_stocks, values)
        self.cuts += stated
        return stated


def cutting_stocks(
    master: MasterProgram, go_on: Callable[[], bool]
) -> tuple[dict[int, tuple[Shape, ...]], dict[int, CuttingStock]]:
    """By pool that runs something: what the indices of its patterns mean, and its stock."""
    pools = master.problem.pools
    kinds: dict[tuple[str, Shape], set[Shape]] = {}
    for number, quarter in master.usages:
        pool = pools[number]
        kept = kinds.setdefault((pool.gpu_type, pool.node), set())
        laid = master.on_nodes(number, quarter)
        kept.update(usage.shape for usage in laid if not usage.span)
    made = {
        (gpu_type, node): CuttingStock(node, sorted(held), go_on)
        for (gpu_type, node), held in kinds.items()
    }
    stocks = {
        number: made[pool.gpu_type, pool.node]
        for number, pool in enumerate(pools)
        if (pool.gpu_type, pool.node) in made
    }
    return {number: stock.shapes for number, stock in stocks.items()}, stocks


def load_of(
    master: MasterProgram,
    stock: CuttingStock,
    key: PoolInQuarter,
    values: tuple[float, ...],
    *,
    stays: bool = False,
) -> tuple[list[float], float]:
    """What shares nodes, by the shapes of the stock, and the nodes left for it.

    GPUs opened for parts count as pieces of `OPENED`, and their pieces do not count. A run counts
    by its share of the quarter, or where only what `stays` is asked for, not at all.
    """
    position = {shape: index for index, shape in enumerate(stock.shapes)}
    load = [0.0] * len(position)
    for usage in master.on_nodes(*key):
        if not usage.span and not (stays and usage.asked.is_run):
            load[position[usage.shape]] += usage.units(values) * usage.share
    return load, master.shared_nodes(*key, values)
