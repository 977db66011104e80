"""The least cost of any small problem: `Exhaustive`, with what is tried around it.

Owned nodes that may be let go are tried in every way, each a problem in which none may. Where pools
share spare nodes, every pool is tried for every unit, to see what is left for those that fail.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import product

from planner.packing.problem import Mode, Problem, Supply
from tests.packing.exhaustive import Exhaustive, Unit
from tests.packing.meaning import Nodes, pieces_in, spread, stands_in

Released = Mapping[int, tuple[int, ...]]
"""Owned nodes that are let go, by supply and quarter."""


@cache
def least_cost(problem: Problem) -> int | None:
    """The cost of the best plan; None if there is no plan."""
    if any(supply.releases for supply in problem.supplies):
        return _with_releases(problem)
    solver = WithSharedSpares if problem.spare_groups else Exhaustive
    return solver(problem).least_cost()


def _with_releases(problem: Problem) -> int | None:
    """By trying every way to let nodes go, and everything else that may be decided with it.

    Fewer nodes make nothing else cheaper but by what they take of limits and budgets: what costs
    more even without these than the best known is left out.
    """
    groups: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, supply in enumerate(problem.supplies):
        if supply.releases:
            groups[supply.name, supply.pool].append(number)
    best = None
    least = least_cost(replace(without(problem, {}), limits=(), racks=(), budgets=()))
    tried = (
        without(problem, {n: counts for way in ways for n, counts in way.items()})
        for ways in product(*(_ways(problem, group) for group in groups.values()))
    )
    for rest in sorted(tried, key=lambda rest: rest.fixed_cost_cents):
        beside = rest.fixed_cost_cents - problem.fixed_cost_cents
        if least is None or (best is not None and least + beside >= best):
            break
        if all(most is None or most >= 0 for one in rest.limits for most in one.at_most):
            cost = least_cost(rest)
            best = cost if best is None or (cost is not None and cost < best) else best
    return best


def _ways(problem: Problem, group: list[int]) -> Iterator[Released]:
    """Every way to let nodes of a fleet entry go."""
    supplies = {problem.supplies[number].kind: problem.supplies[number] for number in group}
    nodes = max(supply.maximum or 0 for supply in supplies.values())
    options = [
        product(*(range((one.maximum or 0) + 1 if cents is not None else 1) for cents in costs))
        for one in supplies.values()
        for costs in [one.unit_cost_cents]
    ]
    none = (0,) * problem.quarters
    for counts in product(*options):
        by_kind = dict(zip(supplies, counts, strict=True))
        sold, off = by_kind.get("sell", none), by_kind.get("switch off", none)
        most = (supplies["sell"].maximum or 0) if "sell" in supplies else 0
        if sum(sold) <= most and all(
            sum(sold[: quarter + 1]) + off[quarter] <= nodes for quarter in range(problem.quarters)
        ):
            yield dict(zip(group, counts, strict=True))


def without(problem: Problem, released: Released) -> Problem:
    """The problem in which these nodes are let go and no others: nothing is left to let go."""
    quarters = range(problem.quarters)
    off, gone = ({n: [0] * problem.quarters for n in range(len(problem.pools))} for _ in "ab")
    cents, spent = 0, [0] * len(problem.budgets)
    for number, counts in released.items():
        supply = problem.supplies[number]
        for quarter, count in enumerate(counts):
            cents += count * (supply.unit_cost_cents[quarter] or 0)
            for place, budget in enumerate(problem.budgets):
                spent[place] += count * budget.cents[number][quarter]
            nodes = off if supply.kind == "switch off" else gone
            for later in supply.served(quarter):
                nodes[supply.pool][later] += count
    pools = tuple(
        replace(
            pool,
            retired=tuple(
                (pool.retired[q] if pool.retired else 0) + off[n][q] + gone[n][q] for q in quarters
            ),
        )
        for n, pool in enumerate(problem.pools)
    )
    limits = tuple(  # what is off stays where it stands
        replace(
            limit,
            at_most=tuple(
                most
                if most is None or limit.drawn
                else most - sum(amount * off[pool][q] for pool, amount in limit.terms)
                for q, most in enumerate(limit.at_most)
            ),
        )
        for limit in problem.limits
    )
    budgets = tuple(
        replace(budget, at_most_cents=budget.at_most_cents - paid)
        for budget, paid in zip(problem.budgets, spent, strict=True)
    )
    never = (None,) * problem.quarters
    supplies = tuple(
        Supply(one.name, "rent", one.pool, 0, never) if one.releases else one
        for one in problem.supplies
    )
    return replace(
        problem,
        pools=pools,
        limits=limits,
        budgets=budgets,
        supplies=supplies,
        fixed_cost_cents=problem.fixed_cost_cents + cents,
    )


class WithSharedSpares(Exhaustive):
    """Tries every pool for every unit too, and tests what is left for those that fail."""

    def _moves(self, way: tuple[tuple[Mode, ...], ...], nodes: Nodes) -> int | None:
        quarters = range(self._problem.quarters)
        return 0 if all(self._runs_in(quarter, way, nodes) for quarter in quarters) else None

    def _runs_in(self, quarter: int, way: tuple[tuple[Mode, ...], ...], nodes: Nodes) -> bool:
        units = [
            (number, mode)
            for number, modes in enumerate(way)
            if quarter in self._problem.classes[number].quarters
            for mode in modes
            for _ in range(pieces_in(mode, quarter))
        ]
        open_to = [[pool for pool, _ in self._open_to(mode)] for _, mode in units]
        return any(
            self._outlasts(quarter, list(zip(units, places, strict=True)), nodes)
            for places in product(*open_to)
        )

    def _outlasts(
        self, quarter: int, seats: list[tuple[tuple[int, Mode], int]], nodes: Nodes
    ) -> bool:
        here: dict[int, list[tuple[int, Mode]]] = defaultdict(list)
        for unit, pool in seats:
            here[pool].append(unit)
        pools = self._problem.pools
        empty = {}
        for number, kind in enumerate(pools):
            pieces = sorted((mode for _, mode in here[number]), reverse=True)
            taken = self._fewest(number, tuple(pieces))
            empty[number] = -1 if taken is None else nodes[number][quarter] - taken
            if empty[number] < (kind.spare if pieces else 0):
                return False
        for group in self._problem.spare_groups:
            least = [
                sum(
                    empty[other]
                    for other in group.pools
                    if all(
                        stands_in(self._problem.classes[number], mode, pools[pool], pools[other])
                        for number, mode in here[pool]
                    )
                )
                for pool in group.pools
                if here[pool]
            ]
            if group.nodes and min(least, default=group.nodes) < group.nodes:
                return False
            if group.racks and least:
                most = min(least) // group.racks
                if not spread(self._problem, group, nodes, quarter, most):
                    return False
        return True

    @cache  # noqa: B019 - a problem is solved once
    def _fewest(self, pool: int, pieces: tuple[Mode, ...]) -> int | None:
        """Nodes of a pool that hold these pieces; None where one cannot run."""
        node = self._problem.pools[pool].node
        most = sum(-(-one.shape.gpus // node.gpus) for one in pieces)
        empty = [((),) * pool + ((((node,), ()),) * nodes,) for nodes in range(most + 1)]
        others = ((),) * (len(self._problem.pools) - pool - 1)
        units = tuple(map(Unit, pieces))
        dues = (self._due(units, (*first, *others), (), ()) for first in empty)
        return next((nodes for nodes, due in enumerate(dues) if due is not None), None)

    def _most(self, pools: Collection[int]) -> int:
        spare = sum(group.nodes or group.racks * 3 for group in self._problem.spare_groups)
        return super()._most(pools) + spare
