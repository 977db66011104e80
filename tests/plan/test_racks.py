"""Which rack a node stands in: for good where that can be, else with as few changes as can be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from planner.packing.problem import RackSpace
from planner.packing.solution import Racked
from planner.planning.placing.fleet import Fleet, racks_by_node

LOW, HIGH = 4, 8
FLOOR = RackSpace("hall", 2, 10, None, ((0, HIGH, 0), (1, LOW, 0)))
"""Two racks of 10 U for nodes of 8 U (pool 0) and of 4 U (pool 1)."""
PAIR, TALL = Racked(((1, 2),), 1), Racked(((0, 1),), 1)


def stands(
    floor: RackSpace, *quarters: tuple[tuple[Racked, ...], dict[int, tuple[int, ...]]]
) -> Any:
    """Racks by node, of what each quarter's racks hold and which nodes of each pool serve."""
    problem = SimpleNamespace(racks=(floor,), spare_groups=())
    translation: Any = SimpleNamespace(problem=problem)
    solution: Any = SimpleNamespace(racks=[[racks] for racks, _ in quarters])
    serving = tuple(tuple(nodes.get(pool, ()) for pool in (0, 1)) for _, nodes in quarters)
    return racks_by_node(translation, solution, Fleet((), (), serving))


def test_a_node_stands_in_one_rack_for_good_where_there_is_room_all_its_time():
    """Node 0 of 8 U serves first alone, then beside 1 and 2; 3 and 4 come when it has left."""
    found = stands(
        FLOOR,
        ((TALL,), {0: (0,)}),
        ((TALL, PAIR), {0: (0,), 1: (1, 2)}),
        ((PAIR, PAIR), {1: (1, 2, 3, 4)}),
    )
    assert {len(set(racks)) for racks in found.values()} == {1}
    assert found[1] == found[2]
    assert found[0] != found[1][:2]


def test_where_no_rack_does_for_good_as_many_nodes_as_can_be_stay():
    """Later 1 and 2 are listed in different racks, and then 0 had none beside them before."""
    found = stands(
        FLOOR,
        ((TALL, PAIR), {0: (0,), 1: (1, 2)}),
        ((PAIR, PAIR), {1: (1, 3, 2, 4)}),
    )
    assert found == {0: (1,), 1: (2, 2), 2: (2, 2), 3: (1,), 4: (1,)}


def test_what_a_rack_can_feed_counts_like_its_height():
    """Both nodes of 4 U would fit one rack, which feeds only one of them; they come one by one."""
    fed = RackSpace("hall", 2, 10, 10_000, ((0, HIGH, 9_000), (1, LOW, 6_000)))
    one = Racked(((1, 1),), 1)
    found = stands(fed, ((one,), {1: (1,)}), ((one, one), {1: (1, 2)}))
    assert sorted(found) == [1, 2]
    assert len(set(found[1])) == 1
    assert found[2][0] != found[1][0]
