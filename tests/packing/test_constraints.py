"""Every constraint alone decides, on problems that are solved in the head."""

from dataclasses import replace
from fractions import Fraction

import pytest

from planner.packing.build import build_master
from planner.packing.master import CENTS_PER_UNIT
from planner.packing.problem import Reserve
from planner.packing.search import search
from planner.packing.solver import solve_linear
from tests.packing.draws import sharing, stages

BUY = 10_000_000


def test_owned_nodes_count_only_beside_the_spare_one_of_them(build):
    """In fractions of running, the owned node would do."""
    job_class = build.units(1, ("h100", 8, 0, 0))
    master = build_master(
        build.problem([build.pool(owned=1, spare=1)], [build.buy(BUY)], [job_class])
    )
    relaxed = solve_linear(master.program)
    assert relaxed is not None
    assert relaxed.objective * CENTS_PER_UNIT == pytest.approx(BUY)


def test_an_order_is_as_large_as_what_stays_free_for_growth_asks(build, solve):
    """Of nodes with one GPU, five are for each that runs: more than there are GPUs in use."""
    pool = build.pool(node=(1, 80, 800_000))
    problem = build.problem([pool], build.levels(1000, 700), [build.units(2, ("h100", 1, 0, 0))])
    problem = replace(problem, reserves=(Reserve("h100", Fraction(4, 5)),))
    assert solve(problem).acquired == ((0,), (10,))


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
