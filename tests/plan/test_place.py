"""Units keep their node, their GPUs and their GPU type where that can be."""

from __future__ import annotations

from dataclasses import replace

from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.problem import Choice, Demand, Pool, Problem, RunWindow, Shape
from planner.packing.solution import Bundle, Layout, Member, Solution, Status
from planner.packing.statement.translate import Translation
from planner.planning.placing.fleet import Fleet
from planner.planning.placing.place import assigned_modes, place
from planner.planning.plan import Node

H100 = "h100-80gb-sxm"
TWO_GPUS = Choice(H100, Shape(2, 3, 100))
FOUR_GPUS = Choice(H100, Shape(4, 5, 101))
EIGHT_GPUS = Choice(H100, Shape(8, 8, 102))
SPANNING = Choice(H100, Shape(16, 17, 33))
EMPTY = Solution(Status.PROVED, 0, 0, (), (), (), (), (), (), "")


POOL = Pool("eight", "main", H100, Shape(8, 64, 1000), 0, 0, True)


def placed(demands, members, layouts, nodes, serving=None, pool=POOL, reserves=(), gpu_types=None):
    """Units placed by these layouts on alike nodes of 8 GPUs; by default all serve all the time."""
    quarters = len(layouts)
    problem = Problem(quarters, (pool,), (), tuple(demands), 0, reserves=reserves)
    labels = tuple(f"2027Q{quarter + 1}" for quarter in range(quarters))
    fleet = Fleet(
        tuple(node(number) for number in range(nodes)),
        (0,) * nodes,
        tuple((tuple(there),) for there in serving or [range(nodes)] * quarters),
    )
    solution = replace(
        EMPTY,
        assigned=tuple((demand.count,) for demand in demands),
        layouts=tuple((tuple(of_pool),) for of_pool in layouts),
    )
    translation = Translation(problem, tuple(map(tuple, members)), labels)
    return place(translation, solution, fleet, gpu_types or {})


def node(number):
    return Node(
        id=str(number),
        node_type="eight",
        gpu_type=H100,
        gpus=8,
        cpus=64,
        memory_mb=1000,
        site="main",
        origin="owned",
        entry="x",
        in_service=(),
    )


def seats(placement, quarter):
    """(job, unit) -> {node: GPUs}."""
    found: dict[tuple[str, int], dict[str, tuple[int, ...]]] = {}
    for use in placement.uses[quarter]:
        for occupant in use.occupants:
            found.setdefault((occupant.job, occupant.unit), {})[use.node] = occupant.gpus
    return found


def units(job, count, first=1):
    return [(job, number) for number in range(first, first + count)]


def layout(*parts, count=1, span=1):
    return Layout(parts, count, span)


def test_a_unit_that_stays_keeps_its_gpu_numbers_when_its_neighbour_leaves():
    placement = placed(
        [
            Demand((FOUR_GPUS,), (0,), 1),
            Demand((TWO_GPUS,), (0, 1), 1),
            Demand((TWO_GPUS,), (1,), 1),
        ],
        [units("leaves", 1), units("stays", 1), units("comes", 1)],
        [[layout((0, 0, 1), (1, 0, 1))], [layout((1, 0, 1), (2, 0, 1))]],
        nodes=1,
    )
    assert seats(placement, 0)["stays", 1] == {"0": (4, 5)}
    assert seats(placement, 1) == {("stays", 1): {"0": (4, 5)}, ("comes", 1): {"0": (0, 1)}}


def test_nobody_moves_because_a_layout_says_so_where_all_can_stay():
    """Three small units on one node and one on another are as good as two and two."""
    placement = placed(
        [Demand((TWO_GPUS,), (0, 1), 4)],
        [units("small", 4)],
        [[layout((0, 0, 3)), layout((0, 0, 1))], [layout((0, 0, 2), count=2)]],
        nodes=2,
    )
    assert placement.moves == (0, 0)


