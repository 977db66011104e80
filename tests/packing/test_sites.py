"""Power, height, ports, racks and sites: each alone decides, and all agree with trying all."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from planner.packing.constraints import nodes_allowed
from planner.packing.constraints.racks import patterns, racked
from planner.packing.formulation.build import build_master
from planner.packing.limits import Limit, RackSpace, Reserve, SpendLimit
from planner.packing.problem import Choice, Demand, Pool, Problem, Shape, Supply
from planner.packing.solution import Status

BUY = 10_000_000


@pytest.fixture
def dear_or_cheap(build):
    """Four units of a whole node each, on cheap nodes of type a or dear ones of type b."""

    def problem(**changes):
        pools = [build.pool("a"), build.pool("b")]
        supplies = [build.buy(BUY), build.buy(3 * BUY, pool=1)]
        units = build.units(4, ("a", 8, 0, 0), ("b", 8, 0, 0))
        return replace(build.problem(pools, supplies, [units]), **changes)

    return problem


def test_without_limits_the_cheap_nodes_are_bought(dear_or_cheap, plan):
    assert plan(dear_or_cheap()).bought == ((4,), (0,))


def test_power_alone_decides(dear_or_cheap, plan):
    """Four of 10 kW do not fit 37 kW; three of 10 and one of 7 do."""
    power = Limit("power at main", ((0, 10_000), (1, 7_000)), (37_000,), "W")
    assert plan(dear_or_cheap(limits=(power,))).bought == ((3,), (1,))


def test_rack_units_alone_decide(dear_or_cheap, plan):
    height = Limit("rack units at main", ((0, 10), (1, 4)), (34,), "U")
    assert plan(dear_or_cheap(limits=(height,))).bought == ((3,), (1,))


def test_network_ports_alone_decide(dear_or_cheap, plan):
    ports = Limit("network ports at main", ((0, 9), (1, 5)), (34,), "ports")
    assert plan(dear_or_cheap(limits=(ports,))).bought == ((3,), (1,))


def test_racks_alone_decide_where_the_sum_of_their_heights_would_do(dear_or_cheap, plan):
    """Two racks of 42 U hold 84 U, but one holds three nodes of 14 and not a fourth of 10."""
    racks = RackSpace("main", 2, 25, None, ((0, 14, 0), (1, 11, 0)))
    solution = plan(dear_or_cheap(racks=(racks,)))
    assert solution.bought == ((2,), (2,))
    assert [rack.nodes for rack in solution.racks[0][0]] == [((0, 1), (1, 1))]


def test_racks_bind_where_they_are_full_though_nodes_leave_later(build, plan):
    space = RackSpace("main", 1, 42, None, ((0, 42, 0),))
    units = build.units(2, ("h100", 8, 0, 0), quarters=(0,))
    problem = build.problem([build.pool()], [build.rent(BUY, BUY)], [units], 2)
    assert plan(replace(problem, racks=(space,))) is None


@pytest.mark.parametrize(
    ("most", "nodes", "kept"), [(20, 2.0, True), (19, 2.0, False), (20, 3.0, False)]
)
def test_a_plan_of_more_nodes_than_there_is_power_for_is_not_kept(build, most, nodes, kept):
    units = build.units(1, ("h100", 8, 0, 0))
    limit = Limit("power at main", ((0, 10),), (most,), "W")
    problem = build.problem([build.pool()], [build.buy(BUY)], [units])
    master = build_master(replace(problem, limits=(limit,)))
    values = [0.0] * len(master.program.variables)
    values[master.acquire[0, 0]] = nodes
    assert nodes_allowed(master, values) is kept


def test_the_power_of_a_rack_alone_decides(dear_or_cheap, plan):
    """By height a rack holds seven of them, by power two of type a or three of type b."""
    space = RackSpace("main", 1, 42, 21_000, ((0, 6, 10_000), (1, 6, 5_000)))
    assert plan(dear_or_cheap(racks=(space,))).bought == ((0,), (4,))


def test_owned_nodes_take_power_too(build, plan):
    limit = Limit("power at main", ((0, 10),), (30,), "W")
    units = build.units(4, ("h100", 8, 0, 0))
    problem = build.problem([build.pool(owned=2)], [build.buy(BUY)], [units])
    assert plan(problem).bought == ((2,),)
    assert plan(replace(problem, limits=(limit,))) is None


def test_spare_nodes_take_power_too(build, plan):
    limit = Limit("power at main", ((0, 10),), (20,), "W")
    units = build.units(2, ("h100", 8, 0, 0))
    for spare, feasible in ((0, True), (1, False)):
        problem = build.problem([build.pool(spare=spare)], [build.buy(BUY)], [units])
        assert (plan(replace(problem, limits=(limit,))) is not None) is feasible


def test_power_that_comes_later_delays_a_purchase_but_not_the_job(build, plan):
    """In the first quarter there is power for one dear node that does the work of two."""
    pools = [build.pool("a"), build.pool("b", node=(16, 80, 800_000))]
    supplies = [build.buy(BUY, BUY - 1), build.rent(3 * BUY, 3 * BUY, pool=1)]
    units = [
        build.units(1, ("a", 8, 0, 0), ("b", 8, 0, 0), quarters=(0, 1)),
        build.units(1, ("a", 8, 0, 0), quarters=(1,)),
    ]
    limit = Limit("power at main", ((0, 10), (1, 15)), (15, None), "W")
    problem = replace(build.problem(pools, supplies, units, 2), limits=(limit,))
    assert plan(problem).bought[0] == (1, 1)
    tight = replace(limit, at_most=(9, 20))
    assert plan(replace(problem, limits=(tight,))) is None


def test_what_is_kept_for_growth_takes_a_node_more(build, plan):
    """16 of 16 GPUs are asked for; with a share free, 16 of 24."""
    units = build.units(2, ("h100", 8, 0, 0))
    problem = build.problem([build.pool()], [build.buy(BUY)], [units])
    for share, nodes in ((0, 2), (Fraction(1, 3), 3), (Fraction(34, 100), 4)):
        kept = replace(problem, reserves=(Reserve("h100", Fraction(share)),))
        assert plan(kept).bought == ((nodes,),)


def test_a_limit_at_one_site_leaves_the_other_alone(build, plan):
    pools = [build.pool(site="east"), build.pool(site="west")]
    supplies = [build.buy(BUY), build.buy(2 * BUY, pool=1)]
    limit = Limit("power at east", ((0, 10),), (20,), "W")
    problem = build.problem(pools, supplies, [build.units(3, ("h100", 8, 0, 0))])
    assert plan(replace(problem, limits=(limit,))).bought == ((2,), (1,))


def test_a_job_runs_only_at_its_sites(build, plan):
    """One dear node in the west for the one that must be there; it takes the others in as well."""
    pools = [build.pool(site="east"), build.pool(site="west")]
    supplies = [build.buy(BUY), build.buy(2 * BUY, pool=1)]
    anywhere = build.units(2, ("h100", 4, 0, 0))
    at_home = Demand((Choice("h100", Shape(4, 0, 0, True, ("west",))),), (0,), 1)
    solution = plan(build.problem(pools, supplies, [anywhere, at_home]))
    assert solution.bought == ((1,), (1,))
    elsewhere = Demand((Choice("h100", Shape(4, 0, 0, True, ("north",))),), (0,), 1)
    assert plan(build.problem(pools, supplies, [elsewhere])) is None


def test_a_job_that_names_all_sites_may_run_at_each(build, plan):
    pools = [build.pool(site="east"), build.pool(site="west", owned=1)]
    both = Demand((Choice("h100", Shape(4, 0, 0, True, ("east", "west"))),), (0,), 2)
    assert plan(build.problem(pools, [build.buy(BUY)], [both])).bought == ((0,),)


@pytest.mark.parametrize(
    ("asked", "fits"),
    [((4, 4), True), ((5, 3), False), ((2, 6), True), ((0, 9), False), ((0, 8), True)],
)
def test_racks_hold_what_can_be_arranged_and_no_more(asked, fits):
    """Each of two racks of 24 U holds two of 8 and two of 4, or four of 4 by its power."""
    space = RackSpace("main", 2, 24, 40, ((0, 8, 10), (1, 4, 10)))
    found = racked(space, dict(enumerate(asked)))
    assert (found is not None) is fits


def test_racks_are_filled_better_than_largest_first():
    """Largest first, 4 4 | 3 3 3 | 3 takes three racks of 10 U; 4 3 3 twice takes two."""
    space = RackSpace("main", 2, 10, None, ((0, 4, 0), (1, 3, 0)))
    found = racked(space, {0: 2, 1: 4})
    assert found is not None
    assert [(rack.nodes, rack.count) for rack in found] == [(((0, 1), (1, 2)), 2)]


def test_patterns_are_exactly_the_fullest_sets():
    assert set(patterns(((6, 10), (4, 10)), (14, 30))) == {(2, 0), (1, 2), (0, 3)}
    assert patterns(((6, 0),), (42, 0)) == ((7,),)
    assert patterns(((6, 12),), (42, 5)) == ((0,),)


def draw(rng: random.Random) -> Problem:
    """Two or three pools at two sites, limits of a few kinds, at most five units."""
    quarters = rng.choice((1, 1, 2))
    pools = tuple(
        Pool(
            f"n{number}",
            site,
            rng.choice("ab"),
            Shape(rng.choice((4, 8)), 20, 10),
            rng.choice((0, 0, 1)),
            rng.choice((0, 0, 0, 1)),
            fabric=True,
        )
        for number, site in enumerate(rng.choice(("xx", "xy", "xxy")))
    )
    supplies = tuple(
        supply for number in range(len(pools)) for supply in draw_offers(number, quarters, rng)
    )
    demands = tuple(draw_demand(pools, quarters, rng) for _ in range(rng.randrange(1, 4)))
    return Problem(quarters, pools, supplies, demands, 77)


def draw_offers(pool: int, quarters: int, rng: random.Random) -> list[Supply]:
    price = rng.randrange(1_000_000, 9_000_000)
    bought = tuple(price - q * price // 3 for q in range(quarters))
    offers = [Supply(f"buy{pool}", "buy", pool, rng.choice((1, 2, None)), bought)]
    if rng.random() < 0.4:
        rented = tuple(price * rng.randrange(30, 80) // 100 for _ in range(quarters))
        offers.append(Supply(f"rent{pool}", "rent", pool, 2, rented))
    return offers


def draw_demand(pools: tuple[Pool, ...], quarters: int, rng: random.Random) -> Demand:
    sites = rng.choice(((), (), ("x",), ("y",)))
    choices = set()
    for _ in range(rng.choice((1, 2))):
        shape = Shape(rng.choice((1, 2, 3, 4, 5, 8)), rng.randrange(15), rng.randrange(8))
        choices.add(Choice(rng.choice(pools).gpu_type, shape._replace(sites=sites)))
    active = tuple(sorted(rng.sample(range(quarters), rng.randrange(1, quarters + 1))))
    return Demand(tuple(sorted(choices, key=repr)), active, rng.choice((1, 1, 2)))


def with_limits(problem: Problem, rng: random.Random, *, which: set[str]) -> Problem:
    limits, racks = [], []
    for site in sorted({pool.site for pool in problem.pools}):
        here = [number for number, pool in enumerate(problem.pools) if pool.site == site]
        sizes = [(number, rng.choice((3, 4, 7)), rng.choice((5, 6, 11))) for number in here]
        if "power" in which:
            most = tuple(rng.choice((11, 17, 22, 30, None)) for _ in range(problem.quarters))
            limits.append(Limit(f"power at {site}", tuple((n, w) for n, _, w in sizes), most, "W"))
        if "units" in which:
            most = (rng.randrange(6, 20),) * problem.quarters
            limits.append(
                Limit(f"rack units at {site}", tuple((n, u) for n, u, _ in sizes), most, "U")
            )
        if "ports" in which:
            ports = tuple((n, rng.choice((2, 5, 9))) for n in here)
            most = tuple(rng.choice((9, 14, 20, None)) for _ in range(problem.quarters))
            limits.append(Limit(f"network ports at {site}", ports, most, "ports"))
        if "racks" in which:
            power = rng.choice((None, 12, 17))
            held = tuple((n, u, w if power else 0) for n, u, w in sizes)
            racks.append(RackSpace(site, rng.choice((1, 2)), rng.choice((7, 10)), power, held))
    problem = replace(problem, limits=tuple(limits), racks=tuple(racks))
    if "growth" in which:
        shares = (Reserve(gpu_type, Fraction(rng.randrange(40), 100)) for gpu_type in "ab")
        problem = replace(problem, reserves=tuple(shares))
    if "copies" in which:
        few = problem.demands[:1] if "growth" in which else problem.demands
        problem = replace(problem, demands=tuple(in_copies(one, rng) for one in few))
    if "traffic" in which:
        followed = (in_copies_by_quarter(one, problem, rng) for one in problem.demands)
        problem = replace(problem, demands=tuple(followed))
    return with_budget(problem, rng) if "budget" in which else problem


def in_copies_by_quarter(demand: Demand, problem: Problem, rng: random.Random) -> Demand:
    """The same, where a choice asks for another number of pieces in each quarter."""
    choices = set()
    for choice in demand.choices:
        pieces = tuple(rng.choice((1, 1, 2)) for _ in range(problem.quarters))
        choices.add(replace(choice, copies=max(pieces), by_quarter=pieces))
    return replace(demand, choices=tuple(sorted(choices, key=repr)))


def in_copies(demand: Demand, rng: random.Random) -> Demand:
    """The same, where a choice may ask for two pieces."""
    choices = {replace(choice, copies=rng.choice((1, 2))) for choice in demand.choices}
    return replace(demand, choices=tuple(sorted(choices, key=repr)))


def with_budget(problem: Problem, rng: random.Random) -> Problem:
    """At most so much for all that is acquired, in all quarters."""
    cents = tuple(
        tuple(abs(cost or 0) for cost in supply.unit_cost_cents) for supply in problem.supplies
    )
    return replace(problem, budgets=(SpendLimit("in all", rng.randrange(1, 20) * 10**6, cents),))


@pytest.mark.parametrize(
    "which",
    [
        set(),
        {"power"},
        {"units"},
        {"racks"},
        {"ports"},
        {"power", "racks"},
        {"ports", "power", "units"},
        {"units", "racks"},
        {"power", "units"},
        {"power", "copies"},
        {"racks", "copies"},
        {"copies"},
        {"traffic"},
        {"traffic", "power"},
        {"traffic", "racks"},
        {"traffic", "budget"},
        {"growth"},
        {"growth", "power"},
        {"growth", "copies"},
        {"growth", "budget"},
        {"power", "budget"},
        {"racks", "budget"},
    ],
    ids=lambda which: "+".join(sorted(which)) or "sites alone",
)
def test_the_search_agrees_with_trying_everything(which, solve, least_cost, faults):
    rng = random.Random(f"places {sorted(which)}")
    infeasible = 0
    for number in range(40):
        problem = with_limits(draw(rng), rng, which=which)
        solution, best = solve(problem), least_cost(problem)
        if solution is None:
            assert best is None, f"problem {number} has a plan that costs {best}"
            infeasible += 1
            continue
        assert not faults(problem, solution), f"problem {number}"
        assert solution.bound_cents <= best <= solution.cost_cents, f"problem {number}"
        if solution.status is Status.PROVED:
            assert solution.cost_cents == best, f"problem {number}"
    assert infeasible < 35
