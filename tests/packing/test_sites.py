"""Power, height, ports, racks and sites: what packing finds is what trying everything finds."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from planner.packing.constraints import nodes_allowed
from planner.packing.constraints.racks import racked
from planner.packing.formulation.build import build_master
from planner.packing.limits import Limit, RackSpace, Reserve, SpendLimit
from planner.packing.problem import Choice, Demand, Pool, Problem, Shape, Supply
from tests.properties.questions import draws

BUY = 10_000_000


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
def test_the_search_agrees_with_trying_everything(which, agree):
    rng = random.Random(f"places {sorted(which)}")
    seen = agree(with_limits(draw(rng), rng, which=which) for _ in range(draws(20, 40)))
    assert seen["infeasible"] < draws(18, 35)
    assert not seen["undecided"]