def test_only_as_many_units_move_as_have_to():
    """A newcomer needs a whole node; one small unit of four is alone on its node, and goes."""
    placement = placed(
        [Demand((TWO_GPUS,), (0, 1), 4), Demand((EIGHT_GPUS,), (1,), 1)],
        [units("small", 4), units("large", 1)],
        [[layout((0, 0, 1)), layout((0, 0, 3))], [layout((0, 0, 4)), layout((1, 0, 1))]],
        nodes=2,
    )
    assert placement.moves == (0, 1)
    fullest = max(placement.uses[0], key=lambda use: len(use.occupants)).node
    held = seats(placement, 1)
    assert {node for unit in units("small", 4) for node in held[unit]} == {fullest}


def test_a_newcomer_takes_a_gap_and_leaves_the_others_alone():
    placement = placed(
        [
            Demand((FOUR_GPUS,), (0, 1), 1),
            Demand((TWO_GPUS,), (0, 1), 3),
            Demand((TWO_GPUS,), (1,), 1),
        ],
        [units("large", 1), units("small", 3), units("comes", 1)],
        [
            [layout((0, 0, 1)), layout((1, 0, 3))],
            [layout((1, 0, 2), (0, 0, 1)), layout((1, 0, 1), (2, 0, 1))],
        ],
        nodes=2,
    )
    assert placement.moves == (0, 0)
    assert len(seats(placement, 1)) == 5


def test_where_newcomers_do_not_fit_in_between_the_layouts_decide():
    """Two newcomers of half a node each: the small units make room on one node."""
    placement = placed(
        [Demand((TWO_GPUS,), (0, 1), 4), Demand((FOUR_GPUS,), (1,), 2)],
        [units("small", 4), units("large", 2)],
        [[layout((0, 0, 1)), layout((0, 0, 3))], [layout((0, 0, 2), (1, 0, 1), count=2)]],
        nodes=2,
    )
    assert placement.moves == (0, 1)


def test_spare_nodes_stay_empty_when_newcomers_are_fitted_in():
    placement = placed(
        [Demand((FOUR_GPUS,), (0, 1), 1), Demand((FOUR_GPUS,), (1,), 1)],
        [units("stays", 1), units("comes", 1)],
        [[layout((0, 0, 1))], [layout((1, 0, 1), (0, 0, 1))]],
        nodes=2,
        pool=replace(POOL, owned=2, spare=1),
    )
    assert [len(uses) for uses in placement.uses] == [1, 1]


def test_units_move_off_a_node_that_leaves_service():
    placement = placed(
        [Demand((TWO_GPUS,), (0, 1), 1), Demand((TWO_GPUS,), (0,), 1)],
        [units("stays", 1), units("short", 1)],
        [[layout((0, 0, 1)), layout((1, 0, 1))], [layout((0, 0, 1))]],
        nodes=2,
        serving=[[0, 1], [0]],
    )
    assert placement.moves == (0, 0), "who goes on is put on the node that stays"
    assert seats(placement, 1) == {("stays", 1): {"0": (0, 1)}}


def test_a_spanning_unit_takes_whole_nodes_and_keeps_them():
    placement = placed(
        [Demand((SPANNING,), (0, 1), 1), Demand((TWO_GPUS,), (1,), 1)],
        [units("big", 1), units("small", 1)],
        [
            [layout((0, 0, 1), span=2)],
            [layout((1, 0, 1)), layout((0, 0, 1), span=2)],
        ],
        nodes=3,
    )
    assert placement.moves == (0, 0)
    assert seats(placement, 1)["big", 1] == {"0": tuple(range(8)), "1": tuple(range(8))}
    shares = [(use.occupants[0].cpus, use.occupants[0].memory_mb) for use in placement.uses[0]]
    assert shares == [(9, 17), (8, 16)], "17 cores and 33 MB, the remainder on the first"


def test_a_spanning_unit_moves_when_one_of_its_nodes_leaves():
    placement = placed(
        [Demand((SPANNING,), (0, 1), 1)],
        [units("big", 1)],
        [[layout((0, 0, 1), span=2)]] * 2,
        nodes=3,
        serving=[[0, 1], [0, 2]],
    )
    assert placement.moves == (0, 1)
    assert set(seats(placement, 1)["big", 1]) == {"0", "2"}


def wide_runs(starts, holders):
    """Bundles of a node on which runs on several nodes begin at these hours."""
    runs = zip(starts, holders, strict=True)
    return (Bundle(8, tuple(sorted(Member(demand, 0, start, 0, 0) for start, demand in runs))),)


