"""A price for each unit that changes its GPU type: alone, and with all else."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from planner.packing.problem import Choice, Demand, Problem, Quota, Shape, Supply
from planner.packing.solution import Status
from tests.packing.draws import SHARING
from tests.packing.test_procurement import FEATURES, draw_budget, draw_pool, draw_supplies
from tests.packing.test_runs import ROUNDING

RENT = 10_000_000


def stages(demand: Demand, cents: int, chain: str = "all") -> list[Demand]:
    """The demand quarter by quarter, where a change of GPU type has a price."""
    return [
        replace(
            demand,
            quarters=(quarter,),
            stage=True,
            chain=chain,
            origin=demand.origin if not place else "",
            move_cents=cents if place else demand.move_cents,
        )
        for place, quarter in enumerate(demand.quarters)
    ]


@pytest.fixture
def turning(build):
    """Units of 8 GPUs; type a is rented for less in the first quarter, type b in the second."""

    def problem(cents: int, count: int = 1) -> Problem:
        pools = [build.pool("a"), build.pool("b")]
        supplies = [build.rent(RENT, 3 * RENT), build.rent(2 * RENT, RENT, pool=1)]
        unit = build.units(count, ("a", 8, 0, 0), ("b", 8, 0, 0), quarters=(0, 1))
        stated: Problem = build.problem(pools, supplies, stages(unit, cents), 2)
        return stated

    return problem


def test_the_terms_of_the_bound_add_up_with_a_price_of_changes(turning, plan):
    solution = plan(turning(700))

    tags = sum(tag.cents for tag in solution.tags)
    terms = dict(solution.bound_terms)
    assert "units that run today" not in terms
    assert tags + sum(terms.values()) == pytest.approx(solution.bound_cents, abs=1)


def test_of_plans_that_cost_the_same_units_go_on_where_they_are(build, solve):
    """In the first quarter others hold the type that costs less; that it is free later is no
    reason to change."""
    pools = [build.pool("a", owned=1), build.pool("b", owned=1)]
    supplies = [build.buy(RENT, RENT), build.buy(2 * RENT, 2 * RENT, pool=1)]
    unit = build.units(1, ("a", 8, 0, 0), ("b", 8, 0, 0), quarters=(0, 1))
    demands = [build.units(1, ("a", 8, 0, 0), quarters=(0,)), *stages(unit, 0, "")]
    assert solve(build.problem(pools, supplies, demands, 2)).assigned[1:] == ((0, 1), (0, 1))


def test_another_way_on_the_same_gpu_type_is_no_change(build, plan):
    """Two GPUs and few cores in the first quarter, where cores are short; then one and many."""
    small = build.units(1, ("a", 1, 8, 0), ("a", 2, 1, 0), quarters=(0, 1))
    first = build.units(1, ("a", 1, 5, 0), quarters=(0,))
    then = build.units(1, ("a", 2, 1, 0), quarters=(1,))
    pools = [build.pool("a", node=(3, 10, 10), owned=1)]

    solution = plan(build.problem(pools, [], [*stages(small, 900), first, then], 2))

    assert solution.assigned[:2] == ((0, 1), (1, 0))
    assert solution.cost_cents == 0


def in_stages(problem: Problem, rng: random.Random) -> Problem:
    """The same, where most units may change at a price; some others are alike at other times."""
    demands: list[Demand] = []
    for number, demand in enumerate(problem.demands):
        if rng.random() < 0.8:
            cents = rng.choice((1, 200_000, 700_000, 1_700_000))
            demands += stages(demand, cents, f"chain {number}")
        else:
            demands.append(demand)
    return replace(problem, demands=tuple(demands))


def of_two_types(rng: random.Random, features: tuple[str, ...]) -> Problem:
    """Up to three units that may be on either of two GPU types, whose rents go up and down."""
    quarters = rng.choice((2, 2, 3))
    pools = tuple(draw_pool(number, quarters, rng, features) for number in range(2))
    if "retire" not in features:
        pools = tuple(replace(pool, owned=0) for pool in pools)
    supplies = [
        replace(supply, maximum=2)
        for number in range(2)
        for supply in draw_supplies(number, quarters, rng, features)
        if supply.kind != "rent"
    ]
    cheap = [rng.randrange(2) for _ in range(quarters)]
    for number in range(2):
        rents = tuple(300_000 if one == number else 2_000_000 for one in cheap)
        supplies.append(Supply(f"rent{number}", "rent", number, 2, rents))
    demands = []
    for count in rng.choice(((1,), (2,), (1, 1))):
        choices = tuple(
            Choice(kind, Shape(rng.choice((1, 2, 3, 4)), rng.choice((0, 4, 9)), 0)) for kind in "ab"
        )
        rests = rng.randrange(quarters) if quarters > 2 and rng.random() < 0.4 else None
        active = tuple(quarter for quarter in range(quarters) if quarter != rests)
        demands.append(Demand(choices, active, count))
    problem = Problem(quarters, pools, tuple(supplies), tuple(demands), 77)
    if "budget" in features:
        problem = replace(problem, budgets=(draw_budget(problem, rng),))
    return problem


def changing(rng: random.Random, feature: str) -> Problem:
    """With units that run today or quotas, where asked for, and in stages."""
    problem = of_two_types(rng, (feature,) if feature in FEATURES else ())
    if feature == "today":
        homes = [pool.home for pool in problem.pools]
        demands = [
            replace(one, origin=rng.choice(homes), move_cents=rng.choice((0, 300_000)))
            if one.quarters[0] == 0
            else one
            for one in problem.demands
        ]
        problem = replace(problem, demands=tuple(demands))
    if feature == "quota":
        most = tuple(rng.choice((3, 4, None)) for _ in range(problem.quarters))
        owned = tuple(replace(demand, owner="team") for demand in problem.demands)
        quotas = (Quota("quota of team", "team", rng.choice((None, "a")), most),)
        problem = replace(problem, demands=owned, quotas=quotas)
    return in_stages(problem, rng)


@pytest.mark.parametrize(
    "feature", ["alone", "window", "reserve", "retire", "lots", "budget", "today", "quota"]
)
def test_plans_agree_with_trying_everything(feature, agree):
    drawn = (random.Random(f"changes and {feature} {number}") for number in range(12))
    seen = agree(changing(rng, feature) for rng in drawn)

    assert seen[Status.PROVED] >= 3, "too few plans to mean anything"
    assert seen["moves"], "too few changes to mean anything"
    assert not seen[Status.NOT_PROVED]


@pytest.mark.parametrize("draw", SHARING)
def test_so_they_do_where_units_run_for_some_weeks_or_share_gpus(draw, agree):
    drawn = (random.Random(f"{draw.__name__} changes {number}") for number in range(8))
    seen = agree((in_stages(draw(rng), rng) for rng in drawn), asked_gap=ROUNDING)

    assert seen[Status.PROVED] >= 3, "too few plans to mean anything"
    assert seen[Status.NOT_PROVED] <= 1
