"""Every constraint alone decides, on problems that are solved in the head."""

from dataclasses import replace
from fractions import Fraction

import pytest

from planner.packing.build import build_master
from planner.packing.master import CENTS_PER_UNIT
from planner.packing.problem import RackSpace, Reserve, Supply
from planner.packing.search import search
from planner.packing.solver import solve_linear
from tests.packing.draws import running, sharing, stages

BUY = 10_000_000


@pytest.fixture
def nodes_bought(build, plan):
    """Nodes bought for job classes of one quarter on one kind of node."""

    def bought(*classes, **pool):
        return sum(plan(build.problem([build.pool(**pool)], [build.buy(BUY)], classes)).acquired[0])

    return bought


APART = ((1, 5, 48, 80_000), (1, 1, 40, 480_000), (1, 4, 8, 400_000))
"""Each pair collides on GPUs, cores or memory; no resource alone needs more than two nodes."""


@pytest.mark.parametrize(
    ("units", "nodes"),
    [
        pytest.param([(2, 4, 0, 0)], 1, id="GPUs fit"),
        pytest.param([(3, 4, 0, 0)], 2, id="GPUs end"),
        pytest.param([(2, 1, 40, 0)], 1, id="cores fit"),
        pytest.param([(2, 1, 41, 0)], 2, id="cores end"),
        pytest.param([(2, 1, 0, 400_000)], 1, id="host memory fits"),
        pytest.param([(2, 1, 0, 400_001)], 2, id="host memory ends"),
        pytest.param([(3, 5, 0, 0)], 3, id="15 GPUs fit into 16, but 5 and 5 not into 8"),
        pytest.param(APART, 3, id="pairs exclude each other"),
        pytest.param([*APART, (2, 16, 0, 0)], 7, id="beside units that span"),
        pytest.param([(1, 16, 1, 1)], 2, id="a unit that spans takes whole nodes"),
        pytest.param([(1, 16, 1, 1), (1, 1, 1, 1)], 3, id="what it leaves is nobody else's"),
    ],
)
def test_as_many_nodes_are_bought_as_hold_the_units(build, nodes_bought, units, nodes):
    assert nodes_bought(*(build.units(count, ("h100", *size)) for count, *size in units)) == nodes


@pytest.mark.parametrize(
    ("gpus", "fabric", "spans", "fits"),
    [
        (16, True, True, True),
        (16, False, True, False),
        (16, True, False, False),
        (8, True, False, True),
    ],
)
def test_a_unit_spans_nodes_only_where_it_may_and_a_fabric_joins_them(
    build, plan, gpus, fabric, spans, fits
):
    job_class = build.units(1, ("h100", gpus, 1, 1), spans=spans)
    problem = build.problem([build.pool(fabric=fabric)], [build.buy(BUY)], [job_class])
    assert (plan(problem) is not None) == fits


def test_a_unit_spans_whole_nodes_or_not_at_all(build, plan):
    uneven = build.units(1, ("h100", 12, 1, 1))
    assert plan(build.problem([build.pool()], [build.buy(BUY)], [uneven])) is None


def test_the_nodes_that_a_unit_spans_lend_it_their_cores_and_memory_together(build, plan):
    for memory_mb, fits in ((1_600_000, True), (1_600_001, False)):
        spanning = build.units(1, ("h100", 16, 160, memory_mb))
        problem = build.problem([build.pool()], [build.buy(BUY)], [spanning])
        assert (plan(problem) is not None) == fits


def test_a_unit_does_not_span_sites(build, plan):
    """One node at each of two sites are two nodes, but not two nodes of one pool."""
    sites = [build.pool(site="east", owned=1), build.pool(site="west", owned=1)]
    assert plan(build.problem(sites, [], [build.units(1, ("h100", 16, 1, 1))])) is None
    assert plan(build.problem(sites, [], [build.units(2, ("h100", 8, 1, 1))]))
    together = [build.pool(site="east", owned=2)]
    assert plan(build.problem(together, [], [build.units(1, ("h100", 16, 1, 1))]))


def test_a_job_class_without_a_mode_has_no_plan(build, plan):
    assert plan(build.problem([build.pool()], [build.buy(BUY)], [build.units(1)])) is None


def test_a_pool_that_runs_a_unit_keeps_its_spare_nodes_empty(build, nodes_bought):
    assert nodes_bought(build.units(2, ("h100", 8, 0, 0)), spare=1) == 3
    assert nodes_bought(build.units(1, ("h100", 16, 0, 0)), spare=2) == 4