def test_runs_on_two_nodes_take_turns_and_each_is_on_both_at_the_same_hours():
    """Three nodes: two units of `wide` one after the other, `wider` on all three at last."""
    wide = Choice(H100, SPANNING.shape._replace(run=RunWindow(4, 0, RUN_HOURS)))
    wider = Choice(H100, SPANNING.shape._replace(gpus=24, run=RunWindow(5, 0, RUN_HOURS)))
    quarter = [
        Layout((), 2, 1, wide_runs((0, 4, 8), (0, 0, 1))),
        Layout((), 1, 1, wide_runs((8,), (1,))),
    ]
    placement = placed(
        [Demand((wide,), (0, 1), 2), Demand((wider,), (0,), 1)],
        [units("wide", 2), units("wider", 1)],
        [quarter, [Layout((), 2, 1, wide_runs((4, 9), (0, 0)))]],
        nodes=3,
    )
    every = tuple(range(8))
    both = {"0": every, "1": every}
    assert seats(placement, 0) == {
        ("wide", 1): both,
        ("wide", 2): both,
        ("wider", 1): {**both, "2": every},
    }
    hours = {(one.job, one.unit): one.hours for use in placement.uses[0] for one in use.occupants}
    assert hours == {("wide", 1): (0, 4), ("wide", 2): (4, 8), ("wider", 1): (8, 13)}
    assert placement.moves == (0, 0)
    assert seats(placement, 1) == {("wide", 1): both, ("wide", 2): both}


def test_a_unit_that_pauses_does_not_count_as_moved():
    placement = placed(
        [Demand((TWO_GPUS,), (0, 2), 1)],
        [units("yearly", 1)],
        [[layout((0, 0, 1))], [], [layout((0, 0, 1))]],
        nodes=2,
        serving=[[0], [0, 1], [1]],
    )
    assert placement.moves == (0, 0, 0)


def keeping(choices, members, assigned):
    demands = tuple(
        Demand(tuple(Choice(name, Shape(1, 1, 1)) for name in choices), (0,), len(units))
        for units in members
    )
    translation = Translation(
        Problem(1, (), (), demands, 0), tuple(tuple(units) for units in members), ("2027Q1",)
    )
    solution = replace(EMPTY, assigned=tuple(tuple(row) for row in assigned))
    return assigned_modes(translation, solution)


def test_a_job_stays_on_one_gpu_type_where_the_counts_allow_it():
    members = [[*units("a", 2), *units("b", 3), *units("c", 1)]]
    assert keeping(["h100", "l40s"], members, [[3, 3]]) == ((1, 1, 0, 0, 0, 1),)


def test_a_job_that_must_be_split_is_split_once():
    members = [[*units("a", 4), *units("b", 2)]]
    kept = keeping(["h100", "l40s"], members, [[3, 3]])
    assert sorted(kept[0][:4]) in ([0, 0, 0, 1], [0, 1, 1, 1])
    assert len(set(kept[0][4:])) == 1


def test_later_units_of_a_job_follow_its_first_ones():
    """The first demand puts `grows` on L40S; in the second both types would do."""
    members = [units("grows", 1), [*units("grows", 1, first=2), *units("other", 1)]]
    assert keeping(["h100", "l40s"], members, [[0, 1], [1, 1]]) == ((1,), (1, 0))


def test_every_unit_gets_a_choice_and_the_counts_are_met():
    members = [[*units("a", 5), *units("b", 4), *units("c", 1)]]
    kept = keeping(["x", "y", "z"], members, [[1, 6, 3]])
    assert [kept[0].count(index) for index in range(3)] == [1, 6, 3]


def test_nodes_are_named_owned_first_then_bought_then_rented_and_serve_in_their_quarters(plan):
    first, *later = plan.quarters
    assert [(item.id, item.origin, item.in_service) for item in plan.nodes] == [
        ("eight-h100/main/01", "owned", (first, *later)),
        ("eight-h100/main/02", "buy", (*later,)),
        ("eight-h100/main/r01", "rent", (*later,)),
        ("four-l40s/main/01", "buy", (*later,)),
    ]
