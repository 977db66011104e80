"""Seats by ejection: what is seated fits in every week, and dead ends are left."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from planner.packing.problem import ALWAYS, WEEKS, Run, Shape
from planner.packing.weeks.asked import Asked, Way
from planner.packing.weeks.ejection import Ejection

NODE = Shape(8, 80, 800)
HERE = ((0, 0),)


def run(gpus, weeks, earliest=0, until=WEEKS, cpus=0):
    return Shape(gpus, cpus, 0, run=Run(weeks, earliest, until))


def one(*shapes, quarters=(0,), pools=HERE):
    """A unit with a way for each shape; what it takes is its cost."""
    ways = (
        Way(number, float(shape.gpus * shape.run.weeks), shape, pools)
        for number, shape in enumerate(shapes)
    )
    return Asked(tuple(ways), quarters)


def seated(nodes, *asked, steps=200):
    ejection = Ejection(nodes, {0: NODE, 1: NODE}, asked)
    for unit in range(len(asked)):
        ejection.seat(unit, (0,))
    return ejection if ejection.settle(steps, lambda: True) else None


def overfull(ejection, nodes):
    """Nodes and weeks that hold more than there is, counted from the seats alone."""
    held: Counter[tuple[object, int, int]] = Counter()
    for way, places in ejection.seated.values():
        for place in places:
            span = dict(way.pools)[place.key[0]]
            weeks = range(place.week, place.week + way.shape.run.weeks)
            gpus = NODE.gpus if span else way.shape.gpus
            for number in place.nodes:
                assert number < nodes[place.key]
                held.update({(place.key, number, week): gpus for week in weeks})
    return [where for where, gpus in held.items() if gpus > NODE.gpus]


def test_runs_are_seated_one_after_the_other_within_their_windows():
    ejection = seated({(0, 0): 1}, one(run(8, 6, until=6)), one(run(8, 6)), one(run(8, 1)))
    weeks = sorted(places[0].week for _, places in ejection.seated.values())
    assert weeks in ([0, 6, 12], [0, 7, 12], [0, 6, 7])
    assert not overfull(ejection, {(0, 0): 1})


def test_a_unit_that_can_go_elsewhere_gives_way():
    either, only_here = one(run(8, 13), pools=((0, 0), (1, 0))), one(run(8, 13))
    nodes = {(0, 0): 1, (1, 0): 1}
    ejection = Ejection(nodes, {0: NODE, 1: NODE}, [either, only_here])
    ejection.seat(0, (0,))
    ejection.seat(1, (0,))
    assert ejection.settle(20, lambda: True)
    assert ejection.seated[0][1][0].key == (1, 0)
    assert ejection.seated[1][1][0].key == (0, 0)


def test_a_unit_changes_its_way_where_its_own_finds_no_room():
    wide, narrow = run(8, 2, until=2), run(4, 4, until=4)
    ejection = seated({(0, 0): 1}, one(wide, narrow), one(run(4, 4, until=4)))
    assert ejection.seated[0][0].shape == narrow


def test_what_spans_nodes_has_them_to_itself():
    spanning = one(Shape(16, 0, 0), pools=((0, 2),))
    ejection = seated({(0, 0): 3}, one(run(1, 1)), one(run(1, 1)), spanning)
    assert len(ejection.seated[2][1][0].nodes) == 2
    assert not overfull(ejection, {(0, 0): 3})


def test_a_run_that_spans_nodes_is_on_all_of_them_in_its_weeks():
    wide = one(Shape(16, 0, 0, run=Run(4, 0, WEEKS)), pools=((0, 2),))
    early, late = one(run(8, 4, until=4)), one(run(8, 1, earliest=12))
    ejection = seated({(0, 0): 2}, wide, wide, early, early, late, late)
    assert sorted(ejection.seated[unit][1][0].nodes for unit in (0, 1)) == [(0, 1), (0, 1)]
    assert sorted(ejection.seated[unit][1][0].week for unit in (0, 1)) == [4, 8]
    assert not overfull(ejection, {(0, 0): 2})


def test_a_unit_has_a_seat_in_each_of_its_quarters_or_in_none():
    nodes = {(0, 0): 1, (0, 1): 0}
    ejection = Ejection(nodes, {0: NODE}, [one(run(1, 1), quarters=(0, 1))])
    ejection.seat(0, (0,))
    assert ejection.waiting == [0]
    assert not ejection.settle(10, lambda: True)
    assert not ejection.seated


def test_pieces_that_cannot_fit_are_given_up():
    assert seated({(0, 0): 1}, *[one(run(8, 5)) for _ in range(3)]) is None


def test_one_node_less_leaves_the_others_as_they_are():
    ejection = seated({(0, 0): 3}, *[one(Shape(4, 0, 0)) for _ in range(4)])
    copy = ejection.copy()
    copy.remove((0, 0))
    assert copy.settle(50, lambda: True)
    assert not overfull(copy, {(0, 0): 2})
    assert ejection.nodes((0, 0)) == 3
    assert copy.nodes((0, 0)) == 2


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_seated_fits_in_every_week(seed):
    rng = random.Random(seed)
    nodes = {(pool, quarter): rng.randrange(1, 4) for pool in range(2) for quarter in range(2)}
    asked = []
    for _ in range(rng.randrange(10, 40)):
        shapes = [
            run(rng.choice((1, 2, 4, 8)), weeks := rng.randrange(1, 9), first, first + weeks + 4)
            for first in (rng.randrange(0, 1),)
            for _ in range(2)
        ]
        if rng.random() < 0.1:
            shapes = [Shape(16, 0, 0, run=rng.choice((ALWAYS, Run(3, 0, 9), Run(5, 4, WEEKS))))]
        pools = ((0, 2), (1, 2)) if shapes[0].gpus == 16 else ((0, 0), (1, 0))
        asked.append(one(*shapes, quarters=rng.choice([(0,), (1,), (0, 1)]), pools=pools))
    ejection = Ejection(nodes, {0: NODE, 1: NODE}, asked)
    for unit in range(len(asked)):
        ejection.seat(unit, (0, 1))
    ejection.settle(40, lambda: True)
    assert not overfull(ejection, nodes)
    assert sorted([*ejection.seated, *ejection.waiting]) == list(range(len(asked)))
    for unit, (_, places) in ejection.seated.items():
        assert sorted(place.key[1] for place in places) == list(asked[unit].quarters)