def test_owned_nodes_count_only_beside_the_spare_one_of_them(build):
    """In fractions of running, the owned node would do."""
    job_class = build.units(1, ("h100", 8, 0, 0))
    master = build_master(
        build.problem([build.pool(owned=1, spare=1)], [build.buy(BUY)], [job_class])
    )
    relaxed = solve_linear(master.program)
    assert relaxed is not None
    assert relaxed.objective * CENTS_PER_UNIT == pytest.approx(BUY)


def test_each_pool_keeps_spare_nodes_of_its_own(build, plan):
    """Two pools in use keep two spare nodes, so everybody moves into one of them."""
    pools = [build.pool("a", spare=1), build.pool("b", spare=1)]
    offers = [build.buy(BUY), build.buy(BUY, pool=1)]
    apart = [build.units(1, ("a", 4, 0, 0)), build.units(1, ("b", 4, 0, 0))]
    assert plan(build.problem(pools, offers, apart)).cost_cents == 4 * BUY
    free = [build.units(1, ("a", 4, 0, 0)), build.units(1, ("a", 4, 0, 0), ("b", 4, 0, 0))]
    assert plan(build.problem(pools, offers, free)).acquired == ((2,), (0,))


def test_an_order_is_as_large_as_what_stays_free_for_growth_asks(build, solve):
    """Of nodes with one GPU, five are for each that runs: more than there are GPUs in use."""
    pool = build.pool(node=(1, 80, 800_000))
    problem = build.problem([pool], build.levels(1000, 700), [build.units(2, ("h100", 1, 0, 0))])
    problem = replace(problem, reserves=(Reserve("h100", Fraction(4, 5)),))
    assert solve(problem).acquired == ((0,), (10,))


def test_a_pool_that_runs_nothing_keeps_no_spare(build, plan):
    sold = Supply("fleet", "sell", 0, 3, (-9,))
    problem = build.problem([build.pool(owned=3, spare=1)], [sold], [])
    assert plan(problem).acquired == ((3,),)


@pytest.mark.parametrize(("let_go", "cost"), [("switch off", 9000), ("sell", 1000)])
def test_a_rack_is_free_for_others_where_a_node_is_sold_and_not_where_it_is_off(
    build, solve, let_go, cost
):
    pools = [build.pool("a", owned=1), build.pool("b"), build.pool("b", site="far")]
    offers = [build.buy(1000, pool=1), build.buy(9000, pool=2)]
    supplies = [Supply("fleet", let_go, 0, 1, (0,)), *offers]
    problem = build.problem(pools, supplies, [build.units(1, ("b", 8, 0, 0))])
    racks = RackSpace("main", 1, 10, None, ((0, 10, 0), (1, 10, 0)))
    assert solve(replace(problem, racks=(racks,))).cost_cents == cost


def test_a_move_that_nothing_asks_for_is_not_made_even_if_it_is_free(build, plan):
    pools = [build.pool("a", owned=1), build.pool("b", owned=1)]
    job_class = build.units(1, ("a", 8, 0, 0), ("b", 8, 0, 0))

    for home, assigned in (("node-a/main", (1, 0)), ("node-b/main", (0, 1))):
        solution = plan(build.problem(pools, [], [running(job_class, home)]))
        assert (solution.moved, solution.assigned) == ((0,), (assigned,))


def test_of_plans_that_cost_the_same_units_go_on_where_they_are(build, solve):
    """In the first quarter others hold the type that costs less; that it is free later is no
    reason to change."""
    pools = [build.pool("a", owned=1), build.pool("b", owned=1)]
    supplies = [build.buy(BUY, BUY), build.buy(2 * BUY, 2 * BUY, pool=1)]
    unit = build.units(1, ("a", 8, 0, 0), ("b", 8, 0, 0), quarters=(0, 1))
    classes = [build.units(1, ("a", 8, 0, 0), quarters=(0,)), *stages(unit)]
    assert solve(build.problem(pools, supplies, classes, 2)).assigned[1:] == ((0, 1), (0, 1))


def test_the_bound_counts_whole_replicas_of_each_endpoint(build):
    """Seven endpoints need two replicas each, fourteen in all: parts of them would fit one node."""
    pools = [build.pool("h100"), build.pool("l40s")]
    supplies = [build.buy(BUY), build.buy(3 * BUY, pool=1)]
    unit = build.units(1, ("h100", 1, 0, 0), ("l40s", 1, 0, 0))
    chats = [sharing(unit, 900_000, 950_000, count=2, name=f"chat {n}") for n in range(7)]
    problem = build.problem(pools, supplies, chats)
    found = search(problem, asked_gap=0.0, time_limit_s=10.0)
    assert (found.bound_cents, found.rounds) == (2 * BUY, 1)
