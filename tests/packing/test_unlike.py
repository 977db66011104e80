"""Very many unlike units: placed by a local search, with nodes added where they are needed."""

import random
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest

from planner.packing.answer import answer
from planner.packing.build import build_master
from planner.packing.cutting import fullest_first_fit, nodes_in
from planner.packing.layouts import cutting_stocks
from planner.packing.local_search import NodesWithExcess, place_unlike
from planner.packing.problem import Shape, SpendLimit
from planner.packing.search import Search
from planner.packing.solver import solve_integer
from tests.packing.draws import quota

NODE = Shape(8, 80, 800)
BUY = 10_000_000


def many(build, seed, units=340, copies=(1,)):
    """Units of three kinds, each a little different; the small ones also run on `l40s`."""
    rng = random.Random(seed)
    kinds = [(1, 6, 60_000), (2, 14, 150_000), (4, 30, 390_000)]
    classes = []
    for gpus, cpus, memory_mb in (rng.choice(kinds) for _ in range(units)):
        size = (gpus, cpus + rng.randrange(4), memory_mb + rng.randrange(20_000))
        also = [("l40s", *size)] if gpus == 1 else []
        pieces = [rng.choice(copies) for _ in (size, *also)]
        classes.append(build.units(1, ("h100", *size), *also, copies=pieces))
    pools = [build.pool(), build.pool("l40s", node=(4, 64, 500_000))]
    return build.problem(pools, [build.buy(BUY), build.buy(4_000_000, pool=1)], classes)


@pytest.mark.parametrize(("copies", "gap"), [((1,), 0.01), ((1, 1, 2, 3), 0.03)])
def test_a_portfolio_without_two_units_alike_is_planned_soundly_and_the_same_again(
    build, solve, faults, copies, gap
):
    problem = many(build, 3, copies=copies)
    solution = solve(problem)
    assert not faults(problem, solution)
    assert solution.gap < gap
    assert solve(problem) == solution


def always():
    return True


@pytest.mark.parametrize("go_on", [always, lambda: False], ids=["in time", "time is over"])
@pytest.mark.parametrize("fewer", [0, 2])
def test_nodes_are_added_where_units_do_not_fit_those_that_were_counted(
    build, faults, go_on, fewer
):
    """No unit is lost, no node overfull, and whole nodes are shared with nobody."""
    problem = many(build, 4, units=60)
    whole = (build.units(2, ("h100", 16, 100, 800_000)), build.units(2, ("h100", 8, 60, 400_000)))
    problem = replace(problem, classes=(*problem.classes, *whole))
    found = Search(problem, 0.0, 10.0).cut_root()
    master = found.master
    counted = solve_integer(master.program, time_limit_s=10, relaxed=master.unit_variables)
    values = [*counted.values]
    values[master.acquire[0, 0]] = round(values[master.acquire[0, 0]]) - fewer
    stocks = cutting_stocks(master, always)
    placed = place_unlike(master, stocks, tuple(values), go_on, more_nodes=True)
    assert placed is not None
    assert found.keep(*placed)
    solution = answer(problem, found, 0.0)
    assert not faults(problem, solution)
    before = sum(round(values[index]) for index in master.acquire.values())
    assert (sum(map(sum, solution.acquired)) > before) == (fewer > 0)


@pytest.mark.parametrize("nodes", [0.0, 3.0])
def test_where_no_node_more_can_be_had_units_that_do_not_fit_leave_no_plan(build, nodes):
    classes = [build.units(1, ("h100", 5, 10 + n, 100_000)) for n in range(5)]
    problem = build.problem([build.pool()], [build.buy(BUY, maximum=4)], classes)
    master = build_master(problem)
    values = [1.0] * len(master.program.variables)
    values[master.acquire[0, 0]] = nodes
    stocks = cutting_stocks(master, always)
    assert place_unlike(master, stocks, tuple(values), always, more_nodes=True) is None


