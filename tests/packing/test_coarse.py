"""Very many demands: classes stand in for them, and levelling evens out what they differ by."""

from __future__ import annotations

import random

import pytest

from planner.packing.classes import classified
from planner.packing.coarse import coarsen
from planner.packing.level import level
from planner.packing.problem import Pool, Shape

NODE = Shape(8, 80, 800)


def over(shapes, places, nodes):
    """Nodes that hold more than they have."""
    held = [
        [shape for shape, at in zip(shapes, places, strict=True) if at == n] for n in range(nodes)
    ]
    return [
        number
        for number, here in enumerate(held)
        if sum(shape.gpus for shape in here) > NODE.gpus
        or sum(shape.cpus for shape in here) > NODE.cpus
        or sum(shape.memory_mb for shape in here) > NODE.memory_mb
    ]


def test_classes_part_where_the_gap_is():
    points = [(0.1,), (0.5,), (0.11,), (0.52,)]
    assert classified([[0, 1, 2, 3]], points, [1, 1, 1, 1], 2) == [[0, 2], [1, 3]]


def test_what_is_alike_is_not_parted():
    assert classified([[0, 1], [2]], [(0.5,), (0.5,), (0.5,)], [1, 1, 1], 9) == [[0, 1], [2]]


def test_two_units_change_places_where_each_node_has_too_much_of_one_resource():
    shapes = [Shape(4, 40, 700), Shape(4, 40, 700), Shape(4, 40, 100), Shape(4, 40, 100)]
    places = level(NODE, shapes, [0, 0, 1, 1], 2, lambda: True)
    assert not over(shapes, places, 2)


def test_one_large_unit_is_exchanged_for_two_small_ones():
    shapes = [Shape(4, 10, 500), Shape(4, 10, 500), *[Shape(2, 10, 100)] * 4]
    assert not over(shapes, level(NODE, shapes, [0, 0, 1, 1, 1, 1], 2, lambda: True), 2)


@pytest.mark.parametrize("seed", range(5))
def test_units_that_fit_in_some_order_are_levelled_from_another(seed):
    """Nodes of four units filled to 97 %, then one unit of each is passed on to the next node."""
    rng = random.Random(seed)
    shapes, places = [], []
    for number in range(12):
        marks = sorted(rng.randrange(1, 776) for _ in range(3))
        for place, (low, high) in enumerate(zip([0, *marks], [*marks, 776], strict=True)):
            shapes.append(Shape(2, 19, high - low))
            places.append((number + (place == 0)) % 12)
    assert over(shapes, places, 12)
    assert not over(shapes, level(NODE, shapes, places, 12, lambda: True), 12)


def test_levelling_ends_when_it_is_told_to():
    shapes = [Shape(4, 40, 700), Shape(4, 40, 700), Shape(4, 40, 100), Shape(4, 40, 100)]
    assert level(NODE, shapes, [0, 0, 1, 1], 2, lambda: False) == [0, 0, 1, 1]


def many(build, seed):
    """400 units of three kinds, each a little different."""
    rng = random.Random(seed)
    kinds = [(1, 6, 60_000), (2, 14, 150_000), (4, 30, 390_000)]
    demands = [
        build.units(1, ("h100", gpus, cpus + rng.randrange(4), memory + rng.randrange(20_000)))
        for gpus, cpus, memory in (rng.choice(kinds) for _ in range(400))
    ]
    return build.problem([build.pool()], [build.buy(10_000_000)], demands)


def test_a_class_holds_as_many_units_and_as_much_memory_as_its_members(build):
    problem = many(build, 0)
    coarse = coarsen(problem, 12, 0.0)
    assert len(coarse.problem.demands) == 12
    assert sorted(number for cell in coarse.members for number in cell) == list(range(400))
    for demand, members in zip(coarse.problem.demands, coarse.members, strict=True):
        sizes = [problem.demands[number].choices[0].shape for number in members]
        assert demand.count == len(members)
        assert {size.gpus for size in sizes} == {demand.choices[0].shape.gpus}
        spare = demand.count * demand.choices[0].shape.memory_mb - sum(s.memory_mb for s in sizes)
        assert 0 <= spare < len(members)


def test_classes_with_the_full_margin_hold_the_largest_of_their_members(build):
    problem = many(build, 0)
    coarse = coarsen(problem, 12, 1.0)
    for demand, members in zip(coarse.problem.demands, coarse.members, strict=True):
        for number in members:
            real, shape = problem.demands[number].choices[0].shape, demand.choices[0].shape
            assert real.cpus <= shape.cpus
            assert real.memory_mb <= shape.memory_mb


@pytest.mark.parametrize("seed", range(2))
def test_a_portfolio_without_two_units_alike_is_planned_soundly(build, solve, faults, seed):
    problem = many(build, seed)
    solution = solve(problem)
    assert not faults(problem, solution)
    assert solution.gap < 0.02


def test_a_unit_that_must_stay_within_a_node_runs_on_no_smaller_one():
    pool = Pool("node", "main", "h100", NODE, 0, 0, fabric=True)
    assert pool.nodes_taken(Shape(16, 1, 1)) == 2
    assert pool.nodes_taken(Shape(16, 1, 1, spans=False)) is None
    assert pool.nodes_taken(Shape(8, 1, 1, spans=False)) == 1
