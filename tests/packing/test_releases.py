"""Owned nodes that are sold or switched off, each alone."""

from dataclasses import replace

import pytest

from planner.packing.problem import RackSpace, Supply


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
