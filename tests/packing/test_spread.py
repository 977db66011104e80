"""Very many unlike units: spread over counted nodes, levelled, with nodes added where needed."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from planner.packing.counting.build import build_counts
from planner.packing.heuristics.spread import spread
from planner.packing.problem import Pool, Shape
from planner.packing.solvers.solver import solve_integer


def always() -> bool:
    return True


def many(build, seed, units=400):
    """Units of three kinds, each a little different; the small ones also run on `l40s`."""
    rng = random.Random(seed)
    kinds = [(1, 6, 60_000), (2, 14, 150_000), (4, 30, 390_000)]
    demands = []
    for gpus, cpus, memory_mb in (rng.choice(kinds) for _ in range(units)):
        size = (gpus, cpus + rng.randrange(4), memory_mb + rng.randrange(20_000))
        also = [("l40s", *size)] if gpus == 1 else []
        demands.append(build.units(1, ("h100", *size), *also))
    pools = [build.pool(), build.pool("l40s", node=(4, 64, 500_000))]
    return build.problem(pools, [build.buy(10_000_000), build.buy(4_000_000, pool=1)], demands)


def seated_by(*given, **how):
    seated = spread(*given, **how)
    assert seated is not None
    return seated


def counted(problem):
    """The counting program with a plan of whole nodes and fractional units."""
    counts = build_counts(problem)
    solved = solve_integer(counts.program, time_limit_s=10, relaxed=counts.unit_variables)
    return counts, solved.values


@pytest.mark.parametrize("seed", range(3))
def test_a_portfolio_without_two_units_alike_is_planned_soundly(build, solve, faults, seed):
    problem = many(build, seed)
    solution = solve(problem)
    assert not faults(problem, solution)
    assert solution.gap < 0.01


def test_the_same_portfolio_gives_the_same_plan(build, solve):
    problem = many(build, 3)
    assert solve(problem) == solve(problem)


def test_no_unit_is_lost_and_no_node_overfull(build):
    problem = many(build, 4, units=60)
    counts, values = counted(problem)
    seated = seated_by(counts, values, always, more_nodes=True)
    demands = Counter(unit[0] for seat in seated.seats for unit in seat.units)
    assert demands + Counter(number for number, _ in seated.left_over) == Counter(range(60))
    assert all(min(seat.gpus, seat.cpus, seat.memory_mb) >= 0 for seat in seated.seats)


def test_nodes_that_are_added_are_counted(build):
    problem = many(build, 5, units=60)
    counts, values = counted(problem)
    fewer = list(values)
    fewer[counts.acquire[0, 0]] = float(round(values[counts.acquire[0, 0]])) - 2
    assert spread(counts, tuple(fewer), always, more_nodes=False) is None
    seated = seated_by(counts, tuple(fewer), always, more_nodes=True)
    held = Counter(seat.pool for seat in seated.seats)
    assert not seated.left_over
    assert held[0] == seated.values[counts.acquire[0, 0]]
    assert held[1] == seated.values[counts.acquire[1, 0]]
    assert sum(held.values()) > sum(round(fewer[index]) for index in counts.acquire.values())


def test_an_offer_is_not_stretched_beyond_its_maximum(build):
    demands = [build.units(1, ("h100", 5, 10 + number, 100_000)) for number in range(6)]
    problem = build.problem([build.pool()], [build.buy(10_000_000, maximum=4)], demands)
    counts = build_counts(problem)
    values = [1.0] * len(counts.program.variables)
    values[counts.acquire[0, 0]] = 3.0
    seated = seated_by(counts, tuple(values), always, more_nodes=True)
    assert seated.values[counts.acquire[0, 0]] == 4
    assert len(seated.seats) == 4
    assert len(seated.left_over) == 2


def test_units_that_take_whole_nodes_have_them_to_themselves(build):
    demands = [
        build.units(2, ("h100", 16, 100, 800_000)),
        build.units(3, ("h100", 8, 60, 400_000)),
        build.units(4, ("h100", 4, 30, 300_000)),
    ]
    problem = build.problem([build.pool(fabric=True)], [build.buy(10_000_000)], demands)
    counts, values = counted(problem)
    seated = seated_by(counts, values, always, more_nodes=False)
    assert values[counts.acquire[0, 0]] == pytest.approx(9)
    assert sorted(len(units) for units in seated.units[0].values()) == [2, 3]
    assert [len(seat.units) for seat in seated.seats] == [2, 2]


def test_when_time_is_over_the_units_without_a_place_are_named(build):
    problem = many(build, 6, units=60)
    counts, values = counted(problem)
    fewer = list(values)
    fewer[counts.acquire[0, 0]] = float(round(values[counts.acquire[0, 0]])) - 2
    seated = seated_by(counts, tuple(fewer), lambda: False, more_nodes=True)
    assert seated.left_over
    assert len(seated.seats) == sum(round(fewer[index]) for index in counts.acquire.values())


def test_two_units_that_take_whole_nodes_never_share_one(build):
    """Both were put on the only node; the second has no other, so there is no way to seat it."""
    demands = [build.units(2, ("h100", 8, 60, 400_000))]
    problem = build.problem([build.pool()], [build.buy(10_000_000)], demands)
    counts, values = counted(problem)
    fewer = list(values)
    fewer[counts.acquire[0, 0]] = 1.0
    assert spread(counts, tuple(fewer), lambda: False, more_nodes=True) is None
    grown = seated_by(counts, tuple(fewer), always, more_nodes=True)
    assert grown.values[counts.acquire[0, 0]] == 2
    assert [len(units) for units in grown.units[0].values()] == [2]
    assert not grown.seats


def test_there_is_a_sound_plan_even_where_the_time_is_over_at_once(build, solve, faults):
    problem = many(build, 7)
    solution = solve(problem, time_limit_s=0.001)
    assert not faults(problem, solution)


def test_a_unit_that_must_stay_within_a_node_runs_on_no_smaller_one():
    pool = Pool("node", "main", "h100", Shape(8, 80, 800), 0, 0, fabric=True)
    assert pool.nodes_taken(Shape(16, 1, 1)) == 2
    assert pool.nodes_taken(Shape(16, 1, 1, spans=False)) is None
    assert pool.nodes_taken(Shape(8, 1, 1, spans=False)) == 1
