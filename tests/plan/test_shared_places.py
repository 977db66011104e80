"""Pieces that share GPUs, in time or in parts, get their hours, slices and GPU numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from planner.inputs.catalog.catalog import MigProfile
from planner.inputs.scenario.quarter import RUN_HOURS
from planner.packing.limits import Reserve
from planner.packing.problem import Choice, Demand, Division, Part, RunWindow, Shape
from planner.packing.solution import Bundle, Layout, Member
from tests.plan.test_place import POOL, placed

H100 = "h100-80gb-sxm"
SLICES = Part("1g.10gb", 0)
HALF = Part("3g.40gb", 0)
MEMORY = Part("", 20_000)
SEVEN = Division(tuple(("1g.10gb", first) for first in range(7)))


def choice(gpus=1, run=None, part=None, way=""):
    shape = Shape(gpus, 2, 10)
    shape = shape._replace(run=run) if run else shape
    return Choice(H100, shape._replace(part=part) if part else shape, 1, way)


def gpu_types(catalog):
    """An H100 that can be partitioned."""
    profiles = {
        "1g.10gb": MigProfile(compute_slices=1, memory_slices=1, placement_starts=tuple(range(7))),
        "3g.40gb": MigProfile(compute_slices=3, memory_slices=4, placement_starts=(0, 4)),
        "7g.80gb": MigProfile(compute_slices=7, memory_slices=8, placement_starts=(0,)),
    }
    return {H100: catalog.gpus[H100].model_copy(update={"mig_profiles": profiles})}


def sharing(catalog, choices, active, layouts, nodes=2, reserves=(), *, mixes=True):
    """One job per choice with as many units as are active; layouts by quarter of one pool."""
    demands = [
        Demand((one,), tuple(quarter for quarter, units in enumerate(at) if units), max(at))
        for one, at in zip(choices, active, strict=True)
    ]
    members = [
        [(f"job-{index}", unit) for unit in range(1, demand.count + 1)]
        for index, demand in enumerate(demands)
    ]
    pool = replace(POOL, divisions=(SEVEN,), shared_mb=80_000, mixes=mixes)
    known = gpu_types(catalog)
    return placed(demands, members, layouts, nodes, pool=pool, reserves=reserves, gpu_types=known)


def seats(placement, quarter):
    """(job, unit) -> node, GPUs, hours, (profile, first, taken, of)."""
    return {
        (one.job, one.unit): (
            use.node,
            one.gpus,
            one.hours,
            one.part and (one.part.profile, one.part.first, one.part.taken, one.part.of),
        )
        for use in placement.uses[quarter]
        for one in use.occupants
    }


def test_runs_follow_one_another_on_the_same_gpus(case):
    early, late = RunWindow(5, 0, RUN_HOURS), RunWindow(8, 2, RUN_HOURS)
    bundle = Bundle(4, (Member(0, 0, 0, 0, 0), Member(1, 0, 5, 0, 0), Member(2, 0, 5, 2, 0)))
    found = sharing(
        case.inputs.catalog,
        [choice(4, early), choice(2, late, way="2x"), choice(2, late)],
        [(1,), (1,), (1,)],
        [[Layout((), 1, 1, (bundle,))]],
    )
    assert seats(found, 0) == {
        ("job-0", 1): ("0", (0, 1, 2, 3), (0, 5), None),
        ("job-1", 1): ("0", (0, 1), (5, 13), None),
        ("job-2", 1): ("0", (2, 3), (5, 13), None),
    }
    (use,) = found.uses[0]
    assert [one.way for one in use.occupants] == ["", "2x", ""]


def test_runs_are_numbered_as_they_start_and_are_no_moves(case):
    """Two units run twice each on one GPU; in the second quarter they go to another node."""
    run = choice(run=RunWindow(5, 0, RUN_HOURS))
    twice = replace(run, copies=2)
    starts = (20, 0, 10, 30)
    bundle = Bundle(1, tuple(sorted(Member(0, 0, start, 0, 0) for start in starts)))
    stays = Layout(((1, 0, 1),), 1)
    found = sharing(
        case.inputs.catalog,
        [twice, choice(8)],
        [(2, 2), (1, 1)],
        [[Layout((), 1, 1, (bundle,)), stays], [stays, Layout((), 1, 1, (bundle,))]],
    )
    for uses in found.uses:
        assert {
            (one.unit, one.replica): one.hours
            for use in uses
            for one in use.occupants
            if one.job == "job-0"
        } == {(1, 1): (0, 5), (2, 1): (10, 15), (1, 2): (20, 25), (2, 2): (30, 35)}
    assert seats(found, 0)["job-1", 1] == seats(found, 1)["job-1", 1]
    assert found.moves == (0, 0)


def test_partitions_keep_gpu_and_slice_when_others_leave(case):
    """In the second quarter the layout names the GPUs in another order, and one partition ends."""
    halves = Bundle(1, (Member(0, 0, 0, 0, 0), Member(1, 0, 0, 0, 4)))
    small = Bundle(1, tuple(Member(2, 0, 0, 0, first) for first in range(3)))
    fewer = Bundle(1, tuple(Member(2, 0, 0, 0, first) for first in range(3)))
    half = Bundle(1, (Member(1, 0, 0, 0, 4),))
    whole = (3, 0, 1)
    found = sharing(
        case.inputs.catalog,
        [choice(part=HALF), choice(part=HALF), choice(part=SLICES), choice(6)],
        [(1, 0), (1, 1), (3, 3), (1, 1)],
        [[Layout((whole,), 1, 1, (halves, small))], [Layout((whole,), 1, 1, (fewer, half))]],
    )
    before, after = seats(found, 0), seats(found, 1)
    assert found.moves == (0, 0)
    assert after == {piece: seat for piece, seat in before.items() if piece[0] != "job-0"}
    assert before["job-1", 1] == (before["job-0", 1][0], before["job-0", 1][1], None, HALF_AT_4)
    assert len({seat[1] for seat in before.values()}) == 3


HALF_AT_4 = ("3g.40gb", 4, 4, 8)


def test_a_newcomer_takes_the_place_that_somebody_left(case):
    both = Bundle(1, (Member(0, 0, 0, 0, 0), Member(1, 0, 0, 0, 0)))
    other = Bundle(1, (Member(1, 0, 0, 0, 0), Member(2, 0, 0, 0, 0)))
    found = sharing(
        case.inputs.catalog,
        [choice(part=MEMORY), choice(part=MEMORY), choice(part=MEMORY)],
        [(1, 0), (1, 1), (0, 1)],
        [[Layout((), 1, 1, (both,))], [Layout((), 1, 1, (other,))]],
    )
    assert seats(found, 0)["job-1", 1] == ("0", (0,), None, (None, None, 20_000, 80_000))
    assert seats(found, 1)["job-1", 1] == seats(found, 0)["job-1", 1]
    assert seats(found, 1)["job-2", 1][:2] == ("0", (0,))


def test_whole_gpus_are_never_those_of_a_bundle(case):
    """A piece that goes on keeps its GPU; the bundle and the newcomer get the others."""
    bundle = Bundle(1, (Member(1, 0, 0, 0, 0), Member(1, 0, 0, 0, 1)))
    found = sharing(
        case.inputs.catalog,
        [choice(3), choice(part=SLICES), choice(4)],
        [(1, 1), (0, 2), (0, 1)],
        [[Layout(((0, 0, 1),), 1)], [Layout(((0, 0, 1), (2, 0, 1)), 1, 1, (bundle,))]],
        nodes=1,
    )
    held = seats(found, 1)
    assert held["job-0", 1] == seats(found, 0)["job-0", 1]
    assert held["job-1", 1][1] == held["job-1", 2][1] == (3,)
    assert held["job-2", 1][1] == (4, 5, 6, 7)


def test_who_goes_on_stays_where_others_share_gpus_though_the_layouts_have_them_elsewhere(case):
    """Whole units together and parts together would fit as well; then three units would move."""
    first, second = choice(4), choice(4, way="2x")
    share = choice(part=MEMORY)
    bundle = Bundle(1, (Member(2, 0, 0, 0, 0),) * 2)
    apart = [
        Layout(((0, 0, 1),), 1, bundles=(bundle,)),
        Layout(((1, 0, 1),), 1, bundles=(bundle,)),
    ]
    together = [
        Layout(((0, 0, 1), (1, 0, 1)), 1),
        Layout((), 1, bundles=(Bundle(1, (Member(2, 0, 0, 0, 0),) * 4),)),
    ]
    new = Layout(((3, 0, 1),), 1)
    found = sharing(
        case.inputs.catalog,
        [first, second, share, choice(8)],
        [(1, 1), (1, 1), (4, 4), (0, 1)],
        [apart, [*together, new]],
        nodes=3,
    )
    assert found.moves == (0, 0)
    kept = seats(found, 1)
    assert {name: kept[name] for name in seats(found, 0)} == seats(found, 0)


def test_so_they_do_beside_a_node_on_which_others_take_turns(case):
    """Pairs share a node in the first quarter; the layouts of the second mix them."""
    turns = Layout((), 1, bundles=(Bundle(8, (Member(0, 0, 0, 0, 0),)),))
    apart = (turns, Layout(((1, 0, 2),), 1), Layout(((2, 0, 2),), 1))
    mixed = (turns, Layout(((1, 0, 1), (2, 0, 1)), 2))
    choices = (choice(8, run=RunWindow(5, 0, 13)), choice(4), choice(4))
    active = ((1, 1), (2, 2), (2, 2))

    placement = sharing(case.inputs.catalog, choices, active, (apart, mixed), nodes=3)

    assert placement.moves == (0, 0)
    assert seats(placement, 0) == seats(placement, 1)


def test_so_they_do_where_partitions_have_nodes_of_their_own(case):
    """The layouts put the partitions together; the newcomer then has the wrong node free."""
    first = Bundle(1, tuple(Member(0, 0, 0, 0, slot) for slot in range(7)))
    second = Bundle(1, (Member(1, 0, 0, 0, 0),))
    found = sharing(
        case.inputs.catalog,
        [choice(part=SLICES), choice(part=SLICES, way="2x"), choice(4), choice(2)],
        [(28, 28), (1, 1), (1, 1), (0, 1)],
        [
            [Layout((), 1, bundles=(first,) * 4), Layout((), 1, bundles=(second,)), whole(2)],
            [Layout((), 1, bundles=(*(first,) * 4, second)), whole(2), whole(3)],
        ],
        nodes=3,
        mixes=False,
    )
    assert found.moves == (0, 0)
    newcomer, resident = (seats(found, 1)[name, 1][0] for name in ("job-3", "job-2"))
    assert newcomer == resident


def whole(demand):
    return Layout(((demand, 0, 1),), 1)


def test_gpus_that_must_stay_free_are_not_opened_to_save_a_move(case):
    """Where they are, the shares hold two GPUs; what is kept free for growth counts on one."""
    bundle = Bundle(1, (Member(0, 0, 0, 0, 0),))
    both = Bundle(1, (Member(0, 0, 0, 0, 0), Member(0, 0, 0, 0, 0)))
    layouts = [[Layout((), 2, bundles=(bundle,))], [Layout((), 1, bundles=(both,))]]
    for reserves, moves in (((), 0), ((Reserve(H100, Fraction(9, 10)),), 1)):
        found = sharing(
            case.inputs.catalog, [choice(part=MEMORY)], [(2, 2)], layouts, reserves=reserves
        )
        assert found.moves == (0, moves)


def test_who_shares_a_gpu_keeps_it_in_whatever_order_the_bundles_come(case):
    three, four = (Bundle(1, (Member(0, 0, 0, 0, 0),) * count) for count in (3, 4))
    found = sharing(
        case.inputs.catalog,
        [choice(part=MEMORY)],
        [(7, 7)],
        [[Layout((), 1, 1, (four, three))], [Layout((), 1, 1, (three, four))]],
    )
    assert seats(found, 0) == seats(found, 1)
    assert {gpus for _, gpus, _, _ in seats(found, 0).values()} == {(0,), (1,)}


def test_a_lone_tenant_keeps_its_gpu_beside_others_that_sit_on_both(case):
    """The bundle that holds it comes last, and the other would do as well on either GPU."""
    alone = Member(1, 0, 0, 0, 4)
    parts = tuple(Member(0, 0, 0, 0, slot) for slot in range(4))
    with_it, without = Bundle(1, (*parts, alone)), Bundle(1, parts)
    found = sharing(
        case.inputs.catalog,
        [choice(part=SLICES), choice(part=HALF)],
        [(8, 8), (1, 1)],
        [[Layout((), 1, 1, (with_it, without))], [Layout((), 1, 1, (without, with_it))]],
    )
    assert seats(found, 0) == seats(found, 1)