def test_many_unlike_units_keep_to_a_budget(build, solve):
    """Nodes that heuristics add are paid as well."""
    rng = random.Random(5)
    classes = [
        build.units(1, ("h100", rng.choice((1, 2, 3)), rng.randrange(5, 25), rng.randrange(9_999)))
        for _ in range(320)
    ]
    offers = [build.buy(1_000_003), build.rent(1_400_000)]
    free = build.problem([build.pool()], offers, classes)
    nodes = solve(free, asked_gap=0.01).acquired[0][0]
    limit = SpendLimit("capex", 1_000_003 * (nodes - 9) - 1, ((1_000_003,), (0,)))
    solution = solve(replace(free, budgets=(limit,)), asked_gap=0.01)
    assert solution.acquired[0][0] == nodes - 10
    assert solution.acquired[1][0] >= 9


def test_many_unlike_units_keep_to_their_quotas(build, solve, faults):
    rng = random.Random(5)
    classes = []
    for number in range(330):
        small, large = rng.choice((1, 2)), rng.choice((2, 3, 4))
        units = build.units(
            1,
            ("a", large, rng.randrange(20), rng.randrange(1, 150_000)),
            ("b", small, rng.randrange(20), rng.randrange(1, 150_000)),
        )
        classes.append(replace(units, owner=("red", "blue")[number % 2]))
    pools = [build.pool("a"), build.pool("b", node=(8, 90, 900_000))]
    stated = build.problem(pools, [build.buy(BUY), build.buy(3 * BUY, pool=1)], classes)
    free = solve(stated, asked_gap=0.01)
    quotas = (quota(330), quota(440, owner="blue"), quota(60, owner="blue", gpu_type="b"))
    problem = replace(stated, quotas=quotas)
    assert faults(problem, free), "the quotas do not bind"
    solution = solve(problem, asked_gap=0.01)
    assert not faults(problem, solution)
    assert free.cost_cents < solution.cost_cents
    assert solution.gap < 0.02


def test_a_few_unlike_units_take_fewer_nodes_than_first_fit_finds(build, solve, faults):
    """The time went into patterns of which none came twice, and first-fit decided."""
    rng = random.Random("unlike 0")
    draw = partial(rng.randrange, 100, 400)
    shapes = [Shape(draw(), draw(), draw()) for _ in range(60)]
    units = [build.units(1, ("h100", *shape[:3])) for shape in shapes]
    node = (1000, 1000, 1000)
    problem = build.problem([build.pool(node=node)], [build.buy(100)], units)
    solution = solve(problem, time_limit_s=1.0)
    assert not faults(problem, solution)
    assert nodes_in(fullest_first_fit(Shape(*node), shapes, [1] * 60)) == 18
    assert (solution.cost_cents, solution.bound_cents) == (1600, 1600)


@pytest.mark.parametrize(("memory_mb", "steps"), [(776, 2000), (798, 3000)])
@pytest.mark.parametrize("seed", range(1, 4))
def test_units_that_fit_in_some_order_are_levelled_from_another(seed, memory_mb, steps):
    """Nodes of four units, filled to 97 %, and to 99.8 %, where exchanges that only ever take
    something off end too soon."""
    rng = random.Random(seed)
    shapes = []
    for _ in range(12):
        marks = [0, *sorted(rng.randrange(1, memory_mb) for _ in range(3)), memory_mb]
        shapes += [Shape(2, 19, high - low) for low, high in pairwise(marks)]
    rng.shuffle(shapes)
    nodes = NodesWithExcess({0: NODE}, [{0: shape} for shape in shapes])
    nodes.add(0, 12)
    assert all(nodes.put(unit, [0]) for unit in range(48))
    assert nodes.over > 0
    assert nodes.settle(steps, always)
    held = [[shapes[unit] for unit in range(48) if nodes.places[unit] == n] for n in range(12)]
    assert all(sum(one.memory_mb for one in here) <= NODE.memory_mb for here in held)
    assert all(len(here) == 4 for here in held)
