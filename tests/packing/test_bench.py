"""Ejection chains: units move out of each other's way, and no node ever holds too much."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from planner.plan.placing.bench import Bench, Seat


def seat(pool: int = 0, gpus: int = 8, cpus: int = 80, memory_mb: int = 800_000) -> Seat:
    """A node of which this much is free."""
    return Seat(pool, gpus, cpus, memory_mb)


@pytest.fixture
def two_pools(build):
    """Units of 0: 4 GPUs of `a`; of 1: 4 GPUs of `a` or of `b`; of 2: 8 GPUs of `b`."""
    demands = [
        build.units(1, ("a", 4, 0, 0)),
        build.units(1, ("a", 4, 0, 0), ("b", 4, 0, 0)),
        build.units(1, ("b", 7, 0, 0)),
    ]
    return build.problem([build.pool("a"), build.pool("b")], [], demands)


def test_a_unit_takes_free_room_first(two_pools):
    bench = Bench(two_pools, [seat(0), seat(1)])
    assert bench.seat_all([(0, 0)]) == []
    assert [node.units for node in bench.seats] == [[(0, 0)], []]


def test_a_unit_takes_the_place_of_one_that_fits_elsewhere(two_pools):
    full = seat(0, gpus=0)
    full.units = [(0, 0), (1, 0)]
    bench = Bench(two_pools, [full, seat(1)])
    assert bench.seat_all([(0, 0)], chain=1) == [(0, 0)], "without a chain nobody moves"
    assert bench.seat_all([(0, 0)]) == []
    assert [node.units for node in bench.seats] == [[(0, 0), (0, 0)], [(1, 1)]]


def test_a_unit_for_which_nobody_can_move_stays_without_a_seat(two_pools):
    full = seat(0, gpus=0)
    full.units = [(0, 0), (0, 0)]
    bench = Bench(two_pools, [full, seat(1, gpus=3)])
    assert bench.seat_all([(1, 0), (2, 0)]) == [(2, 0), (1, 0)]
    assert bench.seats[0].units == [(0, 0), (0, 0)]


def test_a_node_that_is_added_can_be_used(two_pools):
    bench = Bench(two_pools, [])
    assert bench.seat_all([(0, 0)]) == [(0, 0)]
    bench.add(seat(0))
    assert bench.seat_all([(0, 0)]) == []


def test_a_piece_of_several_keeps_its_choice_where_a_single_unit_would_change(build):
    copied = build.units(1, ("a", 4, 0, 0), ("b", 4, 0, 0), copies=(2, 3))
    single = build.units(1, ("a", 4, 0, 0), ("b", 4, 0, 0))
    problem = build.problem([build.pool("a"), build.pool("b")], [], [copied, single])
    bench = Bench(problem, [seat(1)])
    assert bench.seat_all([(0, 0), (1, 0)]) == [(0, 0)]
    assert [node.units for node in bench.seats] == [[(1, 1)]]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_moves_no_unit_is_lost_and_no_node_overfull(build, seed):
    rng = random.Random(seed)
    demands = [
        build.units(1, *((kind, rng.randrange(1, 7), rng.randrange(60), rng.randrange(600_000))
                         for kind in rng.choice(("a", "b", "ab"))))
        for _ in range(30)
    ]  # fmt: skip
    problem = build.problem([build.pool("a"), build.pool("b")], [], demands)
    bench = Bench(problem, [seat(number % 2) for number in range(14)])
    unseated = bench.seat_all([(number, 0) for number in range(30)])
    seated = Counter(unit[0] for node in bench.seats for unit in node.units)
    assert seated + Counter(number for number, _ in unseated) == Counter(range(30))
    for node in bench.seats:
        shapes = [demands[demand].choices[choice].shape for demand, choice in node.units]
        assert sum(shape.gpus for shape in shapes) + node.gpus == 8
        assert sum(shape.cpus for shape in shapes) + node.cpus == 80
        assert sum(shape.memory_mb for shape in shapes) + node.memory_mb == 800_000
        assert min(node.gpus, node.cpus, node.memory_mb) >= 0
