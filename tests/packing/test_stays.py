"""Units that run today: where they stay, and what a move costs, each alone."""

from tests.packing.draws import running, stages

BUY = 10_000_000


def test_a_move_that_nothing_asks_for_is_not_made_even_if_it_is_free(build, plan):
    pools = [build.pool("a", owned=1), build.pool("b", owned=1)]
    demand = build.units(1, ("a", 8, 0, 0), ("b", 8, 0, 0))

    for home, assigned in (("node-a/main", (1, 0)), ("node-b/main", (0, 1))):
        solution = plan(build.problem(pools, [], [running(demand, home)]))
        assert (solution.moved, solution.assigned) == ((0,), (assigned,))


def test_of_plans_that_cost_the_same_units_go_on_where_they_are(build, solve):
    """In the first quarter others hold the type that costs less; that it is free later is no
    reason to change."""
    pools = [build.pool("a", owned=1), build.pool("b", owned=1)]
    supplies = [build.buy(BUY, BUY), build.buy(2 * BUY, 2 * BUY, pool=1)]
    unit = build.units(1, ("a", 8, 0, 0), ("b", 8, 0, 0), quarters=(0, 1))
    demands = [build.units(1, ("a", 8, 0, 0), quarters=(0,)), *stages(unit)]
    assert solve(build.problem(pools, supplies, demands, 2)).assigned[1:] == ((0, 1), (0, 1))
