"""Node types that share spare nodes: each rule alone decides, and all agree with trying all."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from planner.packing.apart import kept_apart
from planner.packing.limits import RackSpace, SharedSpares
from planner.packing.problem import Choice, Demand, Pool, Problem, Shape, Supply
from planner.packing.solution import Status
from tests.packing import test_brute_force
from tests.packing.draws import parts, parts_and_runs, runs
from tests.packing.exhaustive import Exhaustive
from tests.packing.meaning import Nodes, spread, stands_in
from tests.packing.test_stays import today
from tests.properties.questions import draws

COST = {"a": 1_000_000, "b": 1_300_000}


class Sharing(Exhaustive):
    """Tries every pool for every unit too, and tests what is left for those that fail."""

    def _runs(self, way: tuple[tuple[Choice, ...], ...], nodes: Nodes) -> bool:
        return all(self._runs_in(quarter, way, nodes) for quarter in range(self._problem.quarters))

    def _runs_in(self, quarter: int, way: tuple[tuple[Choice, ...], ...], nodes: Nodes) -> bool:
        units = [
            (number, choice)
            for number, choices in enumerate(way)
            if quarter in self._problem.demands[number].quarters
            for choice in choices
        ]
        open_to = [[pool for pool, _ in self._open_to(choice)] for _, choice in units]
        return any(
            self._left(quarter, list(zip(units, places, strict=True)), nodes)
            for places in product(*open_to)
        )

    def _left(
        self, quarter: int, seats: list[tuple[tuple[int, Choice], int]], nodes: Nodes
    ) -> bool:
        here: dict[int, list[tuple[int, Choice]]] = defaultdict(list)
        for unit, pool in seats:
            here[pool].append(unit)
        pools = self._problem.pools
        empty = {}
        for number, kind in enumerate(pools):
            shapes = sorted((choice.shape for _, choice in here[number]), reverse=True)
            taken = fewest(tuple(shapes), kind.node, kind.fabric)
            empty[number] = -1 if taken is None else nodes[number][quarter] - taken
            if empty[number] < (kind.spare if shapes else 0):
                return False
        for group in self._problem.spare_groups:
            least = [
                sum(
                    empty[other]
                    for other in group.pools
                    if all(
                        stands_in(self._problem.demands[number], choice, pools[pool], pools[other])
                        for number, choice in here[pool]
                    )
                )
                for pool in group.pools
                if here[pool]
            ]
            if group.nodes and min(least, default=group.nodes) < group.nodes:
                return False
            outlasts = not (group.racks and least) or spread(
                self._problem, group, nodes, quarter, min(least) // group.racks
            )
            if not outlasts:
                return False
        return True

    def _most(self, pools: object) -> int:
        spare = sum(group.nodes or group.racks * 3 for group in self._problem.spare_groups)
        return super()._most(pools) + spare  # type: ignore[arg-type]


@cache
def fewest(shapes: tuple[Shape, ...], node: Shape, fabric: bool) -> int | None:
    """Nodes that hold these pieces, by trying every way; None where one cannot run."""
    spanning = [one for one in shapes if one.gpus >= node.gpus]
    if any(one.gpus % node.gpus or (one.gpus > node.gpus and not fabric) for one in spanning):
        return None
    whole = sum(one.gpus // node.gpus for one in spanning)
    if any(
        one.cpus > one.gpus // node.gpus * node.cpus
        or one.memory_mb > one.gpus // node.gpus * node.memory_mb
        for one in spanning
    ):
        return None
    rest = tuple(one for one in shapes if one.gpus < node.gpus)
    found = _bins(rest, (), (node.gpus, node.cpus, node.memory_mb))
    return None if found is None else whole + found


@cache
def _bins(
    shapes: tuple[Shape, ...], free: tuple[tuple[int, ...], ...], node: tuple[int, ...]
) -> int | None:
    if not shapes:
        return len(free)
    first, rest = (shapes[0].gpus, shapes[0].cpus, shapes[0].memory_mb), shapes[1:]
    found = []
    for at in range(len(free) + 1):
        there = free[at] if at < len(free) else node
        left = tuple(have - take for have, take in zip(there, first, strict=True))
        if min(left) >= 0:
            found.append(_bins(rest, tuple(sorted((*free[:at], left, *free[at + 1 :]))), node))
    return min((one for one in found if one is not None), default=None)


def group(*pools: int, nodes: int = 0, racks: int = 0) -> tuple[SharedSpares, ...]:
    return (SharedSpares("g at main", pools, nodes, racks, "main"),)


@pytest.mark.parametrize(
    ("on_b", "taken_in"),
    [
        ((4, 40, 400_000), True),
        ((5, 40, 400_000), False),
        ((4, 27, 400_000), True),
        ((4, 61, 400_000), False),
        ((4, 40, 401_000), False),
    ],
)
def test_a_unit_takes_no_more_there_than_its_share_of_the_node(build, on_b, taken_in):
    """Half of the GPUs of a node are followed by half of the host of the other: 60 cores."""
    pools = [build.pool("a"), build.pool("b", node=(8, 120, 800_000))]
    unit = build.units(1, ("a", 4, 40, 400_000), ("b", *on_b))
    problem = replace(build.problem(pools, [], [unit]), spare_groups=group(0, 1, nodes=1))

    (choice, _) = kept_apart(problem).demands[0].choices
    assert ((0, 1) in choice.shape.stand_ins) is taken_in
    assert stands_in(unit, unit.choices[0], *pools) is taken_in


def test_a_pinned_unit_and_one_over_several_nodes_wait_for_a_node_of_their_own_type(build):
    pools = [build.pool("a"), build.pool("b")]
    pinned = build.units(1, ("a", 4, 0, 0), ("b", 4, 0, 0))
    pinned = replace(
        pinned,
        choices=tuple(
            replace(one, shape=one.shape._replace(stays="node-a/main")) for one in pinned.choices
        ),
    )
    spanning = build.units(1, ("a", 16, 0, 0), ("b", 16, 0, 0))
    problem = build.problem(pools, [], [pinned, spanning])
    problem = kept_apart(replace(problem, spare_groups=group(0, 1, nodes=1)))

    shapes = [choice.shape for demand in problem.demands for choice in demand.choices]
    pairs = [(pool, other) for shape in shapes for pool, other in shape.stand_ins if pool != other]
    assert not pairs


@pytest.mark.parametrize(("racks", "bought"), [(2, None), (3, 9), (4, 8), (7, 7), (9, 7)])
def test_what_outlasts_a_rack_is_spread_over_the_racks(build, solve, racks, bought):
    """Six nodes at work; a rack holds four. Of two racks, one cannot hold six for the other."""
    units = build.units(6, ("a", 8, 0, 0))
    problem = build.problem([build.pool("a")], [build.buy(COST["a"])], [units])
    space = RackSpace("main", racks, 40, None, ((0, 10, 0),))
    solution = solve(replace(problem, racks=(space,), spare_groups=group(0, racks=1)))

    assert (solution and solution.bought[0][0]) == bought
    if solution:
        most = max(sum(n for _, n in rack.nodes) for rack in solution.racks[0][0])
        assert most == bought - 6 == solution.spare[0][0]


def test_a_feed_that_supplies_two_racks_asks_for_the_nodes_of_both(build, solve):
    units = build.units(4, ("a", 8, 0, 0))
    problem = build.problem([build.pool("a")], [build.buy(COST["a"])], [units])
    space = RackSpace("main", 6, 40, None, ((0, 10, 0),))
    solution = solve(replace(problem, racks=(space,), spare_groups=group(0, racks=2)))

    assert solution.bought == ((6,),)


def draw(rng: random.Random, *, racks: bool) -> Problem:
    """Two or three pools that share spare nodes, at most four units, one or two quarters."""
    quarters = rng.choice((1, 1, 2))
    pools = tuple(
        Pool(
            f"n{number}",
            "main",
            gpu_type,
            Shape(rng.choice((4, 4, 8)), rng.choice((20, 40)), rng.choice((10, 23))),
            rng.choice((0, 0, 0, 1)),
            rng.choice((0, 0, 0, 1)),
            fabric=True,
        )
        for number, gpu_type in enumerate(rng.choice(("ab", "ab", "aa", "abc")))
    )
    supplies = []
    for number, pool in enumerate(pools):
        price = rng.randrange(6, 12) * 100_000 * pool.node.gpus // 4
        costs = tuple(price - quarter * price // 3 for quarter in range(quarters))
        supplies.append(Supply(f"buy{number}", "buy", number, rng.choice((2, 3, None)), costs))
    demands: list[Demand] = []
    left = 4
    while left > 0 and (not demands or rng.random() < 0.7):
        types = sorted({pool.gpu_type for pool in pools})
        open_to = rng.sample(types, rng.choice((1, 2, 2)) if len(types) > 1 else 1)
        gpus = rng.choice((1, 2, 4, 4, 8))
        choices = {
            Choice(kind, Shape(gpus, rng.randrange(12), rng.randrange(6))) for kind in open_to
        }
        active = tuple(sorted(rng.sample(range(quarters), rng.randrange(1, quarters + 1))))
        count = rng.choice((1, 1, 2))
        demands.append(Demand(tuple(sorted(choices)), active, min(left, count)))
        left -= count
    every = tuple(range(len(pools)))
    sharing = every if rng.random() < 0.7 else every[:2]
    problem = Problem(quarters, pools, tuple(supplies), tuple(demands), 77)
    if not racks:
        return replace(problem, spare_groups=group(*sharing, nodes=rng.choice((1, 1, 2))))
    sizes = tuple((number, rng.choice((3, 4)), rng.choice((5, 6))) for number in every)
    power = rng.choice((None, 12, 17))
    held = tuple((number, units, watts if power else 0) for number, units, watts in sizes)
    space = RackSpace("main", rng.choice((2, 3, 4)), rng.choice((4, 8)), power, held)
    return replace(
        problem, racks=(space,), spare_groups=group(*sharing, racks=rng.choice((1, 1, 1, 2)))
    )


@pytest.mark.parametrize("racks", [False, True], ids=["nodes", "racks"])
def test_the_search_agrees_with_trying_everything(racks, solve, faults):
    """Where groups are left out, nearly every other of these problems has a cheaper plan."""
    decides = 0
    for number in range(draws(30, 60)):
        problem = draw(random.Random(number), racks=racks)
        solution, best = solve(problem), Sharing(problem).least_cost()
        without = Sharing(replace(problem, spare_groups=())).least_cost()
        decides += best != without
        assert (solution is None) is (best is None), f"problem {number}: {best}"
        if solution is not None:
            assert not faults(problem, solution), f"problem {number}"
            assert solution.bound_cents <= best <= solution.cost_cents, f"problem {number}"
            assert solution.status is not Status.PROVED or solution.cost_cents == best
    assert decides >= draws(16, 36)


def pinned(rng: random.Random) -> Problem:
    return today(test_brute_force.draw(rng), rng)


@pytest.mark.parametrize(
    "kind", [runs, parts, parts_and_runs, pinned], ids=lambda kind: kind.__name__
)
def test_plans_with_runs_parts_and_pins_are_sound_too(kind, solve, faults):
    """Nothing here tries everything, but all that is wrong with a plan is seen."""
    plans = asked = 0
    for number in range(10):
        problem = kind(random.Random(f"shared {number}"))
        here = {(one.site, number) for number, one in enumerate(problem.pools) if not one.held}
        groups = tuple(
            SharedSpares(
                f"g at {site}", tuple(sorted(n for at, n in here if at == site)), 1, 0, site
            )
            for site in sorted({site for site, _ in here})
        )
        solution = solve(replace(problem, spare_groups=groups), time_limit_s=1.0)
        if solution is not None:
            plans += 1
            asked += any(map(any, solution.spare))
            assert not faults(replace(problem, spare_groups=groups), solution), number
    assert plans == asked > 3
