"""The local search: units change places until no node is too full."""

import random

import pytest

from planner.packing.local_search import NodesWithExcess
from planner.packing.problem import Shape

NODE = Shape(8, 80, 800)


def always() -> bool:
    return True


def started(ways, nodes, kinds=None):
    """Nodes with excess of units that were put, in order, on so many nodes of each pool."""
    made = NodesWithExcess(kinds or dict.fromkeys(nodes, NODE), ways)
    for pool, number in nodes.items():
        made.add(pool, number)
    for unit in range(len(ways)):
        assert made.put(unit, [min(ways[unit])])
    return made


def in_fours(seed, memory_mb):
    """Units for twelve nodes: four fill the GPUs of each and take so much memory."""
    rng = random.Random(seed)
    ways = []
    for _ in range(12):
        marks = sorted(rng.randrange(1, memory_mb) for _ in range(3))
        ways += [
            {0: Shape(2, 19, high - low)}
            for low, high in zip([0, *marks], [*marks, memory_mb], strict=True)
        ]
    rng.shuffle(ways)
    return ways


def loads(nodes, ways):
    """What each node holds, added up from scratch."""
    held = [[0, 0, 0] for _ in nodes.pools]
    for unit, node in enumerate(nodes.places):
        shape = ways[unit][nodes.pools[node]]
        for axis, amount in enumerate((shape.gpus, shape.cpus, shape.memory_mb)):
            held[node][axis] += amount
    return held


def fits(nodes, ways):
    return all(
        gpus <= NODE.gpus and cpus <= NODE.cpus and memory <= NODE.memory_mb
        for gpus, cpus, memory in loads(nodes, ways)
    )


def test_a_unit_is_put_where_it_exceeds_least_and_there_on_the_fullest_node():
    ways = [{0: Shape(4, 40, 400)}, {0: Shape(2, 20, 700)}, {0: Shape(1, 10, 300)}]
    nodes = started(ways, {0: 2})
    assert nodes.places == [0, 1, 0]
    assert nodes.over == 0


def test_a_unit_for_which_no_node_can_do_is_not_put():
    nodes = NodesWithExcess({0: NODE, 1: NODE}, [{1: Shape(1, 1, 1)}])
    nodes.add(0, 3)
    assert not nodes.put(0, [1])


def test_one_large_unit_is_exchanged_for_two_small_ones():
    large, small = {0: Shape(4, 10, 500)}, {0: Shape(2, 10, 100)}
    ways = [large, large, small, small, small, small]
    nodes = NodesWithExcess({0: NODE}, ways)
    nodes.add(0, 1)
    assert all(nodes.put(unit, [0]) for unit in (0, 1))
    nodes.add(0, 1)
    assert all(nodes.put(unit, [0]) for unit in (2, 3, 4, 5))
    assert nodes.settle(20, always)
    assert fits(nodes, ways)


def test_a_pool_with_room_takes_the_large_unit_and_gives_a_small_one():
    """On pool 0 memory is short by 100; on pool 1 it is plenty, and GPUs are all taken."""
    large, small = Shape(4, 10, 450), Shape(4, 10, 350)
    ways = [{0: large, 1: large}, {0: large, 1: large}, *[{0: small, 1: small}] * 2]
    nodes = NodesWithExcess({0: NODE, 1: Shape(8, 80, 2000)}, ways)
    nodes.add(0, 1)
    nodes.add(1, 1)
    assert all(nodes.put(unit, [pool]) for unit, pool in enumerate((0, 0, 1, 1)))
    assert nodes.over == pytest.approx(100 / 800)
    assert nodes.settle(5, always)
    memory = [held[2] for held in loads(nodes, ways)]
    assert sorted(memory) == [800, 800]


@pytest.mark.parametrize(("memory_mb", "steps"), [(776, 2000), (798, 3000)])
@pytest.mark.parametrize("seed", range(1, 4))
def test_units_that_fit_in_some_order_are_levelled_from_another(seed, memory_mb, steps):
    """Nodes of four units, filled to 97 %, and to 99.8 %, where exchanges that only ever take
    something off end too soon."""
    ways = in_fours(seed, memory_mb)
    nodes = started(ways, {0: 12})
    assert nodes.over > 0
    assert nodes.settle(steps, always)
    assert fits(nodes, ways)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_over_is_what_the_places_say(seed):
    rng = random.Random(seed)
    ways = [
        {
            pool: Shape(rng.randrange(1, 5), rng.randrange(40), rng.randrange(500))
            for pool in rng.choice(((0,), (1,), (0, 1)))
        }
        for _ in range(40)
    ]
    nodes = started(ways, {0: 6, 1: 6})
    nodes.settle(60, always)
    excess = [
        max(0.0, amount / offered - 1)
        for held in loads(nodes, ways)
        for amount, offered in zip(held, (8, 80, 800), strict=True)
    ]
    assert nodes.over == pytest.approx(sum(excess), abs=1e-6)


def test_a_trial_leaves_the_original_as_it_was():
    ways = [{0: Shape(4, 10, 500)}] * 2
    nodes = started(ways, {0: 1})
    trial = nodes.copy()
    trial.add(0, 1)
    assert trial.settle(5, always)
    assert nodes.pools == [0]
    assert nodes.places == [0, 0]
    assert nodes.over == pytest.approx(0.25)


def test_nodes_ends_when_it_is_told_to():
    nodes = started([{0: Shape(4, 40, 700)}] * 2, {0: 1})
    nodes.add(0, 1)
    assert not nodes.settle(20, lambda: False)
    assert nodes.places == [0, 0]
