"""Very many unlike units: placed by a local search, with nodes added where they are needed."""

import random
from functools import partial

import pytest

from planner.packing.build import build_master
from planner.packing.cutting import fullest_first_fit, nodes_in
from planner.packing.layouts import cutting_stocks
from planner.packing.local_search import place_unlike
from planner.packing.problem import Shape
from planner.packing.solver import solve_integer


def always() -> bool:
    return True


def many(build, seed, units=340, copies=(1,)):
    """Units of three kinds, each a little different; the small ones also run on `l40s`."""
    rng = random.Random(seed)
    kinds = [(1, 6, 60_000), (2, 14, 150_000), (4, 30, 390_000)]
    demands = []
    for gpus, cpus, memory_mb in (rng.choice(kinds) for _ in range(units)):
        size = (gpus, cpus + rng.randrange(4), memory_mb + rng.randrange(20_000))
        also = [("l40s", *size)] if gpus == 1 else []
        pieces = [rng.choice(copies) for _ in (size, *also)]
        demands.append(build.units(1, ("h100", *size), *also, copies=pieces))
    pools = [build.pool(), build.pool("l40s", node=(4, 64, 500_000))]
    return build.problem(pools, [build.buy(10_000_000), build.buy(4_000_000, pool=1)], demands)


def counted(problem):
    """The master program with a plan of whole nodes and fractional units."""
    master = build_master(problem)
    solved = solve_integer(master.program, time_limit_s=10, relaxed=master.unit_variables)
    return master, solved.values


@pytest.mark.parametrize(("copies", "gap"), [((1,), 0.01), ((1, 1, 2, 3), 0.03)])
def test_a_portfolio_without_two_units_alike_is_planned_soundly_and_the_same_again(
    build, solve, faults, copies, gap
):
    problem = many(build, 3, copies=copies)
    solution = solve(problem)
    assert not faults(problem, solution)
    assert solution.gap < gap
    assert solve(problem) == solution


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


def placed(master, values, go_on=always, *, more_nodes=True):
    """The values of a plan, and the shapes on each node that units share, by pool."""
    stocks = cutting_stocks(master, always)
    shapes = {pool: stock.shapes for pool, stock in stocks.items()}
    found = place_unlike(master, stocks, tuple(values), go_on, more_nodes=more_nodes)
    if found is None:
        return None
    nodes = {
        pool: [
            [shapes[pool][index] for index, units in pattern for _ in range(units)]
            for pattern, times in packed.patterns
            for _ in range(times)
        ]
        for (pool, _), packed in found[1].items()
    }
    return found[0], nodes


def nodes_of(master, values):
    return {pool: round(values[index]) for (pool, _), index in master.acquire.items()}


def with_fewer(master, values, fewer=2):
    """The same with fewer nodes of the first offer than were counted."""
    changed = list(values)
    changed[master.acquire[0, 0]] = float(round(values[master.acquire[0, 0]])) - fewer
    return tuple(changed)


@pytest.mark.parametrize("go_on", [always, lambda: False], ids=["in time", "time is over"])
@pytest.mark.parametrize("fewer", [0, 2])
def test_no_unit_is_lost_no_node_overfull_and_nodes_that_are_added_are_counted(build, go_on, fewer):
    problem = many(build, 4, units=60)
    master, values = counted(problem)
    values = with_fewer(master, values, fewer)
    found = placed(master, values, go_on)
    assert found is not None
    chosen, nodes = found
    for number in range(60):
        ways = range(len(problem.demands[number].choices))
        assert sum(chosen[master.choice[number, position]] for position in ways) == 1
    assert sum(len(node) for held in nodes.values() for node in held) == 60
    for pool, held in nodes.items():
        offered = problem.pools[pool].node
        for node in held:
            taken = [sum(sizes) for sizes in zip(*(shape[:3] for shape in node), strict=True)]
            assert all(size <= most for size, most in zip(taken, offered[:3], strict=True))
        assert len(held) <= nodes_of(master, chosen)[pool]
    added = sum(nodes_of(master, chosen).values()) - sum(nodes_of(master, values).values())
    assert (added > 0) == (fewer > 0)


def test_an_offer_is_not_stretched_beyond_its_maximum(build):
    def plan(units):
        demands = [build.units(1, ("h100", 5, 10 + n, 100_000)) for n in range(units)]
        problem = build.problem([build.pool()], [build.buy(10_000_000, maximum=4)], demands)
        master = build_master(problem)
        values = [1.0] * len(master.program.variables)
        values[master.acquire[0, 0]] = 3.0
        return master, placed(master, values)

    master, found = plan(4)
    assert found is not None
    assert nodes_of(master, found[0]) == {0: 4}
    assert plan(5)[1] is None


def test_units_that_take_whole_nodes_have_them_to_themselves(build):
    demands = [
        build.units(2, ("h100", 16, 100, 800_000)),
        build.units(3, ("h100", 8, 60, 400_000)),
        build.units(4, ("h100", 4, 30, 300_000)),
    ]
    problem = build.problem([build.pool(fabric=True)], [build.buy(10_000_000)], demands)
    master, values = counted(problem)
    found = placed(master, values, more_nodes=False)
    assert found is not None
    assert nodes_of(master, found[0]) == {0: 9}
    assert [len(node) for node in found[1][0]] == [2, 2]


@pytest.mark.parametrize("go_on", [always, lambda: False], ids=["in time", "time is over"])
def test_two_units_that_take_whole_nodes_never_share_one(build, go_on):
    """Both were put on the only node."""
    demands = [build.units(2, ("h100", 8, 60, 400_000))]
    problem = build.problem([build.pool()], [build.buy(10_000_000)], demands)
    master, values = counted(problem)
    found = placed(master, with_fewer(master, values, 1), go_on)
    assert found is not None
    assert nodes_of(master, found[0]) == {0: 2}
    assert found[1] == {0: []}
